"""The exact first-order gain of new units, sample by sample: also where the bend has no derivative at 0."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from creases.growth import _distributed as ranks
from creases.growth.methods._first_order.observation import Observation
from creases.growth.methods._first_order.products import product_dtype
from creases.growth.methods._first_order.route import Route
from creases.growth.methods._first_order.statistics import batch_slices, input_slices
from creases.growth.methods._first_order.units import NewUnits, scale_units, select_units


@dataclass(frozen=True, eq=False)
class SignedUnits:
    """Units with the better of their two signs, and what each gains."""

    units: NewUnits
    gains: Tensor  #: (k,) fall of the mean loss to first order, for weights as they are
    errors: Tensor  #: (k,) standard errors of the gains over the samples
    flipped: int  #: how many changed sign


def choose_signs(reach: Route, seen: Sequence[Observation], units: NewUnits) -> SignedUnits:
    """Choose the sign of each unit by its exact slope; units that gain nothing with either sign are left out.

    The SVD leaves (alpha, omega) or (-alpha, -omega) open. Their slopes are ``(1/n) sum_i <v_goal, omega D(z)>`` with
    ``D(z) = sigma'(0+) z`` where z > 0 and ``sigma'(0-) z`` elsewhere, the same for both only if sigma is smooth.
    """
    first, squares, n = _gains(reach, seen, units)
    better = first.argmax(0)
    gains = first.gather(0, better[None])[0]
    variance = (squares.gather(0, better[None])[0] - gains.square()).clamp_min(0) / max(n - 1, 1)
    keep = gains > 0
    sign = 1.0 - 2.0 * better[keep]
    chosen = select_units(units, keep)
    return SignedUnits(scale_units(chosen, sign, sign), gains[keep], variance[keep].sqrt(), int((sign < 0).sum()))


def first_order_fit(reach: Route, aims: Sequence[Observation], units: NewUnits) -> tuple[float, float]:
    """``(1/n) <V_proj, V>`` and ``(1/n) |V|^2`` for the first-order activity change V of units as they are.

    ``aims`` are batches whose goals are V_proj (:func:`left`).
    """
    sums = torch.zeros(3, dtype=torch.float64)  # along, square, n
    for number, batch in enumerate(aims):
        sums[2] += batch.count
        for part in batch_slices(reach, batch):
            z = _inner(reach, batch, number, part, units)
            dtype, arrived = z.dtype, reach.bent(z, reach.one_sided)
            for entry in reach.entries:
                path = entry.link.path
                goals = entry.goals(batch.goals[path][part], dtype)
                change = entry.response(arrived, units.omega[path].to(dtype)).reshape(goals.shape)
                sums[0] += (goals * change).sum(dtype=torch.float64).cpu()
                sums[1] += change.square().sum(dtype=torch.float64).cpu()
    ranks.sum_over_ranks([sums])
    return float(sums[0] / sums[2]), float(sums[1] / sums[2])


def pre_activations(reach: Route, entering: Tensor, alpha: Tensor, dtype: torch.dtype = torch.float64) -> Tensor:
    """Pre-activations of units with fan-in alpha (d, k): (n, k, *positions)."""
    alpha = alpha.to(dtype)
    if isinstance(reach.producer, nn.Linear) and entering.ndim == 2:  # one vector for each sample
        z = entering.to(dtype) @ alpha[: entering.shape[1]]
        return (z + alpha[-1] if reach.constant else z)[:, :, None]
    parts = list(input_slices(reach, entering))
    if len(parts) > 1:
        return torch.cat([pre_activations(reach, entering[part], alpha, dtype) for part in parts])
    inputs = reach.inputs(entering, dtype)
    z = torch.einsum("nd...,dk->nk...", inputs, alpha[: inputs.shape[1]])
    return z + alpha[-1].reshape(-1, *[1] * (z.ndim - 2)) if reach.constant else z


def _inner(reach: Route, batch: Observation, number: int, part: slice, units: NewUnits) -> Tensor:
    """Pre-activations of units at a part of the batch of that number."""
    if units.inner is not None:
        return units.inner[number][part]
    return pre_activations(reach, batch.entering[part], units.alpha, product_dtype(batch.entering))


def _gains(reach: Route, seen: Sequence[Observation], units: NewUnits) -> tuple[Tensor, Tensor, int]:
    """Mean and mean square over samples of each unit's gain, with either sign, (2, k) each; and the samples."""
    sums = units.alpha.new_zeros(2, 2, units.alpha.shape[1])  # moment, sign, unit
    n = torch.tensor(float(sum(batch.count for batch in seen)), dtype=torch.float64)
    for number, batch in enumerate(seen):
        for part in batch_slices(reach, batch):
            z = _inner(reach, batch, number, part, units)
            goals = [entry.goals(batch.goals[entry.link.path][part], z.dtype) for entry in reach.entries]
            for i, sign in enumerate((1.0,) if reach.smooth else (1.0, -1.0)):
                arrived = reach.bent(sign * z, reach.one_sided)
                each = torch.zeros_like(arrived.flatten(2)[..., 0], dtype=torch.float64)
                for entry, goal in zip(reach.entries, goals, strict=True):
                    each += entry.gains(arrived, goal, units.omega[entry.link.path].to(z.dtype))
                sums[:, i] += torch.stack([sign * each.sum(0), each.square().sum(0)])
    ranks.sum_over_ranks([sums, n])
    if reach.smooth:
        sums[:, 1] = sums[:, 0]
    return sums[0] / n, sums[1] / n, int(n)
