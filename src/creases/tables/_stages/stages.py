"""Linear, curves, planes: each stage fitted on folds, and kept where held-out rows show that it pays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np

from creases._typing import Bools, Floats, Ints
from creases.tables._stages.basis import CurveBasis, HiddenUnits
from creases.tables._stages.inputs import Inputs
from creases.tables._stages.knots import clip_outliers, close_circle, find_ramps, is_rough, quantile_knots
from creases.tables._stages.model import CurveModel, Step
from creases.tables._stages.pairs import PairHinges, Purifier, Variable, rank_pairs
from creases.tables._stages.penalized import STEPS, Basis, Fit, fit_penalized
from creases.tables._stages.rows import Rows, mean_with_error
from creases.tables._stages.simplify import NEGLIGIBLE, drop_idle_functions
from creases.tables._stages.units import grow_units_of_folds, train_units, unit_knots

#: Rows of a table below which it is small: folds instead of one held-out part, and fewer pieces of curves.
SMALL = 4_000

#: Pieces of a curve of a small and of a larger table at most.
PIECES, MORE_PIECES = 20, 100

#: Rows for each piece of a curve that needs more pieces than others, and its pieces at most.
ROWS_PER_PIECE, MOST_PIECES = 10, 150

#: Pieces of a table's curves together, inputs that have curves, and scores from which there are fewer pieces.
FUNCTIONS, MAX_BENT, MANY_SCORES = 400, 100, 8

#: Pieces of all curves for each row, and of each curve at least.
PIECES_PER_ROW, LEAST_PIECES = 1.0, 4

#: Newton steps of the linear model: the other stages are judged against it, so it must have settled.
LINEAR_STEPS = 40

#: Numbers of planes to try; the last on tables that are not small, where the one before pays.
PLANES = (3, 10, 30)

#: Columns whose pairs are ranked.
MAX_PAIRED = 40

#: Fraction of its freedom from which on a plane needs a finer one, and how many get one at most.
SATURATED, MAX_FINER = 0.5, 3

#: Functions of curves and planes together with which more or finer planes are tried: time grows with their square.
MOST_FUNCTIONS = 1_200

#: Stages of units: those that grow one fold at a time, and those that are trained together.
UNIT_STAGES = ("folds", "units")

#: Standard errors by which units must beat the stage before, and on the first fold alone, to be tried on the others.
UNIT_ERRORS, TRIAL_ERRORS = 2.0, 0.5

#: Share of the gain of units that makes a stage without units as good as they are.
MOST = 0.8

#: Loss, in variances of the target or nats, that a stage must gain at least: smaller ones are rounding.
LEAST_GAIN = 1e-4

#: The same for units that were trained together, without reasons, to replace those that grew.
LEAST_UNEXPLAINED_GAIN = 1e-3

Folds = Sequence[tuple[Rows, Rows]]


@dataclass(frozen=True, eq=False)
class Candidate:
    """A stage fitted to each fold."""

    stage: str  #: "linear", "curves", "3 planes", ...
    fits: tuple[Fit, ...]  #: of each fold
    losses: Floats  #: (n,) of the held-out rows of all folds
    bases: tuple[Basis, ...] = ()  #: of each fold, for the model, where fits are judged with units of their own

    @classmethod
    def from_fits(cls, stage: str, fits: Sequence[Fit], held: Sequence[Rows]) -> Candidate:
        """Judge fits by the rows that their folds hold out."""
        losses = [out.losses(fit(out)) for fit, out in zip(fits, held, strict=True)]
        return cls(stage, tuple(fits), np.concatenate(losses))


def compare(before: Candidate, after: Candidate, held: Sequence[Rows]) -> tuple[float, float]:
    """Return by how much the mean loss of held-out rows falls, and the standard error of that difference."""
    return mean_with_error(before.losses - after.losses, held)


def fit_candidates(rows: Rows, folds: Folds, inputs: Inputs, columns: list[Candidate] | None = None) -> list[Candidate]:
    """Fit every stage to the first part of each fold, and judge it by the second.

    Units grow one by one, which takes longer, only where those trained together on the first fold show that curves and
    planes leave something for units.
    ``columns`` is what :func:`fit_columns` returns for these rows, if it is known.
    """
    result = fit_columns(rows, folds, inputs) if columns is None else columns
    result += _plane_candidates(rows, folds, inputs, choose(result[1:] or result, [out for _, out in folds]))
    return result + (_unit_candidates(rows, folds, inputs, result) if inputs.may_mix.sum() > 1 else [])


def fit_columns(rows: Rows, folds: Folds, inputs: Inputs) -> list[Candidate]:
    """Fit sums of what each column adds by itself, lines and then curves, to each fold, and judge them.

    Knots and hinges come from the inputs of all rows, so that fits of different folds have the same functions.
    """
    tested = [out for _, out in folds]
    straight = curve_basis(rows, inputs, np.zeros(len(inputs.names), bool))
    n_steps = linear_steps(straight.curves)
    linear = _on_folds("linear", folds, inputs, lambda _: straight, n_steps=n_steps)
    result = [Candidate.from_fits("linear", drop_idle_functions(linear.fits, rows), tested)]
    bending = _bending_inputs(rows, inputs, linear.fits)
    if bending.any():
        lines = np.union1d(result[0].fits[0].basis.curves.lines, np.flatnonzero(bending))
        bent = curve_basis(rows, inputs, bending, lines)
        result += _curve_candidates("curves", rows, folds, inputs, bent, result[0].fits)
        best = choose(result, tested)
        rough = _rough_basis(rows, folds, inputs, best)
        if rough is not None:
            result += _curve_candidates("finer curves", rows, folds, inputs, rough, result[0].fits, rival=best)
    return result


def linear_steps(basis: CurveBasis) -> int:
    """Return the steps of a linear model: of a wide table, penalties that settle would fit noise."""
    return STEPS if basis.is_wide else LINEAR_STEPS


def _curve_candidates(
    stage: str,
    rows: Rows,
    folds: Folds,
    inputs: Inputs,
    basis: Basis,
    starts: Sequence[Fit],
    rival: Candidate | None = None,
) -> list[Candidate]:
    """Return the fits of curves, without those that are straight; none if no curve bends.

    None either if they do not beat the rival on the first fold.
    """
    if len(basis.curves.feature_of_bend) == 0:
        return []
    fit_folds = partial(_on_folds, stage, folds, inputs, lambda _: basis, starts)
    first = fit_folds(until=1)
    if rival is not None and not _may_beat(first, rival, folds):
        return []
    dense = fit_folds(begun=first.fits)
    return [Candidate.from_fits(stage, drop_idle_functions(dense.fits, rows), [out for _, out in folds])]


def _rough_basis(rows: Rows, folds: Folds, inputs: Inputs, best: Candidate) -> Basis | None:
    """Return curves with more knots, and jumps, for columns on which held-out residuals still depend; None if none do.

    As many pieces are tried as rows can pay for: their penalties choose the smoothness.
    """
    tested = [out for _, out in folds]
    X, copies = np.concatenate([out.X for out in tested]), np.concatenate([out.copies for out in tested])
    parts = zip(best.fits, tested, strict=True)
    residuals = np.concatenate([out.family.pearson(out.y, out.whole(fit(out))) for fit, out in parts])
    curves = best.fits[0].basis.curves
    knots, ramps = list(curves.knots), {}
    tried = [j for j in np.flatnonzero(inputs.may_bend).tolist() if j != inputs.clock]  # stretches of time are off
    rough = [j for j in tried if is_rough(X[:, j], residuals, copies)]
    if not rough:
        return None
    most = np.clip(FUNCTIONS // len(rough), PIECES, MOST_PIECES)
    n_pieces = int(np.clip(rows.copies.sum() // ROWS_PER_PIECE, PIECES, most))
    for j in rough:
        x = clip_outliers(rows.X[:, j], rows.copies)
        knots[j] = close_circle(quantile_knots(x, n_pieces, rows.copies), inputs.circles[j])
        if not inputs.shapes[j]:
            places = find_ramps(X[:, j].clip(x.min(), x.max()), residuals, copies)
            ramps[j] = places[(np.diff(places, axis=1)[:, 0] > 0)]
    lines = np.union1d(curves.lines, rough)
    options: dict[str, Any] = {"ramps": ramps, "lines": lines, "is_circle": curves.is_circle, "gaps": curves.gaps}
    return Basis(CurveBasis.from_rows(rows.X, rows.weight, knots, inputs.groups, **options))


def _plane_candidates(rows: Rows, folds: Folds, inputs: Inputs, curves: Candidate) -> list[Candidate]:
    """Return planes of the pairs of columns that explain most, and finer ones where two numbers need them."""
    tested, result = [out for _, out in folds], [curves]
    library = PairLibrary(rows, curves.fits[0].basis.curves)
    numbers = PLANES[: 2 if rows.copies.sum() < SMALL else 3]
    pairs = [
        library.rank(train, fit, inputs.variables, max(numbers))
        for (train, _), fit in zip(folds, curves.fits, strict=True)
    ]
    for k, n in enumerate(numbers):
        if min(map(len, pairs)) == 0 or (k and max(map(len, pairs)) <= numbers[k - 1]):
            break
        if k == 2 and choose(result, tested) is not result[-1]:
            break
        bases = [Basis(curves.fits[0].basis.curves, tuple(map(library.purify, each[:n]))) for each in pairs]
        if k and max(len(basis.penalty) for basis in bases) > MOST_FUNCTIONS:
            break
        result.append(_on_folds(f"{n} planes", folds, inputs, bases.__getitem__, result[-1].fits))
        gain, error = compare(curves, result[-1], tested)
        if gain < -error:
            break
    best = choose(result, tested)
    if best is not curves:
        finer = [library.refine(fit) for fit in best.fits]
        is_finer = any(basis is not fit.basis for basis, fit in zip(finer, best.fits, strict=True))
        if is_finer and max(len(basis.penalty) for basis in finer) <= MOST_FUNCTIONS:
            result.append(_on_folds("finer planes", folds, inputs, finer.__getitem__, curves.fits))
            best = choose(result, tested)
    return [_drop_chance_planes(each, curves, folds, inputs) if each is best else each for each in result[1:]]


def _largest(fit: Fit, rows: Rows, variables: Sequence[Variable]) -> list[Variable]:
    """Return the variables, of very many those whose curves say most for rows."""
    F, feature = fit.basis.curves(rows.X), fit.basis.curves.feature
    sizes = []
    for variable in variables:
        own = np.isin(feature, variable.features)
        sizes.append(float((F[:, own] @ fit.weights[: len(feature)][own]).var(axis=0).sum()))
    return [variables[k] for k in np.sort(np.argsort(-np.array(sizes), kind="stable")[:MAX_PAIRED])]


class PairLibrary:
    """Hinges of pairs of columns for the same rows, each computed once."""

    def __init__(self, rows: Rows, curves: CurveBasis) -> None:
        self._curves = curves
        self._hinges = cache(partial(PairHinges.from_rows, rows, curves))
        self.purify = cache(Purifier(rows, curves))

    def rank(self, rows: Rows, fit: Fit, variables: Sequence[Variable], count: int) -> list[PairHinges]:
        """Return the pairs of variables that explain most of what a fit leaves unexplained in rows."""
        some = _largest(fit, rows, variables) if len(variables) > MAX_PAIRED else variables
        ranked = rank_pairs(rows.X, rows.pulls(fit(rows)), rows.weight, some)
        pairs = [self._hinges(first, second) for _, first, second in ranked[:count]]
        return [pair for pair in pairs if len(pair.first)]  # others have too few rows

    def refine(self, fit: Fit) -> Basis:
        """Return the planes of a fit, those of two numbers that use most of their freedom with finer ones instead."""
        planes, m = list(fit.basis.planes), fit.weights.shape[1]
        used = fit.effective[int(self._curves.blocks.max()) + 1 :]
        sizes = []
        for k, (plane, place, freedom) in enumerate(zip(planes, fit.basis.places, used, strict=True)):
            if plane.hinges.variables[1].kind == "number" and freedom > SATURATED * len(plane) * m:
                sizes.append((-float(np.square(fit.weights[place]).sum()), k))
        for _, k in sorted(sizes)[:MAX_FINER]:
            finer = self._hinges(*planes[k].hinges.variables, is_fine=True)
            planes[k] = self.purify(finer) if len(finer.first) else planes[k]
        return Basis(self._curves, tuple(planes)) if sizes else fit.basis


def _drop_chance_planes(candidate: Candidate, curves: Candidate, folds: Folds, inputs: Inputs) -> Candidate:
    """Return planes beside curves without those that held-out rows do not miss.

    Planes are tried together, so chance ones come in with real ones. They go in the order of what held-out rows lose
    without each, in standard errors, as long as without all of these together the rows lose nothing.
    """
    tested = [out for _, out in folds]
    scores = [fit(out) for fit, out in zip(candidate.fits, tested, strict=True)]
    added: dict[PairHinges, list[Floats]] = {}  # what each pair adds to the scores of held-out rows (n, m), by fold
    for k, (fit, out) in enumerate(zip(candidate.fits, tested, strict=True)):
        F = out.functions(fit.basis)
        for plane, place in zip(fit.basis.planes, fit.basis.places, strict=True):
            added.setdefault(plane.hinges, [np.zeros_like(s) for s in scores])[k] = F[:, place] @ fit.weights[place]

    def loss_without(pairs: Sequence[PairHinges]) -> tuple[float, float]:
        """Return what held-out rows lose without some pairs, and its standard error."""
        rest = [each - sum(added[pair][k] for pair in pairs) for k, each in enumerate(scores)]
        losses = np.concatenate([out.losses(each) for out, each in zip(tested, rest, strict=True)])
        return mean_with_error(losses - candidate.losses, tested)

    alone = {pair: loss_without([pair]) for pair in added}
    order = sorted(added, key=lambda pair: alone[pair][0] / max(alone[pair][1], 1e-300))
    chance = next((order[:n] for n in range(len(order), 0, -1) if loss_without(order[:n])[0] <= 0), [])
    planes = [tuple(plane for plane in fit.basis.planes if plane.hinges not in chance) for fit in candidate.fits]
    bases = [replace(fit.basis, planes=rest) for fit, rest in zip(candidate.fits, planes, strict=True)]
    return _on_folds(candidate.stage, folds, inputs, bases.__getitem__, curves.fits) if chance else candidate


def _unit_candidates(rows: Rows, folds: Folds, inputs: Inputs, judged: list[Candidate]) -> list[Candidate]:
    """Return units beside the best stage so far: those that grow, and those trained together if they may beat these.

    Those that are trained together on the first fold tell whether units may pay at all: first beside the other parts as
    these are, then fitted with them. Units that grow are judged as they are when trained without each fold.
    """
    tested = [out for _, out in folds]
    base = choose(judged, tested)
    knots = unit_knots(rows, base.fits[0].basis.curves, inputs)

    def train(k: int) -> Basis:
        weights, biases = train_units(folds[k][0], base.fits[k], knots, inputs, seed=k)
        return replace(base.fits[k].basis, units=HiddenUnits.from_rows(rows, knots, weights, biases))

    result, trial = [], train(0)
    if _do_harm(trial, base.fits[0], rows, folds[0], inputs):
        return []
    first = _on_folds("units", folds, inputs, lambda _: trial, base.fits, until=1)
    if not _may_beat(first, base, folds):
        return []
    if grown := grow_units_of_folds(rows, folds, base.fits, inputs):
        own, shared = grown
        candidate = _on_folds("folds", folds, inputs, own.__getitem__, base.fits)
        result.append(replace(candidate, bases=tuple(shared)))
    if _may_beat(first, choose([*judged, *result], tested), folds):
        result.append(_on_folds("units", folds, inputs, train, base.fits, begun=first.fits))
    return result


def _do_harm(trial: Basis, fit: Fit, rows: Rows, fold: tuple[Rows, Rows], inputs: Inputs) -> bool:
    """Return whether the units of a basis, beside a fit as it is, make what held-out rows lose larger."""
    train, out = (part.beside(part.whole(fit(part))) for part in fold)
    lines = curve_basis(rows, inputs, np.zeros(len(inputs.names), bool))
    beside = fit_penalized(replace(lines, units=trial.units), train, inputs.shapes)
    loss, error = mean_with_error(out.losses(beside(out)) - fold[1].losses(fit(fold[1])), [out])
    return loss > max(TRIAL_ERRORS * error, LEAST_GAIN)


def _may_beat(first: Candidate, rival: Candidate, folds: Folds) -> bool:
    """Return whether a stage that is fitted to the first fold only may do better than another."""
    held = [folds[0][1]]
    gain, error = compare(Candidate.from_fits(rival.stage, rival.fits[:1], held), first, held)
    return gain > max(TRIAL_ERRORS * error, LEAST_GAIN)


def _on_folds(
    stage: str,
    folds: Folds,
    inputs: Inputs,
    basis_of: Callable[[int], Basis],
    starts: Sequence[Fit] | None = None,
    *,
    n_steps: int = STEPS,
    begun: Sequence[Fit] = (),
    until: int | None = None,
) -> Candidate:
    """Fit a basis to each fold, from the fit of an earlier stage, or of the first fold where it has the same basis.

    Fits of the first folds may be there already (``begun``), and ``until`` limits the number of folds.
    """
    fits = list(begun)
    for k, (train, _) in list(enumerate(folds))[len(fits) : until]:
        basis = basis_of(k)
        start = fits[0] if k > 0 and basis is fits[0].basis else None if starts is None else starts[k]
        fits.append(fit_penalized(basis, train, inputs.shapes, start=start, n_steps=n_steps))
    return Candidate.from_fits(stage, fits, [out for _, out in folds[: len(fits)]])


def _count_pieces(rows: Rows) -> int:
    """Return how many pieces the curves of a table may have together."""
    most = FUNCTIONS * MANY_SCORES // max(rows.n_scores, MANY_SCORES)  # each score has moments of its own
    return min(most, int(PIECES_PER_ROW * rows.copies.sum()))


def _bending_inputs(rows: Rows, inputs: Inputs, fits: Sequence[Fit]) -> Bools:
    """Return which inputs (d,) get knots: of very many numbers those with the steepest lines."""
    size = np.max([np.abs(fit.weights).max(axis=1) for fit in fits], axis=0)
    order = np.argsort(np.where(inputs.may_bend, -size, np.inf), kind="stable")
    chosen = np.zeros(len(size), bool)
    chosen[order[: min(MAX_BENT, max(_count_pieces(rows) // LEAST_PIECES, 1))]] = True
    return np.asarray(chosen & inputs.may_bend)


def curve_basis(rows: Rows, inputs: Inputs, is_bent: Bools, lines: Ints | None = None) -> Basis:
    """Return the lines of inputs, with knots of those that are bent (d,)."""
    most = PIECES if rows.copies.sum() < SMALL else MORE_PIECES
    n_pieces = min(most, max(_count_pieces(rows) // max(int(is_bent.sum()), 1), LEAST_PIECES))
    knots = []
    for j, numeric in enumerate(inputs.is_numeric):
        each = np.array([0.0, 1.0])
        if j in inputs.levels:  # beyond all values: a line there is 0
            each = inputs.levels[j] + np.array([1.0, 2.0])
        elif numeric:
            x = clip_outliers(rows.X[:, j], rows.copies)
            each = quantile_knots(x, n_pieces, rows.copies) if is_bent[j] else np.array([x.min(), x.max()])
            each = close_circle(each if is_bent[j] else x[:0], inputs.circles[j]) if inputs.circles[j] else each
            if each[0] == each[-1]:
                each = np.array([each[0], each[0] + 1.0])
        knots.append(each)
    is_circle = np.array([circle is not None for circle in inputs.circles])
    options: dict[str, Any] = {"lines": lines, "is_circle": is_circle, "gaps": inputs.gaps}
    return Basis(CurveBasis.from_rows(rows.X, rows.weight, knots, inputs.groups, **options))


def choose(judged: Sequence[Candidate], held: Sequence[Rows]) -> Candidate:
    """Return the candidate to keep: a stage is taken if it beats the one before by a standard error of differences.

    Units must by ``UNIT_ERRORS``, as they are harder to read, where there were none before. Is a stage without units
    nearly as good as they are, it is taken in their place.
    """
    kept = judged[0]
    for k, candidate in enumerate(judged[1:], start=1):
        gain, error = compare(kept, candidate, held)
        is_first = candidate.stage in UNIT_STAGES and kept.stage not in UNIT_STAGES
        least = LEAST_UNEXPLAINED_GAIN if kept.stage == "folds" else LEAST_GAIN
        if gain > max(error * (UNIT_ERRORS if is_first else 1.0), least):
            kept = _find_readable(kept, judged[:k], candidate, held) if is_first else candidate
    return kept


def _find_readable(kept: Candidate, others: Sequence[Candidate], units: Candidate, held: Sequence[Rows]) -> Candidate:
    """Return the first stage that brings most of what units bring, and that they do not beat by a standard error."""
    whole, _ = compare(kept, units, held)
    for each in others:
        gain, error = compare(each, units, held)
        if each.stage not in UNIT_STAGES and gain < min(error, (1 - MOST) * whole):
            return each
    return units


def describe_steps(
    judged: Sequence[Candidate], kept: Candidate, model: CurveModel, held: Sequence[Rows]
) -> tuple[Step, ...]:
    """Return what each stage brought; the kept one has become a model."""
    steps, before = [], judged[0]
    for each in judged:
        gain, error = compare(before, each, held)
        active = [fit.effective[fit.basis.blocks][len(fit.basis.curves.lines) :] > NEGLIGIBLE for fit in each.fits]
        bends = float(model.n_bends if each is kept else np.mean([part.sum() for part in active]))
        n_planes = len(model.planes) if each is kept else 0
        steps.append(
            Step(each.stage, mean_with_error(each.losses, held)[0], gain, error, bends, each is kept, n_planes)
        )
        before = each if gain > error or each is kept else before
    return tuple(steps)
