"""Finding the region of a point."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from creases.network import Network
from creases.network.patterns import pack
from creases.network.walk import Walk
from creases.regions.tolerance import SIGN

Array = NDArray[np.float64]


def pattern_at(net: Network, x: Tensor) -> NDArray[np.uint8]:
    """Packed patterns (n, n_bytes) at points (n, n_in), units that are zero by the tolerance policy on side 0."""
    sides = [np.zeros((len(x), 0), np.int16)]
    with torch.no_grad():
        walk = Walk(net, x, zero=SIGN)
        while len(x) and (z := walk.advance()) is not None:
            choice = net.steps[net.bends[walk.bend]].op == "choice"
            side = z.argmax(dim=-1) if choice else z > SIGN * walk.terms
            sides.append(side.flatten(1).to(torch.int16).cpu().numpy())
    joined = np.concatenate(sides, axis=1) if len(x) else np.zeros((0, net.n_units), np.int16)
    return pack(net, joined)


class PatternIndex:
    """Looks regions up by their pattern."""

    def __init__(self, patterns: NDArray[np.uint8]) -> None:
        keys = _keys(patterns)
        self._order = np.argsort(keys)
        self._keys = keys[self._order]

    def find(self, patterns: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Region with each pattern (n, n_bytes): (n,), -1 where there is none."""
        keys = _keys(patterns)
        at = np.searchsorted(self._keys, keys)
        at[at == len(self._keys)] = 0
        return np.where(self._keys[at] == keys, self._order[at], -1)


def _keys(patterns: NDArray[np.uint8]) -> NDArray[Any]:
    """Rows as single comparable values. (Byte strings drop zeros at their end; at equal lengths that confuses none.)"""
    padded = np.zeros((len(patterns), max(1, patterns.shape[1])), np.uint8)
    padded[:, : patterns.shape[1]] = patterns
    return padded.view(f"S{padded.shape[1]}").ravel()


def inside_polygons(vertices: Array, corners: NDArray[Any], starts: NDArray[Any], points: Array) -> NDArray[np.int64]:
    """Convex polygon (counter-clockwise, CSR) that holds each point best: the one it is least far outside of."""
    a = vertices[corners]
    after = np.arange(1, len(corners) + 1)
    after[starts[1:] - 1] = starts[:-1]
    side = vertices[corners[after]] - a
    length = np.maximum(np.hypot(side[:, 0], side[:, 1]), np.finfo(float).tiny)
    normal = np.stack([-side[:, 1], side[:, 0]], axis=1) / length[:, None]
    offset = (normal * a).sum(axis=1)
    found = np.empty(len(points), np.int64)
    for i, point in enumerate(points):
        depth = np.minimum.reduceat(normal @ point - offset, starts[:-1])
        found[i] = int(depth.argmax())
    return found
