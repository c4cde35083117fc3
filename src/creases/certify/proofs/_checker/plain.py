"""A network as the checker reads it: steps with weights as numpy arrays in float64."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

from creases.certify.proofs._spec import Array

if TYPE_CHECKING:
    from creases.network import Network


@dataclass(frozen=True, eq=False)
class PlainStep:
    """A step, as :class:`creases._program.Step` describes it."""

    op: str
    inputs: tuple[int, ...]  #: 0 is the network's input, ``i + 1`` the output of step ``i``
    shape: tuple[int, ...]  #: of its output
    options: dict[str, Any]
    arrays: dict[str, Array]  #: its weights
    path: str  #: where it comes from, for messages


@dataclass(frozen=True, eq=False)
class PlainNetwork:
    """A network as a list of steps."""

    steps: tuple[PlainStep, ...]
    input_shape: tuple[int, ...]
    link: str = ""  #: what the model applies to these outputs, such as "softmax"

    @cached_property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Shapes of the input and of each step's output."""
        return (self.input_shape, *(step.shape for step in self.steps))

    @property
    def n_in(self) -> int:
        """Number of inputs."""
        return prod(self.input_shape)

    @property
    def n_out(self) -> int:
        """Number of outputs."""
        return prod(self.shapes[-1])

    @property
    def entries(self) -> int:
        """Entries of all steps' matrices, if each were written as one."""
        sizes = [prod(shape) for shape in self.shapes]
        return sum(sizes[k + 1] * sum(sizes[i] for i in step.inputs) for k, step in enumerate(self.steps))


def to_plain(net: Network | PlainNetwork) -> PlainNetwork:
    """Return a network as the checker reads it."""
    if isinstance(net, PlainNetwork):
        return net
    import torch

    work = net.to("cpu").to(torch.float64)
    steps = [
        PlainStep(
            step.op,
            step.inputs,
            step.shape,
            step.options,
            {name: tensor.detach().numpy() for name, tensor in step.tensors.items()},
            step.path,
        )
        for step in work.steps
    ]
    return PlainNetwork(tuple(steps), work.input_shape, work.link)
