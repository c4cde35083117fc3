"""Removing units of a place, and groups of channels: finding them by trying to remove some."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from operator import index

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.utils._pytree import tree_leaves

from creases.errors import InputError
from creases.network.surgery._edits import (
    Edit,
    Plan,
    check_optimizer,
    plan_edits,
    same_outputs,
    unwrap_module,
    without_side_effects,
)
from creases.network.surgery._place import (
    AFFINE_LAYERS,
    Certificate,
    ChannelGroup,
    ChannelGroups,
    Channels,
    FixedChannels,
    Place,
    certify_edit,
    count_outputs,
    fixed_tensor_reason,
    get_layer,
    input_tensors,
    output_tensors,
    union_channels,
)
from creases.network.surgery._places import Survey, find_place, first_line
from creases.network.surgery._tracking import UnitTracker, removes_whole_groups


def remove(
    model: nn.Module,
    place: Place | str,
    units: Iterable[int],
    *,
    optimizer: Optimizer | None = None,
    X: Tensor | None = None,
    input_shape: Sequence[int] | None = None,
) -> Certificate:
    """Remove units of a place: their weights, biases, batch-norm entries and the columns that read them.

    All other values stay the same bit for bit, in the optimizer too. This undoes :func:`widen`, which describes the
    other arguments.

    Parameters
    ----------
    units
        Distinct indices from 0 to width - 1; at least one unit must remain.

    Returns
    -------
    Certificate
        Its ``bound`` is 0 if the columns of the removed units are all zero, else None; pass ``X`` to measure the
        change.

    Examples
    --------
    >>> model = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    >>> remove(model, "0", [0, 2]).new_width
    1
    """
    model = unwrap_module(model)
    place = find_place(model, place, input_shape, X)
    check_optimizer(optimizer, model)
    removed = _check_units(units, place)
    groups = [place.group(removed)]
    columns = [weight.index_select(axis, columns) for _, weight, axis, columns in _columns(model, groups)]
    return certify_edit(
        model,
        X,
        partial(apply_removal, model, groups, optimizer),
        action="remove",
        place_name=place.name,
        old_width=place.width,
        new_width=place.width - len(removed),
        bound=None if any(part.count_nonzero() for part in columns) else 0.0,
        place=place.resize(-len(removed)),
    )


def _check_units(units: Iterable[int], place: Place) -> list[int]:
    try:
        indices = [index(unit) for unit in (units.tolist() if isinstance(units, Tensor) else units)]
    except (TypeError, NotImplementedError):  # the latter of torch, for a tensor without data
        raise InputError("units", "be a list of indices such as [0, 3]", repr(units)) from None
    outside = [unit for unit in indices if not 0 <= unit < place.width]
    if outside:
        raise InputError("units", f"be from 0 to {place.width - 1} for {place.name!r}", f"{outside}")
    if not indices or len(set(indices)) != len(indices):
        raise InputError("units", "be one or more distinct indices", f"{indices}")
    if len(indices) == place.width:
        raise InputError("units", f"leave at least one unit of {place.name!r}", f"all {place.width}")
    return indices


def _columns(model: nn.Module, groups: Sequence[ChannelGroup]) -> Iterator[tuple[nn.Module, Tensor, int, Tensor]]:
    """Yield each layer that reads groups, its weight, the weight's axis of what it reads and the groups' columns."""
    for path, numbers in union_channels(group.readers for group in groups).items():
        layer = get_layer(model, path)
        weight, axis = layer.get_parameter("weight"), input_tensors(layer).weight_axis
        yield layer, weight.detach(), axis, _along(weight, axis, numbers).to(weight.device)


# Finding groups of channels by tracking units through a run and trying to remove some.


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


# Removing groups of channels: rows, columns and entries of all layers that share them.


def remove_channels(
    model: nn.Module, groups: Sequence[ChannelGroup], *, optimizer: Optimizer | None = None, X: Tensor | None = None
) -> Certificate:
    """Remove groups of channels from a model, in place.

    The outputs become those of the model with the columns that read these channels set to zero; all other values stay
    the same bit for bit, in the optimizer too.

    Parameters
    ----------
    groups
        Some of ``channel_groups(model).groups``, as numbered in the model's present state; at least one output channel
        of every layer must remain.
    optimizer, X
        As in :func:`widen`.

    Returns
    -------
    Certificate
        Its place names all layers that produce the channels, its widths are the sums of theirs, its ``bound`` is None.

    Examples
    --------
    >>> from creases.network.surgery import channel_groups
    >>> depthwise = nn.Conv2d(4, 4, 3, groups=4)
    >>> model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), depthwise, nn.Flatten(), nn.Linear(4, 2))
    >>> found = channel_groups(model, (1, 5, 5))
    >>> certificate = remove_channels(model, found.groups[:1])
    >>> model[0].out_channels, model[2].groups, model[4].in_features
    (3, 3, 3)
    """
    model = unwrap_module(model)
    check_optimizer(optimizer, model)
    removed = union_channels(group.outputs for group in groups)
    _check_groups(model, groups)
    width = sum(count_outputs(get_layer(model, path)) for path in removed)
    return certify_edit(
        model,
        X,
        partial(apply_removal, model, groups, optimizer),
        action="remove channels",
        place_name=", ".join(removed),
        old_width=width,
        new_width=width - sum(map(len, removed.values())),
        bound=None,
        place=None,
    )


def apply_removal(model: nn.Module, groups: Sequence[ChannelGroup], optimizer: Optimizer | None = None) -> list[Plan]:
    """Remove groups of channels; return plans that restore them when they are applied in this order."""
    undo: list[Plan] = []
    for outputs in (True, False) if optimizer is not None else ():  # what cannot be edited is refused beforehand
        _plan_side(model, groups, optimizer, outputs)
    for outputs in (True, False):
        plan = _plan_side(model, groups, optimizer, outputs)
        undo.insert(0, plan.inverse())
        plan.apply()
    return undo


@contextmanager
def masked_channels(model: nn.Module, groups: Sequence[ChannelGroup]) -> Iterator[None]:
    """Run a model as if some channels were zero where they are read: its readers get weights without their columns."""
    saved = [(layer, layer.get_parameter("weight")) for layer, *_ in _columns(model, groups)]
    try:
        for layer, weight, axis, columns in _columns(model, groups):
            layer._parameters["weight"] = nn.Parameter(weight.index_fill(axis, columns, 0.0))
        yield
    finally:
        for layer, parameter in saved:
            layer._parameters["weight"] = parameter


def _check_groups(model: nn.Module, groups: Sequence[ChannelGroup]) -> None:
    if not groups:
        raise InputError("groups", "have at least one group", "none")
    for path, removed in union_channels(group.outputs for group in groups).items():
        layer = get_layer(model, path)
        width = count_outputs(layer)
        if removed[-1] >= width:
            raise InputError(
                "groups", "be up to date", f"channel {removed[-1]} of {width} of {path!r}", "call channel_groups again"
            )
        if len(removed) == width:
            raise InputError("groups", f"leave at least one channel of {path!r}", f"all {width}")


def _plan_side(model: nn.Module, groups: Sequence[ChannelGroup], optimizer: Optimizer | None, outputs: bool) -> Plan:
    """Plan the removal of rows and biases (``outputs``), or of columns and entries of batch norms and PReLUs.

    The weight of a convolution that loses whole groups has no axis for all of its inputs, or of its outputs.
    """
    carriers = {path for group in groups for path in group.carriers}
    edits, counters = [], []
    sides = (part for group in groups for part in ((group.outputs,) if outputs else (group.carriers, group.readers)))
    for path, removed in union_channels(sides).items():
        layer = get_layer(model, path)
        tensors, counter = output_tensors(layer) if outputs else input_tensors(layer)
        size = int(getattr(layer, counter))
        counters.append((layer, counter, size - len(removed)))
        whole = path in carriers and isinstance(layer, AFFINE_LAYERS)
        if whole and not outputs:
            counters.append((layer, "groups", int(layer.groups) * (size - len(removed)) // size))  # type: ignore[arg-type]
        for name, axis in tensors:
            tensor = getattr(layer, name, None)
            if tensor is not None and not (whole and name == "weight" and axis):
                keep = torch.ones(tensor.shape[axis], dtype=torch.bool)
                keep[_along(tensor, axis, removed)] = False
                edits.append(Edit(layer, name, axis, keep.nonzero().flatten()))
    return plan_edits(edits, counters, optimizer)


def _along(tensor: Tensor, axis: int, channels: Sequence[int]) -> Tensor:
    """Return the indices of channels along an axis; in grouped convolutions it counts positions in a group."""
    return torch.tensor(sorted({channel % tensor.shape[axis] for channel in channels}), dtype=torch.int64)
