"""The combinatorics of a convex polytope, from which vertices lie on which facets."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import shortest_path

Kind = Literal["hyperoctahedron", "expanded simplex"]  #: the smallest polytopes that enclose a ball


Incidence = NDArray[np.bool_]


def f_vector(incidence: Incidence) -> tuple[int, ...]:
    """Return the number of faces of dimension 0, ..., n - 1 of a polytope, from its incidence matrix.

    ``incidence`` (F, V) says which vertices are on which facets. Every face is the set of vertices that some facets
    share; its dimension is one more than that of the largest face within it.

    Examples
    --------
    >>> import numpy as np
    >>> square = np.array([[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1], [1, 0, 0, 1]], bool)
    >>> f_vector(square)
    (4, 4)
    """
    facets = [sum(1 << int(v) for v in np.flatnonzero(row)) for row in incidence]  # sets of vertices, as bits
    faces, todo = set(facets), facets
    while todo:
        todo = list({face & facet for face in todo for facet in facets} - faces - {0})
        faces.update(todo)
    dimension: dict[int, int] = {}
    for face in sorted(faces, key=int.bit_count):
        dimension[face] = 1 + max((d for other, d in dimension.items() if other & face == other), default=-1)
    return tuple(np.bincount(list(dimension.values())).tolist())


def minimal_kind(incidence: Incidence, n: int) -> Kind | None:
    """Return which of the two smallest enclosures of n + 1 units this is combinatorially, None for neither.

    A segment (n = 1) is both, and counts as a hyperoctahedron.
    """
    if _is_hyperoctahedron(incidence, n):
        return "hyperoctahedron"
    return "expanded simplex" if _is_expanded_simplex(incidence, n) else None


def _is_hyperoctahedron(incidence: Incidence, n: int) -> bool:
    """Whether the vertices are n pairs, and the facets all choices of one of each pair."""
    if incidence.shape != (2**n, 2 * n):
        return False
    apart = ~(incidence.T @ incidence)  # (V, V) pairs of vertices that are on no common facet
    if not (apart.sum(axis=0) == 1).all():
        return False
    first = np.flatnonzero(apart.argmax(axis=0) > np.arange(2 * n))
    vertices, opposite = incidence[:, first], incidence[:, apart.argmax(axis=0)[first]]
    return bool((vertices != opposite).all()) and len(np.unique(vertices, axis=0)) == 2**n


def _is_expanded_simplex(incidence: Incidence, n: int) -> bool:
    """Whether the vertices are the pairs (i, j), i != j, of n + 1 numbers, and the facets S x (not S) for all sets S.

    Facets S = {i} and S = all but j are those of n vertices; such a pair shares the vertex (i, j), or none for i = j;
    two of a kind share none. This names numbers and vertices, so that every facet can be checked.
    """
    m = n + 1
    if n < 2 or incidence.shape != (2**m - 2, n * m):
        return False
    ends = incidence[incidence.sum(axis=1) == n].astype(np.int64)  # (2 m, V)
    shared = ends @ ends.T - n * np.eye(len(ends), dtype=np.int64)
    steps = shortest_path(shared, unweighted=True, indices=0) if len(ends) == 2 * m else np.full(1, np.inf)
    if not np.isfinite(steps).all():
        return False
    even, odd = np.flatnonzero(steps % 2 == 0), np.flatnonzero(steps % 2 == 1)
    if len(even) != m or len(odd) != m or not (np.sort(shared[even][:, odd], axis=1) == np.sort(1 - np.eye(m))).all():
        return False
    partner = shared[even][:, odd].argmin(axis=1)
    if (
        len(np.unique(partner)) != m
        or not (ends[even].sum(axis=0) == 1).all()
        or not (ends[odd].sum(axis=0) == 1).all()
    ):
        return False
    i, j = ends[even].argmax(axis=0), ends[odd[partner]].argmax(axis=0)  # the name of each vertex
    S = np.stack([incidence[:, i == number].any(axis=1) for number in range(m)], axis=1)
    return bool((incidence == (S[:, i] & ~S[:, j])).all()) and len(np.unique(S, axis=0)) == len(S)
