"""Places: the hidden widths of a model that can change."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm, _NormBase
from torch.nn.modules.conv import _ConvNd, _ConvTransposeNd
from torch.optim import Optimizer

from creases._text import plural
from creases.errors import InputError
from creases.network.surgery._edits import Edit, Plan, plan_edits

# Which inputs of a layer belong to which unit of a place.


@dataclass(frozen=True)
class Link:
    """A layer that reads units, with the columns (input channels, batch-norm entries) of each unit.

    Unit u has the columns ``start + b stride + u run + r`` for b < blocks, r < run: one for Linear after Linear and
    Conv after Conv, H W of them (one run) for Linear after Conv and Flatten, H W blocks where channels come last.
    """

    path: str  #: dotted path of the layer
    size: int  #: number of all its columns, including those of other places
    start: int
    blocks: int
    stride: int
    run: int

    @property
    def per_unit(self) -> int:
        """Number of columns of each unit."""
        return self.blocks * self.run

    def columns(self, width: int) -> Tensor:
        """Return the columns of units 0 .. width - 1: (width, per_unit)."""
        unit = torch.arange(width)[:, None, None] * self.run
        block = torch.arange(self.blocks)[None, :, None] * self.stride
        return (self.start + unit + block + torch.arange(self.run)).flatten(1)

    def resize(self, k: int) -> Link:
        """Return the link with k more units after the last, or fewer if k is negative."""
        return replace(self, size=self.size + k * self.per_unit, stride=self.stride + k * self.run)

    @classmethod
    def from_columns(cls, path: str, unit: Tensor, width: int) -> Link | None:
        """Return the link that assigns to each column its unit (size,), -1 for columns of other places.

        None if some units have no columns, or if the columns do not follow the rule above.
        """
        first = (unit == 0).nonzero().flatten().tolist()
        if not first or int((unit >= 0).sum()) != len(first) * width:
            return None
        run = next((i for i in range(1, len(first)) if first[i] != first[i - 1] + 1), len(first))
        blocks, rest = divmod(len(first), run)
        stride = first[run] - first[0] if blocks > 1 else width * run
        link = cls(path, len(unit), first[0], blocks, stride, run)
        columns = link.columns(width)
        if rest or int(columns.max()) >= len(unit):
            return None
        expected = torch.full_like(unit, -1)
        expected[columns.flatten()] = torch.arange(width, dtype=unit.dtype).repeat_interleave(link.per_unit)
        return link if torch.equal(expected, unit) else None


# The tensors of torch's layers that have entries per unit: along which axis, and which attribute counts them.


class UnitTensors(NamedTuple):
    """The tensors of a layer with entries per unit, on its input or output side."""

    tensors: tuple[tuple[str, int], ...]  #: names of parameters or buffers, each with its unit axis
    counter: str  #: the attribute that holds the number of units

    @property
    def weight_axis(self) -> int:
        """Unit axis of the weight."""
        return dict(self.tensors)["weight"]


#: Layers that produce and read units.
AFFINE_LAYERS = (nn.Linear, _ConvNd)

#: Layers between, with entries per unit.
CARRIER_LAYERS = (_BatchNorm, nn.PReLU)


def output_tensors(layer: nn.Module) -> UnitTensors:
    """Return the tensors with entries per output unit of an affine layer: rows of the weight, and biases."""
    if isinstance(layer, nn.Linear):
        return UnitTensors((("weight", 0), ("bias", 0)), "out_features")
    return UnitTensors((("weight", 1 if isinstance(layer, _ConvTransposeNd) else 0), ("bias", 0)), "out_channels")


def input_tensors(layer: nn.Module) -> UnitTensors:
    """Return the tensors with entries per input unit: columns of the weight, or the entries of a carrier."""
    if isinstance(layer, nn.Linear):
        return UnitTensors((("weight", 1),), "in_features")
    if isinstance(layer, _ConvNd):
        return UnitTensors((("weight", 0 if isinstance(layer, _ConvTransposeNd) else 1),), "in_channels")
    if isinstance(layer, nn.PReLU):
        return UnitTensors((("weight", 0),), "num_parameters")
    assert isinstance(layer, _NormBase)
    return UnitTensors((("weight", 0), ("bias", 0), ("running_mean", 0), ("running_var", 0)), "num_features")


def count_outputs(layer: nn.Module) -> int:
    """Return the number of output units of an affine layer."""
    return int(getattr(layer, output_tensors(layer).counter))


def shared_parameters(model: nn.Module) -> set[int]:
    """Return the ``id`` of every parameter that a model holds more than once."""
    uses = Counter(id(p) for module in model.modules() for p in module._parameters.values() if p is not None)
    return {key for key, count in uses.items() if count > 1}


def fixed_tensor_reason(layer: nn.Module, path: str, side: UnitTensors, shared: set[int]) -> str:
    """Return why entries of a layer's tensors can be neither added nor removed; "" if they can."""
    owned = {**layer._parameters, **layer._buffers}
    for name, _ in side.tensors:
        if getattr(layer, name, None) is not None and owned.get(name) is None:
            return f"{path}.{name} is computed (weight norm or another parametrization); remove that first"
        if id(owned.get(name)) in shared:
            return f"{path}.{name} is shared with another layer"
    return ""


