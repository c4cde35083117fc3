"""A place with what reductions need to know: its rows, the columns that read it, and the bounds of its units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn

from creases._program import Step
from creases.certify.propagation import Interval
from creases.network import Network, Place
from creases.network.surgery import Link, get_layer, input_tensors, output_tensors

#: Operators with rows and columns.
LAYERS = ("linear", "conv", "conv_transpose")

#: Operators without weights that treat all units alike and preserve multiples.
UNIFORM = (
    "relu", "choice", "gather", "reshape", "permute", "avg_pool", "adaptive_avg_pool", "concat", "pad", "sum",
    "interpolate",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Reader:
    """A layer that reads the units of a place."""

    link: Link
    layer: nn.Module
    value: int  #: number of the value that enters it
    output: int  #: number of its output value
    entering: Interval  #: bounds of its input
    axis: int  #: axis of its input that counts columns
    columns: Tensor  #: (width, per_unit) of each unit

    @property
    def weight(self) -> Tensor:
        """The weight in float64, columns first: (columns, out, *kernel)."""
        return _double(self.layer.weight).movedim(input_tensors(self.layer).weight_axis, 0)

    def stored(self, weight: Tensor) -> Tensor:
        """Return a weight in the order of :attr:`weight` in the layer's own shape and precision."""
        return _like(weight.movedim(0, input_tensors(self.layer).weight_axis), self.layer.weight)

    @property
    def bias(self) -> Tensor:
        """The bias (out,) in float64; zeros if the layer has none."""
        return _bias(self.layer)

    def by_unit(self, value: Tensor) -> Tensor:
        """Return the entries of an input, (*shape) or (n, *shape), by unit: (width, per_unit, positions)."""
        batch = value.ndim - self.entering.low.ndim
        return value.movedim(batch + self.axis, 0).reshape(self.link.size, -1)[self.columns]

    def change(self, by_output: Tensor) -> Tensor:
        """Return a change of each channel (out,), the same at all positions, in the shape of the layer's output."""
        behind = self.entering.low.ndim - 1 - self.axis
        return by_output.reshape(-1, *[1] * behind)


class Between(NamedTuple):
    """What lies between the units and their readers."""

    same: Literal["multiples", "equal", "nothing"]  #: which relation of two units is preserved
    factor: Tensor  #: (width,) of a batch norm before the bend; ones without
    shift: Tensor  #: (width,) of that batch norm; zeros without
    slopes: Tensor  #: (width, 1) slopes of bends on the negative side: they must agree in duplicate units
    gain: float  #: largest factor by which a difference of two units grows


@dataclass(frozen=True, eq=False)
class Site:
    """A place with its layers, their weights and bounds."""

    place: Place
    producer: nn.Module
    entering: Interval  #: bounds of the producer's input
    before: Interval  #: bounds of the producer's output
    value: int  #: number of the producer's output value
    axis: int  #: axis of that value that counts units
    readers: tuple[Reader, ...]
    between: Between
    bend: Step | None  #: the only thing between two linear layers, a bend with two sides; else None

    @classmethod
    def from_place(cls, model: nn.Module, net: Network, bounds: list[Interval], place: Place) -> Site | None:
        """Find a place in a network; None if its layers are not single steps of it."""
        layers: dict[str, list[int]] = {}
        for i, step in enumerate(net.steps):
            if step.op in LAYERS:
                layers.setdefault(step.path, []).append(i)
        paths = [place.name, *(link.path for link in place.consumers)]
        if any(len(layers.get(path, [])) != 1 for path in paths):
            return None
        (i,) = layers[place.name]
        step = net.steps[i]
        readers = tuple(_reader(model, net, layers[link.path][0], bounds, link, place) for link in place.consumers)
        return cls(
            place=place,
            producer=get_layer(model, place.name),
            entering=bounds[step.inputs[0]],
            before=bounds[i + 1],
            value=i + 1,
            axis=_axis(step, step.shape),
            readers=readers,
            between=_between(net, i + 1, readers, place),
            bend=_only_bend(net, i + 1, readers, place.width),
        )

    def rows(self) -> Tensor:
        """Return each unit's weights and bias before its bend, batch norm included: (width, inputs + 1), float64."""
        weight = _double(self.producer.weight).movedim(output_tensors(self.producer).weight_axis, 0).flatten(1)
        both = torch.cat([weight, _bias(self.producer)[:, None]], dim=1) * self.between.factor[:, None]
        both[:, -1] += self.between.shift
        return both

    def row_sizes(self) -> Tensor:
        """Return the largest magnitude (inputs,) of the input of each weight of a row, in the order of :meth:`rows`."""
        size = self.entering.size
        if isinstance(self.producer, nn.Linear):
            return size.flatten(0, -2).amax(0) if size.ndim > 1 else size
        channels = size.flatten(1).amax(1)
        kernel = self.producer.weight[0, 0].numel()  # type: ignore[index]
        return channels.repeat_interleave(kernel)

    def zero_at(self, values: list[Tensor]) -> Tensor:
        """Return whether each unit (width,) is zero at all samples, from the values (n, *shape) of the network."""
        parts = [(reader.by_unit(values[reader.value]) == 0).flatten(1).all(1) for reader in self.readers]
        return torch.stack(parts).all(0)

    def one_sided_at(self, values: list[Tensor]) -> Tensor:
        """Return whether each unit (width,) keeps its sign before its only bend at all samples."""
        z = values[self.value].movedim(self.axis + 1, 0).reshape(self.place.width, -1)
        return ((z >= 0).all(1) | (z <= 0).all(1)) & (self.bend is not None)

    def one_sided(self) -> tuple[Tensor, Tensor]:
        """Return which units (width,) are proved active in all of the box, and which are proved inactive."""
        low, high = (end.movedim(self.axis, 0).reshape(self.place.width, -1) for end in self.before)
        return (low >= 0).all(1), (high <= 0).all(1)


