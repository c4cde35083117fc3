"""Random units: the baseline that looks at nothing but the sizes of the present weights."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from creases.errors import InputError
from creases.growth import _distributed as ranks
from creases.growth._loss_sum import Loss, LossSum
from creases.growth._proposal import Proposal
from creases.growth.methods._first_order.observation import Batches, PlaceObserver, frozen_copy, iterate_batches
from creases.network.surgery import (
    Place,
    find_place,
    input_tensors,
    output_tensors,
    unwrap_module,
    widen,
    without_side_effects,
)


def random_units(
    model: nn.Module,
    place: Place | str,
    batches: Batches,
    loss: Loss,
    *,
    count: int = 1,
    fan_out: float = 1e-3,
    seed: int = 0,
) -> Proposal:
    """Propose units with random weights, at any place that can grow.

    Fan-in: normal, of variance 2 / inputs (Kaiming), no bias. Fan-out: normal, ``fan_out`` times the root mean square
    of the consumer's present weights (0 leaves the function exactly as it is). The gain is the exact slope along the
    new fan-out, taken on the batches.

    Examples
    --------
    >>> model = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    >>> x = torch.randn(8, 2)
    >>> random_units(model, "0", (x, x[:, :1]), nn.MSELoss(), count=2).fan_in.shape
    torch.Size([2, 2])
    """
    if not isinstance(count, int) or count < 1 or not math.isfinite(fan_out):
        raise InputError(f"count, fan_out: expected at least 1 and a number, got {count!r} and {fan_out!r}")
    with ranks.fail_together():
        source = list(iterate_batches(batches))
        if not source:
            raise InputError("batches: has no samples")
        model = unwrap_module(model)
        found = find_place(model, place, data=source[0][0])
    generator = torch.Generator().manual_seed(seed)
    producer = model.get_submodule(found.name)
    weight = producer.weight
    assert isinstance(weight, Tensor)
    rows = weight.movedim(output_tensors(producer).weight_axis, 0)
    fan_in = _normal((count, *rows.shape[1:]), math.sqrt(2 / max(rows[0].numel(), 1)), generator, weight)
    outs = {}
    for link in found.consumers:
        layer = model.get_submodule(link.path)
        columns = layer.weight
        assert isinstance(columns, Tensor)
        moved = columns.movedim(input_tensors(layer).weight_axis, 1)
        size = fan_out * (float(columns.detach().double().square().mean().sqrt()) or 1.0)
        outs[link.path] = _normal((len(moved), count * link.per_unit, *moved.shape[2:]), size, generator, columns)
    bias = fan_in.new_zeros(count)
    proposal = Proposal("random", found, fan_in, bias, outs, 0.0, {})
    gain, mean, n = _slope(model, proposal, source, loss)
    explanation = {
        "method": "random",
        "place": found.name,
        "reason": "",
        "samples": n,
        "loss": mean,
        "gain": gain,
        "units": count,
        "seed": seed,
        "fan_out": fan_out,
    }
    return Proposal("random", found, fan_in, bias, outs, gain, explanation)


def _normal(shape: tuple[int, ...], size: float, generator: torch.Generator, like: Tensor) -> Tensor:
    return (torch.randn(shape, generator=generator, dtype=torch.float64) * size).to(like.device)


def _slope(
    model: nn.Module, proposal: Proposal, source: list[tuple[Tensor, Tensor]], loss: Loss
) -> tuple[float, float, int]:
    """The fall of the mean loss to first order in the new fan-out, the mean loss, and the number of samples.

    The units are put into a copy with no fan-out; the gradient there is exact, whatever lies between.
    """
    observer = PlaceObserver(frozen_copy(model), proposal.place, LossSum(loss))
    widen(observer.twin, proposal.place, proposal.fan_in, proposal.bias)
    weights, steps = [], []
    for link in proposal.place.consumers:
        layer = observer.twin.get_submodule(link.path)
        weight = layer.weight
        assert isinstance(weight, Tensor)
        axis = input_tensors(layer).weight_axis
        new = link.resize(proposal.count).columns(proposal.place.width + proposal.count)[proposal.place.width :]
        step = torch.zeros_like(weight.detach()).movedim(axis, 1)
        step[:, new.flatten()] = proposal.fan_out[link.path].to(weight)
        weights.append(weight.requires_grad_())
        steps.append(step.movedim(1, axis))
    sums = torch.zeros(3, dtype=torch.float64)  # gain, loss, samples
    with ranks.fail_together():
        for x, target in source:
            with without_side_effects(), torch.enable_grad():
                value = observer.loss_sum(observer.twin(x), target, len(x))
                slopes = torch.autograd.grad(value, weights, allow_unused=True)
            products = [(slope * step).sum() for slope, step in zip(slopes, steps, strict=True) if slope is not None]
            sums += torch.tensor([-sum(map(float, products)), float(value.detach()), len(x)], dtype=torch.float64)
    ranks.sum_over_ranks([sums])
    gain, total, n = sums.tolist()
    return gain / n, total / n, int(n)
