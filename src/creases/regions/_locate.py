"""Locating points: by their pattern or, where rounding makes it ambiguous, by the sides that units may have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from creases._program import ForwardPass, apply_sides, memory_limit, pack_sides, propagate, split_sides
from creases._typing import Floats
from creases.network import Network
from creases.regions._polytope import Polytope
from creases.regions._tolerance import SIGN_TOLERANCE


def _pre_activations(net: Network, x: Tensor) -> Iterator[tuple[bool, Tensor, Tensor]]:
    """Yield for each bend whether it is a relu, its pre-activations at points (n, n_in), and their terms' sizes."""
    forward = ForwardPass(net, x, zero=SIGN_TOLERANCE)
    while (z := forward.advance()) is not None:
        yield net.steps[net.bends[forward.bend]].op == "relu", z, forward.terms


def pattern_at(net: Network, x: Tensor) -> NDArray[np.uint8]:
    """Return packed patterns (n, n_bytes) at points (n, n_in); units that are zero within the tolerance have side 0."""
    widest = max(net.sizes)
    room = 2**24 if net.device.type == "cpu" else memory_limit()  # on a CPU: what stays in its cache
    block = max(1, room // (8 * (4 * widest + net.n_units)))
    parts = [pack_sides(net, np.zeros((0, net.n_units), np.int16))]
    for start in range(0, len(x), block):
        points = x[start : start + block]
        sides = [np.zeros((len(points), 0), np.int8)]
        with torch.no_grad():
            for is_relu, z, terms in _pre_activations(net, points):
                side = z > SIGN_TOLERANCE * terms if is_relu else z.argmax(dim=-1).to(torch.int16)
                sides.append(side.flatten(1).cpu().numpy())
        parts.append(pack_sides(net, np.concatenate(sides, axis=1)))
    return np.concatenate(parts)


class PatternIndex:
    """Index of regions by their pattern."""

    def __init__(self, patterns: NDArray[np.uint8]) -> None:
        keys = _keys(patterns)
        self._order = np.argsort(keys)
        self._keys = keys[self._order]

    def find(self, patterns: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Return the region of each pattern (n, n_bytes): (n,), -1 where there is none."""
        keys = _keys(patterns)
        at = np.searchsorted(self._keys, keys)
        at[at == len(self._keys)] = 0
        return np.where(self._keys[at] == keys, self._order[at], -1)


def _keys(patterns: NDArray[np.uint8]) -> NDArray[Any]:
    """Return rows as comparable byte strings; of equal length, so that dropped trailing zeros do not matter."""
    padded = np.zeros((len(patterns), max(1, patterns.shape[1])), np.uint8)
    padded[:, : patterns.shape[1]] = patterns
    return padded.view(f"S{padded.shape[1]}").ravel()


def near_regions(net: Network, sides: NDArray[np.integer], points: Floats) -> NDArray[np.int64]:
    """Return for each point (n, n_in) a region that contains it up to rounding, -1 for none: (n,).

    ``sides`` (R, n_units) are those of the regions. A unit that is zero at a point, up to rounding, may have either
    side there: the point is on its crease, or the unit is zero on a region. The tolerance is widened until a region
    matches, up to 1e-8 of the terms.
    """
    regions = np.full(len(points), -1, np.int64)
    if not len(sides):
        return regions
    for scale in (1, 2**8, 2**16, 2**24):
        lost = np.flatnonzero(regions < 0)
        for block in np.array_split(lost, 1 + len(lost) // 1000):
            if len(block):
                regions[block] = _matching_regions(net, sides, points[block], scale * SIGN_TOLERANCE)
    return regions


def _matching_regions(net: Network, sides: NDArray[np.integer], points: Floats, zero: float) -> NDArray[np.int64]:
    """Return for each point the first region whose sides are all allowed there, -1 for none."""
    allowed = _allowed_sides(net, points, zero)
    regions = np.full(len(points), -1, np.int64)
    size = 1 + 10**6 // (1 + net.n_units)
    for start in range(0, len(sides), size):
        wrong = np.zeros((len(points), len(sides[start : start + size])), np.float32)
        for bend, may in enumerate(allowed):
            part = sides[start : start + size, net.unit_starts[bend] : net.unit_starts[bend + 1]]  # (regions, units)
            is_side = part[..., None] == np.arange(may.shape[2])
            wrong += (~may).reshape(len(points), -1).astype(np.float32) @ is_side.reshape(len(part), -1).T
        best = wrong.argmin(axis=1)
        fits = (regions < 0) & (wrong[np.arange(len(points)), best] == 0)
        regions[fits] = start + best[fits]
    return regions


def _allowed_sides(net: Network, x: Floats, zero: float) -> list[NDArray[np.bool_]]:
    """Return for each bend the sides (n, units, K) that its units may have at the points."""
    out = []
    with torch.no_grad():
        for is_relu, z, terms in _pre_activations(net, torch.from_numpy(x)):
            if is_relu:
                may = torch.stack([z <= zero * terms, z >= -zero * terms], dim=-1)
            else:
                may = z >= (z - 2 * zero * terms.amax(dim=-1, keepdim=True)).amax(dim=-1, keepdim=True)
            out.append(may.flatten(1, -2).numpy())
    return out


Pair = tuple[Tensor, Tensor]  # values, and the sums of the magnitudes of their terms


class Ray:
    """Carries a direction (n_in,) through the linear parts of a network, bend by bend, on sides set one by one."""

    def __init__(self, net: Network, direction: Tensor) -> None:
        start = direction.reshape(1, *net.input_shape)
        self.net = net
        self._bend = -1
        self._next = 0
        self._values: dict[int, Pair] = {0: (start, start.abs())}

    def advance(self) -> Pair | None:
        """Go to the next bend: derivatives (*shape) of its pre-activations and their term sizes; None at the end."""
        self._bend += 1
        if self._bend == len(self.net.bends):
            return None
        stop = self.net.bends[self._bend]

        def linear(i: int, inputs: list[Pair]) -> Pair:
            dz, sizes = zip(*inputs, strict=True)
            return self.net.steps[i].linear(dz), self.net.steps[i].linear_magnitude(sizes)

        self._values = propagate(self.net, self._values, linear, self._next, stop)
        self._next = stop
        dz, size = self._values[self.net.steps[stop].inputs[0]]
        return dz[0], size[0]

    def pass_bend(self, side: Tensor) -> Tensor:
        """Pass the current bend on these sides (*units), and return the derivatives (*units) of its outputs."""

        def through(i: int, inputs: list[Pair]) -> Pair:
            step, (dz, size) = self.net.steps[i], inputs[0]
            if step.op == "relu":
                dz = torch.where(is_zero(dz, size), 0, dz)
            out = apply_sides(step.op, dz, side[None], step.leak)
            return out, out.abs()

        self._values = propagate(self.net, self._values, through, self._next, self._next + 1)
        self._next += 1
        return self._values[self._next][0][0]


def is_zero(z: Tensor, size: Tensor) -> Tensor:
    """Whether values are zero within the tolerance, given the size of their terms."""
    return z.abs() <= SIGN_TOLERANCE * size


Sides = NDArray[np.int16]


def point_ties(net: Network, point: Tensor) -> list[Tensor]:
    """Return the ties at a point (n_in,): for each bend units at zero (*units), or largest candidates (*units, K)."""
    out: list[Tensor] = []
    for is_relu, z, terms in _pre_activations(net, point[None]):
        out.append(is_zero(z, terms)[0] if is_relu else _among_largest(z, terms)[0])
    return out


def _among_largest(z: Tensor, size: Tensor) -> Tensor:
    """Whether candidates (*units, K) tie with the largest within the tolerance, given the sizes of their terms."""
    best, where = z.max(dim=-1, keepdim=True)
    return best - z <= SIGN_TOLERANCE * (size + size.expand_as(z).gather(-1, where))


def facet_ties(
    net: Network, sides: NDArray[np.integer], units: NDArray[np.integer], across: NDArray[np.integer]
) -> list[Tensor]:
    """Return the ties on a facet, where units (c,) of a region tie between their sides and ``across`` (c,).

    ``sides`` (n_units,) are those of the region; the result is as that of :func:`point_ties`.
    """
    out = []
    for bend, (start, stop) in enumerate(zip(net.unit_starts[:-1], net.unit_starts[1:], strict=True)):
        in_bend = (start <= units) & (units < stop)
        step, K = net.steps[net.bends[bend]], net.candidates[bend]
        tied = np.zeros((stop - start, K), bool)
        tied[units[in_bend] - start, across[in_bend]] = True
        tied[units[in_bend] - start, sides[units[in_bend]]] = True
        relu = step.op == "relu"
        both = torch.from_numpy(tied.any(axis=1) if relu else tied).to(net.device)
        out.append(both.reshape(step.shape if relu else (*step.shape, K)))
    return out


def sides_toward(
    net: Network, sides: NDArray[np.integer], tied: Sequence[Tensor], direction: NDArray[np.float64]
) -> NDArray[np.int16]:
    """Return the sides just beyond a point in a direction: exact, without taking a step.

    A unit that is not tied keeps its side. A tied one takes the side of its derivative along the direction, which
    depends on the new sides of the units before it; a derivative of zero (within the tolerance) means side 0, or the
    first of the candidates that rise the most.

    Parameters
    ----------
    sides
        (n_units,) at the point.
    tied
        For each bend the ties at the point, as :func:`point_ties` returns them.
    direction
        (n_in,)
    """
    ray = Ray(net, torch.as_tensor(direction, dtype=net.dtype, device=net.device))
    old = split_sides(net, sides)
    new: list[Tensor] = []
    while (pair := ray.advance()) is not None:
        (dz, size), i = pair, len(new)
        if net.steps[net.bends[i]].op == "relu":
            new.append(torch.where(tied[i], (dz > 0) & ~is_zero(dz, size), old[i]))
        else:
            steepest = tied[i] & _among_largest(torch.where(tied[i], dz, -torch.inf), size)
            new.append(torch.where(tied[i].sum(dim=-1) > 1, steepest.int().argmax(dim=-1), old[i]))
        ray.pass_bend(new[i])
    return np.concatenate([np.zeros(0, np.int16), *(side.flatten().to(torch.int16).cpu().numpy() for side in new)])


def canonical_sides(part: Polytope, sides: NDArray[np.int16]) -> Sides:
    """Return sides in which units that tie on the whole region (a zero row) have the first tied side."""
    rows = zero_rows(part.Q, part.p)
    sides = sides.copy()
    np.minimum.at(sides, part.units[rows], part.across[rows])
    return sides


def zero_rows(Q: NDArray[np.float64], p: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the rows of ``Q x <= p`` that are ``0 <= 0``: their units tie on the whole region."""
    return np.flatnonzero(~Q.any(axis=1) & (p == 0))
