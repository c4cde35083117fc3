"""The fold point: the point of the *effective* boundary between two classes nearest to an instance.

The boundary of the instance's own piece, carried on beyond its region, is no boundary of the network: the foot of the
perpendicular counts only where its pattern is still that of the piece. Else the nearest point of the boundary within
the closed region (least-distance programming), else one found across the creases.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from creases._typing import Floats
from creases.errors import InputError
from creases.growth.methods._fold.predictions import as_logits
from creases.network import Network
from creases.regions import cell, line
from creases.regions.geometry import SIGN_TOLERANCE, Polytope, facet_ties, nearest_point, region_polytope, sides_toward

Sides = NDArray[np.int16]

#: How far from the boundary, and outside of a closed region, a fold point may be, relative to the terms' sizes.
ON = 1e-11

#: Rows that a point is this near to are tight: the walk may cross them.
TIGHT = 1e-9

#: Segments to instances of the other class that are searched for the boundary, and crossings of creases in a walk.
SEEDS, STEPS = 8, 50


@dataclass(frozen=True, eq=False)
class FoldPoint:
    """A point x where classes i and j tie and no other is above them, in the closed region of ``sides``."""

    x: Floats  #: (d,)
    sides: Sides  #: (n_units,) of the region used
    normal: Floats  #: (d,) of the boundary there: w = J_i - J_j
    offset: float  #: b: the boundary is w . x + b = 0
    distance: float  #: from the instance
    found: str  #: "foot", "nearest in the region", "walk", "crossing"; "foot, not checked" for the slides' rule
    residual: float  #: |z_i - z_j| at x, as the network computes it


class _Part:
    """The tie of classes i and j within one closed region: ``w x + b = 0, N x <= s``."""

    def __init__(self, region: Polytope, sides: Sides, i: int, j: int) -> None:
        J, y = _two(region.J, region.y)
        self.sides = sides
        self.region = region
        self.w, self.b = J[i] - J[j], float(y[i] - y[j])
        size = np.linalg.norm(J[i]) + np.linalg.norm(J[j])
        self.flat = bool(np.linalg.norm(self.w) <= SIGN_TOLERANCE * size)  # the classes never tie, or always do
        others = np.delete(np.arange(len(y)), [i, j])
        self.Q = np.vstack([region.Q, J[others] - J[i]])
        self.p = np.append(region.p, y[i] - y[others])

    def foot(self, x: Floats) -> Floats:
        """The nearest point of the tie's whole hyperplane."""
        return np.asarray(x - (self.w @ x + self.b) / (self.w @ self.w) * self.w)

    def holds(self, x: Floats, size: float) -> bool:
        """Whether x is in the closed region, and i and j are the top classes there; ``size`` of x before rounding."""
        room = ON * (np.linalg.norm(self.Q, axis=1) * size + np.abs(self.p))
        return bool((self.Q @ x - self.p <= room).all())

    def nearest(self, x: Floats) -> Floats | None:
        """The nearest point to x of the tie in the closed region, None where there is none."""
        if self.flat:
            return None
        foot = self.foot(x)
        size = float(np.linalg.norm(x) + np.linalg.norm(foot))
        if self.holds(foot, size):
            return foot
        length = np.linalg.norm(self.Q, axis=1)
        rows = length > 0
        if (self.p[~rows] < 0).any():
            return None  # no input takes these sides
        plane = np.linalg.qr(self.w[:, None], mode="complete")[0][:, 1:]  # (d, d - 1), orthonormal
        N, s = self.Q[rows] / length[rows, None], (self.p[rows] - self.Q[rows] @ foot) / length[rows]
        flat = N @ plane
        across = np.linalg.norm(flat, axis=1)
        cuts = across > SIGN_TOLERANCE
        if (s[~cuts] < -ON * size).any():
            return None  # a row parallel to the boundary, which lies beyond it
        s = s[cuts] / across[cuts]
        unit = float(np.abs(np.minimum(s, 0)).max(initial=0.0)) or 1.0
        w = nearest_point(flat[cuts] / across[cuts, None], s / unit)
        if w is None:
            return None
        point = self.foot(foot + unit * (plane @ w))
        return point if self.holds(point, size + unit * float(np.linalg.norm(w))) else None


def fold_point(net: Network, X: Floats, predicted: NDArray[np.int64], t: int, i: int, j: int) -> FoldPoint | str:
    """The fold point for instance t of X (n, d), predicted i and truly j; or why there is none.

    Parameters
    ----------
    net
        The network from the space of X on, in float64.
    predicted
        (n,) classes of all instances: segments to those predicted j are searched where the instance's own region has
        no part of the boundary.
    """
    x = X[t]
    try:
        own = _own(net, x, i, j)
    except InputError as problem:
        return str(problem)
    if not own.flat:
        point = own.nearest(x)
        if point is not None:
            how = "foot" if np.array_equal(point, own.foot(x)) else "nearest in the region"
            return _made(net, own, point, x, i, j, how)
    best: FoldPoint | None = None
    walked: set[bytes] = set()
    for part, seed in _seeds(net, X, predicted, t, i, j):
        region = part.sides.tobytes()
        if region in walked:
            break  # the walk would be the same one: more ways hardly show another part of the boundary
        walked.add(region)
        found = _walk(net, part, seed, x, i, j)
        if best is None or found.distance < best.distance:
            best = found
    if best is not None:
        return best
    what = "its piece does not tell them apart" if own.flat else "its region has no boundary between them"
    return f"{what}, and no way to an instance predicted {j} crosses one"


