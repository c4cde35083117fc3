"""Linear maps with exact entries, applied in float64 with a bound of the rounding, or in fractions.

Errors are those of :mod:`creases.certify.proofs._rounding`. Sums and products of entries without rounding are whole
numbers times a power of 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import inf, isfinite, lcm, ldexp, nextafter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from creases.certify.proofs._rounding import LEAST, UNIT, gamma
from creases.certify.proofs._spec import Array, is_infinite


def to_fraction(value: Any) -> Any:
    """Return a number as a fraction; an infinity stays."""
    return value if isinstance(value, Fraction) or not isfinite(value) else Fraction(value)


_fractions = np.frompyfunc(to_fraction, 1, 1)


def to_fractions(values: Any) -> Array:
    """Return numbers as an array of fractions."""
    array = np.asarray(values, dtype=object)
    return np.asarray(_fractions(array), dtype=object).reshape(array.shape)


def lift(values: Array, exact: bool) -> Array:
    """Return an array of float64 as it is, or as fractions."""
    return to_fractions(values) if exact else values


class Dense:
    """A matrix (out, in) of floats, or of numbers near floats.

    Parameters
    ----------
    M
        The nearest floats.
    error
        Bounds of how far they are away; None if they are exact.
    entries
        The exact numbers, where they are known already.
    """

    def __init__(
        self, M: NDArray[np.float64], error: NDArray[np.float64] | None = None, entries: Dyadic | None = None
    ) -> None:
        self.M, self.error, self._entries = M, error, entries
        self.terms = int(max(np.count_nonzero(M, axis=0).max(initial=0), np.count_nonzero(M, axis=1).max(initial=0)))

    @cached_property
    def size(self) -> Array:
        """Magnitudes of the entries."""
        return np.abs(self.M)

    @cached_property
    def transpose(self) -> Dense:
        """The transposed matrix."""
        error = None if self.error is None else np.ascontiguousarray(self.error.T)
        return Dense(np.ascontiguousarray(self.M.T), error, None if self._entries is None else self._entries.T)

    @cached_property
    def exact_entries(self) -> Dyadic:
        """The exact numbers."""
        return Dyadic.of(self.M) if self._entries is None else self._entries

    @cached_property
    def _ends(self) -> tuple[Array, Array]:
        return np.maximum(self.M, 0), np.minimum(self.M, 0)

    @cached_property
    def _exact_ends(self) -> tuple[Array, Array]:
        entries = self.exact_entries.fractions()
        return np.maximum(entries, 0), np.minimum(entries, 0)

    def exact(self, rows: Array) -> Array:
        """Return fractions (k, out) times the matrix."""
        whole, power = self.exact_entries.whole, self.exact_entries.power
        out = np.empty((len(rows), whole.shape[1]), dtype=object)
        for row, result in zip(rows, out, strict=True):
            used = np.flatnonzero(row != 0)
            scale = lcm(*(int(row[i].denominator) for i in used))
            numbers = np.array([int(row[i].numerator) * (scale // int(row[i].denominator)) for i in used], dtype=object)
            total = numbers @ whole[used] if len(used) else np.zeros(len(result), int)
            factor = Fraction(2) ** power / scale
            result[:] = [int(value) * factor if value else Fraction(0) for value in total]
        return out

    def back(self, G: Array, exact: bool) -> tuple[Array, Array | None]:
        """Return coefficients G (k, out) of the output as those of the input, and a bound of their rounding."""
        if exact:
            return self.exact(G), None
        size = np.abs(G)
        error = gamma(self.terms) * (size @ self.size) + self.terms * LEAST
        return G @ self.M, error if self.error is None else error + size @ self.error * (1 + gamma(self.terms))

    def back_interval(self, low: Array, high: Array, exact: bool) -> tuple[Array, Array]:
        """Return bounds of coefficients of the input from bounds (out,) of those of the output."""
        return self.transpose.interval(low, high, exact)

    def interval(self, low: Array, high: Array, exact: bool) -> tuple[Array, Array]:
        """Return bounds of the output from bounds (in,) of the input."""
        above, below = self._exact_ends if exact else self._ends
        endless_low, endless_high = is_infinite(low), is_infinite(high)
        finite_low, finite_high = np.where(endless_low, 0, low), np.where(endless_high, 0, high)
        least, most = above @ finite_low + below @ finite_high, above @ finite_high + below @ finite_low
        if not exact:
            reach = np.maximum(np.abs(finite_low), np.abs(finite_high))
            error = gamma(2 * self.terms) * (self.size @ reach) + self.terms * LEAST
            if self.error is not None:
                error = error + self.error @ reach * (1 + gamma(self.terms))
            # A sum without negative terms is not negative, however its terms were rounded.
            up, down = self.M > 0, self.M < 0
            has_negative, has_positive = (up @ (low < 0)) | (down @ (high > 0)), (up @ (high > 0)) | (down @ (low < 0))
            least = np.where(has_negative, least - error, np.maximum(least - error, 0))
            most = np.where(has_positive, most + error, np.minimum(most + error, 0))
        if endless_low.any() or endless_high.any():
            up, down = self.M > 0, self.M < 0
            least = np.where(up @ endless_low | down @ endless_high, -np.inf, least)
            most = np.where(up @ endless_high | down @ endless_low, np.inf, most)
        return least, most


class Pick:
    """Copies of entries, ``out[i] = in[index[i]]``, each times a factor or divided by a number; index -1: zero."""

    def __init__(
        self, n_in: int, index: NDArray[np.int64], factor: Array | None = None, divisor: Array | None = None
    ) -> None:
        self.n_in, self.index, self.factor, self.divisor = n_in, index, factor, divisor
        self.kept = np.flatnonzero(index >= 0)
        order = self.kept[np.argsort(index[self.kept], kind="stable")]
        self.order = order  #: kept outputs, those of one input together
        self.inputs, self.starts, counts = np.unique(index[order], return_index=True, return_counts=True)
        self.terms = int(counts.max(initial=0))

    def _scale(self, values: Array, exact: bool) -> Array:
        if self.factor is not None:
            return np.asarray(values * lift(self.factor, exact))
        return values if self.divisor is None else np.asarray(values / lift(self.divisor, exact))

    @property
    def is_copy(self) -> bool:
        """Whether nothing is rounded."""
        return self.factor is None and self.divisor is None and self.terms <= 1

    def back(self, G: Array, exact: bool) -> tuple[Array, Array | None]:
        """Return coefficients G (k, out) of the output as those of the input, and a bound of their rounding."""
        scaled = self._scale(G, exact)
        out = self._collect(scaled)
        if exact or self.is_copy:
            return out, None
        return out, gamma(self.terms) * self._collect(np.abs(scaled)) + self.terms * LEAST

    def _collect(self, G: Array) -> Array:
        out = np.zeros((len(G), self.n_in), dtype=G.dtype)
        if len(self.order):
            out[:, self.inputs] = np.add.reduceat(G[:, self.order], self.starts, axis=1)
        return out

    def interval(self, low: Array, high: Array, exact: bool) -> tuple[Array, Array]:
        """Return bounds of the output from bounds (in,) of the input."""
        parts = []
        for end in (low, high):
            picked = np.where(self.index >= 0, end[self.index], 0)
            scaled = self._scale(picked, exact)
            if self.factor is not None:
                scaled = np.where(lift(self.factor, exact) == 0, 0, scaled)  # also where an end is infinite
            parts.append(scaled)
        least, most = np.minimum(*parts), np.maximum(*parts)
        if exact or self.is_copy:
            return least, most
        return least - 4 * UNIT * np.abs(least) - LEAST, most + 4 * UNIT * np.abs(most) + LEAST

    def back_interval(self, low: Array, high: Array, exact: bool) -> tuple[Array, Array]:
        """Return bounds of coefficients of the input from bounds (out,) of those of the output."""
        parts = [self._scale(end[None], exact) for end in (low, high)]
        least, most = self._collect(np.minimum(*parts))[0], self._collect(np.maximum(*parts))[0]
        if exact or self.is_copy:
            return least, most
        error = gamma(self.terms) * self._collect(np.maximum(*map(np.abs, parts)))[0] + self.terms * LEAST
        return least - error, most + error

    def exact(self, values: Array) -> Array:
        """Return the output of fractions (1, in)."""
        picked = np.where(self.index >= 0, values[:, self.index], 0)
        return self._scale(picked, exact=True)


Part = Dense | Pick


# -- exact entries ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Dyadic:
    """An array of numbers ``whole * 2**power``."""

    whole: Array  #: of Python's integers
    power: int

    @classmethod
    def of(cls, values: Array) -> Dyadic:
        """Return finite float64 numbers as they are."""
        mantissa, exponent = np.frexp(values)
        digits, power = np.asarray(mantissa * 2.0**53, np.int64), exponent.astype(np.int64) - 53
        least = int(power[digits != 0].min(initial=0))
        whole = np.empty(values.size, dtype=object)
        whole[:] = [int(w) << int(p - least) if w else 0 for w, p in zip(digits.flat, power.flat, strict=True)]
        return cls(whole.reshape(values.shape), least)

    def __matmul__(self, other: Dyadic) -> Dyadic:
        out = np.zeros((len(self.whole), *other.whole.shape[1:]), dtype=object)
        for i, row in enumerate(self.whole):
            used = np.flatnonzero(row)  # matrices of minima and maxima are all but empty
            if len(used):
                out[i] = row[used] @ other.whole[used]
        return Dyadic(out, self.power + other.power)

    def __mul__(self, other: Dyadic) -> Dyadic:
        return Dyadic(self.whole * other.whole, self.power + other.power)

    def __add__(self, other: Dyadic) -> Dyadic:
        least = min(self.power, other.power)
        parts = [part.whole * (1 << (part.power - least)) for part in (self, other)]
        return Dyadic(parts[0] + parts[1], least)

    def above(self, other: Dyadic) -> Dyadic:
        """Return the rows of both, these first."""
        least = min(self.power, other.power)
        return Dyadic(np.concatenate([part.whole * (1 << (part.power - least)) for part in (self, other)]), least)

    def __getitem__(self, key: Any) -> Dyadic:
        return Dyadic(self.whole[key], self.power)

    @property
    def T(self) -> Dyadic:
        """The transposed matrix."""
        return Dyadic(self.whole.T, self.power)

    def fractions(self) -> Array:
        """Return the numbers as fractions."""
        unit = Fraction(2) ** self.power
        out = np.empty(self.whole.size, dtype=object)
        out[:] = [int(value) * unit for value in self.whole.flat]
        return out.reshape(self.whole.shape)

    def nearest(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the nearest finite floats, and bounds of how far they are away, 0 where they are exact."""
        pairs = [_nearest(int(value), self.power) if value else (0.0, 0.0) for value in self.whole.flat]
        floats, errors = np.array(pairs, float).reshape(-1, 2).T.reshape(2, *self.whole.shape)
        return floats, errors

    def in_range(self) -> Dyadic:
        """Return the numbers; OverflowError if one is far smaller or larger than floats of full precision."""
        if any(not -900 < int(value).bit_length() + self.power <= 900 for value in self.whole.flat if value):
            raise OverflowError("a product of weights is beyond the range of floats")
        return self


def _nearest(whole: int, power: int) -> tuple[float, float]:
    """Return the nearest finite float to ``whole * 2**power``, and a bound of how far it is away."""
    if whole.bit_length() <= 900 and abs(whole.bit_length() + power) < 900:  # far from over- and underflow
        near = float(whole)
        rest = abs(whole - int(near))
        return ldexp(near, power), nextafter(ldexp(float(rest), power), inf) if rest else 0.0
    value = Fraction(whole) * Fraction(2) ** power
    found = _clip(value)
    away = abs(Fraction(found) - value)
    return found, nextafter(_clip(away), inf) if away else 0.0


def _clip(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return float(np.finfo(float).max) * (1 if value > 0 else -1)
