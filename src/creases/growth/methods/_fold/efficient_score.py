"""The efficient score of a new unit: how far it can lower the loss once the old output weights adapt too.

A unit h with a small output weight a changes the mean loss by ``a E[q h] + a^2 E[r h^2] / 2``, with slopes q and
curvatures r of the losses. What the old features F can do as well does not count: h is projected on the complement of
F in the r-weighted inner product (the Lagrange multiplier or efficient score test), and

    gain(h) = E[q h_perp]^2 / (2 (E[r h_perp^2] + ridge E[r h^2])).

The direction of a crease through a given point is the one whose unit has the largest score.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dposv

from creases._typing import Floats
from creases.growth._budget import charge

#: Weight of a unit's full curvature, so that units that are nearly a combination of old ones get a small score.
RIDGE = 1e-3

#: Singular values below this share of the largest count as zero (dead or duplicate units, constant inputs).
RANK = 1e-10


@dataclass(frozen=True, eq=False)
class Scores:
    """The scores of k units."""

    gain: Floats  #: (k,) predicted fall of the mean loss, at the best output weight
    slope: Floats  #: (k,) E[q h_perp]
    curvature: Floats  #: (k,) E[r h_perp^2] + ridge E[r h^2]

    @property
    def coefficient(self) -> Floats:
        """Return Newton's output weights ``-slope / curvature``, (k,)."""
        return -self.slope / np.where(self.curvature > 0, self.curvature, 1.0)


class EfficientScore:
    """The score of new units, given old features F (n, f), slopes q (n,) and curvatures r (n,) of at least 0."""

    def __init__(self, F: Floats, q: Floats, r: Floats) -> None:
        self.slopes, self.root = q, np.sqrt(r)
        self.basis = _orthonormal(self.root[:, None] * F)
        rest = np.divide(q, self.root, out=np.zeros_like(q), where=self.root > 0)
        self.q = self.root * self.project_out(rest)  # (n,) slopes that the old features leave

    def beside(self, H: Floats) -> EfficientScore:
        """Return the score of new units where units with values H (n, k) are old features too."""
        out = copy(self)
        weighted = self.root[:, None] * H
        inside = self.basis.T @ weighted
        outside = weighted - self.basis @ inside
        again = self.basis.T @ outside  # a second projection removes what rounding left of the first
        charge(4 * H.size * self.basis.shape[1])
        size = np.linalg.norm(weighted, axis=0)
        more = _orthonormal(outside - self.basis @ again, size.max(initial=0.0))
        out.basis = np.column_stack([self.basis, more])
        slopes = np.divide(self.q, self.root, out=np.zeros_like(self.q), where=self.root > 0)
        out.q = self.root * (slopes - more @ (more.T @ slopes))
        return out

    def project_out(self, H: Floats) -> Floats:
        """Return the part of weighted functions (n,) or (n, k) that no combination of the old features gives."""
        return H - self.basis @ (self.basis.T @ H)

    def evaluate(self, H: Floats) -> Scores:
        """Return the scores of units with values H (n, k)."""
        weighted, n = self.root[:, None] * H, len(H)
        slope = self.q @ H / n
        curvature = ((self.project_out(weighted) ** 2).sum(axis=0) + RIDGE * (weighted**2).sum(axis=0)) / n
        gain = np.divide(slope**2, 2 * curvature, out=np.zeros_like(slope), where=curvature > 0)
        return Scores(gain, slope, curvature)

    def best_combination(self, H: Floats) -> Floats:
        """Return the combination u (d,) of functions H (n, d) with the largest score, ``S^-1 E[q H]``, up to sign."""
        weighted, n = self.root[:, None] * H, len(H)
        old = self.basis.T @ weighted
        charge(H.size * (H.shape[1] + self.basis.shape[1]))
        S = ((1 + RIDGE) * (weighted.T @ weighted) - old.T @ old) / n
        size = float(np.trace(S)) / len(S)
        if size == 0:
            return np.zeros(len(S))
        S[np.diag_indices_from(S)] += RANK * size  # leaves out directions in which no sample lies
        _, combination, failed = dposv(S, self.q @ H / n)  # cho_solve takes several times as long around it
        if failed:
            raise np.linalg.LinAlgError("the curvatures of the functions are not positive definite")
        return np.asarray(combination)


