"""The exact first-order gain of new units, also where the bend has no derivative at 0."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from creases.growth.integrations import _ranks as ranks
from creases.growth.methods._first_order.observation import Observation
from creases.growth.methods._first_order.route import Route
from creases.growth.methods._first_order.statistics import batch_slices, input_slices
from creases.growth.methods._first_order.units import NewUnits, scale_units, select_units


@dataclass(frozen=True, eq=False)
class SignedUnits:
    """Units with the better of their two signs, and their gains."""

    units: NewUnits
    gains: Tensor  #: (k,) fall of the mean loss to first order, for weights as they are
    errors: Tensor  #: (k,) standard errors of the gains over the samples
    flipped: int  #: how many changed sign


def choose_signs(route: Route, observations: Sequence[Observation], units: NewUnits) -> SignedUnits:
    """Choose the sign of each unit by its exact slope, and drop units that gain nothing with either sign.

    The SVD determines units up to the sign of (alpha, omega). The slopes are ``(1/n) sum_i <v_goal, omega D(z)>``
    with ``D(z) = sigma'(0+) z`` where z > 0 and ``sigma'(0-) z`` elsewhere, equal for both only if sigma is smooth.
    """
    first, squares, n = _gain_moments(route, observations, units)
    better = first.argmax(0)
    gains = first.gather(0, better[None])[0]
    variance = (squares.gather(0, better[None])[0] - gains.square()).clamp_min(0) / max(n - 1, 1)
    keep = gains > 0
    sign = 1.0 - 2.0 * better[keep]
    selected = select_units(units, keep)
    return SignedUnits(scale_units(selected, sign, sign), gains[keep], variance[keep].sqrt(), int((sign < 0).sum()))


def first_order_fit(route: Route, projected: Sequence[Observation], units: NewUnits) -> tuple[float, float]:
    """Return ``(1/n) <V_proj, V>`` and ``(1/n) |V|^2`` for the first-order activity change V of units.

    ``projected`` are observations with goals V_proj (:func:`subtract_best_moves`).
    """
    sums = torch.zeros(3, dtype=torch.float64)  # along, square, n
    for batch in projected:
        sums[2] += batch.count
        for part in batch_slices(route, batch):
            z = pre_activations(route, batch.layer_input[part], units.alpha)
            dtype, arrived = z.dtype, route.propagate(z, route.one_sided_slope)
            for consumer in route.consumers:
                path = consumer.link.path
                goals = consumer.goals(batch.goals[path][part], dtype)
                change = consumer.response(arrived, units.omega[path].to(dtype)).reshape(goals.shape)
                sums[0] += (goals * change).sum(dtype=torch.float64).cpu()
                sums[1] += change.square().sum(dtype=torch.float64).cpu()
    ranks.sum_over_ranks([sums])
    return float(sums[0] / sums[2]), float(sums[1] / sums[2])


def pre_activations(route: Route, layer_input: Tensor, alpha: Tensor) -> Tensor:
    """Return pre-activations (n, k, *positions) of units with incoming weights alpha (d, k), in float64."""
    if isinstance(route.producer, nn.Linear) and layer_input.ndim == 2:  # one vector for each sample
        z = layer_input.double() @ alpha[: layer_input.shape[1]]
        return (z + alpha[-1] if route.has_bias else z)[:, :, None]
    parts = list(input_slices(route, layer_input))
    if len(parts) > 1:
        return torch.cat([pre_activations(route, layer_input[part], alpha) for part in parts])
    inputs = route.inputs(layer_input)
    z = torch.einsum("nd...,dk->nk...", inputs, alpha[: inputs.shape[1]])
    return z + alpha[-1].reshape(-1, *[1] * (z.ndim - 2)) if route.has_bias else z


def _gain_moments(route: Route, observations: Sequence[Observation], units: NewUnits) -> tuple[Tensor, Tensor, int]:
    """Return mean and mean square of each unit's gain, with either sign, (2, k) each; and the number of samples."""
    sums = units.alpha.new_zeros(2, 2, units.alpha.shape[1])  # moment, sign, unit
    n = torch.tensor(float(sum(batch.count for batch in observations)), dtype=torch.float64)
    for batch in observations:
        for part in batch_slices(route, batch):
            z = pre_activations(route, batch.layer_input[part], units.alpha)
            goals = [consumer.goals(batch.goals[consumer.link.path][part], z.dtype) for consumer in route.consumers]
            for i, sign in enumerate((1.0,) if route.is_smooth else (1.0, -1.0)):
                arrived = route.propagate(sign * z, route.one_sided_slope)
                each = torch.zeros_like(arrived.flatten(2)[..., 0], dtype=torch.float64)
                for consumer, goal in zip(route.consumers, goals, strict=True):
                    each += consumer.gains(arrived, goal, units.omega[consumer.link.path].to(z.dtype))
                sums[:, i] += torch.stack([sign * each.sum(0), each.square().sum(0)])
    ranks.sum_over_ranks([sums, n])
    if route.is_smooth:
        sums[:, 1] = sums[:, 0]
    return sums[0] / n, sums[1] / n, int(n)
