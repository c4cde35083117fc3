"""The route of new units from a place to its consumers: their inputs, the bend, and how they enter the consumers.

The route is checked on data: the existing units must reach every consumer by it. Where they do not (a max over
positions, a factor in forward code), first-order growth is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.grad import conv2d_weight
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd
from torch.nn.modules.pooling import _AdaptiveAvgPoolNd, _AvgPoolNd

from creases.errors import InputError
from creases.growth.methods._first_order.observation import Observation, product
from creases.network import Place
from creases.network.surgery import BEND_FUNCTIONS, PASSING_FUNCTIONS, PRELU_SLOPE, Link

#: Layers whose units first-order growth knows.
Layer = nn.Linear | nn.Conv1d | nn.Conv2d


def refuse_place(expected: str, got: str) -> NoReturn:
    """Refuse a place where first-order growth cannot say what a new unit does."""
    raise InputError("place", expected, got, "use random units")


def get_layer(model: nn.Module, path: str, expected: str) -> Layer:
    """Return a layer of a model; refuse one of another kind."""
    layer = model.get_submodule(path)
    if not isinstance(layer, Layer):
        refuse_place(expected, f"{path!r} ({type(layer).__name__})")
    return layer


def get_consumer(model: nn.Module, link: Link) -> Layer:
    """Return the layer at a link that reads units; refuse one that is no consumer of these kinds."""
    return get_layer(model, link.path, "feed Linear, Conv1d or Conv2d layers only, to be grown by gradients")


@dataclass(frozen=True, eq=False)
class Consumer:
    """A consumer, channel-first: units enter as (n, k, *positions), goals are (n, out, *outputs).

    Three kinds: a linear layer at every position ("linear"), a linear layer after flattening, which has a column for
    each unit and position ("flat"), and a convolution ("conv"), whose outputs see windows of positions. Strides,
    dilation and padding are the layer's own, so that the composite receptive field of two convolutions is exact.
    """

    link: Link
    layer: Layer
    kind: str

    @classmethod
    def from_link(cls, twin: nn.Module, link: Link, observation: Observation) -> Consumer:
        """Return the consumer at a link, by the shape of its input."""
        layer = get_consumer(twin, link)
        if not isinstance(layer, nn.Linear):
            return cls(link, layer, "conv")
        is_flat = observation.consumer_inputs[link.path].ndim == 2 and link.per_unit > 1
        return cls(link, layer, "flat" if is_flat else "linear")

    def units(self, inputs: Tensor, width: int) -> Tensor:
        """Return the existing units as they enter, (n, width, positions)."""
        columns = self.link.columns(width).to(inputs.device)
        if self.kind == "conv":
            return inputs[:, columns[:, 0]].flatten(2)
        if self.kind == "flat":
            return inputs[:, columns]
        return inputs[..., columns[:, 0]].reshape(len(inputs), -1, width).transpose(1, 2)

    def goals(self, goals: Tensor, dtype: torch.dtype = torch.float64) -> Tensor:
        """Return v_goal channel-first, (n, out, *outputs); (n, out, 1) for one vector."""
        goals = goals.to(dtype)
        if self.kind == "conv":
            return goals
        return goals.reshape(len(goals), -1, goals.shape[-1]).movedim(-1, 1)

    def move_response(self, like: Tensor, inputs: Tensor, moves: Tensor) -> Tensor:
        """Return dW b_l for a change dW of the weights (m, out), in the layout of its output, float64."""
        moved = (as_rows(self.inputs(inputs)) @ moves).reshape(len(like), -1, len(moves.T))  # (n, outputs, out)
        return (moved.movedim(-1, 1) if self.kind == "conv" else moved).reshape(like.shape)

    def inputs(self, inputs: Tensor) -> Tensor:
        """Return what its weights multiply, b_l with a constant 1 last if it has a bias: (n, m, *outputs), float64."""
        if self.kind == "conv":
            x = windows(self.layer, inputs.double())
        else:
            x = inputs.reshape(len(inputs), -1, inputs.shape[-1]).movedim(-1, 1)
        return x.double() if self.layer.bias is None else append_constant(x)

    def correlate(self, units: Tensor, goals: Tensor) -> Tensor:
        """Return sum_i <goal, weight applied to units> by weight: (out, k, *columns of one unit), float64."""
        if self.kind == "linear":
            return product(as_rows(goals), as_rows(units.flatten(2)))
        if self.kind == "flat":
            return product(goals.flatten(1), units.flatten(1)).reshape(goals.shape[1], units.shape[1], -1)
        padded, goals = _pad(self.layer, units.double()), goals.double()
        stride, dilation = _pair(self.layer, "stride"), _pair(self.layer, "dilation")
        shape = (goals.shape[1], units.shape[1], *_pair(self.layer, "kernel_size"))
        pairs: Tensor = conv2d_weight(  # type: ignore[no-untyped-call]
            _flat_image(padded), shape, _flat_image(goals), stride, 0, dilation
        )
        return pairs.reshape(*shape[:2], *self.layer.weight.shape[2:])

    def response(self, units: Tensor, columns: Tensor) -> Tensor:
        """Return the change (n, out, *outputs) of its output by units with columns (out, k, *columns of one unit)."""
        if self.kind == "linear":
            return (as_rows(units.flatten(2)) @ columns.T).reshape(len(units), -1, len(columns)).movedim(-1, 1)
        if self.kind == "flat":
            return (units.flatten(1) @ columns.flatten(1).T)[:, :, None]
        return convolve(self.layer, units, columns)

    def add_response(self, out: Tensor, units: Tensor, columns: Tensor) -> Tensor:
        """Return its output with the response to units added, in the output's layout and dtype."""
        units, columns = units.to(out.dtype), columns.to(out.dtype)
        if self.kind == "conv":
            return out + self.response(units, columns)
        arrived = as_rows(units.flatten(2)) if self.kind == "linear" else units.flatten(1)
        return torch.addmm(out.reshape(-1, out.shape[-1]), arrived, columns.flatten(1).T).reshape(out.shape)

    def gains(self, units: Tensor, goals: Tensor, columns: Tensor) -> Tensor:
        """Return <goal, response to one unit alone> for each sample and unit, (n, k)."""
        if self.kind == "linear":
            products = (as_rows(goals) @ columns) * as_rows(units.flatten(2))  # (n positions, k)
            return products.reshape(len(units), -1, columns.shape[1]).sum(1)
        with torch.enable_grad():  # linear in the units: the gradient by each unit's values, times these
            at = units.detach().requires_grad_()
            (slope,) = torch.autograd.grad((goals * self.response(at, columns).reshape(goals.shape)).sum(), at)
        return (slope * units).flatten(2).sum(2)

    def columns_per_unit(self) -> tuple[int, ...]:
        """Return the shape of one unit's columns: positions, or the kernel's entries; () for one column."""
        kernel = (*self.layer.weight.shape[2:],)
        return kernel if self.kind == "conv" else (self.link.per_unit,) * (self.kind == "flat")