def _orthonormal(F: Floats, size: float = 0.0) -> Floats:
    """Return an orthonormal basis (n, rank) of columns F (n, f).

    Singular values below ``RANK`` times the largest, or times ``size`` if that is larger, count as zero.
    """
    basis, values, _ = np.linalg.svd(F, full_matrices=False)
    charge(6 * len(F) * F.shape[1] ** 2)
    return np.asarray(basis[:, values > RANK * max(size, values.max(initial=0.0))])


#: Directions tried in the plane.
ANGLES = 72

#: Iterations of the fixed point in more dimensions.
ROUNDS = 12

#: Directions on each circle through the anchor, and how many of the best the iteration starts from.
CIRCLE, STARTS = 8, 6


def unit_values(D: Floats, directions: Floats, leak: float) -> Floats:
    """Return values (n, k) of units with creases through the origin of D (n, d), for directions (k, d)."""
    t = D @ directions.T
    return np.where(t > 0, t, leak * t)


def best_direction(
    score: EfficientScore, D: Floats, anchor: Floats, leak: float, starts: int = STARTS, rounds: int = ROUNDS
) -> Floats:
    """Return the direction u (d,) of length 1 with the largest score among those tried.

    In the plane ``ANGLES`` directions, the first along the anchor. In more dimensions the closed form for a frozen
    active set A = {u . d > 0}: ``u <- +-S_A^-1 m_A / |.|``, iterated to a fixed point from starts on circles through
    the anchor. All directions rotate with the data.

    Parameters
    ----------
    D
        (n, d) samples relative to the fold point.
    anchor
        (d,) of length 1, such as the boundary's normal.
    leak
        Slope of the bend on its negative side.
    starts, rounds
        Of the iteration in more than two dimensions.
    """
    d = D.shape[1]
    if d == 1:
        tried = np.array([[1.0], [-1.0]])
    elif d == 2:
        angle = 2 * np.pi * np.arange(ANGLES)[:, None] / ANGLES
        tried = np.cos(angle) * anchor + np.sin(angle) * np.array([-anchor[1], anchor[0]])
    else:
        begin = _starts(score, D, anchor, leak)[:starts]
        tried = np.concatenate([_fixed_points(score, D, start, leak, rounds) for start in begin])
    gain = score.evaluate(unit_values(D, tried, leak)).gain
    return np.asarray(tried[int(gain.argmax())])


def _starts(score: EfficientScore, D: Floats, anchor: Floats, leak: float) -> Floats:
    """Return the best directions on the circles through the anchor and the closed forms for its two half spaces."""
    angle = 2 * np.pi * np.arange(CIRCLE)[:, None] / CIRCLE
    out = [anchor[None], -anchor[None]]
    for sign in (1.0, -1.0):
        other = score.best_combination(_slopes(D, sign * anchor, leak)[:, None] * D)
        other -= (other @ anchor) * anchor
        length = np.linalg.norm(other)
        if length > 0:
            out.append(np.cos(angle) * anchor + np.sin(angle) * other / length)
    tried = np.concatenate(out)
    gain = score.evaluate(unit_values(D, tried, leak)).gain
    return np.asarray(tried[np.argsort(-gain, kind="stable")[:STARTS]])


def _fixed_points(score: EfficientScore, D: Floats, start: Floats, leak: float, rounds: int) -> Floats:
    """Return a start and the iterates of the closed form from it, with either sign: (k, d)."""
    out = [start]
    for sign in (1.0, -1.0):
        u = start
        for _ in range(rounds):
            new = sign * score.best_combination(_slopes(D, u, leak)[:, None] * D)
            length = np.linalg.norm(new)
            if length == 0:
                break
            out.append(new / length)
            if u @ out[-1] > 1 - 1e-12:
                break
            u = out[-1]
    return np.array(out)


def _slopes(D: Floats, u: Floats, leak: float) -> Floats:
    """Return the slope (n,) of the bend at each sample."""
    return np.where(D @ u > 0, 1.0, leak)
