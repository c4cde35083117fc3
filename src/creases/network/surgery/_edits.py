"""Edits of layers' tensors along an axis, and of the optimizer's state: all is prepared first, then applied at once."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.nn.parameter import is_lazy
from torch.optim import LBFGS, Optimizer
from torch.utils._pytree import tree_leaves

from creases.errors import InputError
from creases.network._read import check_input_shape
from creases.network._reading.modules import WEIGHT_HOOKS, probe_input_shape

# Optimizer state of resized parameters: old entries keep theirs, new ones start so that first steps are small.


def check_optimizer(optimizer: Optimizer | None, model: nn.Module) -> None:
    """Refuse an optimizer that does not train the model, or whose state is not stored per entry."""
    if optimizer is None:
        return
    if not isinstance(optimizer, Optimizer):
        raise InputError("optimizer", "be a torch.optim.Optimizer", type(optimizer).__name__)
    if isinstance(optimizer, LBFGS):
        raise InputError("optimizer", "store its state per parameter", "LBFGS", "create a new optimizer after the edit")
    model_ids = {id(parameter) for parameter in model.parameters()}
    if not any(id(parameter) in model_ids for group in optimizer.param_groups for parameter in group["params"]):
        hint = "pass the one that trains this model"
        raise InputError("optimizer", "hold parameters of the model", "none of them", hint)


def _group_of(optimizer: Optimizer, parameter: Tensor | None) -> dict[str, Any] | None:
    """Return the group of an optimizer that holds a parameter; None if there is none."""
    return next((g for g in optimizer.param_groups if any(parameter is member for member in g["params"])), None)


def add_parameter(optimizer: Optimizer, peer: Tensor | None, name: str, new: nn.Parameter) -> None:
    """Add a new parameter to the group of another; to the first group if that has none."""
    group = _group_of(optimizer, peer) or optimizer.param_groups[0]
    group["params"].append(new)
    if "param_names" in group:
        group["param_names"].append(name)


def reset_optimizer_state(optimizer: Optimizer, parameter: Tensor) -> None:
    """Reset the state of a parameter whose values were changed in place."""
    if (group := _group_of(optimizer, parameter)) is not None:
        for key, value in optimizer.state.get(parameter, {}).items():
            if isinstance(value, Tensor):
                value.fill_(_initial_state(key, group) if value.shape == parameter.shape else 0)


def _resize_state(key: str, value: Any, edit: Edit, group: dict[str, Any]) -> Any:
    """Return an entry of a parameter's state after an edit of the parameter."""
    old = edit.old
    if isinstance(value, Tensor) and value.shape == old.shape:
        return edit.apply(value, _state_of_new_entries(key, value, group))
    arrays = [leaf for leaf in tree_leaves(value) if isinstance(leaf, Tensor) and leaf.numel() > 1]
    if arrays:
        expected, got = f"have state of the parameters' shapes, here {tuple(old.shape)}", tuple(arrays[0].shape)
        raise InputError("optimizer", expected, f"{key!r} of shape {got}", "create a new optimizer after the edit")
    return value


def _state_of_new_entries(key: str, value: Tensor, group: dict[str, Any]) -> float:
    """Return the state with which new entries join a parameter whose old entries have this state.

    Adam's second moment v starts at (1 - beta1)^2 times the mean over the old entries. From 0 a new entry would go too
    far: m is (1 - beta1) g after one gradient g and v is (1 - beta2) g^2, which the bias correction no longer
    makes up for since the step count is high, so the step is sqrt(10) times the learning rate with the default betas,
    and larger after some. With this v, a first gradient of the usual size makes a step of the usual size, and a
    smaller one (that of a unit's incoming weights, while its outgoing weights are small) a smaller step.
    """
    if key in ("exp_avg_sq", "max_exp_avg_sq") and "betas" in group:
        return float((1 - float(group["betas"][0])) ** 2 * value.mean())
    return _initial_state(key, group)


def _initial_state(key: str, group: dict[str, Any]) -> float:
    """Return the state before the first step: zero but for two optimizers."""
    if key == "sum" and "initial_accumulator_value" in group:  # Adagrad
        return float(group["initial_accumulator_value"])
    if key == "step_size" and "step_sizes" in group:  # Rprop
        return float(group["lr"])
    return 0.0


