"""Edits of layers' tensors along an axis: everything is prepared first, then applied at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

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
