"""Checks of arguments by their kinds, and of entries of files."""

from __future__ import annotations

import fractions
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Literal

import numpy as np
import pytest

from creases._schema import (
    BOOL,
    COUNT,
    DICT,
    INTEGER,
    NUMBER,
    STRING,
    any_of,
    check_entries,
    choice,
    dict_of,
    finite,
    instance,
    list_of,
    optional,
    sequence,
)
from creases._validation import check_arguments
from creases.errors import InputError


@check_arguments(
    flag=BOOL,
    count=optional(INTEGER),
    size=NUMBER,
    name=STRING,
    place=any_of(STRING, INTEGER),
    way=STRING,
    table=optional(DICT),
    sizes=sequence(INTEGER),
    pair=sequence(NUMBER, length=2),
    groups=sequence(sequence(INTEGER)),
    part=optional(instance("Fraction")),
)
def everything(
    flag: bool = True,
    count: int | None = None,
    size: float = 1.0,
    name: str = "",
    *,
    place: str | int = "",
    way: Literal["fast", "slow"] = "fast",
    table: Mapping[str, int] | None = None,
    sizes: Sequence[int] = (),
    pair: tuple[float, float] = (0, 1),
    groups: Sequence[Sequence[int]] = (),
    part: fractions.Fraction | None = None,
    open_: Any = None,
) -> str:
    """Take an argument of every kind."""
    return "done"


class Half(fractions.Fraction):
    pass


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"flag": np.bool_(False), "count": np.int32(3), "size": np.float32(1), "name": "x"},
        {"count": None, "size": 3, "place": 3, "way": "slow", "table": {"a": 1}},
        {"sizes": np.arange(3), "pair": np.array([0.5, 1.0]), "groups": [[1], (2, 3)], "part": Half(1, 2)},
        {"sizes": range(3), "pair": [1, 2], "open_": object()},
    ],
)
def test_what_a_kind_allows_is_passed_on(arguments):
    assert everything(**arguments) == "done"


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("flag", 1, "flag must be True or False, got 1"),
        ("flag", np.ones(2), r"flag must be True or False, got ndarray of shape \(2,\)"),
        ("count", 1.5, "count must be an integer of at most 64 bits or None, got 1.5"),
        ("count", True, "count must be an integer"),
        ("count", 2**70, "count must be an integer of at most 64 bits"),
        ("size", "large", "size must be a number, got 'large'"),
        ("name", None, "name must be a string, got None"),
        ("place", 0.5, "place must be a string or an integer of at most 64 bits, got 0.5"),
        ("way", ["fast"], "way must be a string, got list"),
        ("table", [1], "table must be a dict or None, got list"),
        ("sizes", 3, "sizes must be a sequence .* got 3"),
        ("sizes", [1.5], "sizes must be a sequence of entries that are each an integer"),
        ("sizes", np.array(3), "sizes must be a sequence"),
        ("pair", (1,), "pair must be a sequence of 2, each a number, got tuple"),
        ("groups", [1, 2], "groups must be a sequence"),
        ("part", 0.5, "part must be a Fraction or None, got 0.5"),
    ],
)
def test_what_it_does_not_allow_is_refused_by_name(name, value, words):
    with pytest.raises(InputError, match=f"^{words}"):
        everything(**{name: value})


def test_arguments_without_names_are_checked_too():
    with pytest.raises(InputError, match="count must be"):
        everything(True, "many")


def test_a_cached_function_refuses_what_cannot_be_hashed():
    @check_arguments(n=INTEGER)
    @cache
    def square(n: int) -> int:
        return n * n

    assert square(3) == 9
    with pytest.raises(InputError, match="n must be an integer"):
        square([3])


def test_an_argument_that_is_not_there_is_seen_at_once():
    with pytest.raises(AssertionError, match="lacks one of"):

        @check_arguments(missing=BOOL)
        def nothing() -> None: ...


RECORD = {"epoch": 3, "loss": 0.5, "widths": {"0": 4}, "units": [1, 2], "action": "grow", "score": None}
KINDS = {
    "epoch": COUNT,
    "loss": NUMBER,
    "widths": dict_of(COUNT),
    "units": list_of(COUNT),
    "action": choice("grow", "deepen"),
    "score": optional(NUMBER),
}


def test_entries_of_their_kinds_pass():
    check_entries(RECORD, "step 1", **KINDS)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epoch": -1}, "the epoch of step 1 must be a count, got -1"),
        ({"epoch": True}, "the epoch of step 1 must be a count, got True"),
        ({"epoch": 2**63}, "the epoch of step 1 must be a count"),
        ({"loss": "low"}, "the loss of step 1 must be a number, got 'low'"),
        ({"widths": {"0": 1.5}}, "the widths of step 1 must be a dict of values that are each a count"),
        ({"units": (1, 2)}, "the units of step 1 must be a list of entries that are each a count"),
        ({"action": "shrink"}, "the action of step 1 must be one of 'grow', 'deepen', got 'shrink'"),
        ({"action": ["grow"]}, "the action of step 1 must be one of"),
        ({"score": "none"}, "the score of step 1 must be a number or None"),
    ],
)
def test_entries_of_other_kinds_are_refused_by_name(change, message):
    with pytest.raises(ValueError, match=message):
        check_entries(RECORD | change, "step 1", **KINDS)


def test_a_missing_entry_is_named():
    with pytest.raises(ValueError, match="step 1 has no 'epoch'"):
        check_entries({}, "step 1", epoch=COUNT)


@pytest.mark.parametrize(
    ("value", "fits"),
    [
        (np.zeros((2, 3)), True),
        (np.zeros((2, 4)), True),
        (np.zeros((3, 3)), False),
        (np.zeros(2), False),
        (np.array([[1.0, np.nan], [0.0, 1.0]]), False),
        (np.array([["a"], ["b"]]), False),
        ([[1.0], [2.0]], False),
    ],
)
def test_arrays_have_a_shape_and_finite_numbers(value, fits):
    kind = finite(2, None)
    assert kind.words == "2 x n finite numbers"
    assert kind.allows(value) is fits
