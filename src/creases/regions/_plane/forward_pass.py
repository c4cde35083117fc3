"""The forward pass of a plane partition in terms of the units that change side in the box.

Most units of a convolutional network keep their side on a whole plane through three images. There they are linear, as
the steps between them are, so that every value of the network is a linear combination of the *features*: 1, the two
coordinates of the plane, and the outputs of the units that do change side. The coefficients pass through the network's
own operations once; a vertex then costs its features and the pre-activations of the units that may change side,
instead of a run through the network.

A pre-activation computed so is the sum of the same products as in a run through the network, taken in another order:
its rounding error has the same bound, and signs are decided with the same tolerance.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from creases._program import ForwardPass, Step, apply_sides, matrix_product, propagate, sides_at
from creases._typing import Floats, Ints
from creases.network import Network
from creases.regions._plane.complex import BendUnits, ChangingUnits, flatten_units
from creases.regions._tolerance import SIGN_TOLERANCE

#: Vertices that are evaluated at once: rows of their features stay in the cache.
BLOCK = 2048

#: A matrix with a smaller fraction of nonzero entries is multiplied as a sparse one.
SPARSE = 0.1


class SliceForwardPass(ForwardPass):
    """A forward pass of points t (n, 2) of the plane ``x = origin + basis t``, with the tolerance of signs.

    Values before the first bend are affine in t. They are computed from their coefficients: the inputs of many points
    would take much more time and memory.
    """

    def __init__(self, net: Network, t: Tensor, origin: Tensor, basis: Tensor) -> None:
        super().__init__(net, origin + t @ basis.T, zero=SIGN_TOLERANCE)
        self._first = net.bends[0] if net.bends else len(net.steps)
        start = torch.cat([origin[None], basis.T]).reshape(3, *net.input_shape)
        self._affine = propagate(
            net, {0: start}, lambda i, inputs: _apply_affine(net.steps[i], inputs), stop=self._first
        )

    def run_values(self, points: Tensor) -> dict[int, Tensor]:
        values = {key: c[0] + torch.tensordot(points, c[1:], 1) for key, c in self._affine.items()}
        return propagate(self.program, values, self._apply_step, self._first, self._next)


@dataclass(frozen=True)
class _Bend:
    """The units of a bend that change side, as functions of the features before it."""

    step: Step
    rows: Any  #: (C * K, F), K = 1 for a relu: coefficients of their pre-activations, a sparse matrix or an array
    candidates: int  #: K
    limit: Tensor  #: (C, 1) below which a relu's pre-activation is zero
    leak: Tensor | None  #: (C, 1)

    def __call__(self, features: Floats) -> Floats:
        """Return the outputs (C, n) of the units, from features (F, n)."""
        z = _multiply(self.rows, features)
        if self.step.op == "choice":
            return z.reshape(len(self.limit), self.candidates, z.shape[1]).amax(dim=1).numpy()
        return _apply_bend("relu", torch.where(z.abs() <= self.limit, 0, z), self.leak).numpy()


class PlaneForwardPass:
    """A forward pass over a box of the plane ``x = origin + basis t`` that stops at each bend.

    At a bend, :meth:`advance` finds the units that change side between the vertices found so far, and
    :meth:`pre_activations` evaluates them.
    """

    def __init__(self, net: Network, origin: Floats, basis: Floats, box: Floats) -> None:
        self.net = net
        self._center, self._extent = box.mean(axis=1), np.diff(box, axis=1)[:, 0] / 2
        start = np.vstack([origin + basis @ self._center, (basis * self._extent).T])
        coefficients = torch.from_numpy(start).reshape(3, *net.input_shape)
        self._values: dict[int, Tensor] = {0: coefficients}  # coefficients (F, *shape) of values in the features
        self._sizes: dict[int, Tensor] = {0: coefficients.abs().sum(0, keepdim=True)}  # largest magnitude in the box
        self._range = coefficients[:1], coefficients[:1]  # of the current pre-activations, (1, *shape) each
        self._low, self._high = torch.tensor([[1.0, -1.0, -1.0], [1.0, 1.0, 1.0]], dtype=torch.float64)  # of features
        self._bends: list[_Bend] = []
        self._after_bend = coefficients  # output of the last bend
        self._next = 0  # index of the next step

    def advance(self, vertices: Floats) -> BendUnits | None:
        """Go to the next bend and find its units that change side between vertices (V, 2); None at the end."""
        number = len(self._bends)
        stop = self.net.bends[number] if number < len(self.net.bends) else len(self.net.steps)
        self._values = propagate(self.net, self._values, self._apply_step, self._next, stop)
        self._sizes = propagate(self.net, self._sizes, self._step_size, self._next, stop)
        self._next = stop
        if number == len(self.net.bends):
            return None
        units, sides = self._changing_units(vertices)
        terms = flatten_units(self._terms, choice=self._choice)[0][units]
        found = BendUnits(number, int(self.net.unit_starts[number]), self._choice, units, terms, sides)
        self._add_features(found)
        return found

    def pre_activations(self, vertices: Floats, part: slice) -> Tensor:
        """Return the pre-activations (V, n), of a choice (V, n, K), of a part of the units that change side."""
        bend, K = self._bends[-1], self._bends[-1].candidates
        first, last, _ = part.indices(len(bend.limit))
        z = self._evaluate(bend.rows[first * K : last * K], vertices, len(self._bends) - 1)
        return z.reshape(len(z), last - first, K) if bend.step.op == "choice" else z

    def output(self, vertices: Floats) -> Floats:
        """Return the output (V, n_out) of the network, at the end of the pass."""
        return self._evaluate(_rows(self._values[len(self.net.steps)].flatten(1)), vertices).numpy()

    @property
    def output_terms(self) -> Floats:
        """Sum of the magnitudes of each output's terms (n_out,), at its largest in the box; at the end of the pass."""
        terms: Floats = self._sizes[len(self.net.steps)].flatten().numpy()
        return terms

    def _blocks(self, vertices: Floats, bends: int | None = None) -> Iterator[tuple[slice, Floats]]:
        """Yield vertices in blocks, with the features (F, n) that the first ``bends`` bends make there."""
        for first in range(0, len(vertices), BLOCK):
            block = slice(first, first + BLOCK)
            local = (vertices[block] - self._center) / self._extent
            features = np.vstack([np.ones(len(local)), local.T])
            for bend in self._bends[:bends]:
                features = np.vstack([features, bend(features)])
            yield block, features

    def _evaluate(self, rows: Any, vertices: Floats, bends: int | None = None) -> Tensor:
        """Return the values (V, n) of rows (n, F) of coefficients."""
        out = np.empty((len(vertices), rows.shape[0]))
        for block, features in self._blocks(vertices, bends):
            out[block] = _multiply(rows, features).T
        return torch.from_numpy(out)

    @property
    def _step(self) -> Step:
        return self.net.steps[self._next]

    @property
    def _choice(self) -> bool:
        return self._step.op == "choice"

    @property
    def _terms(self) -> Tensor:
        """Sum of the magnitudes of the terms of each pre-activation: (1, *shape)."""
        return self._sizes[self._step.inputs[0]]

    def _changing_units(self, vertices: Floats) -> tuple[Ints, NDArray[np.int16]]:
        """Return the units that change side, and the side (U,) of each that does not; set the range of all."""
        value = self._values[self._step.inputs[0]]
        M, tolerance = (flatten_units(v, choice=self._choice) for v in (value, SIGN_TOLERANCE * self._terms))
        middle, radius = self._bounds(M)
        low, high = middle - radius, middle + radius
        sides = self._certain_sides(M, tolerance[0])
        open_units = (sides < 0).nonzero()[:, 0]
        changing = ChangingUnits(tolerance[0, open_units], choice=self._choice)
        rows = _rows(M[:, open_units].flatten(1))
        low[open_units], high[open_units] = torch.inf, -torch.inf
        for _, features in self._blocks(vertices):
            z = _multiply(rows, features).T.reshape(features.shape[1], *low[open_units].shape)
            changing.update(z)
            low[open_units] = torch.minimum(low[open_units], z.amin(0))
            high[open_units] = torch.maximum(high[open_units], z.amax(0))
        self._range = low.reshape(1, *value.shape[1:]), high.reshape(1, *value.shape[1:])
        sides[open_units] = torch.from_numpy(changing.sides())
        return open_units.numpy()[changing.units()], sides.numpy()

    def _bounds(self, M: Tensor) -> tuple[Tensor, Tensor]:
        """Return bounds of values with coefficients (F, *shape) over the box: middle and radius (*shape)."""
        middle = torch.tensordot((self._low + self._high) / 2, M, 1)
        return middle, torch.tensordot((self._high - self._low) / 2, M.abs(), 1)

    def _certain_sides(self, M: Tensor, tolerance: Tensor) -> Tensor:
        """Return the sides (U,) of units that follow from the ranges of the features, -1 for the others."""
        if not self._choice:
            middle, radius = self._bounds(M)
            return torch.where(middle.abs() - radius > tolerance, (middle > 0).to(torch.int16), -1).to(torch.int16)
        best = self._bounds(M)[0].argmax(dim=-1, keepdim=True)  # (U, 1)
        lead, radius = self._bounds(M.gather(2, best.expand(len(M), -1, -1)) - M)
        clear = lead - radius > 2 * tolerance.amax(dim=-1, keepdim=True)
        certain = clear.scatter(1, best, True).all(dim=1)
        return torch.where(certain, best[:, 0], -1).to(torch.int16)

    def _add_features(self, found: BendUnits) -> None:
        """Apply the bend: units that keep their side stay linear in the features, the others become features."""
        step, M = self._step, self._values[self._step.inputs[0]]
        flat = flatten_units(M, choice=self._choice)
        units, count = torch.from_numpy(found.units), len(found.units)
        leak = None if step.leak is None else step.leak.expand(step.shape).flatten()
        terms = found.terms if self._choice else found.terms[:, None]
        limit, rows = SIGN_TOLERANCE * terms[:, :1], _rows(flat[:, units].flatten(1))
        self._bends.append(_Bend(step, rows, terms.shape[1], limit, None if leak is None else leak[units, None]))
        sides = torch.from_numpy(found.sides)[None]
        out = apply_sides(step.op, flat, sides.long() if self._choice else sides > 0, leak)
        out[:, units] = 0
        new = torch.zeros(count, out.shape[1], dtype=out.dtype)
        new[torch.arange(count), units] = 1
        self._after_bend = torch.cat([out, new]).reshape(-1, *step.shape)
        self._values = {
            key: torch.cat([value, value.new_zeros(count, *value.shape[1:])]) for key, value in self._values.items()
        }
        low, high = (flatten_units(end, choice=self._choice)[0][units] for end in self._range)
        ends = torch.stack([low, high, torch.zeros_like(low)] if step.op == "relu" else [low, high])
        ends = _apply_bend(step.op, ends, None if leak is None else leak[units])
        self._low, self._high = torch.cat([self._low, ends.amin(0)]), torch.cat([self._high, ends.amax(0)])

    def _apply_step(self, i: int, inputs: list[Tensor]) -> Tensor:
        """Apply step i to coefficients (F, ...)."""
        step = self.net.steps[i]
        return self._after_bend if step.is_bend else _apply_affine(step, inputs)

    def _step_size(self, i: int, sizes: list[Tensor]) -> Tensor:
        """Return the magnitudes of step i's output; after a bend those of the extreme values, not of their terms."""
        step = self.net.steps[i]
        if step.is_bend:
            return torch.maximum(*(step.apply([end]).abs() for end in self._range))
        return step.magnitude(sizes)


def _apply_affine(step: Step, inputs: list[Tensor]) -> Tensor:
    """Apply an affine step to coefficients (F, ...); only the first, of the feature 1, get the offset."""
    out = step.linear(inputs)
    return out if step.offset is None else torch.cat([out[:1] + step.offset, out[1:]])


def _apply_bend(op: str, z: Tensor, leak: Tensor | None) -> Tensor:
    return apply_sides(op, z, sides_at(op, z), leak)


def _rows(coefficients: Tensor) -> Any:
    """Return coefficients (F, n) as rows (n, F), sparse where most of them are zero."""
    from scipy.sparse import csr_array

    rows = coefficients.T.contiguous().numpy()
    return csr_array(rows) if np.count_nonzero(rows) < SPARSE * rows.size else rows


def _multiply(rows: Any, features: Floats) -> Tensor:
    """Return the values (n, V) of rows (n, F) of coefficients at features (F, V)."""
    if isinstance(rows, np.ndarray):
        return matrix_product(torch.from_numpy(rows), torch.from_numpy(features))
    return torch.from_numpy(rows @ features)
