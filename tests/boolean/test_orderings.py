"""Generic orderings of subset sums, against weights tried out."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from creases import boolean
from creases.errors import InputError


def orders_of(weights, n):
    """The orders that weights (k, n) put the inputs in, where no two are level, each once and ascending."""
    sums = weights @ boolean.all_inputs(n).T
    generic = (np.diff(np.sort(sums, axis=1)) > 0).all(axis=1)
    return np.unique(np.argsort(sums[generic], axis=1), axis=0)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "count"), [(1, 1), (2, 1), (3, 2), (4, 14), (5, 516), (6, 124187)])
def test_orderings_are_as_many_as_known_all_different_and_made_by_their_weights(n, count):
    weights, orders = boolean.subset_sum_orderings(n)
    assert weights.shape == (count, n)
    assert orders.shape == (count, 2**n)
    assert (np.diff(weights, axis=1, prepend=0) > 0).all()
    sums = np.take_along_axis(weights @ boolean.all_inputs(n).T, orders.astype(np.int64), axis=1)
    assert (np.diff(sums, axis=1) > 0).all()
    steps = np.diff(orders.astype(np.int64), axis=0)
    first = np.take_along_axis(steps, (steps != 0).argmax(axis=1)[:, None], axis=1)
    assert (first > 0).all()  # ascending, so none comes twice


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_all_small_weights_together_make_exactly_these_orderings(n):
    weights = np.array(list(combinations(range(1, 15), n)))
    assert (orders_of(weights, n) == boolean.subset_sum_orderings(n).orders).all()


@pytest.mark.parametrize("n", [5, 6])
def test_random_weights_make_no_other_ordering(n):
    random = np.random.default_rng(n)
    weights = np.concatenate([random.random((5000, n)), random.exponential(size=(5000, n))])
    known = {order.tobytes() for order in boolean.subset_sum_orderings(n).orders}
    assert {order.astype(np.uint8).tobytes() for order in orders_of(np.sort(weights), n)} <= known


def test_an_input_and_its_negation_are_in_mirrored_places():
    for n in (3, 5):
        orders = boolean.subset_sum_orderings(n).orders
        assert (orders + orders[:, ::-1] == 2**n - 1).all()


def test_more_bits_than_can_be_done_are_refused():
    with pytest.raises(InputError, match=r"n must be an integer from 1 to 6 to list orderings, got 7"):
        boolean.subset_sum_orderings(7)
