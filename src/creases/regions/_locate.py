"""Locating points: by their pattern or, where rounding makes it ambiguous, by the sides that units may have."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from creases._program import ForwardPass, apply_sides, memory_limit, pack_sides, propagate
from creases._typing import Floats
from creases.network import Network
from creases.regions._space.forward_rows import ForwardRows
from creases.regions._tolerance import SIGN_TOLERANCE


def pattern_at(net: Network, x: Tensor) -> NDArray[np.uint8]:
    """Return packed patterns (n, n_bytes) at points (n, n_in); units that are zero within the tolerance have side 0."""
    widest = max(net.sizes)
    room = 2**24 if net.device.type == "cpu" else memory_limit()  # on a CPU: what stays in its cache
    block = max(1, room // (8 * (4 * widest + net.n_units)))
    parts = [_block_patterns(net, x[start : start + block]) for start in range(0, len(x), block)]
    return np.concatenate([pack_sides(net, np.zeros((0, net.n_units), np.int16)), *parts])


def _block_patterns(net: Network, x: Tensor) -> NDArray[np.uint8]:
    sides = [np.zeros((len(x), 0), np.int8)]
    with torch.no_grad():
        forward = ForwardPass(net, x, zero=SIGN_TOLERANCE)
        while (z := forward.advance()) is not None:
            choice = net.steps[net.bends[forward.bend]].op == "choice"
            side = z.argmax(dim=-1).to(torch.int16) if choice else z > SIGN_TOLERANCE * forward.terms
            sides.append(side.flatten(1).cpu().numpy())
    return pack_sides(net, np.concatenate(sides, axis=1))


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
    forward, rows, out = ForwardRows(net), x, []
    with torch.no_grad():
        for bend in range(len(net.bends)):
            rows, terms = forward.advance(bend - 1, rows)
            columns = forward.pre_activations(bend)
            z, limit = rows[:, columns], zero * terms[columns]
            if net.steps[net.bends[bend]].op == "relu":
                out.append(np.stack([z <= limit, z >= -limit], axis=2))
                continue
            K = net.candidates[bend]
            z, limit = z.reshape(len(z), -1, K), limit.reshape(-1, K)
            out.append(z >= z.max(axis=2, keepdims=True) - 2 * limit.max(axis=1)[:, None])
    return out


# A direction carried through a network: derivatives of its values on leaving a point, and the size of their terms.

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
        self._values = propagate(self.net, self._values, self._linear, self._next, stop)
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

    def _linear(self, i: int, inputs: list[Pair]) -> Pair:
        dz, sizes = zip(*inputs, strict=True)
        return self.net.steps[i].linear(dz), self.net.steps[i].linear_magnitude(sizes)


def is_zero(z: Tensor, size: Tensor) -> Tensor:
    """Whether values are zero within the tolerance, given the size of their terms."""
    return z.abs() <= SIGN_TOLERANCE * size