def convolve(layer: nn.Module, x: Tensor, weight: Tensor) -> Tensor:
    """Return what a convolution of other weights (out, k, *kernel) would give of x (n, k, *positions), without bias."""
    kernel = weight if weight.ndim == 4 else weight[:, :, None]
    change = F.conv2d(_flat_image(_pad(layer, x)), kernel, None, _pair(layer, "stride"), 0, _pair(layer, "dilation"))
    return change if x.ndim == 4 else change[:, :, 0]


def as_rows(x: Tensor) -> Tensor:
    """Return (n, k, *positions) with one row for each sample and position, (n positions, k)."""
    return x.movedim(1, -1).reshape(-1, x.shape[1])


def append_constant(x: Tensor) -> Tensor:
    """Return (n, k, *positions) with a constant 1 after the last entry, (n, k + 1, *positions) in float64."""
    out = x.new_empty((len(x), x.shape[1] + 1, *x.shape[2:]), dtype=torch.float64)
    out[:, :-1] = x
    out[:, -1] = 1
    return out


def windows(layer: nn.Module, x: Tensor) -> Tensor:
    """Return the windows of a convolution (im2col), (n, channels kernel, *output positions)."""
    x = _pad(layer, x)
    flat = F.unfold(
        _flat_image(x), _pair(layer, "kernel_size"), _pair(layer, "dilation"), 0, _pair(layer, "stride")
    )  # (n, channels kernel, positions)
    sizes = zip(
        _flat_image(x).shape[2:],
        _pair(layer, "kernel_size"),
        _pair(layer, "dilation"),
        _pair(layer, "stride"),
        strict=True,
    )
    shape = [(size - dilation * (kernel - 1) - 1) // stride + 1 for size, kernel, dilation, stride in sizes]
    return flat.reshape(*flat.shape[:2], *(shape if x.ndim == 4 else shape[1:]))


def _pad(layer: nn.Module, x: Tensor) -> Tensor:
    assert isinstance(layer, nn.Conv1d | nn.Conv2d)
    mode = "constant" if layer.padding_mode == "zeros" else layer.padding_mode
    return F.pad(x, layer._reversed_padding_repeated_twice, mode)


def _flat_image(x: Tensor) -> Tensor:
    """Return one axis of positions as an image one pixel high."""
    return x if x.ndim == 4 else x[:, :, None]


def _pair(layer: nn.Module, name: str) -> tuple[int, int]:
    value = getattr(layer, name)
    return (value[0], value[1]) if len(value) == 2 else (1, value[0])


Map = Callable[[Tensor], Tensor]

_BEND_MODULES = (
    nn.ReLU, nn.ReLU6, nn.LeakyReLU, nn.PReLU, nn.RReLU, nn.Hardtanh, nn.Hardsigmoid, nn.Hardswish, nn.ELU, nn.SELU,
    nn.CELU, nn.GELU, nn.SiLU, nn.Mish, nn.Softplus, nn.Softsign, nn.Sigmoid, nn.Tanh, nn.Tanhshrink, nn.LogSigmoid,
    nn.Softshrink, nn.Hardshrink, nn.Threshold,
)  # fmt: skip
_TRANSPARENT = (nn.Flatten, nn.Unflatten, nn.Identity, _DropoutNd)  # they do not change a unit's values
_FEW = 100
_TINIEST = 1e-30


class UnitPath:
    """What the units of a place pass on the way to the layers that read them, from modules alone, without data."""

    def __init__(self, model: nn.Module, place: Place) -> None:
        self.model, self.place = model, place
        expected = "be a Linear, Conv1d or Conv2d layer to be grown by gradients"
        self.producer = get_layer(model, place.name, expected)
        for link in place.consumers:
            get_consumer(model, link)
        self._steps: list[tuple[str, Map]] = []  # what units pass, in order: a bend, a norm or a linear map
        self.bend: Map = _identity  # of new units
        for name in place.between:
            self._pass(model, name)
        if sum(kind == "bend" for kind, _ in self._steps) > 1:
            self._refuse("its units pass more than one kind of bend")
        self.value_at_zero, self.right_slope, self.left_slope = self._slopes()

    @property
    def is_smooth(self) -> bool:
        """Return whether the bend has a derivative at 0."""
        return abs(self.right_slope - self.left_slope) <= 1e-12 * max(1.0, abs(self.right_slope))

    @property
    def is_homogeneous(self) -> bool:
        """Return whether the bend doubles where its input doubles, as ReLU does."""
        z = torch.tensor([-3.0, -0.1, 0.1, 3.0], dtype=torch.float64)
        with torch.no_grad():
            return torch.allclose(self.bend(2 * z), 2 * self.bend(z))

    @property
    def has_norm_first(self) -> bool:
        """Return whether units pass a batch norm before their bend."""
        kinds = [kind for kind, _ in self._steps]
        return "norm" in kinds and (kinds.index("norm") < kinds.index("bend") if "bend" in kinds else True)

    @property
    def has_bias(self) -> bool:
        """Return whether units have a bias, the weight of a constant input 1: their layer's, or their norm's."""
        return self.producer.bias is not None or self.has_norm_first

    def _pass(self, twin: nn.Module, name: str) -> None:
        module = dict(twin.named_modules()).get(name)
        if module is None:
            self._pass_function(name)
        elif isinstance(module, _BEND_MODULES):
            self.bend = _bend_of_new_units(module)
            self._steps.append(("bend", module))
        elif isinstance(module, _BatchNorm):
            self._steps.append(("norm", module))
        elif isinstance(module, _AvgPoolNd | _AdaptiveAvgPoolNd):
            self._steps.append(("linear", module))
        elif not isinstance(module, _TRANSPARENT):
            self._refuse(f"its units pass {name!r} ({type(module).__name__}), which is not linear at 0 in each unit")

    def _pass_function(self, name: str) -> None:
        if name in BEND_FUNCTIONS:
            bend: Map | None = getattr(F, name, None) or getattr(torch, name, None)
            if bend is None:
                self._refuse(f"its units pass {name}, which has no function of torch's")
            self.bend = bend
            self._steps.append(("bend", bend))
        elif name == "mean":
            self._steps.append(("linear", lambda z: z.flatten(2).mean(2)))
        elif name not in PASSING_FUNCTIONS and "dropout" not in name:
            self._refuse(f"its units pass {name}, which is not linear at 0 in each unit")

    def _slopes(self) -> tuple[float, float, float]:
        """Return sigma(0), and the derivatives of sigma on both sides of 0."""
        with torch.enable_grad():
            at = torch.tensor([0.0, _TINIEST, -_TINIEST], dtype=torch.float64).requires_grad_()
            value = self.bend(at)
            slope = torch.autograd.grad(value.sum(), at)[0]
        return float(value[0].detach()), float(slope[1]), float(slope[2])

    def _refuse(self, why: str) -> NoReturn:
        refuse_place("be one that can be grown by gradients", f"{self.place.name!r}, where {why}")


class Route(UnitPath):
    """The route from a producer's input to its consumers, for any number of units, checked on an observation.

    Units are channel-first: (n, units, *positions), with one position where the producer is linear and gets one vector
    per sample.
    """

    def __init__(self, twin: nn.Module, place: Place, observation: Observation) -> None:
        super().__init__(twin, place)
        self.consumers = tuple(Consumer.from_link(twin, link, observation) for link in place.consumers)
        self._check_present_units(observation)

    def inputs(self, layer_input: Tensor, dtype: torch.dtype = torch.float64) -> Tensor:
        """Return the inputs of one unit at each position, without the constant: b_{l-1} (n, d, *positions)."""
        x = layer_input.to(dtype)
        if not isinstance(self.producer, nn.Linear):
            return windows(self.producer, x)
        return x.reshape(len(x), -1, x.shape[-1]).movedim(-1, 1) if x.ndim > 2 else x[:, :, None]

    def features(self, layer_input: Tensor) -> Tensor:
        """Return the inputs of one unit at each position, the constant last: b_{l-1} (n, d, *positions) in float64."""
        x = self.inputs(layer_input)
        return append_constant(x) if self.has_bias else x

    def propagate_linear(self, z: Tensor) -> Tensor:
        """Return units (n, k, *positions) as they would reach the consumers without a bend."""
        return self.propagate(z, _identity)

    def propagate(self, z: Tensor, bend: Map) -> Tensor:
        """Return new units (n, k, *positions) as they reach the consumers, with ``bend`` as the bend."""
        for kind, step in self._steps:
            if kind != "norm":  # a batch norm passes new units on as they are: see norm.py
                z = bend(z) if kind == "bend" else step(z)
        return z if z.ndim > 2 else z[:, :, None]

    def propagate_present(self, z: Tensor) -> Tensor:
        """Return the existing units (n, width, *positions) as they reach the consumers."""
        z = z.clone()  # bends may work in place
        for _, step in self._steps:
            z = step(z)
        return z if z.ndim > 2 else z[:, :, None]

    def one_sided_slope(self, z: Tensor) -> Tensor:
        """Return the bend's derivative at 0 in direction z: sigma'(0+) z where z > 0, sigma'(0-) z elsewhere."""
        return z * self.right_slope if self.is_smooth else torch.where(z > 0, self.right_slope * z, self.left_slope * z)

    def mean_fan_out_length(self) -> float:
        """Return the mean length of the existing units' outgoing weights over all consumers; 1 where they are zero."""
        total = torch.zeros(self.place.width, dtype=torch.float64)
        for consumer in self.consumers:
            mine = consumer.link.columns(self.place.width).flatten()
            columns = consumer.layer.weight.detach().double().cpu()[:, mine]
            total += columns.movedim(1, 0).reshape(self.place.width, -1).square().sum(1)
        return float(total.sqrt().mean()) or 1.0

    def layer_weights(self, alpha: Tensor) -> tuple[Tensor, Tensor]:
        """Return incoming weights (k, *one unit's weights) and biases (k,) from columns alpha (d, k)."""
        rows = alpha.T
        bias = rows[:, -1].clone() if self.has_bias else rows.new_zeros(len(rows))
        rows = rows[:, :-1] if self.has_bias else rows
        return rows.reshape(len(rows), *self.producer.weight.shape[1:]).clone(), bias

    def _check_present_units(self, observation: Observation) -> None:
        """Check on the first few samples that the existing units reach the consumers by this route."""
        z = observation.layer_output[:_FEW]
        if isinstance(self.producer, nn.Linear):
            z = z.movedim(-1, 1)
        try:
            z = self.propagate_present(z)
            arrived = [
                consumer.units(observation.consumer_inputs[consumer.link.path][:_FEW], self.place.width)
                for consumer in self.consumers
            ]
            scale = 64 * torch.finfo(z.dtype).eps  # rounding may differ with the layout in memory
            right = all(
                torch.allclose(z.reshape(x.shape), x, rtol=scale, atol=scale * max(float(x.abs().max()), _TINIEST))
                for x in arrived
            )
        except (RuntimeError, TypeError, IndexError):
            right = False
        if not right:
            self._refuse("what lies between it and the next layers is not one bend of each unit's own values")


def _identity(z: Tensor) -> Tensor:
    return z


def _bend_of_new_units(module: nn.Module) -> Map:
    """Return the bend of new units, in float64: PReLU gives each of them torch's initial slope."""
    if isinstance(module, nn.PReLU):
        slope = float(module.weight) if module.num_parameters == 1 else PRELU_SLOPE
        return lambda z: torch.where(z > 0, z, slope * z)
    if getattr(module, "inplace", False):
        return lambda z: module(z.clone())
    return module
