"""Linear, curves, planes: each stage fitted on folds, and kept where held-out rows show that it pays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from creases._typing import Bools
from creases.tables._stages.basis import Basis, CurveBasis
from creases.tables._stages.candidates import Candidate, compare, mean_loss
from creases.tables._stages.constraints import shape_rows
from creases.tables._stages.inputs import Inputs
from creases.tables._stages.knots import clip_outliers, quantile_knots
from creases.tables._stages.pairs import PairLibrary
from creases.tables._stages.parts import Step
from creases.tables._stages.penalized import Fit, fit_penalized
from creases.tables._stages.rows import Rows
from creases.tables._stages.simplify import NEGLIGIBLE, drop_idle_hinges
from creases.tables._stages.unit_basis import unit_knots
from creases.tables._stages.units import add_units, draw_units, train_units

#: Rows of a table below which it is small: folds instead of one held-out part, and fewer pieces of curves.
SMALL = 4_000

#: Pieces of a curve of a small and of a larger table at most.
PIECES, MORE_PIECES = 20, 100

#: Pieces of a table's curves together, and inputs that have curves.
FUNCTIONS, MAX_BENT = 400, 100

#: Pieces of all curves for each row, and of each curve at least.
PIECES_PER_ROW, LEAST_PIECES = 1.0, 4

#: Newton steps of the linear model: the other stages are judged against it, so it must have settled.
LINEAR_STEPS = 40

#: Numbers of planes to try.
PLANES = (3, 10)

#: Standard errors by which units must beat the stage before.
UNIT_ERRORS = 2.0

Folds = Sequence[tuple[Rows, Rows]]


def fit_candidates(rows: Rows, folds: Folds, inputs: Inputs, ensemble: int = 1) -> list[Candidate]:
    """Fit every stage to the first part of each fold, and judge it by the second.

    Knots and hinges come from the inputs of all rows, so that fits of different folds have the same functions. Units
    are trained ``ensemble`` times, and those of all trainings go into one network.
    """
    tested = [out for _, out in folds]
    straight = _curve_basis(rows, inputs, np.zeros(len(inputs.names), bool))
    limits = shape_rows(straight, inputs.shapes)
    linear = _on_folds("linear", folds, lambda _: straight, partial(fit_penalized, limits=limits, n_steps=LINEAR_STEPS))
    result = [linear]
    bent = _curve_basis(rows, inputs, _bending_inputs(rows, inputs, linear.fits))
    if len(bent.places):
        limits = shape_rows(bent, inputs.shapes)
        dense = _on_folds("curves", folds, lambda _: bent, partial(fit_penalized, limits=limits), linear.fits)
        result.append(Candidate.from_fits("curves", drop_idle_hinges(dense.fits, rows), tested))
    curves = result[-1]
    library = PairLibrary(rows, curves.fits[0].basis.curves)
    pairs = [
        library.rank(train, fit, inputs.variables, max(PLANES))
        for (train, _), fit in zip(folds, curves.fits, strict=True)
    ]
    limits = shape_rows(library.curves, inputs.shapes)
    for n in PLANES:
        if min(map(len, pairs)) == 0 or (n > min(PLANES) and max(map(len, pairs)) <= min(PLANES)):
            break
        bases = [library.basis(each[:n]) for each in pairs]
        before = result[-1]
        result.append(
            _on_folds(f"{n} planes", folds, bases.__getitem__, partial(fit_penalized, limits=limits), before.fits)
        )
        gain, error = compare(curves, result[-1], tested)
        if gain < -error:
            break
    return result + _unit_candidates(rows, folds, inputs, result, ensemble)


def _unit_candidates(
    rows: Rows, folds: Folds, inputs: Inputs, judged: Sequence[Candidate], ensemble: int
) -> list[Candidate]:
    """Return units beside the best stage so far, if units drawn at random are better than none.

    An ensemble is a wish for units: it is always tried.
    """
    held = [out for _, out in folds]
    base = choose(judged, held)
    if sum(not shape for shape in inputs.shapes) < 2:
        return []
    knots = unit_knots(rows.X, rows.copies, base.fits[0].basis.curves, inputs)
    limits = shape_rows(base.fits[0].basis.curves, inputs.shapes)
    fit_units = partial(fit_penalized, limits=limits)
    drawn = add_units(rows, base.fits[0], knots, *draw_units(rows.X, knots, inputs, seed=0))
    parts = base.fits[0].basis
    bases = [replace(drawn, base=fit.basis) if fit.basis is not parts else drawn for fit in base.fits]
    random = _on_folds("units", folds, bases.__getitem__, fit_units, base.fits)
    gain, error = compare(base, random, held)
    if gain < error and ensemble == 1:
        return []
    bases = []
    for k, ((train, _), fit) in enumerate(zip(folds, base.fits, strict=True)):
        seeds = range(k, k + ensemble * len(folds), len(folds))
        units = [train_units(train, fit, knots, inputs, seed=seed) for seed in seeds]
        weights, biases = (np.concatenate(each) for each in zip(*units, strict=True))
        bases.append(add_units(rows, fit, knots, weights, biases))
    return [_on_folds("units", folds, bases.__getitem__, fit_units, base.fits)]


def _on_folds(
    stage: str,
    folds: Folds,
    basis_of: Callable[[int], Basis],
    fit: Callable[..., Fit],
    starts: Sequence[Fit] | None = None,
) -> Candidate:
    """Fit a basis to each fold, from the fit of an earlier stage, or of the first fold where it has the same basis."""
    fits: list[Fit] = []
    for k, (train, _) in enumerate(folds):
        basis = basis_of(k)
        start = fits[0] if k > 0 and basis is fits[0].basis else None if starts is None else starts[k]
        fits.append(fit(basis, train, start=start))
    return Candidate.from_fits(stage, fits, [out for _, out in folds])


def _count_pieces(rows: Rows) -> int:
    """Return how many pieces the curves of a table may have together."""
    return min(FUNCTIONS, int(PIECES_PER_ROW * rows.copies.sum()))


def _bending_inputs(rows: Rows, inputs: Inputs, fits: Sequence[Fit]) -> Bools:
    """Return which inputs (d,) get knots: of very many numbers those with the steepest lines."""
    size = np.max([np.abs(fit.weights).max(axis=1) for fit in fits], axis=0)
    may_bend = np.array(inputs.is_numeric) & np.array([shape != "straight" for shape in inputs.shapes])
    order = np.argsort(np.where(may_bend, -size, np.inf), kind="stable")
    chosen = np.zeros(len(size), bool)
    chosen[order[: min(MAX_BENT, max(_count_pieces(rows) // LEAST_PIECES, 1))]] = True
    return np.asarray(chosen & may_bend)


def _curve_basis(rows: Rows, inputs: Inputs, is_bent: Bools) -> CurveBasis:
    most = PIECES if rows.copies.sum() < SMALL else MORE_PIECES
    n_pieces = min(most, max(_count_pieces(rows) // max(int(is_bent.sum()), 1), LEAST_PIECES))
    knots = []
    for j, numeric in enumerate(inputs.is_numeric):
        each = np.array([0.0, 1.0])
        if numeric:
            x = clip_outliers(rows.X[:, j], rows.copies)
            each = quantile_knots(x, n_pieces, rows.copies) if is_bent[j] else np.array([x.min(), x.max()])
            if each[0] == each[-1]:
                each = np.array([each[0], each[0] + 1.0])
        knots.append(each)
    return CurveBasis.from_rows(rows.X, rows.weight, knots, inputs.groups)


def choose(judged: Sequence[Candidate], held: Sequence[Rows]) -> Candidate:
    """Return the candidate to keep: a stage is taken if it beats the one before by a standard error of differences.

    Units must by ``UNIT_ERRORS``, as they are harder to read.
    """
    kept = judged[0]
    for candidate in judged[1:]:
        gain, error = compare(kept, candidate, held)
        if gain > error * (UNIT_ERRORS if candidate.stage == "units" else 1.0):
            kept = candidate
    return kept


def describe_steps(
    judged: Sequence[Candidate], kept: Candidate, n_bends: int, held: Sequence[Rows]
) -> tuple[Step, ...]:
    """Return what each stage brought; the kept one has ``n_bends``."""
    steps, before = [], judged[0]
    for each in judged:
        gain, error = compare(before, each, held)
        bends = n_bends if each is kept else float(np.mean([_count_hinges(fit) for fit in each.fits]))
        steps.append(Step(each.stage, mean_loss(each, held), gain, error, bends, each is kept))
        before = each if gain > error else before
    return tuple(steps)


def _count_hinges(fit: Fit) -> int:
    """Return the functions that are no lines and have an effect."""
    return int((fit.effective[fit.basis.blocks] > NEGLIGIBLE)[len(fit.basis.curves.knots) :].sum())
