"""The best fit under conditions: the values at given knots by quadratic programs, the knots by a local search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from creases._typing import Floats
from creases._validation import check_choice, check_points
from creases.errors import InputError
from creases.regions.geometry import nearest_point
from creases.splines._samples import Samples
from creases.splines._spline import Pieces

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

    @property
    def has_any(self) -> bool:
        """Whether anything is required of a fit."""
        return bool(np.isfinite(self.slopes).any()) or self.shape is not None or self.through is not None

    def scale(self, data: Samples) -> Constraints:
        """Return the conditions in scaled units."""
        rate, through = data.width / data.height, self.through
        if through is not None:
            through = (through - [data.x[0], data.mean]) / [data.width, data.height]
        return Constraints((self.slopes[0] * rate, self.slopes[1] * rate), self.shape, through)

    def hold(self, function: Pieces, data: Samples) -> bool:
        """Return whether a function satisfies the conditions, in the units of the data."""
        scale = data.height / data.width
        low, high = (bound + sign * _FEASIBLE * scale for sign, bound in zip((-1, 1), self.slopes, strict=True))
        bends = np.diff(function.slopes) * (-1 if self.shape == "concave" else 1)
        return bool(
            ((function.slopes >= low) & (function.slopes <= high)).all()
            and (self.shape is None or (bends >= -_FEASIBLE * scale).all())
            and (
                self.through is None
                or np.abs(function(self.through[:, 0]) - self.through[:, 1]).max() <= _FEASIBLE * data.height
            )
        )

    def solve(self, knots: Floats, data: Samples) -> tuple[Floats, float] | None:
        """Return the best values at the knots (scaled, with both ends) and their error.

        None if no function with these knots satisfies the conditions.
        """
        hats, size = _hats(knots, data.t), len(knots)
        root = np.sqrt(data.w)
        system = np.column_stack([hats, data.u]) * root[:, None]
        factor: Floats = np.asarray(np.linalg.qr(np.concatenate([system, np.eye(size, size + 1) * _RIDGE]), mode="r"))
        steps = np.diff(np.eye(size), axis=0) / np.diff(knots)[:, None]  # from values to slopes
        signs = np.isfinite(self.slopes) * [1.0, -1.0]
        rows = [sign * steps for sign in signs if sign]
        levels = [np.full(size - 1, sign * bound) for sign, bound in zip(signs, self.slopes, strict=True) if sign]
        if self.shape is not None:
            rows.append((1 if self.shape == "convex" else -1) * np.diff(steps, axis=0))
            levels.append(np.zeros(size - 2))
        G, h = np.concatenate([np.zeros((0, size)), *rows]), np.concatenate([np.zeros(0), *levels])
        points = np.zeros((0, 2)) if self.through is None else self.through
        values = constrained_least_squares(
            factor[:-1, :-1], factor[:-1, -1], _hats(knots, points[:, 0]), points[:, 1], G, h
        )
        return None if values is None else (values, float(data.w @ (hats @ values - data.u) ** 2))


def _hats(knots: Floats, t: Floats) -> Floats:
    """Return the hat functions of the knots at t (m, k), linear beyond the ends."""
    piece = np.clip(np.searchsorted(knots, t, side="right") - 1, 0, len(knots) - 2)
    share = (t - knots[piece]) / (knots[piece + 1] - knots[piece])
    basis, rows = np.zeros((len(t), len(knots))), np.arange(len(t))
    basis[rows, piece], basis[rows, piece + 1] = 1 - share, share
    return basis


def check_constraints(slopes: Any, shape: Any, through: ArrayLike | None) -> Constraints:
    """Return the conditions, checked."""
    try:
        low, high = (-np.inf, np.inf) if slopes is None else (float(slope) for slope in slopes)
    except (TypeError, ValueError):
        low = high = np.nan
    if not low <= high or low == np.inf or high == -np.inf:
        raise InputError("slopes", "be the smallest and the largest slope", repr(slopes), "such as (0, np.inf)")
    if shape is not None:
        check_choice(shape, ("convex", "concave"), "shape")
    points = None if through is None else check_points(np.atleast_2d(np.asarray(through, np.float64)), 2, "through")
    if points is not None and (len(points) == 0 or len(np.unique(points[:, 0])) < len(points)):
        raise InputError("through", "be points with different x", f"{len(points)} points")
    return Constraints((low, high), shape, points)


def constrained_least_squares(A: Floats, b: Floats, E: Floats, f: Floats, G: Floats, h: Floats) -> Floats | None:
    """Return the z with the least ``|A z - b|`` for which ``E z = f`` and ``G z >= h``; None if there is none.

    A has full column rank. The equations are eliminated; what remains is the point of a polytope that is nearest to
    the unconstrained solution (Lawson and Hanson 1974, chapter 23).
    """
    from scipy.linalg import null_space, solve_triangular

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
    center = Q.T @ b
    normals = solve_triangular(R, G.T, trans="T").T
    moved = nearest_point(-normals, normals @ center - h)
    if moved is None:
        return None
    v = solve_triangular(R, center + moved)
    if (G @ v < h - _ROUNDING * np.linalg.norm(G, axis=1) * max(1.0, np.abs(v).max())).any():
        return None
    return z + N @ v if len(E) else v


_PLACES = 60  # of the grid on which knots are moved one at a time
_RANDOM = 6  # random starts
_POLISHED = 2  # best results that are moved off the grid
_EVALUATIONS = 150  # for each knot, while it leaves the grid
_SHORTEST = 1e-6  # length of a piece, relative to the range of x


def search_constrained(
    data: Samples, pieces: int, conditions: Constraints, start: Floats, grid: Floats
) -> tuple[Floats, Floats]:
    """Return the best knots found and the values there, scaled, with both ends.

    From several starts, one knot at a time moves to its best place on a grid until none moves; the best results then
    leave the grid (Nelder and Mead). At each step the values solve a quadratic program. The result is a local optimum.
    """
    from scipy.optimize import minimize

    known: dict[bytes, float] = {}

    def error(inner: Floats) -> float:
        """Return the least error with these inner knots; infinite if they are too close or nothing is feasible."""
        key = inner.tobytes()
        if key not in known:
            knots = np.concatenate([[0.0], inner, [1.0]])
            solution = conditions.solve(knots, data) if np.diff(knots).min() >= _SHORTEST else None
            known[key] = np.inf if solution is None else solution[1]
        return known[key]

    def descend(inner: Floats) -> tuple[float, Floats]:
        """Move one knot at a time to its best place on the grid until none moves."""
        inner, best, moved = inner.copy(), error(inner), True
        while moved:
            moved = False
            for k in range(len(inner)):
                low, high = np.concatenate([[-1.0], inner, [2.0]])[[k, k + 2]]
                for place in places[(places > low) & (places < high)]:
                    trial = inner.copy()
                    trial[k] = place
                    if error(trial) < best * (1 - 1e-9) or (best == np.inf and error(trial) < best):
                        inner, best, moved = trial, error(trial), True
        return best, inner

    def leave_grid(best: float, inner: Floats) -> tuple[float, Floats]:
        """Move all knots off the grid."""
        if not len(inner) or best == 0:
            return best, inner
        options: Any = {"xatol": 1e-9, "fatol": 1e-13 * best, "maxfev": _EVALUATIONS * len(inner), "adaptive": True}

        def finite_error(trial: Floats) -> float:
            return float(min(error(trial), 1e6 * (1 + best)))

        moved = np.asarray(minimize(finite_error, inner, method="Nelder-Mead", options=options).x, np.float64)
        return min((best, inner), (error(moved), moved), key=lambda result: result[0])

    places = grid[np.linspace(0, len(grid) - 1, min(len(grid), _PLACES)).round().astype(np.int64)]
    rng = np.random.default_rng(0)
    even = np.arange(1, pieces) / pieces
    starts = [start, even, *(np.sort(rng.uniform(size=pieces - 1)) for _ in range(_RANDOM))]
    results = [descend(inner) for inner in starts if len(inner) == pieces - 1]
    results = sorted((result for result in results if np.isfinite(result[0])), key=lambda result: result[0])
    if not results:
        raise InputError(
            "pieces",
            "allow a function that satisfies all conditions",
            f"{pieces}",
            "use more pieces, or weaken slopes, shape or through",
        )
    results += [leave_grid(*result) for result in results[:_POLISHED]]
    knots = np.concatenate([[0.0], min(results, key=lambda result: result[0])[1], [1.0]])
    solution = conditions.solve(knots, data)
    assert solution is not None
    return knots, solution[0]
