"""Extremes over all regions of a polytope of few inputs: exact, because affine functions have them at vertices."""

from __future__ import annotations

import time

import numpy as np
import torch

from creases._typing import Bools, Floats
from creases.certify._maximize.domain import Domain
from creases.network import Network
from creases.network.program import Step
from creases.regions import SpacePartition, space

#: The most inputs for which the regions are listed, the most regions, and the share of the time that it may take.
MAX_INPUTS, MAX_REGIONS, SHARE = 4, 50_000, 0.4


def list_regions(net: Network, domain: Domain, deadline: float) -> tuple[SpacePartition, Bools] | None:
    """Return the regions of a box cut by the rows of a polytope, and which of them (R,) are inside; None if too many.

    Rows are added to the network as units, so that the partition is cut along them.
    """
    left = SHARE * (deadline - time.monotonic())
    if net.n_in > MAX_INPUTS or left <= 0:
        return None
    work = net if domain.is_box else _cut_by_rows(net, domain)
    partition = space(work, domain.box, method="vertices", max_regions=MAX_REGIONS, max_seconds=left)
    if not partition.complete:
        return None
    rows = len(domain.b)
    inside = (partition.sides()[:, -rows:] == 0).all(axis=1) if rows else np.ones(partition.count, bool)
    return (partition, inside) if inside.any() else None


def vertices_inside(partition: SpacePartition, inside: Bools) -> Floats:
    """Return the vertices (V, n) of some of the regions."""
    corners = np.repeat(inside, np.diff(partition.starts))
    return np.asarray(partition.vertices[np.unique(partition.corners[corners])])


def _cut_by_rows(net: Network, domain: Domain) -> Network:
    """Return the network with ``relu(A x - b)`` as further outputs."""
    rows = len(domain.b)
    length = np.linalg.norm(domain.A, axis=1)
    scale = np.where(length > 0, length, 1.0)
    weight, offset = (torch.from_numpy(part) for part in (domain.A / scale[:, None], -domain.b / scale))
    steps = list(net.steps)
    end = len(steps)
    steps.append(Step("reshape", (end,), (net.n_out,), {"shape": [net.n_out]}, path="outputs"))
    steps.append(Step("reshape", (0,), (net.n_in,), {"shape": [net.n_in]}, path="inputs"))
    steps.append(Step("linear", (end + 2,), (rows,), {}, {"weight": weight, "offset": offset}, path="rows"))
    steps.append(Step("relu", (end + 3,), (rows,), {}, {}, path="rows.side"))
    steps.append(Step("concat", (end + 1, end + 4), (net.n_out + rows,), {"dim": 0}, path="both"))
    return Network(steps, net.input_shape)
