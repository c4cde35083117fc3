"""The functions that a model is a sum of: lines, hinges of columns, hinges of pairs of columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from creases._typing import Floats, Ints


class Basis(Protocol):
    """Functions of encoded rows whose weighted sum is a model; lines come first, then hinges of single features."""

    @property
    def curves(self) -> CurveBasis:
        """Those of single features."""

    @property
    def blocks(self) -> Ints:
        """(p,) The number of each function's penalty: functions with the same number are shrunk alike."""

    @property
    def penalty(self) -> Floats:
        """(p,) The function's own factor of its penalty."""

    def __call__(self, X: Floats) -> Floats:
        """Return the functions (n, p) at rows X (n, d)."""


@dataclass(frozen=True, eq=False)
class CurveBasis:
    """A straight line for every feature, and hinges at the inner knots of numeric ones.

    A feature is clipped to its first and last knot and scaled to [0, 1]. The lines are standardized; mean and
    regression line of a hinge are taken out, so that lines and hinges are penalized apart.
    """

    knots: tuple[Floats, ...]  #: of each feature: rising, at least two
    groups: Ints  #: (d,) number of the categorical column that a feature is a level of; -1 for others
    mean: Floats  #: (d,) of the scaled features
    deviation: Floats  #: (d,)
    hinge_mean: Floats  #: (h,)
    hinge_slope: Floats  #: (h,) of the hinge's regression line on the standardized feature

    @classmethod
    def from_rows(cls, X: Floats, weight: Floats, knots: Sequence[Floats], groups: Ints) -> CurveBasis:
        """Return the basis of knots, centred on rows X (n, d) with weights (n,)."""
        d, h = X.shape[1], sum(len(each) - 2 for each in knots)
        raw = cls(tuple(knots), groups, np.zeros(d), np.ones(d), np.zeros(h), np.zeros(h))
        share = weight / weight.sum()
        U = raw.scale(X)
        mean = share @ U
        deviation = np.sqrt(share @ (U - mean) ** 2)
        deviation[deviation < 1e-9] = 1.0
        hinges = raw.hinges(U)
        slope = np.einsum("n,nh,nh->h", share, ((U - mean) / deviation)[:, raw.feature_of_hinge], hinges)
        return cls(tuple(knots), groups, mean, deviation, share @ hinges, slope)

    @property
    def curves(self) -> CurveBasis:
        """The basis itself."""
        return self

    @cached_property
    def low(self) -> Floats:
        """(d,) The first knots."""
        return np.array([each[0] for each in self.knots])

    @cached_property
    def span(self) -> Floats:
        """(d,) From the first to the last knot."""
        return np.array([each[-1] - each[0] for each in self.knots])

    @cached_property
    def feature_of_hinge(self) -> Ints:
        """(h,) The feature that a hinge reads."""
        return np.repeat(np.arange(len(self.knots)), [len(each) - 2 for each in self.knots])

    @cached_property
    def feature(self) -> Ints:
        """(p,) The feature that a function reads."""
        return np.concatenate([np.arange(len(self.knots)), self.feature_of_hinge])

    @cached_property
    def places(self) -> Floats:
        """(h,) Knots of the hinges on the scaled features."""
        return np.concatenate([(each[1:-1] - each[0]) / (each[-1] - each[0]) for each in self.knots] or [np.zeros(0)])

    @cached_property
    def blocks(self) -> Ints:
        """(p,) Lines of numbers share a penalty, levels of a category share one, hinges of a feature share one."""
        lines = np.unique(np.append(-1, self.groups), return_inverse=True)[1][1:]
        _, hinges = np.unique(self.feature_of_hinge, return_inverse=True)
        return np.concatenate([lines, hinges + lines.max() + 1])

    @cached_property
    def penalty(self) -> Floats:
        """(p,) A hinge's is the distance between its neighbours over their mean, as dense knots may bend more."""
        result = [np.ones(len(self.knots))]
        for each in self.knots:
            if len(each) > 2:
                gaps = each[2:] - each[:-2]
                result.append(gaps / gaps.mean())
        return np.concatenate(result)

    def scale(self, X: Floats) -> Floats:
        """Return features (n, d) clipped to their knots and scaled to [0, 1]."""
        return np.clip((X - self.low) / self.span, 0.0, 1.0)

    def hinges(self, U: Floats) -> Floats:
        """Return the hinges (n, h) of scaled features (n, d)."""
        result = U[:, self.feature_of_hinge]
        result -= self.places
        return np.maximum(result, 0.0, out=result)

    def __call__(self, X: Floats) -> Floats:
        """Return lines and hinges (n, d + h) at rows X (n, d)."""
        U = self.scale(X)
        d, feature = U.shape[1], self.feature_of_hinge
        result = np.empty((len(U), d + len(feature)))
        np.divide(U - self.mean, self.deviation, out=result[:, :d])
        lines = result[:, feature]
        lines *= self.hinge_slope
        lines += self.hinge_mean
        np.subtract(self.hinges(U), lines, out=result[:, d:])
        return result

    def functions_of(self, j: int, x: Floats) -> Floats:
        """Return line and hinges (n, q) of feature j at its values x (n,)."""
        own = self.feature_of_hinge == j
        u = np.clip((x - self.knots[j][0]) / (self.knots[j][-1] - self.knots[j][0]), 0.0, 1.0)
        z = (u - self.mean[j]) / self.deviation[j]
        bends = (
            np.maximum(u[:, None] - self.places[own], 0.0) - self.hinge_mean[own] - z[:, None] * self.hinge_slope[own]
        )
        return np.column_stack([z, bends])

    def slopes(self, weights: Floats) -> tuple[Floats, Floats, Floats]:
        """Return a sum (p, m) of the functions as slopes (d, m), changes of slope (h, m) and a constant (m,).

        They are for scaled features.
        """
        d = len(self.knots)
        changes = weights[d:]
        lines = weights[:d].copy()
        np.add.at(lines, self.feature_of_hinge, -changes * self.hinge_slope[:, None])
        lines /= self.deviation[:, None]
        return lines, changes, -self.mean @ lines - self.hinge_mean @ changes
