"""Knots of curves: quantiles, frequent values, round numbers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from creases.tables._stages.knots import clip_outliers, quantile_knots, round_between, round_knots


def test_a_column_of_few_values_has_a_knot_at_each() -> None:
    assert quantile_knots(np.array([3.0, 1.0, 1.0, 2.0]), 20).tolist() == [1.0, 2.0, 3.0]


def test_a_frequent_value_has_knots_beside_it_so_that_a_curve_can_jump() -> None:
    x = np.concatenate([np.zeros(500), np.linspace(0.01, 1, 500)])
    knots = quantile_knots(x, 10)
    assert knots[0] == 0.0
    assert knots[1] == 0.01


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=200), st.integers(2, 20))
def test_knots_rise_from_the_least_to_the_largest_value(values: list[float], n_pieces: int) -> None:
    x = np.array(values)
    knots = quantile_knots(x, n_pieces)
    assert (np.diff(knots) > 0).all()
    assert (knots[0], knots[-1]) == (x.min(), x.max())


def test_a_long_tail_has_knots_at_halves_of_its_rows() -> None:
    x = np.exp(np.linspace(0.0, 12.0, 1000))
    knots = quantile_knots(x, 10)
    beyond = [int((x > knot).sum()) for knot in knots[-5:]]
    assert beyond == [100, 50, 25, 12, 0]
    mirrored = quantile_knots(-x, 10)
    assert np.isclose(-mirrored[1], x[-12], rtol=0.05)
    assert len(quantile_knots(np.linspace(0.0, 1.0, 1000), 10)) == 11


@pytest.mark.parametrize(
    ("x", "low", "high", "expected"),
    [
        (2764.0, 2700.0, 2830.0, 2800.0),
        (2764.0, 2740.0, 2790.0, 2750.0),
        (0.0312, 0.02, 0.04, 0.03),
        (-7.3, -8.0, -6.9, -7.0),
    ],
)
def test_a_knot_goes_to_the_roundest_number_of_its_range(x: float, low: float, high: float, expected: float) -> None:
    assert round_between(x, low, high) == expected


@given(st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=50, unique=True))
def test_rounded_knots_keep_their_order(values: list[float]) -> None:
    dense = np.sort(values)
    rounded = round_knots(dense[1:-1], dense)
    assert (np.diff(np.concatenate([dense[:1], rounded, dense[-1:]])) > 0).all()


def test_typing_errors_in_a_large_column_are_clipped_and_long_tails_are_not() -> None:
    x = np.append(np.linspace(0.0, 10.0, 9_999), 1e6)
    assert clip_outliers(x, np.ones(10_000)).max() == pytest.approx(10.0, abs=0.01)
    tail = np.exp(np.linspace(0.0, 3.0, 10_000))
    assert (clip_outliers(tail, np.ones(10_000)) == tail).all()


def test_a_typing_error_in_a_small_column_is_clipped_only_if_it_is_absurd() -> None:
    x = np.linspace(0.0, 10.0, 50)
    assert clip_outliers(np.append(x, 1e300), np.ones(51)).max() == 10.0
    assert clip_outliers(np.append(-1e300, x), np.ones(51)).min() == 0.0
    assert clip_outliers(np.append(x, 9_000.0), np.ones(51)).max() == 9_000.0
