"""The count that refutes the hypothesis of section 3.3.2, against enumeration."""

from __future__ import annotations

from itertools import product
from math import floor, log2

import numpy as np
import pytest

from creases import boolean
from creases_reproduction.linearity.counting import fewest_bits, find_refutation, log2_of_functions, log2_of_networks


@pytest.mark.parametrize("swaps", range(1, 9))
def test_functions_of_few_changes_are_counted_and_have_no_more_swaps(swaps):
    tables = np.array(list(product((0, 1), repeat=8)))
    few = (np.diff(tables) != 0).sum(axis=1) < swaps
    assert log2_of_functions(3, swaps) == floor(log2(few.sum()))
    order = np.arange(8)
    functions = (tables[few] << order).sum(axis=1)
    assert all(boolean.swaps(int(f), 3)[0] < swaps for f in functions[:: max(1, len(functions) // 12)])


@pytest.mark.parametrize(("bits", "width", "layers"), [(2, 2, 1), (2, 2, 3), (3, 3, 2)])
def test_the_bound_counts_every_sign_that_a_unit_can_have_at_an_input(bits, width, layers):
    patterns = [len(list(product((0, 1), repeat=width * k))) for k in range(layers + 1)]
    polynomials = 2**bits * (width * sum(patterns[:-1]) + patterns[-1])
    shapes = [(width, bits), *[(width, width)] * (layers - 1), (1, width)]
    weights = sum(a * b for a, b in shapes)
    bound = 2 ** (width * layers + 1) * 2 * (2 * np.e * polynomials * (layers + 1) / weights) ** weights
    assert np.isclose(log2_of_networks(bits, width, layers), np.log2(bound))


def test_networks_outnumber_functions_of_few_bits_and_not_of_eleven():
    assert log2_of_networks(2, 2, 1) >= 4  # two units have all sixteen functions
    assert find_refutation(10) is None
    found = fewest_bits()
    assert (found.bits, found.width, found.layers) == (11, 2, 10)
    assert found.networks < 1926 < 2047 == found.functions
