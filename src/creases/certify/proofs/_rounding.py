"""Rounding errors of float64, bounded before anything is computed [1]_: the same numbers for searches and the checker.

A sum of n products computed in float64, in any order, with or without fused operations, differs from the exact value by
at most ``n u / (1 - n u)`` times the sum of the magnitudes of its terms, ``u = 2^-53``, and by n times the smallest
number where products underflow.

References
----------
.. [1] Higham, "Accuracy and Stability of Numerical Algorithms", SIAM 2002, section 3.1.
"""

from __future__ import annotations

from fractions import Fraction
from math import inf, isqrt, nextafter
from sys import float_info

#: Half the distance from 1 to the next number.
UNIT = 2.0**-53

#: More than one product can lose by underflow, also where the processor rounds the smallest numbers to 0.
LEAST = 2.0**-1020

#: More than all products of a sum can lose.
TINY = 1e-290


def gamma(n: int) -> float:
    """Return the relative error of a sum of n products; 0 where nothing is added up.

    Twice that of the products and of eight more operations: the sum of magnitudes is rounded too, and so is what is
    added to it or subtracted afterwards.
    """
    return 2.0 * (n + 8) * UNIT if n else 0.0


def root_below(value: Fraction | float) -> Fraction:
    """Return a fraction just below the square root of a number, or the root itself; OverflowError of infinity."""
    value = Fraction(value)
    return Fraction(isqrt((value.numerator * value.denominator) << 256), value.denominator << 128)


def root_above(value: Fraction | float) -> Fraction:
    """Return a fraction just above the square root of a number, or the root itself; OverflowError of infinity."""
    root = root_below(value)
    return root if root * root == value else root + Fraction(1, Fraction(value).denominator << 128)


def round_down(value: Fraction | float) -> float:
    """Return the largest float that is not above a number."""
    try:
        near = float(value)
    except OverflowError:
        return float_info.max if value > 0 else -inf
    return near if near <= value else nextafter(near, -inf)


def round_up(value: Fraction | float) -> float:
    """Return the smallest float that is not below a number."""
    return 0.0 - round_down(-value)  # no negative zero
