"""A network on a plane slice, in exact integers and in floating point with certified bounds.

Float64 numbers are dyadic rationals: over one power of two per step, weights, offsets, leaks and the slice are
integers, and so is every coefficient of the network on a region. Nothing is ever rounded or divided.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse

from creases._program import Step
from creases._typing import Floats
from creases.errors import InputError
from creases.network import Network

Integers = NDArray[np.object_]

#: Largest number of entries of the matrix that an affine step is written as.
MATRIX_ENTRIES = 2**27

_ROUNDING = 2.0**-53  # relative error of one float64 operation
_UNDERFLOW = 2.0**-1000  # more than all absolute errors of underflow in one sum of products


@dataclass(frozen=True)
class Affine:
    """One affine step as matrices: ``sum_k M_k x_k + offset``, in float64 and in integers over ``2**scale``."""

    matrices: list[Any]  #: for each input M_k (out, in_k), float64, sparse or dense
    sizes: list[Any]  #: their magnitudes
    rows: list[tuple[Integers, NDArray[np.int64], NDArray[np.int64]]]  #: for each input: CSR data, columns, starts
    offset: Floats  #: (out,)
    constant: Integers  #: (out,)
    terms: int  #: most terms in a sum
    moves: bool  #: whether every entry of the output is 0 or an entry of one input, with either sign

    def bounded(self, inputs: list[tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
        """Return values (n, out) and rigorous bounds of their errors, from those of the inputs.

        A sum of m products is wrong by at most ``m u / (1 - m u)`` times the sum of their magnitudes (Higham, 2002,
        section 3.1), whatever the order; the factor 1.001 covers the denominator and the rounding of the bound itself.
        """
        if self.moves:
            moved = [(m @ x.T).T for m, (x, _) in zip(self.matrices, inputs, strict=True)]
            return sum(moved), sum((m @ e.T).T for m, (_, e) in zip(self.sizes, inputs, strict=True))
        gamma = 1.001 * _ROUNDING * (self.terms + len(inputs) + 2)
        value, error = np.broadcast_to(self.offset, (len(inputs[0][0]), len(self.offset))), gamma * np.abs(self.offset)
        for matrix, size, (x, e) in zip(self.matrices, self.sizes, inputs, strict=True):
            value = value + (matrix @ x.T).T
            error = error + (size @ (e + gamma * np.abs(x)).T).T
        return value, 1.001 * error + _UNDERFLOW


class ExactProgram:
    """The steps of a network on the slice ``x = origin + basis t``, t in the plane.

    Values are numbered as in :class:`creases._program._step.Step`. On a region each is a list of integer triples
    ``(a, b, c)``: the entry is ``(a t_0 + b t_1 + c) / 2**scale``, the scale being that of the value.
    """

    def __init__(self, net: Network, origin: Floats, basis: Floats) -> None:
        self.net = net.to(torch.float64).to("cpu")
        self.steps = self.net.steps
        self.shapes = self.net.shapes
        self.slice = (np.asarray(origin, np.float64), np.asarray(basis, np.float64))
        triples, scale = integers(np.column_stack([self.slice[1], self.slice[0]]))
        self.start: Integers = triples  # (n_in, 3)
        scales = [scale]
        self.affine: dict[int, Affine] = {}
        self.leak: dict[int, tuple[Floats, Integers, int]] = {}  # of a relu: float64, integers, their scale
        for i, step in enumerate(self.steps):
            if step.op == "choice":
                scales.append(scales[step.inputs[0]])
            elif step.is_bend:
                scale = 0
                if step.leak is not None:
                    leak = np.broadcast_to(step.leak.numpy(), step.shape).ravel()
                    numerators, scale = integers(leak)
                    self.leak[i] = (leak, numerators, scale)
                scales.append(scales[step.inputs[0]] + scale)
            else:
                self.affine[i], scale = _affine(step, [(self.shapes[k], scales[k]) for k in step.inputs])
                scales.append(scale)

    def bounded(self, t: Floats, bend: int) -> tuple[Floats, Floats]:
        """Return pre-activations (n, entries) of a bend at points t (n, 2), each rounded once, and error bounds."""
        origin, basis = self.slice
        size = _ROUNDING * np.abs(t) + _UNDERFLOW
        gamma = 8 * _ROUNDING
        x = t @ basis.T + origin
        terms = np.abs(t) @ np.abs(basis.T) + np.abs(origin)
        values = {0: (x, 1.001 * (size @ np.abs(basis.T) + gamma * terms) + _UNDERFLOW)}
        stop = self.net.bends[bend]
        for i, step in enumerate(self.steps[:stop]):
            inputs = [values[k] for k in step.inputs]
            values[i + 1] = self._bounded_bend(i, *inputs[0]) if step.is_bend else self.affine[i].bounded(inputs)
        return values[self.steps[stop].inputs[0]]

    def _bounded_bend(self, i: int, z: Floats, e: Floats) -> tuple[Floats, Floats]:
        step = self.steps[i]
        if step.op == "choice":
            k = self.shapes[step.inputs[0]][-1]
            return z.reshape(len(z), -1, k).max(axis=-1), e.reshape(len(e), -1, k).max(axis=-1)
        below = z < -e  # certainly: the value is then exactly the leak's
        if i not in self.leak:
            return np.maximum(z, 0), np.where(below, 0, e)
        leak = self.leak[i][0]
        slope = np.where(below, np.abs(leak), np.maximum(1, np.abs(leak)))
        value = np.where(z > 0, z, leak * z)
        return value, 1.001 * (slope * e + 2 * _ROUNDING * np.abs(value)) + _UNDERFLOW


def integers(values: Floats) -> tuple[Integers, int]:
    """Return float64 numbers as integers over ``2**scale``, with the smallest common scale."""
    ratios = [v.as_integer_ratio() for v in values.ravel().tolist()]
    scale = max([d.bit_length() - 1 for _, d in ratios], default=0)
    out = np.empty(values.size, dtype=object)
    out[:] = [n << (scale - d.bit_length() + 1) for n, d in ratios]
    return out.reshape(values.shape), scale


def _affine(step: Step, inputs: list[tuple[tuple[int, ...], int]]) -> tuple[Affine, int]:
    """Return an affine step as matrices, from its inputs' shapes and scales, and the scale of its output."""
    n_out = prod(step.shape)
    offset = torch.zeros(()) if step.offset is None else step.offset
    constants = np.broadcast_to(offset.numpy(), step.shape).astype(np.float64).ravel()
    matrices = [_matrix(step, [shape for shape, _ in inputs], k, n_out) for k in range(len(inputs))]
    if not (np.isfinite(constants).all() and all(np.isfinite(m.data).all() for m in matrices)):
        raise InputError(
            "net", "have finite weights for exact=True", f"NaN or infinity in step {step.path!r} ({step.op})"
        )
    constant, constant_scale = integers(constants)
    parts = [integers(m.data) for m in matrices]
    scale = max([constant_scale, *(part[1] + s for part, (_, s) in zip(parts, inputs, strict=True))])
    rows = [
        (data << (scale - data_scale - s), m.indices.astype(np.int64), m.indptr.astype(np.int64))
        for m, (data, data_scale), (_, s) in zip(matrices, parts, inputs, strict=True)
    ]
    terms = int(sum(np.diff(m.indptr) for m in matrices).max(initial=0))
    moves = terms <= 1 and not constants.any() and all((np.abs(m.data) == 1).all() for m in matrices)
    floats = [m.toarray() if m.nnz > 0.2 * prod(m.shape) else m for m in matrices]
    affine = Affine(
        floats, [abs(m) for m in floats], rows, constants, constant << (scale - constant_scale), terms, moves
    )
    return affine, scale


