"""Intervals of alternating class on a line."""

from __future__ import annotations

import numpy as np
import pytest

from creases.boolean.intervals._intervals import Intervals
from creases.errors import InputError


def test_points_are_gathered_into_the_fewest_intervals():
    found = Intervals.from_points([3, 0, 1, 5, 1, 4], [False, True, True, True, True, False])
    assert found.ends.tolist() == [[0, 1], [3, 4], [5, 5]]
    assert found.classes.tolist() == [1, -1, 1]
    assert found.changes.tolist() == [2, 4.5]


def test_points_of_two_classes_at_one_place_are_refused():
    with pytest.raises(InputError, match="t must be different for points of different classes"):
        Intervals.from_points([1, 1], [True, False])


@pytest.mark.parametrize(
    ("ends", "message"),
    [
        ([], r"shape \(k, 2\), k >= 1, got shape \(0,\)"),
        ([0, 1], "finite numbers"),
        ([(0, np.nan)], "finite numbers"),
        ([(0, 2), (1, 3)], "do not overlap"),
        ([(2, 0)], "from left to right"),
        ([(0, 1), (1, 1), (2, 3)], "a single point must not touch"),
        ([(1, 1), (1, 2)], "a single point must not touch"),
    ],
)
def test_ends_that_are_no_intervals_are_refused(ends, message):
    with pytest.raises(InputError, match=f"ends must be .*{message}"):
        Intervals.from_ends(ends)


def test_a_class_is_minus_one_or_one():
    with pytest.raises(InputError, match=r"first must be -1 or 1, got 0"):
        Intervals.from_ends([(0, 1)], 0)
