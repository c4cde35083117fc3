"""Functions of n bits: an integer f whose bit x is f(x), with the input x = sum x_i 2^(i-1); and their truth tables."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from creases.errors import InputError

Bits = NDArray[np.uint8]

#: One function, or many: a Python int, or an array or a sequence of ints.
Functions: TypeAlias = int | ArrayLike

#: The most bits for which tables are made: 65,536 entries.
MOST_BITS = 16


def check_bits(n: int, most: int = MOST_BITS, what: str = "truth tables are made") -> int:
    """The number of bits, if it is a whole number from 1 to ``most``."""
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or not 1 <= n <= most:
        raise InputError(f"n: must be a whole number of bits from 1 to {most}, for which {what}; got {n!r}")
    return int(n)


def check_function(f: int, n: int) -> int:
    """The function, if it is a whole number that fits into the 2^n bits of a function of n bits."""
    if isinstance(f, bool | np.bool_) or not isinstance(f, int | np.integer):
        raise InputError(f"f: a function is a whole number whose bit x is f(x); got {f!r}")
    if not 0 <= f < 1 << (1 << n):
        raise InputError(f"f: a function of {n} bits is a number from 0 to 2^{1 << n} - 1; got {_short(f)}")
    return int(f)


def check_functions(f: Functions, n: int) -> NDArray[np.uint64]:
    """Functions of at most 6 bits as unsigned numbers, in the shape in which they are given."""
    given = _array(f)
    if given.dtype == object:
        return np.array([check_function(one, n) for one in given.ravel()], np.uint64).reshape(given.shape)
    for wrong in (given.min(initial=0), given.max(initial=0)):
        check_function(int(wrong), n)
    return given.astype(np.uint64)


def all_inputs(n: int) -> NDArray[np.int64]:
    """All inputs as rows of 0 and 1, (2^n, n): row x has the bits of x, the lowest first.

    >>> all_inputs(2).tolist()
    [[0, 0], [1, 0], [0, 1], [1, 1]]
    """
    check_bits(n)
    return np.arange(1 << n)[:, None] >> np.arange(n) & 1


def truth_table(f: Functions, n: int) -> Bits:
    """The truth table of a function, (2^n,), entry x is f(x); of an array of functions (...), (..., 2^n).

    >>> truth_table(0b0110, 2).tolist()
    [0, 1, 1, 0]
    """
    check_bits(n)
    if n <= 6:
        words = check_functions(f, n)
        return (words[..., None] >> np.arange(1 << n, dtype=np.uint64) & np.uint64(1)).astype(np.uint8)
    given = _array(f)
    data = b"".join(check_function(one, n).to_bytes(1 << n - 3, "little") for one in given.ravel())
    return np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little").reshape(*given.shape, 1 << n)


def from_truth_table(table: ArrayLike) -> int:
    """The function with the given truth table, (2^n,) zeros and ones, entry x is f(x).

    >>> bin(from_truth_table([0, 1, 1, 0]))
    '0b110'
    """
    values: NDArray[Any] = np.asarray(table)
    size = len(values) if values.ndim == 1 else 0
    if size < 2 or size & (size - 1):
        raise InputError(f"table: must be one row of 2^n values, n >= 1; got the shape {values.shape}")
    check_bits(size.bit_length() - 1)
    if not np.isin(values, (0, 1)).all():
        raise InputError("table: its values must be 0 and 1")
    return int.from_bytes(np.packbits(values.astype(np.uint8), bitorder="little").tobytes(), "little")


def parity(n: int) -> int:
    """The function that is 1 where an odd number of bits are 1.

    >>> parity(2), parity(4)
    (6, 27030)
    """
    return from_truth_table(all_inputs(n).sum(axis=1) & 1)


def _array(f: Functions) -> NDArray[Any]:
    """Functions as an array: of machine integers if they are given as such, of Python's otherwise."""
    try:
        given: NDArray[Any] = np.asarray(f)
        return given if given.dtype.kind in "iu" else np.asarray(f, dtype=object)
    except ValueError:
        raise InputError("f: functions must be one number, or numbers in a rectangular array") from None


def _short(f: int) -> str:
    return str(f) if -(10**24) < f < 10**24 else f"a number of {int(f).bit_length()} bits"
