"""Torch's layers that hold numbers for each unit: which tensors, along which axis, and which attribute counts them."""

from __future__ import annotations

from typing import NamedTuple

from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm, _NormBase
from torch.nn.modules.conv import _ConvNd, _ConvTransposeNd


class UnitTensors(NamedTuple):
    """What a layer holds for its units on one side."""

    tensors: tuple[tuple[str, int], ...]  #: names of parameters or buffers, and the axis of each that counts units
    counter: str  #: the attribute that says how many there are

    @property
    def weight_axis(self) -> int:
        """The axis of the weight that counts units."""
        return dict(self.tensors)["weight"]


#: Layers that make units, and take them.
AFFINE_LAYERS = (nn.Linear, _ConvNd)

#: Layers that hold numbers for each unit that passes.
CARRIER_LAYERS = (_BatchNorm, nn.PReLU)


def output_tensors(layer: nn.Module) -> UnitTensors:
    """What an affine layer holds for each unit it makes: rows of its weight, and biases."""
    if isinstance(layer, nn.Linear):
        return UnitTensors((("weight", 0), ("bias", 0)), "out_features")
    return UnitTensors((("weight", 1 if isinstance(layer, _ConvTransposeNd) else 0), ("bias", 0)), "out_channels")


def input_tensors(layer: nn.Module) -> UnitTensors:
    """What a layer holds for each unit that enters it: columns of its weight, or the numbers of a carrier."""
    if isinstance(layer, nn.Linear):
        return UnitTensors((("weight", 1),), "in_features")
    if isinstance(layer, _ConvNd):
        return UnitTensors((("weight", 0 if isinstance(layer, _ConvTransposeNd) else 1),), "in_channels")
    if isinstance(layer, nn.PReLU):
        return UnitTensors((("weight", 0),), "num_parameters")
    assert isinstance(layer, _NormBase)
    return UnitTensors((("weight", 0), ("bias", 0), ("running_mean", 0), ("running_var", 0)), "num_features")


def is_grouped(layer: nn.Module) -> bool:
    """Whether each unit sees only some of the units before."""
    return isinstance(layer, _ConvNd) and layer.groups > 1
