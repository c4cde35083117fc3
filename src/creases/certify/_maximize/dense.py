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

from creases._typing import Floats
from creases.certify._exact import bend_exactly
from creases.certify._form import PLAIN, exact_functions, read_layers
from creases.certify.proofs._checker.parts import Dyadic
from creases.certify.proofs._rounding import gamma
from creases.network import Network

#: The most numbers in all matrices of a network.
MAX_NUMBERS = 2**22

#: The most numbers of a network for which coefficients are computed without rounding.
MAX_EXACT = 2**17


@dataclass(frozen=True, eq=False)
class Affine:
    """``c + B v + sum of W[j] h_j``, each number up to an error; shapes (m,), (m, n), (m, m_j)."""

    c: Floats
    B: Floats
    W: tuple[Floats, ...]  #: for each bend before it
    c_error: Floats
    B_error: Floats
    W_error: tuple[Floats, ...]


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
        self,
        functions: list[tuple[Floats, ...]],
        leaks: tuple[Floats, ...],
        multiplied: list[list[Dyadic | Floats]] | None,
    ) -> None:
        self.functions, self.leaks, self._multiplied = functions, leaks, multiplied
        self._last: Dense | None = None  # searches of many objectives are around the same point
        has_errors = any(error.any() for function in functions for error in function[1::2])
        self.is_known = multiplied is not None or not has_errors  #: whether the numbers are known without rounding

    def exact(self, i: int, part: int) -> Dyadic:
        """Return a part of a function without rounding, if that is known, else its floats: 0 for c, 1 for B, ..."""
        known = self.functions[i][2 * part] if self._multiplied is None else self._multiplied[i][part]
        return known if isinstance(known, Dyadic) else Dyadic.of(known)

    @cached_property
    def exact_functions(self) -> list[list[Dyadic]] | None:
        """Constants (m,), B (m, n) and the W (m, m_j) of each function without rounding; None if not known or many."""
        if not self.is_known or sum(part.size for function in self.functions for part in function) > 2 * MAX_EXACT:
            return None
        return [[self.exact(i, k) for k in range(len(function) // 2)] for i, function in enumerate(self.functions)]

    def entering(self, x: Dyadic, slopes: list[Floats] | None = None) -> list[Dyadic]:
        """Return what enters each bend, and the outputs, at an input without rounding, or as functions of it.

        Parameters
        ----------
        x
            (n,), or (n, n + 1): the inputs as affine functions, whose constant is last.
        slopes
            (m,) of the units of each bend; by default those of their sides.
        """
        assert self.exact_functions is not None
        sources, values = [x], []
        for j, (c, *matrices) in enumerate(self.exact_functions):
            z = c if x.whole.ndim == 1 else c[:, None] * Dyadic.of(np.eye(1, x.whole.shape[1], x.whole.shape[1] - 1))
            for W, h in zip(matrices, sources, strict=True):
                z = z + W @ h
            values.append(z)
            if j < len(self.leaks):
                sources.append(bend_exactly(z, self.leaks[j]) if slopes is None else z * Dyadic.of(slopes[j])[:, None])
        return values

    def gradient(self, row: Dyadic, slopes: list[Floats], last: int = -1) -> Dyadic:
        """Return the gradient (1, n) of a row (1, m) times a function, by default the output, for slopes of units."""
        assert self.exact_functions is not None
        totals = [row @ W for W in self.exact_functions[last][1:]]
        for j in reversed(range(len(totals) - 1)):
            back = totals[j + 1] * Dyadic.of(slopes[j])
            totals = [total + back @ W for total, W in zip(totals, self.exact_functions[j][1:], strict=False)]
        return totals[0]

    def around(self, middle: Floats) -> Dense:
        """Return the network around a point (n,)."""
        if self._last is None or not np.array_equal(self._last.middle, middle):
            parts = [self._shift(i, function, middle) for i, function in enumerate(self.functions)]
            self._last = Dense(middle, tuple(parts[:-1]), self.leaks, parts[-1])
        return self._last

    def _shift(self, i: int, function: tuple[Floats, ...], middle: Floats) -> Affine:
        _, c_error, B, B_error, *rest = function
        constant = self.exact(i, 0)
        if B.any() and middle.any():
            constant = constant + self.exact(i, 1) @ Dyadic.of(middle)
        constants, errors = constant.nearest()
        if not self.is_known:
            slack = c_error + B_error @ np.abs(middle)
            errors = (errors + slack) * (1 + gamma(len(middle)))
        return Affine(constants, B, tuple(rest[::2]), errors, B_error, tuple(rest[1::2]))


def round_up(value: Fraction) -> float:
    """Return the smallest float that is not below a fraction."""
    try:
        nearest = float(value)
    except OverflowError:
        return np.inf if value > 0 else -float(np.finfo(float).max)
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
    if any(not step.is_bend and step.op not in PLAIN for step in net.steps):
        return None
    columns = [net.n_in, *(prod(net.steps[i].shape) for i in net.bends)]
    if (sum(columns) + 1) * (sum(net.sizes) + 1) > 4 * MAX_NUMBERS:
        return None
    return _lower(net)


def _lower(net: Network) -> DenseForm:
    layers = read_layers(net)
    columns = [net.n_in, *(len(layer.c) for layer in layers.layers)]
    functions = [_split(part.W, part.c, part.W_error, part.c_error, columns) for part in layers.layers]
    functions.append(_split(layers.W, layers.c, layers.W_error, layers.c_error, columns))
    leaks = tuple(layer.leak for layer in layers.layers)
    form = DenseForm(functions, leaks, None)
    exact = None if form.is_known else exact_functions(net)
    if exact is None:
        return form
    rounded: list[tuple[Floats, ...]] = []
    for function in exact:
        ends = [part.nearest() if isinstance(part, Dyadic) else (part, np.zeros(part.shape)) for part in function]
        rounded.append(tuple(array for pair in ends for array in pair))
    return DenseForm(rounded, leaks, exact)


def _split(W: Floats, c: Floats, W_error: Floats | None, c_error: Floats, columns: list[int]) -> tuple[Floats, ...]:
    """Return c, and the matrices of the input and of the bends so far, each followed by its errors."""
    parts, start = [c, c_error], 0
    for count in columns:
        if start < W.shape[1]:
            part = np.ascontiguousarray(W[:, start : start + count])
            error = np.zeros(part.shape) if W_error is None else W_error[:, start : start + count]
            parts += [part, np.ascontiguousarray(error)]
        start += count
    return tuple(parts)
