"""Fit a model of a table in stages: lines, curves, planes, units, each where held-out rows favor it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from creases._typing import Floats, Ints
from creases.tables._split.split import UniqueRows, fold_weights, least_keys, mix, row_keys
from creases.tables._stages.basis import CurveBasis, HiddenUnits, PiecewiseLinear
from creases.tables._stages.families import NORMAL, Classes, Family, Power, Quantile, Targets, parse_family
from creases.tables._stages.inputs import Inputs
from creases.tables._stages.level_effects import LevelEffects, add_effects, fit_effects
from creases.tables._stages.model import Curve, CurveModel, Plane, Units
from creases.tables._stages.pairs import PurePair, project_out
from creases.tables._stages.penalized import STEPS, Basis, Fit, fit_penalized, imitate, refit
from creases.tables._stages.rows import Rows, RowSource, mean_with_error
from creases.tables._stages.simplify import eliminate, select_functions
from creases.tables._stages.stages import (
    SMALL,
    Candidate,
    Folds,
    choose,
    describe_steps,
    fit_candidates,
    fit_columns,
    linear_steps,
)
from creases.tables._stages.trades import Trade, find_trades
from creases.tables._stages.trend import Forecasts, continue_trend, find_clock

if TYPE_CHECKING:
    from creases.tables._streaming.blocks import StreamedRows


def parts_of_fit(
    fit: Fit, dense: Fit, inputs: Inputs, rows: Rows, means: Floats, center: Floats, scale: Floats
) -> tuple[Floats, tuple[Curve, ...], tuple[Plane, ...], Units | None]:
    """Return intercept (m,), curves, planes and units of ``center + scale * fit``, the mean of each part taken out.

    Every part is a sum of functions of the basis, so its mean over all rows is that of their means (p,). Standard
    errors are those of ``dense``, the fit before it was simplified; what curves can say of units is judged by rows.
    """
    basis = fit.basis.curves
    fit, taken = _purify_units(fit, rows)
    functions, shift = _functions(basis, fit.weights[: len(basis.penalty)], inputs, np.arange(len(basis.knots)))
    intercept = fit.offset + shift
    curves = []
    for j, function in functions.items():
        own = np.flatnonzero(basis.feature == j)
        mean = (means[own] - basis.functions_of(j, function.knots[:1])[0]) @ fit.weights[own]  # it starts at 0
        intercept = intercept + mean
        values, errors = scale * (function.values - mean), scale * _errors(dense, [j], function.knots[:, None])
        curves.append(Curve(function.knots, values, errors, inputs.is_numeric[j]))
    curves = _center_levels(curves, inputs, dense, scale)
    intercept = center + scale * intercept
    planes: dict[str, Plane] = {}
    for plane, place in zip(_planes(fit, inputs, scale), fit.basis.places, strict=False):
        mean = means[place] @ fit.weights[place] * scale
        intercept = intercept + mean
        plane, key = replace(plane, constant=plane.constant - mean), repr(plane.inputs)
        planes[key] = planes[key].add(plane) if key in planes else plane  # some folds may have had finer hinges
    units = _units(fit, taken, inputs, scale)
    if units is not None:
        place = fit.basis.places[-1]
        mean = (means[place] @ fit.weights[place] - means[: len(taken)] @ taken) * scale
        intercept = intercept + mean
        units = replace(units, constant=units.constant - mean)
    return intercept, tuple(curves), tuple(planes.values()), units


def _center_levels(curves: Sequence[Curve], inputs: Inputs, dense: Fit, scale: Floats) -> list[Curve]:
    """Return curves of which those of a category's levels are 0 for rows of other levels, with the same sum.

    What a level adds is its effect, the mean over all rows is 0, and a value that the table did not have adds nothing.
    Rows cannot tell what all levels share from the intercept: the standard error of an effect is that of the whole sum
    at a row with the level.
    """
    result = list(curves)
    for group in np.unique(inputs.groups[inputs.groups >= 0]):
        levels = np.flatnonzero(inputs.groups == group).tolist()
        rest = np.sum([curves[j].values[0] for j in levels], axis=0)
        errors = scale * _errors(dense, levels, np.eye(len(levels)))
        for j, error in zip(levels, errors, strict=True):
            effect = curves[j].values[1] - curves[j].values[0] + rest
            values, spread = np.stack([0 * effect, effect]), np.stack([0 * error, error])
            result[j] = replace(curves[j], values=values, errors=spread)
    return result


def _functions(
    basis: CurveBasis, weights: Floats, inputs: Inputs, among: Ints
) -> tuple[dict[int, PiecewiseLinear], Floats]:
    """Return a sum (p, m) of functions of some inputs as functions of each that start at 0, and their constant (m,)."""
    functions, constant = {}, np.zeros(weights.shape[1])
    steps: dict[int, Floats] = {}
    for j in among.tolist():
        knots = basis.all_knots(j)
        values = basis.functions_of(j, knots) @ weights[basis.feature == j]
        constant = constant + values[0]
        functions[j] = PiecewiseLinear(knots, values - values[0], not inputs.is_numeric[j])
        fill = basis.functions_of(j, inputs.fills[j : j + 1])[0] @ weights[basis.feature == j]
        for gap in basis.gaps[j].tolist():  # where an input is missing its functions are 0
            steps[gap] = steps.get(gap, np.zeros_like(fill)) + fill
    for gap, step in steps.items():
        values = functions[gap].values - np.array([[0.0], [1.0]]) * step
        functions[gap] = replace(functions[gap], values=values)
    return functions, constant


def _errors(fit: Fit, inputs: Sequence[int], values: Floats) -> Floats:
    """Return the standard errors (k, m) of the sum of the curves of some inputs at values (k, inputs) of these."""
    basis = fit.basis.curves
    own = np.concatenate([np.flatnonzero(basis.feature == j) for j in inputs])
    F = np.hstack([basis.functions_of(j, x) for j, x in zip(inputs, values.T, strict=True)])
    variances = [np.einsum("kp,pq,kq->k", F, V[np.ix_(own, own)], F) for V in fit.covariance]
    return np.asarray(np.sqrt(np.stack(variances, axis=1).clip(0.0)))


def _planes(fit: Fit, inputs: Inputs, scale: Floats) -> list[Plane]:
    curves, result = fit.basis.curves, []
    for plane, place in zip(fit.basis.planes, fit.basis.places, strict=False):
        weights = fit.weights[place] * (scale / plane.scale)
        read = curves.with_gaps(plane.hinges.features)
        margins, shift = _functions(curves, -plane.margin @ weights, inputs, read)
        result.append(Plane(plane.hinges, weights, margins, shift - plane.offset @ weights))
    return result


def _purify_units(fit: Fit, rows: Rows) -> tuple[Fit, Floats]:
    """Return a fit whose curves have what they can say of its units, and the weights (p, m) of curves they got."""
    units, curves = fit.basis.units, fit.basis.curves
    taken = np.zeros((len(curves.penalty), fit.weights.shape[1]))
    if units is None:
        return fit, taken
    root = np.sqrt(rows.weight / rows.weight.sum())[:, None]
    F = rows.functions(fit.basis) * root
    own = np.flatnonzero(np.isin(curves.feature, curves.with_gaps(np.flatnonzero(units.weights.any(axis=0)))))
    A = np.hstack([root, F[:, own]])
    taken[own] = project_out(A, F[:, -len(units) :] @ fit.weights[-len(units) :])[1:]
    weights = fit.weights.copy()
    weights[: len(taken)] += taken
    return replace(fit, weights=weights), taken


def _units(fit: Fit, taken: Floats, inputs: Inputs, scale: Floats) -> Units | None:
    """Return the units without the weights (p, m) of curves that are taken out."""
    units, curves = fit.basis.units, fit.basis.curves
    if units is None:
        return None
    outputs = fit.weights[-len(units) :] / units.deviation[:, None] * scale
    read = curves.with_gaps(np.unique(curves.feature[taken.any(axis=1)]))
    margins, shift = _functions(curves, -taken * scale, inputs, read)
    reasons = tuple(
        replace(reason, errors=tuple((np.array(reason.errors) * scale).tolist()) if reason.errors else ())
        for reason in units.reasons
    )
    return Units(units.knots, units.weights, units.biases, outputs, shift - units.mean @ outputs, margins, reasons)


#: Folds of a table with fewer rows than ``SMALL``; a larger one has a single held-out part of the same size.
FOLDS = 5

#: Planes of an average at most.
MAX_PLANES = 10


@dataclass(frozen=True, eq=False)
class HeldOut:
    """The scores of rows by fits that have not seen them: those of the folds of the stage that is kept."""

    rows: Ints  #: (n,) numbers of the rows
    weight: Floats  #: (n,)
    scores: Floats  #: (n, m)
    forecasts: Forecasts | None = None  #: of rows in the order of time: from earlier ends of the table


#: Rows on which stages, knots and penalties are chosen at most: more do not change the choice.
STAGE_ROWS = 20_000


def fit_stages(
    rows: UniqueRows,
    inputs: Inputs,
    *,
    n_classes: int,
    family: str = "auto",
    among: Ints | None = None,
    seed: int = 0,
    stream: StreamedRows | None = None,
) -> tuple[CurveModel, HeldOut, list[Trade]]:
    """Fit lines, then curves, planes and units where they pay, to rows of a table.

    Each stage is fitted on folds and judged by its losses on held-out rows. It must beat the one before by a standard
    error of the paired differences. Of a small table the fits of the chosen one on the folds are averaged. Bends that
    do not matter are left out; the others keep the predictions, or of a larger table are fitted to all rows. Stages,
    knots and penalties of a table of more than ``STAGE_ROWS`` rows are chosen on so many.
    Returned with the model are the held-out scores of the stage that is kept, and columns that can trade their effects.

    Parameters
    ----------
    rows
        Different rows of a table with their weights, ``TableSplit.rows``: y (n, m) are values, or one column of class
        numbers.
    inputs
        What the columns of X are.
    n_classes
        0 for a regression.
    family
        That of numbers by name, see :func:`parse_family`; "auto" for the one that held-out rows favor.
    among
        Numbers of the rows to use; by default all.
    seed
        Seed of the folds.
    stream
        All rows of a table larger than memory, of which ``rows`` are a sample.
    """
    among = np.arange(len(rows)) if among is None else among
    inputs = replace(inputs, clock=find_clock(rows, inputs) if rows.is_time else None)
    sample = among
    if len(among) > STAGE_ROWS:
        sample = among[least_keys(mix(row_keys(rows.X[among], rows.y[among], seed)), STAGE_ROWS)]
    is_small = stream is None and rows.count[sample].sum() < SMALL
    is_averaged = is_small and not rows.is_time  # a fit without the last stretch of time does not know the last level
    held = fold_weights(rows, sample, FOLDS, seed, stratify=n_classes > 0)[: FOLDS if is_small else 1]
    shares = [out / rows.weight[sample] for out in held]
    known, columns = (Classes(n_classes), None) if n_classes else choose_family(family, rows, sample, shares, inputs)
    if stream is None:
        targets = Targets.from_values(known, rows.y[among], rows.weight[among])
    else:
        if known is not NORMAL and not n_classes:
            stream = stream.with_targets(Targets.from_values(known, rows.y[sample], rows.weight[sample]))
        targets = stream.targets
    data = Rows.from_unique(rows, sample, targets)
    data = data if stream is None else replace(data, numbers=None)
    data, folds, levels = add_effects(data, [data.split(share) for share in shares], inputs)
    tested = [out for _, out in folds]
    is_judged = sample is among and stream is None and not levels  # the same rows chose the family, by these columns
    judged = fit_candidates(data, folds, inputs, columns if is_judged else None)
    kept = choose(judged, tested)
    last = data if is_small or sample is among else Rows.from_unique(rows, among, targets)
    if is_averaged:
        dense, fit, means = _average_folds(kept, data, folds, inputs)
    else:
        dense, fit = _fit_sample(kept, data, inputs, is_linear=kept is judged[0])
        whole: RowSource = last if stream is None else stream
        if levels:
            whole = last.beside(fit_effects(last, fit(last), levels)(last.X))
        fit, means = refit(fit, whole, inputs.shapes)
    center, scale = targets.center, targets.scale
    model = CurveModel(n_classes, *parts_of_fit(fit, dense, inputs, data, means, center, scale))
    curve_scores = fit(last) if levels else None
    if inputs.levels:
        effects = None if curve_scores is None else fit_effects(last, curve_scores, levels)
        model = _add_levels(model, inputs, effects, scale)
    if not n_classes:
        model = replace(model, family=targets.family.name, largest=targets.largest)
    if targets.family.is_quadratic and model.link == "log":  # the mean prediction is to be that of the targets
        y, outputs, weight = rows.y[among], model.outputs(rows.X[among]), rows.weight[among]
        shift = np.log(np.average(y, axis=0, weights=weight) / np.average(outputs, axis=0, weights=weight))
        model = replace(model, intercept=model.intercept + shift)
    places = [np.flatnonzero(out > 1e-9 * rows.weight[sample]) for out in held]
    scores = [center + scale * out.whole(fit(out)) for fit, out in zip(kept.fits, tested, strict=True)]
    weights = [out[place] for out, place in zip(held, places, strict=True)]
    held_out = HeldOut(sample[np.concatenate(places)], np.concatenate(weights), np.concatenate(scores))
    if curve_scores is not None and last is not data:  # levels have more rows than in the sample: smaller errors
        out = np.random.default_rng(seed).permutation(len(last)) % FOLDS == 0
        beside = curve_scores[out] + fit_effects(last[~out], curve_scores[~out], levels)(last.X[out])
        held_out = HeldOut(among[out], rows.weight[among[out]], center + scale * beside)
    if isinstance(targets.family, Quantile):  # its loss is smooth: so many held-out rows are to be below
        rest, level = rows.y[held_out.rows] - held_out.scores, targets.family.level
        shift = np.quantile(rest, level, axis=0, method="inverted_cdf", weights=held_out.weight)
        model = replace(model, intercept=model.intercept + shift)
        held_out = replace(held_out, scores=held_out.scores + shift)
    if rows.is_time:
        model, forecasts = continue_trend(model, rows, sample, targets, inputs, dense.freedom)
        held_out = replace(held_out, forecasts=forecasts)
    trades = find_trades(dense, data, inputs, scale)
    return replace(model, steps=describe_steps(judged, kept, model, tested)), held_out, trades


def _average_folds(kept: Candidate, data: Rows, folds: Folds, inputs: Inputs) -> tuple[Fit, Fit, Floats]:
    """Return the mean of a small table's fits, the functions that matter with its predictions, and their means (p,)."""
    fits = kept.fits
    if kept.bases:
        parts = zip(kept.bases, fits, folds, strict=True)
        fits = tuple(fit_penalized(basis, train, inputs.shapes, start=fit) for basis, fit, (train, _) in parts)
    dense = average_fits(fits, MAX_PLANES)
    basis = select_functions(dense.basis, data, eliminate(dense, data))
    means = data.weight @ data.functions(basis) / data.weight.sum()
    return dense, imitate(dense, basis, data, inputs.shapes), means


