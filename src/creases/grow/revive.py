"""Dead units: 0 on every sample, so that no gradient reaches them, and nothing behind them if all are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn

from creases.grow import ranks
from creases.grow.samples import Pair
from creases.network.surgery import Place
from creases.network.surgery.example import quietly, shadow
from creases.network.surgery.layers import made


def dead_units(model: nn.Module, place: Place, batches: Sequence[Pair]) -> list[int]:
    """Units of a place with a relu that are at most 0 before it on every sample, over all ranks."""
    if place.bend != "relu" or place.norm:
        return []
    largest = torch.full((place.width,), -torch.inf, dtype=torch.float64)
    for _, out in _seen(model, place, batches):
        largest = torch.maximum(largest, out.max(0).values.double().cpu())
    alive = (largest > 0).double()
    ranks.total([alive])
    return torch.nonzero(alive == 0).flatten().tolist()


def revive(model: nn.Module, place: Place, batches: Sequence[Pair], units: list[int], seed: int) -> None:
    """Draw units anew (Kaiming), each with its crease through the middle of the samples, so that half are active.

    A fan-out of zero is drawn anew too. The optimizer's moments of these weights stay.
    """
    layer = model.get_submodule(place.name)
    weight, bias = layer.weight, layer.bias
    assert isinstance(weight, Tensor)
    numbers = torch.Generator().manual_seed(seed)
    axis = dict(made(layer).tensors)["weight"]
    rows = weight.detach().movedim(axis, 0)  # a view: what is written here is in the layer
    size = (2.0 / rows[0].numel()) ** 0.5
    with torch.no_grad():
        rows[units] = (size * torch.randn(rows[units].shape, generator=numbers)).to(rows)
        if isinstance(bias, Tensor):
            bias[units] = 0.0
            outs = [out[:, units] for _, out in _seen(model, place, batches)]
            middle = torch.cat(outs).double().median(0).values.cpu() if outs else torch.zeros(len(units)).double()
            ranks.same([middle])
            bias[units] = -middle.to(bias)
        for link in place.consumers:
            taker = model.get_submodule(link.path)
            columns = taker.weight
            assert isinstance(columns, Tensor)
            for unit in units:
                part = columns[:, link.columns(place.width)[unit].to(columns.device)]
                if not bool(part.any()):
                    drawn = torch.randn(part.shape, generator=numbers).to(part) / columns[0].numel() ** 0.5
                    columns[:, link.columns(place.width)[unit].to(columns.device)] = drawn


def _seen(model: nn.Module, place: Place, batches: Sequence[Pair]) -> Iterator[tuple[Tensor, Tensor]]:
    """What enters a place's layer, and what it makes as one row (width,) for each sample and position."""
    twin = shadow(model)
    kept: list[tuple[Tensor, Tensor]] = []
    layer = twin.get_submodule(place.name)
    layer.register_forward_hook(lambda module, args, out: kept.append((args[0], out)))
    channels_last = isinstance(layer, nn.Linear)
    for x, _ in batches:
        kept.clear()
        with quietly():
            twin(x)
        entering, out = kept[0]
        yield entering, out.reshape(-1, place.width) if channels_last else out.movedim(1, -1).reshape(-1, place.width)
