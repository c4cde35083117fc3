"""Splitting units along the direction of steepest descent, also filters and units behind a batch norm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from creases._validation import check_number
from creases.errors import InputError
from creases.growth import _distributed as ranks
from creases.growth._loss_sum import Loss
from creases.growth._proposal import Proposal
from creases.growth.methods._evidence import Evidence, message_of
from creases.growth.methods._first_order.consumer import as_rows
from creases.growth.methods._first_order.norm import check_norm, norm_links
from creases.growth.methods._first_order.observation import Batches, Observation, observe_batches
from creases.growth.methods._first_order.route import Route, UnitPath
from creases.growth.methods._first_order.statistics import sample_size
from creases.growth.methods._split import carrier_entries, half_columns, splittable_place, unit_rows
from creases.network.surgery import Place

_ROWS = 16_384  # samples and positions that the splitting matrices are estimated from, at most (on each rank)
_STEPS = 24  # of Lanczos's method


@dataclass(frozen=True)
class SteepestSplit:
    """Growth by splits along the direction of steepest descent; see :func:`steepest_split`."""

    count: int = 1
    step: float = 0.01
    samples: int | None = None  #: for the splitting matrices; None: :func:`sample_size`

    def check(self, model: nn.Module, place: Place) -> str:
        """Return why units of a place cannot be split by curvature; "" where they can."""
        return message_of(lambda: _check_curvature(UnitPath(model, place)))

    def __call__(self, model: nn.Module, place: Place, evidence: Evidence) -> Proposal:
        """Return the proposal for a place."""
        batches, _ = evidence.draw(self.samples or sample_size(model, place))
        return steepest_split(model, place, batches, evidence.objective.loss, count=self.count, step=self.step)


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
    the eigenvector of the smallest eigenvalue m (by Lanczos's method), and the loss falls by ``-m step^2 / 2``, to
    second order in the step (there is no first order: the halves' gradients cancel). Units whose m is not negative are
    left alone. Piecewise linear bends such as relu are refused: their sigma'' is zero wherever it is defined.

    Of a convolution the matrix is summed over positions (16,384 samples and positions at most). A batch norm is the
    affine function that it is in eval mode: x counts by its slope, and v's bias is added to the norm's.

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
    model, target = splittable_place(model, place, batches, count)
    with ranks.fail_together():
        _check_curvature(UnitPath(model, target))
        observer, source = observe_batches(model, target, batches, loss)
        observations = list(source)
        route = Route(observer.twin, target, observations[0])
        sample = _gather(route, observations)
    sums = torch.tensor([sum(batch.count for batch in observations), sum(batch.loss for batch in observations)])
    sums = sums.double()
    ranks.sum_over_ranks([sums])
    n, value = int(sums[0]), float(sums[1])
    values, vectors = _lowest_eigenpairs(sample, n)
    ranks.broadcast([values, vectors])
    lowest = values[:, 0]
    noise = 1e-12 * float(values.abs().max())
    units = lowest.argsort()[: min(count, target.width)]
    units = units[lowest[units] < -noise].sort().values
    gain = float(-lowest[units].sum()) * step**2 / 2
    explanation: dict[str, Any] = {
        "method": "steepest_split",
        "place": target.name,
        "reason": "" if len(units) else "no unit has a splitting matrix with a negative eigenvalue",
        "samples": n,
        "loss": value / n,
        "gain": gain,
        "order": 2,
        "units": len(units),
        "split": units.tolist(),
        "eigenvalues": lowest[units].tolist(),
        "step": step,
    }
    turn_in, turn_bias = route.layer_weights(step * vectors[units].T)
    fan_in, bias = unit_rows(model, target, units)
    fan_out, change = half_columns(model, target, units)
    carriers = carrier_entries(model, target, units)
    producer, biases = model.get_submodule(target.name), f"{target.name}.bias"
    if route.has_norm_first:  # the norm's bias takes the turn of the unit's: its mean undoes any other
        (link,) = norm_links(model, target)
        turn_bias, producer_turn = turn_bias * sample.slopes[units], torch.zeros_like(turn_bias)
        biases = f"{link.path}.bias"
        carriers[biases] = carriers[biases].double() - turn_bias
        norm_bias = model.get_submodule(link.path).bias
        assert isinstance(norm_bias, Tensor)
        columns = link.columns(target.width)[units.cpu(), 0].to(norm_bias.device)
        change[biases] = torch.zeros_like(norm_bias, dtype=torch.float64).index_copy_(0, columns, turn_bias)
        turn_bias = producer_turn
    elif producer.bias is not None:
        old = producer.bias
        assert isinstance(old, Tensor)
        change[biases] = torch.zeros_like(old, dtype=torch.float64).index_copy_(0, units, turn_bias)
    weight = producer.weight
    assert isinstance(weight, Tensor)
    moved = torch.zeros_like(weight, dtype=torch.float64).index_copy_(0, units, turn_in)
    change[f"{target.name}.weight"] = moved
    parts = (fan_in - turn_in, bias - turn_bias, fan_out)
    return Proposal("steepest_split", target, *parts, gain, explanation, change, carriers)


def _check_curvature(path: UnitPath) -> None:
    """Refuse places where the splitting matrix is zero or not defined."""
    check_norm(path)
    norms: list[Any] = [path.model.get_submodule(link.path) for link in norm_links(path.model, path.place)]
    if any(norm.running_var is None for norm in norms):
        raise InputError(
            "place",
            "be one that can be split by curvature",
            f"{path.place.name!r}, whose batch norm has no running statistics",
            "use split",
        )
    z = torch.tensor([-1.5, -0.3, 0.3, 1.5], dtype=torch.float64)
    if not bool(_curvature(path, z).any()):
        raise InputError(
            "place",
            "be one that can be split by curvature",
            f"{path.place.name!r}, whose bend is piecewise linear, so that the splitting matrix is zero",
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


@dataclass(frozen=True, eq=False)
class _SplitSample:
    """The splitting matrices ``sum_r curved[r, k] x_r x_r'`` of units k, by their rows."""

    features: Tensor  #: (rows, d)
    curved: Tensor  #: (rows, width) dL/db sigma''(z), times the squared slope of the norm before the bend
    slopes: Tensor  #: (width,) of that norm, 1 without one

    def multiply(self, vectors: Tensor) -> Tensor:
        """Return the product (width, d) of each unit's matrix with its vector (width, d), over all ranks."""
        product = (self.curved * (self.features @ vectors.T)).T @ self.features
        ranks.sum_over_ranks([product])
        return product


