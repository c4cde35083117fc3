"""Patches: what a filter sees at one position, and at which position of a sample the loss asks most for a change."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from creases.growth.methods._first_order.observation import Observation
from creases.growth.methods._first_order.route import Route

#: How far apart two patches of one sample are, in positions.
APART = 2


@dataclass(frozen=True, eq=False)
class Patch:
    """A patch of one sample."""

    center: tuple[int, ...]  #: row and column in the layer's input, from 0; none where a sample is one vector
    values: Tensor  #: (d,) what a filter sees there, float64
    columns: dict[str, Tensor]  #: by consumer (out, *columns of one unit): the change that the loss asks for there


def strongest_patches(route: Route, observation: Observation, sample: int, count: int) -> list[Patch]:
    """Return the patches of a sample at which the loss's gradient by a new unit's output is largest, apart of another.

    The gradient is that for the outgoing weights of length 1 for which it is largest. Where it is equal, as before a
    flattening, the patch that differs most from the others comes first.
    """
    one = Observation(
        observation.layer_input[sample : sample + 1],
        observation.layer_output[sample : sample + 1],
        {},
        {path: goals[sample : sample + 1] for path, goals in observation.goals.items()},
        0.0,
        1,
    )
    values = route.inputs(one.layer_input)[0].double()  # (d, *positions)
    shape = values.shape[1:]
    energy = _energy(route, one, shape)
    unlike = (values - values.flatten(1).mean(1).reshape(-1, *[1] * len(shape))).square().sum(0)
    order = energy / (energy.max() or 1.0) + 1e-6 * unlike / (unlike.max() or 1.0)
    grid = torch.stack(torch.meshgrid(*map(torch.arange, shape), indexing="ij"), -1).to(order.device)
    patches: list[Patch] = []
    while len(patches) < count and bool(torch.isfinite(order).any()) and float(energy.max()) > 0:
        position = tuple(int(i) for i in torch.unravel_index(order.argmax(), shape))
        if float(energy[position]) <= 0:
            break
        center = _center(route.producer, position) if energy.numel() > 1 else ()
        patches.append(Patch(center, values.movedim(0, -1)[position], _desired_columns(route, one, shape, position)))
        near = (grid - torch.tensor(position, device=grid.device)).abs().amax(-1) < APART
        order = order.masked_fill(near, -torch.inf)
    return patches


def _energy(route: Route, one: Observation, shape: torch.Size) -> Tensor:
    """Return the squared gradient (*positions) of a sample's loss by a unit's output at each position."""
    with torch.enable_grad():
        at = torch.zeros((1, 1, *shape), dtype=torch.float64, device=one.layer_input.device, requires_grad=True)
        arrived = route.propagate_linear(at)
        total = torch.zeros((), dtype=torch.float64, device=at.device)
        for consumer in route.consumers:
            squares = consumer.goals(one.goals[consumer.link.path]).square().sum(1, keepdim=True)
            response = consumer.response(arrived, at.new_ones(1, 1, *consumer.columns_per_unit()))
            total = total + (squares * response.reshape(squares.shape)).sum()
        (energy,) = torch.autograd.grad(total, at)
    return energy[0, 0]


def _desired_columns(route: Route, one: Observation, shape: torch.Size, position: tuple[int, ...]) -> dict[str, Tensor]:
    """Return by consumer the outgoing weights (out, *columns) along the gradient at a position."""
    unit = torch.zeros((1, 1, *shape), dtype=torch.float64, device=one.layer_input.device)
    unit[(0, 0, *position)] = 1
    arrived = route.propagate_linear(unit)
    return {
        consumer.link.path: consumer.correlate(arrived, consumer.goals(one.goals[consumer.link.path]))[:, 0]
        for consumer in route.consumers
    }


def _center(layer: nn.Module, position: tuple[int, ...]) -> tuple[int, ...]:
    """Return the middle of the patch at a position of a layer's output, in its input."""
    if not isinstance(layer, nn.Conv1d | nn.Conv2d):
        return position
    before = layer._reversed_padding_repeated_twice[-2::-2]  # of the first axis first
    sizes = zip(position, layer.stride, before, layer.dilation, layer.kernel_size, strict=True)
    return tuple(i * stride - pad + dilation * (kernel - 1) // 2 for i, stride, pad, dilation, kernel in sizes)
