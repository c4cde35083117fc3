"""Splitting units: Net2Wider's copies, and splits along the direction of worst curvature."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from creases.errors import InputError
from creases.growth import _distributed as ranks
from creases.growth._loss_sum import Loss
from creases.growth._proposal import Proposal
from creases.growth.methods._first_order.consumer import as_rows
from creases.growth.methods._first_order.observation import Batches, Observation, iterate_batches, observe_batches
from creases.growth.methods._first_order.route import Route
from creases.network.surgery import Place, find_place, input_tensors, output_tensors, unwrap_module


def split(
    model: nn.Module,
    place: Place | str,
    batches: Batches,
    loss: Loss,
    *,
    count: int = 1,
    noise: float = 0.0,
    seed: int = 0,
) -> Proposal:
    """Propose copies of present units, drawn at random, that share their fan-out in halves (Net2Wider).

    Without noise the function stays as it is, and so does every copy beside its original: both get the same gradient,
    and only noise tells them apart. ``noise`` is the size of a normal change of the copy's weights, relative to the
    root mean square of the original's. A unit is copied at most once. The loss is not used.
    """
    model, found = _found(model, place, batches, count)
    del loss
    generator = torch.Generator().manual_seed(seed)
    units = torch.randperm(found.width, generator=generator)[: min(count, found.width)].sort().values
    fan_in, bias = _rows(model, found, units)
    size = noise * fan_in.flatten(1).square().mean(1).sqrt().reshape(-1, *[1] * (fan_in.ndim - 1))
    fan_in = fan_in + size * torch.randn(fan_in.shape, generator=generator, dtype=torch.float64).to(fan_in)
    fan_out, change = _halves(model, found, units)
    explanation = {
        "method": "split",
        "place": found.name,
        "reason": "",
        "gain": 0.0,
        "units": len(units),
        "split": units.tolist(),
        "noise": noise,
    }
    return Proposal("split", found, fan_in, bias, fan_out, 0.0, explanation, change)


def steepest_split(
    model: nn.Module, place: Place | str, batches: Batches, loss: Loss, *, count: int = 1, step: float = 0.01
) -> Proposal:
    """Propose to split the units at which that lowers the loss most, into ``alpha + step v`` and ``alpha - step v``.

    The splitting matrix of a unit is ``E[dL/db sigma''(z) x x']``, with x what enters (and 1, for the bias); v is its
    eigenvector of the smallest eigenvalue m, and the loss falls by ``-m step^2 / 2``, to second order in the step
    (there is no first order: the halves' gradients cancel). Units whose m is not negative are left alone. sigma'' is
    zero for relu and its kin wherever it is defined, so they are refused.
    """
    if not 0 < step < float("inf"):
        raise InputError(f"step: expected a number above 0, got {step!r}")
    model, found = _found(model, place, batches, count)
    with ranks.fail_together():
        observer, source = observe_batches(model, found, batches, loss)
        first = next(source)
        route = Route(observer.twin, found, first)
        _smooth(route)
    total, sums = torch.zeros((), dtype=torch.float64), torch.zeros(2, dtype=torch.float64)
    with ranks.fail_together():
        for observation in (first, *source):
            total = total.to(first.layer_output.device) + _matrices(route, observation)
            sums += torch.tensor([observation.count, observation.loss], dtype=torch.float64)
    ranks.sum_over_ranks([total, sums])
    n, value = int(sums[0]), float(sums[1])
    values, vectors = torch.linalg.eigh(total / n)
    ranks.broadcast([values, vectors])
    lowest = values[:, 0]
    noise = 1e-12 * float(values.abs().max())
    units = lowest.argsort()[: min(count, found.width)]
    units = units[lowest[units] < -noise].sort().values
    gain = float(-lowest[units].sum()) * step**2 / 2
    explanation: dict[str, Any] = {
        "method": "steepest_split",
        "place": found.name,
        "reason": "" if len(units) else "no unit's splitting matrix has a negative eigenvalue",
        "samples": n,
        "loss": value / n,
        "gain": gain,
        "order": 2,
        "units": len(units),
        "split": units.tolist(),
        "eigenvalues": lowest[units].tolist(),
        "step": step,
    }
    turn_in, turn_bias = route.layer_weights(step * vectors[units, :, 0].T)
    fan_in, bias = _rows(model, found, units)
    fan_out, change = _halves(model, found, units)
    producer = model.get_submodule(found.name)
    for name, turn in (("weight", turn_in), ("bias", turn_bias)):
        old = getattr(producer, name)
        if old is not None:
            change[f"{found.name}.{name}"] = torch.zeros_like(old, dtype=torch.float64).index_copy_(0, units, turn)
    return Proposal("steepest_split", found, fan_in - turn_in, bias - turn_bias, fan_out, gain, explanation, change)


def _found(model: nn.Module, place: Place | str, batches: Batches, count: int) -> tuple[nn.Module, Place]:
    if not isinstance(count, int) or count < 1:
        raise InputError(f"count: expected at least 1 unit, got {count!r}")
    model = unwrap_module(model)
    data = None
    if isinstance(place, str):
        first = next(iterate_batches(batches), None)
        data = None if first is None else first[0]
    found = find_place(model, place, data=data)
    if found.carriers:
        names = ", ".join(repr(link.path) for link in found.carriers)
        raise InputError(
            f"place: {found.name!r} cannot be split: {names} holds numbers for each unit that a copy would need too; "
            "use random units or gradmax"
        )
    return model, found


def _rows(model: nn.Module, place: Place, units: Tensor) -> tuple[Tensor, Tensor]:
    """Weights (k, *one unit's weights) and biases (k,) of some units."""
    producer = model.get_submodule(place.name)
    weight, bias = producer.weight, producer.bias
    assert isinstance(weight, Tensor)
    axis = output_tensors(producer).weight_axis
    units = units.to(weight.device)
    rows_ = weight.detach().movedim(axis, 0)[units].double()
    return rows_, bias.detach()[units].double() if isinstance(bias, Tensor) else rows_.new_zeros(len(units))


def _halves(model: nn.Module, place: Place, units: Tensor) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Half of some units' columns for their copies, and the change that takes it from the originals."""
    outs, change = {}, {}
    for link in place.consumers:
        layer = model.get_submodule(link.path)
        weight = layer.weight
        assert isinstance(weight, Tensor)
        axis = input_tensors(layer).weight_axis
        moved = weight.detach().double().movedim(axis, 1)
        columns = link.columns(place.width)[units.cpu()].flatten().to(weight.device)
        outs[link.path] = moved[:, columns] / 2
        less = torch.zeros_like(moved)
        less[:, columns] = -moved[:, columns] / 2
        change[f"{link.path}.weight"] = less.movedim(1, axis)
    return outs, change


def _smooth(route: Route) -> None:
    """Refuse where the splitting matrix is zero, or is not that of one vector in and linear layers out."""
    if not isinstance(route.producer, nn.Linear) or any(e.kind != "linear" for e in route.consumers) or route.is_pooled:
        raise InputError(
            f"place: {route.place.name!r} cannot be split by curvature: that is for linear layers on both sides of a "
            "bend; use split"
        )
    z = torch.tensor([-1.5, -0.3, 0.3, 1.5], dtype=torch.float64)
    if not bool(_curvature(route, z).any()):
        raise InputError(
            f"place: {route.place.name!r} cannot be split by curvature: its bend is piecewise linear, so that the "
            "splitting matrix is zero; use split"
        )


def _curvature(route: Route, z: Tensor) -> Tensor:
    """sigma''(z)."""
    with torch.enable_grad():
        at = z.detach().clone().requires_grad_()
        slope = torch.autograd.grad(route.bend(at).sum(), at, create_graph=True)[0]
        if not slope.requires_grad:
            return torch.zeros_like(z)
        found = torch.autograd.grad(slope.sum(), at, allow_unused=True)[0]
    return torch.zeros_like(z) if found is None else found


def _matrices(route: Route, observation: Observation) -> Tensor:
    """Sum over samples of every unit's splitting matrix: (width, d, d)."""
    features = as_rows(route.features(observation.layer_input))
    z = observation.layer_output.double().reshape(len(features), -1)
    slope = torch.zeros_like(z)
    for consumer in route.consumers:
        weight = consumer.layer.weight
        assert isinstance(weight, Tensor)
        columns = weight.double()[:, consumer.link.columns(route.place.width)[:, 0].to(weight.device)]
        slope -= as_rows(consumer.goals(observation.goals[consumer.link.path])) @ columns
    curved = slope * _curvature(route, z)
    return torch.stack([(features * one[:, None]).T @ features for one in curved.T])
