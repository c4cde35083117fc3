"""The fewest bends that leave a model's predictions within its own standard error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from creases._typing import Bools
from creases.tables._stages.basis import Basis, CurveBasis
from creases.tables._stages.knots import round_knots
from creases.tables._stages.pairs import PlaneBasis
from creases.tables._stages.penalized import Fit, invert, prediction_forms
from creases.tables._stages.rows import Rows
from creases.tables._stages.unit_basis import UnitBasis

#: Effective parameters of a block that is as good as none.
NEGLIGIBLE = 0.02

#: By how much leaving out bends may change the predictions, in multiples of their variance.
TOLERANCE = 0.03


def eliminate(fit: Fit, rows: Rows) -> Bools:
    """Return which functions (p,) of a fit remain.

    Bends go one by one, each time the one without which the other functions can keep the predictions best (backward
    elimination in the norm of the predictions), while these change in all by less than a fraction, ``TOLERANCE``, of
    their own variance.
    """
    n_lines = len(fit.basis.curves.knots)
    mask = fit.effective[fit.basis.blocks] > NEGLIGIBLE
    mask[:n_lines] = True
    chosen = np.flatnonzero(mask)
    forms = prediction_forms(fit, rows)
    inverses = np.stack([invert(gram[np.ix_(chosen, chosen)]) for gram in forms])  # (m, q, q)
    weights = fit.weights[chosen].T.copy()  # (m, q)
    kept = np.ones(len(chosen), bool)
    left = TOLERANCE * fit.noise * fit.freedom
    while kept[n_lines:].any():
        places = np.flatnonzero(kept)[n_lines:]
        variances = np.einsum("mpp->mp", inverses)[:, places]
        costs = (weights[:, places] ** 2 / variances.clip(1e-300)).sum(axis=0)
        j = int(places[costs.argmin()])
        left -= float(costs.min())
        if left < 0:
            break
        column = inverses[:, :, j].copy()  # (m, p)
        pivot = column[:, j].clip(1e-300)
        weights -= column * (weights[:, j] / pivot)[:, None]
        inverses -= column[:, :, None] * (column / pivot[:, None])[:, None, :]
        kept[j] = False
    mask[chosen] = kept
    return mask


def drop_idle_hinges(fits: Sequence[Fit], rows: Rows) -> list[Fit]:
    """Return fits of the same curves without the hinges of features whose curves are straight in all of them."""
    basis = fits[0].basis.curves
    live = np.max([fit.effective for fit in fits], axis=0)[basis.blocks] > NEGLIGIBLE
    live[: len(basis.knots)] = True
    kept = np.flatnonzero(live)
    bent = set(basis.feature[len(basis.knots) :][live[len(basis.knots) :]].tolist())
    knots = [each if j in bent else each[[0, -1]] for j, each in enumerate(basis.knots)]
    few = CurveBasis.from_rows(rows.X, rows.weight, knots, basis.groups)
    blocks = np.unique(basis.blocks[kept])
    return [
        replace(
            fit,
            basis=few,
            weights=fit.weights[kept],
            penalties=fit.penalties[blocks],
            effective=fit.effective[blocks],
            covariance=tuple(each[np.ix_(kept, kept)] for each in fit.covariance),
        )
        for fit in fits
    ]


def select_functions(basis: Basis, rows: Rows, mask: Bools) -> Basis:
    """Return the functions of a mask (p,) as a basis, knots at round numbers."""
    if isinstance(basis, UnitBasis):
        n_base = len(basis.base.penalty)
        base = select_functions(basis.base, rows, mask[:n_base])
        kept = np.flatnonzero(mask[n_base:])
        return basis.select(base, kept) if len(kept) else base
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
