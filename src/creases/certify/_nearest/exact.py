"""A network in exact arithmetic: float64 numbers are integers times powers of two, and so are all sums of products."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from creases._typing import Floats
from creases.certify._nearest.question import Question
from creases.network import Network
from creases.network.program import Step

#: Most entries of the matrix of a step that is applied exactly.
MATRIX_ENTRIES = 2**22


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

    def fractions(self) -> list[Fraction]:
        """Return the numbers as fractions, flattened."""
        unit = Fraction(2) ** self.exponent
        return [Fraction(int(value)) * unit for value in self.integers.ravel()]


def _align(parts: list[Dyadic]) -> tuple[list[NDArray[np.object_]], int]:
    """Return the integers of several numbers with one exponent."""
    least = min(part.exponent for part in parts)
    return [part.integers * 2 ** (part.exponent - least) for part in parts], least


def exact_outputs(net: Network, x: Floats) -> list[Fraction] | None:
    """Return the outputs of a float64 network at an input (n_in,), without rounding; None for a network too large."""
    values = [Dyadic.of(np.asarray(x, np.float64).reshape(net.input_shape))]
    for step in net.steps:
        inputs = [values[i] for i in step.inputs]
        out = _bend(step, inputs[0]) if step.is_bend else _affine(step, inputs)
        if out is None:
            return None
        values.append(out)
    return values[-1].fractions()


def _bend(step: Step, z: Dyadic) -> Dyadic:
    if step.op == "choice":
        return Dyadic(np.asarray(z.integers.max(axis=-1), object), z.exponent)
    positive = np.asarray(z.integers > 0, bool)
    if step.leak is None:
        return Dyadic(np.where(positive, z.integers, 0), z.exponent)
    leak = Dyadic.of(step.leak.expand(z.integers.shape).double().numpy())
    one = 2**-leak.exponent if leak.exponent < 0 else 1
    slope = leak.integers * (1 if leak.exponent < 0 else 2**leak.exponent)
    return Dyadic(np.where(positive, z.integers * one, z.integers * slope), z.exponent + min(leak.exponent, 0))


def _affine(step: Step, inputs: list[Dyadic]) -> Dyadic | None:
    """Apply an affine step by the matrix that it is for each of its inputs."""
    parts: list[Dyadic] = []
    size = int(np.prod(step.shape))
    if sum(part.integers.size for part in inputs) * size > MATRIX_ENTRIES:
        return None
    for k, value in enumerate(inputs):
        count = value.integers.size
        basis = [torch.zeros(count, *part.integers.shape, dtype=torch.float64) for part in inputs]
        basis[k] = torch.eye(count, dtype=torch.float64).reshape(count, *value.integers.shape)
        with torch.no_grad():
            matrix = Dyadic.of(step.linear(basis).reshape(count, size).numpy())
        parts.append(Dyadic(value.integers.reshape(1, -1) @ matrix.integers, value.exponent + matrix.exponent))
    if step.offset is not None:
        parts.append(Dyadic.of(step.offset.expand(step.shape).double().numpy().reshape(1, -1)))
    terms, exponent = _align(parts)
    return Dyadic(np.asarray(sum(terms[1:], terms[0]), object).reshape(step.shape), exponent)


def exact_margin(question: Question, point: Floats) -> Fraction | None:
    """Return by how much the decision at an input differs, exactly; None for a network too large."""
    outputs = exact_outputs(question.net, point)
    if outputs is None:
        return None
    margins = []
    for goal in question.goals:
        rows = [
            sum((Fraction(w) * z for w, z in zip(row, outputs, strict=True) if w), Fraction(constant))
            for row, constant in zip(goal.G.tolist(), goal.g.tolist(), strict=True)
        ]
        margins.append(min(rows))
    return max(margins)


def distance_above(question: Question, point: Floats) -> float:
    """Return the distance of an input from x, rounded up."""
    change = [
        abs(Fraction(w) * (Fraction(a) - Fraction(b)))
        for w, a, b in zip(question.weights.tolist(), point.tolist(), question.x.tolist(), strict=True)
        if a != b
    ]
    if not change:
        return 0.0
    if question.norm == "l2":
        square = sum((v * v for v in change), Fraction(0))
        return _root_above(square)
    return _float_above(sum(change, Fraction(0)) if question.norm == "l1" else max(change))


def _float_above(value: Fraction) -> float:
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else float(np.nextafter(nearest, np.inf))


def _root_above(square: Fraction) -> float:
    """Return the square root of a fraction, rounded up."""
    shift = max(0, 120 - square.numerator.bit_length() + square.denominator.bit_length())
    shift += shift % 2
    scaled, rest = divmod(square.numerator << shift, square.denominator)
    root = isqrt(scaled)
    return _float_above(Fraction(root if root * root == scaled and not rest else root + 1, 2 ** (shift // 2)))
