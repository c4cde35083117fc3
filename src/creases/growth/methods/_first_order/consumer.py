"""A consumer of a place's units: how new units can change its output, as matrices."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.grad import conv2d_weight

from creases.errors import InputError
from creases.growth.methods._first_order.observation import Observation
from creases.growth.methods._first_order.products import product
from creases.network.surgery import Link


@dataclass(frozen=True, eq=False)
class Consumer:
    """A consumer, channel-first: units enter as (n, k, *positions), goals are (n, out, *outputs).

    Three kinds: a linear layer at every position ("linear"), a linear layer after flattening, which has a column for
    each unit and position ("flat"), and a convolution ("conv"), whose outputs see windows of positions. Strides,
    dilation and padding are the layer's own, so that the composite receptive field of two convolutions is exact.
    """

    link: Link
    layer: nn.Module
    kind: str

    @classmethod
    def from_link(cls, twin: nn.Module, link: Link, observation: Observation) -> Consumer:
        """Return the consumer at a link, by the shape of its input."""
        layer = twin.get_submodule(link.path)
        if isinstance(layer, nn.Linear):
            return cls(
                link,
                layer,
                "flat" if observation.consumer_inputs[link.path].ndim == 2 and link.per_unit > 1 else "linear",
            )
        return cls(link, layer, "conv")

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

    def subtract_move(self, goals: Tensor, inputs: Tensor, moves: Tensor) -> Tensor:
        """Return v_goal - dW b_l for a change dW of the weights (m, out), in v_goal's layout and dtype."""
        return (goals.double() - self.move_response(goals, inputs, moves)).to(goals.dtype)

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
        padded, goals, weight = _pad(self.layer, units.double()), goals.double(), self.layer.weight
        assert isinstance(weight, Tensor)
        stride, dilation = _pair(self.layer, "stride"), _pair(self.layer, "dilation")
        shape = (goals.shape[1], units.shape[1], *_pair(self.layer, "kernel_size"))
        pairs: Tensor = conv2d_weight(  # type: ignore[no-untyped-call]
            _flat_image(padded), shape, _flat_image(goals), stride, 0, dilation
        )
        return pairs.reshape(*shape[:2], *weight.shape[2:])

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
        weight = self.layer.weight
        assert isinstance(weight, Tensor)
        return (*weight.shape[2:],) if self.kind == "conv" else (self.link.per_unit,) * (self.kind == "flat")


def check_consumer(model: nn.Module, link: Link) -> None:
    """Refuse a layer that is no consumer of these kinds."""
    layer = model.get_submodule(link.path)
    if not isinstance(layer, nn.Linear | nn.Conv1d | nn.Conv2d):
        raise InputError(
            "place",
            "feed Linear, Conv1d or Conv2d layers only, to be grown by gradients",
            f"{link.path!r} ({type(layer).__name__})",
            "use random units",
        )


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
