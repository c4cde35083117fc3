"""New units of a place: their weights, their exact first-order gains, and their entries in batch norms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from creases._text import OneLine
from creases.growth._integrations import _ranks as ranks
from creases.growth._proposal import Proposal, unit_rows
from creases.growth.methods._first_order.observation import Batches, Observation, frozen_copy, iterate_batches
from creases.growth.methods._first_order.route import Route, UnitPath, refuse_place
from creases.growth.methods._first_order.statistics import batch_slices, input_slices
from creases.network import Place, widen
from creases.network.surgery import Link, without_side_effects


@dataclass(frozen=True, eq=False, repr=False)
class NewUnits(OneLine):
    """New units, strongest first, before their size and sign are chosen."""

    alpha: Tensor  #: (d, k) incoming weights, the bias last; alpha' S alpha = diag(values)
    omega: dict[str, Tensor]  #: by consumer: (out, k, *columns of one unit); orthogonal, of squared norms values
    values: Tensor  #: (k,) singular values lambda
    rank: int  #: number of directions in which the place's inputs vary


def scale_units(units: NewUnits, fan_in: Tensor, fan_out: Tensor) -> NewUnits:
    """Return units with their weights multiplied by factors (k,)."""
    omega = {path: columns * fan_out.reshape(1, -1, *[1] * (columns.ndim - 2)) for path, columns in units.omega.items()}
    return replace(units, alpha=units.alpha * fan_in, omega=omega)


def select_units(units: NewUnits, keep: Tensor) -> NewUnits:
    """Return some of the units, by a mask (k,) or their indices."""
    omega = {path: columns[:, keep] for path, columns in units.omega.items()}
    return replace(units, alpha=units.alpha[:, keep], omega=omega, values=units.values[keep])


def synchronize_units(units: NewUnits) -> NewUnits:
    """Return the first rank's units on every rank, as processors may round differently."""
    if ranks.world_size() == 1:
        return units
    sizes = torch.tensor([len(units.values), units.rank])
    ranks.broadcast([sizes])
    k, rank = map(int, sizes)
    if k != len(units.values):
        omega = {path: part.new_zeros(len(part), k, *part.shape[2:]) for path, part in units.omega.items()}
        units = NewUnits(units.alpha.new_zeros(len(units.alpha), k), omega, units.values.new_zeros(k), rank)
    ranks.broadcast([units.alpha, units.values, *units.omega.values()])
    return replace(units, rank=rank)


@dataclass(frozen=True, eq=False)
class SignedUnits:
    """Units with the better of their two signs, and their gains."""

    units: NewUnits
    gains: Tensor  #: (k,) fall of the mean loss to first order, for weights as they are
    errors: Tensor  #: (k,) standard errors of the gains over the samples
    flipped: int  #: how many changed sign


def choose_signs(
    route: Route, observations: Sequence[Observation], units: NewUnits, *, drop: bool = True
) -> SignedUnits:
    """Choose the sign of each unit by its exact slope, and drop units that gain nothing with either sign.

    The SVD determines units up to the sign of (alpha, omega). The slopes are ``(1/n) sum_i <v_goal, omega D(z)>``
    with ``D(z) = sigma'(0+) z`` where z > 0 and ``sigma'(0-) z`` elsewhere, equal for both only if sigma is smooth.
    With ``drop`` False all units stay.
    """
    first, squares, n = _gain_moments(route, observations, units)
    better = first.argmax(0)
    gains = first.gather(0, better[None])[0]
    variance = (squares.gather(0, better[None])[0] - gains.square()).clamp_min(0) / max(n - 1, 1)
    keep = gains > 0 if drop else torch.ones_like(gains, dtype=torch.bool)
    sign = 1.0 - 2.0 * better[keep]
    selected = select_units(units, keep)
    return SignedUnits(scale_units(selected, sign, sign), gains[keep], variance[keep].sqrt(), int((sign < 0).sum()))


def first_order_gains(route: Route, observations: Sequence[Observation], units: NewUnits) -> Tensor:
    """Return how far the mean loss falls to first order by each unit (k,), with its sign as it is."""
    return _gain_moments(route, observations, units)[0][0]


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


_SAMPLES = 512  # for the mean and variance of new units, at most (on each rank)


def norm_links(model: nn.Module, place: Place) -> list[Link]:
    """Return the batch norms that the units of a place pass."""
    return [link for link in place.carriers if isinstance(model.get_submodule(link.path), _BatchNorm)]


def row_length(model: nn.Module, place: Place) -> float:
    """Return the mean length of the existing units' incoming weights; 1 where they are zero."""
    rows = unit_rows(model.get_submodule(place.name)).double().flatten(1)
    return float(rows.norm(dim=1).mean()) or 1.0


def typical_entries(model: nn.Module, place: Place, count: int) -> dict[str, Tensor]:
    """Return entries of batch norms for new units that are the means of the existing units' entries."""
    entries = {}
    for link in norm_links(model, place):
        norm = model.get_submodule(link.path)
        columns = link.columns(place.width).flatten()
        for name in ("weight", "bias", "running_mean", "running_var"):
            present = getattr(norm, name)
            if isinstance(present, Tensor):
                mean = present.detach().double()[columns.to(present.device)].mean()
                entries[f"{link.path}.{name}"] = mean.expand(count * link.per_unit).clone()
    return entries


