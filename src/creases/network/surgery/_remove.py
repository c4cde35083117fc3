"""Removing units of a place."""

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
from creases.network.surgery._resize import plan_removal
from creases.network.surgery._sandbox import unwrap_module


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
    optimizers.check_optimizer(optimizer, model)
    removed = _check_units(units, place)
    plan = plan_removal(model, place, removed, optimizer)
    unread = all(_unread(model, place, removed))
    before = count_parameters(model)
    change = apply_and_measure(model, X, plan.apply)
    return Certificate(
        action="remove",
        place_name=place.name,
        old_width=place.width,
        new_width=place.width - len(removed),
        parameters_before=before,
        parameters_after=count_parameters(model),
        change=change,
        bound=0.0 if unread else None,
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


def _unread(model: nn.Module, place: Place, units: list[int]) -> Iterable[bool]:
    """Yield for each consumer whether its columns for these units are zero."""
    for link in place.consumers:
        layer = get_layer(model, link.path)
        weight = layer.weight
        assert isinstance(weight, Tensor)
        axis = input_tensors(layer).weight_axis
        columns = link.columns(place.width)[units].flatten().to(weight.device)
        yield not bool(torch.count_nonzero(weight.detach().index_select(axis, columns)))
