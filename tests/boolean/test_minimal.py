"""Minimal widths found by training, beside those that can be built."""

from __future__ import annotations

import numpy as np
import pytest

from creases import boolean
from creases.boolean._minimal import minimal_width
from creases.errors import InputError

XOR, AND = 0b0110, 0b1000


@pytest.mark.thorough
def test_widths_found_are_those_that_can_be_built_for_two_bits():
    result = minimal_width([XOR, AND], 2, trials=50, epochs=1000)
    assert result.trained.tolist() == [2, 1]
    assert result.built.tolist() == [2, 1]
    assert result.successes[0, 0] == 0  # one unit is monotone
    assert result.successes[1, 1] == -1  # solved before, so not tried


def test_training_solves_the_classes_of_most_swaps_with_fewer_units_than_a_line_needs():
    """Section 3.4.2: there are functions of swaps value s that need less width than s; 1785 and 7140 have 5."""
    result = minimal_width([1785, 7140], 4, trials=100, leak=0.1)
    assert [boolean.swaps(f, 4).changes for f in result.functions] == [5, 5]
    assert result.built.tolist() == [4, 4]
    assert ((result.trained > 0) & (result.trained < 4)).all()


def test_depth_lowers_the_width_that_can_be_built():
    """Parity of 4 bits: 3 units in one layer; 2 in each of three, or with a leak in two."""
    parity = boolean.parity(4)
    widths = [1]
    assert minimal_width(parity, 4, widths=widths, trials=1, epochs=1).built.tolist() == [3]
    assert minimal_width(parity, 4, depth=2, widths=widths, trials=1, epochs=1).built.tolist() == [3]
    assert minimal_width(parity, 4, depth=3, widths=widths, trials=1, epochs=1).built.tolist() == [2]
    assert minimal_width(parity, 4, depth=2, leak=0.1, widths=widths, trials=1, epochs=1).built.tolist() == [2]


def test_an_outcome_depends_on_no_other_function():
    alone = minimal_width(278, 4, trials=20, epochs=200, widths=[2, 3])
    together = minimal_width([27030, 278], 4, trials=20, epochs=200, widths=[2, 3])
    assert together.successes[1].tolist() == alone.successes[0].tolist()


def test_constants_are_right_from_a_width_of_one_and_need_none():
    result = minimal_width([0, 15], 2, trials=10, epochs=500)
    assert result.built.tolist() == [0, 0]
    assert result.trained.tolist() == [1, 1]


def test_where_no_training_succeeds_the_width_found_is_0():
    result = minimal_width(XOR, 2, widths=[1], trials=5, epochs=50)
    assert result.trained.tolist() == [0]


def test_the_evidence_is_a_row_for_each_width_tried_with_an_interval():
    frame = minimal_width([XOR, AND], 2, trials=50, epochs=1000).to_frame()
    assert frame["function"].tolist() == [XOR, XOR, AND]
    assert frame["width"].tolist() == [1, 2, 1]
    assert (frame["low"] <= frame["rate"]).all()
    assert (frame["high"] >= frame["rate"]).all()
    assert frame["high"][0] == pytest.approx(0.0713, abs=1e-3)  # Wilson's for 0 of 50


def test_no_functions_give_no_rows():
    result = minimal_width(np.zeros(0, np.int64), 3)
    assert result.trained.shape == (0,)
    assert len(result.to_frame()) == 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"widths": [2, 2]}, "widths must be increasing positive integers"),
        ({"widths": []}, "widths must be increasing positive integers"),
        ({"widths": [0]}, "widths"),
        ({"depth": 0}, "depth"),
        ({"trials": 0}, "trials"),
        ({"leak": 2}, "leak must be a number from 0"),
        ({"n": 7}, "n must be an integer from 1 to 6 to compute swaps"),
        ({"f": [[XOR]]}, "f must be one function or a list"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(changes, message):
    with pytest.raises(InputError, match=message):
        minimal_width(**{"f": XOR, "n": 2} | changes)
