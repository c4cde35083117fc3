"""The shared checks: what they let through, and the sentence with which they refuse."""

import re

import numpy as np
import pytest
import torch

from creases import _validation as validation
from creases.errors import InputError


def refuses(message, check, *arguments, **options):
    with pytest.raises(InputError, match=re.escape(message)):
        check(*arguments, **options)


def test_numbers_come_from_lists_arrays_and_tensors():
    for values in ([1, 2], np.array([1, 2], np.int8), torch.tensor([1.0, 2.0], requires_grad=True)):
        array = validation.check_numbers(values, "x")
        assert array.dtype == np.float64
        np.testing.assert_array_equal(array, [1, 2])
    refuses("x must be an array of numbers, got list with entries of type <U1", validation.check_numbers, ["a"], "x")
    refuses("x must be an array of numbers, got list", validation.check_numbers, [[1], [1, 2]], "x")


def test_points_have_one_shape():
    assert validation.check_points([], 3).shape == (0, 3)
    assert validation.check_points([1, 2, 3], 3).shape == (1, 3)
    refuses("points must have shape (n, 3), got (2,)", validation.check_points, [1, 2], 3)
    refuses("points must have shape (n, 3), got (1, 1, 3)", validation.check_points, np.zeros((1, 1, 3)), 3)


def test_an_index_lies_within_its_range():
    assert validation.check_index(np.int64(2), 3, "output") == 2
    for value in (3, -1, 1.0, True, "0"):
        refuses(f"output must be an integer from 0 to 2, got {value!r}", validation.check_index, value, 3, "output")


def test_a_count_is_a_positive_integer():
    assert validation.check_count(np.uint8(5), "k") == 5
    for value in (0, -3, 2.5, None, True):
        refuses(f"k must be a positive integer, got {value!r}", validation.check_count, value, "k")
    refuses("k must be an integer, at least 0, got -1", validation.check_count, -1, "k", least=0)


def test_a_number_lies_within_its_limits():
    assert validation.check_number(np.float32(0.5), "lr", above=0) == 0.5
    refuses("lr must be a finite number above 0, got 0", validation.check_number, 0, "lr", above=0)
    refuses("lr must be a finite number, got nan", validation.check_number, float("nan"), "lr")
    message = "share must be a finite number above 0 and below 1, got 1.0"
    refuses(message, validation.check_number, 1.0, "share", above=0, below=1)
    refuses("leak must be a finite number at least 0, got '1'", validation.check_number, "1", "leak", least=0)


def test_a_choice_is_one_of_the_choices_and_of_their_type():
    assert validation.check_choice("best", ("best", "last"), "keep") == "best"
    refuses("keep must be 'best' or 'last', got 'first'", validation.check_choice, "first", ("best", "last"), "keep")
    refuses("n must be 1 or 2, got True", validation.check_choice, True, (1, 2), "n")


def test_one_interval_stands_for_all_inputs():
    np.testing.assert_array_equal(validation.check_box((-1, 1), 3), [[-1, 1]] * 3)
    np.testing.assert_array_equal(validation.check_box([(0, 1), (0, 2)], 2), [[0, 1], [0, 2]])
    refuses("box must be (lo, hi), or 3 pairs of them, got shape (2, 2)", validation.check_box, [(0, 1)] * 2, 3)
    message = "box must have lo < hi on every axis, got (1.0, 1.0) on axis 0"
    refuses(message, validation.check_box, (1, 1), 2)
    refuses("box must have finite bounds, got [[0.0, inf], [0.0, inf]]", validation.check_box, (0, np.inf), 2)
