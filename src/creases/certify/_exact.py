"""A network in exact arithmetic: float64 numbers are integers times powers of two, and so are all sums of products."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import lcm, prod
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from creases._program import Step
from creases._typing import Floats
from creases.network import Network

#: The most entries of the matrix of a step, unless it is a weight as it stands.
MATRIX_ENTRIES = 2**22

#: The most products of an exact evaluation: a few seconds.
MAX_PRODUCTS = 2**22


class Dyadic(NamedTuple):
    """Numbers ``integers * 2**exponent``."""

    integers: NDArray[np.object_]
    exponent: int

    @classmethod
    def of(cls, values: Any) -> Dyadic:
        """Return finite float64 numbers as they are."""
        array = np.asarray(values, np.float64)
        mantissa, exponent = np.frexp(array)
        whole = (mantissa * 2.0**53).astype(np.int64).astype(object)
        least = int(exponent[array != 0].min(initial=2000)) if array.any() else 53
        shift = np.where(array != 0, exponent - least, 0).astype(object)
        return cls(np.asarray(whole * 2**shift, object).reshape(array.shape), least - 53)

    def times(self, other: Dyadic) -> Dyadic:
        """Return the product of matrices."""
        return Dyadic(np.asarray(self.integers @ other.integers, object), self.exponent + other.exponent)

    def plus(self, other: Dyadic) -> Dyadic:
        """Return the sum."""
        (a, b), exponent = _align([self, other])
        return Dyadic(np.asarray(a + b, object), exponent)

    def above(self, other: Dyadic) -> Dyadic:
        """Return the rows of both, these first."""
        parts, exponent = _align([self, other])
        return Dyadic(np.concatenate(parts), exponent)

    def fractions(self) -> list[Fraction]:
        """Return the numbers as fractions, flattened."""
        unit = Fraction(2) ** self.exponent
        return [Fraction(int(value)) * unit for value in self.integers.ravel()]

    def rounded(self) -> tuple[Floats, Floats]:
        """Return the nearest floats, and bounds of how far they are away."""
        exact = self.fractions()
        floats = np.array([float(value) for value in exact])
        away = [float(abs(Fraction(near) - value)) for near, value in zip(floats.tolist(), exact, strict=True)]
        errors = np.array([np.nextafter(error, np.inf) if error else 0.0 for error in away])
        shape = self.integers.shape
        return floats.reshape(shape), errors.reshape(shape)


def _align(parts: list[Dyadic]) -> tuple[list[NDArray[np.object_]], int]:
    """Return the integers of several numbers with one exponent."""
    least = min(part.exponent for part in parts)
    return [part.integers * 2 ** (part.exponent - least) for part in parts], least


def exact_outputs(net: Network, x: Floats | Sequence[Fraction]) -> list[Fraction] | None:
    """Return the outputs of a float64 network at an input (n_in,), without rounding; None for a network too large.

    An input of fractions p / q has the outputs of p, with offsets times q, divided by q: bends scale with their input.
    """
    scale = 1
    if isinstance(x, np.ndarray):
        values = [Dyadic.of(x.reshape(net.input_shape))]
    else:
        scale = lcm(*(value.denominator for value in x))
        whole = np.array([int(value * scale) for value in x], dtype=object)
        values = [Dyadic(whole.reshape(net.input_shape), 0)]
    left = MAX_PRODUCTS
    for step in net.steps:
        inputs = [values[i] for i in step.inputs]
        if step.is_bend:
            values.append(_bend(step, inputs[0]))
            continue
        matrices = step_matrices(step, [part.integers.shape for part in inputs])
        left -= sum(map(np.count_nonzero, matrices or ()))
        if matrices is None or left < 0:
            return None
        values.append(_affine(step, inputs, matrices, scale))
    return [value / scale for value in values[-1].fractions()]


def _bend(step: Step, z: Dyadic) -> Dyadic:
    if step.op == "choice":
        return Dyadic(np.asarray(z.integers.max(axis=-1), object), z.exponent)
    leak = torch.zeros(()) if step.leak is None else step.leak
    return bend_exactly(z, leak.expand(z.integers.shape).double().numpy())


def bend_exactly(z: Dyadic, leak: Floats) -> Dyadic:
    """Return numbers where they are positive, elsewhere times a leak."""
    positive = np.asarray(z.integers > 0, bool)
    if not leak.any():
        return Dyadic(np.where(positive, z.integers, 0), z.exponent)
    factor = Dyadic.of(np.where(positive, 1.0, leak))
    return Dyadic(np.asarray(z.integers * factor.integers, object), z.exponent + factor.exponent)


def _affine(step: Step, inputs: list[Dyadic], matrices: list[Floats], scale: int) -> Dyadic:
    """Apply an affine step, its offset times a number, by the matrix that it is for each of its inputs."""
    parts = [
        multiply_exactly(matrix, Dyadic(value.integers.ravel(), value.exponent))
        for value, matrix in zip(inputs, matrices, strict=True)
    ]
    if step.offset is not None:
        offset = Dyadic.of(step.offset.expand(step.shape).double().numpy().ravel())
        parts.append(Dyadic(np.asarray(offset.integers * scale, object), offset.exponent))
    terms, exponent = _align(parts)
    return Dyadic(np.asarray(sum(terms[1:], terms[0]), object).reshape(step.shape), exponent)


def multiply_exactly(W: Any, x: Dyadic) -> Dyadic:
    """Return the product of a matrix of floats (m, n), an array or sparse, and numbers (n,); zeros cost nothing."""
    if isinstance(W, np.ndarray):
        rows, columns = W.nonzero()
        weights = Dyadic.of(W[rows, columns])
    else:
        sparse = W.tocoo()
        rows, columns, weights = sparse.row, sparse.col, Dyadic.of(sparse.data)
    out = np.zeros(W.shape[0], dtype=object)
    if len(rows):
        order = np.argsort(rows, kind="stable")
        first = np.flatnonzero(np.diff(rows[order], prepend=-1))
        products = (weights.integers * x.integers[columns])[order]
        out[rows[order][first]] = np.add.reduceat(products, first)
    return Dyadic(out, weights.exponent + x.exponent)


def step_matrices(
    step: Step, shapes: Sequence[tuple[int, ...]], max_entries: int = MATRIX_ENTRIES
) -> list[Floats] | None:
    """Return the matrix (size of the output, size of the input) of an affine step for each input; None if too large."""
    if step.op == "linear" and len(step.shape) == 1:
        return [step.tensors["weight"].double().numpy()]
    size, counts = prod(step.shape), [prod(shape) for shape in shapes]
    if max(count * max(count, size) for count in counts) > max_entries:
        return None
    matrices = []
    for k, count in enumerate(counts):
        basis = [torch.zeros(count, *shape, dtype=torch.float64) for shape in shapes]
        basis[k] = torch.eye(count, dtype=torch.float64).reshape(count, *shapes[k])
        with torch.no_grad():
            matrices.append(np.ascontiguousarray(step.linear(basis).reshape(count, size).numpy().T))
    return matrices
