"""The Fourier-Walsh polynomial of functions of n <= 16 bits.

Bits 0 and 1 stand for -1 and 1, in inputs and values: f(x) = sum over S of c(S) prod_{i in S} x_i, with
c(S) = 2^-n sum over x of f(x) prod_{i in S} x_i. Equations (3.5) and (A.22) of the dissertation omit the factor 2^-n,
which (3.6) and (3.7) need. A set S is an integer whose bit i - 1 is 1 if i is in S. All functions take one Boolean
function or an array of them (...).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from creases._typing import Floats
from creases.boolean import all_inputs, truth_table

Functions = int | ArrayLike  #: one Boolean function or many


def coefficients(f: Functions, n: int) -> Floats:
    """Return the Fourier coefficients (..., 2^n), exactly; entry S is that of prod_{i in S} x_i.

    Examples
    --------
    >>> coefficients(0b1000, 2).tolist()  # AND: (-1 + x_1 + x_2 + x_1 x_2) / 2
    [-0.5, 0.5, 0.5, 0.5]
    """
    return _sums(f, n) / (1 << n)


def degree(f: Functions, n: int) -> NDArray[np.int64]:
    """Return the degree (...) of the polynomial, the largest number of inputs in a term; 0 for constants.

    Examples
    --------
    >>> degree([0, 0b1010, 0b1000], 2).tolist()
    [0, 1, 2]
    """
    degrees: NDArray[np.int64] = np.where(_sums(f, n) != 0, all_inputs(n).sum(axis=1), 0).max(axis=-1)
    return degrees


def influences(f: Functions, n: int) -> Floats:
    """Return the influence (..., n) of every input: the fraction of x for which flipping x_i changes f(x).

    Examples
    --------
    >>> influences(0b1000, 2).tolist()
    [0.5, 0.5]
    """
    table = truth_table(f, n)
    fractions = []
    for i in range(n):
        pairs = table.reshape(*table.shape[:-1], 1 << n - 1 - i, 2, 1 << i)
        fractions.append((pairs[..., 0, :] != pairs[..., 1, :]).mean(axis=(-2, -1)))
    return np.stack(fractions, axis=-1)


def total_influence(f: Functions, n: int) -> Floats:
    """Return the total influence (...), the sum of the influences of all inputs: (3.6) of the dissertation.

    Examples
    --------
    >>> float(total_influence(0b0110, 2))
    2.0
    """
    total: Floats = influences(f, n).sum(axis=-1)
    return total


def entropy(f: Functions, n: int) -> Floats:
    """Return the entropy (...) of the squared coefficients, in bits: (3.7) of the dissertation.

    Examples
    --------
    >>> float(entropy(0b1000, 2)), float(entropy(0b0110, 2))
    (2.0, 0.0)
    """
    power = (np.arange((1 << n) + 1) / (1 << n)) ** 2  # for every possible absolute value of a coefficient
    terms = np.zeros_like(power)
    terms[1:] = -power[1:] * np.log2(power[1:])
    bits: Floats = terms[np.abs(_sums(f, n))].sum(axis=-1)
    return bits


def _sums(f: Functions, n: int) -> NDArray[np.int32]:
    """Return 2^n times the coefficients, by the fast Walsh-Hadamard transform."""
    sums = 2 * truth_table(f, n).astype(np.int32) - 1
    for i in range(n):
        pairs = sums.reshape(*sums.shape[:-1], 1 << n - 1 - i, 2, 1 << i)
        low, high = pairs[..., 0, :].copy(), pairs[..., 1, :].copy()
        pairs[..., 0, :], pairs[..., 1, :] = low + high, high - low
    return sums
