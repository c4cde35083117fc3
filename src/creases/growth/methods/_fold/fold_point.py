"""The fold point: the point of the *effective* boundary between two classes nearest to a sample.

The boundary of the sample's piece, extended outside of its region, is no boundary of the network: the foot of the
perpendicular counts only if it lies in the same region. Otherwise the fold point is the nearest point of the boundary
within the closed region (least-distance programming), or one found across the creases.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from creases._typing import Floats
from creases.errors import InputError
from creases.growth.methods._fold.typical_mispredictions import as_logits
from creases.network import Network
from creases.regions import cell, line
from creases.regions.geometry import SIGN_TOLERANCE, Polytope, facet_ties, nearest_point, region_polytope, sides_toward

Sides = NDArray[np.int16]

#: How far from the boundary, and outside of a closed region, a fold point may be, relative to the terms' sizes.
ON = 1e-11

#: Constraints are tight within this distance, relative to the terms' sizes: the walk may cross them.
TIGHT = 1e-9

#: Segments to samples of the other class that are searched for the boundary, and crossings of creases in a walk.
SEEDS, STEPS = 8, 50


@dataclass(frozen=True, eq=False)
class FoldPoint:
    """A point x where classes i and j tie and no other is above them, in the closed region of ``sides``."""

    x: Floats  #: (d,)
    sides: Sides  #: (n_units,) of the region used
    normal: Floats  #: (d,) of the boundary there: w = J_i - J_j
    offset: float  #: b: the boundary is w . x + b = 0
    distance: float  #: from the sample
    how: str  #: "foot", "nearest in the region", "walk", "crossing"; "foot, not checked" for the slides' rule
    residual: float  #: |z_i - z_j| at x, as the network computes it


class _BoundaryPart:
    """The boundary between classes i and j within one closed region: ``w x + b = 0, N x <= s``."""

    def __init__(self, region: Polytope, sides: Sides, i: int, j: int) -> None:
        J, y = region.J, region.y
        if len(y) == 1:  # one output f is the two logits (0, f)
            J, y = np.vstack([0 * J, J]), np.append(0.0, y)
        self.sides = sides
        self.region = region
        self.w, self.b = J[i] - J[j], float(y[i] - y[j])
        size = np.linalg.norm(J[i]) + np.linalg.norm(J[j])
        self.flat = bool(np.linalg.norm(self.w) <= SIGN_TOLERANCE * size)  # the classes never tie, or always do
        others = np.delete(np.arange(len(y)), [i, j])
        self.Q = np.vstack([region.Q, J[others] - J[i]])
        self.p = np.append(region.p, y[i] - y[others])

    def foot(self, x: Floats) -> Floats:
        """Return the nearest point to x of the hyperplane ``w x + b = 0``."""
        return np.asarray(x - (self.w @ x + self.b) / (self.w @ self.w) * self.w)

    def holds(self, x: Floats, size: float) -> bool:
        """Return whether x is in the closed region and i and j are the top classes; ``size``: of x before rounding."""
        slack = ON * (np.linalg.norm(self.Q, axis=1) * size + np.abs(self.p))
        return bool((self.Q @ x - self.p <= slack).all())

    def nearest(self, x: Floats) -> Floats | None:
        """Return the nearest point to x of the boundary in the closed region; None where there is none."""
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
    """Return the fold point for sample t of X (n, d) of class j, predicted i; or why there is none [1]_.

    Parameters
    ----------
    net
        The network from the space of X on, in float64.
    predicted
        (n,) predicted classes of all samples: segments to those predicted j are searched where the sample's region
        has no part of the boundary.

    References
    ----------
    .. [1] Jimmy Kang, "Explainable Network Growth by Folding on Typical Mis-predictions", slides, 2025.
    """
    x = X[t]
    try:
        local = _local_part(net, x, i, j)
    except InputError as problem:
        return str(problem)
    if not local.flat:
        point = local.nearest(x)
        if point is not None:
            how = "foot" if np.array_equal(point, local.foot(x)) else "nearest in the region"
            return _make_fold_point(net, local, point, x, i, j, how)
    best: FoldPoint | None = None
    walked: set[bytes] = set()
    for part, seed in _seeds(net, X, predicted, t, i, j):
        region = part.sides.tobytes()
        if region in walked:
            break  # the walk would be the same one: more ways hardly show another part of the boundary
        walked.add(region)
        candidate = _walk(net, part, seed, x, i, j)
        if best is None or candidate.distance < best.distance:
            best = candidate
    if best is not None:
        return best
    what = (
        "its region does not separate the two classes"
        if local.flat
        else "its region has no boundary between the two classes"
    )
    return f"{what}, nor is there one on the way to a sample predicted as class {j}"


def local_fold_point(net: Network, x: Floats, i: int, j: int) -> FoldPoint | str:
    """Return the fold point of the XNG slides: the foot on the extended boundary of the sample's piece, unchecked."""
    try:
        local = _local_part(net, x, i, j)
    except InputError as problem:
        return str(problem)
    if local.flat:
        return "its region does not separate the two classes"
    return _make_fold_point(net, local, local.foot(x), x, i, j, "foot, not checked")


