"""A sandbox for edits: a copy of a model that shares its parameters, and an example to run it on."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.nn.parameter import is_lazy

from creases.errors import InputError
from creases.network._read import check_input_shape
from creases.network._reading.input_shape import probe_input_shape
from creases.network._reading.modules import WEIGHT_HOOKS


def unwrap_module(model: Any) -> nn.Module:
    """Return the user's module without wrappers; refused if its weights cannot be edited."""
    model = getattr(model, "_orig_mod", model)  # of torch.compile
    if not isinstance(model, nn.Module):
        raise InputError("model", "be a torch.nn.Module", type(model).__name__)
    if isinstance(model, DistributedDataParallel):
        raise InputError(
            "model",
            "be unwrapped",
            "a DistributedDataParallel wrapper",
            "pass model.module, and wrap it again afterwards",
        )
    if isinstance(model, torch.jit.ScriptModule):
        raise InputError("model", "not be compiled by TorchScript", hint="pass the original module")
    for name, tensor in [*model.named_parameters(), *model.named_buffers()]:
        if is_lazy(tensor):
            raise InputError("model", "have initialized parameters", f"lazy {name!r}", "run the model once first")
    return model


def copy_sharing_parameters(model: nn.Module) -> nn.Module:
    """Return a copy in eval mode with the same parameter objects, copied buffers and no hooks.

    Replacing parameters of the copy does not affect the model.
    """
    memo: dict[int, Any] = {id(parameter): parameter for parameter in model.parameters()}
    for module in model.modules():
        for tensor in vars(module).values():
            if isinstance(tensor, Tensor) and not tensor.is_leaf:  # deepcopy refuses these
                memo[id(tensor)] = tensor.detach().clone()
        for hooks in (module._forward_hooks, module._forward_pre_hooks, module._backward_hooks):
            weight_hooks = {key: hook for key, hook in hooks.items() if type(hook).__name__ in WEIGHT_HOOKS}
            memo[id(hooks)] = type(hooks)(weight_hooks)
    try:
        return copy.deepcopy(model, memo).eval()
    except Exception as problem:
        raise InputError("model", "be copyable, as edits are tried on a copy", f"{problem}") from None


def example(model: nn.Module, input_shape: Sequence[int] | None, X: Tensor | None) -> Tensor:
    """Return a batch to run the model on: the first two samples of X, or random numbers of the input's shape."""
    if X is not None:
        if not isinstance(X, Tensor) or X.ndim < 1 or not len(X):
            raise InputError("X", "be a tensor of inputs (n, *shape)", repr(getattr(X, "shape", X)))
        return X[:2].detach()
    shape = check_input_shape(input_shape) or probe_input_shape(model)
    like = next((p for p in model.parameters() if p.is_floating_point()), torch.empty(0))
    numbers = torch.randn((2, *shape), generator=torch.Generator().manual_seed(0))
    return numbers.to(like.device, like.dtype)


@contextmanager
def explain_failed_run(x: Tensor, X: Tensor | None) -> Iterator[None]:
    """Turn what a model raises on its :func:`example` into an error that names the argument to check."""
    try:
        yield
    except Exception as problem:
        shape, source = tuple(x.shape), "input_shape" if X is None else "the shape of X"
        raise InputError("model", f"run on an example of shape {shape}", f"{problem}", f"check {source}") from None


@contextmanager
def without_side_effects() -> Iterator[None]:
    """Disable gradients, and restore the state of random numbers at the end."""
    started = torch.cuda.is_initialized()  # type: ignore[no-untyped-call]
    devices = list(range(torch.cuda.device_count())) if started else []
    with torch.no_grad(), torch.random.fork_rng(devices=devices):
        torch.default_generator.manual_seed(0)  # torch.manual_seed would seed devices for when they start
        for device in devices:
            torch.cuda.default_generators[device].manual_seed(0)
        yield
