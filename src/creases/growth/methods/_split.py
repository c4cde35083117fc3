"""Splitting units: copies as in Net2Wider, and splits along the direction of steepest descent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from creases._validation import check_count, check_number
from creases.errors import InputError
from creases.growth import _distributed as ranks
from creases.growth._loss_sum import Loss
from creases.growth._proposal import Proposal
from creases.growth.methods._evidence import Evidence, message_of
from creases.growth.methods._first_order.consumer import as_rows
from creases.growth.methods._first_order.observation import Batches, Observation, iterate_batches, observe_batches
from creases.growth.methods._first_order.route import Route, UnitPath
from creases.growth.methods._first_order.statistics import sample_size
from creases.network.surgery import Place, find_place, input_tensors, output_tensors, unwrap_module

_EXAMPLES = 100  # samples that show what a place looks like


@dataclass(frozen=True)
class Split:
    """Growth by copies of units; see :func:`split`."""

    count: int = 1
    noise: float = 0.05

    def check(self, model: nn.Module, place: Place) -> str:
        """Return "": the units of every place can be copied."""
        return ""

    def __call__(self, model: nn.Module, place: Place, evidence: Evidence) -> Proposal:
        """Return the proposal for a place."""
        batches, _ = evidence.draw(_EXAMPLES)
        options: dict[str, Any] = {"count": self.count, "noise": self.noise, "seed": evidence.seed}
        return split(model, place, batches, evidence.objective.loss, **options)


@dataclass(frozen=True)
class SteepestSplit:
    """Growth by splits along the direction of steepest descent; see :func:`steepest_split`."""

    count: int = 1
    step: float = 0.01
    samples: int | None = None  #: for the splitting matrices; None: :func:`sample_size`

    def check(self, model: nn.Module, place: Place) -> str:
        """Return why units of a place cannot be split by curvature; "" where they can."""
        curvature = message_of(lambda: _check_curvature(UnitPath(model, place)))
        return message_of(lambda: _check_carriers(place)) or curvature

    def __call__(self, model: nn.Module, place: Place, evidence: Evidence) -> Proposal:
        """Return the proposal for a place."""
        batches, _ = evidence.draw(self.samples or sample_size(model, place))
        return steepest_split(model, place, batches, evidence.objective.loss, count=self.count, step=self.step)


def split(
    model: nn.Module,
    place: Place | str,
    batches: Batches,
    loss: Loss,
    *,
    count: int = Split.count,
    noise: float = Split.noise,
    seed: int = 0,
) -> Proposal:
    """Propose copies of present units, drawn at random, that share their outgoing weights in halves (Net2Wider [1]_).

    Without noise the function does not change, but a copy and its original get the same gradient and never differ. A
    unit is copied at most once.

    Parameters
    ----------
    model, place
        A module and one of its places, or the place's name.
    batches, loss
        As in :func:`statistics`; the loss is not used.
    count
        Number of units to copy.
    noise
        Standard deviation of a normal change of the copy's weights, relative to the root mean square of the original's.
    seed
        Of the choice of units and of the noise.

    References
    ----------
    .. [1] Chen, Goodfellow, Shlens, "Net2Net: Accelerating Learning via Knowledge Transfer", ICLR 2016.
    """
    check_number(noise, "noise", least=0)
    model, target = _splittable_place(model, place, batches, count)
    del loss
    generator = torch.Generator().manual_seed(seed)
    units = torch.randperm(target.width, generator=generator)[: min(count, target.width)].sort().values
    fan_in, bias = _rows(model, target, units)
    size = noise * fan_in.flatten(1).square().mean(1).sqrt().reshape(-1, *[1] * (fan_in.ndim - 1))
    fan_in = fan_in + size * torch.randn(fan_in.shape, generator=generator, dtype=torch.float64).to(fan_in)
    fan_out, change = _halves(model, target, units)
    carriers = _carrier_entries(model, target, units)
    explanation = {
        "method": "split",
        "place": target.name,
        "reason": "",
        "gain": 0.0,
        "units": len(units),
        "split": units.tolist(),
        "noise": noise,
    }
    return Proposal("split", target, fan_in, bias, fan_out, 0.0, explanation, change, carriers)


def steepest_split(
    model: nn.Module,
    place: Place | str,
    batches: Batches,
    loss: Loss,
    *,
    count: int = SteepestSplit.count,
    step: float = SteepestSplit.step,
) -> Proposal:
    """Propose to split the units at which that lowers the loss most, into ``alpha + step v`` and ``alpha - step v``.

    The splitting matrix [1]_ of a unit is ``E[dL/db sigma''(z) x x']``, with x its input (and 1, for the bias); v is
    the eigenvector of the smallest eigenvalue m, and the loss falls by ``-m step^2 / 2``, to second order in the step
    (there is no first order: the halves' gradients cancel). Units whose m is not negative are left alone. Piecewise
    linear bends such as relu are refused: their sigma'' is zero wherever it is defined.

    Parameters
    ----------
    model, place, batches, loss
        As in :func:`split`.
    count
        Number of units to split, at most.
    step
        Distance of each half from the original, above 0.

    References
    ----------
    .. [1] Liu, Wu, Wang, "Splitting Steepest Descent for Growing Neural Architectures", NeurIPS 2019.
    """
    check_number(step, "step", above=0)
    model, target = _splittable_place(model, place, batches, count)
    _check_carriers(target)
    with ranks.fail_together():
        observer, source = observe_batches(model, target, batches, loss)
        first = next(source)
        route = Route(observer.twin, target, first)
        _check_curvature(route)
    total, sums = torch.zeros((), dtype=torch.float64), torch.zeros(2, dtype=torch.float64)
    with ranks.fail_together():
        for observation in (first, *source):
            total = total.to(first.layer_output.device) + _splitting_matrices(route, observation)
            sums += torch.tensor([observation.count, observation.loss], dtype=torch.float64)
    ranks.sum_over_ranks([total, sums])
    n, value = int(sums[0]), float(sums[1])
    values, vectors = torch.linalg.eigh(total / n)
    ranks.broadcast([values, vectors])
    lowest = values[:, 0]
    noise = 1e-12 * float(values.abs().max())
    units = lowest.argsort()[: min(count, target.width)]
    units = units[lowest[units] < -noise].sort().values
    gain = float(-lowest[units].sum()) * step**2 / 2
    explanation: dict[str, Any] = {
        "method": "steepest_split",
        "place": target.name,
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
    fan_in, bias = _rows(model, target, units)
    fan_out, change = _halves(model, target, units)
    producer = model.get_submodule(target.name)
    for name, turn in (("weight", turn_in), ("bias", turn_bias)):
        old = getattr(producer, name)
        if old is not None:
            change[f"{target.name}.{name}"] = torch.zeros_like(old, dtype=torch.float64).index_copy_(0, units, turn)
    return Proposal("steepest_split", target, fan_in - turn_in, bias - turn_bias, fan_out, gain, explanation, change)


def _splittable_place(model: nn.Module, place: Place | str, batches: Batches, count: int) -> tuple[nn.Module, Place]:
    check_count(count, "count")
    model = unwrap_module(model)
    data = None
    if isinstance(place, str):
        first = next(iterate_batches(batches), None)
        data = None if first is None else first[0]
    target = find_place(model, place, X=data)
    return model, target


def _check_carriers(place: Place) -> None:
    """Refuse places whose units have parameters of their own between their layer and the next ones."""
    if place.carriers:
        names = ", ".join(repr(link.path) for link in place.carriers)
        raise InputError(
            "place",
            "be one that can be split by curvature",
            f"{place.name!r}, where {names} holds parameters of each unit",
            "use split",
        )


def _rows(model: nn.Module, place: Place, units: Tensor) -> tuple[Tensor, Tensor]:
    """Return weights (k, *one unit's weights) and biases (k,) of some units."""
    producer = model.get_submodule(place.name)
    weight, bias = producer.weight, producer.bias
    assert isinstance(weight, Tensor)
    axis = output_tensors(producer).weight_axis
    units = units.to(weight.device)
    rows_ = weight.detach().movedim(axis, 0)[units].double()
    return rows_, bias.detach()[units].double() if isinstance(bias, Tensor) else rows_.new_zeros(len(units))


def _carrier_entries(model: nn.Module, place: Place, units: Tensor) -> dict[str, Tensor]:
    """Return the entries of some units in batch norms and PReLUs."""
    entries = {}
    for link in place.carriers:
        layer = model.get_submodule(link.path)
        columns = link.columns(place.width)[units.cpu()].flatten()
        for name, _ in input_tensors(layer).tensors:
            present = getattr(layer, name, None)
            if isinstance(present, Tensor):
                entries[f"{link.path}.{name}"] = present.detach()[columns.to(present.device)].clone()
    return entries


def _halves(model: nn.Module, place: Place, units: Tensor) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Return half of some units' columns for their copies, and the change that takes it from the originals."""
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


def _check_curvature(route: UnitPath) -> None:
    """Refuse places where the splitting matrix is zero or not defined."""
    if not route.is_linear:
        raise InputError(
            "place",
            "be one that can be split by curvature",
            f"{route.place.name!r}, which has no linear layers on both sides of its bend",
            "use split",
        )
    z = torch.tensor([-1.5, -0.3, 0.3, 1.5], dtype=torch.float64)
    if not bool(_curvature(route, z).any()):
        raise InputError(
            "place",
            "be one that can be split by curvature",
            f"{route.place.name!r}, whose bend is piecewise linear, so that the splitting matrix is zero",
            "use split",
        )


def _curvature(route: UnitPath, z: Tensor) -> Tensor:
    """Return sigma''(z)."""
    with torch.enable_grad():
        at = z.detach().clone().requires_grad_()
        slope = torch.autograd.grad(route.bend(at).sum(), at, create_graph=True)[0]
        if not slope.requires_grad:
            return torch.zeros_like(z)
        second = torch.autograd.grad(slope.sum(), at, allow_unused=True)[0]
    return torch.zeros_like(z) if second is None else second


def _splitting_matrices(route: Route, observation: Observation) -> Tensor:
    """Return the sum over samples of every unit's splitting matrix, (width, d, d)."""
    features = as_rows(route.features(observation.layer_input))
    z = observation.layer_output.double().reshape(len(features), -1)
    slope = torch.zeros_like(z)
    for consumer in route.consumers:
        weight = consumer.layer.weight
        assert isinstance(weight, Tensor)
        columns = weight.double()[:, consumer.link.columns(route.place.width)[:, 0].to(weight.device)]
        slope -= as_rows(consumer.goals(observation.goals[consumer.link.path])) @ columns
    curved = slope * _curvature(route, z)
    return torch.stack([(features * unit[:, None]).T @ features for unit in curved.T])