def _fit_sample(kept: Candidate, data: Rows, inputs: Inputs, *, is_linear: bool) -> tuple[Fit, Fit]:
    """Return the fit of a larger table's stage to all rows of the sample, and that of the functions that matter."""
    basis = kept.bases[0] if kept.bases else kept.fits[0].basis
    dense = fit_penalized(basis, data, inputs.shapes, start=kept.fits[0])
    basis = select_functions(dense.basis, data, eliminate(dense, data))
    n_steps = linear_steps(basis.curves) if is_linear else STEPS
    return dense, fit_penalized(basis, data, inputs.shapes, n_steps=n_steps)


def _add_levels(model: CurveModel, inputs: Inputs, effects: LevelEffects | None, scale: Floats) -> CurveModel:
    """Return a model in which the curves of inputs that are numbers of values have effects, whose mean is 0, at these.

    A value without rows adds nothing, as one that the table did not have.
    """
    curves, intercept = list(model.curves), model.intercept
    for j, n in inputs.levels.items():
        values = np.zeros((n + 1, len(intercept)))
        if effects is None or j not in effects.values:
            curves[j] = Curve(np.array([0.0, n]), values[:2], values[:2])
            continue
        counts = effects.counts[j]
        mean = scale * np.average(effects.values[j][1:], axis=0, weights=counts[1:])
        values[counts > 0] = scale * effects.values[j][counts > 0] - mean
        values[0] = 0.0
        curves[j] = Curve(np.arange(n + 1.0), values, scale * effects.errors[j])
        missing = counts[0] / counts.sum()
        for gap in inputs.gaps[j].tolist():  # rows without a value are as before
            curves[gap] = replace(curves[gap], values=curves[gap].values + np.outer([missing, missing - 1], mean))
        intercept = intercept + (1 - missing) * mean
    return replace(model, curves=tuple(curves), intercept=intercept, lookups=(*inputs.levels,))


