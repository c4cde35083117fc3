"""Places: the hidden widths of a model that can change."""

from __future__ import annotations

from dataclasses import dataclass, replace

from torch import nn

from creases._text import plural
from creases.errors import InputError
from creases.network.surgery._layers import AFFINE_LAYERS, CARRIER_LAYERS, input_tensors, output_tensors
from creases.network.surgery._link import Link

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
    producer = get_layer(model, place.name)
    actual = {
        place.name: getattr(producer, output_tensors(producer).counter) if isinstance(producer, AFFINE_LAYERS) else None
    }
    expected = {place.name: place.width}
    for link in (*place.carriers, *place.consumers):
        layer = get_layer(model, link.path)
        known = isinstance(layer, (*AFFINE_LAYERS, *CARRIER_LAYERS))
        actual[link.path] = getattr(layer, input_tensors(layer).counter) if known else None
        expected[link.path] = link.size
    for path, size in expected.items():
        if actual[path] != size:
            raise InputError(
                "place", "be up to date", f"{path!r} with {plural(size, 'unit')}, now {actual[path]}", _REFRESH
            )


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
