"""One hidden layer makes any changes of class, with one unit less than the theorem says (Theorem 3.3.2)."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import creases
from creases.boolean.intervals._constructions import units_needed, wide_interval_network
from creases.boolean.intervals._intervals import BrokenLine, Intervals, compose_lines
from creases.errors import InputError

LEAKS = [0.0, 0.01, 0.1, 0.5, 0.9]


def values(model, x):
    return model(torch.as_tensor(np.asarray(x, np.float64)).reshape(-1, 1)).detach().numpy().ravel()


def random_ends(changes, seed):
    return np.sort(np.random.default_rng(seed).uniform(-5, 5, 2 * changes + 2)).reshape(-1, 2)


@pytest.mark.slow
@pytest.mark.parametrize("sharp", [True, False])
@pytest.mark.parametrize("leak", LEAKS)
def test_the_sign_changes_in_the_middle_of_each_gap_and_nowhere_else(leak, sharp):
    for changes in range(1, 12):
        found = Intervals.from_ends(random_ends(changes, changes), first=(-1) ** changes)
        model = wide_interval_network(found.ends, first=found.first, leak=leak, sharp=sharp)
        assert model[0].out_features == units_needed(changes, leak=leak, sharp=sharp)
        boundary = creases.line(creases.read(model), [0.0], [1.0], infinite=True).boundary()
        np.testing.assert_allclose(boundary.t, found.changes, atol=1e-9)
        inside = found.ends[:, :1] + np.diff(found.ends) * np.linspace(0, 1, 11)
        assert (values(model, inside).reshape(inside.shape) * found.classes[:, None] > 0).all()


def test_units_needed_are_one_less_than_changes_from_four_on_and_from_three_with_a_leak():
    assert [units_needed(s) for s in range(7)] == [0, 1, 2, 3, 3, 4, 5]
    assert [units_needed(s, leak=0.1) for s in range(7)] == [0, 1, 2, 2, 3, 4, 5]
    assert [units_needed(s, sharp=False) for s in range(7)] == list(range(7))


@given(
    st.lists(st.integers(-50, 50), min_size=4, max_size=20, unique=True).filter(lambda x: len(x) % 2 == 0),
    st.sampled_from(LEAKS),
)
@settings(max_examples=60, deadline=None)
def test_whole_numbers_are_classified_with_at_least_half_the_smallest_gap_as_margin(numbers, leak):
    """Without sparing a unit the value is the distance to the nearest change: at an end, half the gap beside it."""
    found = Intervals.from_ends(np.sort(numbers).reshape(-1, 2))
    model = wide_interval_network(found.ends, leak=leak, sharp=False)
    got = values(model, found.ends).reshape(-1, 2) * found.classes[:, None]
    gaps = found.ends[1:, 0] - found.ends[:-1, 1]
    assert got.min() >= gaps.min() / 2 - 1e-9


def test_intervals_may_touch():
    model = wide_interval_network([(0, 1), (1, 2), (2, 4), (4, 5), (5, 7)])
    assert (np.sign(values(model, [0.5, 1.5, 3, 4.5, 6])) == [1, -1, 1, -1, 1]).all()
    np.testing.assert_allclose(values(model, [1, 2, 4, 5]), 0, atol=1e-12)


def test_the_scale_of_the_line_does_not_matter():
    for scale in (1e-12, 1e12):
        ends = scale * random_ends(6, 3)
        model = wide_interval_network(ends, leak=0.1)
        assert (values(model, ends).reshape(-1, 2) * Intervals.from_ends(ends).classes[:, None] > 0).all()


def test_the_printed_proof_fails_left_of_its_first_unit_and_this_construction_does_not():
    """Regions (0, 10), (16, 17), (18, 19), alpha = 1/2: with units at the middles the first region changes class."""
    ends, leak = [(0, 10), (16, 17), (18, 19)], 0.5
    y, a = np.array([5, 16.5, 18.5]), np.array([13, 17.5])
    heights = [1.0]
    for i in (0, 1):  # (A.17) to (A.20): straight through the middle of the gap
        heights.append(heights[-1] * (a[i] - y[i + 1]) / (a[i] - y[i]))
    slopes = np.diff(heights) / np.diff(y)
    printed = compose_lines([BrokenLine.from_slopes(y[:2], slopes, through=(y[0], 1.0), leak=leak)], leak=leak)
    np.testing.assert_allclose(values(printed, y), heights)
    assert values(printed, [0.2]) < 0  # of class 1
    for sharp in (True, False):
        assert (values(wide_interval_network(ends, leak=leak, sharp=sharp), [0, 0.2, 10]) > 0).all()


@pytest.mark.parametrize("leak", [-0.1, 1.0, float("nan"), "no"])
def test_a_leak_that_does_not_bend_is_refused(leak):
    with pytest.raises(InputError, match="leak must be a number from 0"):
        wide_interval_network([(0, 1), (2, 3)], leak=leak)
