"""The functions that a model is a sum of: lines, hinges of columns, hinges of pairs of columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated

import numpy as np

from creases._schema import expect
from creases._typing import Bools, Floats, Ints

if TYPE_CHECKING:
    from creases.tables._stages.rows import Rows

#: Power of the distance between neighbouring knots that a hinge is penalized by.
GAP_POWER = 1.5

#: Rows for each line of a table that is not wide.
ROWS_PER_LINE = 4

#: Penalty of the squared effect of a level: so many times that of a standardized line, before rows choose it.
LEVEL = 0.1


#: Where an input begins and ends that comes again; None for one that does not.
Circle = tuple[float, float] | None


@dataclass(frozen=True, eq=False)
class CurveBasis:
    """Straight lines of features, hinges at the inner knots of numeric ones, and ramps where a curve may jump.

    A feature is clipped to its first and last knot and scaled to [0, 1]. The lines are standardized; mean and
    regression line of a hinge or ramp are taken out, so that lines and bends are penalized apart.

    Levels of a category share a penalty that shrinks their effects alike, however many rows each has; so do missing
    values and codes. A row in which a number is missing is one of its own level: the functions of the number are 0.

    A circle (month, weekday, hour) ends where it begins, and so do all of its functions: its line rises to the middle
    and falls again, and what a hinge or ramp is at the end is taken out evenly over the circle.
    """

    knots: tuple[Floats, ...]  #: of each feature: rising, at least two
    ramps: tuple[Floats, ...]  #: of each feature: (r, 2) between which two values it may jump
    groups: Ints  #: (d,) number of the categorical column that a feature is a level of; -1 for others
    lines: Ints  #: (l,) rising: the features that have a line
    mean: Floats  #: (d,) of the scaled features
    deviation: Floats  #: (d,)
    bend_mean: Floats  #: (h,) of hinges and ramps
    bend_slope: Floats  #: (h,) of their regression lines on the standardized feature
    is_circle: Bools  #: (d,) whether the last knot is the first one again
    gaps: tuple[Ints, ...]  #: of each feature: those that are 1 where it is missing, or a code
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
        is_circle: Bools | None = None,
        gaps: Sequence[Ints] | None = None,
    ) -> CurveBasis:
        """Return the basis of knots and ramps, by feature, centred on rows X (n, d) with weights (n,)."""
        d = X.shape[1]
        is_circle = np.zeros(d, bool) if is_circle is None else is_circle
        gaps = tuple(np.zeros(0, np.int64) for _ in range(d)) if gaps is None else tuple(gaps)
        places = tuple((ramps or {}).get(j, np.zeros((0, 2))) for j in range(d))
        h = sum(len(each) - 2 for each in knots) + sum(map(len, places))
        every = np.arange(d) if lines is None else lines
        is_wide = ROWS_PER_LINE * d > len(X)
        zero, one = np.zeros(d), np.ones(d)
        raw = cls(tuple(knots), places, groups, every, zero, one, np.zeros(h), np.zeros(h), is_circle, gaps, is_wide)
        known = 1.0 - raw._missing(X)
        share = weight[:, None] * known
        share /= share.sum(axis=0).clip(1e-300)
        U = raw.scale(X)
        V = raw._lines(U)
        mean = (share * V).sum(axis=0)
        deviation = np.sqrt((share * (V - mean) ** 2).sum(axis=0))
        deviation[deviation < 1e-9] = 1.0
        bends, slope, bend_mean = raw._bends(U), np.zeros(h), np.zeros(h)
        for j, own in raw._runs:
            bend_mean[own] = share[:, j] @ bends[:, own]
            slope[own] = (share[:, j] * ((V[:, j] - mean[j]) / deviation[j])) @ bends[:, own]
        return replace(raw, mean=mean, deviation=deviation, bend_mean=bend_mean, bend_slope=slope)

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
    def _runs(self) -> list[tuple[int, slice]]:
        """Features with bends, each with where its hinges are; then those with ramps."""
        runs, start = [], 0
        for number, places in enumerate([each[1:-1] for each in self.knots] + list(self.ramps)):
            runs += [(number % len(self.knots), slice(start, start + len(places)))] if len(places) else []
            start += len(places)
        return runs

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
    def gap_features(self) -> Ints:
        """The features that are 1 where others are missing, or a code, rising."""
        return np.unique(np.concatenate([*self.gaps, np.zeros(0, np.int64)])).astype(np.int64)

    def with_gaps(self, features: Ints) -> Ints:
        """Return features and those that are 1 where one of them is missing, rising."""
        return np.unique(np.concatenate([features, *(self.gaps[j] for j in features.tolist())]))

    def _missing(self, X: Floats) -> Floats:
        """Return 1 where each feature (n, d) is missing, else 0."""
        result = np.zeros(X.shape)
        for j, gaps in enumerate(self.gaps):
            if len(gaps):
                result[:, j] = X[:, gaps].max(axis=1)
        return result

    @cached_property
    def blocks(self) -> Ints:
        """(p,) Lines of numbers share a penalty, levels of a category share one, as do missing values and codes.

        The bends of a feature have one too.

        Where there is a line for every few rows, each has a penalty of its own, so that it can vanish. Hinges and ramps
        of a feature have different penalties: a jump does not make the rest of a curve rough.
        """
        groups = self.groups[self.lines]
        owners = np.where(groups < 0, self.lines if self.is_wide else 0, len(self.knots) + groups + 1)
        owners[np.isin(self.lines, self.gap_features)] = len(self.knots)
        lines = np.unique(owners, return_inverse=True)[1]
        kind = np.arange(len(self.feature_of_bend)) >= self.n_hinges
        _, bends = np.unique(self.feature_of_bend + kind * len(self.knots), return_inverse=True)
        return np.concatenate([lines, bends + lines.max() + 1])

    @cached_property
    def penalty(self) -> Floats:
        """(p,) That of a level is of its effect: one with few rows is shrunk more.

        A hinge's grows with the distance between its neighbours: curves bend more where there are more rows.

        With the square, slopes would count on the scale on which knots are evenly spaced; the power was chosen by
        measurement.
        """
        is_level = (self.groups[self.lines] >= 0) | np.isin(self.lines, self.gap_features)
        result = [np.where(is_level, LEVEL / self.deviation[self.lines] ** 2, 1.0)]
        for each in self.knots:
            if len(each) > 2:
                gaps = ((each[2:] - each[:-2]) / (each[-1] - each[0])) ** GAP_POWER
                result.append(gaps / gaps.mean())
        return np.concatenate([*result, np.ones(len(self._edges))])

    def scale(self, X: Floats) -> Floats:
        """Return features (n, d) clipped to their knots and scaled to [0, 1]."""
        return np.clip((X - self.low) / self.span, 0.0, 1.0)

    def _bends(self, U: Floats) -> Floats:
        """Return hinges and ramps (n, h) of scaled features (n, d), by column."""
        result, n_hinges = np.empty((len(self.feature_of_bend), len(U))), self.n_hinges
        for j, own in self._runs:
            u, bends = U[:, j].copy(), result[own]
            if own.start < n_hinges:
                np.maximum(np.subtract(u, self._places[own, None], out=bends), 0.0, out=bends)
            else:
                low, high = self._edges[own.start - n_hinges : own.stop - n_hinges].T[:, :, None]
                np.clip((u - low) / (high - low), 0.0, 1.0, out=bends)
            if self.is_circle[j]:
                bends -= self._ends[own, None] * u
        return result.T

    @cached_property
    def _ends(self) -> Floats:
        """(h,) What hinges and ramps of circles are at the end, where they are to be 0 again; 0 for others."""
        ends = np.append(1.0 - self._places, np.ones(len(self._edges)))
        return np.where(self.is_circle[self.feature_of_bend], ends, 0.0)

    def _lines(self, U: Floats) -> Floats:
        """Return the lines (n, d) of scaled features (n, d): of a circle up to its middle and down again."""
        return np.where(self.is_circle, 1.0 - np.abs(2.0 * U - 1.0), U) if self.is_circle.any() else U

    def __call__(self, X: Floats) -> Floats:
        """Return lines, hinges and ramps (n, p) at rows X (n, d)."""
        U = self.scale(X)
        Z = (self._lines(U) - self.mean) / self.deviation
        bends = self._bends(U).T
        for j, own in self._runs:
            bends[own] -= Z[:, j] * self.bend_slope[own, None] + self.bend_mean[own, None]
        result = np.concatenate([Z.T[self.lines], bends])
        if len(self.gap_features):
            missing = self._missing(X).T
            for j in np.flatnonzero([len(gaps) for gaps in self.gaps]).tolist():
                result[self.feature == j] *= 1.0 - missing[j]
        return result.T

    def functions_of(self, j: int, x: Floats) -> Floats:
        """Return the functions (n, q) of feature j, in their order, at its values x (n,)."""
        own = self.feature_of_bend == j
        u = np.clip((x - self.low[j]) / self.span[j], 0.0, 1.0)[:, None]
        line = 1.0 - np.abs(2.0 * u - 1.0) if self.is_circle[j] else u
        z = (line - self.mean[j]) / self.deviation[j]
        ramps = self._edges[own[self.n_hinges :]].T
        bends = np.hstack(
            [
                np.maximum(u - self._places[own[: self.n_hinges]], 0.0),
                np.clip((u - ramps[0]) / (ramps[1] - ramps[0]), 0.0, 1.0),
            ]
        )
        bends -= self._ends[own] * u + self.bend_mean[own] + z * self.bend_slope[own]
        return np.hstack([z, bends]) if j in self.lines else bends

    def slopes_of(self, j: int, knots: Floats) -> Floats:
        """Return the slopes (pieces, q) of the functions of feature j between knots, over its range."""
        return np.asarray(np.diff(self.functions_of(j, knots), axis=0) / np.diff(knots)[:, None] * self.span[j])

    def all_knots(self, j: int) -> Floats:
        """Return the knots (k,) between which all functions of feature j are straight, rising."""
        middle = [self.low[j] + self.span[j] / 2] if self.is_circle[j] and j in self.lines else []
        return np.unique(np.concatenate([self.knots[j], self.ramps[j].reshape(-1), middle]))


@dataclass(frozen=True)
class Reason:
    """Why a unit was grown: rows that the model before it mispredicted alike."""

    row: int | None  #: number of the typical row in the table; None where rows have none
    count: int  #: different rows that were mispredicted like it
    errors: tuple[float, ...]  #: (m,) of values: by how much these were predicted too low, on average; () of classes
    classes: tuple[int, int] | None  #: that they were assigned to, and their own; None of values
    side: float  #: input of the unit's relu at the typical row: above 0 the unit is active there

    def check(self) -> None:
        """Raise ValueError where it has numbers that are not finite."""
        expect(bool(np.isfinite([self.side, *self.errors]).all()), "the side or errors of a reason are not finite")


@dataclass(frozen=True, eq=False)
class HiddenUnits:
    """Units ``relu(u @ weights.T + biases)`` that read many columns, scaled to mean 0 and deviation 1."""

    knots: tuple[Floats, ...]  #: of each input: those of its transform u
    weights: Floats  #: (h, d)
    biases: Floats  #: (h,)
    mean: Floats  #: (h,)
    deviation: Floats  #: (h,)
    reasons: tuple[Reason, ...] = ()  #: of each unit that grew

    @classmethod
    def from_rows(
        cls, rows: Rows, knots: tuple[Floats, ...], weights: Floats, biases: Floats, reasons: tuple[Reason, ...] = ()
    ) -> HiddenUnits:
        """Return the units, centred on rows."""
        hidden = np.maximum(spread_inputs(rows.X, knots) @ weights.T + biases, 0.0)
        share = rows.weight / rows.weight.sum()
        mean = share @ hidden
        deviation = np.sqrt(share @ (hidden - mean) ** 2)
        deviation[deviation < 1e-9] = 1.0
        return cls(knots, weights, biases, mean, deviation, reasons)

    def __len__(self) -> int:
        """Return the number of units."""
        return len(self.biases)

    def __call__(self, X: Floats) -> Floats:
        """Return the units (n, h) at rows X (n, d)."""
        hidden = np.maximum(spread_inputs(X, self.knots) @ self.weights.T + self.biases, 0.0)
        return np.asarray((hidden - self.mean) / self.deviation)

    def select(self, kept: Ints) -> HiddenUnits:
        """Return some of the units, by number."""
        reasons = tuple(self.reasons[k] for k in kept.tolist()) if self.reasons else ()
        weights, biases, mean, deviation = self.weights[kept], self.biases[kept], self.mean[kept], self.deviation[kept]
        return HiddenUnits(self.knots, weights, biases, mean, deviation, reasons)


# Functions of one input that are straight between knots.


def check_knots(knots: Floats, least: int) -> None:
    """Raise ValueError where knots are too few, or do not rise: they may be of a damaged file."""
    expect(len(knots) >= least and bool((np.diff(knots) > 0).all()), f"knots do not rise, or are less than {least}")


@dataclass(frozen=True, eq=False)
class PiecewiseLinear:
    """A function of one input: values at rising knots, straight between them, constant outside."""

    knots: Annotated[Floats, "k"]
    values: Annotated[Floats, "k", "m"]
    is_open: bool = False  #: whether it goes on straight after the last knot, as for inputs that are 0 or 1

    def check(self) -> None:
        """Raise ValueError where it has less than two knots, or they do not rise."""
        check_knots(self.knots, 2)

    @property
    def slopes(self) -> Floats:
        """(k - 1, m) Slope of each piece, in units of the output for one unit of the input."""
        return np.asarray(np.diff(self.values, axis=0) / np.diff(self.knots)[:, None])

    @property
    def changes(self) -> Floats:
        """(k, m) Change of slope at each knot; the function is ``values[0] + relu(x - knots) @ changes``."""
        flat = np.zeros((1, self.values.shape[1]))
        slopes = self.slopes
        return np.diff(np.concatenate([flat, slopes, slopes[-1:] if self.is_open else flat]), axis=0)

    def __call__(self, x: Floats) -> Floats:
        """Return the values (n, m) at x (n,)."""
        result = np.stack([np.interp(x, self.knots, column) for column in self.values.T], axis=1)
        if self.is_open:
            result += np.maximum(x - self.knots[-1], 0.0)[:, None] * self.slopes[-1]
        return result


def spread_evenly(x: Floats, knots: Floats) -> Floats:
    """Return x (n,) on the scale from 0 to 1 on which knots (k,) are evenly spaced, clipped to it.

    A single knot leaves what x is above it: so do inputs that are 0 or 1.
    """
    return np.maximum(x - knots[0], 0.0) if len(knots) == 1 else np.interp(x, knots, np.linspace(0, 1, len(knots)))


def spread_inputs(X: Floats, knots: Sequence[Floats]) -> Floats:
    """Return inputs (n, d) as units take them, each on the scale of its knots."""
    return np.stack([spread_evenly(x, each) for x, each in zip(X.T, knots, strict=True)], axis=1)


def spread_changes(knots: Floats) -> Floats:
    """Return the changes of slope (k,) of :func:`spread_evenly` at its knots."""
    if len(knots) == 1:
        return np.ones(1)
    return PiecewiseLinear(knots, np.linspace(0, 1, len(knots))[:, None]).changes[:, 0]


def add_functions(functions: Sequence[PiecewiseLinear]) -> PiecewiseLinear:
    """Return the sum of functions of the same input, on the knots of all of them.

    Examples
    --------
    >>> line = PiecewiseLinear(np.array([0.0, 2.0]), np.array([[0.0], [2.0]]))
    >>> bent = PiecewiseLinear(np.array([0.0, 1.0, 2.0]), np.array([[0.0], [0.0], [3.0]]))
    >>> add_functions([line, bent]).values[:, 0].tolist()
    [0.0, 1.0, 5.0]
    """
    knots = np.unique(np.concatenate([each.knots for each in functions]))
    values = np.sum([each(knots) for each in functions], axis=0)
    return PiecewiseLinear(knots, values, any(each.is_open for each in functions))
