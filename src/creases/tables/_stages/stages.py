"""Linear, curves, planes: each stage where held-out rows show that it pays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from creases._typing import Floats, Ints
from creases.tables._stages.basis import CurveBasis
from creases.tables._stages.constraints import Shape, shape_rows
from creases.tables._stages.knots import quantile_knots
from creases.tables._stages.pairs import PairHinges, PlaneBasis, Variable, group_features, rank_pairs
from creases.tables._stages.penalized import Fit, fit_penalized
from creases.tables._stages.rows import Rows
from creases.tables._stages.simplify import simplify

#: Pieces of a curve at most, and functions of a table's curves at most.
PIECES, FUNCTIONS = 20, 600

#: Newton steps of the linear model: the other stages are judged against it, so it must have settled.
LINEAR_STEPS = 40

#: Numbers of planes to try.
PLANES = (3, 10)

#: By how much models with fewer bends may change the predictions, in multiples of their variance; the largest first.
TOLERANCES = (1.0, 0.3, 0.1, 0.02)


#: The tolerance of the curves that planes are added to.
PLANE_TOLERANCE = 0.1


@dataclass(frozen=True, eq=False)
class Inputs:
    """What the encoded features are."""

    is_numeric: tuple[bool, ...]  #: (d,)
    columns: Ints  #: (d,) the table's column of each feature
    groups: Ints  #: (d,) number of the categorical column that a feature is a level of; -1 for others
    shapes: tuple[Shape, ...]  #: (d,) what the curve of a feature must be; "" for any

    @property
    def variables(self) -> list[Variable]:
        """The columns as planes take them: those whose curves may have any shape, so that no plane can spoil one."""
        variables = group_features(self.is_numeric, self.columns, self.groups)
        return [each for each in variables if not any(self.shapes[j] for j in each.features)]


@dataclass(frozen=True)
class Candidate:
    """A model of a stage with its losses on held-out rows."""

    stage: str  #: "linear", "curves", "3 planes", ...
    tolerance: float  #: of its simplification; 0 for the linear model
    losses: Floats  #: (n,) on the held-out rows
    bends: float  #: mean over the folds


def candidates(rows: Rows, inputs: Inputs) -> Iterator[tuple[str, float, Fit]]:
    """Fit every stage to rows: its name, its tolerance, and the model."""
    straight = _curve_basis(rows, inputs, 1)
    linear = fit_penalized(straight, rows, shape_rows(straight, inputs.shapes), n_steps=LINEAR_STEPS)
    yield "linear", 0.0, linear
    bent = _curve_basis(rows, inputs, PIECES)
    curves = fit_penalized(bent, rows, shape_rows(bent, inputs.shapes)) if len(bent.places) else linear
    few = simplify(curves, rows, TOLERANCES, inputs.shapes)
    for tolerance, fit in zip(TOLERANCES, few, strict=True):
        yield "curves", tolerance, fit
    base = few[TOLERANCES.index(PLANE_TOLERANCE)]
    residuals = rows.targets - rows.means(base(rows.X))
    ranked = rank_pairs(rows.X, residuals, rows.weight, inputs.variables)
    pairs = [PairHinges.from_rows(rows.X, bent, a, b) for _, a, b in ranked[: max(PLANES)]]
    pairs = [pair for pair in pairs if len(pair.first)]
    for n in PLANES:
        if pairs and (n == min(PLANES) or len(pairs) > min(PLANES)):
            basis = PlaneBasis.from_rows(rows.X, rows.weight, base.basis.curves, pairs[:n])
            planes = fit_penalized(basis, rows, shape_rows(basis.curves, inputs.shapes))
            for tolerance, fit in zip(TOLERANCES, simplify(planes, rows, TOLERANCES, inputs.shapes), strict=True):
                yield f"{n} planes", tolerance, fit


def _curve_basis(rows: Rows, inputs: Inputs, n_pieces: int) -> CurveBasis:
    n_pieces = min(n_pieces, max(FUNCTIONS // max(sum(inputs.is_numeric), 1), 3))
    knots = []
    for j, numeric in enumerate(inputs.is_numeric):
        x = rows.X[:, j]
        each = np.array([0.0, 1.0])
        if numeric:
            each = (
                quantile_knots(x, n_pieces)
                if n_pieces > 1 and inputs.shapes[j] != "straight"
                else np.array([x.min(), x.max()])
            )
            if each[0] == each[-1]:
                each = np.array([each[0], each[0] + 1.0])
        knots.append(each)
    return CurveBasis.from_rows(rows.X, rows.weight, knots, inputs.groups)


def count_bends(fit: Fit) -> int:
    """Return the knots inside the columns' ranges and the hinges of planes."""
    basis = fit.basis
    pairs = basis.pairs if isinstance(basis, PlaneBasis) else ()
    knots = {(j, float(q)) for j, each in enumerate(basis.curves.knots) for q in each[1:-1]}
    knots |= {(j, float(q)) for pair in pairs for j, each in pair.knots.items() for q in each[1:-1]}
    return len(knots) + sum(len(pair.first) for pair in pairs)


def judge(rows: Rows, inputs: Inputs, folds: Sequence[tuple[Ints, Ints]]) -> list[Candidate]:
    """Fit all candidates to the training rows of the folds; return their losses on the held-out rows."""
    losses: dict[tuple[str, float], list[Floats]] = {}
    bends: dict[tuple[str, float], list[int]] = {}
    for train, held in folds:
        for stage, tolerance, fit in candidates(rows[train], inputs):
            losses.setdefault((stage, tolerance), []).append(rows[held].losses(fit(rows.X[held])))
            bends.setdefault((stage, tolerance), []).append(count_bends(fit))
    return [
        Candidate(*key, np.concatenate(each), float(np.mean(bends[key])))
        for key, each in losses.items()
        if len(each) == len(folds)
    ]


def choose(judged: Sequence[Candidate], weight: Floats) -> tuple[Candidate, list[Candidate]]:
    """Return the candidate to keep and the best one of every stage, in their order.

    A stage is taken if it beats the one before by a standard error of the paired differences. Of the chosen stage it is
    the model with the fewest bends whose losses are within half a standard error of the best.
    """
    stages: dict[str, list[Candidate]] = {}
    for candidate in judged:
        stages.setdefault(candidate.stage, []).append(candidate)
    best = [min(each, key=lambda c: float(np.average(c.losses, weights=weight))) for each in stages.values()]
    kept = best[0]
    for candidate in best[1:]:
        gain, error = compare(kept, candidate, weight)
        if gain > error:
            kept = candidate
    for candidate in sorted(stages[kept.stage], key=lambda c: c.bends):
        gain, error = compare(kept, candidate, weight)
        if gain >= -error / 2:
            return candidate, best
    raise AssertionError("the best candidate is within its own error")


def compare(before: Candidate, after: Candidate, weight: Floats) -> tuple[float, float]:
    """Return by how much the mean loss falls, and the standard error of that difference."""
    difference = before.losses - after.losses
    mean = float(np.average(difference, weights=weight))
    spread = float(np.average((difference - mean) ** 2, weights=weight))
    return mean, (spread / len(difference)) ** 0.5