_REFRESH = "call places(model) again, or use the place of the last edit's certificate"


@dataclass(frozen=True)
class Place:
    """A hidden width of a model: the layer that produces its units, the operations between, the layers that read them.

    The units are the rows of the producer's weight (output channels of a convolution). Each has a bias, an entry in
    every carrier (batch norm, PReLU with one slope per unit) and columns in every consumer.
    """

    name: str  #: dotted path of the producer
    width: int  #: number of units
    bend: str  #: the first nonlinearity after the producer, such as "relu"; "" if there is none
    norm: bool  #: whether a batch norm follows
    between: tuple[str, ...]  #: operations on the units: paths of torch's modules, names of functions in forward code
    carriers: tuple[Link, ...]  #: batch norms and PReLUs with an entry per unit
    consumers: tuple[Link, ...]  #: layers that read the units
    cost: int  #: parameters per additional unit
    reason: str = ""  #: why its width cannot change; "" if it can

    def resize(self, k: int) -> Place:
        """Return the place with k more units, or fewer if k is negative."""
        carriers = tuple(link.resize(k) for link in self.carriers)
        consumers = tuple(link.resize(k) for link in self.consumers)
        return replace(self, width=self.width + k, carriers=carriers, consumers=consumers)


def get_layer(model: nn.Module, path: str) -> nn.Module:
    """Return the layer at a path of a place."""
    try:
        return model.get_submodule(path)
    except AttributeError:
        raise InputError("place", "belong to the model", f"{path!r}, which it lacks", _REFRESH) from None


def check_place(model: nn.Module, place: Place) -> None:
    """Refuse a place that cannot change, or that belongs to another model or an earlier state of this one."""
    if place.reason:
        raise InputError("place", "be able to change its width", f"{place.name!r}: {place.reason}")
    readers = [(link.path, link.size, input_tensors) for link in (*place.carriers, *place.consumers)]
    for path, size, side in [(place.name, place.width, output_tensors), *readers]:
        layer = get_layer(model, path)
        known = isinstance(layer, AFFINE_LAYERS if side is output_tensors else (*AFFINE_LAYERS, *CARRIER_LAYERS))
        now = getattr(layer, side(layer).counter) if known else None
        if now != size:
            raise InputError("place", "be up to date", f"{path!r} with {plural(size, 'unit')}, now {now}", _REFRESH)


def unit_cost(model: nn.Module, name: str, links: tuple[Link, ...]) -> int:
    """Return the number of parameters that an additional unit needs."""
    producer = model.get_submodule(name)
    total = sum(_per_entry(producer, tensor, axis) for tensor, axis in output_tensors(producer).tensors)
    for link in links:
        layer = model.get_submodule(link.path)
        total += link.per_unit * sum(_per_entry(layer, tensor, axis) for tensor, axis in input_tensors(layer).tensors)
    return total


def _per_entry(layer: nn.Module, name: str, axis: int) -> int:
    parameter = layer._parameters.get(name)
    return 0 if parameter is None else parameter.numel() // parameter.shape[axis]


#: New entries of a layer's tensor along its unit axis, by the layer's path and the tensor's name.
Values = dict[tuple[str, str], Tensor]

#: Initial slope of torch's PReLU.
PRELU_SLOPE = 0.25


def plan_addition(model: nn.Module, place: Place, k: int, values: Values, optimizer: Optimizer | None) -> Plan:
    """Plan k more units at a place: rows of the producer, entries of carriers, columns; zero without values.

    Without values a PReLU gets torch's initial slope and a batch norm the identity: in eval mode it is ``weight
    (x - mean) / sqrt(var + eps) + bias``, with weight 1, bias 0, mean 0 and var = 1 - eps.
    """
    rows = Link(place.name, place.width, 0, 1, place.width, 1)  # of the producer
    ends: list[tuple[Link, UnitTensors]] = [(rows, output_tensors(get_layer(model, place.name)))]
    ends += [(link, input_tensors(get_layer(model, link.path))) for link in (*place.carriers, *place.consumers)]
    edits, counters = [], []
    for link, tensors in ends:
        layer, new = get_layer(model, link.path), link.resize(k).columns(place.width + k)[place.width :].flatten()
        source = torch.zeros(link.size + len(new), dtype=torch.int64)
        source[new] = -1 - torch.arange(len(new))
        source[source == 0] = torch.arange(link.size)
        counters.append((layer, tensors.counter, len(source)))
        fills: dict[str, float] = {"weight": PRELU_SLOPE} if isinstance(layer, nn.PReLU) else {}
        if isinstance(layer, _BatchNorm):
            fills = {"weight": 1.0, "running_var": 1 - layer.eps}
        for name, axis in tensors.tensors:
            if getattr(layer, name, None) is not None:
                edits.append(Edit(layer, name, axis, source, values.get((link.path, name), fills.get(name, 0.0))))
    return plan_edits(edits, counters, optimizer)
