"""Edits of layers' tensors along an axis: everything is prepared first, then applied at once."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.nn.parameter import is_lazy
from torch.optim import Optimizer

from creases.errors import InputError
from creases.network._read import check_input_shape
from creases.network._reading.input_shape import probe_input_shape
from creases.network._reading.modules import WEIGHT_HOOKS
from creases.network.surgery._optimizer import ParameterReplacement, plan_replacement


@dataclass(frozen=True)
class Edit:
    """A change of a layer's tensor along an axis: old entries by index, new ones by value."""

    layer: nn.Module
    name: str  #: of the parameter or buffer
    axis: int
    source: Tensor  #: (new size,) index of each entry in the old tensor, or -1 - its index in the values
    values: Tensor | None = None  #: new entries along the axis; zeros by default

    @property
    def old(self) -> Tensor:
        """The tensor before the edit."""
        tensor = getattr(self.layer, self.name)
        assert isinstance(tensor, Tensor)
        return tensor

    def apply(self, tensor: Tensor, values: Tensor | float) -> Tensor:
        """Return a tensor of the old shape with the new entries along the axis, in the same memory format."""
        source = self.source.to(tensor.device)
        old, new = (source >= 0).nonzero().flatten(), (source < 0).nonzero().flatten()
        shape = list(tensor.shape)
        shape[self.axis] = len(source)
        channels_last = tensor.ndim == 4 and not tensor.is_contiguous() and _channels_last(tensor)
        out = tensor.new_zeros(shape)
        out.index_copy_(self.axis, old, tensor.index_select(self.axis, source[old]))
        if isinstance(values, Tensor):
            values = values.to(out.device, out.dtype).index_select(self.axis, -1 - source[new])
            out.index_copy_(self.axis, new, values)
        elif len(new):
            out.index_fill_(self.axis, new, values)
        return out.contiguous(memory_format=torch.channels_last) if channels_last else out


@dataclass(frozen=True)
class Plan:
    """The results of edits, ready to be applied; applying them cannot fail."""

    tensors: list[tuple[nn.Module, str, Tensor]]
    counters: list[tuple[nn.Module, str, int]]
    replacements: list[ParameterReplacement]

    def inverse(self) -> Plan:
        """Return a plan that restores everything but optimizer state; call it before applying this one."""
        tensors = [(layer, name, getattr(layer, name)) for layer, name, _ in self.tensors]
        counters = [(layer, counter, getattr(layer, counter)) for layer, counter, _ in self.counters]
        return Plan(tensors, counters, [])

    def apply(self) -> None:
        """Apply all changes."""
        for layer, name, tensor in self.tensors:
            (layer._parameters if name in layer._parameters else layer._buffers)[name] = tensor  # type: ignore[assignment]
        for layer, counter, n in self.counters:
            setattr(layer, counter, n)
        for replacement in self.replacements:
            replacement.apply()


@torch.no_grad()
def plan_edits(edits: Sequence[Edit], counters: list[tuple[nn.Module, str, int]], optimizer: Optimizer | None) -> Plan:
    """Compute the results of edits: new parameters, buffers, gradients and optimizer states."""
    tensors: list[tuple[nn.Module, str, Tensor]] = []
    replacements: list[ParameterReplacement] = []
    for edit in edits:
        old = edit.old
        new = edit.apply(old.detach(), 0.0 if edit.values is None else edit.values)
        if isinstance(old, nn.Parameter):
            new = _replace_parameter(edit, old, new)
            if optimizer is not None:
                replacements += plan_replacement(optimizer, old, new, edit.apply)
        tensors.append((edit.layer, edit.name, new))
    return Plan(tensors, counters, replacements)


def _replace_parameter(edit: Edit, old: nn.Parameter, data: Tensor) -> nn.Parameter:
    """Return a parameter with the gradient, hooks and attributes of another."""
    new = nn.Parameter(data, requires_grad=old.requires_grad)
    vars(new).update(vars(old))
    if old.grad is not None:
        new.grad = edit.apply(old.grad, 0.0)
    for hook in (old._backward_hooks or {}).values():
        new.register_hook(hook)  # type: ignore[no-untyped-call]
    for hook in (getattr(old, "_post_accumulate_grad_hooks", None) or {}).values():
        new.register_post_accumulate_grad_hook(hook)  # type: ignore[no-untyped-call]
    return new


def _channels_last(tensor: Tensor) -> bool:
    return tensor.is_contiguous(memory_format=torch.channels_last)


# A sandbox for edits: a copy of a model that shares its parameters, and an example to run it on.


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
