"""Deep networks of two inputs written with two hidden layers, exactly, inside a box."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from creases._typing import Floats
from creases.certify.differences import subtract_networks
from creases.errors import InputError
from creases.network import as_network
from creases.regions import PlanePartition, plane
from creases_reproduction.splines.theory.linear_layer import linear_layer

_FRAME = np.array([[1.0, 0.0], [-0.5, np.sqrt(0.75)], [-0.5, -np.sqrt(0.75)]])  # rays that sum to 0
_RELATIVE = 1e-9  # jumps of the slope below this, relative to the largest, are rounding


@dataclass(frozen=True, eq=False)
class ShallowPlane:
    """A network of two hidden layers that equals a given one inside a box."""

    module: nn.Sequential  #: Linear, ReLU, Linear, ReLU, Linear in float64
    box: Floats  #: (2, 2) bounds of the inputs
    corners: int  #: points where creases of the given network meet or end
    creases: int  #: straight pieces of creases at which its slope changes
    deviation: float  #: largest difference inside the box, over all outputs, found on every region of both

    @property
    def widths(self) -> tuple[int, int]:
        """Units of the two hidden layers."""
        first, second = self.module[0], self.module[2]
        assert isinstance(first, nn.Linear)
        assert isinstance(second, nn.Linear)
        return first.out_features, second.out_features


@dataclass(frozen=True, eq=False)
class _Edges:
    """The E straight pieces at which the slope changes."""

    vertices: Floats  #: (V, 2) of the partition
    ends: NDArray[np.int32]  #: (E, 2) vertices
    inside: NDArray[np.bool_]  #: (E, 2) whether an end is inside the box, where creases meet, or on its border
    direction: Floats  #: (E, 2) of unit length, from end 0 to end 1
    jump: Floats  #: (E, n_out) change of the slope across it, positive where convex


@dataclass(eq=False)
class _Units:
    """Summands ``weight relu(n . x - p)`` and ``weight max(0, a . (x - v), b . (x - v))``."""

    lines: dict[tuple[float, ...], tuple[Floats, float, Floats]] = field(default_factory=dict)  #: n, p, weight
    maxima: list[tuple[Floats, Floats, Floats, Floats]] = field(default_factory=list)  #: v, a, b, weight

    def add_line(self, point: Floats, direction: Floats, weight: Floats) -> None:
        """Add a unit that bends along a line; units of the same line become one."""
        if direction[0] < 0 or (direction[0] == 0 and direction[1] < 0):
            direction = -direction  # the same crease; the slope's change does not depend on the side
        normal = _turn(direction)
        key = (*np.round(normal, 9).tolist(), round(float(normal @ point), 9))
        n, p, before = self.lines.get(key, (normal, float(normal @ point), np.zeros_like(weight)))
        self.lines[key] = n, p, before + weight

    def add_maximum(self, corner: Floats, rays: Floats, weight: Floats) -> None:
        """Add a maximum of three functions that bends along three rays (3, 2), whose sum is 0, from a corner."""
        first, second, _ = rays[np.argsort(np.arctan2(rays[:, 1], rays[:, 0]))]
        a = _turn(first)
        self.maxima.append((corner, a, a + _turn(second), weight))


def to_shallow_plane(model: Any, box: Any) -> ShallowPlane:
    """Write a network of two inputs, however deep, with two hidden layers.

    Around a corner the network is a cone: it bends along rays. The sum of all cones has every crease between two
    corners twice as it should be, and beyond both; taking away a unit that bends along the whole line leaves the crease
    itself. Every ray of a cone, with two of three fixed rays, is the crease of a maximum of three affine functions,
    ``max(0, a, b) = relu(b) + relu(a - relu(b))``, and what the fixed rays add cancels but for one such maximum. All
    weights are finite; with three hidden layers and infinite weights it can be done for any number of inputs [1]_.

    Parameters
    ----------
    model
        A network, a torch module or a file name, with two inputs and any number of outputs.
    box
        The bounds of the inputs, ``(lo, hi)`` or a pair for each; outside it the two networks may differ.

    Returns
    -------
    ShallowPlane
        Its ``deviation`` is the largest difference over the box, computed on every region of both networks.

    References
    ----------
    .. [1] Mattia Jacopo Villani, Nandi Schoots, "Any Deep ReLU Network is Shallow", arXiv:2306.11827, 2023.

    Examples
    --------
    >>> import torch
    >>> from creases_reproduction.splines import theory
    >>> _ = torch.manual_seed(0)
    >>> layers = [torch.nn.Linear(2, 4), torch.nn.ReLU(), torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Linear(4, 4)]
    >>> deep = torch.nn.Sequential(*layers, torch.nn.ReLU(), torch.nn.Linear(4, 1)).double()
    >>> shallow = theory.to_shallow_plane(deep, (-1, 1))
    >>> shallow.deviation < 1e-12
    True
    """
    net = as_network(model)
    if net.n_in != 2:
        raise InputError("model", "have two inputs", f"{net.n_in}", "to_shallow_space takes any number of inputs")
    partition = plane(net, box)
    edges = _bent_edges(partition)
    units = _Units()
    for edge in range(len(edges.jump)):
        weight = (1 - edges.inside[edge].sum()) * edges.jump[edge]  # a cone at each end inside has the whole ray
        if weight.any():
            units.add_line(edges.vertices[edges.ends[edge, 0]], edges.direction[edge], weight)
    corners = np.unique(edges.ends[edges.inside])
    for corner in corners:
        _add_cone(units, edges, int(corner))
    module = _module(units, partition)
    both = plane(subtract_networks(net, as_network(module)), partition.box)
    return ShallowPlane(module, partition.box, len(corners), len(edges.jump), float(np.abs(both.values).max()))


def _bent_edges(partition: PlanePartition) -> _Edges:
    """Return the edges between regions at which the slope changes."""
    inner = (partition.edge_regions >= 0).all(axis=1)
    ends = partition.edges[inner]
    along = partition.vertices[ends[:, 1]] - partition.vertices[ends[:, 0]]
    length = np.linalg.norm(along, axis=1, keepdims=True)
    direction = along / np.where(length > 0, length, 1.0)
    slopes = partition.pieces().J
    left, right = partition.edge_regions[inner].T
    jump = np.einsum("eoi,ei->eo", slopes[left] - slopes[right], _turn(direction))
    size = np.abs(jump).max(axis=1, initial=0.0)
    bent = (size > _RELATIVE * size.max(initial=0.0)) & (length[:, 0] > 0)
    lo, hi = partition.box.T
    margin = _RELATIVE * (hi - lo)
    inside = ((partition.vertices > lo + margin) & (partition.vertices < hi - margin)).all(axis=1)
    return _Edges(partition.vertices, ends[bent], inside[ends[bent]], direction[bent], jump[bent])


def _add_cone(units: _Units, edges: _Edges, corner: int) -> None:
    """Add the cone that bends like the network around a corner, along rays without end."""
    point = edges.vertices[corner]
    first, second = (edges.ends[:, k] == corner for k in (0, 1))
    rays = np.concatenate([edges.direction[first], -edges.direction[second]])
    jumps = np.concatenate([edges.jump[first], edges.jump[second]])
    tiny = _RELATIVE * np.abs(jumps).max(initial=0.0)
    cosines = rays @ rays.T
    for ray in range(len(rays)):  # two rays of one line are one unit
        other = int(np.argmin(cosines[ray]))
        if ray < other and np.linalg.norm(rays[ray] + rays[other]) < _RELATIVE:
            units.add_line(point, rays[ray], jumps[ray].copy())
            jumps[other] -= jumps[ray]
            jumps[ray] = 0.0
    total = np.zeros((3, jumps.shape[1]))
    for ray, jump in zip(rays, jumps, strict=True):
        if np.abs(jump).max() > tiny:
            shares = _frame_shares(ray)
            if np.count_nonzero(shares) == 2:
                units.add_maximum(point, np.stack([ray, *(shares[:, None] * _FRAME)[shares > 0]]), jump)
            else:  # the ray is opposite to a fixed one
                units.add_line(point, ray, jump)
            total += shares[:, None] * jump
    if np.abs(total).max() > tiny:
        units.add_maximum(point, _FRAME, -total.mean(axis=0))


def _frame_shares(ray: Floats) -> Floats:
    """Return shares (3,) of the three fixed rays, at most two of them not 0, that sum with a ray to 0."""
    for skip in range(3):
        kept = [k for k in range(3) if k != skip]
        found = np.linalg.solve(_FRAME[kept].T, -ray)
        if (found >= -1e-12).all():
            shares = np.zeros(3)
            shares[kept] = np.where(found > 1e-12, found, 0.0)
            return shares
    raise AssertionError("three rays that sum to 0 span the plane")


def _module(units: _Units, partition: PlanePartition) -> nn.Sequential:
    """Return the layers; the affine part that is left is fitted at the corners of all regions."""
    lo = partition.box[:, 0]
    eye, lines, maxima = np.eye(2), list(units.lines.values()), units.maxima
    outputs = partition.values.shape[1]
    n = np.array([line[0] for line in lines]).reshape(-1, 2)
    p = np.array([line[1] for line in lines])
    v, a, b = (np.array([part[k] for part in maxima]).reshape(-1, 2) for k in range(3))
    first = np.concatenate([eye, n, b]), np.concatenate([-lo, -p, -(b * v).sum(1)])
    passed, count = len(first[0]), len(maxima)
    second = np.zeros((passed + count, passed))
    second[:passed] = np.eye(passed)  # inside the box all of these are at least 0
    second[passed:, :2], second[passed:, passed - count : passed] = a, -np.eye(count)
    offset = np.concatenate([np.zeros(passed), ((lo - v) * a).sum(1)])
    weights = np.array([line[2] for line in lines] + [part[3] for part in maxima]).reshape(-1, outputs)
    last = np.concatenate([np.zeros((2, outputs)), weights, weights[len(lines) :]])
    hidden = np.maximum(np.maximum(partition.vertices @ first[0].T + first[1], 0) @ second.T + offset, 0)
    design = np.column_stack([partition.vertices - lo, np.ones(len(hidden))])
    affine = np.linalg.lstsq(design, partition.values - hidden @ last, rcond=None)[0]
    last[:2] = affine[:2]
    return nn.Sequential(
        linear_layer(*first, torch.float64),
        nn.ReLU(),
        linear_layer(second, offset, torch.float64),
        nn.ReLU(),
        linear_layer(last.T, affine[2], torch.float64),
    )


def _turn(directions: Floats) -> Floats:
    """Return directions (..., 2) turned counter-clockwise by a right angle."""
    return np.stack([-directions[..., 1], directions[..., 0]], axis=-1)
