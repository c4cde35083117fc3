"""Sets of inputs and outputs that must not occur."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any

from numpy.typing import NDArray

from creases._typing import Floats

Numbers = NDArray[Any]  #: float64; fractions (objects) where a number is no float64


@dataclass(frozen=True, eq=False)
class Case:
    """A set that must not occur: inputs of a box with ``A x <= b`` whose outputs have ``C y + D x <= d``.

    Numbers are taken at their exact value: arrays of float64, or of fractions where a number is no float64.
    """

    box: Numbers  #: (n, 2); both ends may be equal
    A: Numbers  #: (r, n)
    b: Numbers  #: (r,)
    C: Numbers  #: (k, m)
    D: Numbers  #: (k, n) zeros unless rows join inputs and outputs
    d: Numbers  #: (k,)

    @property
    def is_float(self) -> bool:
        """Whether all numbers are float64."""
        return all(getattr(self, part.name).dtype != object for part in fields(self))

    def contains(self, x: Sequence[Any] | Floats, y: Sequence[Any] | Floats, high: Sequence[Any] | None = None) -> bool:
        """Whether an input (n,) is in the set with outputs (m,), or all outputs from ``y`` to ``high``: exactly."""
        x, low = [Fraction(value) for value in x], [Fraction(value) for value in y]
        ends = low if high is None else [Fraction(value) for value in high]
        if not all(least <= value <= most for value, (least, most) in zip(x, self.box.tolist(), strict=True)):
            return False
        if any(dot(row, x) > limit for row, limit in zip(self.A.tolist(), self.b.tolist(), strict=True)):
            return False
        return all(self._largest(k, x, low, ends) <= limit for k, limit in enumerate(self.d.tolist()))

    def is_below(self, rows: Sequence[int], x: Sequence[Any], y: Sequence[Any], high: Sequence[Any]) -> bool:
        """Whether some rows of outputs are below their limits for an input and all outputs from ``y`` to ``high``."""
        point, low, ends = ([Fraction(value) for value in values] for values in (x, y, high))
        return all(self._largest(k, point, low, ends) < Fraction(self.d[k]) for k in rows)

    def _largest(self, k: int, x: Sequence[Fraction], low: Sequence[Fraction], high: Sequence[Fraction]) -> Fraction:
        """Return the largest value of row k at an input, of outputs from ``low`` to ``high``."""
        row = self.C[k].tolist()
        worst = [a if c < 0 else b for c, a, b in zip(row, low, high, strict=True)]
        return dot(row, worst) + dot(self.D[k].tolist(), x)


def dot(row: Sequence[Any], values: Sequence[Fraction]) -> Fraction:
    """Return the exact product of a row of numbers and fractions."""
    return sum((Fraction(a) * value for a, value in zip(row, values, strict=True) if a), Fraction(0))
