"""Effects of the values of columns of very many values, such as customers: one for each, shrunk by their variance.

They are no functions of a basis: their sums over rows are sparse, and they are fitted in turn with the functions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from creases._typing import Floats, Ints
from creases.tables._stages.families import SMOOTH, Quantile
from creases.tables._stages.inputs import Inputs
from creases.tables._stages.penalized import LARGEST, LEAST, Basis, Fit, fit_penalized
from creases.tables._stages.rows import Rows
from creases.tables._stages.stages import Candidate, compare, curve_basis

#: How often functions and effects are fitted in turn; steps of the effects, the change of a penalty that ends them.
TURNS, STEPS, PENALTY_CHANGE = 8, 60, 0.01

#: Change of the effects, in the largest one, that ends the turns.
CHANGE = 1e-3

#: Share of a function's square within levels below which it is a sum of their effects, and the penalty of such a one.
NESTED, NESTED_PENALTY = 1e-6, 1e-3

#: How far a step moves an effect at most, unless errors are squared.
FAR = 2.0


@dataclass(frozen=True, eq=False)
class LevelEffects:
    """What the values of some inputs add to the scores, by their numbers; 0 is one that the table did not have."""

    values: Mapping[int, Floats]  #: (levels + 1, m) by input
    errors: Mapping[int, Floats]  #: their standard errors
    counts: Mapping[int, Floats]  #: (levels + 1,) weight of the rows of each

    def __call__(self, X: Floats) -> Floats:
        """Return what encoded rows X (n, d) get, (n, m)."""
        m = next(iter(self.values.values())).shape[1]
        return sum((own[X[:, j].astype(np.int64)] for j, own in self.values.items()), np.zeros((len(X), m)))


def fit_effects(rows: Rows, scores: Floats, levels: Mapping[int, int]) -> LevelEffects:
    """Fit effects beside scores (n, m) of rows; ``levels`` are how many values an input has.

    The penalty of an input is the noise in variances of its effects: that of the generalized Fellner-Schall update, as
    of other blocks. Inputs take turns, a step for each (backfitting).
    """
    rows, m = replace(rows, known=None), scores.shape[1]
    places = {j: rows.X[:, j].astype(np.int64) for j in levels}
    values = {j: np.zeros((n + 1, m)) for j, n in levels.items()}
    errors: dict[int, Floats] = {}
    effective, penalties = dict.fromkeys(levels, 0.0), dict.fromkeys(levels, 1.0)
    total, noise = scores, 1.0
    largest = (
        1 / (4 * SMOOTH) if isinstance(rows.family, Quantile) else None
    )  # its curvature is nearly 0 off the targets
    for _ in range(STEPS):
        before = dict(penalties)
        for j, place in places.items():
            n = len(values[j])
            curvature = _sums(place, rows.curvatures(total), n)
            pull = _sums(place, rows.pulls(total) * rows.weight[:, None], n)
            bound = curvature if largest is None else _sums(place, np.outer(rows.weight, np.full(m, largest)), n)
            step = (pull - penalties[j] * values[j]) / (bound + penalties[j])
            step = step if rows.family.is_quadratic else step.clip(-FAR, FAR)
            step[0] = 0.0  # nobody knows what an unknown value adds
            values[j] = values[j] + step
            total = total + step[place]
            if rows.family.has_noise:
                left = max(rows.weight.sum() - sum(effective.values()) / m - 1, 1.0)
                noise = max(rows.noise(total) * float(rows.weight.sum()) / left, 1e-12)
            effective[j] = rows.freedom * float((curvature / (curvature + penalties[j]))[1:].sum())
            errors[j] = np.sqrt(noise / (curvature + penalties[j]))
            size = max(float((values[j] ** 2).sum()), 1e-300)
            penalties[j] = float(np.clip(noise * effective[j] / size, LEAST, LARGEST))
        if all(abs(penalties[j] - before[j]) <= PENALTY_CHANGE * before[j] for j in levels):
            break
    counts = {j: _sums(place, rows.weight[:, None], levels[j] + 1)[:, 0] for j, place in places.items()}
    return LevelEffects(values, errors, counts)


def _sums(place: Ints, numbers: Floats, n: int) -> Floats:
    """Return the sums (n, m) of numbers (rows, m) by the place of each row."""
    return np.stack([np.bincount(place, each, n) for each in numbers.T], axis=1)


def add_effects(
    rows: Rows, folds: Sequence[tuple[Rows, Rows]], inputs: Inputs
) -> tuple[Rows, list[tuple[Rows, Rows]], dict[int, int]]:
    """Return rows and their folds with effects of levels as known scores, and how many levels each such input has.

    An input has effects where held-out rows are predicted worse without them, by a standard error.
    """
    levels = dict(inputs.levels)
    if not levels:
        return rows, list(folds), levels
    basis = curve_basis(rows, inputs, inputs.may_bend)
    while levels:
        pairs = [_fit_in_turn(basis, train, inputs, levels) for train, _ in folds]
        fits, effects = zip(*pairs, strict=True)
        best, tested = _judge(fits, effects, folds)
        idle = set()
        for j in levels:
            without = [replace(each, values={**each.values, j: 0 * each.values[j]}) for each in effects]
            gain, error = compare(_judge(fits, without, folds)[0], best, tested)
            idle |= {j} if gain <= error else set()
        if not idle:
            trained = [train.beside(each(train.X)) for each, (train, _) in zip(effects, folds, strict=True)]
            whole = _fit_in_turn(basis, rows, inputs, levels)[1]
            return rows.beside(whole(rows.X)), list(zip(trained, tested, strict=True)), levels
        levels = {j: n for j, n in levels.items() if j not in idle}
    return rows, list(folds), levels


def _fit_in_turn(basis: Basis, rows: Rows, inputs: Inputs, levels: Mapping[int, int]) -> tuple[Fit, LevelEffects]:
    """Fit functions of columns and effects of levels to rows, each to what the other leaves.

    Turns are extrapolated (Anderson 1965): where a column is nearly a function of the levels, plain ones hardly move.
    """
    fit: Fit | None = None
    known = fit_effects(rows, _fit_within(basis, rows, levels), levels)(rows.X)
    changes: list[Floats] = []
    results: list[Floats] = []
    for _ in range(TURNS):
        fit = fit_penalized(basis, rows.beside(known), inputs.shapes, start=fit)
        effects = fit_effects(rows, fit(rows), levels)
        results.append(effects(rows.X))
        changes.append(results[-1] - known)
        known = results[-1]
        if np.abs(changes[-1]).max() <= CHANGE * np.abs(known).max():
            break
        if len(changes) > 1:
            steps = np.diff(changes, axis=0).reshape(len(changes) - 1, -1)
            shares = np.linalg.lstsq(steps.T, changes[-1].ravel(), rcond=1e-6)[0]
            known = known - np.tensordot(shares, np.diff(results, axis=0), 1)
    assert fit is not None
    return fit, effects


def _fit_within(basis: Basis, rows: Rows, levels: Mapping[int, int]) -> Floats:
    """Return scores (n, m) of functions that differ between rows of the same levels as the targets do.

    Those that do not differ there have what all of their levels share: the levels' effects are around these.
    """
    start = np.tile(rows.start(), (len(rows), 1))
    both = np.hstack([rows.functions(basis), rows.pulls(start) * rows.weight[:, None] / rows.curvatures(start)])
    p, centred = len(basis.penalty), both
    for j in [*levels] * (1 if len(levels) == 1 else TURNS):
        place = rows.X[:, j].astype(np.int64)
        weight = np.bincount(place, rows.weight, levels[j] + 1)
        means = _sums(place, centred * rows.weight[:, None], len(weight)) / np.fmax(weight, 1e-300)[:, None]
        centred = centred - means[place]
    left = centred[:, :p].T * rows.weight
    squares = left @ centred[:, :p]
    total = (both[:, :p] ** 2).T @ rows.weight
    is_nested = np.diag(squares) < NESTED * total  # the same in all rows of a level, as the beginning of a code is
    squares[is_nested] = squares[:, is_nested] = 0.0
    gradient = np.where(is_nested[:, None], 0.0, left @ centred[:, p:])
    weights = np.linalg.solve(squares + (1e-6 * rows.weight.sum()) * np.eye(p), gradient)
    F, rest = both[:, :p][:, is_nested], both[:, p:] - both[:, :p] @ weights
    penalty = NESTED_PENALTY * rows.weight.sum() * np.eye(F.shape[1])
    weights[is_nested] = np.linalg.solve((F.T * rows.weight) @ F + penalty, (F.T * rows.weight) @ rest)
    return start + both[:, :p] @ weights


def _judge(
    fits: Sequence[Fit], effects: Sequence[LevelEffects], folds: Sequence[tuple[Rows, Rows]]
) -> tuple[Candidate, list[Rows]]:
    """Return how fits with effects of levels predict held-out rows, and these with the effects."""
    tested = [out.beside(each(out.X)) for each, (_, out) in zip(effects, folds, strict=True)]
    return Candidate.from_fits("levels", fits, tested), tested
