"""Enumerate all images of a function under permutations and negations of its inputs, one small step at a time."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from creases._typing import Words
from creases.boolean._functions import all_inputs


class Walk(NamedTuple):
    """The steps from each image g of a function f to the next; the first image is f.

    A step exchanges the bits of g selected by ``mask`` with those ``shift`` positions above. Image t is
    g(x) = f(y), where bit ``inputs[t, i]`` of y is bit i of x, negated where ``signs[t, i]`` is -1.
    """

    masks: Words  #: (2n - 1,)
    shifts: Words  #: (2n - 1,)
    steps: NDArray[np.int64]  #: (images - 1,) indices of masks and shifts
    inputs: NDArray[np.int64]  #: (images, n)
    signs: NDArray[np.int64]  #: (images, n)


@lru_cache
def walk(n: int, reversals: bool) -> Walk:
    """Return the steps to all 2^n n! images, n <= 6; without ``reversals``, to one of each pair g(x), g(not x)."""
    flips = [(k & -k).bit_length() - 1 for k in range(1, 1 << (n if reversals else n - 1))]  # a Gray code
    steps = [*flips]
    for place in _plain_changes(n):
        steps += [n + place, *flips]
    inputs, signs = list(range(n)), [1] * n
    rows = [(inputs.copy(), signs.copy())]
    for step in steps:
        if step < n:
            signs[step] *= -1
        else:
            for row in (inputs, signs):
                row[step - n], row[step - n + 1] = row[step - n + 1], row[step - n]
        rows.append((inputs.copy(), signs.copy()))
    x = np.arange(1 << n)
    low = [x >> i & 1 == 0 for i in range(n)]
    moved = [*low, *(~low[i] & low[i + 1] for i in range(n - 1))]
    return Walk(
        masks=np.array([sum(1 << int(bit) for bit in np.flatnonzero(row)) for row in moved], np.uint64),
        shifts=np.array([1 << i for i in (*range(n), *range(n - 1))], np.uint64),
        steps=np.array(steps, np.int64),
        inputs=np.array([row[0] for row in rows]),
        signs=np.array([row[1] for row in rows]),
    )


@lru_cache
def sources(n: int, reversals: bool) -> NDArray[np.uint8]:
    """Return which input of a function is input x of each of its images: (images, 2^n)."""
    images = walk(n, reversals)
    bits = (all_inputs(n)[None] ^ (images.signs < 0)[:, None]) << images.inputs[:, None]
    numbers: NDArray[np.uint8] = bits.sum(axis=2).astype(np.uint8)
    return numbers


def _plain_changes(n: int) -> list[int]:
    """Return which neighbours (i, i + 1) of n items to exchange, one pair at a time, to reach all their n! orders."""
    if n == 1:
        return []
    down = list(range(n - 2, -1, -1))
    changes = [*down]
    for k, place in enumerate(_plain_changes(n - 1)):
        changes += [place + 1, *down[::-1]] if k % 2 == 0 else [place, *down]
    return changes