def _reader(model: nn.Module, net: Network, i: int, bounds: list[Interval], link: Link, place: Place) -> Reader:
    value = net.steps[i].inputs[0]
    axis = _axis(net.steps[i], net.shapes[value])
    return Reader(link, get_layer(model, link.path), value, i + 1, bounds[value], axis, link.columns(place.width))


def _axis(step: Step, shape: tuple[int, ...]) -> int:
    return len(shape) - 1 if step.op == "linear" else 0


def _between(net: Network, producer: int, readers: tuple[Reader, ...], place: Place) -> Between:
    width = place.width
    factor, shift = torch.ones(width, dtype=torch.float64), torch.zeros(width, dtype=torch.float64)
    same: Literal["multiples", "equal", "nothing"] = "multiples"
    slopes, gain, bent, inside = [torch.zeros(width, 1, dtype=torch.float64)], 1.0, False, {producer}
    ends = {reader.output for reader in readers}
    norms = {link.path: link for link in place.carriers}
    for i, step in enumerate(net.steps):
        if i + 1 in ends or not inside & set(step.inputs):
            continue
        inside.add(i + 1)
        bent |= step.is_bend
        if step.op == "scale" and step.path in norms and norms[step.path].per_unit == 1 and not bent:
            entries = norms[step.path].columns(width)[:, 0]
            part = step.tensors["factor"].reshape(-1)[entries]
            offset = step.offset
            added = torch.zeros_like(part) if offset is None else offset.reshape(-1)[entries]
            factor, shift = factor * part, shift * part + added
            continue
        scalar = step.op not in ("linear", "matmul", *LAYERS) and all(t.numel() == 1 for t in step.tensors.values())
        if (step.op not in UNIFORM and not (step.op == "scale" and scalar)) or step.offset is not None:
            same = "equal" if scalar and same != "nothing" else "nothing"
        if not step.is_bend:
            ones = [torch.ones(1, *net.shapes[value], dtype=torch.float64) for value in step.inputs]
            gain *= max(1.0, float(step.linear_magnitude(ones).max()))
        if step.leak is not None:
            if step.path in norms:  # a PReLU with a slope for each unit
                slopes.append(step.leak.reshape(-1)[norms[step.path].columns(width)].reshape(width, -1))
            elif step.leak.numel() > 1:
                same = "nothing"
            gain *= max(1.0, float(step.leak.abs().max()))
    return Between(same, factor, shift, torch.cat(slopes, dim=1), gain)


def _only_bend(net: Network, producer: int, readers: tuple[Reader, ...], width: int) -> Step | None:
    """Return the bend between two linear layers, if nothing else lies between them."""
    users = [i for i, step in enumerate(net.steps) if producer in step.inputs]
    if len(users) != 1 or net.steps[users[0]].op != "relu" or len(readers) != 1:
        return None
    (reader,) = readers
    plain = net.steps[producer - 1].op == net.steps[reader.output - 1].op == "linear" and len(net.shapes[producer]) == 1
    return net.steps[users[0]] if plain and reader.value == users[0] + 1 and reader.link.size == width else None


def _double(tensor: object) -> Tensor:
    assert isinstance(tensor, Tensor)
    return tensor.detach().double().cpu()


def _like(tensor: Tensor, like: object) -> Tensor:
    assert isinstance(like, Tensor)
    return tensor.to(like.device, like.dtype)


def _bias(layer: nn.Module) -> Tensor:
    if layer.bias is None:
        return torch.zeros(int(getattr(layer, output_tensors(layer).counter)), dtype=torch.float64)
    return _double(layer.bias)
