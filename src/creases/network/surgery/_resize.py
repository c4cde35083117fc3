"""Plans that change the width of a place: rows of the producer, entries of carriers and columns of consumers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from creases.network.surgery._edits import Edit, Plan, plan_edits
from creases.network.surgery._layers import UnitTensors, input_tensors, output_tensors
from creases.network.surgery._link import Link
from creases.network.surgery._place import Place, get_layer

#: New entries of a layer's tensor along its unit axis, by the layer's path and the tensor's name.
Values = dict[tuple[str, str], Tensor]


def plan_addition(model: nn.Module, place: Place, k: int, values: Values, optimizer: Optimizer | None) -> Plan:
    """Plan k more units at a place; entries without values are zero."""

    def source(link: Link) -> Tensor:
        new = link.resize(k).columns(place.width + k)[place.width :].flatten()
        out = torch.zeros(link.size + len(new), dtype=torch.int64)
        out[new] = -1 - torch.arange(len(new))
        out[out == 0] = torch.arange(link.size)
        return out

    return _plan_resize(model, place, source, values, optimizer)


def plan_removal(model: nn.Module, place: Place, units: Sequence[int], optimizer: Optimizer | None) -> Plan:
    """Plan the removal of some units of a place."""

    def source(link: Link) -> Tensor:
        keep = torch.ones(link.size, dtype=torch.bool)
        keep[link.columns(place.width)[list(units)].flatten()] = False
        return keep.nonzero().flatten()

    return _plan_resize(model, place, source, {}, optimizer)


def _plan_resize(
    model: nn.Module, place: Place, source: Callable[[Link], Tensor], values: Values, optimizer: Optimizer | None
) -> Plan:
    rows = Link(place.name, place.width, 0, 1, place.width, 1)  # of the producer
    ends: list[tuple[Link, UnitTensors]] = [(rows, output_tensors(get_layer(model, place.name)))]
    ends += [(link, input_tensors(get_layer(model, link.path))) for link in (*place.carriers, *place.consumers)]
    edits, counters = [], []
    for link, tensors in ends:
        layer, entries = get_layer(model, link.path), source(link)
        counters.append((layer, tensors.counter, len(entries)))
        for name, axis in tensors.tensors:
            if getattr(layer, name, None) is not None:
                edits.append(Edit(layer, name, axis, entries, values.get((link.path, name))))
    return plan_edits(edits, counters, optimizer)
