"""Bounds by the partition of a box: exact up to rounding, for few inputs."""

from __future__ import annotations

import torch
from torch import Tensor

from creases.certify.propagation._intervals import Interval, value_bounds
from creases.network import Network
from creases.regions import space


def exact_value_bounds(net: Network, box: Tensor, *, max_regions: int) -> list[Interval] | None:
    """Bound what enters each bend, and the output, exactly, by the partition of the box.

    Every value is affine on each region, so its least and largest values are at the regions' corners. None where the
    box has more than ``max_regions`` regions.
    """
    partition = space(net, box.numpy(), method="vertices", max_regions=max_regions)
    if not partition.complete:
        return None
    return value_bounds(net, box, _extremes(net, torch.from_numpy(partition.vertices)))


def _extremes(net: Network, corners: Tensor) -> dict[int, Interval]:
    """Return the least and largest of the output and of every value that enters a bend, over points (n, n_in)."""
    low: dict[int, Tensor] = {}
    high: dict[int, Tensor] = {}
    for part in torch.split(corners, 4096):
        values = [part.reshape(-1, *net.input_shape)]
        for step in net.steps:
            values.append(step.apply([values[number] for number in step.inputs]))
        for number in {net.steps[i].inputs[0] for i in net.bends} | {len(net.steps)}:
            least, most = values[number].amin(0), values[number].amax(0)
            low[number] = torch.minimum(low[number], least) if number in low else least
            high[number] = torch.maximum(high[number], most) if number in high else most
    return {number: Interval(low[number], high[number]) for number in low}
