"""How the curve of time goes on behind the last rows of a table, and how far off predictions of later rows are.

Both are seen at earlier ends of the table (rolling origins): the rows up to there say a level and a slope, and the rows
behind it how far off these are, by how far ahead they are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from creases._typing import Bools, Floats, Ints
from creases.tables._split.split import UniqueRows
from creases.tables._stages.basis import PiecewiseLinear, add_functions
from creases.tables._stages.families import NORMAL, Quantile, Targets
from creases.tables._stages.inputs import Inputs
from creases.tables._stages.model import Curve, CurveModel
from creases.tables._stages.penalized import fit_penalized
from creases.tables._stages.rows import Rows
from creases.tables._stages.stages import curve_basis

#: Shares of the rows that are before an end, the share of those whose slope goes on, and of the whole ahead of it.
ORIGINS, STRETCH, AHEAD = np.linspace(0.4, 0.95, 12), 0.2, 0.25

#: By how much squared errors of all rows must fall, beyond two for each parameter, for a curve to follow residuals.
LEAST_FALL = 8.0

#: Parts of the slope by which a curve may go on, of which the last ones lower squared errors by a standard error.
PARTS = (0.0, 0.5, 1.0)


@dataclass(frozen=True, eq=False)
class Forecasts:
    """Rows as they are predicted from earlier ends of the table."""

    rows: Ints  #: (n,) their numbers; a row comes once for each end
    ahead: Floats  #: (n,) by how much the end is before them
    scores: Floats  #: (n, m)
    feature: int  #: the input that is the time
    last: float  #: its last value


def find_clock(rows: UniqueRows, inputs: Inputs) -> int | None:
    """Return the input that rises from row to row in the order of time; None if there is none."""
    assert rows.group is not None
    order = np.argsort(rows.group, kind="stable")
    rising = (j for j, bends in enumerate(inputs.may_bend) if bends and (np.diff(rows.X[order, j]) >= 0).all())
    return next(rising, None)


def continue_trend(
    model: CurveModel, rows: UniqueRows, among: Ints, targets: Targets, inputs: Inputs, freedom: float
) -> tuple[CurveModel, Forecasts | None]:
    """Return a model whose curve of time ends at the level of the last rows, and forecasts from earlier ends.

    The curve goes on for as long again as the table, if earlier ends say so. ``freedom`` is the effective number of the
    model's parameters.
    """
    j = inputs.clock
    if j is None:
        return model, None
    among = among[np.argsort(rows.X[among, j], kind="stable")]
    X, t, y = rows.X[among], rows.X[among, j], targets.standardize(rows.y[among])
    copies, family = rows.count[among].astype(np.float64), targets.family

    def find_residuals(model: CurveModel) -> tuple[Floats, Floats, Floats]:
        """Return scores and residuals (n, m) as the family weighs them, and weights (n,)."""
        scores = (model.scores(X) - targets.center) / targets.scale
        if isinstance(family, Quantile):
            return scores, y - scores, rows.weight[among]
        curvature = family.curvatures(y, scores)
        return scores, family.pulls(y, scores) / curvature, rows.weight[among] * curvature.mean(axis=1)

    scores, residuals, weight = find_residuals(model)
    if family.has_noise and not isinstance(family, Quantile):
        data = Rows(t[:, None], residuals, weight, copies, NORMAL)
        model = _follow_residuals(model, j, data, targets.scale)
        scores, residuals, weight = find_residuals(model)
    at_last = X.copy()
    at_last[:, j] = t[-1]  # what acts together with the time is as it is for later rows
    others = model.scores(at_last) - model.curves[j](t[-1:])
    excess = residuals * ((1 - min(freedom / len(t), 0.5)) ** -0.5 - 1)  # those of new rows are larger
    r = scores - (others - targets.center) / targets.scale + residuals + excess
    data = Rows(t[:, None], r, weight, copies, NORMAL)
    span = t[-1] - t[0]
    errors, slopes, places = [], [], []
    for end in np.unique(np.searchsorted(t, t[(ORIGINS * len(t)).astype(np.int64)], side="right")):
        behind = np.arange(end, np.searchsorted(t, t[end - 1] + AHEAD * span, side="right"))
        if end >= len(t) or not len(behind):
            continue
        level, slope = _follow(data, np.arange(len(t)) < end)
        ahead = t[behind] - t[end - 1]
        errors.append(r[behind] - level)
        slopes.append(ahead[:, None] * slope)
        places.append((behind, ahead))
    if not errors:
        return model, None
    losses = np.array([
        [np.average(((e - part * s) ** 2).mean(axis=1), weights=weight[at]) for part in PARTS]
        for e, s, (at, _) in zip(errors, slopes, places, strict=True)
    ])  # fmt: skip
    part = PARTS[_choose(losses)]
    forecast = [r[at] - e + part * s for e, s, (at, _) in zip(errors, slopes, places, strict=True)]
    every, ahead = (np.concatenate(each) for each in zip(*places, strict=True))
    scores = others[every] + targets.scale * (np.concatenate(forecast) - excess[every])
    forecasts = Forecasts(among[every], ahead, scores, j, float(t[-1]))
    if not part or span <= 0:
        return model, forecasts
    curve, curves = model.curves[j], list(model.curves)
    rise = targets.scale * part * span * _follow(data, np.ones(len(t), bool))[1]
    knots = np.append(curve.knots, curve.knots[-1] + span)
    values = np.append(curve.values, [curve.values[-1] + rise], 0)
    curves[j] = Curve(knots, values, np.append(curve.errors, curve.errors[-1:], 0))
    return replace(model, curves=tuple(curves)), forecasts


def _smooth(data: Rows) -> tuple[PiecewiseLinear, float]:
    """Return a curve of time of rows, and its effective number of parameters."""
    center, scale = np.average(data.y, axis=0, weights=data.weight), data.y.std(axis=0).clip(1e-12)
    rows = replace(data, y=(data.y - center) / scale)
    inputs = Inputs.from_table(rows.X, ["time"], None)
    basis = curve_basis(rows, inputs, inputs.may_bend)
    fit, knots = fit_penalized(basis, rows, inputs.shapes), basis.curves.all_knots(0)
    values = center + scale * (fit.offset + fit.basis(knots[:, None]) @ fit.weights)
    return PiecewiseLinear(knots, values, False), fit.freedom


def _follow(data: Rows, part: Bools) -> tuple[Floats, Floats]:
    """Return the level (m,) of a curve of time at the last of some rows, and its mean slope (m,) before."""
    rows = data[part]
    t = rows.X[:, 0]
    start = t[int((1 - STRETCH) * (len(t) - 1))]
    before, level = _smooth(rows)[0](np.array([start, t[-1]]))
    return level, (level - before) / max(t[-1] - start, 1e-300) * (t[-1] > start)


def _follow_residuals(model: CurveModel, j: int, data: Rows, scale: Floats) -> CurveModel:
    """Return a model whose curve of time has what its residuals show of it, if they do.

    Stages are judged by stretches of time that are held out, so what does not go on there is not fitted. The last value
    of the curve is to be the level of the last rows all the same.
    """
    curve, (more, freedom) = model.curves[j], _smooth(data)
    left = (data.y, data.y - more(data.X[:, 0]))
    before, after = (np.average(values**2, axis=0, weights=data.weight).sum() for values in left)
    if len(data) * (before - after) <= (LEAST_FALL + 2 * freedom) * after:
        return model
    total = add_functions([curve.function, replace(more, values=scale * more.values)])
    mean = np.average(scale * more(data.X[:, 0]), axis=0, weights=data.weight)
    errors = np.stack([np.interp(total.knots, curve.knots, each) for each in curve.errors.T], axis=1)
    curves = list(model.curves)
    curves[j] = Curve(total.knots, total.values - mean, errors)
    return replace(model, curves=tuple(curves), intercept=model.intercept + mean)


def _choose(losses: Floats) -> int:
    """Return which of the ways (origins, ways) to go on is best: the first unless another is by a standard error.

    Later ends count more. Neighbours see the same rows, so there are half as many.
    """
    weight = np.linspace(0.5, 1.5, len(losses))
    weight, kept = weight / weight.sum(), 0
    for k in range(1, losses.shape[1]):
        gains = losses[:, kept] - losses[:, k]
        gain = weight @ gains
        if gain > (weight @ (gains - gain) ** 2 * 2 / len(losses)) ** 0.5:
            kept = k
    return kept