def _matrix(step: Step, shapes: list[tuple[int, ...]], k: int, n_out: int) -> Any:
    """Return the linear part of a step in its k-th input as a CSR matrix (out, in), from its unit vectors."""
    n_in = prod(shapes[k])
    if n_in * n_out > MATRIX_ENTRIES:
        raise InputError(
            "net",
            f"have steps that are matrices of at most {MATRIX_ENTRIES} entries for exact=True",
            f"{n_in} inputs and {n_out} outputs in step {step.path!r} ({step.op})",
            "use {0} for this network",
            [("exact", False)],
        )
    block = max(1, 2**22 // max(1, n_out, n_in))
    columns = []
    for first in range(0, n_in, block):
        unit = torch.zeros(min(block, n_in - first), n_in, dtype=torch.float64)
        unit[torch.arange(len(unit)), first + torch.arange(len(unit))] = 1
        xs = [torch.zeros(len(unit), *shape, dtype=torch.float64) for shape in shapes]
        xs[k] = unit.reshape(len(unit), *shapes[k])
        columns.append(sparse.csr_array(step.linear(xs).reshape(len(unit), n_out).numpy()))
    if not columns:
        return sparse.csr_array((n_out, n_in))
    return sparse.csr_array(sparse.vstack(columns).T)


Indices = NDArray[np.int64]


@dataclass
class _Known:
    """The rows of one value that are known on the current region."""

    triples: Integers  #: (n, 3)
    have: NDArray[np.bool_]  #: (n,)


class RegionRows:
    """Rows of the values of an :class:`ExactProgram` on the current region.

    A region is identified by its line of ancestors, one for every bend passed. Rows that depend only on ancestors
    shared with the previous region are reused: visiting regions in tree order computes every row once.
    """

    def __init__(self, program: ExactProgram) -> None:
        self._program = program
        bends = program.net.bends
        #: Number of bends whose sides a value may depend on; its rows are kept at that level.
        self._level = [0] + [sum(b < i for b in bends) + (i in bends) for i in range(len(program.steps))]
        self._known: list[dict[int, _Known]] = [{} for _ in range(len(bends) + 1)]
        self._line: tuple[int, ...] = ()
        self._sides: list[NDArray[np.int16]] = []

    def enter(self, line: tuple[int, ...], sides: list[NDArray[np.int16]]) -> None:
        """Move to a region, given its ancestors after each bend, itself last, and the sides of each bend's units."""
        common = 0
        while common < min(len(line), len(self._line)) and line[common] == self._line[common]:
            common += 1
        for level in range(common + 1, len(self._known)):
            self._known[level].clear()
        self._line, self._sides = line, sides

    def rows(self, value: int, index: Indices) -> Integers:
        """Return the triples (len(index), 3) of some entries of a value."""
        if value == 0:
            return self._program.start[index]
        store = self._known[self._level[value]]
        known = store.get(value)
        if known is None:
            n = prod(self._program.shapes[value])
            known = store[value] = _Known(np.zeros((n, 3), dtype=object), np.zeros(n, bool))
        missing = index[~known.have[index]]
        if len(missing):
            step = self._program.steps[value - 1]
            known.triples[missing] = (self._bend if step.is_bend else self._affine)(value - 1, missing)
            known.have[missing] = True
        return known.triples[index]

    def _affine(self, i: int, index: Indices) -> Integers:
        step, affine = self._program.steps[i], self._program.affine[i]
        out = np.zeros((len(index), 3), dtype=object)
        out[:, 2] = affine.constant[index]
        for value, (data, columns, starts) in zip(step.inputs, affine.rows, strict=True):
            spans = [slice(starts[row], starts[row + 1]) for row in index]
            needed = columns[spans[0]] if len(spans) == 1 else np.unique(np.concatenate([columns[s] for s in spans]))
            if value and self._program.steps[value - 1].op == "relu" and value - 1 not in self._program.leak:
                bend = self._program.net.bends.index(value - 1)
                needed = needed[self._sides[bend][needed] == 1]  # a relu without leak is 0 on its other side
            triples = self.rows(value, needed)  # (needed, 3)
            place = np.full(prod(self._program.shapes[value]), -1)
            place[needed] = np.arange(len(needed))
            for k, span in enumerate(spans):
                at = place[columns[span]]
                present = at >= 0
                if present.any():  # numpy's product of no objects at all is no integer
                    out[k] += data[span][present] @ triples[at[present]]
        return out

    def _bend(self, i: int, index: Indices) -> Integers:
        program, source = self._program, self._program.steps[i].inputs[0]
        side = self._sides[program.net.bends.index(i)][index]
        if program.steps[i].op == "choice":
            return self.rows(source, index * program.shapes[source][-1] + side)
        out = np.zeros((len(index), 3), dtype=object)
        on = side == 1
        if i not in program.leak:
            out[on] = self.rows(source, index[on])
            return out
        _, leak, scale = program.leak[i]
        factor = np.where(on, np.full(len(index), 1 << scale, dtype=object), leak[index])
        return np.asarray(factor[:, None] * self.rows(source, index))
