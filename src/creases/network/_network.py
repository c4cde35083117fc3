"""A network: the continuous piecewise-linear function that a model computes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from creases._display import to_html
from creases._document import Document, facts, table
from creases._program._pieces import (
    Piece,
    forward,
    forward_sides,
    memory_limit,
    pack_sides,
    piece_batches,
    unpack_sides,
)
from creases._program._program import PointsLike, Program
from creases._schema import instance
from creases._text import plural
from creases._validation import check_arguments, check_index
from creases.errors import InputError
from creases.network._formats.safetensors import program_from_bytes, program_to_bytes, save_program
from creases.network._formats.torch_module import to_module


@dataclass(frozen=True)
class Unit:
    """A scalar entry of a bend."""

    index: int  #: number among all units of the network
    bend: int  #: number of its bend, counted from 0
    position: tuple[int, ...]  #: index in the bend's output
    path: str  #: the bend's place in the user's model
    sides: int  #: 2 for a relu, K for a choice among K candidates

    def __str__(self) -> str:
        return f"{self.path}[{', '.join(map(str, self.position))}]"


class Network(Program):
    """The continuous piecewise-linear function of a model; :func:`creases.read` makes one.

    Methods accept a single point or a batch, in the model's input shape or flattened, as numpy arrays or tensors, and
    return results of the same kind. Coefficients refer to flattened inputs and outputs: ``n_in``, ``n_out``.
    """

    def describe(self) -> Document:
        """Return the network's shapes, and its bends in order with the number of their units."""
        rows = []
        for k, i in enumerate(self.bends[:BENDS]):
            step = self.steps[i]
            kind = "ReLU" if step.op == "relu" else f"choice among {self.candidates[k]}"
            kind = "leaky ReLU" if step.op == "relu" and "leak" in step.tensors else kind
            units = int(self.unit_starts[k + 1] - self.unit_starts[k])
            rows.append([str(k), step.path, kind, "×".join(map(str, step.shape)), f"{units:,}"])
        numbers = [part for step in self.steps for part in step.tensors.values() if part.is_floating_point()]
        about = {
            "inputs": "×".join(map(str, self.input_shape)) or "1",
            "outputs": "×".join(map(str, self.output_shape)) or "1",
            "units": f"{self.n_units:,}",
            "parameters": f"{sum(part.numel() for part in numbers):,}",
            "precision": str(self.dtype).removeprefix("torch.")
            + ("" if self.device.type == "cpu" else f", {self.device}"),
        }
        heads = ("bend", "place", "kind", "shape", "units")
        more = {"note": f"… and {len(self.bends) - BENDS} more"} if len(self.bends) > BENDS else {}
        bends = (
            table("Bends", heads, rows, **more) if rows else {"title": "Bends", "text": "None: one affine function."}
        )
        return Document("Network", "", [facts("Shapes", about.items()), bends], about)

    def _repr_html_(self) -> str:
        return to_html(self)

    def unit(self, index: int) -> Unit:
        """Return the unit with a number: its bend, its position and the bend's place in the model."""
        index = check_index(index, self.n_units, "index")
        bend = int(np.searchsorted(self.unit_starts, index, side="right")) - 1
        step = self.steps[self.bends[bend]]
        position = np.unravel_index(index - self.unit_starts[bend], step.shape)
        return Unit(index, bend, tuple(int(p) for p in position), step.path, self.candidates[bend])

    # -- values and pieces --------------------------------------------------------------------------------------------

    def _finite_batch(self, x: PointsLike) -> tuple[Tensor, bool]:
        """Return points as :meth:`as_batch` does; NaN and infinity, which are on no side of a crease, are refused."""
        batch, single = self.as_batch(x)
        wrong = (~batch.flatten(1).isfinite()).any(dim=1)
        if wrong.any():
            raise InputError("x", "be finite", f"NaN or infinity in point {int(wrong.int().argmax())}")
        return batch, single

    @overload
    def __call__(self, x: Tensor) -> Tensor: ...
    @overload
    def __call__(self, x: NDArray[Any] | Sequence[Any]) -> NDArray[Any]: ...
    def __call__(self, x: PointsLike) -> Tensor | NDArray[Any]:
        """Return the value at ``x``: (b, *output_shape), without the batch axis for a single point."""
        batch, single = self.as_batch(x)
        value = forward(self, batch)
        return _like(value[0] if single else value, x)  # type: ignore[no-any-return]

    def sides(self, x: PointsLike) -> NDArray[np.int16]:
        """Return the side of every unit at ``x``: (b, n_units), or (n_units,) for a single point."""
        batch, single = self._finite_batch(x)
        sides = [side.flatten(1).to(torch.int16) for side in forward_sides(self, batch)]
        joined = torch.cat([batch.new_zeros(len(batch), 0, dtype=torch.int16), *sides], dim=1).cpu().numpy()
        return joined[0] if single else joined

    def pattern(self, x: PointsLike) -> NDArray[np.uint8]:
        """Return the sides of all units as packed bits: (b, n_bytes) uint8, or (n_bytes,) for a single point."""
        sides = self.sides(x)
        packed = pack_sides(self, np.atleast_2d(sides))
        return packed[0] if sides.ndim == 1 else packed

    def unpack(self, pattern: NDArray[np.uint8]) -> NDArray[np.int16]:
        """Return the sides (r, n_units) of packed patterns (r, n_bytes)."""
        return unpack_sides(self, pattern)

    def piece(self, x: PointsLike) -> Piece:
        """Return the affine function ``J x + y`` that holds at ``x``: J (b, n_out, n_in), y (b, n_out).

        For a single point J is (n_out, n_in) and y (n_out,). Inside a region J equals autograd's Jacobian. On a crease
        a unit that is 0 has side 0, and of candidates that tie the first counts, as ``sides`` says; torch's gradient
        may be that of another side, or of none (0 for abs). Where creases meet, these sides may be those of no region.
        """
        batch, single = self._finite_batch(x)
        parts = list(piece_batches(self, batch, memory_limit()))
        J = torch.cat([part.J for part in parts]) if parts else batch.new_zeros(0, self.n_out, self.n_in)
        y = torch.cat([part.y for part in parts]) if parts else batch.new_zeros(0, self.n_out)
        if single:
            J, y = J[0], y[0]
        return Piece(_like(J, x), _like(y, x))

    def jacobians(self, x: PointsLike, *, memory: int | None = None) -> Iterator[Piece]:
        """Yield the pieces of a large batch in order, a block of samples at a time.

        Parameters
        ----------
        x
            (b, *input_shape) or (b, n_in).
        memory
            Bytes that a block may take, coefficients and the activations they need; 1 GiB by default.
        """
        batch, _ = self._finite_batch(x)
        if memory is not None and not (isinstance(memory, int | float) and memory > 0):
            raise InputError("memory", "be a positive number of bytes", repr(memory))
        for part in piece_batches(self, batch, memory_limit() if memory is None else int(memory)):
            yield Piece(_like(part.J, x), _like(part.y, x))

    # -- other forms --------------------------------------------------------------------------------------------------

    def save(self, path: str | Path) -> Path:
        """Write the network to a ``.safetensors`` file (weights, the steps as JSON in its header), or as ``.onnx``."""
        return save_program(self, path)

    def to_bytes(self) -> bytes:
        """Return the content of the ``.safetensors`` file that :meth:`save` writes."""
        return program_to_bytes(self)

    @classmethod
    @check_arguments(data=instance("bytes"))
    def from_bytes(cls, data: bytes, source: str = "network") -> Network:
        """Return the network of :meth:`to_bytes`; ``source`` names the data in errors."""
        program = program_from_bytes(data, source)
        return cls(program.steps, program.input_shape, program.link)

    def module(self) -> nn.Sequential:
        """Return a torch module that computes the same function in the network's dtype.

        It can be trained, for example after reading a file. Only networks whose layers follow one another can be
        rebuilt; residual connections are refused.

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
        return to_module(self)


def _like(value: Tensor, x: PointsLike) -> Any:
    return value if isinstance(x, Tensor) else value.detach().cpu().numpy()


# What is said of a network and of a piece of one: shapes, bends, coefficients.

#: Rows and columns of coefficients, and bends, that are listed at most.
MATRIX, BENDS = 8, 100


def describe_piece(piece: Piece) -> Document:
    """Return the coefficients ``J x + y`` as a table; of a batch the shapes and the first."""
    J, y = (part.detach().cpu().numpy() if hasattr(part, "detach") else np.asarray(part) for part in piece)
    text = ""
    if J.ndim > 2:
        count = int(np.prod(J.shape[:-2]))
        shapes = f"J {'×'.join(map(str, J.shape))}, y {'×'.join(map(str, y.shape))}"
        text = f"{plural(count, 'affine function')} ({shapes})" + ("; the first:" if count else ".")
        if not count:
            return Document("Piece", text)
        J, y = J.reshape(-1, *J.shape[-2:])[0], y.reshape(-1, y.shape[-1])[0]
    J, y = np.atleast_2d(J), np.atleast_1d(y)
    shown = min(J.shape[1], MATRIX)
    rest = ["…"] if J.shape[1] > shown else []
    rows = [
        [f"output {k}", *(f"{value:.4g}" for value in J[k, :shown].tolist()), *rest, f"{float(y[k]):.4g}"]
        for k in range(min(len(y), MATRIX))
    ]
    more = {"note": f"… and {len(y) - MATRIX} more"} if len(y) > MATRIX else {}
    coefficients = table("Coefficients", ["", *(f"x{i}" for i in range(shown)), *rest, "offset"], rows, **more)
    return Document("Piece: J x + y", text, [coefficients])
