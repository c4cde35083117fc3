"""TINY's optimal units from float32 products, where float64 ones confirm them, in half the time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from creases.growth.integrations import _ranks as ranks
from creases.growth.methods._first_order.consumer import as_rows
from creases.growth.methods._first_order.gains import pre_activations
from creases.growth.methods._first_order.observation import Observation
from creases.growth.methods._first_order.products import add_gram, product_dtype
from creases.growth.methods._first_order.route import Route
from creases.growth.methods._first_order.statistics import Statistics, batch_slices, sum_features, sum_pairs
from creases.growth.methods._first_order.units import NewUnits, synchronize_units
from creases.growth.methods._tiny.bottleneck import join_columns, solve_units, split_columns
from creases.growth.methods._tiny.ridge import degrees_of_freedom, ridge_squares

_MAX_ERROR = 2e-6  # of float32 sums, as measured by the units computed from them; above it float64 is taken
_SMALLEST, _LARGEST = 1e-24, 1e24  # mean squares beyond which products leave the range of float32


def optimal_units_for(
    route: Route,
    observations: Sequence[Observation],
    projected: Sequence[Observation],
    sums: Statistics,
    *,
    ridge: float = 0.0,
    **options: Any,
) -> NewUnits:
    """Return the optimal units (:func:`solve_units`) for the goals of ``projected``: V_proj, or V_goal.

    A ridge is added to S (:func:`ridge_squares`); it counts as a part of S below.

    For float32 on a CPU, products b_{l-1} b_{l-1}' and v b_{l-1}' are taken in float32 first, and only sums are in
    float64. The resulting units are then evaluated in float64 at all samples: the error of their second moments shows
    how accurate the sums were in the directions that matter (rounding errors of weak directions appear as units that
    are too strong). If the error is small, the best units within their span are exact to second order in the error
    (Rayleigh-Ritz); otherwise everything is computed again in float64, ``sums.features`` too.
    """
    dtype = product_dtype(projected[0].layer_input)
    if dtype == torch.float32 and not _in_range(route, observations, sums):
        recompute_features(route, observations, sums)
        dtype = torch.float64
    units = _solve(route, projected, sums, dtype, ridge, options)
    if dtype == torch.float64 or not len(units.values):
        return units
    refined = _refine(route, projected, units, sums, ridge)
    if refined is not None:
        return refined
    recompute_features(route, observations, sums)
    return _solve(route, projected, sums, torch.float64, ridge, options)


def recompute_features(route: Route, observations: Sequence[Observation], sums: Statistics) -> None:
    """Compute n S again with products in float64, unless it was."""
    if product_dtype(observations[0].layer_input) == torch.float32:
        sums.features.copy_(sum_features(route, observations))


def _solve(
    route: Route,
    projected: Sequence[Observation],
    sums: Statistics,
    dtype: torch.dtype,
    ridge: float,
    options: dict[str, Any],
) -> NewUnits:
    pairs = {path: part / sums.count for path, part in sum_pairs(route, projected, dtype).items()}
    s = sums.features / sums.count
    added = ridge_squares(s, ridge, constant=route.has_bias)
    units = solve_units(s + torch.diag(added), pairs, **options)
    freedom = degrees_of_freedom(s, added) if ridge else None
    return synchronize_units(units if freedom is None else replace(units, rank=round(freedom)))


def _refine(
    route: Route, projected: Sequence[Observation], units: NewUnits, sums: Statistics, ridge: float
) -> NewUnits | None:
    """Return the best units within the span of the given ones; None where the moments of these are inaccurate."""
    n, added = sums.count, ridge_squares(sums.features / sums.count, ridge, constant=route.has_bias)
    root = units.values.sqrt()[:, None]
    a = units.alpha / root.T  # a' S a should be 1, and a' N the rows of lambda v'
    square = a.new_zeros(len(a.T), len(a.T))
    pairs = {path: torch.zeros_like(columns) for path, columns in units.omega.items()}
    inner: list[Tensor] = []
    for batch in projected:
        for part in batch_slices(route, batch):
            z = pre_activations(route, batch.layer_input[part], a)
            add_gram(square, [as_rows(z)], constant=False)
            for consumer in route.consumers:
                path = consumer.link.path
                pairs[path] += consumer.correlate(route.propagate_linear(z), consumer.goals(batch.goals[path][part]))
            inner.append(z)
    ranks.sum_over_ranks([square, *pairs.values()])
    square, moments = square / n + a.T @ (added[:, None] * a), join_columns(pairs) / n
    differences = (
        square - torch.eye(len(square)).to(square),
        (join_columns(units.omega) * root - moments) / units.values[0],
    )
    error = float(torch.stack([difference.abs().max() for difference in differences]).max())
    lower, failed = torch.linalg.cholesky_ex(square)
    if int(failed) or not error <= _MAX_ERROR:
        return None
    u, lambdas, vh = torch.linalg.svd(torch.linalg.solve_triangular(lower, moments, upper=False), full_matrices=False)
    size = lambdas.sqrt()
    turn = torch.linalg.solve_triangular(lower.T, u, upper=True) * size
    omega = split_columns(vh * size[:, None], pairs)
    return replace(
        units, alpha=a @ turn, omega=omega, values=lambdas, pre_activations=_transform(inner, turn, projected)
    )


def _transform(inner: list[Tensor], turn: Tensor, projected: Sequence[Observation]) -> tuple[Tensor, ...] | None:
    """Return pre-activations z times ``turn``, in float32 by batch; None where positions would need much memory."""
    if any(z.numel() > z.shape[0] * z.shape[1] for z in inner) or len(inner) != len(projected):
        return None
    return tuple((z.flatten(1) @ turn).float().reshape(len(z), len(turn.T), *z.shape[2:]) for z in inner)


def _in_range(route: Route, observations: Sequence[Observation], sums: Statistics) -> bool:
    """Return whether float32 products are far from overflow, and from underflow except for inputs always 0."""
    squares = sums.features.diagonal() / sums.count
    weak = squares < _SMALLEST
    if not bool((squares < _LARGEST).all()) or not _SMALLEST < sums.mean_goal < _LARGEST:
        return False
    lost = torch.zeros((), dtype=torch.float64)
    if bool(weak.any()):
        weak = weak[:-1] if route.has_bias else weak
        parts = (
            route.inputs(each.layer_input[at], torch.float32)
            for each in observations
            for at in batch_slices(route, each)
        )
        lost += any(bool(part[:, weak].any()) for part in parts)
    ranks.sum_over_ranks([lost])
    return not bool(lost)
