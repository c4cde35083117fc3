"""Whether the curve of time goes on behind the last rows of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from creases.tables._split.split import UniqueRows
from creases.tables._stages.inputs import Inputs
from creases.tables._stages.model import CurveModel
from creases.tables._stages.rows import Rows, mean_with_error
from creases.tables._stages.stages import Candidate

#: Share of the rows that are before the last stretch of time.
STRETCH = 0.8


def continue_trend(
    model: CurveModel, rows: UniqueRows, inputs: Inputs, kept: Candidate, folds: Sequence[tuple[Rows, Rows]]
) -> CurveModel:
    """Return a model in which the curve of time goes on straight for as long again as the table, if later rows say so.

    The first fold holds the last stretch of time out. Where its rows are better predicted, by two standard errors, with
    the mean slope of the stretch before than with the last value, later rows get the slope of the last stretch.
    """
    assert rows.group is not None
    order = np.argsort(rows.group, kind="stable")
    rising = [j for j, bends in enumerate(inputs.may_bend) if bends and (np.diff(rows.X[order, j]) >= 0).all()]
    if not rising:
        return model
    j, (train, out), fit = rising[0], folds[0], kept.fits[0]
    last, first = train.X[:, j].max(), np.quantile(train.X[:, j], STRETCH)
    ends = []
    for x in (first, last):
        X = out.X.copy()
        X[:, j] = np.minimum(X[:, j], x)
        ends.append(fit(X))
    ahead = (out.X[:, j] - last)[:, None] / (last - first) if last > first else np.zeros((len(out), 1))
    gain = out.losses(ends[1]) - out.losses(ends[1] + ahead * (ends[1] - ends[0]))
    mean, error = mean_with_error(gain, [out])
    curve = model.curves[j]
    start, end = float(out.X[:, j].min()), float(curve.knots[-1])
    if mean <= 2 * error or end <= start:
        return model
    span = end - float(curve.knots[0])
    rise = (curve.values[-1] - curve(np.array([start]))[0]) * span / (end - start)
    curves = list(model.curves)
    curves[j] = replace(
        curve,
        knots=np.append(curve.knots, end + span),
        values=np.append(curve.values, [curve.values[-1] + rise], 0),
        errors=np.append(curve.errors, curve.errors[-1:], 0),
    )
    return replace(model, curves=tuple(curves))
