"""Functions of bits as integers and as tables."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from creases import boolean
from creases.errors import InputError


@given(st.integers(1, 9).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, 2 ** (2**n) - 1))))
def test_bit_x_of_a_function_is_entry_x_of_its_table(case):
    n, f = case
    table = boolean.truth_table(f, n)
    assert table.tolist() == [f >> x & 1 for x in range(2**n)]
    assert boolean.from_truth_table(table) == f


def test_sixteen_bits_go_to_a_table_and_back():
    table = np.random.default_rng(0).integers(0, 2, 2**16)
    assert (boolean.truth_table(boolean.from_truth_table(table), 16) == table).all()


def test_arrays_of_functions_have_arrays_of_tables():
    for n, many in ((3, [[1, 2], [3, 255]]), (7, [[0, 1], [2**127, boolean.parity(7)]])):
        tables = boolean.truth_table(many, n)
        assert tables.shape == (2, 2, 2**n)
        assert all((tables[i, j] == boolean.truth_table(many[i][j], n)).all() for i in (0, 1) for j in (0, 1))
    assert boolean.truth_table([], 3).shape == (0, 8)


def test_parity_is_the_sum_of_bits_modulo_two():
    assert [boolean.parity(n) for n in (1, 2, 3, 4)] == [2, 6, 150, 27030]
    f = boolean.parity(16)
    assert all(f >> x & 1 == x.bit_count() % 2 for x in range(0, 2**16, 77))


@pytest.mark.parametrize(
    ("f", "n", "message"),
    [
        (16, 2, r"f must be from 0 to 2\^4 - 1 for 2 bits, got 16"),
        (-1, 2, r"f must be from 0 to .* for 2 bits, got -1"),
        ([3, 300], 3, r"f must be from 0 to .* for 3 bits, got 300"),
        (2**300, 8, r"f must be from 0 to .* for 8 bits, got a number of 301 bits"),
        (1.5, 2, r"f must be an integer whose bit x is f\(x\), got 1.5"),
        (True, 2, r"f must be an integer whose bit x is f\(x\), got True"),
        ([[1, 2], [3]], 2, "f must be an integer or a rectangular array of integers"),
        (1, 0, "n must be an integer from 1 to 16 for truth tables, got 0"),
        (1, 17, "n must be an integer from 1 to 16 for truth tables, got 17"),
        (1, 2.0, "n must be an integer from 1 to 16 for truth tables, got 2.0"),
    ],
)
def test_what_is_no_function_of_n_bits_is_refused(f, n, message):
    with pytest.raises(InputError, match=message):
        boolean.truth_table(f, n)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([0, 1, 1], r"table must have shape \(2\^n,\), n >= 1, got shape \(3,\)"),
        ([1], r"table must have shape \(2\^n,\), n >= 1, got shape \(1,\)"),
        ([[0, 1], [1, 0]], r"table must have shape .* got shape \(2, 2\)"),
        ([0, 2], "table must have only entries 0 and 1"),
        ([0, float("nan")], "table must have only entries 0 and 1"),
    ],
)
def test_what_is_no_table_is_refused(table, message):
    with pytest.raises(InputError, match=message):
        boolean.from_truth_table(table)