#: Standard deviation of targets, in means, below which a logarithm is as good as straight; rows that a choice needs.
NEARLY_CONSTANT, LEAST_ROWS = 0.1, 50


def choose_family(
    name: str, rows: UniqueRows, sample: Ints, shares: list[Floats], inputs: Inputs
) -> tuple[Family, list[Candidate] | None]:
    """Return the family of a name; of "auto" the one that held-out rows favor, normal or with a logarithmic link.

    With it come the sums of curves by which it was judged, if it was.

    Each is judged by curves of single columns, fitted to the same folds. It takes the place of the one before where its
    held-out likelihood is better, that of a normal distribution with the family's mean and variance (Dawid, Sebastiani
    1999), and its squared error is not worse by a standard error.
    """
    if name != "auto":
        return parse_family(name), None
    y = rows.y[sample]
    mean = float(np.average(y[:, 0], weights=rows.weight[sample])) if y.shape[1] == 1 else 0.0
    if y.min() < 0 or mean <= 0 or len(sample) < LEAST_ROWS or y.std() < NEARLY_CONSTANT * mean:
        return NORMAL, None
    second = "tweedie" if (y == 0).any() else "gamma"

    def judge(family: Family) -> tuple[float, Floats, list[Rows], Family, list[Candidate]]:
        """Return minus twice the mean log-likelihood of held-out rows, and their squared errors (n,), by curves."""
        targets = Targets.from_values(family, rows.y[sample], rows.weight[sample])
        data = Rows.from_unique(rows, sample, targets)
        folds = [data.split(share) for share in shares]
        tested = [out for _, out in folds]
        columns = fit_columns(data, folds, inputs)
        fits = choose(columns, tested).fits
        mean = np.concatenate([targets.predict(fit(out))[:, 0] for fit, out in zip(fits, tested, strict=True)])
        truth = np.concatenate([y[share > 1e-9, 0] for share in shares])
        weight, errors = np.concatenate([out.weight for out in tested]), (truth - mean) ** 2
        power = family.power if isinstance(family, Power) else 0.0
        variance = np.maximum(mean, 1e-6 * truth.mean()) ** power if power else np.ones(len(mean))
        size = np.average(errors / variance, weights=weight)  # of the variance, by the same rows
        loss = float(np.log(np.maximum(size, 1e-300)) + np.average(np.log(variance), weights=weight))
        return loss, errors, tested, family, columns

    kept = judge(NORMAL)
    for other in ("poisson", second):
        loss, errors, tested, *_ = candidate = judge(parse_family(other))
        worse, error = mean_with_error(errors - kept[1], tested)
        if loss < kept[0] and worse <= error:
            kept = candidate
    return kept[3], kept[4]


