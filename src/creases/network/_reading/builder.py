"""The builder of a program: it adds steps while a model is read, and runs each at once on example values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
import torch
from torch import Tensor

from creases._program._step import Step
from creases.errors import ReadError

Const = Tensor | float | int | bool


@dataclass(frozen=True, eq=False)
class Value:
    """A value of the program being built: its number, and its entries at the example inputs."""

    number: int
    example: Tensor  #: (batch, *shape), float64

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape without the batch axis."""
        return tuple(self.example.shape[1:])

    @property
    def size(self) -> int:
        """Number of entries, without the batch axis."""
        return prod(self.shape)


class ProgramBuilder:
    """Builds a program step by step. Methods that add steps return the resulting value."""

    def __init__(self, example: Tensor) -> None:
        self.steps: list[Step] = []
        self.input = Value(0, example)
        self.path = ""  #: the place in the model that new steps come from

    @property
    def batch(self) -> int:
        """Number of example inputs."""
        return len(self.input.example)

    def error(self, why: str) -> ReadError:
        """Return an error that says why an operation cannot be read; the reader adds its place."""
        return ReadError(why)

    def emit(
        self, op: str, inputs: Sequence[Value], options: dict[str, Any] | None = None, **parts: Tensor | None
    ) -> Value:
        """Add a step and run it on the examples; the batch axes of several inputs must line up."""
        if len({len(value.shape) for value in inputs}) > 1:
            shapes = " and ".join(f"(batch, *{value.shape})" for value in inputs)
            why = f"values of shapes {shapes} have different numbers of axes, so their batch axes do not line up"
            raise self.error(why)
        tensors = {name: _detached_copy(tensor) for name, tensor in parts.items() if tensor is not None}
        for name, tensor in tensors.items():
            if not torch.isfinite(tensor).all():
                raise self.error(f"the {name} of this step has NaN or infinite entries; weights must be finite")
        numbers = tuple(value.number for value in inputs)
        step = Step(op, numbers, (), options or {}, tensors, self.path)
        example = step.apply([value.example for value in inputs])
        self.steps.append(replace(step, shape=tuple(example.shape[1:])))
        return Value(len(self.steps), example)

    def needed_steps(self, output: Value) -> list[Step]:
        """Return the steps that an output depends on, renumbered."""
        needed = {output.number}
        for number in range(output.number, 0, -1):
            if number in needed:
                needed.update(self.steps[number - 1].inputs)
        order = [number for number in sorted(needed) if number]
        new = {0: 0} | {number: i + 1 for i, number in enumerate(order)}
        return [
            replace(step, inputs=tuple(new[n] for n in step.inputs))
            for step in (self.steps[number - 1] for number in order)
        ]

    # -- constants ----------------------------------------------------------------------------------------------------

    def constant(self, c: Const, like: Value) -> Tensor:
        """Return a constant operand of the value ``like`` without a batch axis, in float64."""
        tensor = _detached_copy(c if isinstance(c, Tensor) else torch.tensor(c, dtype=torch.float64)).to(torch.float64)
        axes = like.example.ndim
        if tensor.ndim > axes:
            raise self.error(
                f"a constant of shape {tuple(tensor.shape)} is combined with a value of shape (batch, *{like.shape}), "
                "so the batch axis would not remain first"
            )
        if tensor.ndim < axes:
            return tensor
        if len(tensor) not in (1, self.batch) or not (tensor == tensor[:1]).all():
            raise self.error(f"a constant of shape {tuple(tensor.shape)} is not the same for every sample of a batch")
        return tensor[0]

    def fill(self, c: Tensor) -> Value:
        """Add a value that is the constant ``c`` (without batch axis) at every input."""
        index = torch.zeros(c.shape, dtype=torch.int64)
        zero = self.emit("gather", [self.input], index=index)
        return self.emit("scale", [zero], factor=torch.zeros((), dtype=torch.float64), offset=c.to(torch.float64))

    # -- affine -------------------------------------------------------------------------------------------------------

    def scale(self, x: Value, factor: Const, offset: Tensor | None = None) -> Value:
        """Add ``factor x + offset``; a factor of 1 without offset adds no step."""
        c = self.constant(factor, x)
        if offset is None and bool((c == 1).all()) and np.broadcast_shapes(tuple(c.shape), x.shape) == x.shape:
            return x
        return self.emit("scale", [x], factor=c, offset=offset)

    def shift(self, x: Value, c: Const, sign: int = 1) -> Value:
        """Add ``sign x + c``."""
        offset = self.constant(c, x)
        shape = np.broadcast_shapes(tuple(offset.shape), x.shape)
        if shape != x.shape:
            x = self.move(x, lambda index: index.expand(len(index), *shape))
        if sign == 1 and not offset.any():
            return x
        return self.emit("add", [x], {"signs": [sign]}, offset=offset)

    def add(self, values: Sequence[Value], signs: Sequence[int]) -> Value:
        """Add a signed sum of values; their batch axes must line up."""
        return self.emit("add", values, {"signs": list(signs)})

    def reshape(self, x: Value, shape: Sequence[int]) -> Value:
        """Change the shape; ``shape`` does not count the batch."""
        shape = [int(n) for n in shape]
        return x if tuple(shape) == x.shape else self.emit("reshape", [x], {"shape": shape})

    def permute(self, x: Value, dims: Sequence[int]) -> Value:
        """Reorder the axes; ``dims`` does not count the batch."""
        dims = list(dims)
        return x if dims == sorted(dims) else self.emit("permute", [x], {"dims": dims})

    def gather(self, x: Value, index: Tensor) -> Value:
        """Select entries of the flattened value; an index that amounts to a reshape becomes one."""
        if index.numel() == x.size and torch.equal(index.flatten(), torch.arange(x.size)):
            return self.reshape(x, index.shape)
        return self.emit("gather", [x], index=index)

    def move(self, x: Value, function: Callable[[Tensor], Any]) -> Any:
        """Rearrange entries as a function does, which is found by applying it to the entries' indices.

        ``function`` may return a tensor or a tuple or list of them; so does this method.
        """
        out = function(self.numbers(x).double())
        return self.select(x, out) if isinstance(out, Tensor) else tuple(self.select(x, part) for part in out)

    def numbers(self, x: Value) -> Tensor:
        """Return the numbers of a value's entries in the batch, sample * size + entry: (batch, *shape)."""
        return torch.arange(self.batch * x.size).reshape(self.batch, *x.shape)

    def select(self, x: Value, numbers: Tensor) -> Value:
        """Select entries by their numbers in the batch, (batch, ...)."""
        shape = tuple(numbers.shape)
        if not shape or shape[0] != self.batch:
            raise self.error(f"the batch axis must remain first, but a batch of {self.batch} becomes {shape}")
        first = torch.arange(self.batch, dtype=torch.float64) * x.size
        index = numbers - first.reshape(-1, *(1,) * (len(shape) - 1))
        if not ((index >= 0) & (index < max(x.size, 1)) & (index == index[:1])).all():
            raise self.error("entries move between the samples of a batch; the batch axis must remain first")
        return self.gather(x, index[0].long())

    def linear(self, x: Value, weight: Tensor, bias: Tensor | None = None) -> Value:
        """Apply ``weight`` (out, in) along the last axis."""
        return self.emit("linear", [x], weight=weight, offset=bias)

    def dense(self, x: Value, function: Callable[[Tensor], Tensor], max_entries: int = 2**24) -> Value:
        """Apply a linear function as a dense matrix, which is found by applying it to unit vectors."""
        basis = torch.eye(x.size, dtype=torch.float64).reshape(x.size, *x.shape)
        out = function(basis)
        if out.ndim == 0 or len(out) != x.size:
            raise self.error("the batch axis must remain first")
        mapped = torch.einsum("bi,i...->b...", x.example.flatten(1), out)
        if function(x.example).shape != mapped.shape or not torch.allclose(function(x.example), mapped):
            raise self.error("acts along the batch axis, so a sample's output depends on the others")
        if out.numel() > max_entries:
            raise self.error(f"this operation would need a dense matrix of {out.numel()} entries; use a Linear or Conv")
        flat = self.linear(self.reshape(x, (x.size,)), out.reshape(x.size, -1).T)
        return self.reshape(flat, out.shape[1:])

    # -- bends --------------------------------------------------------------------------------------------------------

    def relu(self, x: Value, leak: Const = 0.0) -> Value:
        """Add a leaky ReLU: ``x`` where it is positive, ``leak x`` elsewhere; a leak of 1 adds no bend."""
        slope = torch.as_tensor(leak, dtype=torch.float64)
        if bool((slope == 1).all()):
            return x
        if not x.shape:  # units need an axis for their position
            return self.reshape(self.relu(self.reshape(x, (1,)), slope), ())
        return self.emit("relu", [x]) if not slope.any() else self.emit("relu", [x], leak=slope)

    def choice(self, x: Value) -> Value:
        """Add a maximum over the last axis; a single candidate adds no bend."""
        if x.shape[-1] == 1:
            return self.reshape(x, x.shape[:-1])
        if len(x.shape) == 1:  # units need an axis for their position
            return self.reshape(self.emit("choice", [self.reshape(x, (1, *x.shape))]), ())
        return self.emit("choice", [x])

    def maximum(self, values: Sequence[Value]) -> Value:
        """Add the elementwise maximum of several values."""
        return self.choice(self.emit("stack", values))

    def above(self, x: Value, c: Const) -> Value:
        """Add ``max(x, c) = c + relu(x - c)``."""
        low = self.constant(c, x)
        return self.shift(self.relu(self.shift(x, -low)), low)

    def below(self, x: Value, c: Const) -> Value:
        """Add ``min(x, c) = c - relu(c - x)``."""
        high = self.constant(c, x)
        return self.shift(self.relu(self.shift(x, high, -1)), high, -1)

    def clamp(self, x: Value, low: Const | None, high: Const | None) -> Value:
        """Add ``min(max(x, low), high) = low + relu(x - low) - relu(x - high)``."""
        if low is None and high is None:
            return x
        if high is None:
            return self.above(x, low)  # type: ignore[arg-type]
        if low is None:
            return self.below(x, high)
        top = self.constant(high, x)
        bottom = torch.minimum(self.constant(low, x), top)
        rising = [self.relu(self.shift(x, -bottom)), self.relu(self.shift(x, -top))]
        return self.emit("add", rising, {"signs": [1, -1]}, offset=bottom)


def are_equal(a: Step, b: Step) -> bool:
    """Return whether two steps compute the same, whatever their paths."""
    if (a.op, a.inputs, a.shape, a.options, [*a.tensors]) != (b.op, b.inputs, b.shape, b.options, [*b.tensors]):
        return False
    return all(torch.equal(tensor, b.tensors[name]) for name, tensor in a.tensors.items())


def _detached_copy(tensor: Tensor) -> Tensor:
    """Return a detached copy on the CPU; floating point as float64."""
    tensor = tensor.detach().cpu()
    return tensor.to(torch.float64).clone() if tensor.is_floating_point() else tensor.clone()
