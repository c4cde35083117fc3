"""The fewest bends that leave a model's predictions within its own standard error."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from creases._typing import Bools
from creases.tables._stages.basis import Basis, CurveBasis
from creases.tables._stages.constraints import Shape, shape_rows
from creases.tables._stages.knots import round_knots
from creases.tables._stages.pairs import PlaneBasis
from creases.tables._stages.penalized import Fit, fit_penalized, invert, prediction_forms
from creases.tables._stages.rows import Rows

#: Effective parameters of a block that is as good as none.
NEGLIGIBLE = 0.02


def simplify(fit: Fit, rows: Rows, tolerances: Sequence[float], shapes: Sequence[Shape]) -> list[Fit]:
    """Return for each tolerance the model with the fewest bends that can be had, knots at round numbers, fitted again.

    Bends go one by one, each time the one without which the other functions can keep the predictions best (backward
    elimination in the norm of the predictions), while these change in all by less than a multiple, the tolerance, of
    their own variance.
    """
    n_lines = len(fit.basis.curves.knots)
    masks = _eliminate(fit, rows, n_lines, [tolerance * fit.noise * fit.freedom for tolerance in tolerances])
    bases = [_select(fit.basis, rows, mask) for mask in masks]
    fits: list[Fit] = []
    for k, basis in enumerate(bases):
        same = k > 0 and len(basis.penalty) == len(bases[k - 1].penalty)
        fits.append(fits[-1] if same else fit_penalized(basis, rows, shape_rows(basis.curves, shapes)))
    return fits


def _eliminate(fit: Fit, rows: Rows, n_lines: int, limits: Sequence[float]) -> list[Bools]:
    """Return which functions remain (p,) when predictions change by at most each of the limits."""
    live = fit.effective[fit.basis.blocks] > NEGLIGIBLE
    live[:n_lines] = True
    chosen = np.flatnonzero(live)
    inverses = np.stack([invert(gram[np.ix_(chosen, chosen)]) for gram in prediction_forms(fit, rows)])  # (m, q, q)
    weights = fit.weights[chosen].T.copy()  # (m, q)
    kept = np.ones(len(chosen), bool)
    masks = [live.copy() for _ in limits]
    total = 0.0
    while kept[n_lines:].any():
        places = np.flatnonzero(kept)[n_lines:]
        variances = np.einsum("mpp->mp", inverses)[:, places]
        costs = (weights[:, places] ** 2 / variances.clip(1e-300)).sum(axis=0)
        j = places[costs.argmin()]
        total += float(costs.min())
        if total > max(limits):
            break
        column = inverses[:, :, j].copy()  # (m, p)
        pivot = column[:, j].clip(1e-300)
        weights -= column * (weights[:, j] / pivot)[:, None]
        inverses -= column[:, :, None] * (column / pivot[:, None])[:, None, :]
        kept[j] = False
        for mask, limit in zip(masks, limits, strict=True):
            if total <= limit:
                mask[chosen[j]] = False
    return masks


def _select(basis: Basis, rows: Rows, mask: Bools) -> Basis:
    curves = basis.curves
    hinges = mask[len(curves.knots) : len(curves.penalty)]
    features, knots = curves.feature_of_hinge, []
    for j, dense in enumerate(curves.knots):
        inner = dense[1:-1][hinges[features == j]]
        knots.append(np.concatenate([dense[:1], round_knots(inner, dense), dense[-1:]]))
    few = CurveBasis.from_rows(rows.X, rows.weight, knots, curves.groups)
    if not isinstance(basis, PlaneBasis):
        return few
    at, pairs = len(curves.penalty), []
    for pair in basis.pairs:
        chosen = np.flatnonzero(mask[at : at + len(pair.first)])
        at += len(pair.first)
        if len(chosen):
            pairs.append(pair.select(chosen))
    return PlaneBasis.from_rows(rows.X, rows.weight, few, pairs) if pairs else few
