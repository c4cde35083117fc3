"""The edits that give a place other units: rows, entries of carriers and columns together."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from creases.network.surgery._edits import Edit, Plan, planned
from creases.network.surgery._layers import UnitTensors, input_tensors, output_tensors
from creases.network.surgery._link import Link
from creases.network.surgery._place import Place, get_layer

#: New entries of a layer's tensor along its axis of units, unit by unit, by the layer's path and the tensor's name.
Values = dict[tuple[str, str], Tensor]


def enlarged(model: nn.Module, place: Place, k: int, values: Values, optimizer: Optimizer | None) -> Plan:
    """k more units at a place; entries without given values are zero."""

    def source(link: Link) -> Tensor:
        new = link.widened(k).columns(place.width + k)[place.width :].flatten()
        out = torch.zeros(link.size + len(new), dtype=torch.int64)
        out[new] = -1 - torch.arange(len(new))
        out[out == 0] = torch.arange(link.size)
        return out

    return _resized(model, place, source, values, optimizer)


def reduced(model: nn.Module, place: Place, units: Sequence[int], optimizer: Optimizer | None) -> Plan:
    """A place without some of its units."""

    def source(link: Link) -> Tensor:
        kept = torch.ones(link.size, dtype=torch.bool)
        kept[link.columns(place.width)[list(units)].flatten()] = False
        return kept.nonzero().flatten()

    return _resized(model, place, source, {}, optimizer)


def _resized(
    model: nn.Module, place: Place, source: Callable[[Link], Tensor], values: Values, optimizer: Optimizer | None
) -> Plan:
    own = Link(place.name, place.width, 0, 1, place.width, 1)  # rows of the producer
    ends: list[tuple[Link, UnitTensors]] = [(own, output_tensors(get_layer(model, place.name)))]
    ends += [(link, input_tensors(get_layer(model, link.path))) for link in (*place.carriers, *place.consumers)]
    edits, counters = [], []
    for link, held in ends:
        layer, entries = get_layer(model, link.path), source(link)
        counters.append((layer, held.counter, len(entries)))
        for name, axis in held.tensors:
            if getattr(layer, name, None) is not None:
                edits.append(Edit(layer, name, axis, entries, values.get((link.path, name))))
    return planned(edits, counters, optimizer)
