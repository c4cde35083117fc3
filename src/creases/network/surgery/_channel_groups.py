"""Finding the groups of channels of a model by tracking its units through a run and trying to remove some."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.conv import _ConvNd
from torch.utils._pytree import tree_leaves

from creases.network.surgery._certificate import same_outputs
from creases.network.surgery._channel_group import ChannelGroup, ChannelGroups, Channels, FixedChannels, union_channels
from creases.network.surgery._edits import unwrap_module, without_side_effects
from creases.network.surgery._place import (
    AFFINE_LAYERS,
    count_outputs,
    fixed_tensor_reason,
    input_tensors,
    is_grouped,
    output_tensors,
)
from creases.network.surgery._places import Survey
from creases.network.surgery._remove import apply_removal, masked_channels
from creases.network.surgery._tracking import Function, Owners, TrackedTensor, UnitTracker, along, spread, varies

# Coupled units: units that can only be removed together, found by tracking them through a run of a model.


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
            self.fix(self.output_units(owner), why)

    def output_units(self, path: str) -> range:
        """Return the units that a layer makes; none for one that is no affine layer."""
        first = self.flow.first.get(path)
        return range(0) if first is None else range(first, first + count_outputs(self.modules[path]))

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
        made = torch.tensor(self.output_units(path)).reshape(layer.groups, -1)
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


def channel_groups(
    model: nn.Module, input_shape: Sequence[int] | None = None, *, X: Tensor | None = None
) -> ChannelGroups:
    """Return the groups of channels that can be removed from a model, and the channels that cannot, with the reason.

    The model runs once on an example while the channel behind every tensor entry is tracked. Channels that meet in a
    residual sum, in a product, in a depthwise or grouped convolution, or in a layer that is called more than once form
    a group. The removal of some groups of each kind is then tried on a copy: its outputs must be those of the model
    with the same channels masked. The model itself, its mode and the random state do not change.

    Parameters
    ----------
    model
        Any ``torch.nn.Module`` whose layers are ``nn.Linear`` and convolutions, with any code between them.
    input_shape
        Shape of one input without the batch axis; needed for models that do not start with a linear layer.
    X
        Inputs (n, *shape) instead of ``input_shape``.

    Examples
    --------
    >>> model = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1))
    >>> found = channel_groups(model)
    >>> len(found.groups), found.groups[0].outputs, found.groups[0].readers
    (8, {'0': (0,)}, {'2': (0,)})
    >>> found.fixed[0].reason
    "its units are the model's output"
    """
    return _CouplingSurvey(unwrap_module(model), input_shape, X).groups()


class _CouplingSurvey(Survey):
    """The coupled units of a model, and a copy of it to try removals on."""

    tracker: CouplingTracker
    tracker_class = CouplingTracker

    def groups(self) -> ChannelGroups:
        """Return all groups, and the channels that cannot be removed."""
        self._fix_tensors()
        found = self._groups()
        for group, units in found:
            if not group.readers:
                self.tracker.fix(units[:1], "no layer reads its units")
        kinds: dict[tuple[tuple[str, ...], ...], list[tuple[ChannelGroup, list[int]]]] = {}
        for group, units in found:
            if not self._why_fixed(units):
                kinds.setdefault(group.layers, []).append((group, units))
        for members in kinds.values():
            why = self._try([group for group, _ in members])
            if why:
                for _, units in members:
                    self.tracker.fix(units[:1], why)
        removable = tuple(group for group, units in found if not self._why_fixed(units))
        return ChannelGroups(removable, self._fixed(found), self.tracker.positions)

    def _groups(self) -> list[tuple[ChannelGroup, list[int]]]:
        """Return the sets of coupled units as groups of channels, in the order of the model's layers."""
        flow, root = self.flow, self.tracker.root
        outputs: dict[int, dict[str, list[int]]] = {}
        units: dict[int, list[int]] = {}
        for path in flow.first:
            for channel, unit in enumerate(self.tracker.output_units(path)):
                outputs.setdefault(root(unit), {}).setdefault(path, []).append(channel)
                units.setdefault(root(unit), []).append(unit)
        inputs: dict[int, dict[str, list[int]]] = {key: {} for key in outputs}
        for path, numbers in flow.columns.items():
            for column, unit in enumerate(numbers.tolist()):
                if unit > 0:
                    inputs[root(unit)].setdefault(path, []).append(column)
        return [(self._group(outputs[key], inputs[key]), units[key]) for key in outputs]

    def _group(self, outputs: dict[str, list[int]], inputs: dict[str, list[int]]) -> ChannelGroup:
        carriers: Channels = {}
        readers: Channels = {}
        for path, columns in inputs.items():
            layer = self.twin.get_submodule(path)
            reads = isinstance(layer, AFFINE_LAYERS) and not (is_grouped(layer) and removes_whole_groups(layer))
            (readers if reads else carriers)[path] = tuple(columns)
        return ChannelGroup({path: tuple(channels) for path, channels in outputs.items()}, carriers, readers)

    def _fix_tensors(self) -> None:
        """Fix the channels of layers whose tensors cannot be cut: shared, computed, or not used as a layer's."""
        for path in dict.fromkeys([*self.flow.first, *self.flow.columns]):
            layer = self.twin.get_submodule(path)
            read: list[int] = self.flow.columns[path].tolist() if path in self.flow.columns else []
            sides = [(input_tensors(layer), read)]
            if isinstance(layer, AFFINE_LAYERS):
                sides.insert(0, (output_tensors(layer), [*self.tracker.output_units(path)]))
            for side, units in sides:
                if why := fixed_tensor_reason(layer, path, side, self.shared):
                    self.tracker.fix(units, why)
        unused = [path for path in self.flow.first if path not in self.flow.columns]
        self.tracker.refuse(unused, "forward does not call it as a layer")

    def _why_fixed(self, units: list[int]) -> str:
        """Return why coupled units cannot be removed; "" if they can."""
        return next((self.tracker.fixed[unit] for unit in units if unit in self.tracker.fixed), "")

    def _fixed(self, found: list[tuple[ChannelGroup, list[int]]]) -> tuple[FixedChannels, ...]:
        """Return the channels that cannot be removed, by layer and reason."""
        every = {self.tracker.root(units[0]): units for _, units in found}
        parts: dict[tuple[str, str], list[int]] = {}
        for path in self.flow.first:
            for channel, unit in enumerate(self.tracker.output_units(path)):
                why = self.tracker.fixed.get(unit) or self._shared_reason(every[self.tracker.root(unit)])
                if why:
                    parts.setdefault((path, why), []).append(channel)
        return tuple(
            FixedChannels(path, tuple(channels), count_outputs(self.twin.get_submodule(path)), why)
            for (path, why), channels in parts.items()
        )

    def _shared_reason(self, units: list[int]) -> str:
        """Return the reason of a unit that others are coupled with, naming its layer."""
        unit = next((unit for unit in units if unit in self.tracker.fixed), None)
        if unit is None:
            return ""
        layer = [path for path, first in self.flow.first.items() if first <= unit][-1]
        return f"they can only be removed together with channels of {layer!r}: {self.tracker.fixed[unit]}"

    def _try(self, groups: list[ChannelGroup]) -> str:
        """Try to remove one group, and all but one; return why that fails, "" if it does not.

        Both must give the outputs of the model with the same channels masked. Code that takes tensors apart by fixed
        numbers of channels fails here.
        """
        for removed in (groups[:1], groups[1:]):
            outputs = union_channels(group.outputs for group in removed)
            widths = {path: count_outputs(self.twin.get_submodule(path)) for path in outputs}
            if not removed or any(len(channels) == widths[path] for path, channels in outputs.items()):
                continue  # nothing to remove, or no output channel of some layer would be left
            with masked_channels(self.twin, removed):
                expected = self._outputs()
            undo = apply_removal(self.twin, removed)
            try:
                if not same_outputs(expected, self._outputs()):
                    return "the model's code selects channels by number, which a removal would shift"
            except Exception as problem:
                line = (str(problem).splitlines() or [type(problem).__name__])[0]
                return f"the model fails with fewer of them ({line}); its code may depend on their number"
            finally:
                for plan in undo:
                    plan.apply()
        return ""

    def _outputs(self) -> list[Tensor]:
        with without_side_effects():
            return [leaf for leaf in tree_leaves(self.twin(self.x)) if isinstance(leaf, Tensor)]
