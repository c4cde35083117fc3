"""A network of ReLUs as dense matrices around the middle of a box, with what rounding changed in them.

What enters a bend is ``z = c + B v + sum of W_j h_j``: v the input less the middle of the box, h_j the outputs of the
bends before it. Chains of affine steps are multiplied out, without rounding where that does not take too long; each
entry comes with a bound of its rounding error. The constants are computed in rational arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from math import prod

import numpy as np
import torch
from torch import Tensor

from creases._program import Step
from creases._typing import Floats
from creases.certify._exact import Dyadic
from creases.certify._maximize.exact_form import exact_functions
from creases.network import Network

#: Unit roundoff of float64.
UNIT = 2.0**-53

#: The most numbers in all matrices of a network.
MAX_NUMBERS = 2**22

#: The most numbers of a network for which values are computed in fractions.
MAX_FRACTIONS = 2**17

#: Operations whose weights are the numbers in the network; the others (pooling, interpolation) round weights of theirs.
_PLAIN = ("linear", "conv", "conv_transpose", "scale", "add", "matmul", "sum")
_MOVES = ("reshape", "permute", "gather", "concat", "stack", "pad")


def gamma(n: int) -> float:
    """Bound the relative error of a sum of n products, with ample room for the rounding of magnitudes around it."""
    return 4.0 * (n + 16) * UNIT


@dataclass(frozen=True, eq=False)
class Affine:
    """``c + B v + sum of W[j] h_j``, each number up to an error; shapes (m,), (m, n), (m, m_j)."""

    c: Floats
    B: Floats
    W: tuple[Floats, ...]  #: for each bend before it
    c_error: Floats
    B_error: Floats
    W_error: tuple[Floats, ...]

    @property
    def is_exact(self) -> bool:
        """Whether no matrix has an error."""
        return not (self.B_error.any() or any(part.any() for part in self.W_error))


@dataclass(frozen=True, eq=False)
class Dense:
    """A network around a point: what enters each bend, and the output, as affine functions."""

    middle: Floats  #: (n,)
    bends: tuple[Affine, ...]
    leaks: tuple[Floats, ...]  #: (m,) for each bend
    output: Affine

    @property
    def n_terms(self) -> int:
        """Bound of the number of terms of any sum in a pass through the network."""
        return len(self.middle) + sum(map(len, self.leaks)) + len(self.output.c)

    @property
    def n_units(self) -> int:
        """Number of units."""
        return sum(map(len, self.leaks))


_Value = dict[int, tuple[Tensor, Tensor]]  # source -> coefficients and errors, (1 + columns of the source, *shape)


class DenseForm:
    """The matrices of a network, from which :meth:`around` makes a :class:`Dense` for every middle.

    Parameters
    ----------
    functions
        c, B and the W of each bend and of the output, each followed by its errors.
    leaks
        (m,) of each bend.
    multiplied
        The same without rounding, c, B and the W of each, where steps were multiplied out; None if there are none.
    """

    def __init__(
        self, functions: list[tuple[Floats, ...]], leaks: tuple[Floats, ...], multiplied: list[list[Dyadic]] | None
    ) -> None:
        self.functions, self.leaks, self._multiplied = functions, leaks, multiplied
        has_errors = any(error.any() for function in functions for error in function[1::2])
        self.is_known = multiplied is not None or not has_errors  #: whether the numbers are known without rounding

    def exact(self, i: int, part: int) -> Dyadic:
        """Return a part of a function without rounding, if that is known, else its floats: 0 for c, 1 for B, ..."""
        return Dyadic.of(self.functions[i][2 * part]) if self._multiplied is None else self._multiplied[i][part]

    @cached_property
    def fractions(self) -> list[list[list[list[Fraction]]]] | None:
        """Constants (m, 1), B (m, n) and the W (m, m_j) of each function as fractions; None if not known or many."""
        if not self.is_known or sum(part.size for function in self.functions for part in function) > MAX_FRACTIONS:
            return None
        return [
            [_rows(self.exact(i, k)) for k in range(len(function) // 2)] for i, function in enumerate(self.functions)
        ]

    def around(self, middle: Floats) -> Dense:
        """Return the network around a point (n,)."""
        parts = [self._shift(i, function, middle) for i, function in enumerate(self.functions)]
        return Dense(middle, tuple(parts[:-1]), self.leaks, parts[-1])

    def _shift(self, i: int, function: tuple[Floats, ...], middle: Floats) -> Affine:
        _, c_error, B, B_error, *rest = function
        shift = self.exact(i, 1).times(Dyadic.of(middle[:, None]))
        constants, errors = self.exact(i, 0).plus(Dyadic(shift.integers[:, 0], shift.exponent)).rounded()
        if not self.is_known:
            slack = c_error + B_error @ np.abs(middle)
            errors = (errors + slack) * (1 + gamma(len(middle)))
        return Affine(constants, B, tuple(rest[::2]), errors, B_error, tuple(rest[1::2]))


def _rows(part: Dyadic) -> list[list[Fraction]]:
    flat, count = part.fractions(), len(part.integers)
    width = len(flat) // max(count, 1)
    return [flat[k * width : (k + 1) * width] for k in range(count)]


def round_up(value: Fraction) -> float:
    """Return the smallest float that is not below a fraction."""
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else float(np.nextafter(nearest, np.inf))


def round_down(value: Fraction) -> float:
    """Return the largest float that is not above a fraction."""
    return -round_up(-value)


@lru_cache(maxsize=4)
def dense_form(net: Network) -> DenseForm | None:
    """Return the matrices of a network in float64; None if it has choices or operations with rounded weights.

    Networks whose matrices would have more than ``MAX_NUMBERS`` numbers have none either.
    """
    if any(net.steps[i].op != "relu" for i in net.bends):
        return None
    if any(not step.is_bend and step.op not in _PLAIN + _MOVES for step in net.steps):
        return None
    columns = [net.n_in, *(prod(net.steps[i].shape) for i in net.bends)]
    if (sum(columns) + 1) * (sum(net.sizes) + 1) > 4 * MAX_NUMBERS:
        return None
    with torch.no_grad():
        return _lower(net)


def _lower(net: Network) -> DenseForm:
    values: list[_Value] = [_source(0, net.n_in, net.input_shape)]
    functions, leaks = [], []
    columns = [net.n_in]
    for step in net.steps:
        if step.is_bend:
            functions.append(_flatten(values[step.inputs[0]], columns))
            size = prod(step.shape)
            leak = torch.zeros(step.shape) if step.leak is None else step.leak.expand(step.shape)
            leaks.append(leak.double().reshape(-1).numpy())
            columns.append(size)
            values.append(_source(len(columns) - 1, size, step.shape))
        else:
            values.append(_apply(step, [values[value] for value in step.inputs]))
    functions.append(_flatten(values[-1], columns))
    form = DenseForm(functions, tuple(leaks), None)
    exact = None if form.is_known else exact_functions(net)
    if exact is None:
        return form
    rounded = [tuple(array for part in function for array in part.rounded()) for function in exact]
    return DenseForm(rounded, tuple(leaks), exact)


def _source(number: int, size: int, shape: tuple[int, ...]) -> _Value:
    eye = torch.eye(size, dtype=torch.float64).reshape(size, *shape)
    return {
        number: (eye, torch.zeros_like(eye)),
        -1: (torch.zeros(1, *shape).double(), torch.zeros(1, *shape).double()),
    }


def _flatten(value: _Value, columns: list[int]) -> tuple[Floats, ...]:
    """Return c, B, the matrices of the bends so far, each followed by its errors."""
    parts: list[Floats] = []
    size = int(value[-1][0].numel())
    parts += [part.reshape(-1).numpy() for part in value[-1]]
    for number, count in enumerate(columns):
        if number in value:
            parts += [np.ascontiguousarray(part.reshape(count, -1).numpy().T) for part in value[number]]
        else:
            parts += [np.zeros((size, count)), np.zeros((size, count))]
    return tuple(parts)


def _apply(step: Step, inputs: list[_Value]) -> _Value:
    """Apply an affine step to coefficients of every source."""
    out: _Value = {}
    for number in sorted({number for value in inputs for number in value}):
        count = next(len(value[number][0]) for value in inputs if number in value)
        pairs = [value[number] if number in value else _zeros(count, value[-1][0].shape[1:]) for value in inputs]
        parts, errors = ([pair[k] for pair in pairs] for k in (0, 1))
        result = step.linear(parts)
        if step.op in _MOVES:
            error = step.linear(errors)
        else:
            error = step.linear_magnitude(errors)
            if not all(_is_selection(part) for part in parts) or (step.op == "add" and len(parts) > 1):
                size = step.linear_magnitude([part.abs() for part in parts])
                exact = step.linear_magnitude([(part != 0).double() for part in parts]) if step.op == "add" else None
                rounding = gamma(sum(part[0].numel() for part in parts)) * size
                error = error + (rounding if exact is None else torch.where(exact > 1, rounding, 0.0))
                error = error * (1 + gamma(1))
        out[number] = (result, error)
    if step.offset is not None:
        constant, error = out[-1]
        total = constant + step.offset
        touched = (constant != 0) & (step.offset != 0)
        out[-1] = (total, error + torch.where(touched, total.abs() * gamma(1), 0.0))
    return out


def _zeros(count: int, shape: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    zero = torch.zeros(count, *shape, dtype=torch.float64)
    return zero, zero


def _is_selection(part: Tensor) -> bool:
    """Whether each column has at most one entry, of magnitude 1: products with it are exact."""
    flat = part.flatten(1).abs()
    return bool(((flat == 0) | (flat == 1)).all() and ((flat != 0).sum(dim=1) <= 1).all())
