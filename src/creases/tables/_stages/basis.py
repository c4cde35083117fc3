"""The functions that a model is a sum of: lines, hinges of columns, hinges of pairs of columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from creases._typing import Floats, Ints

#: Power of the distance between neighbouring knots that a hinge is penalized by.
GAP_POWER = 1.5

#: Rows for each line of a table that is not wide.
ROWS_PER_LINE = 4


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
    """Straight lines of features, hinges at the inner knots of numeric ones, and ramps where a curve may jump.

    A feature is clipped to its first and last knot and scaled to [0, 1]. The lines are standardized; mean and
    regression line of a hinge or ramp are taken out, so that lines and bends are penalized apart.
    """

    knots: tuple[Floats, ...]  #: of each feature: rising, at least two
    ramps: tuple[Floats, ...]  #: of each feature: (r, 2) between which two values it may jump
    groups: Ints  #: (d,) number of the categorical column that a feature is a level of; -1 for others
    lines: Ints  #: (l,) rising: the features that have a line
    mean: Floats  #: (d,) of the scaled features
    deviation: Floats  #: (d,)
    bend_mean: Floats  #: (h,) of hinges and ramps
    bend_slope: Floats  #: (h,) of their regression lines on the standardized feature
    is_wide: bool = False  #: whether there is a line for every few rows

    @classmethod
    def from_rows(
        cls,
        X: Floats,
        weight: Floats,
        knots: Sequence[Floats],
        groups: Ints,
        *,
        ramps: Mapping[int, Floats] | None = None,
        lines: Ints | None = None,
    ) -> CurveBasis:
        """Return the basis of knots and ramps, by feature, centred on rows X (n, d) with weights (n,)."""
        d = X.shape[1]
        places = tuple((ramps or {}).get(j, np.zeros((0, 2))) for j in range(d))
        h = sum(len(each) - 2 for each in knots) + sum(map(len, places))
        every = np.arange(d) if lines is None else lines
        is_wide = ROWS_PER_LINE * d > len(X)
        raw = cls(tuple(knots), places, groups, every, np.zeros(d), np.ones(d), np.zeros(h), np.zeros(h), is_wide)
        share = weight / weight.sum()
        U = raw.scale(X)
        mean = share @ U
        deviation = np.sqrt(share @ (U - mean) ** 2)
        deviation[deviation < 1e-9] = 1.0
        bends = raw._bends(U)
        slope = np.einsum("n,nh,nh->h", share, ((U - mean) / deviation)[:, raw.feature_of_bend], bends)
        return replace(raw, mean=mean, deviation=deviation, bend_mean=share @ bends, bend_slope=slope)

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
    def feature_of_bend(self) -> Ints:
        """(h,) The feature that a hinge or a ramp reads; hinges come first."""
        sizes = [len(each) - 2 for each in self.knots] + [len(each) for each in self.ramps]
        return np.repeat(np.tile(np.arange(len(self.knots)), 2), sizes)

    @cached_property
    def n_hinges(self) -> int:
        """The number of hinges."""
        return sum(len(each) - 2 for each in self.knots)

    @cached_property
    def feature(self) -> Ints:
        """(p,) The feature that a function reads."""
        return np.concatenate([self.lines, self.feature_of_bend])

    @cached_property
    def _places(self) -> Floats:
        """(hinges,) Knots of the hinges on the scaled features."""
        return np.concatenate([(each[1:-1] - each[0]) / (each[-1] - each[0]) for each in self.knots] or [np.zeros(0)])

    @cached_property
    def _edges(self) -> Floats:
        """(ramps, 2) Edges of the ramps on the scaled features."""
        pairs = zip(self.ramps, self.low, self.span, strict=True)
        return np.concatenate([(each - low) / span for each, low, span in pairs] or [np.zeros((0, 2))])

    @cached_property
    def blocks(self) -> Ints:
        """(p,) Lines of numbers share a penalty, levels of a category share one, as do bends of a feature.

        Where there is a line for every few rows, each has a penalty of its own, so that it can vanish. Hinges and ramps
        of a feature have different penalties: a jump does not make the rest of a curve rough.
        """
        groups = self.groups[self.lines]
        owners = np.where(groups < 0, self.lines if self.is_wide else 0, len(self.knots) + groups)
        lines = np.unique(owners, return_inverse=True)[1]
        kind = np.arange(len(self.feature_of_bend)) >= self.n_hinges
        _, bends = np.unique(self.feature_of_bend + kind * len(self.knots), return_inverse=True)
        return np.concatenate([lines, bends + lines.max() + 1])

    @cached_property
    def penalty(self) -> Floats:
        """(p,) A hinge's grows with the distance between its neighbours: curves bend more where there are more rows.

        With the square, slopes would count on the scale on which knots are evenly spaced; the power was chosen by
        measurement.
        """
        result = [np.ones(len(self.lines))]
        for each in self.knots:
            if len(each) > 2:
                gaps = ((each[2:] - each[:-2]) / (each[-1] - each[0])) ** GAP_POWER
                result.append(gaps / gaps.mean())
        return np.concatenate([*result, np.ones(len(self._edges))])

    def scale(self, X: Floats) -> Floats:
        """Return features (n, d) clipped to their knots and scaled to [0, 1]."""
        return np.clip((X - self.low) / self.span, 0.0, 1.0)

    def _bends(self, U: Floats) -> Floats:
        """Return hinges and ramps (n, h) of scaled features (n, d)."""
        result = U[:, self.feature_of_bend]
        hinges, ramps = result[:, : self.n_hinges], result[:, self.n_hinges :]
        hinges -= self._places
        np.maximum(hinges, 0.0, out=hinges)
        ramps -= self._edges[:, 0]
        ramps /= self._edges[:, 1] - self._edges[:, 0]
        np.clip(ramps, 0.0, 1.0, out=ramps)
        return result

    def __call__(self, X: Floats) -> Floats:
        """Return lines, hinges and ramps (n, p) at rows X (n, d)."""
        U = self.scale(X)
        Z = (U - self.mean) / self.deviation
        bends = self._bends(U)
        slopes = Z[:, self.feature_of_bend]
        slopes *= self.bend_slope
        slopes += self.bend_mean
        bends -= slopes
        return np.hstack([Z[:, self.lines], bends])

    def functions_of(self, j: int, x: Floats) -> Floats:
        """Return the functions (n, q) of feature j, in their order, at its values x (n,)."""
        own = self.feature_of_bend == j
        u = np.clip((x - self.low[j]) / self.span[j], 0.0, 1.0)[:, None]
        z = (u - self.mean[j]) / self.deviation[j]
        ramps = self._edges[own[self.n_hinges :]].T
        bends = np.hstack(
            [
                np.maximum(u - self._places[own[: self.n_hinges]], 0.0),
                np.clip((u - ramps[0]) / (ramps[1] - ramps[0]), 0.0, 1.0),
            ]
        )
        bends -= self.bend_mean[own] + z * self.bend_slope[own]
        return np.hstack([z, bends]) if j in self.lines else bends

    def all_knots(self, j: int) -> Floats:
        """Return the knots (k,) between which all functions of feature j are straight, rising."""
        return np.unique(np.append(self.knots[j], self.ramps[j]))
