"""Fewer units at a place."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import index

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from creases.errors import InputError
from creases.network.surgery import _optimizer as optimizers
from creases.network.surgery._certificate import Certificate, apply_and_measure, count_parameters
from creases.network.surgery._layers import input_tensors
from creases.network.surgery._place import Place, get_layer
from creases.network.surgery._places import find_place
from creases.network.surgery._resize import reduced
from creases.network.surgery._sandbox import unwrap_module


def remove(
    model: nn.Module,
    where: Place | str,
    units: Iterable[int],
    *,
    optimizer: Optimizer | None = None,
    data: Tensor | None = None,
    input_shape: Sequence[int] | None = None,
) -> Certificate:
    """Take units of a place away: their weights, biases, entries of batch norms and the columns that read them.

    What stays is kept bit for bit, in the optimizer too; the arguments are those of :func:`widen`, which this undoes.

    Parameters
    ----------
    units
        Indices in 0 .. width - 1, each once; at least one unit must stay.

    Returns
    -------
    Certificate
        Its ``bound`` is 0 where no consumer reads the units (their columns are zero), else None; give ``data`` to
        measure the change.

    Examples
    --------
    >>> model = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    >>> remove(model, "0", [0, 2]).new_width
    1
    """
    model = unwrap_module(model)
    place = find_place(model, where, input_shape, data)
    optimizers.check_optimizer(optimizer, model)
    gone = _checked_units(units, place)
    plan = reduced(model, place, gone, optimizer)
    unread = all(_unread(model, place, gone))
    before = count_parameters(model)
    change = apply_and_measure(model, data, plan.apply)
    return Certificate(
        action="remove",
        where=place.name,
        old_width=place.width,
        new_width=place.width - len(gone),
        parameters_before=before,
        parameters_after=count_parameters(model),
        change=change,
        bound=0.0 if unread else None,
        place=place.widened(-len(gone)),
    )


def _checked_units(units: Iterable[int], place: Place) -> list[int]:
    try:
        gone = [index(unit) for unit in (units.tolist() if isinstance(units, Tensor) else units)]
    except TypeError:
        raise InputError(f"units: expected indices such as [0, 3], got {units!r}") from None
    wrong = [unit for unit in gone if not 0 <= unit < place.width]
    if wrong:
        raise InputError(f"units: {wrong} out of range; {place.name!r} has units 0 to {place.width - 1}")
    if not gone or len(set(gone)) != len(gone):
        raise InputError(f"units: expected at least one index, each once, got {gone}")
    if len(gone) == place.width:
        raise InputError(f"units: all {place.width} units of {place.name!r} cannot be removed; at least one must stay")
    return gone


def _unread(model: nn.Module, place: Place, units: list[int]) -> Iterable[bool]:
    """For each consumer, whether its columns for these units are zero."""
    for link in place.consumers:
        layer = get_layer(model, link.path)
        weight = layer.weight
        assert isinstance(weight, Tensor)
        axis = input_tensors(layer).weight_axis
        columns = link.columns(place.width)[units].flatten().to(weight.device)
        yield not bool(torch.count_nonzero(weight.detach().index_select(axis, columns)))
