"""Search for the knots of the best fit under conditions."""

from __future__ import annotations

from typing import Any

import numpy as np

from creases._typing import Floats
from creases.errors import InputError
from creases.splines._free_knots.constraints import Constraints
from creases.splines._samples import Samples

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
