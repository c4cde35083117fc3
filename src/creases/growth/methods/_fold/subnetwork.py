"""A network cut in two at a place: up to the input of its layer, and from there on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from creases._program import apply_sides, propagate, sides_at
from creases._typing import Floats, Ints
from creases.errors import InputError, ReadError
from creases.growth.methods._first_order.route import UnitPath
from creases.growth.methods._first_order.units import check_norm
from creases.network import Network, Place, read
from creases.network.surgery import copy_sharing_parameters, evaluation_mode, get_layer, unwrap_module


@dataclass(frozen=True, eq=False)
class Subnetwork:
    """The network as a function of the input x of a place's layer; :func:`subnetwork_at` returns one.

    For the first layer it is the whole network, and x its input. Everything is in float64.
    """

    net: Network  #: from the layer's input (d,) on
    head: Network  #: from the model's input to the layer's
    layer: int  #: the step of ``net`` that is the place's layer
    bend: int  #: the step that is the relu of its units; a batch norm is before or behind it, or none
    consumer: int  #: the step of ``net`` that takes the place's units

    @property
    def weight(self) -> Floats:
        """Return the units' weights W (width, d): the layer's, with those of a batch norm before the bend."""
        rows = torch.eye(self.net.n_in, dtype=torch.float64)
        for step in self.net.steps[self.layer : self.bend]:
            rows = step.linear([rows])
        return np.asarray(rows.numpy().T)

    @property
    def bias(self) -> Floats:
        """Return the units' biases b (width,)."""
        at_zero = torch.zeros(1, self.net.n_in, dtype=torch.float64)
        for step in self.net.steps[self.layer : self.bend]:
            at_zero = step.apply([at_zero])
        return np.asarray(at_zero.numpy()[0])

    @property
    def row_norm(self) -> float:
        """Return the median length of the layer's rows, 1 where most are zero: the length of a new row."""
        return float(np.median(np.linalg.norm(self.weight, axis=1))) or 1.0

    @property
    def leak(self) -> float:
        """Return the slope of the units' bend on its negative side."""
        leak = self.net.steps[self.bend].leak
        return 0.0 if leak is None else float(leak)

    @property
    def fan_out_size(self) -> int:
        """Return the number of values that a unit feeds."""
        return self.net.steps[self.consumer].shape[0]

    @property
    def feeds_output(self) -> bool:
        """Return whether the units feed the network's output directly."""
        return self.consumer == len(self.net.steps) - 1

    def view(self, x: Floats) -> SubnetworkView:
        """Run inputs (n, d) up to the consumer."""
        hidden: list[Tensor] = []

        def through(i: int, inputs: list[Tensor]) -> Tensor:
            value = self.net.steps[i].apply(inputs)
            if i == self.bend:
                hidden.append(value)
            return value

        with torch.no_grad():
            values = propagate(self.net, {0: torch.from_numpy(x)}, through, stop=self.consumer + 1)
        return SubnetworkView(self, values, hidden[0].numpy())

    def jacobian(self, x: Floats) -> Floats:
        """Return the derivative (m, o) of the outputs at x (d,) by the values of the consumer."""
        eye = np.eye(self.fan_out_size)
        return self.view(x[None]).at(np.zeros(len(eye), np.int64)).slopes(eye).T

    def outputs(self, x: Floats) -> Floats:
        """Return outputs (n, m) at x (n, d)."""
        return self.view(x).outputs()


