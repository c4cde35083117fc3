"""The maximum of many affine functions as a signed sum of maxima of few, by a triangulation of their slopes.

The slopes of the functions, lifted to the height of their constants, have an upper hull. Let T be a triangulation of
the slopes whose simplices are all parts of that hull. Then ::

    max_k g_k = sum over faces S of T, those in the border of T left out, of (-1)^(r - dim S) max_(k in S) g_k

where r is the dimension that the slopes span: for each level t, the faces with a function above t are the open star of
a convex set, whose Euler characteristic is 1. A simplex has r + 1 corners, so no maximum has more than n + 1 functions.

The triangulation is traversed by exchanges of one corner, as in the simplex method. Every sign is decided in integer
arithmetic, ties (as where many creases meet in a point) by random heights that count only if the heights are equal:
heights of an infinitesimal perturbation. So the sum is exact, not up to a tolerance.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from creases.errors import InputError
from creases_reproduction.splines.theory.shallow_space.convex_parts import Integers

Face = tuple[int, ...]  #: numbers of functions, increasing


@dataclass(frozen=True, eq=False)
class Triangulation:
    """Simplices whose signed maxima sum to the maximum of all functions."""

    terms: Integers  #: (M, n + 1) the functions, no two with equal slopes: slopes and a constant
    simplices: tuple[Face, ...]
    border: frozenset[Face]  #: their facets that belong to one simplex only

    def signed_faces(self) -> Counter[Face]:
        """Return the sign of every face that is not in the border."""
        inside: Counter[Face] = Counter()
        outside = {face for facet in self.border for face in _subsets(facet)}
        size = len(self.simplices[0])
        for simplex in self.simplices:
            for face in _subsets(simplex):
                if face not in outside:
                    inside[face] = (-1) ** (size - len(face))
        return inside


def _subsets(face: Face) -> Iterator[Face]:
    for size in range(1, len(face) + 1):
        yield from combinations(face, size)


def triangulate(terms: Integers, *, max_simplices: int) -> Triangulation:
    """Triangulate the slopes of affine functions (M, n + 1) of integers along the upper hull of their constants."""
    terms = _largest_constants(terms)
    columns, start = _affine_basis(terms[:, :-1])
    if len(start) == 1:
        return Triangulation(terms, (start,), frozenset())
    hull = _Hull(terms, columns)
    first = hull.ascend(start)
    found, todo, border = {first}, [first], set()
    while todo:
        simplex = todo.pop()
        tableau = hull.tableau(simplex)
        for leaving in range(len(simplex)):
            entering = tableau.entering(leaving)
            rest = simplex[:leaving] + simplex[leaving + 1 :]
            if entering is None:
                border.add(rest)
                continue
            neighbor = tuple(sorted((*rest, entering)))
            if neighbor not in found:
                if len(found) == max_simplices:
                    raise InputError(
                        "max_simplices",
                        "be at least the number of simplices of a triangulation",
                        f"{max_simplices}, and there are more",
                        "raise it, or choose a smaller box or network",
                    )
                found.add(neighbor)
                todo.append(neighbor)
    return Triangulation(terms, tuple(sorted(found)), frozenset(border))


def _largest_constants(terms: Integers) -> Integers:
    """Keep, of functions with equal slopes, the largest."""
    best: dict[tuple[int, ...], int] = {}
    for *slopes, constant in terms.tolist():
        key = tuple(slopes)
        best[key] = max(best.get(key, constant), constant)
    kept = np.empty((len(best), terms.shape[1]), dtype=object)
    kept[:] = [(*slopes, constant) for slopes, constant in best.items()]
    return kept


def _affine_basis(slopes: Integers) -> tuple[list[int], Face]:
    """Return r inputs whose slopes determine all slopes affinely, and r + 1 affinely independent slopes."""
    rows = slopes - slopes[0]
    columns: list[int] = []
    corners = [0]
    while rows.any():
        row, column = (int(index) for index in np.argwhere(rows != 0)[0])
        corners.append(row)
        columns.append(column)
        rows = rows * rows[row, column] - rows[:, column : column + 1] * rows[row]
    return columns, tuple(sorted(corners))


@dataclass(frozen=True, eq=False)
class _Tableau:
    """A simplex seen from all functions: barycentric coordinates and heights above the simplex, times its volume."""

    coordinates: Integers  #: (M, r + 1)
    gaps: Integers  #: (M, 2) heights, and random heights for ties; at most 0 at an upper hull
    bits: int  #: of the largest height: gaps, in units of 2^bits, are numbers that float64 has

    def entering(self, leaving: int) -> int | None:
        """Return the function beyond the facet opposite to a corner that makes the next simplex of the hull."""
        sizes = self.coordinates[:, leaving].tolist()
        beyond = [k for k, size in enumerate(sizes) if size < 0]
        if not beyond:
            return None
        # Python rounds quotients of integers correctly, so the least one is among those of the least rounded value.
        ratios = [_quotient(self.gaps[k, 0], sizes[k] << self.bits) for k in beyond]
        least = min(ratios)
        best, *others = (k for k, ratio in zip(beyond, ratios, strict=True) if ratio == least)
        for k in others:
            if tuple(self.gaps[k] * sizes[best] - self.gaps[best] * sizes[k]) < (0, 0):  # sizes are negative
                best = k
        return best


def _quotient(a: int, b: int) -> float:
    """Return a quotient that is at least 0, rounded correctly; what is too large for a float is infinite."""
    try:
        return a / b
    except OverflowError:
        return float("inf")


class _Hull:
    """The functions as points of integers, with heights and random heights."""

    def __init__(self, terms: Integers, columns: list[int]) -> None:
        ones = np.ones((len(terms), 1), dtype=object)
        self.points = np.concatenate([terms[:, columns], ones], axis=1)
        random = np.random.default_rng(0).integers(1, 2**62, len(terms)).astype(object)
        self.heights = np.stack([terms[:, -1], random], axis=1)
        self.bits = max(abs(height).bit_length() for height in terms[:, -1].tolist())

    def tableau(self, simplex: Face) -> _Tableau:
        corners = list(simplex)
        adjugate, volume = _adjugate(self.points[corners])
        coordinates = self.points @ adjugate
        return _Tableau(coordinates, self.heights * volume - coordinates @ self.heights[corners], self.bits)

    def ascend(self, simplex: Face) -> Face:
        """Return the simplex of the upper hull above the center of a given one."""
        center = self.points[list(simplex)].sum(axis=0)
        while True:
            tableau = self.tableau(simplex)
            above = [k for k, gap in enumerate(tableau.gaps.tolist()) if tuple(gap) > (0, 0)]
            if not above:
                return simplex
            entering = above[0]  # the first, and of equal ratios the first: Bland's rule
            here = center @ _adjugate(self.points[list(simplex)])[0]
            towards = tableau.coordinates[entering]
            leaving = -1
            for i in np.flatnonzero(towards > 0).tolist():
                if leaving < 0 or here[i] * towards[leaving] < here[leaving] * towards[i]:
                    leaving = i
            simplex = tuple(sorted((*simplex[:leaving], *simplex[leaving + 1 :], entering)))


def _adjugate(matrix: Integers) -> tuple[Integers, int]:
    """Return A and d > 0 with ``matrix^-1 = A / d``, of a regular matrix of integers, by Bareiss' elimination."""
    size = len(matrix)
    both = np.concatenate([matrix, np.eye(size, dtype=int).astype(object)], axis=1)
    before = 1
    for k in range(size):
        pivot = next(row for row in range(k, size) if both[row, k] != 0)
        if pivot != k:
            both[[k, pivot]] = both[[pivot, k]]
        others = np.arange(size) != k
        both[others] = (both[others] * both[k, k] - both[others, k : k + 1] * both[k]) // before
        before = both[k, k]
    sign = 1 if before > 0 else -1
    return both[:, size:] * sign, abs(before)
