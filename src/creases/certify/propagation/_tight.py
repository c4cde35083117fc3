"""Bounds by the partition of a box, and the choice of the tightest bounds that a network's size allows."""

from __future__ import annotations

import torch
from torch import Tensor

from creases.certify.propagation._intervals import Interval, value_bounds
from creases.certify.propagation._relaxation import has_relaxation, lp_value_bounds
from creases.network import Network
from creases.regions import space

#: The most inputs for which a partition is tried, and the most regions it may have.
MAX_INPUTS, MAX_REGIONS = 4, 20_000

#: The most units of a network for which linear programs are solved.
MAX_UNITS = 200


def tight_value_bounds(net: Network, box: Tensor) -> tuple[list[Interval], bool]:
    """Bound every value of a network over a box, and say whether the bounds of what enters bends are exact.

    Intervals, where they decide the side of every unit. Otherwise the partition of the box, with few inputs; else
    linear programs, for plain networks with few units.
    """
    intervals = value_bounds(net, box)
    if not _has_undecided_units(net, intervals):
        return intervals, False
    if net.n_in <= MAX_INPUTS:
        exact = exact_value_bounds(net, box, max_regions=MAX_REGIONS)
        if exact is not None:
            return exact, True
    return (lp_value_bounds(net, box) if has_relaxation(net) and net.n_units <= MAX_UNITS else intervals), False


def exact_value_bounds(net: Network, box: Tensor, *, max_regions: int = MAX_REGIONS) -> list[Interval] | None:
    """Bound what enters each bend, and the output, exactly, by the partition of the box.

    Every value is affine on each region, so its least and largest values are at the regions' corners. None where the
    box has more than ``max_regions`` regions.
    """
    partition = space(net, box.numpy(), method="vertices", max_regions=max_regions)
    if not partition.complete:
        return None
    return value_bounds(net, box, _extremes(net, torch.from_numpy(partition.vertices)))


def _has_undecided_units(net: Network, bounds: list[Interval]) -> bool:
    """Whether the side of a unit is not decided, except in the first bend, where intervals are exact."""
    entering = [bounds[net.steps[i].inputs[0]] for i in net.bends[1:] if net.steps[i].op == "relu"]
    return any(bool(part.straddles_zero.any()) for part in entering)


def _extremes(net: Network, corners: Tensor) -> dict[int, Interval]:
    """Return the least and largest of the output and of every value that enters a bend, over points (n, n_in)."""
    low: dict[int, Tensor] = {}
    high: dict[int, Tensor] = {}
    for part in torch.split(corners, 4096):
        values = _values(net, part.reshape(-1, *net.input_shape))
        for number in {net.steps[i].inputs[0] for i in net.bends} | {len(net.steps)}:
            least, most = values[number].amin(0), values[number].amax(0)
            low[number] = torch.minimum(low[number], least) if number in low else least
            high[number] = torch.maximum(high[number], most) if number in high else most
    return {number: Interval(low[number], high[number]) for number in low}


def _values(net: Network, x: Tensor) -> list[Tensor]:
    values = [x]
    for step in net.steps:
        values.append(step.apply([values[number] for number in step.inputs]))
    return values
