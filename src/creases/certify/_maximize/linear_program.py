"""Linear programs for HiGHS, in the units of a node: the point and the multipliers are proposals, nothing more."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import highspy
import numpy as np

from creases._typing import Floats

#: Tolerances of HiGHS; rows and columns are scaled so that coefficients are at most 1.
FEASIBILITY = 1e-9


class Optimum(NamedTuple):
    """What a program's solver proposes."""

    point: Floats | None  #: (v,) None where it says that there is none
    multipliers: Floats  #: (r,) of ``rows v <= limits``, non-negative; a proof that there is no point without one


class Solver:
    """HiGHS for one program after the other."""

    def __init__(self, until: float = np.inf) -> None:
        """Open the solver; a program that is not solved by a time of ``time.monotonic()`` is given up."""
        self.until = until
        self._highs: Any = highspy.Highs()  # type: ignore[no-untyped-call]
        for name, value in (
            ("output_flag", False),
            ("presolve", "off"),
            ("solver", "simplex"),
            ("threads", 1),
            ("primal_feasibility_tolerance", FEASIBILITY),
            ("dual_feasibility_tolerance", FEASIBILITY),
        ):
            self._highs.setOptionValue(name, value)

    def maximize(self, cost: Floats, rows: Floats, limits: Floats, low: Floats, high: Floats) -> Optimum | None:
        """Maximize ``cost v`` where ``rows v <= limits``, ``low <= v <= high``; None if the solver gives up.

        Rows and the cost are scaled to entries of at most 1.
        """
        v, r = len(cost), len(limits)
        size = np.abs(rows).max(axis=1, initial=0.0)
        scale = np.where(size > 0, size, 1.0)
        unit = max(float(np.abs(cost).max(initial=0.0)), 1e-300)
        if not all(np.isfinite(part).all() for part in (cost, rows, limits)):
            return None
        model = highspy.HighsLp()
        model.num_col_, model.num_row_ = v, r
        model.col_cost_ = -cost / unit
        model.col_lower_, model.col_upper_ = low, high
        model.row_lower_, model.row_upper_ = np.full(r, -np.inf), limits / scale
        scaled = rows / scale[:, None]
        at, columns = np.nonzero(scaled)
        matrix = model.a_matrix_
        matrix.format_ = highspy.MatrixFormat.kRowwise
        matrix.start_ = np.searchsorted(at, np.arange(r + 1)).astype(np.int32)
        matrix.index_, matrix.value_ = columns.astype(np.int32), scaled[at, columns]
        self._highs.passModel(model)
        if np.isfinite(self.until):
            left = max(self.until - time.monotonic(), 0.01)
            self._highs.setOptionValue("time_limit", self._highs.getRunTime() + left)
        self._highs.run()
        status = self._highs.getModelStatus()
        if status == highspy.HighsModelStatus.kOptimal:
            solution = self._highs.getSolution()
            duals = np.maximum(-np.array(solution.row_dual), 0.0)
            return Optimum(np.array(solution.col_value), duals * unit / scale)
        if status == highspy.HighsModelStatus.kInfeasible:
            ray = self._highs.getDualRay()
            if ray[1]:
                return Optimum(None, np.abs(np.array(ray[2])) / scale)
        return None


class Least(NamedTuple):
    """What is proposed for the largest of the smallest of several functions."""

    point: Floats | None  #: (v,) None where the rows seem to contradict each other
    weights: Floats  #: (k,) multipliers of the functions, which add up to 1; without a point 0
    multipliers: Floats  #: (r,) of the rows


def maximize_least(
    solver: Solver, functions: Floats, rows: Floats, limits: Floats, low: Floats, high: Floats
) -> Least | None:
    """Maximize the smallest of affine functions (k, v + 1), constants last, where ``rows v <= limits`` in a box.

    Without functions any point is as good. None if the solver gives up.
    """
    k, r = len(functions), len(limits)
    if k > 1:  # a further variable below every function
        size = float(np.abs(functions[:, :-1]).sum(axis=1).max()) or 1.0
        below = np.column_stack([-functions[:, :-1], np.full(k, size)])
        rows = np.vstack([np.pad(rows, ((0, 0), (0, 1))), below])
        limits = np.append(limits, functions[:, -1] - functions[:, -1].min())
        cost, low, high = np.append(np.zeros(len(low)), 1.0), np.append(low, -np.inf), np.append(high, np.inf)
    else:
        cost = functions[0, :-1] if k else np.zeros(len(low))
    answer = solver.maximize(cost, rows, limits, low, high)
    if answer is None:
        return None
    if answer.point is None:
        return Least(None, np.zeros(k), answer.multipliers[:r])
    weights = answer.multipliers[r:] if k > 1 else np.ones(k)
    return Least(answer.point[: functions.shape[1] - 1], weights, answer.multipliers[:r])
