"""Search for the knots of the best fit under conditions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from creases._typing import Floats
from creases._validation import check_choice, check_number, check_points
from creases.errors import InputError
from creases.splines._samples import Samples
from creases.splines._spline import Pieces

# Conditions on a continuous piecewise-linear fit, and the least-squares values under them at given knots.

Shape = Literal["convex", "concave"]

_RIDGE = 1e-6  # of the values at the knots: those without samples are 0
_FEASIBLE = 1e-9  # largest violation of a condition, in scaled units
_ROUNDING = 1e-7  # relative to the terms of a condition: more than this is no rounding, but a contradiction


@dataclass(frozen=True, eq=False)
class Constraints:
    """Conditions in the units of the data; :meth:`scale` brings them to the scaled units of samples."""

    slopes: tuple[float, float] = (-np.inf, np.inf)
    shape: Shape | None = None
    through: Floats | None = None  #: (m, 2) points
    period: float | None = None
    min_length: float = 0.0

    @property
    def has_any(self) -> bool:
        """Whether anything is required of a fit."""
        return (
            self.bounds_slopes
            or self.min_length > 0
            or any(condition is not None for condition in (self.shape, self.through, self.period))
        )

    @property
    def bounds_slopes(self) -> bool:
        """Whether slopes are bounded."""
        return bool(np.isfinite(self.slopes).any())

    def scale(self, data: Samples) -> Constraints:
        """Return the conditions in scaled units."""
        rate = data.width / data.height
        through = self.through
        if through is not None:
            through = (through - [data.x[0], data.mean]) / [data.width, data.height]
        return Constraints(
            (self.slopes[0] * rate, self.slopes[1] * rate),
            self.shape,
            through,
            None if self.period is None else self.period / data.width,
            self.min_length / data.width,
        )

    def hold(self, function: Pieces, data: Samples) -> bool:
        """Return whether a function that is not periodic satisfies the conditions, in the units of the data."""
        if self.period is not None:
            return False
        scale = data.height / data.width
        low, high = (bound + sign * _FEASIBLE * scale for sign, bound in zip((-1, 1), self.slopes, strict=True))
        bends = np.diff(function.slopes) * (-1 if self.shape == "concave" else 1)
        ends = np.concatenate([data.x[:1], function.knots, data.x[-1:]])
        return bool(
            ((function.slopes >= low) & (function.slopes <= high)).all()
            and (self.shape is None or (bends >= -_FEASIBLE * scale).all())
            and np.diff(ends).min() >= self.min_length
            and (
                self.through is None
                or np.abs(function(self.through[:, 0]) - self.through[:, 1]).max() <= _FEASIBLE * data.height
            )
        )

    def solve(self, knots: Floats, data: Samples) -> tuple[Floats, float] | None:
        """Return the best values at the knots (scaled; of one period, or with both ends) and their error.

        None if no function with these knots satisfies the conditions.
        """
        hats, steps = (self._basis(knots, data.t), self._steps(knots))
        root = np.sqrt(data.w)
        system = np.column_stack([hats, data.u]) * root[:, None]
        ridge = np.eye(hats.shape[1], hats.shape[1] + 1) * _RIDGE
        factor: Floats = np.asarray(np.linalg.qr(np.concatenate([system, ridge]), mode="r"))
        R, c = factor[:-1, :-1], factor[:-1, -1]
        G, h = self._inequalities(steps)
        E, f = np.zeros((0, hats.shape[1])), np.zeros(0)
        if self.through is not None:
            E, f = self._basis(knots, self.through[:, 0]), self.through[:, 1]
        values = constrained_least_squares(R, c, E, f, G, h)
        return None if values is None else (values, float(data.w @ (hats @ values - data.u) ** 2))

    def _basis(self, knots: Floats, t: Floats) -> Floats:
        """Return the hat functions of the knots at t (m, k), linear beyond the ends or periodic."""
        if self.period is None:
            return _hats(knots, t)
        around = _hats(_unrolled(knots, self.period), knots[0] + (t - knots[0]) % self.period)
        return _fold(around)

    def _steps(self, knots: Floats) -> Floats:
        """Return the matrix (pieces, k) that takes values at the knots to slopes."""
        places = knots if self.period is None else _unrolled(knots, self.period)
        size = len(places)
        steps = (np.eye(size)[1:] - np.eye(size)[:-1]) / np.diff(places)[:, None]
        return steps if self.period is None else _fold(steps)[1:]

    def _inequalities(self, steps: Floats) -> tuple[Floats, Floats]:
        """Return G and h with ``G values >= h``, from the matrix of slopes."""
        low, high = self.slopes
        rows, levels = [], []
        for sign, level in ((1, low), (-1, -high)):
            if np.isfinite(level):
                rows.append(sign * steps)
                levels.append(np.full(len(steps), level))
        if self.shape is not None:
            rows.append((1 if self.shape == "convex" else -1) * np.diff(steps, axis=0))
            levels.append(np.zeros(len(steps) - 1))
        return np.concatenate([np.zeros((0, steps.shape[1])), *rows]), np.concatenate([np.zeros(0), *levels])


def check_constraints(slopes: Any, shape: Any, through: ArrayLike | None, period: Any, min_length: Any) -> Constraints:
    """Return the conditions, checked."""
    low, high = (-np.inf, np.inf) if slopes is None else _check_slopes(slopes)
    if shape is not None:
        check_choice(shape, ("convex", "concave"), "shape")
        if period is not None:
            raise InputError("shape", "be used without period", repr(shape), "a convex periodic function is constant")
    points = None if through is None else check_points(np.atleast_2d(np.asarray(through, np.float64)), 2, "through")
    if points is not None and (len(points) == 0 or len(np.unique(points[:, 0])) < len(points)):
        raise InputError("through", "be points with different x", f"{len(points)} points")
    return Constraints(
        (low, high),
        shape,
        points,
        None if period is None else check_number(period, "period", above=0),
        check_number(min_length, "min_length", least=0),
    )


def constrained_least_squares(A: Floats, b: Floats, E: Floats, f: Floats, G: Floats, h: Floats) -> Floats | None:
    """Return the z with the least ``|A z - b|`` for which ``E z = f`` and ``G z >= h``; None if there is none.

    A has full column rank. The equations are eliminated; what remains is a least distance problem, which is solved by
    non-negative least squares [1]_.

    References
    ----------
    .. [1] C. Lawson and R. Hanson, *Solving Least Squares Problems*, 1974, chapter 23.
    """
    from scipy.linalg import null_space, solve_triangular
    from scipy.optimize import nnls

    z: Floats = np.zeros(A.shape[1])
    if len(E):
        z = np.asarray(np.linalg.lstsq(E, f, rcond=None)[0], np.float64)
        if np.abs(E @ z - f).max() > _FEASIBLE:
            return None
        N = null_space(E)
        if not N.shape[1]:
            return z if (G @ z >= h - _FEASIBLE).all() else None
        A, b, G, h = A @ N, b - A @ z, G @ N, h - G @ z
    Q, R = np.linalg.qr(A)
    v = center = Q.T @ b
    if len(G):
        normals = solve_triangular(R, G.T, trans="T").T
        levels = h - normals @ center
        if (levels > 0).any():
            dual, last = np.vstack([normals.T, levels]), np.eye(len(R) + 1)[-1]
            residual = dual @ nnls(dual, last)[0] - last
            if np.linalg.norm(residual) < _FEASIBLE or residual[-1] == 0:
                return None
            v = center - residual[:-1] / residual[-1]
    v = solve_triangular(R, v)
    if (G @ v < h - _ROUNDING * np.linalg.norm(G, axis=1) * max(1.0, np.abs(v).max())).any():
        return None
    return z + N @ v if len(E) else v


def _check_slopes(slopes: Any) -> tuple[float, float]:
    try:
        low, high = (float(slope) for slope in slopes)
    except (TypeError, ValueError):
        low = high = np.nan
    if not low <= high or low == np.inf or high == -np.inf:
        raise InputError("slopes", "be the smallest and the largest slope", repr(slopes), "such as (0, np.inf)")
    return low, high


def _hats(knots: Floats, t: Floats) -> Floats:
    piece = np.clip(np.searchsorted(knots, t, side="right") - 1, 0, len(knots) - 2)
    share = (t - knots[piece]) / (knots[piece + 1] - knots[piece])
    basis = np.zeros((len(t), len(knots)))
    rows = np.arange(len(t))
    basis[rows, piece], basis[rows, piece + 1] = 1 - share, share
    return basis


def _unrolled(knots: Floats, period: float) -> Floats:
    return np.concatenate([[knots[-1] - period], knots, [knots[0] + period]])


def _fold(columns: Floats) -> Floats:
    """Add the columns of the copies of the last and the first knot to those of the knots themselves."""
    folded = columns[:, 1:-1].copy()
    folded[:, -1] += columns[:, 0]
    folded[:, 0] += columns[:, -1]
    return folded


_PLACES = 60  # of the grid on which knots are moved one at a time
_RANDOM = 6  # random starts
_POLISHED = 2  # best results that are moved off the grid
_EVALUATIONS = 150  # for each knot, while it leaves the grid
_SHORTEST = 1e-6  # length of a piece, relative to the range of x


def search_constrained(
    data: Samples, pieces: int, conditions: Constraints, starts: list[Floats], grid: Floats, *, polish: bool
) -> tuple[Floats, Floats]:
    """Return the best knots found and the values there, scaled; of one period, or with both ends.

    From several starts, one knot at a time moves to its best place on a grid until none moves; the best results then
    leave the grid (Nelder and Mead). At each step the values solve a quadratic program. The result is a local optimum.
    """
    search = _Search(data, conditions, pieces)
    places = grid[np.linspace(0, len(grid) - 1, min(len(grid), _PLACES)).round().astype(np.int64)]
    results = [search.descend(start, places) for start in search.starts(starts)]
    results = sorted((result for result in results if np.isfinite(result[0])), key=lambda result: result[0])
    if not results:
        raise InputError(
            "pieces",
            "allow a function that satisfies all conditions",
            f"{pieces}",
            "use more pieces, or weaken slopes, shape, through or min_length",
        )
    if polish:
        results += [search.leave_grid(result) for result in results[:_POLISHED]]
    inner = min(results, key=lambda result: result[0])[1]
    solution = search.solve(inner)
    assert solution is not None
    return search.knots(inner), solution[0]


_Result = tuple[float, Floats]  # error and inner knots


class _Search:
    def __init__(self, data: Samples, conditions: Constraints, pieces: int) -> None:
        self.data, self.conditions = data, conditions
        self.end = 1.0 if conditions.period is None else conditions.period
        self.count = pieces - 1 if conditions.period is None else pieces
        self.room = self.end - pieces * conditions.min_length
        self.known: dict[bytes, float] = {}

    def knots(self, inner: Floats) -> Floats:
        return inner if self.conditions.period is not None else np.concatenate([[0.0], inner, [1.0]])

    def solve(self, inner: Floats) -> tuple[Floats, float] | None:
        """Return values and error at knots; None where they are too close together or satisfy no conditions."""
        knots = self.knots(inner)
        if len(inner) and not (inner[0] >= 0 and inner[-1] < self.end):
            return None
        gaps = np.diff(knots)
        if self.conditions.period is not None and len(knots) > 1:
            gaps = np.append(gaps, knots[0] + self.end - knots[-1])
        if len(gaps) and gaps.min() < max(self.conditions.min_length * (1 - 1e-9), _SHORTEST):
            return None
        return self.conditions.solve(knots, self.data)

    def error(self, inner: Floats) -> float:
        key = inner.tobytes()
        if key not in self.known:
            solution = self.solve(inner)
            self.known[key] = np.inf if solution is None else solution[1]
        return self.known[key]

    def starts(self, given: list[Floats]) -> list[Floats]:
        """Return given inner knots that are as many as needed, evenly spaced ones, and random ones."""
        rng = np.random.default_rng(0)
        count, length = self.count, self.conditions.min_length
        shift = 0.0 if self.conditions.period is None else self.end / (2 * max(count, 1))
        even = np.arange(1, count + 1) * (self.end / (count + (self.conditions.period is None))) - shift
        free = [np.sort(rng.uniform(0, self.room, count)) + length * np.arange(1, count + 1) for _ in range(_RANDOM)]
        starts = [inner for inner in (*given, even, *free) if len(inner) == count]
        return [inner for inner in starts if self.conditions.period is None or inner[-1] < self.end]

    def descend(self, inner: Floats, places: Floats) -> _Result:
        """Move one knot at a time to its best place on the grid until none moves."""
        inner, best, moved = inner.copy(), self.error(inner), True
        while moved:
            moved = False
            for k in range(len(inner)):
                low = inner[k - 1] if k else -1.0
                high = inner[k + 1] if k + 1 < len(inner) else self.end + 1
                for place in places[(places > low) & (places < high)]:
                    trial = inner.copy()
                    trial[k] = place
                    error = self.error(trial)
                    if error < best * (1 - 1e-9) or (best == np.inf and error < best):
                        inner, best, moved = trial, error, True
        return best, inner

    def leave_grid(self, result: _Result) -> _Result:
        """Move all knots off the grid."""
        from scipy.optimize import minimize

        error, inner = result
        options: Any = {"xatol": 1e-9, "fatol": 1e-13 * error, "maxfev": _EVALUATIONS * len(inner), "adaptive": True}
        if not len(inner) or error == 0:
            return result

        def finite_error(trial: Floats) -> float:
            return min(float(self.error(trial)), 1e6 * (1 + error))

        moved = np.asarray(minimize(finite_error, inner, method="Nelder-Mead", options=options).x, np.float64)
        return min(result, (self.error(moved), moved), key=lambda each: each[0])
