"""What of a model can change, as plain data: places, its hidden widths, and groups of channels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm, _NormBase
from torch.nn.modules.conv import _ConvNd, _ConvTransposeNd
from torch.optim import Optimizer

from creases._text import OneLine, plural
from creases.errors import InputError
from creases.network.surgery._edits import Edit, Plan, apply_and_measure, count_parameters, plan_edits


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

    def group(self, units: Sequence[int]) -> ChannelGroup:
        """Return some of the units, with all that reads them, as a group of channels."""
        carriers, readers = (
            {link.path: tuple(link.columns(self.width)[units].flatten().tolist()) for link in links}
            for links in (self.carriers, self.consumers)
        )
        return ChannelGroup({self.name: tuple(units)}, carriers, readers)


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


# Groups of channels that can only be removed together, and what their removal saves.

#: Indices of channels by the dotted path of a layer.
Channels = dict[str, tuple[int, ...]]


@dataclass(frozen=True)
class ChannelGroup:
    """Channels of one or more layers that can only be removed together.

    A hidden unit of a perceptron is a group of its own. The channels that a residual sum adds are one group, and so are
    the inputs and outputs of a depthwise convolution.
    """

    outputs: Channels  #: output channels of the layers that produce them
    carriers: Channels  #: entries of batch norms and PReLUs, and input channels of convolutions that lose whole groups
    readers: Channels  #: columns (input channels) of the layers that read them

    @property
    def layers(self) -> tuple[tuple[str, ...], ...]:
        """The paths of all layers, by role; groups that agree in them are interchangeable."""
        return tuple(self.outputs), tuple(self.carriers), tuple(self.readers)


@dataclass(frozen=True)
class FixedChannels:
    """Output channels of a layer that cannot be removed."""

    layer: str
    channels: tuple[int, ...]
    width: int  #: number of all output channels of the layer
    reason: str


@dataclass(frozen=True, repr=False)
class ChannelGroups(OneLine):
    """All channels of a model: groups that can be removed, and channels that cannot, with the reason."""

    groups: tuple[ChannelGroup, ...]
    fixed: tuple[FixedChannels, ...]
    positions: dict[str, int]  #: how often each layer applies its weight for one input

    def without(self, removed: Iterable[ChannelGroup]) -> ChannelGroups:
        """Return what is left, as numbered after the removal of some groups."""
        gone = list(removed)
        outputs = union_channels(group.outputs for group in gone)
        inputs = union_channels(part for group in gone for part in (group.carriers, group.readers))
        dropped = {id(group) for group in gone}
        groups = tuple(
            ChannelGroup(
                _renumber(group.outputs, outputs), _renumber(group.carriers, inputs), _renumber(group.readers, inputs)
            )
            for group in self.groups
            if id(group) not in dropped
        )
        fixed = tuple(
            replace(
                part,
                channels=_renumber({part.layer: part.channels}, outputs)[part.layer],
                width=part.width - len(outputs.get(part.layer, ())),
            )
            for part in self.fixed
        )
        return ChannelGroups(groups, fixed, self.positions)


def union_channels(parts: Iterable[Channels]) -> dict[str, list[int]]:
    """Return the channels of several groups by layer, sorted."""
    union: dict[str, set[int]] = {}
    for part in parts:
        for path, channels in part.items():
            union.setdefault(path, set()).update(channels)
    return {path: sorted(channels) for path, channels in union.items()}


def _renumber(channels: Channels, removed: dict[str, list[int]]) -> Channels:
    """Return channels as numbered after the removal of others."""
    result = {}
    for path, numbers in channels.items():
        gone = torch.tensor(removed.get(path, []), dtype=torch.int64)
        old = torch.tensor(numbers, dtype=torch.int64)
        result[path] = tuple((old - torch.searchsorted(gone, old)).tolist())
    return result


def count_multiply_adds(model: nn.Module, positions: dict[str, int]) -> int:
    """Return the multiplications that the layers of a model take for one input, by the positions of its groups."""
    return sum(get_layer(model, path).get_parameter("weight").numel() * n for path, n in positions.items())


def saved_parameters(model: nn.Module, groups: Sequence[ChannelGroup]) -> int:
    """Return the number of parameters that the removal of groups saves."""
    return sum(weights + others for _, weights, others in _savings(model, groups))


def saved_multiply_adds(model: nn.Module, groups: Sequence[ChannelGroup], positions: dict[str, int]) -> int:
    """Return the multiplications for one input that the removal of groups saves."""
    return sum(weights * positions.get(path, 0) for path, weights, _ in _savings(model, groups))


def _savings(model: nn.Module, groups: Sequence[ChannelGroup]) -> Iterator[tuple[str, int, int]]:
    """Yield for each layer the weights that the removal of groups saves, and its other parameters."""
    outputs = union_channels(group.outputs for group in groups)
    inputs = union_channels(part for group in groups for part in (group.carriers, group.readers))
    carriers = {path for group in groups for path in group.carriers}
    for path in outputs | inputs:
        layer, made, read = get_layer(model, path), len(outputs.get(path, ())), len(inputs.get(path, ()))
        sizes = {name: parameter.numel() for name, parameter in layer._parameters.items() if parameter is not None}
        into = int(getattr(layer, input_tensors(layer).counter))
        if not isinstance(layer, AFFINE_LAYERS):
            yield path, 0, sum(sizes.values()) * read // into
            continue
        out, weight = count_outputs(layer), sizes.get("weight", 0)
        whole = path in carriers  # a convolution that loses whole groups
        kept = weight * (out - made) // out if whole else weight * (out - made) * (into - read) // (out * into)
        yield path, weight - kept, made if "bias" in sizes else 0


# The addition of units.

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


@dataclass(frozen=True)
class Certificate:
    """What an edit changed in a model.

    ``change`` is measured: the largest difference of any output on the ``X`` passed to the edit, in eval mode.
    ``bound`` is proved: up to rounding, the function changes by no more than this at any input; None if no bound is
    known.
    """

    action: str  #: "widen", "deepen", "remove" or "remove layer"
    place_name: str  #: name of the place; for "deepen" that of the new one
    old_width: int  #: units before; 0 for "deepen", which adds a layer
    new_width: int
    parameters_before: int
    parameters_after: int
    change: float | None
    bound: float | None
    place: Place | None  #: the place after the edit, for the next one; None for "deepen": call ``places`` again


def certify_edit(model: nn.Module, X: Tensor | None, edit: Callable[[], Any], **facts: Any) -> Certificate:
    """Apply an edit and return its certificate with the other ``facts``."""
    before = count_parameters(model)
    change = apply_and_measure(model, X, edit)
    return Certificate(parameters_before=before, parameters_after=count_parameters(model), change=change, **facts)
