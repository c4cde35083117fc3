"""Whole numbers times a power of 2: sums and products of float64 numbers, without rounding."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


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
        for row, total in zip(self.whole, out, strict=True):
            used = np.flatnonzero(row)  # matrices of minima and maxima are all but empty
            if len(used):
                total[...] = row[used] @ other.whole[used]
        return Dyadic(out, self.power + other.power)

    def __mul__(self, other: Dyadic) -> Dyadic:
        return Dyadic(self.whole * other.whole, self.power + other.power)

    def __add__(self, other: Dyadic) -> Dyadic:
        least = min(self.power, other.power)
        parts = [part.whole * (1 << (part.power - least)) for part in (self, other)]
        return Dyadic(parts[0] + parts[1], least)

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
        """Return the nearest floats, and bounds of how far they are away, 0 where they are exact.

        Raises OverflowError for numbers that are far smaller or larger than floats of full precision.
        """
        exact = self.fractions().reshape(-1)
        floats = np.array([float(value) for value in exact])
        errors = np.array([float(abs(Fraction(f) - value)) for f, value in zip(floats, exact, strict=True)])
        if any(value != 0 and not 2.0**-900 < abs(f) < 2.0**900 for f, value in zip(floats, exact, strict=True)):
            raise OverflowError("a product of weights is beyond the range of floats")
        shape = self.whole.shape
        return floats.reshape(shape), (errors * (1 + 2.0**-50)).reshape(shape)
