"""Dead units: 0 on every sample, so that no gradient reaches them, and nothing behind them if all are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn

from creases.growth import _distributed as ranks
from creases.growth._samples import Pair
from creases.network.surgery import (
    Place,
    UnitTensors,
    copy_sharing_parameters,
    input_tensors,
    output_tensors,
    without_side_effects,
)


def dead_units(model: nn.Module, place: Place, batches: Sequence[Pair]) -> list[int]:
    """Units of a place with a relu that are at most 0 before it on every sample, over all ranks."""
    if place.bend != "relu" or place.norm:
        return []
    largest = torch.full((place.width,), -torch.inf, dtype=torch.float64)
    for out in _made(model, place, batches):
        largest = torch.maximum(largest, out.max(0).values.double().cpu())
    alive = (largest > 0).double()
    ranks.sum_over_ranks([alive])
    return torch.nonzero(alive == 0).flatten().tolist()


def revive_units(model: nn.Module, place: Place, batches: Sequence[Pair], units: list[int], seed: int) -> None:
    """Draw units anew (Kaiming), each with its crease through the mean of the samples, so that some are active.

    A fan-out of zero is drawn anew too. The optimizer's moments of these weights stay.
    """
    layer = model.get_submodule(place.name)
    numbers = torch.Generator().manual_seed(seed)
    rows = _weight(layer, output_tensors(layer))  # (width, ...)
    with torch.no_grad():
        size = (2.0 / rows[0].numel()) ** 0.5
        rows[units] = (size * torch.randn(rows[units].shape, generator=numbers)).to(rows)
        _through_the_mean(model, place, batches, units)
        for link in place.consumers:
            consumer = model.get_submodule(link.path)
            columns = _weight(consumer, input_tensors(consumer))  # (inputs, outputs, ...)
            for mine in link.columns(place.width)[units].to(columns.device):
                if not bool(columns[mine].any()):
                    drawn = torch.randn(columns[mine].shape, generator=numbers).to(columns)
                    columns[mine] = drawn / columns[:, 0].numel() ** 0.5


def _through_the_mean(model: nn.Module, place: Place, batches: Sequence[Pair], units: list[int]) -> None:
    """Shift units so that they are 0 at the mean over all ranks' samples; without a bias, mirror those below it."""
    layer = model.get_submodule(place.name)
    bias = layer.bias
    if isinstance(bias, Tensor):
        bias[units] = 0.0
    sums = torch.zeros(3, len(units), dtype=torch.float64)
    for out in _made(model, place, batches):
        mine = out[:, units].double().cpu()
        number = torch.full((len(units),), float(len(mine)), dtype=torch.float64)
        sums += torch.stack([number, mine.sum(0), mine.square().sum(0)])
    ranks.sum_over_ranks([sums])
    count, first, second = sums
    middle = first / count.clamp(min=1)
    if isinstance(bias, Tensor):
        alike = second / count.clamp(min=1) - middle.square() <= 1e-12 * middle.square()
        bias[units] = (alike.double() - middle).to(bias)  # samples that are all the same are on the active side
    else:
        rows = _weight(layer, output_tensors(layer))
        sign = torch.where(middle < 0, -1.0, 1.0).to(rows)
        rows[units] = rows[units] * sign.reshape(-1, *[1] * (rows.ndim - 1))


def _weight(layer: nn.Module, held: UnitTensors) -> Tensor:
    """A layer's weight with the axis of the units first: a view, what is written in it is in the layer."""
    weight = layer.weight
    assert isinstance(weight, Tensor)
    return weight.detach().movedim(held.weight_axis, 0)


def _made(model: nn.Module, place: Place, batches: Sequence[Pair]) -> Iterator[Tensor]:
    """What a place's layer makes of each batch, as one row (width,) for each sample and position."""
    twin = copy_sharing_parameters(model)
    kept: list[Tensor] = []
    layer = twin.get_submodule(place.name)
    layer.register_forward_hook(lambda module, args, out: kept.append(out))
    axis = -1 if isinstance(layer, nn.Linear) else 1
    for x, _ in batches:
        kept.clear()
        with without_side_effects():
            twin(x)
        yield kept[0].movedim(axis, -1).reshape(-1, place.width)
