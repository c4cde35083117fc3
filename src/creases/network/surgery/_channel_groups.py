"""Finding the groups of channels of a model by tracking its units through a run and trying to remove some."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from creases.network.surgery._certificate import same_outputs
from creases.network.surgery._edits import unwrap_module, without_side_effects
from creases.network.surgery._place import (
    AFFINE_LAYERS,
    ChannelGroup,
    ChannelGroups,
    Channels,
    FixedChannels,
    count_outputs,
    fixed_tensor_reason,
    input_tensors,
    output_tensors,
    union_channels,
)
from creases.network.surgery._places import Survey, first_line
from creases.network.surgery._remove import apply_removal, masked_channels
from creases.network.surgery._tracking import UnitTracker, removes_whole_groups


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
    survey = Survey(unwrap_module(model), input_shape, X)
    tracker = survey.tracker
    _fix_tensors(survey)
    found = _coupled_units(tracker)
    kinds: dict[tuple[tuple[str, ...], ...], list[tuple[ChannelGroup, list[int]]]] = {}
    for group, units in found:
        if not group.readers:
            tracker.fix(units[:1], "no layer reads its units")
        if not any(unit in tracker.fixed for unit in units):
            kinds.setdefault(group.layers, []).append((group, units))
    for members in kinds.values():
        if why := _try_removal(survey, [group for group, _ in members]):
            for _, units in members:
                tracker.fix(units[:1], why)
    removable = tuple(group for group, units in found if not any(unit in tracker.fixed for unit in units))
    return ChannelGroups(removable, _fixed_channels(tracker, found), tracker.positions)


def _fix_tensors(survey: Survey) -> None:
    """Fix the channels of layers whose tensors cannot be cut: shared, computed, or not used as a layer's."""
    tracker = survey.tracker
    for path in dict.fromkeys([*tracker.first, *tracker.columns]):
        layer = survey.twin.get_submodule(path)
        sides = [(input_tensors, tracker.columns[path].tolist() if path in tracker.columns else [])]
        if path in tracker.first:
            sides.insert(0, (output_tensors, [*tracker.output_units(path)]))
        for side, units in sides:
            if why := fixed_tensor_reason(layer, path, side(layer), survey.shared):
                tracker.fix(units, why)
    unused = frozenset(path for path in tracker.first if path not in tracker.columns)
    tracker.refuse(unused, "forward does not call it as a layer")


def _coupled_units(tracker: UnitTracker) -> list[tuple[ChannelGroup, list[int]]]:
    """Return the sets of coupled units as groups of channels, in the order of the model's layers, with their units."""
    outputs: dict[int, dict[str, list[int]]] = {}
    inputs: dict[int, dict[str, list[int]]] = {}
    members: dict[int, list[int]] = {}
    for path in tracker.first:
        for channel, unit in enumerate(tracker.output_units(path)):
            root = tracker.root(unit)
            outputs.setdefault(root, {}).setdefault(path, []).append(channel)
            members.setdefault(root, []).append(unit)
    for path, numbers in tracker.columns.items():
        for column, unit in enumerate(numbers.tolist()):
            if unit > 0:
                inputs.setdefault(tracker.root(unit), {}).setdefault(path, []).append(column)
    found = []
    for root, units in members.items():
        read: tuple[Channels, Channels] = {}, {}  # by carriers and by readers
        for path, columns in inputs.get(root, {}).items():
            layer = tracker.modules[path]
            read[isinstance(layer, AFFINE_LAYERS) and not removes_whole_groups(layer)][path] = tuple(columns)
        made = {path: tuple(channels) for path, channels in outputs[root].items()}
        found.append((ChannelGroup(made, *read), units))
    return found


def _fixed_channels(tracker: UnitTracker, found: list[tuple[ChannelGroup, list[int]]]) -> tuple[FixedChannels, ...]:
    """Return the channels that cannot be removed, by layer and reason."""
    shared: dict[int, str] = {}
    for _, units in found:
        if (unit := next((unit for unit in units if unit in tracker.fixed), None)) is not None:
            layer = [path for path, first in tracker.first.items() if first <= unit][-1]
            why = f"they can only be removed together with channels of {layer!r}: {tracker.fixed[unit]}"
            shared |= dict.fromkeys(units, why)
    parts: dict[tuple[str, str], list[int]] = {}
    for path in tracker.first:
        for channel, unit in enumerate(tracker.output_units(path)):
            if why := tracker.fixed.get(unit) or shared.get(unit, ""):
                parts.setdefault((path, why), []).append(channel)
    return tuple(
        FixedChannels(path, tuple(channels), len(tracker.output_units(path)), why)
        for (path, why), channels in parts.items()
    )


def _try_removal(survey: Survey, groups: list[ChannelGroup]) -> str:
    """Try to remove one group, and all but one; return why that fails, "" if it does not.

    Both must give the outputs of the model with the same channels masked. Code that takes tensors apart by fixed
    numbers of channels fails here.
    """

    def outputs() -> list[Tensor]:
        with without_side_effects():
            return [leaf for leaf in tree_leaves(survey.twin(survey.x)) if isinstance(leaf, Tensor)]

    for removed in (groups[:1], groups[1:]):
        gone = union_channels(group.outputs for group in removed)
        widths = {path: count_outputs(survey.twin.get_submodule(path)) for path in gone}
        if not removed or any(len(channels) == widths[path] for path, channels in gone.items()):
            continue  # nothing to remove, or no output channel of some layer would be left
        with masked_channels(survey.twin, removed):
            expected = outputs()
        undo = apply_removal(survey.twin, removed)
        try:
            if not same_outputs(expected, outputs()):
                return "the model's code selects channels by number, which a removal would shift"
        except Exception as problem:
            return f"the model fails with fewer of them ({first_line(problem)}); its code may depend on their number"
        finally:
            for plan in undo:
                plan.apply()
    return ""
