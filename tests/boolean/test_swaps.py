"""Swaps: known values, and bounds from weights tried out."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boolean_images import functions_and_images
from creases import boolean
from creases.errors import InputError

#: By n: how many classes, and how many functions, have swaps of 0, 1, 2, ...
CLASSES = {1: [1, 1], 2: [1, 2, 1], 3: [1, 5, 6, 2], 4: [1, 14, 63, 93, 49, 2]}
FUNCTIONS = {1: [2, 2], 2: [2, 12, 2], 3: [2, 102, 126, 26], 4: [2, 1880, 14244, 30216, 19002, 192]}
MOST_OF_5 = [26990475, 56007375, 56159193, 56224721, 56229030, 56597670, 108260050, 395227860]
HASH_OF_5 = "01d5ca9aa79a6d6f94fce103e3d6ba09e8e350f48656c9c3f4a366e48c3fa2df"


def swaps(f, n):
    found = boolean.swaps(f, n)
    assert boolean.class_changes(f, n, found.weights) == found.changes
    return found.changes


def cofactor(f, n, i, value):
    """The function of the other bits where bit i has a value."""
    return boolean.from_truth_table(boolean.truth_table(f, n)[boolean.all_inputs(n)[:, i] == value])


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_classes_and_functions_with_each_number_of_swaps_are_as_many_as_known(n):
    _, values = boolean.class_swaps(n)
    assert np.bincount(values).tolist() == CLASSES[n]
    assert np.bincount(values, boolean.npn_classes(n).sizes).tolist() == FUNCTIONS[n]


def test_functions_with_the_most_swaps_of_three_and_four_bits():
    for n, most, which in ((3, 3, [27, 105]), (4, 5, [1785, 7140])):
        representatives, values = boolean.class_swaps(n)
        assert representatives[values == most].tolist() == which


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_one_function_at_a_time_has_the_swaps_found_for_all(n):
    assert [swaps(int(f), n) for f in boolean.npn_classes(n).representatives] == boolean.class_swaps(n).swaps.tolist()


@pytest.mark.parametrize(("n", "thresholds"), [(2, 14), (3, 104), (4, 1882)])
def test_at_most_one_swap_have_the_threshold_functions(n, thresholds):
    assert boolean.npn_classes(n).sizes[boolean.class_swaps(n).swaps <= 1].sum() == thresholds


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_random_weights_make_no_fewer_changes_and_for_some_as_many(n):
    weights = np.random.default_rng(n).normal(size=(3000, n))
    orders = np.argsort(weights @ boolean.all_inputs(n).T, axis=1)
    for f, value in zip(*boolean.class_swaps(n), strict=True):
        changes = (np.diff(boolean.truth_table(f, n)[orders].astype(int)) != 0).sum(axis=1)
        assert changes.min() == value


@pytest.mark.slow
def test_parity_has_as_many_swaps_as_bits():
    assert [swaps(boolean.parity(n), n) for n in range(1, 7)] == [1, 2, 3, 4, 5, 6]


def test_eight_classes_of_five_bits_have_nine_swaps():
    assert [swaps(f, 5) for f in MOST_OF_5] == [9] * 8
    assert all(f.bit_count() == 16 for f in MOST_OF_5)


def test_a_function_of_six_bits_has_fifteen_swaps():
    assert swaps(0x8B9B5D3A8741CFD4, 6) == 15


@given(functions_and_images())
@settings(deadline=None)
def test_images_have_the_same_swaps(case):
    n, f, image = case
    assert swaps(f, n) == swaps(image, n)


@given(st.integers(0, 2**16 - 1), st.integers(0, 4))
@settings(deadline=None, max_examples=30)
def test_a_bit_that_does_not_matter_changes_no_swaps(f, place):
    with_it = np.insert(boolean.all_inputs(4), place, 0, axis=1) @ 2 ** np.arange(5)
    table = np.zeros(32, np.uint8)
    table[with_it] = table[with_it + 2**place] = boolean.truth_table(f, 4)
    assert swaps(boolean.from_truth_table(table), 5) == swaps(f, 4)


@given(st.integers(0, 2**32 - 1), st.integers(0, 4), st.integers(0, 1))
@settings(deadline=None, max_examples=30)
def test_a_cofactor_has_no_more_swaps(f, i, value):
    assert swaps(cofactor(f, 5, i, value), 4) <= swaps(f, 5)


def test_swaps_can_exceed_those_of_both_cofactors_and_one():
    f = 965
    parts = [swaps(cofactor(f, 4, 1, value), 3) for value in (0, 1)]
    assert swaps(f, 4) == 4 > sum(parts) + 1


@pytest.mark.slow
def test_six_random_bits_have_no_fewer_changes_along_random_weights():
    random = np.random.default_rng(6)
    orders = np.argsort(random.normal(size=(20000, 6)) @ boolean.all_inputs(6).T, axis=1)
    for f in random.integers(0, 2**63, 5):
        changes = (np.diff(boolean.truth_table(f, 6)[orders].astype(int)) != 0).sum(axis=1)
        assert swaps(int(f), 6) <= changes.min()


@pytest.mark.thorough
def test_all_classes_of_five_bits():
    done = []
    representatives, values = boolean.class_swaps(5, progress=lambda what, count, total: done.append(count))
    data = representatives.astype("<u4").tobytes() + values.astype("u1").tobytes()
    assert hashlib.sha256(data).hexdigest() == HASH_OF_5
    assert done == sorted(done)
    assert done[-1] == len(representatives) == 616126
    measures = boolean.measures(representatives, 5)
    found = [np.corrcoef(values, of)[0, 1] for of in (measures.degree, measures.influence, measures.entropy)]
    assert found == pytest.approx([0.007, 0.239, 0.278], abs=5e-4)


def test_what_progress_raises_ends_the_work():
    def stop(what, done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        boolean.class_swaps(4, progress=stop)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (
            [1, 1],
            "weights must map inputs of different classes to different sums, got the same sum 1 for inputs 1 and 2",
        ),
        ([1], r"weights must be 2 integers, one per input, got \[1\]"),
        ([0.5, 1], "weights must be 2 integers"),
        ([2**62, 1], r"weights must have absolute values whose sum is below 2\^62"),
    ],
)
def test_weights_that_are_no_mapping_to_a_line_are_refused(weights, message):
    with pytest.raises(InputError, match=message):
        boolean.class_changes(0b1010, 2, weights)


def test_more_bits_than_can_be_done_are_refused():
    with pytest.raises(InputError, match=r"n must be an integer from 1 to 6 to compute swaps, got 7"):
        boolean.swaps(1, 7)
    with pytest.raises(InputError, match=r"n must be an integer from 1 to 5 to list all classes, got 6"):
        boolean.class_swaps(6)
    with pytest.raises(InputError, match="n_jobs must be a positive integer, got 0"):
        boolean.class_swaps(3, n_jobs=0)
