"""A program: the steps that compute a network, with the shapes and numbers that follow from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from creases._program._step import Step
from creases._text import plural
from creases.errors import InputError

PointsLike = Tensor | NDArray[Any] | Sequence[Any]  #: points as numbers in any container: arrays, tensors, lists

#: What may follow the outputs of a program in the model: it keeps the order of scores.
LINKS = ("softmax", "log_softmax", "sigmoid", "log_sigmoid")


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Program:
    """A continuous piecewise-linear function as a list of affine steps and bends.

    Everything that analyses a function works on programs; :class:`creases.network.Network` is a program with methods
    for users.
    """

    steps: tuple[Step, ...]
    input_shape: tuple[int, ...]  #: shape of one input, without the batch axis
    link: str  #: what the model applies to these outputs, one of LINKS; "" if nothing

    def __init__(self, steps: Sequence[Step], input_shape: Sequence[int], link: str = "") -> None:
        object.__setattr__(self, "steps", tuple(steps))
        object.__setattr__(self, "link", link)
        object.__setattr__(self, "input_shape", tuple(int(n) for n in input_shape))

    def __repr__(self) -> str:
        shapes = f"{'x'.join(map(str, self.input_shape))} -> {'x'.join(map(str, self.output_shape))}"
        counts = f"{plural(len(self.bends), 'bend')}, {plural(self.n_units, 'unit')}"
        link = f", scores before {self.link}" if self.link else ""
        return f"{type(self).__name__}({shapes}, {counts}, {str(self.dtype).removeprefix('torch.')}{link})"

    @property
    def output_shape(self) -> tuple[int, ...]:
        """Shape of one output, without the batch axis."""
        return self.steps[-1].shape if self.steps else self.input_shape

    @property
    def n_in(self) -> int:
        """Number of inputs, flattened."""
        return prod(self.input_shape)

    @property
    def n_out(self) -> int:
        """Number of outputs, flattened."""
        return prod(self.output_shape)

    @cached_property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Shape of every value, without the batch axis: the input's, then that of each step's output."""
        return (self.input_shape, *(step.shape for step in self.steps))

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Number of entries of every value, in the order of ``shapes``: the memory that each point needs."""
        return tuple(map(prod, self.shapes))

    @cached_property
    def last_uses(self) -> tuple[tuple[int, ...], ...]:
        """Values that no step after this one reads, for each step."""
        last = {value: i for i, step in enumerate(self.steps) for value in step.inputs}
        return tuple(
            tuple(value for value in set(step.inputs) if last[value] == i) for i, step in enumerate(self.steps)
        )

    @cached_property
    def bends(self) -> tuple[int, ...]:
        """Indices of the steps that are bends."""
        return tuple(i for i, step in enumerate(self.steps) if step.is_bend)

    @cached_property
    def unit_starts(self) -> NDArray[np.int64]:
        """First unit of each bend, and the number of all units at the end: (bends + 1,)."""
        return np.cumsum([0, *(prod(self.steps[i].shape) for i in self.bends)])

    @property
    def n_units(self) -> int:
        """Number of units of all bends."""
        return int(self.unit_starts[-1])

    @cached_property
    def candidates(self) -> tuple[int, ...]:
        """Number of sides of each bend's units: 2, or the K candidates of a choice."""
        return tuple(2 if self.steps[i].op == "relu" else self.shapes[self.steps[i].inputs[0]][-1] for i in self.bends)

    @cached_property
    def dtype(self) -> torch.dtype:
        """Floating-point type of the weights; float64 if there are none."""
        for step in self.steps:
            for tensor in step.tensors.values():
                if tensor.is_floating_point():
                    return tensor.dtype
        return torch.float64

    @cached_property
    def device(self) -> torch.device:
        """Device of the weights."""
        for step in self.steps:
            for tensor in step.tensors.values():
                return tensor.device
        return torch.device("cpu")

    def to(self, target: torch.device | torch.dtype | str) -> Self:
        """Return the same function on another device or in another dtype."""
        if isinstance(target, torch.dtype) and not target.is_floating_point:
            raise InputError("target", "be a device or a floating-point dtype such as torch.float64", f"{target}")
        tensors = [tensor for step in self.steps for tensor in step.tensors.values()]
        if isinstance(target, torch.dtype):
            is_there = all(tensor.dtype == target or not tensor.is_floating_point() for tensor in tensors)
        else:
            is_there = target == "cpu" and all(tensor.device.type == "cpu" for tensor in tensors)
        if is_there:
            return self

        def move(tensor: Tensor) -> Tensor:
            if isinstance(target, torch.dtype):
                return tensor.to(target) if tensor.is_floating_point() else tensor
            return tensor.to(target)

        try:
            steps = [replace(step, tensors={k: move(t) for k, t in step.tensors.items()}) for step in self.steps]
        except (RuntimeError, AssertionError) as error:  # torch raises either for a device that does not exist
            reason = str(error).splitlines()[0]
            raise InputError("target", "be an available device", f"{target!r}", reason) from None
        return type(self)(steps, self.input_shape, self.link)

    def as_batch(self, x: PointsLike, name: str = "x") -> tuple[Tensor, bool]:
        """Return ``x`` as a batch (b, *input_shape) of the weights' device and dtype, and whether it is a single point.

        ``name`` is what errors call the argument.
        """
        try:
            tensor = x if isinstance(x, Tensor) else torch.as_tensor(np.asarray(x, order="C"))  # no negative strides
            if tensor.is_complex() or tensor.is_meta:
                raise TypeError("entries are complex" if tensor.is_complex() else "the tensor has no data")
        except (ValueError, TypeError) as error:
            raise InputError(name, "be an array of numbers", f"{type(x).__name__}: {error}") from None
        shape = tuple(tensor.shape)
        single = shape in (self.input_shape, (self.n_in,))
        if not single and shape[1:] not in (self.input_shape, (self.n_in,)):
            raise InputError(
                name,
                f"have shape {self.input_shape} or (batch, {', '.join(map(str, self.input_shape))}) "
                f"(flattened: {self.n_in} numbers per point)",
                f"{shape}",
            )
        batch = tensor.to(self.device, self.dtype).reshape(-1 if tensor.numel() else 0, *self.input_shape)
        return batch, single


def find_chain_break(steps: Sequence[Step]) -> int | None:
    """Return the number of the first step that is not a linear layer or (leaky) ReLU of the value before it.

    None for a chain: a multilayer perceptron, whose values are vectors.
    """
    for number, step in enumerate(steps):
        if step.op not in ("linear", "relu") or step.inputs != (number,) or len(step.shape) != 1:
            return number
    return None


def check_chain(steps: Sequence[Step], name: str, hint: str) -> None:
    """Raise an InputError about the argument ``name`` unless steps are a chain; ``hint`` says what to use instead."""
    number = find_chain_break(steps)
    if number is None:
        return
    step = steps[number]
    raise InputError(
        name,
        "be a chain of linear layers and (leaky) ReLUs",
        f"{step.op} with output {step.shape} at step {number} ({step.path or 'no path'})",
        hint,
    )