@dataclass(frozen=True)
class Edit:
    """A change of a layer's tensor along an axis: old entries by index, new ones by value."""

    layer: nn.Module
    name: str  #: of the parameter or buffer
    axis: int
    source: Tensor  #: (new size,) index of each entry in the old tensor, or -1 - its index in the values
    values: Tensor | float = 0.0  #: new entries along the axis

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
        channels_last = not tensor.is_contiguous() and tensor.is_contiguous(memory_format=torch.channels_last)
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
    parameters: list[tuple[Optimizer, nn.Parameter, nn.Parameter, dict[str, Any] | None]]  #: old, new and its state

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
        for optimizer, old, new, state in self.parameters:
            for group in optimizer.param_groups:
                group["params"][:] = [new if parameter is old else parameter for parameter in group["params"]]
            optimizer.state.pop(old, None)
            if state is not None:
                optimizer.state[new] = state


@torch.no_grad()
def plan_edits(edits: Sequence[Edit], counters: list[tuple[nn.Module, str, int]], optimizer: Optimizer | None) -> Plan:
    """Compute the results of edits: new parameters, buffers, gradients and optimizer states."""
    plan = Plan([], counters, [])
    for edit in edits:
        old = edit.old
        new = edit.apply(old.detach(), edit.values)
        if isinstance(old, nn.Parameter):
            new = _replace_parameter(edit, old, new)
            if optimizer is not None and (group := _group_of(optimizer, old)) is not None:
                state = optimizer.state.get(old)
                if state is not None:
                    state = {key: _resize_state(key, value, edit, group) for key, value in state.items()}
                plan.parameters.append((optimizer, old, new, state))
        plan.tensors.append((edit.layer, edit.name, new))
    return plan


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


# A sandbox for edits: a copy of a model that shares its parameters, and an example to run it on.


def unwrap_module(model: Any) -> nn.Module:
    """Return the user's module without wrappers; refused if its weights cannot be edited."""
    model = getattr(model, "_orig_mod", model)  # of torch.compile
    if not isinstance(model, nn.Module):
        raise InputError("model", "be a torch.nn.Module", type(model).__name__)
    if isinstance(model, DistributedDataParallel):
        hint = "pass model.module, and wrap it again afterwards"
        raise InputError("model", "be unwrapped", "a DistributedDataParallel wrapper", hint)
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
def without_side_effects() -> Iterator[None]:
    """Disable gradients, and restore the state of random numbers at the end."""
    started = torch.cuda.is_initialized()  # type: ignore[no-untyped-call]
    devices = list(range(torch.cuda.device_count())) if started else []
    with torch.no_grad(), torch.random.fork_rng(devices=devices):
        torch.default_generator.manual_seed(0)  # torch.manual_seed would seed devices for when they start
        for device in devices:
            torch.cuda.default_generators[device].manual_seed(0)
        yield


def count_parameters(model: nn.Module) -> int:
    """Return the number of a model's parameters; shared ones count once."""
    return sum(parameter.numel() for parameter in model.parameters())


def apply_and_measure(model: nn.Module, X: Tensor | None, edit: Callable[[], Any]) -> float | None:
    """Apply an edit and return the largest change of any output on X (n, *shape); None without X."""
    before = _outputs(model, X)
    edit()
    if before is None:
        return None
    pairs = [(old, new) for old, new in zip(before, _outputs(model, X) or [], strict=True) if old.numel()]
    return max((float((new.double() - old.double()).abs().max()) for old, new in pairs), default=0.0)


def _outputs(model: nn.Module, X: Tensor | None) -> list[Tensor] | None:
    """Return the model's outputs on X in eval mode."""
    if X is None:
        return None
    with without_side_effects(), evaluation_mode(model):
        try:
            outputs = model(X)
        except Exception as problem:
            raise InputError("X", "be inputs that the model runs on", f"{problem}") from None
        return [leaf.detach().clone() for leaf in tree_leaves(outputs) if isinstance(leaf, Tensor)]


@contextmanager
def evaluation_mode(model: nn.Module) -> Iterator[None]:
    """Put a model into eval mode without gradients; restore the mode of each module afterwards."""
    modes = {module: module.training for module in model.modules()}
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for module, training in modes.items():
            module.training = training


#: Tolerance for float32 on a GPU: convolutions use 10 bits (TF32) and an order of summation that depends on sizes.
_TF32_TOLERANCE = 1e-2


def same_outputs(old: list[Tensor], new: list[Tensor]) -> bool:
    """Return whether two runs have the same outputs up to rounding."""
    if len(old) != len(new):
        return False
    for before, after in zip(old, new, strict=True):
        if before.shape != after.shape:
            return False
        if not before.is_floating_point():
            continue
        tolerance = max(1e3 * torch.finfo(before.dtype).eps, _TF32_TOLERANCE if before.is_cuda else 0.0)
        a, b = before.double(), after.double()
        scale = float(a[a.isfinite()].abs().max()) if a.isfinite().any() else 1.0
        if not torch.allclose(a, b, rtol=tolerance, atol=tolerance * max(scale, 1e-30), equal_nan=True):
            return False
    return True
