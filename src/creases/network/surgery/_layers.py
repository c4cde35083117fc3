"""The tensors of torch's layers that have entries per unit: along which axis, and which attribute counts them."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm, _NormBase
from torch.nn.modules.conv import _ConvNd, _ConvTransposeNd


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


def is_grouped(layer: nn.Module) -> bool:
    """Return whether each output unit reads only some of the input units."""
    return isinstance(layer, _ConvNd) and layer.groups > 1


def shared_parameters(model: nn.Module) -> set[int]:
    """Return the ``id`` of every parameter that a model holds more than once."""
    uses = Counter(id(p) for module in model.modules() for p in module._parameters.values() if p is not None)
    return {key for key, count in uses.items() if count > 1}


def fixed_tensor_reason(layer: nn.Module, path: str, name: str, shared: set[int]) -> str:
    """Return why entries of a layer's tensor can be neither added nor removed; "" if they can."""
    owned = {**layer._parameters, **layer._buffers}
    if getattr(layer, name, None) is not None and owned.get(name) is None:
        return f"{path}.{name} is computed (weight norm or another parametrization); remove that first"
    return f"{path}.{name} is shared with another layer" if id(owned.get(name)) in shared else ""