def _local_part(net: Network, x: Floats, i: int, j: int) -> _BoundaryPart:
    sides = cell(net, x).sides
    return _BoundaryPart(region_polytope(net, sides), sides, i, j)


def _make_fold_point(
    net: Network, part: _BoundaryPart, point: Floats, x: Floats, i: int, j: int, how: str
) -> FoldPoint:
    z = as_logits(np.asarray(net(point[None])).reshape(1, -1))[0]
    distance = float(np.linalg.norm(point - x))
    return FoldPoint(point, part.sides, part.w, part.b, distance, how, float(abs(z[i] - z[j])))


# -- across the creases -----------------------------------------------------------------------------------------------


def _seeds(
    net: Network, X: Floats, predicted: NDArray[np.int64], t: int, i: int, j: int
) -> Iterator[tuple[_BoundaryPart, Floats]]:
    """Yield points of the boundary on the segments from sample t to the nearest samples predicted j."""
    others = np.flatnonzero(predicted == j)
    near = others[np.argsort(((X[others] - X[t]) ** 2).sum(axis=1), kind="stable")][:SEEDS]
    for other in near:
        if not np.array_equal(X[other], X[t]):
            yield from _first_crossing(net, X[t], X[other], i, j)


def _first_crossing(net: Network, a: Floats, b: Floats, i: int, j: int) -> Iterator[tuple[_BoundaryPart, Floats]]:
    """Yield the first point on the segment from a to b where i and j tie above all others, if there is one: exact."""
    way = line(net, a, b)
    ends = way.ends
    z = as_logits(np.asarray(net(way.points(ends))).reshape(len(ends), -1))
    lead = z[:, i] - z[:, j]
    for r in np.flatnonzero((lead[:-1] > 0) != (lead[1:] > 0)):
        share = lead[r] / (lead[r] - lead[r + 1])
        sides = net.unpack(way.patterns[r : r + 1])[0]
        part = _BoundaryPart(region_polytope(net, sides), sides, i, j)
        if part.flat:
            continue
        point = part.foot(way.points([ends[r] + share * (ends[r + 1] - ends[r])])[0])
        if part.holds(point, float(np.linalg.norm(a) + np.linalg.norm(b))):
            yield part, point
            return


def _walk(net: Network, part: _BoundaryPart, seed: Floats, x: Floats, i: int, j: int) -> FoldPoint:
    """Walk along the boundary from a point towards x, across creases, while the distance decreases."""
    nearest = part.nearest(x)
    point, how = (seed, "crossing") if nearest is None else (nearest, "walk")
    for _ in range(STEPS):
        nearer = [
            (other, candidate)
            for other in _neighbor_parts(net, part, point, i, j)
            if (candidate := other.nearest(x)) is not None
            and np.linalg.norm(candidate - x) < (1 - TIGHT) * np.linalg.norm(point - x)
        ]
        if not nearer:
            break
        part, point = min(nearer, key=lambda pair: float(np.linalg.norm(pair[1] - x)))
        how = "walk"
    return _make_fold_point(net, part, point, x, i, j, how)


def _neighbor_parts(net: Network, part: _BoundaryPart, point: Floats, i: int, j: int) -> Iterator[_BoundaryPart]:
    """Yield the boundary parts in the regions next to a point of a region's border: beyond each crease, and all."""
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
            yield _BoundaryPart(region_polytope(net, sides), sides, i, j)
