"""Errors are data: each front end says them in its own words, and they survive a trip to another process."""

import pickle

import pytest

from creases.errors import CreasesError, InputError


def test_the_message_is_one_sentence_of_parameter_expectation_value_and_hint():
    error = InputError("batch_size", "be a positive integer", "0", "leave it out for all rows")
    assert str(error) == "batch_size must be a positive integer, got 0; leave it out for all rows"
    assert isinstance(error, ValueError)
    assert isinstance(error, CreasesError)


def test_parts_that_are_not_given_leave_no_trace():
    assert str(InputError("data", "have at least one sample")) == "data must have at least one sample"


def test_a_front_end_names_parameters_and_settings_in_its_own_words():
    error = InputError(
        "target", "be a column", "'price'", "fill them in by {0}, or {1}", [("missing", "mean"), ("header", False)]
    )
    assert str(error) == "target must be a column, got 'price'; fill them in by missing='mean', or header=False"
    rendered = error.render(
        name={"target": "Column to predict"}.get, setting=lambda param, value: f"“{param}: {value}”"
    )
    assert (
        rendered
        == "Column to predict must be a column, got 'price'; fill them in by “missing: mean”, or “header: False”"
    )


def test_braces_in_a_hint_without_settings_are_left_alone():
    assert str(InputError("x", "be a set", hint="such as {1, 2}")) == "x must be a set; such as {1, 2}"


def test_an_error_survives_pickling():
    error = InputError("a", "be b", "c", "do {0}", [("d", 1)])
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.param, copy.settings) == (str(error), "a", (("d", 1),))


@pytest.mark.parametrize("part", ["param", "expected", "got", "hint", "settings"])
def test_the_parts_can_be_read(part):
    assert getattr(InputError("a", "be b", "c", "d", ()), part) == {"settings": ()}.get(
        part, {"param": "a", "expected": "be b", "got": "c", "hint": "d"}.get(part)
    )
