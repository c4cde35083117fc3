"""Dead units: 0 on every sample, so that no gradient reaches them, nor the layers before if all units are dead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn

from creases.growth._samples import Pair
from creases.growth.integrations import _ranks as ranks
from creases.network import Place
from creases.network.surgery import (
    UnitTensors,
    copy_sharing_parameters,
    input_tensors,
    output_tensors,
    without_side_effects,
)

#: Samples that are enough to see that most units are alive.
FEW_SAMPLES = 50


def dead_units(model: nn.Module, place: Place, batches: Sequence[Pair]) -> list[int]:
    """Return the units of a place that are never active, on any sample of any rank; none without a relu."""
    if place.bend != "relu" or place.norm:
        return []
    largest = torch.full((place.width,), -torch.inf, dtype=torch.float64)
    for out in _layer_outputs(model, place, batches):
        largest = torch.maximum(largest, out.max(0).values.double().cpu())
    alive = (largest > 0).double()
    ranks.sum_over_ranks([alive])
    return torch.nonzero(alive == 0).flatten().tolist()


def first_samples(batches: Sequence[Pair]) -> list[Pair]:
    """Return a few samples, enough to see that most units are alive."""
    return [(x[:FEW_SAMPLES], y[:FEW_SAMPLES]) for x, y in batches[:1]]


def revive_units(model: nn.Module, place: Place, batches: Sequence[Pair], units: list[int], seed: int) -> None:
    """Reinitialise units (Kaiming), each with its crease through the mean of the samples, so that some are active.

    Outgoing weights of zero are reinitialised too. The optimizer's moments of these weights stay.
    """
    layer = model.get_submodule(place.name)
    numbers = torch.Generator().manual_seed(seed)
    rows = _weight(layer, output_tensors(layer))  # (width, ...)
    with torch.no_grad():
        size = (2.0 / rows[0].numel()) ** 0.5
        rows[units] = (size * torch.randn(rows[units].shape, generator=numbers)).to(rows)
        _center_on_mean(model, place, batches, units)
        for link in place.consumers:
            consumer = model.get_submodule(link.path)
            columns = _weight(consumer, input_tensors(consumer))  # (inputs, outputs, ...)
            for mine in link.columns(place.width)[units].to(columns.device):
                if not bool(columns[mine].any()):
                    random = torch.randn(columns[mine].shape, generator=numbers).to(columns)
                    columns[mine] = random / columns[:, 0].numel() ** 0.5


def _center_on_mean(model: nn.Module, place: Place, batches: Sequence[Pair], units: list[int]) -> None:
    """Shift units so that they are 0 at the mean over all ranks' samples; without a bias, flip negative ones."""
    layer = model.get_submodule(place.name)
    bias = layer.bias
    if isinstance(bias, Tensor):
        bias[units] = 0.0
    sums = torch.zeros(3, len(units), dtype=torch.float64)
    for out in _layer_outputs(model, place, batches):
        mine = out[:, units].double().cpu()
        number = torch.full((len(units),), float(len(mine)), dtype=torch.float64)
        sums += torch.stack([number, mine.sum(0), mine.square().sum(0)])
    ranks.sum_over_ranks([sums])
    count, first, second = sums
    middle = first / count.clamp(min=1)
    if isinstance(bias, Tensor):
        alike = second / count.clamp(min=1) - middle.square() <= 1e-12 * middle.square()
        bias[units] = (alike.double() - middle).to(bias)  # identical samples lie on the active side
    else:
        rows = _weight(layer, output_tensors(layer))
        sign = torch.where(middle < 0, -1.0, 1.0).to(rows)
        rows[units] = rows[units] * sign.reshape(-1, *[1] * (rows.ndim - 1))


def _weight(layer: nn.Module, held: UnitTensors) -> Tensor:
    """Return a view of a layer's weight with the axis of the units first."""
    weight = layer.weight
    assert isinstance(weight, Tensor)
    return weight.detach().movedim(held.weight_axis, 0)


def _layer_outputs(model: nn.Module, place: Place, batches: Sequence[Pair]) -> Iterator[Tensor]:
    """Yield the output of a place's layer by batch, with one row (width,) for each sample and position."""
    twin = copy_sharing_parameters(model)
    outputs: list[Tensor] = []
    layer = twin.get_submodule(place.name)
    layer.register_forward_hook(lambda module, args, out: outputs.append(out))
    axis = -1 if isinstance(layer, nn.Linear) else 1
    for x, _ in batches:
        outputs.clear()
        with without_side_effects():
            twin(x)
        yield outputs[0].movedim(axis, -1).reshape(-1, place.width)
