"""Boolean functions as integers, and their truth tables.

Bit x of the integer f is f(x), where the input is the integer x = sum x_i 2^(i-1).
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from creases._validation import as_array
from creases.errors import InputError

Bits = NDArray[np.uint8]

#: One function or many: an int, or an array or a sequence of ints.
Functions: TypeAlias = int | ArrayLike

#: Largest number of bits for truth tables, which then have 65,536 entries.
MAX_BITS = 16


def check_bits(n: int, max_bits: int = MAX_BITS, purpose: str = "for truth tables") -> int:
    """Return the number of bits if it is an integer from 1 to ``max_bits``."""
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or not 1 <= n <= max_bits:
        raise InputError("n", f"be an integer from 1 to {max_bits} {purpose}", repr(n))
    return int(n)


def check_function(f: int, n: int) -> int:
    """Return the function if it is an integer of at most 2^n bits."""
    if isinstance(f, bool | np.bool_) or not isinstance(f, int | np.integer):
        raise InputError("f", "be an integer whose bit x is f(x)", repr(f))
    if not 0 <= f < 1 << (1 << n):
        got = str(f) if -(10**24) < f < 10**24 else f"a number of {int(f).bit_length()} bits"
        raise InputError("f", f"be from 0 to 2^{1 << n} - 1 for {n} bits", got)
    return int(f)


def check_functions(f: Functions, n: int) -> NDArray[np.uint64]:
    """Return functions of at most 6 bits as unsigned integers, in the same shape."""
    functions = _as_array(f)
    if functions.dtype == object:
        words = [check_function(function, n) for function in functions.ravel()]
        return np.array(words, np.uint64).reshape(functions.shape)
    for extreme in (functions.min(initial=0), functions.max(initial=0)):
        check_function(int(extreme), n)
    return functions.astype(np.uint64)


def all_inputs(n: int) -> NDArray[np.int64]:
    """Return all inputs as rows of 0 and 1, (2^n, n): row x has the bits of x, the lowest first.

    Examples
    --------
    >>> all_inputs(2).tolist()
    [[0, 0], [1, 0], [0, 1], [1, 1]]
    """
    check_bits(n)
    return np.arange(1 << n)[:, None] >> np.arange(n) & 1


def truth_table(f: Functions, n: int) -> Bits:
    """Return the truth table (2^n,) of a function, whose entry x is f(x), or those (..., 2^n) of functions (...).

    Examples
    --------
    >>> truth_table(0b0110, 2).tolist()
    [0, 1, 1, 0]
    """
    check_bits(n)
    if n <= 6:
        words = check_functions(f, n)
        return (words[..., None] >> np.arange(1 << n, dtype=np.uint64) & np.uint64(1)).astype(np.uint8)
    functions = _as_array(f)
    data = b"".join(check_function(function, n).to_bytes(1 << n - 3, "little") for function in functions.ravel())
    return np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little").reshape(*functions.shape, 1 << n)


def from_truth_table(table: ArrayLike) -> int:
    """Return the function with a truth table (2^n,) of zeros and ones, whose entry x is f(x).

    Examples
    --------
    >>> bin(from_truth_table([0, 1, 1, 0]))
    '0b110'
    """
    values = as_array(table, "table")
    size = len(values) if values.ndim == 1 else 0
    if size < 2 or size & (size - 1):
        raise InputError("table", "have shape (2^n,), n >= 1", f"shape {values.shape}")
    check_bits(size.bit_length() - 1)
    if not np.isin(values, (0, 1)).all():
        raise InputError("table", "have only entries 0 and 1")
    return int.from_bytes(np.packbits(values.astype(np.uint8), bitorder="little").tobytes(), "little")


def parity(n: int) -> int:
    """Return the function that is 1 where an odd number of bits are 1.

    Examples
    --------
    >>> parity(2), parity(4)
    (6, 27030)
    """
    return from_truth_table(all_inputs(n).sum(axis=1) & 1)


def _as_array(f: Functions) -> NDArray[Any]:
    """Return functions as an array, of machine integers if they are such, else of Python objects."""
    try:
        functions: NDArray[Any] = np.asarray(f)
        return functions if functions.dtype.kind in "iu" else np.asarray(f, dtype=object)
    except (TypeError, ValueError):
        raise InputError("f", "be an integer or a rectangular array of integers") from None
