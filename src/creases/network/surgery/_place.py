"""A place: an inner width of a model that can grow."""

from __future__ import annotations

from dataclasses import dataclass, replace

from torch import nn

from creases.errors import InputError
from creases.network.surgery._layers import AFFINE_LAYERS, CARRIER_LAYERS, input_tensors, output_tensors
from creases.network.surgery._link import Link


@dataclass(frozen=True)
class Place:
    """An inner width of a model: the layer that makes its units, what they pass, and the layers they enter.

    The units are the rows of the producer's weight (output channels of a convolution); each has its bias, its entry in
    every carrier (batch norm, PReLU with a slope for each unit) and its columns in every consumer.
    """

    name: str  #: dotted path of the producer
    width: int  #: number of units
    bend: str  #: the first bend that the units pass, such as "relu"; "" where there is none
    norm: bool  #: whether batch norm lies between
    between: tuple[str, ...]  #: what the units pass: paths of torch's modules, names of functions in forward code
    carriers: tuple[Link, ...]  #: batch norms and PReLUs with entries for each unit
    consumers: tuple[Link, ...]  #: layers that take the units
    cost: int  #: parameters that one more unit costs
    reason: str = ""  #: why it cannot grow; "" where it can

    def widened(self, k: int) -> Place:
        """The place with k more units."""
        carriers = tuple(link.widened(k) for link in self.carriers)
        consumers = tuple(link.widened(k) for link in self.consumers)
        return replace(self, width=self.width + k, carriers=carriers, consumers=consumers)


def get_layer(model: nn.Module, path: str) -> nn.Module:
    """The layer at a path that a place names."""
    try:
        return model.get_submodule(path)
    except AttributeError:
        raise InputError(f"where: the model has no {path!r} any more; call places(model) again") from None


def check_place(model: nn.Module, place: Place) -> None:
    """Refuse a place that cannot grow, or is of another model or an earlier state of this one."""
    if place.reason:
        raise InputError(f"where: {place.name!r} cannot change its width: {place.reason}")
    producer = get_layer(model, place.name)
    found = {
        place.name: getattr(producer, output_tensors(producer).counter) if isinstance(producer, AFFINE_LAYERS) else None
    }
    expected = {place.name: place.width}
    for link in (*place.carriers, *place.consumers):
        layer = get_layer(model, link.path)
        known = isinstance(layer, (*AFFINE_LAYERS, *CARRIER_LAYERS))
        found[link.path] = getattr(layer, input_tensors(layer).counter) if known else None
        expected[link.path] = link.size
    for path, size in expected.items():
        if found[path] != size:
            raise InputError(
                f"where: {path!r} has {found[path]} units, {size} when the place was found; call places(model) again, "
                "or go on with the place of the last edit's certificate"
            )


def unit_cost(model: nn.Module, name: str, links: tuple[Link, ...]) -> int:
    """Parameters that one more unit costs."""
    producer = model.get_submodule(name)
    total = sum(_per_entry(producer, tensor, axis) for tensor, axis in output_tensors(producer).tensors)
    for link in links:
        layer = model.get_submodule(link.path)
        total += link.per_unit * sum(_per_entry(layer, tensor, axis) for tensor, axis in input_tensors(layer).tensors)
    return total


def _per_entry(layer: nn.Module, name: str, axis: int) -> int:
    parameter = layer._parameters.get(name)
    return 0 if parameter is None else parameter.numel() // parameter.shape[axis]
