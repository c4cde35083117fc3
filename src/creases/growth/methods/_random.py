"""Random units: a baseline that only uses the scale of the existing weights."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from creases._validation import check_count, check_number
from creases.errors import InputError
from creases.growth._integrations import _ranks as ranks
from creases.growth._objective import Loss, LossSum
from creases.growth._proposal import Proposal, unit_rows, weight_of
from creases.growth.methods._evidence import Evidence
from creases.growth.methods._first_order.observation import Batches, PlaceObserver, frozen_copy, iterate_batches
from creases.growth.methods._first_order.statistics import sample_size
from creases.growth.methods._first_order.units import row_length, typical_entries, with_statistics
from creases.network import Place, widen
from creases.network.surgery import find_place, input_tensors, unwrap_module, without_side_effects

#: Inputs below which units have larger weights: in few dimensions there are units enough for creases everywhere, and
#: sharp ones learn faster; with many inputs networks of smaller weights generalize better.
FEW_INPUTS = 8


@dataclass(frozen=True)
class Random:
    """Growth by random units; see :func:`random_units`."""

    count: int = 1
    fan_out: float = 1e-3
    samples: int | None = None  #: for the predicted gain, if ``fan_out`` is not 0; None: :func:`sample_size`

    def __call__(self, model: nn.Module, place: Place, evidence: Evidence) -> Proposal:
        """Return the proposal for a place."""
        n = (self.samples or sample_size(model, place)) if self.fan_out else 1
        batches, _ = evidence.draw(n)
        loss = evidence.objective.loss
        return random_units(model, place, batches, loss, count=self.count, fan_out=self.fan_out, seed=evidence.seed)


def random_units(
    model: nn.Module,
    place: Place | str,
    batches: Batches,
    loss: Loss,
    *,
    count: int = Random.count,
    fan_out: float = Random.fan_out,
    seed: int = 0,
) -> Proposal:
    """Propose units with random weights, at any place that can grow.

    Incoming weights and biases are normal with variance 1 / (3 inputs), that of PyTorch's layers, or 2 / inputs for
    fewer than eight inputs; outgoing weights are normal. Before a batch norm, which undoes their size, incoming weights
    are about as long as those of the existing units, so that they turn as fast in training; the norm's entries are the
    means of the existing ones, with the new units' own statistics.
    The gain is the exact first-order gain on the batches, along the new outgoing weights.

    Parameters
    ----------
    model, place, batches, loss
        As in :func:`tiny`.
    count
        Number of units.
    fan_out
        Standard deviation of the outgoing weights, relative to the root mean square of the consumer's existing weights.
        0 leaves the function exactly as it is; the gain is 0 then, and no sample is looked at.
    seed
        Seed of the weights.

    Examples
    --------
    >>> model = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    >>> x = torch.randn(8, 2)
    >>> random_units(model, "0", (x, x[:, :1]), nn.MSELoss(), count=2).fan_in.shape
    torch.Size([2, 2])
    """
    check_count(count, "count")
    check_number(fan_out, "fan_out")
    with ranks.fail_together():
        source = list(iterate_batches(batches))
        if not source and fan_out:
            raise InputError("batches", "have at least one sample")
        model = unwrap_module(model)
        target = find_place(model, place, X=source[0][0] if source else None)
    generator = torch.Generator().manual_seed(seed)
    producer = model.get_submodule(target.name)
    rows = unit_rows(producer)
    usual = math.sqrt(2 if rows[0].numel() < FEW_INPUTS else 1 / 3)
    length = row_length(model, target) if target.norm else usual
    scale = length / math.sqrt(max(rows[0].numel(), 1))
    fan_in = _normal((count, *rows.shape[1:]), scale, generator, rows)
    outs = {}
    for link in target.consumers:
        layer = model.get_submodule(link.path)
        columns = weight_of(layer).detach()
        moved = columns.movedim(input_tensors(layer).weight_axis, 1)
        size = fan_out * (float(columns.double().square().mean().sqrt()) or 1.0)
        outs[link.path] = _normal((len(moved), count * link.per_unit, *moved.shape[2:]), size, generator, columns)
    explanation = {"method": "random", "place": target.name, "reason": "", "gain": 0.0}
    explanation |= {"units": count, "seed": seed, "fan_out": fan_out}
    entries = typical_entries(model, target, count)
    spread = 0.0 if target.norm or producer.bias is None else scale
    bias = _normal((count,), spread, generator, rows)  # creases all over the space
    proposal = Proposal("random", target, fan_in, bias, outs, 0.0, explanation, carriers=entries)
    if not fan_out:
        return proposal
    proposal = with_statistics(model, proposal, source) if entries else proposal
    gain, mean, n = _first_order_gain(model, proposal, source, loss)
    return replace(proposal, gain=gain, explanation=explanation | {"gain": gain, "loss": mean, "samples": n})


def _normal(shape: tuple[int, ...], size: float, generator: torch.Generator, like: Tensor) -> Tensor:
    return (torch.randn(shape, generator=generator, dtype=torch.float64) * size).to(like.device)


def _first_order_gain(
    model: nn.Module, proposal: Proposal, source: list[tuple[Tensor, Tensor]], loss: Loss
) -> tuple[float, float, int]:
    """Return the first-order gain of the outgoing weights, the mean loss, and the number of samples.

    The units are added to a copy with zero outgoing weights; the gradient there is exact, whatever lies between.
    """
    observer = PlaceObserver(frozen_copy(model), proposal.place, LossSum(loss))
    widen(observer.twin, proposal.place, proposal.fan_in, proposal.bias, carriers=proposal.carriers)
    weights, steps = [], []
    for link in proposal.place.consumers:
        layer = observer.twin.get_submodule(link.path)
        weight, axis = weight_of(layer), input_tensors(layer).weight_axis
        new = link.resize(proposal.count).columns(proposal.place.width + proposal.count)[proposal.place.width :]
        step = torch.zeros_like(weight.detach()).movedim(axis, 1)
        step[:, new.flatten()] = proposal.fan_out[link.path].to(weight)
        weights.append(weight.requires_grad_())
        steps.append(step.movedim(1, axis))
    sums = torch.zeros(3, dtype=torch.float64)  # gain, loss, samples
    with ranks.fail_together():
        for x, y in source:
            with without_side_effects(), torch.enable_grad():
                value = observer.loss_sum(observer.twin(x), y, len(x))
                slopes = torch.autograd.grad(value, weights, allow_unused=True)
            products = [(slope * step).sum() for slope, step in zip(slopes, steps, strict=True) if slope is not None]
            sums += torch.tensor([-sum(map(float, products)), float(value.detach()), len(x)], dtype=torch.float64)
    ranks.sum_over_ranks([sums])
    gain, total, n = sums.tolist()
    return gain / n, total / n, int(n)