def local_fold_point(net: Network, x: Floats, i: int, j: int) -> FoldPoint | str:
    """The slides' fold point: the foot on the boundary of the instance's own piece, wherever that is."""
    try:
        own = _own(net, x, i, j)
    except InputError as problem:
        return str(problem)
    if own.flat:
        return "its piece does not tell them apart"
    return _made(net, own, own.foot(x), x, i, j, "foot, not checked")


def _own(net: Network, x: Floats, i: int, j: int) -> _Part:
    here = cell(net, x)
    return _Part(region_polytope(net, here.sides), here.sides, i, j)


def _made(net: Network, part: _Part, point: Floats, x: Floats, i: int, j: int, found: str) -> FoldPoint:
    z = as_logits(np.asarray(net(point[None])).reshape(1, -1))[0]
    distance = float(np.linalg.norm(point - x))
    return FoldPoint(point, part.sides, part.w, part.b, distance, found, float(abs(z[i] - z[j])))


def _two(J: Floats, y: Floats) -> tuple[Floats, Floats]:
    """A piece with one output as that of the two logits (0, f)."""
    return (J, y) if len(y) > 1 else (np.vstack([0 * J, J]), np.append(0.0, y))


# -- across the creases -----------------------------------------------------------------------------------------------


def _seeds(
    net: Network, X: Floats, predicted: NDArray[np.int64], t: int, i: int, j: int
) -> Iterator[tuple[_Part, Floats]]:
    """Points of the boundary on the ways from instance t to the nearest instances predicted j."""
    others = np.flatnonzero(predicted == j)
    near = others[np.argsort(((X[others] - X[t]) ** 2).sum(axis=1), kind="stable")][:SEEDS]
    for other in near:
        if not np.array_equal(X[other], X[t]):
            yield from _first_crossing(net, X[t], X[other], i, j)


def _first_crossing(net: Network, a: Floats, b: Floats, i: int, j: int) -> Iterator[tuple[_Part, Floats]]:
    """The first point on the way from a to b where i and j tie above all others, if there is one: exact."""
    way = line(net, a, b)
    ends = way.ends
    z = as_logits(np.asarray(net(way.points(ends))).reshape(len(ends), -1))
    lead = z[:, i] - z[:, j]
    for r in np.flatnonzero((lead[:-1] > 0) != (lead[1:] > 0)):
        share = lead[r] / (lead[r] - lead[r + 1])
        sides = net.unpack(way.patterns[r : r + 1])[0]
        part = _Part(region_polytope(net, sides), sides, i, j)
        if part.flat:
            continue
        point = part.foot(way.points([ends[r] + share * (ends[r + 1] - ends[r])])[0])
        if part.holds(point, float(np.linalg.norm(a) + np.linalg.norm(b))):
            yield part, point
            return


def _walk(net: Network, part: _Part, seed: Floats, x: Floats, i: int, j: int) -> FoldPoint:
    """From a point of the boundary towards x, over the creases that hold it up, while the distance falls."""
    found = part.nearest(x)
    point, how = (seed, "crossing") if found is None else (found, "walk")
    for _ in range(STEPS):
        nearer = [
            (other, there)
            for other in _across(net, part, point, i, j)
            if (there := other.nearest(x)) is not None
            and np.linalg.norm(there - x) < (1 - TIGHT) * np.linalg.norm(point - x)
        ]
        if not nearer:
            break
        part, point = min(nearer, key=lambda pair: float(np.linalg.norm(pair[1] - x)))
        how = "walk"
    return _made(net, part, point, x, i, j, how)


def _across(net: Network, part: _Part, point: Floats, i: int, j: int) -> Iterator[_Part]:
    """The ties in the regions next to one at a point of its border: beyond each crease there, and beyond all."""
    region = part.region
    length = np.linalg.norm(region.Q, axis=1)
    gap = region.p - region.Q @ point
    size = length * np.linalg.norm(point) + np.abs(region.p)
    tight = np.flatnonzero((length > 0) & (gap <= TIGHT * size))
    groups = [tight[[n]] for n in range(len(tight))] + ([tight] if len(tight) > 1 else [])
    for rows in groups:
        tied = facet_ties(net, part.sides, region.units[rows], region.across[rows])
        outwards = (region.Q[rows] / length[rows, None]).sum(axis=0)
        sides = sides_toward(net, part.sides, tied, outwards)
        if (sides != part.sides).any():
            yield _Part(region_polytope(net, sides), sides, i, j)
