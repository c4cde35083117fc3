"""TINY's units from a sample: from float32 products where float64 ones confirm them, which takes half the time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from creases.growth import _distributed as ranks
from creases.growth.methods._first_order.consumer import as_rows
from creases.growth.methods._first_order.gains import pre_activations
from creases.growth.methods._first_order.observation import Observation
from creases.growth.methods._first_order.products import add_gram, product_dtype
from creases.growth.methods._first_order.route import Route
from creases.growth.methods._first_order.statistics import Statistics, batch_slices, sum_features, sum_pairs
from creases.growth.methods._first_order.units import NewUnits, synchronize_units
from creases.growth.methods._tiny.bottleneck import join_columns, solve_units, split_columns

_OFF = 2e-6  # error of float32 sums, as observations by the units found from them, from which on float64 is taken
_SMALLEST, _LARGEST = 1e-24, 1e24  # mean squares beyond which products leave the range of float32


def optimal_units_for(
    route: Route,
    observations: Sequence[Observation],
    projected: Sequence[Observation],
    sums: Statistics,
    **options: Any,
) -> NewUnits:
    """The optimal units (:func:`solved`) that go with the goals of ``projected``: V_proj, or V_goal.

    For float32 on a CPU, products b_{l-1} b_{l-1}' and v b_{l-1}' are taken in float32 at first, and only sums are in
    float64. Of the units found, values at all samples are then taken in float64: how far their second moments are from
    what they should be tells how good the sums were in the directions that matter (rounding errors of weak directions
    show as units that are too good to be true). Where that is good enough, the best units within their span are exact
    to second order in the error (Rayleigh-Ritz); otherwise all is done again in float64, ``sums.features`` too.
    """
    dtype = product_dtype(projected[0].layer_input)
    if dtype == torch.float32 and not _in_range(route, observations, sums):
        recompute_features(route, observations, sums)
        dtype = torch.float64
    units = _solved(route, projected, sums, dtype, options)
    if dtype == torch.float64 or not len(units.values):
        return units
    refined = _refined(route, projected, units, sums.count)
    if refined is not None:
        return refined
    recompute_features(route, observations, sums)
    return _solved(route, projected, sums, torch.float64, options)


def recompute_features(route: Route, observations: Sequence[Observation], sums: Statistics) -> None:
    """Take n S anew, with products in float64, where they were not."""
    if product_dtype(observations[0].layer_input) == torch.float32:
        sums.features.copy_(sum_features(route, observations))


def _solved(
    route: Route, projected: Sequence[Observation], sums: Statistics, dtype: torch.dtype, options: dict[str, Any]
) -> NewUnits:
    pairs = {path: part / sums.count for path, part in sum_pairs(route, projected, dtype).items()}
    return synchronize_units(solve_units(sums.features / sums.count, pairs, **options))


def _refined(route: Route, projected: Sequence[Observation], units: NewUnits, n: Tensor) -> NewUnits | None:
    """The best units within the span of those found; None where the moments of those found are off."""
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
    square, moments = square / n, join_columns(pairs) / n
    wrong = square - torch.eye(len(square)).to(square), (join_columns(units.omega) * root - moments) / units.values[0]
    off = float(torch.stack([error.abs().max() for error in wrong]).max())
    lower, failed = torch.linalg.cholesky_ex(square)
    if int(failed) or not off <= _OFF:
        return None
    u, lambdas, vh = torch.linalg.svd(torch.linalg.solve_triangular(lower, moments, upper=False), full_matrices=False)
    size = lambdas.sqrt()
    turn = torch.linalg.solve_triangular(lower.T, u, upper=True) * size
    omega = split_columns(vh * size[:, None], pairs)
    return replace(units, alpha=a @ turn, omega=omega, values=lambdas, pre_activations=_turned(inner, turn, projected))


def _turned(inner: list[Tensor], turn: Tensor, projected: Sequence[Observation]) -> tuple[Tensor, ...] | None:
    """Pre-activations z turned, in float32, by batch; none where they have positions, and would take much memory."""
    if any(z.numel() > z.shape[0] * z.shape[1] for z in inner) or len(inner) != len(projected):
        return None
    return tuple((z.flatten(1) @ turn).float().reshape(len(z), len(turn.T), *z.shape[2:]) for z in inner)


def _in_range(route: Route, observations: Sequence[Observation], sums: Statistics) -> bool:
    """Whether float32 products are far from overflow, and from underflow but for inputs that are always 0."""
    squares = sums.features.diagonal() / sums.count
    weak = squares < _SMALLEST
    if not bool((squares < _LARGEST).all()) or not _SMALLEST < sums.mean_goal < _LARGEST:
        return False
    lost = torch.zeros((), dtype=torch.float64)
    if bool(weak.any()):
        weak = weak[:-1] if route.has_bias else weak
        parts = (
            route.inputs(one.layer_input[at], torch.float32) for one in observations for at in batch_slices(route, one)
        )
        lost += any(bool(part[:, weak].any()) for part in parts)
    ranks.sum_over_ranks([lost])
    return not bool(lost)