def with_statistics(model: nn.Module, proposal: Proposal, batches: Batches) -> Proposal:
    """Return a proposal whose batch norms have the running statistics of the new units on some samples."""
    entries = dict(proposal.carriers)
    for path, (mean, variance) in _measure(model, proposal, batches).items():
        if f"{path}.running_mean" in entries:
            entries |= {f"{path}.running_mean": mean, f"{path}.running_var": variance}
    return replace(proposal, carriers=entries)


def pass_norm(twin: nn.Module, route: UnitPath, proposal: Proposal, batches: Batches, *, resize: bool) -> Proposal:
    """Return a proposal whose units pass the place's batch norm as their weights w and biases b say, if there is one.

    Before the bend they pass as ``w x + b``, with incoming weights as long as the present ones. With ``resize``, which
    is exact where the bend is positively homogeneous or outgoing weights are zero, the size of each unit is moved to
    its outgoing weights, so that the norm's weight is the mean size of the present ones.
    """
    if not proposal.place.norm or not proposal.count:
        return proposal
    (link,) = norm_links(twin, proposal.place)
    norm = twin.get_submodule(link.path)
    assert isinstance(norm, _BatchNorm)
    scale, offset = torch.ones_like(proposal.bias), torch.zeros_like(proposal.bias)
    if route.has_norm_first:
        length = proposal.fan_in.flatten(1).norm(dim=1).clamp_min(torch.finfo(torch.float64).tiny)
        scale, offset = row_length(twin, proposal.place) / length, proposal.bias
        proposal = replace(proposal, fan_in=_times(proposal.fan_in, scale, 0), bias=torch.zeros_like(offset))
    mean, variance = _measure(twin, proposal, batches)[link.path]
    weight, bias = (variance + norm.eps).sqrt() / scale, offset + mean / scale
    if route.has_norm_first and resize:
        factor = (float(norm.weight.detach().double().abs().mean()) or 1.0) / weight
        weight, bias = weight * factor, bias * factor
        outs = {path: _times(columns, 1 / factor, 1) for path, columns in proposal.fan_out.items()}
        proposal = replace(proposal, fan_out=outs)
    entries = {"weight": weight, "bias": bias}
    if norm.running_mean is not None:
        entries |= {"running_mean": mean, "running_var": variance}
    return replace(proposal, carriers={f"{link.path}.{name}": value for name, value in entries.items()})


def check_norm(route: UnitPath) -> None:
    """Refuse batch norms whose entries cannot say how large a new unit is."""
    if not route.place.norm:
        return
    links = norm_links(route.model, route.place)
    norms = [route.model.get_submodule(link.path) for link in links]
    if len(norms) != 1 or links[0].per_unit != 1 or norms[0].weight is None:
        expected = "have one batch norm with weights, before any flattening, to be grown by gradients"
        refuse_place(expected, repr(route.place.name))


def _measure(model: nn.Module, proposal: Proposal, batches: Batches) -> dict[str, tuple[Tensor, Tensor]]:
    """Return by batch norm the mean and variance (k,) of the new units that enter it, over samples and positions."""
    place, twin = proposal.place, frozen_copy(model)
    widen(twin, place, proposal.fan_in, proposal.bias)
    sums: dict[str, Tensor] = {}
    handles = []
    for link in norm_links(twin, place):
        new = link.resize(proposal.count).columns(place.width + proposal.count)[place.width :].flatten()
        sums[link.path] = torch.zeros(3, len(new), dtype=torch.float64)
        handles.append(twin.get_submodule(link.path).register_forward_hook(_moments(sums[link.path], new)))
    seen = 0
    with ranks.fail_together(), without_side_effects():
        for x, _ in iterate_batches(batches):
            if seen >= _SAMPLES:
                break
            twin(x[: _SAMPLES - seen])
            seen += len(x)
    ranks.sum_over_ranks(list(sums.values()))
    moments = {path: (part[1:] / part[0]).to(proposal.fan_in.device) for path, part in sums.items()}
    return {path: (mean, (square - mean.square()).clamp_min(0)) for path, (mean, square) in moments.items()}


def _moments(sums: Tensor, units: Tensor) -> Callable[[nn.Module, Any, Any], None]:
    """Return a hook that adds count, sum and sum of squares of some units in a layer's input to sums (3, k)."""

    def hook(module: nn.Module, args: Any, out: Any) -> None:
        x = args[0].detach().flatten(2) if args[0].ndim > 2 else args[0].detach()[:, :, None]
        rows = x[:, units.to(x.device)].double().movedim(1, -1).reshape(-1, len(units))
        sums[0] += len(rows)
        sums[1] += rows.sum(0).cpu()
        sums[2] += rows.square().sum(0).cpu()

    return hook


def _times(values: Tensor, factors: Tensor, axis: int) -> Tensor:
    """Return values multiplied by a factor for each index of an axis."""
    shape = [1] * values.ndim
    shape[axis] = len(factors)
    return values * factors.reshape(shape)
