"""Section 3.4.3 at a small size, and the functions that it trains on."""

from __future__ import annotations

import numpy as np
import pytest

from creases import boolean
from creases.errors import InputError
from creases_reproduction.experiment import stored_table
from creases_reproduction.linearity.boolean_ten_bits import (
    by_metrics,
    by_size,
    functions,
    grid,
    has_parity_network,
    means,
)


def test_xored_functions_of_four_bits_are_the_classes_again():
    tables = functions("xored", 4, 222)
    found = {int(boolean.canonical_form(boolean.from_truth_table(table), 4)) for table in tables}
    assert found == set(boolean.npn_classes(4).representatives.tolist())


def test_xored_functions_are_a_function_of_four_bits_times_parity():
    table = functions("xored", 7, 222)[100]
    parity = functions("parity", 7, 1)[0]
    first = table[:16] ^ parity[:16]
    np.testing.assert_array_equal(table ^ parity, first[np.arange(128) % 16])
    assert boolean.from_truth_table(first) == boolean.npn_classes(4).representatives[100]


def test_fewer_xored_functions_have_both_ends_of_the_classes():
    some, all_of_them = functions("xored", 5, 3), functions("xored", 5, 222)
    np.testing.assert_array_equal(some[[0, -1]], all_of_them[[0, -1]])


def test_random_functions_repeat_and_differ():
    few, more = functions("random", 8, 2), functions("random", 8, 3)
    np.testing.assert_array_equal(few, more[:2])
    assert (few[0] != few[1]).mean() == pytest.approx(0.5, abs=0.15)
    assert functions("random", 8, 1, seed=1).tolist() != few[:1].tolist()


def test_by_size_has_a_row_for_each_function_and_size():
    table = by_size(n=5).table
    assert len(table) == 2 * 4
    assert (table["right"] >= 0.5).mean() > 0.5
    assert grid(table, "parity").shape == (2, 2)
    assert has_parity_network(grid(table, "parity"), 5).to_numpy().tolist() == [[False, True], [True, True]]


def test_by_metrics_measures_every_function():
    table = by_metrics(bits=(5, 6)).table
    parity = table[table["kind"] == "parity"]
    assert parity[["degree", "entropy", "influence"]].to_numpy().tolist() == [[5, 0, 5], [6, 0, 6]]
    short = means(table)
    assert len(short) == 6
    assert (short["low"] <= short["rate"]).all()
    assert short.query("kind == 'xored' and n == 6")["trials"].item() == 12


def test_stored_results_are_of_the_full_scale():
    assert all(stored_table(f"boolean_ten_bits_{name}").about["scale"] == "full" for name in ("sizes", "metrics"))


def test_unknown_kinds_and_scales_are_refused():
    with pytest.raises(InputError, match="kind must be 'random', 'xored' or 'parity', got 'odd'"):
        functions("odd", 5, 1)
    with pytest.raises(InputError, match="n must be an integer, at least 4, got 3"):
        functions("parity", 3, 1)
    with pytest.raises(InputError, match="scale must be 'quick', 'reduced' or 'full', got 'huge'"):
        by_size("huge")  # type: ignore[arg-type]
