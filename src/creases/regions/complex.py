"""A planar complex that is subdivided bend by bend: the working form of a plane partition."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from creases.regions.tolerance import SIGN

Array = NDArray[np.float64]


@dataclass
class Complex:
    """Vertices, a tree of edges and regions as loops of (vertex, edge), with the signs each bend left on the regions."""

    vertices: Array  #: (V, 2) slice coordinates
    ends: NDArray[np.int32]  #: (E, 2)
    label: NDArray[np.int32]  #: (E,) -1 for a side of the box, else the crease's label
    kid: NDArray[np.int32]  #: (E,) first of an edge's two halves, -1 if uncut
    corners: NDArray[np.int32]  #: (C, 2)
    starts: NDArray[np.int32]  #: (R + 1,)
    #: per subdivision: the region each region came from (R,), words of units positive / negative on it (R, W)
    signs: list[tuple[NDArray[np.int32], NDArray[np.uint64], NDArray[np.uint64]]] = field(default_factory=list)

    @property
    def count(self) -> int:
        return len(self.starts) - 1


def rectangle(box: Array) -> Complex:
    """The box (2, 2) as a complex of one region."""
    (x0, x1), (y0, y1) = box
    corner = np.arange(4, dtype=np.int32)
    return Complex(
        vertices=np.array([[x0, y0], [x1, y0], [x1, y1], [x0, y1]]),
        ends=np.stack([corner, (corner + 1) % 4], axis=1),
        label=np.full(4, -1, np.int32),
        kid=np.full(4, -1, np.int32),
        corners=np.stack([corner, corner], axis=1),
        starts=np.array([0, 4], np.int32),
    )


def subdivide(part: Complex, z: Tensor, terms: Tensor, first_unit: int, *, choice: bool) -> Array:
    """Split the regions of ``part``, in place, by the creases of one bend.

    Parameters
    ----------
    z
        Pre-activations at the vertices: (V, U), for a choice (V, U, K).
    terms
        Sum of the magnitudes of the terms of each pre-activation: (U,) or (U, K).
    first_unit
        Number of the bend's first unit: the label of its creases.

    Returns
    -------
    numpy.ndarray
        The values (V', U) that were split by, at all vertices, old and new (for a choice: differences of candidates).
    """
    tolerance = (SIGN * terms).cpu().numpy()
    pairs = np.zeros((0, 4), np.int64)
    labels = np.arange(first_unit, first_unit + z.shape[1], dtype=np.int32)
    if choice:
        z, tolerance, pairs = _differences(z, tolerance)
        labels = np.repeat(labels, len(pairs) // max(1, len(labels)))
    rows = np.empty((4 * len(z) + 1024, z.shape[1]))  # room for new vertices: pages are touched only when used
    torch.from_numpy(rows)[: len(z)] = z
    return _split(part, rows, len(z), tolerance, pairs, labels)


def _split(
    part: Complex, Z: Array, nv: int, tolerance: Array, pairs: NDArray[np.int64], labels: NDArray[np.int32]
) -> Array:
    """Drive the kernel, making room whenever an array is full."""
    from creases.regions import plane_kernel as kernel

    pos, neg = kernel.pack_signs(Z[:nv], tolerance)
    W, room = pos.shape[1], len(Z)
    X, pos, neg = (_grown(array, room) for array in (part.vertices, pos, neg))
    edge = [_grown(array, 2 * len(part.kid) + 4 * room) for array in (part.ends, part.label, part.kid)]
    regions = 2 * part.count + room
    out = [np.zeros((2 * len(part.corners) + 4 * room, 2), np.int32), np.zeros(regions + 1, np.int32)]
    out += [np.empty(regions, np.int32), np.empty((regions, W), np.uint64), np.empty((regions, W), np.uint64)]
    work = [np.empty((2 * room, 2), np.int32)] + [np.empty(2 * room, np.int32) for _ in range(5)]
    cut = np.empty(W, np.uint64)
    at = np.array([0, 0, nv, len(part.kid), 0, 0])
    while not kernel.subdivide(
        X, Z, pos, neg, tolerance, pairs, labels, *edge, part.corners, part.starts, tuple(out), (*work, cut), at
    ):
        if 2 * at[kernel.NV] > len(X):
            X, Z, pos, neg = (_grown(array, 2 * len(array)) for array in (X, Z, pos, neg))
        if 2 * at[kernel.NE] > len(edge[0]):
            edge = [_grown(array, 2 * len(array)) for array in edge]
        if 2 * at[kernel.NR] > len(out[1]) or 2 * at[kernel.NC] > len(out[0]):
            out = [_grown(array, 2 * len(array)) for array in out]
        work = [_grown(array, 2 * len(array)) for array in work]
    nv, ne, nc, nr = at[kernel.NV :]
    part.vertices = X[:nv]
    part.ends, part.label, part.kid = (array[:ne] for array in edge)
    part.corners, part.starts = out[0][:nc], out[1][: nr + 1]
    part.signs.append((out[2][:nr], out[3][:nr], out[4][:nr]))
    return Z[:nv]


def _grown(array: NDArray[Any], rows: int) -> NDArray[Any]:
    """The array with at least ``rows`` rows; those behind the old ones are not set."""
    if rows <= len(array):
        return array
    new = np.empty((rows, *array.shape[1:]), array.dtype)
    new[: len(array)] = array
    return new


def _differences(z: Tensor, tolerance: Array) -> tuple[Tensor, Array, NDArray[np.int64]]:
    """Differences of all pairs of candidates of every choice, and what the kernel needs to know of each pair."""
    units, K = z.shape[1:]
    i, j = np.triu_indices(K, 1)
    flat = (z[:, :, i] - z[:, :, j]).flatten(1)
    column = np.arange(units * len(i))
    pairs = np.stack(
        [column - column % max(1, len(i)), np.full_like(column, K), np.tile(i, units), np.tile(j, units)], axis=1
    )
    return flat, (tolerance[:, i] + tolerance[:, j]).ravel(), pairs
