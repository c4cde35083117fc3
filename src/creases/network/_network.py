"""A network: the continuous piecewise-linear function that a model computes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any, overload

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from creases.errors import InputError
from creases.network.program._patterns import pack_sides, unpack_sides
from creases.network.program._pieces import Piece, forward, memory_limit, piece_batches
from creases.network.program._step import Step

PointsLike = Tensor | NDArray[Any] | Sequence[Any]


@dataclass(frozen=True)
class Unit:
    """One scalar of a bend."""

    index: int  #: its number among all units of the network
    bend: int  #: which bend of the network, counted from 0
    position: tuple[int, ...]  #: where in the bend's output
    path: str  #: the bend's place in the user's model
    sides: int  #: 2 for a relu, K for a choice among K candidates

    def __str__(self) -> str:
        return f"{self.path}[{', '.join(map(str, self.position))}]"


class Network:
    """A function made of affine steps and bends; make one with :func:`creases.read`.

    Points are given with the model's own input shape or flattened, one alone or a batch of them, as numpy arrays or
    tensors; the answer is of the same kind. Inputs and outputs are flattened in coefficients: ``n_in``, ``n_out``.
    """

    def __init__(self, steps: Sequence[Step], input_shape: Sequence[int]) -> None:
        self.steps = tuple(steps)
        self.input_shape = tuple(int(n) for n in input_shape)

    # -- what it is ---------------------------------------------------------------------------------------------------

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
    def dtype(self) -> torch.dtype:
        """Floating-point type of its weights; float64 where it has none."""
        for step in self.steps:
            for tensor in step.tensors.values():
                if tensor.is_floating_point():
                    return tensor.dtype
        return torch.float64

    @cached_property
    def device(self) -> torch.device:
        """Where its weights are."""
        for step in self.steps:
            for tensor in step.tensors.values():
                return tensor.device
        return torch.device("cpu")

    @cached_property
    def bends(self) -> tuple[int, ...]:
        """Which steps are bends."""
        return tuple(i for i, step in enumerate(self.steps) if step.is_bend)

    @cached_property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Shape of every value, without the batch axis: the input's, then that of each step's output."""
        return (self.input_shape, *(step.shape for step in self.steps))

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Number of entries of every value, as in ``shapes``: what a computation must hold of each point."""
        return tuple(map(prod, self.shapes))

    @cached_property
    def last_uses(self) -> tuple[tuple[int, ...], ...]:
        """For each step the values that nothing after it reads."""
        last = {value: i for i, step in enumerate(self.steps) for value in step.inputs}
        return tuple(
            tuple(value for value in set(step.inputs) if last[value] == i) for i, step in enumerate(self.steps)
        )

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

    def unit(self, index: int) -> Unit:
        """The unit with a number: its bend, its position and the bend's place in the model."""
        if not isinstance(index, int | np.integer) or not 0 <= index < self.n_units:
            raise InputError(f"unit: index must be in 0..{self.n_units - 1}, got {index!r}")
        bend = int(np.searchsorted(self.unit_starts, index, side="right")) - 1
        step = self.steps[self.bends[bend]]
        position = np.unravel_index(index - self.unit_starts[bend], step.shape)
        return Unit(index, bend, tuple(int(p) for p in position), step.path, self.candidates[bend])

    def __repr__(self) -> str:
        return (
            f"Network({'x'.join(map(str, self.input_shape))} -> {'x'.join(map(str, self.output_shape))}, "
            f"{len(self.bends)} bends, {self.n_units} units, {str(self.dtype).removeprefix('torch.')})"
        )

    # -- what it computes ---------------------------------------------------------------------------------------------

    def points(self, x: PointsLike, name: str = "x") -> tuple[Tensor, bool]:
        """``x`` as a batch (b, *input_shape) on the network's device and dtype, and whether it was one point alone."""
        try:
            tensor = torch.as_tensor(np.asarray(x) if not isinstance(x, Tensor) else x)
            if tensor.is_complex():
                raise TypeError("entries are complex")
        except (ValueError, TypeError) as error:
            raise InputError(f"{name}: expected an array of numbers, got {type(x).__name__}: {error}") from None
        shape = tuple(tensor.shape)
        single = shape in (self.input_shape, (self.n_in,))
        if not single and shape[1:] not in (self.input_shape, (self.n_in,)):
            raise InputError(
                f"{name}: expected shape {self.input_shape} or (batch, {', '.join(map(str, self.input_shape))}) "
                f"(flattened: {self.n_in} numbers a point), got {shape}"
            )
        batch = tensor.to(self.device, self.dtype).reshape(-1 if tensor.numel() else 0, *self.input_shape)
        return batch, single

    def _finite(self, x: PointsLike) -> tuple[Tensor, bool]:
        """As :meth:`points`, for what depends on the sides: NaN and infinity are on no side of anything."""
        batch, single = self.points(x)
        wrong = (~batch.flatten(1).isfinite()).any(dim=1)
        if wrong.any():
            raise InputError(f"x: expected finite numbers, got NaN or infinity in point {int(wrong.int().argmax())}")
        return batch, single

    @overload
    def __call__(self, x: Tensor) -> Tensor: ...
    @overload
    def __call__(self, x: NDArray[Any] | Sequence[Any]) -> NDArray[Any]: ...
    def __call__(self, x: PointsLike) -> Tensor | NDArray[Any]:
        """Value at ``x``: (b, *output_shape), without the batch axis for one point alone."""
        batch, single = self.points(x)
        value = forward(self, batch)[-1]
        return _like(value[0] if single else value, x)

    def sides(self, x: PointsLike) -> NDArray[np.int16]:
        """Side of every unit at ``x``: (b, n_units), or (n_units,) for one point alone."""
        batch, single = self._finite(x)
        sides = [side.flatten(1).to(torch.int16) for side in forward(self, batch, keep="sides")]
        joined = torch.cat([batch.new_zeros(len(batch), 0, dtype=torch.int16), *sides], dim=1).cpu().numpy()
        return joined[0] if single else joined

    def pattern(self, x: PointsLike) -> NDArray[np.uint8]:
        """The sides of all units at ``x`` as packed bits: (b, n_bytes) uint8, or (n_bytes,) for one point alone."""
        sides = self.sides(x)
        packed = pack_sides(self, np.atleast_2d(sides))
        return packed[0] if sides.ndim == 1 else packed

    def unpack(self, pattern: NDArray[np.uint8]) -> NDArray[np.int16]:
        """Sides (r, n_units) of packed patterns (r, n_bytes)."""
        return unpack_sides(self, pattern)

    def piece(self, x: PointsLike) -> Piece:
        """The affine function ``J x + y`` that holds at ``x``: J (b, n_out, n_in), y (b, n_out).

        For one point alone J is (n_out, n_in) and y (n_out,). Exactly what autograd gives; on a crease, the piece of
        the side that torch's gradient takes.
        """
        batch, single = self._finite(x)
        parts = list(piece_batches(self, batch, memory_limit()))
        J = torch.cat([part.J for part in parts]) if parts else batch.new_zeros(0, self.n_out, self.n_in)
        y = torch.cat([part.y for part in parts]) if parts else batch.new_zeros(0, self.n_out)
        if single:
            J, y = J[0], y[0]
        return Piece(_like(J, x), _like(y, x))

    def jacobians(self, x: PointsLike, *, memory: int | None = None) -> Iterator[Piece]:
        """Pieces of a large batch, a block of samples at a time, in order.

        Parameters
        ----------
        x
            (b, *input_shape) or (b, n_in).
        memory
            Bytes that one block may take (coefficients and the activations behind them); 1 GiB unless given.
        """
        batch, _ = self._finite(x)
        if memory is not None and not (isinstance(memory, int | float) and memory > 0):
            raise InputError(f"memory: expected a positive number of bytes, got {memory!r}")
        for part in piece_batches(self, batch, memory_limit() if memory is None else int(memory)):
            yield Piece(_like(part.J, x), _like(part.y, x))

    # -- where it lives ------------------------------------------------------------------------------------------------

    def to(self, target: torch.device | torch.dtype | str) -> Network:
        """The same network on another device or in another dtype."""
        if isinstance(target, torch.dtype) and not target.is_floating_point:
            raise InputError(f"target: expected a floating dtype such as torch.float64, got {target}")

        def move(tensor: Tensor) -> Tensor:
            if isinstance(target, torch.dtype):
                return tensor.to(target) if tensor.is_floating_point() else tensor
            return tensor.to(target)

        try:
            steps = [replace(step, tensors={k: move(t) for k, t in step.tensors.items()}) for step in self.steps]
        except (RuntimeError, AssertionError) as error:  # torch raises either for a device that is not there
            reason = str(error).splitlines()[0]
            raise InputError(f"target: cannot move the network to {target!r}: {reason}") from None
        return Network(steps, self.input_shape)

    def save(self, path: str | Path) -> Path:
        """Write the network to a ``.safetensors`` file (weights, the steps as JSON in its header), or as ``.onnx``."""
        from creases.network._files import save

        return save(self, path)

    def module(self) -> nn.Sequential:
        """The network as a torch module of the same function, in its own dtype: to train on what was read from a file.

        For layers one after another; others (residual sums) are refused.

        Examples
        --------
        >>> import creases
        >>> creases.read([([[1.0], [2.0]], [0.0, 1.0]), ([[1.0, -1.0]], [0.5])]).module()
        Sequential(
          (0): Linear(in_features=1, out_features=2, bias=True)
          (1): ReLU()
          (2): Linear(in_features=2, out_features=1, bias=True)
        )
        """
        from creases.network._module import as_module

        return as_module(self)


@overload
def _like(value: Tensor, x: Tensor) -> Tensor: ...
@overload
def _like(value: Tensor, x: NDArray[Any] | Sequence[Any]) -> NDArray[Any]: ...
@overload
def _like(value: Tensor, x: PointsLike) -> Any: ...
def _like(value: Tensor, x: PointsLike) -> Any:
    return value if isinstance(x, Tensor) else value.detach().cpu().numpy()