def average_fits(fits: Sequence[Fit], max_planes: int) -> Fit:
    """Return the mean of fits with the same curves, whose planes and units may differ.

    The planes that say most are kept, and the units of all fits, those that the fits share once. Each fit leaves the
    rows of its fold out; their mean, which has seen all, is surer by the share of these.
    """
    n, seen = len(fits), 1 - 1 / len(fits)
    curves = fits[0].basis.curves
    p, n_blocks = len(curves.penalty), int(curves.blocks.max()) + 1
    planes: dict[PurePair, tuple[Floats, float]] = {}  # sums over fits of weights (h, m) and effective parameters
    for fit in fits:
        for plane, place, effective in zip(fit.basis.planes, fit.basis.places, fit.effective[n_blocks:], strict=False):
            weights, total = planes.get(plane, (np.zeros((len(plane), fit.weights.shape[1])), 0.0))
            planes[plane] = weights + fit.weights[place], total + float(effective)
    chosen = sorted(planes, key=lambda plane: -float(np.square(planes[plane][0]).sum()))[:max_planes]
    parts = [np.mean([fit.weights[:p] for fit in fits], axis=0), *(planes[plane][0] / n for plane in chosen)]
    freedoms = np.append(
        np.mean([fit.effective[:n_blocks] for fit in fits], axis=0), [planes[plane][1] / n for plane in chosen]
    )
    pairs = [(each, fit.weights[-len(each) :] / n) for fit in fits if (each := fit.basis.units)]
    units = pairs[0][0] if pairs else None
    if units and all(each.weights is units.weights for each, _ in pairs):  # the same in all folds
        parts.append(np.sum([weights for _, weights in pairs], axis=0))
    elif units:  # trained together, without reasons
        arrays = [(each.weights, each.biases, each.mean, each.deviation) for each, _ in pairs]
        weights, biases, mean, deviation = map(np.concatenate, zip(*arrays, strict=True))
        units = HiddenUnits(units.knots, weights, biases, mean, deviation)
        parts += [weights for _, weights in pairs]
    if units:
        freedoms = np.append(freedoms, np.mean([fit.effective[-1] for fit in fits]))
    return Fit(
        Basis(curves, tuple(chosen), units),
        np.concatenate(parts),
        np.mean([fit.offset for fit in fits], axis=0),
        np.ones(len(freedoms)),
        freedoms,
        float(np.mean([fit.noise for fit in fits])),
        tuple(seen * np.mean([fit.covariance[c][:p, :p] for fit in fits], axis=0) for c in range(len(fits[0].offset))),
    )
