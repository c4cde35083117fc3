"""NPN images of functions of bits by moving the axes of their hypercubes: another way than the library's."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
from hypothesis import strategies as st

from creases.boolean import from_truth_table, truth_table


def image(f, n, order, flipped, negated):
    """The function with its inputs put in another order, those ``flipped`` negated, and its output if ``negated``."""
    cube = truth_table(f, n).reshape((2,) * n)  # the last axis is the first input
    cube = np.flip(cube.transpose(order), axis=[axis for axis in range(n) if flipped[axis]])
    return from_truth_table(cube.ravel() ^ negated)


def images(f, n):
    """All images, one after the other; the same one may come more than once."""
    for order, flipped, negated in product(permutations(range(n)), product((0, 1), repeat=n), (0, 1)):
        yield image(f, n, order, flipped, negated)


@st.composite
def functions_and_images(draw, low=1, high=5):
    """A number of bits, a function of so many and one of its images."""
    n = draw(st.integers(low, high))
    f = draw(st.integers(0, 2 ** (2**n) - 1))
    order = draw(st.permutations(range(n)))
    flipped = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    return n, f, image(f, n, order, flipped, draw(st.integers(0, 1)))
