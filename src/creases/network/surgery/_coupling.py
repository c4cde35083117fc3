"""Coupled units: units that can only be removed together, found by tracking them through a run of a model.

Where :class:`UnitTracker` refuses units that meet others, this tracker joins them into one set (union-find): the terms
of a residual sum, a gate and what it multiplies, the inputs and outputs of a depthwise convolution, the inputs of a
layer that is called more than once. Units that meet values of a fixed width are marked as fixed, with the reason.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.conv import _ConvNd

from creases.network.surgery._flow import Owners
from creases.network.surgery._layers import count_outputs
from creases.network.surgery._tracking import Function, TrackedTensor, UnitTracker, along, spread, varies


class CouplingTracker(UnitTracker):
    """Tracks units and the sets of units that can only be removed together."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__(model)
        counts = [count_outputs(self.modules[path]) for path in self.flow.first]
        self.parents = list(range(1 + sum(counts)))
        self.fixed: dict[int, str] = {}  #: why a unit cannot be removed
        self.positions: dict[str, int] = {}  #: how often each layer applies its weight for one input

    def root(self, unit: int) -> int:
        """Return the unit that stands for the set of a unit."""
        while self.parents[unit] != unit:
            self.parents[unit] = self.parents[self.parents[unit]]
            unit = self.parents[unit]
        return unit

    def join(self, units: Iterable[int]) -> None:
        """Couple units."""
        first, *rest = {self.root(unit) for unit in units}
        for unit in rest:
            self.parents[unit] = first

    def fix(self, units: Iterable[int], why: str) -> None:
        """Record why units cannot be removed; the first reason counts."""
        for unit in units:
            if unit > 0:
                self.fixed.setdefault(unit, why)

    def refuse(self, owners: Iterable[str], why: str) -> None:
        """Record why the units of these layers cannot be removed."""
        for owner in owners:
            first = self.flow.first[owner]
            self.fix(range(first, first + count_outputs(self.modules[owner])), why)

    # -- operations ---------------------------------------------------------------------------------------------------

    def _units(self, func: Function, base: str, args: Any, kwargs: Any, out: Any, tracked: list[TrackedTensor]) -> Any:
        x = args[0] if args else kwargs.get("input")
        if base == "pad" and isinstance(x, TrackedTensor) and isinstance(out, Tensor) and x.ndim > 2:
            channel, more = along(x.units, 1), out.shape[1] - x.shape[1]
            if channel is not None and more:
                widths = args[1] if len(args) > 1 else kwargs["pad"]
                before = int(widths[2 * (x.ndim - 2)])
                padded = torch.nn.functional.pad(channel, (before, more - before))
                return spread(padded, 1, x.ndim)
        return super()._units(func, base, args, kwargs, out, tracked)

    def _tie_units(self, base: str, units: Tensor, owners: Owners, others: Tensor, other_owners: Owners) -> None:
        """Couple units that meet entry by entry; fix those that meet values of a fixed width."""
        place = self._describe(base)
        ours, theirs = torch.broadcast_tensors(units, others)  # type: ignore[no-untyped-call]
        spread_out = False
        for small, large in ((units, others), (others, units)):
            if _is_broadcast(small, large):
                spread_out = True
                self.fix(_numbers(small), f"{place} combines each of them with several channels")
        if spread_out:
            return
        meet = (ours > 0) & (theirs > 0) & (ours != theirs)
        keys = (ours[meet].long() << 32) + theirs[meet]
        for key in _numbers(keys):
            self.join((key >> 32, key & 0xFFFFFFFF))
        for a, b, shape in ((ours, theirs, others.shape), (theirs, ours, units.shape)):
            if varies(a, shape):
                self.fix(_numbers(a[b == 0]), f"{place} combines them with values of a fixed width, such as padding")

    # -- layers -------------------------------------------------------------------------------------------------------

    def _layer(self, base: str, args: Any, kwargs: Any, out: Tensor, owners: Owners) -> Any:
        result = super()._layer(base, args, kwargs, out, owners)
        for path in result.owners:
            x = args[0] if args else kwargs["input"]
            entries = x if base.startswith("conv_transpose") else out
            axis = -1 if base == "linear" else 1
            n = entries.numel() // max(1, len(x) * entries.shape[axis])
            self.positions[path] = self.positions.get(path, 0) + n
        return result

    def _record_columns(self, path: str, x: TrackedTensor, axis: int, owners: Owners) -> None:
        before = self.flow.columns.pop(path, None)
        super()._record_columns(path, x, axis, owners)
        if before is not None:  # the layer is called again: what it reads at a column must go together
            now = self.flow.columns[path]
            self.flow.columns[path] = torch.where(before > 0, before, now)
            self._couple_columns([list(pair) for pair in zip(before.tolist(), now.tolist(), strict=True)], path)

    def _enter_groups(self, path: str, layer: nn.Module, owners: Owners) -> None:
        """Couple the units of a grouped convolution.

        With small groups, each goes as a whole, inputs and outputs together (depthwise convolutions above all); with
        few large groups, the inputs at the same position of every group go together, and so do the outputs.
        """
        assert isinstance(layer, _ConvNd)
        read = self.flow.columns[path].reshape(layer.groups, -1)
        first = self.flow.first[path]
        made = torch.arange(first, first + layer.out_channels).reshape(layer.groups, -1)
        if removes_whole_groups(layer):
            self._couple_columns(torch.cat([read, made], dim=1).tolist(), path)
        else:
            self._couple_columns(read.T.tolist(), path)
            self._couple_columns(made.T.tolist(), path)

    def _couple_columns(self, sets: list[list[int]], path: str) -> None:
        for units in sets:
            hidden = {unit for unit in units if unit > 0}
            if hidden:
                self.join(hidden)
            if 0 in units:
                self.fix(hidden, f"{path!r} couples them with values of a fixed width")


def removes_whole_groups(layer: nn.Module) -> bool:
    """Return whether a grouped convolution loses whole groups rather than positions in all of them."""
    assert isinstance(layer, _ConvNd)
    return 1 < layer.groups >= max(layer.in_channels, layer.out_channels) // layer.groups


def _is_broadcast(small: Tensor, large: Tensor) -> bool:
    """Return whether some units are repeated along an axis on which others vary."""
    if not (small > 0).any():
        return False
    shape = (1,) * (large.ndim - small.ndim) + tuple(small.shape)
    axes = [i for i in range(1, large.ndim + 1) if shape[-i] == 1 and large.shape[-i] > 1]
    return any(bool((large.amin(-i) != large.amax(-i)).any()) for i in axes)


def _numbers(units: Tensor) -> list[int]:
    return [unit for unit in units.unique().tolist() if unit > 0]  # type: ignore[no-untyped-call]
