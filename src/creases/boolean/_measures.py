"""How a function depends on its bits: Fourier coefficients, degree, influences, sensitivity and entropy."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from creases._typing import Floats
from creases.boolean._functions import Functions, all_inputs, truth_table


class Measures(NamedTuple):
    """Measures of functions (...); degree, influence, sensitivity and entropy are those of the NPN class."""

    coefficients: Floats  #: (..., 2^n) of the Fourier polynomial (3.5); bit i - 1 of entry S tells whether i is in S
    degree: NDArray[np.int64]  #: (...) inputs in the largest term of the Fourier polynomial; 0 for constants
    influences: Floats  #: (..., n) of each bit: the fraction of inputs at which flipping it changes f(x)
    influence: Floats  #: (...) the total influence, their sum: (3.6)
    sensitivity: NDArray[np.uint8]  #: (...) at the most sensitive input, the number of bits that change f(x) if flipped
    entropy: Floats  #: (...) of the squared Fourier coefficients, in bits: (3.7)


def measures(f: Functions, n: int) -> Measures:
    """Return Fourier coefficients and degree, influences, sensitivity and entropy of functions (...) of n <= 16 bits.

    Bits 0 and 1 stand for -1 and 1, in inputs and values. Then ``f(x) = sum over S of c(S) prod_{i in S} x_i`` with
    ``c(S) = 2^-n sum over x of f(x) prod_{i in S} x_i``; the dissertation omits the factor 2^-n, which its (3.6)
    and (3.7) need. All numbers are exact, but for the rounding of sums and logarithms. The total influence is also the
    mean over all inputs of the number of bits that change f(x) if flipped; its largest value is the sensitivity.

    Examples
    --------
    >>> found = measures([0b0110, 0b1000], 2)  # XOR is x_1 x_2 up to its sign, AND (-1 + x_1 + x_2 + x_1 x_2) / 2
    >>> found.coefficients.tolist()
    [[0.0, 0.0, 0.0, -1.0], [-0.5, 0.5, 0.5, 0.5]]
    >>> found.degree.tolist(), found.influence.tolist(), found.sensitivity.tolist(), found.entropy.tolist()
    ([2, 2], [2.0, 1.0], [2, 2], [0.0, 2.0])
    """
    table = truth_table(f, n)
    sums = 2 * table.astype(np.int32) - 1  # becomes 2^n times the coefficients, by the fast Walsh-Hadamard transform
    flips = np.zeros(table.shape, np.uint8)  # bits that change f(x) if flipped
    influences = []
    for i in range(n):
        shape = (*table.shape[:-1], 1 << n - 1 - i, 2, 1 << i)
        pairs, values = sums.reshape(shape), table.reshape(shape)
        low, high = pairs[..., 0, :].copy(), pairs[..., 1, :].copy()
        pairs[..., 0, :], pairs[..., 1, :] = low + high, high - low
        changes = values[..., 0, :] != values[..., 1, :]
        flips.reshape(shape)[...] += changes[..., None, :]
        influences.append(changes.mean(axis=(-2, -1)))
    power = (np.arange((1 << n) + 1) / (1 << n)) ** 2  # for every possible magnitude of a coefficient
    bits = np.zeros_like(power)
    bits[1:] = -power[1:] * np.log2(power[1:])
    return Measures(
        coefficients=sums / (1 << n),
        degree=np.where(sums != 0, all_inputs(n).sum(axis=1), 0).max(axis=-1),
        influences=np.stack(influences, axis=-1),
        influence=np.sum(influences, axis=0),
        sensitivity=flips.max(axis=-1),
        entropy=bits[np.abs(sums)].sum(axis=-1),
    )
