"""The curves and planes of a penalized fit, in the units of inputs and targets."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from creases._typing import Floats
from creases.tables._stages.basis import CurveBasis, PiecewiseLinear
from creases.tables._stages.inputs import Inputs
from creases.tables._stages.model import Curve, Plane, Units
from creases.tables._stages.pairs import PlaneBasis
from creases.tables._stages.penalized import Fit
from creases.tables._stages.rows import Rows
from creases.tables._stages.units import UnitBasis


def parts_of_fit(
    fit: Fit, dense: Fit, inputs: Inputs, rows: Rows, means: Floats, center: Floats, scale: Floats
) -> tuple[Floats, dict[str, Curve], tuple[Plane, ...], Units | None]:
    """Return intercept (m,), curves, planes and units of ``center + scale * fit``, the mean of each part taken out.

    Every part is a sum of functions of the basis, so its mean over all rows is that of their means (p,). Standard
    errors are those of ``dense``, the fit before it was simplified; what curves can say of units is judged by rows.
    """
    basis = fit.basis.curves
    fit, taken = _purify_units(fit, rows)
    functions, shift = _functions(basis, fit.weights[: len(basis.penalty)], inputs)
    intercept = fit.offset + shift
    curves = {}
    for j, (name, function) in enumerate(zip(inputs.names, functions, strict=True)):
        own = np.flatnonzero(basis.feature == j)
        mean = (means[own] - basis.functions_of(j, function.knots[:1])[0]) @ fit.weights[own]  # it starts at 0
        intercept = intercept + mean
        values, errors = scale * (function.values - mean), scale * _errors(dense, j, function.knots)
        curves[name] = Curve(name, function.knots, values, errors, inputs.is_numeric[j])
    intercept = center + scale * intercept
    planes, at = [], len(basis.penalty)
    for plane in _planes(fit, inputs, scale):
        own = np.arange(at, at + len(plane.weights))
        at += len(plane.weights)
        mean = means[own] @ fit.weights[own] * scale
        intercept = intercept + mean
        planes.append(replace(plane, constant=plane.constant - mean))
    units = _units(fit, taken, inputs, scale)
    if units is not None:
        mean = (means[at:] @ fit.weights[at:] - means[: len(taken)] @ taken) * scale
        intercept = intercept + mean
        units = replace(units, constant=units.constant - mean)
    return intercept, curves, tuple(planes), units


def _functions(basis: CurveBasis, weights: Floats, inputs: Inputs) -> tuple[list[PiecewiseLinear], Floats]:
    """Return a sum (p, m) of a basis' functions as functions of each input that start at 0, and their constant (m,)."""
    functions, constant = [], np.zeros(weights.shape[1])
    for j in range(len(basis.knots)):
        knots = basis.all_knots(j)
        values = basis.functions_of(j, knots) @ weights[basis.feature == j]
        constant = constant + values[0]
        functions.append(PiecewiseLinear(knots, values - values[0], not inputs.is_numeric[j]))
    return functions, constant


def _errors(fit: Fit, j: int, knots: Floats) -> Floats:
    """Return the standard errors (k, m) of the curve of input j at knots (k,)."""
    basis = fit.basis.curves
    own = np.flatnonzero(basis.feature == j)
    F = basis.functions_of(j, knots)
    variances = [np.einsum("kp,pq,kq->k", F, V[np.ix_(own, own)], F) for V in fit.covariance]
    return np.asarray(np.sqrt(np.stack(variances, axis=1).clip(0.0)))


def _planes(fit: Fit, inputs: Inputs, scale: Floats) -> list[Plane]:
    basis = fit.basis.base if isinstance(fit.basis, UnitBasis) else fit.basis
    if not isinstance(basis, PlaneBasis):
        return []
    at, result = len(basis.curves.penalty), []
    for pair, margin, offset, size in zip(basis.pairs, basis.margins, basis.offsets, basis.scales, strict=True):
        weights = fit.weights[at : at + len(pair.first)] * (scale / size)
        at += len(pair.first)
        margins, shift = _functions(basis.curves, -margin @ weights, inputs)
        names = [tuple(inputs.names[j] for j in variable.features) for variable in pair.variables]
        by_input = {j: margins[j] for j in pair.knots}
        result.append(Plane((names[0], names[1]), pair, weights, by_input, shift - offset @ weights))
    return result


def _purify_units(fit: Fit, rows: Rows) -> tuple[Fit, Floats]:
    """Return a fit whose curves have what they can say of its units, and the weights (p, m) of curves they got."""
    basis, curves = fit.basis, fit.basis.curves
    taken = np.zeros((len(curves.penalty), fit.weights.shape[1]))
    if not isinstance(basis, UnitBasis):
        return fit, taken
    n_units = len(basis.biases)
    root = np.sqrt(rows.weight / rows.weight.sum())[:, None]
    F = basis(rows.X) * root
    own = np.flatnonzero(np.isin(curves.feature, np.flatnonzero(basis.weights.any(axis=0))))
    A = np.hstack([root, F[:, own]])
    gram = A.T @ A
    gram[np.diag_indices_from(gram)] += 1e-6 * np.trace(gram) / len(gram)
    solution = np.linalg.solve(gram, A.T @ (F[:, -n_units:] @ fit.weights[-n_units:]))
    taken[own] = solution[1:]
    weights = fit.weights.copy()
    weights[: len(taken)] += taken
    return replace(fit, weights=weights), taken


def _units(fit: Fit, taken: Floats, inputs: Inputs, scale: Floats) -> Units | None:
    """Return the units without the weights (p, m) of curves that are taken out."""
    basis = fit.basis
    if not isinstance(basis, UnitBasis):
        return None
    outputs = fit.weights[-len(basis.biases) :] / basis.deviation[:, None] * scale
    functions, shift = _functions(basis.curves, -taken * scale, inputs)
    margins = {j: functions[j] for j in np.unique(basis.curves.feature[taken.any(axis=1)]).tolist()}
    reasons = tuple(
        replace(reason, errors=tuple((np.array(reason.errors) * scale).tolist()) if reason.errors else ())
        for reason in basis.reasons
    )
    return Units(basis.knots, basis.weights, basis.biases, outputs, shift - basis.mean @ outputs, margins, reasons)
