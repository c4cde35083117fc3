"""Checks of arguments by annotations."""

from __future__ import annotations

import fractions
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pytest

from creases._arguments import check_arguments
from creases.errors import InputError

if TYPE_CHECKING:
    from fractions import Fraction  # known by its name only


@check_arguments(
    "flag", "count", "size", "name", "path", "way", "function", "table", "sizes", "pair", "groups", "part", "open_"
)
def everything(
    flag: bool = True,
    count: int | None = None,
    size: float = 1.0,
    name: str = "",
    *,
    path: str | Path = "",
    way: Literal["fast", "slow"] = "fast",
    function: Callable[[], None] | None = None,
    table: Mapping[str, int] | None = None,
    sizes: Sequence[int] = (),
    pair: tuple[float, float] = (0, 1),
    groups: Sequence[Sequence[int]] = (),
    part: Fraction | None = None,
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
        {"count": None, "size": 3, "path": Path("x"), "way": "slow", "function": print, "table": {"a": 1}},
        {"sizes": np.arange(3), "pair": np.array([0.5, 1.0]), "groups": [[1], (2, 3)], "part": Half(1, 2)},
        {"sizes": range(3), "pair": [1, 2], "open_": object()},
    ],
)
def test_what_an_annotation_allows_is_passed_on(arguments):
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
        ("path", 3, "path must be a string or a path, got 3"),
        ("way", ["fast"], "way must be a string, got list"),
        ("function", "f", "function must be a function or None, got 'f'"),
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
    @check_arguments("n")
    @cache
    def square(n: int) -> int:
        return n * n

    assert square(3) == 9
    with pytest.raises(InputError, match="n must be an integer"):
        square([3])


def test_an_argument_that_is_not_there_is_seen_at_once():
    with pytest.raises(AssertionError, match="lacks one of"):

        @check_arguments("missing")
        def nothing() -> None: ...