def _gather(route: Route, observations: Sequence[Observation]) -> _SplitSample:
    """Return the rows of samples and positions, or as many of them, evenly spaced, as there may be."""
    slopes = _norm_slopes(route)
    features, curved = list[Tensor](), list[Tensor]()
    for batch in observations:
        rows = as_rows(route.features(batch.layer_input))
        bends = as_rows(_curved_slopes(route, batch)) * slopes.square()
        every = max(1, -(-len(rows) * len(observations) // _ROWS))
        features.append(rows[::every])
        curved.append(every * bends[::every])
    return _SplitSample(torch.cat(features), torch.cat(curved), slopes)


def _norm_slopes(route: Route) -> Tensor:
    """Return the slope (width,) of the batch norm before the bend, in eval mode; 1 without one."""
    weight = route.producer.weight
    assert isinstance(weight, Tensor)
    ones = torch.ones(route.place.width, dtype=torch.float64, device=weight.device)
    if not route.has_norm_first:
        return ones
    (link,) = norm_links(route.model, route.place)
    norm: Any = route.model.get_submodule(link.path)
    columns = link.columns(route.place.width)[:, 0].to(weight.device)
    slopes: Tensor = norm.weight.detach().double() / (norm.running_var.double() + norm.eps).sqrt()
    return slopes[columns]


def _curved_slopes(route: Route, batch: Observation) -> Tensor:
    """Return ``dL/db sigma''(z)`` of the existing units, (n, width, *positions) in float64."""
    z = batch.layer_output if not isinstance(route.producer, nn.Linear) else batch.layer_output.movedim(-1, 1)
    before, behind = route.steps_around_bend()
    with torch.no_grad():
        for step in before:
            z = step(z)
    with torch.enable_grad():
        at = route.bend(z.clone()).detach().requires_grad_()
        arrived = at
        for step in behind:
            arrived = step(arrived)
        arrived = arrived if arrived.ndim > 2 else arrived[:, :, None]
        gain = torch.zeros((), dtype=at.dtype, device=at.device)
        for consumer in route.consumers:
            weight = consumer.layer.weight
            assert isinstance(weight, Tensor)
            columns = weight.detach()[:, consumer.link.columns(route.place.width).flatten().to(weight.device)]
            columns = columns.reshape(len(columns), route.place.width, *consumer.columns_per_unit())
            goals = consumer.goals(batch.goals[consumer.link.path], at.dtype)
            gain = gain + (goals * consumer.response(arrived, columns).reshape(goals.shape)).sum()
        (slope,) = torch.autograd.grad(gain, at)
    return -slope.double() * _curvature(route, z.double())


def _lowest_eigenpairs(sample: _SplitSample, n: int) -> tuple[Tensor, Tensor]:
    """Return the eigenvalues (width, steps) of every unit's matrix on a Krylov space, and the lowest one's vector."""
    width, d = sample.curved.shape[1], sample.features.shape[1]
    generator = torch.Generator().manual_seed(0)
    vector = torch.randn(width, d, generator=generator, dtype=torch.float64).to(sample.features.device)
    basis, products = list[Tensor](), list[Tensor]()
    for _ in range(min(d, _STEPS)):
        size = vector.norm(dim=1, keepdim=True)
        for _ in range(2):  # once more against rounding
            for old in basis:
                vector = vector - (vector * old).sum(1, keepdim=True) * old
        length = vector.norm(dim=1, keepdim=True)
        vector = torch.where(length > 1e-10 * size, vector / length.clamp_min(1e-300), torch.zeros_like(vector))
        basis.append(vector)
        vector = sample.multiply(vector) / n
        products.append(vector)
    space = torch.stack(basis, 1)  # (width, steps, d)
    small = space @ torch.stack(products, 1).transpose(1, 2)
    values, combinations = torch.linalg.eigh((small + small.transpose(1, 2)) / 2)
    return values, (combinations[:, :, 0, None] * space).sum(1)