@dataclass(frozen=True, eq=False)
class SubnetworkView:
    """A subnetwork at n inputs of its layer, run up to the consumer: what is behind costs little to run again."""

    subnet: Subnetwork
    values: Mapping[int, Tensor]  #: by number: those that the steps behind the consumer read
    hidden: Floats  #: (n, width) values of the units

    @property
    def features(self) -> Floats:
        """Return the features (n, f) of the consumer: the units' values, and 1 if it or a norm before has a bias."""
        taker = self.subnet.net.steps[self.subnet.consumer]
        if taker.offset is None and self.subnet.net.steps[taker.inputs[0] - 1].offset is None:
            return self.hidden
        return np.column_stack([self.hidden, np.ones(len(self.hidden))])

    def at(self, rows: Ints) -> SubnetworkView:
        """Return the view of some of the inputs."""
        index = torch.from_numpy(rows)
        values = {number: value[index] for number, value in self.values.items()}
        return SubnetworkView(self.subnet, values, self.hidden[rows])

    def slopes(self, v: Floats) -> Floats:
        """Return the derivative (n, m) of the outputs along a change v, (n, o) or (o,), of the consumer."""
        net, n, start = self.subnet.net, len(self.hidden), self.subnet.consumer + 1
        change = torch.from_numpy(np.broadcast_to(v, (n, self.subnet.fan_out_size)).copy())

        def through(i: int, inputs: list[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
            step, values = net.steps[i], [value for value, _ in inputs]
            value = step.apply(values)
            if step.is_bend:
                return value, apply_sides(step.op, inputs[0][1], sides_at(step.op, values[0]), step.leak)
            return value, step.linear([slope for _, slope in inputs])

        known = {
            number: (value, change if number == start else torch.zeros_like(value))
            for number, value in self.values.items()
        }
        with torch.no_grad():
            _, slope = propagate(net, known, through, start=start)[len(net.steps)]
        return np.asarray(slope.reshape(n, net.n_out).numpy())

    def gradients(self, errors: Floats) -> Floats:
        """Return the derivative (n, o) by the consumer's values of ``(errors * outputs).sum()``.

        ``errors``: (n, m), or (n, 2) for the logits (0, f) of one output f.
        """
        net, start, known = self.subnet.net, self.subnet.consumer + 1, dict(self.values)
        weights = torch.from_numpy(errors[:, -net.n_out :].copy())
        with torch.enable_grad():
            known[start] = known[start].detach().requires_grad_()
            leaf = known[start]
            value = propagate(net, known, lambda i, inputs: net.steps[i].apply(inputs), start=start)[len(net.steps)]
            (gradient,) = torch.autograd.grad((value.reshape(len(weights), -1) * weights).sum(), [leaf])
        return np.asarray(gradient.numpy())

    def outputs(self, added: Floats | None = None) -> Floats:
        """Return outputs (n, m), with ``added`` (n, o) added to the values of the consumer."""
        net, start, known = self.subnet.net, self.subnet.consumer + 1, dict(self.values)
        if added is not None:
            known[start] = known[start] + torch.from_numpy(added)
        with torch.no_grad():
            value = propagate(net, known, lambda i, inputs: net.steps[i].apply(inputs), start=start)[len(net.steps)]
        return np.asarray(value.reshape(len(self.hidden), net.n_out).numpy())


def check_place(model: nn.Module, place: Place) -> None:
    """Refuse places whose modules show that they cannot be folded."""
    refuse = partial(_refusal, place)
    producer = get_layer(model, place.name)
    if not isinstance(producer, nn.Linear):
        raise refuse(f"it is a {type(producer).__name__}, whose units bend at many patches; use how='random' there")
    if len(place.carriers) > place.norm:
        raise refuse("its units have a slope of their own (PReLU) or two batch norms, which would turn with training")
    if len(place.consumers) != 1 or place.consumers[0].size != place.width:
        raise refuse("its units are joined with others, or several layers take them; fold takes one linear layer")
    try:
        path = UnitPath(model, place)
    except InputError:
        path = None  # reading the network shows what its units pass
    if producer.bias is None and not (path and path.has_norm_first):
        raise refuse("it has no bias, so its creases all pass through 0")
    if path is not None:
        check_norm(path)
        if path.is_smooth or path.value_at_zero:
            raise refuse(f"its bend ({place.bend or 'none'}) has no crease at 0")


def can_fold(model: nn.Module, place: Place, input_shape: Sequence[int]) -> bool:
    """Return whether units can be folded into a place of a model, in training or wrapped, of that input shape."""
    try:
        check_place(unwrap_module(model), place)
        subnetwork_at(copy_sharing_parameters(unwrap_module(model)), place, input_shape)
    except (InputError, ReadError):
        return False
    return True


def subnetwork_at(model: nn.Module, place: Place, input_shape: Sequence[int] | None = None) -> Subnetwork:
    """Return the network from a place on; refuse places where a crease cannot pass through a chosen point.

    The place must be a linear layer with bias, followed by a (leaky) relu of each unit and one linear layer.
    """
    check_place(model, place)
    refuse = partial(_refusal, place)
    with evaluation_mode(model):
        net = read(model, input_shape).to(torch.float64)
    layer = _step(net, place.name, refuse)
    norms = {link.path for link in place.carriers}
    bend = _only_reader(net, layer, norms)
    leak = None if bend is None else net.steps[bend].leak
    is_relu = bend is not None and net.steps[bend].op == "relu" and (leak is None or leak.numel() == 1)
    if bend is None or not is_relu or any(step.path not in norms for step in net.steps[layer + 1 : bend]):
        raise refuse(f"its bend ({place.bend or 'none'}) is not a relu of each unit alone")
    taker = _only_reader(net, bend, norms)
    if taker is None or net.steps[taker].path != place.consumers[0].path or len(net.steps[taker].shape) != 1:
        raise refuse("more than a linear layer takes its units")
    start = net.steps[layer].inputs[0]
    if len(net.shapes[start]) != 1:
        raise refuse(f"it is applied at {net.shapes[start][:-1]} positions of its input; fold takes one")
    for step in net.steps[start:]:
        if any(value < start for value in step.inputs):
            raise refuse(f"{step.path!r} also reads what comes before it, so its input does not settle the output")
    moved = [replace(step, inputs=tuple(value - start for value in step.inputs)) for step in net.steps[start:]]
    head = Network(net.steps[:start], net.input_shape)
    return Subnetwork(Network(moved, net.shapes[start]), head, layer - start, bend - start, taker - start)


def _refusal(place: Place, why: str) -> InputError:
    return InputError("place", "be one that can be folded", f"{place.name!r}: {why}")


def _step(net: Network, path: str, refuse: Callable[[str], InputError]) -> int:
    steps = [i for i, step in enumerate(net.steps) if step.path == path and step.op == "linear"]
    if len(steps) != 1:
        raise refuse(f"the model uses it {len(steps)} times; fold takes a layer that is used once")
    return steps[0]


def _only_reader(net: Network, step: int, norms: Collection[str]) -> int | None:
    """Return the only step that reads a step, behind batch norms; None where there are several or none."""
    readers = [i for i, other in enumerate(net.steps) if step + 1 in other.inputs]
    if len(readers) != 1:
        return None
    return _only_reader(net, readers[0], norms) if net.steps[readers[0]].path in norms else readers[0]


def layer_inputs(subnet: Subnetwork, X: Any) -> tuple[Floats, Floats]:
    """Return the model's inputs X as numbers (n, n_in), and the inputs of the place's layer (n, d)."""
    batch, single = subnet.head.as_batch(X, "X")
    if single or not len(batch):
        raise InputError("X", f"be a batch of inputs (n, *{subnet.head.input_shape})", "one alone or none")
    if not torch.isfinite(batch).all():
        raise InputError("X", "be finite", hint="remove NaN and infinite entries, or fill them in")
    data = torch.as_tensor(np.asarray(X) if not isinstance(X, Tensor) else X).detach().cpu().to(torch.float64)
    values = subnet.head(data.reshape(batch.shape))
    return data.reshape(len(batch), -1).numpy(), np.ascontiguousarray(values.reshape(len(batch), -1).numpy())
