"""Groups of channels that can only be removed together, as plain data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import nn

from creases._text import OneLine
from creases.network.surgery._place import AFFINE_LAYERS, count_outputs, get_layer, input_tensors

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
