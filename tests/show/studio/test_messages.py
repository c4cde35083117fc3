"""Whatever a page sends is answered in words, and the session goes on."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

from creases.show.studio import _live_run as live_module
from creases.show.studio._controller import Controller
from creases.show.studio._limits import Limits

FORMULA = {"kind": "formula", "formula": "sin(3*x)", "rows": 30, "noise": 0.1, "seed": 1}
TABLE = {"kind": "csv", "name": "t.csv", "text": "a,b\n" + "1,p\n2,q\n" * 9, "target": "b", "task": "classification"}
MESSAGES: list[dict[str, Any]] = [
    {"do": "problem", "problem": {"kind": "builtin", "name": "moons"}},
    {"do": "problem", "problem": {**TABLE, "missing": "drop", "header": True}},
    {"do": "problem", "problem": FORMULA},
    {"do": "problem", "problem": {"kind": "draw", "X": [[k, k % 3] for k in range(12)], "y": [0, 1] * 6}},
    {
        "do": "start",
        "problem": FORMULA,
        "how": "fold",
        "where": "hidden1",
        "when": "10",
        "hidden": [2],
        "seed": 0,
        "lr": 0.1,
    }
    | {"batch": 10, "epochs": 3},
    {"do": "frame", "moment": 0, "slice": 0},
    {"do": "slice", "columns": [0, 1]},
    {"do": "slice", "rows": [0, 1, 2]},
    {"do": "export", "what": "code"},
    *({"do": do} for do in ("pause", "go", "step", "grow", "undo", "hello")),
]
WRONG: list[Any] = [
    None,
    True,
    -1,
    10**30,
    1.5,
    1e308,
    float("nan"),
    float("-inf"),
    "",
    "\0",
    "\ud800",
    "<img>",
    "9" * 5000,
]
WRONG += [[], [[]], [None], ["a"], {}, {"kind": "csv"}, [0, 0], [-1, 5], [[1, 2], [3]], [float("nan")] * 2]


class Heard(list[Any]):
    """What a controller says."""

    def errors(self) -> list[str]:
        return [one["message"] for one in self if isinstance(one, dict) and one["type"] == "error"]


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Ways to every part of a message."""
    yield at
    for key in value if isinstance(value, dict) else range(min(1, len(value))) if isinstance(value, list) else ():
        yield from places(value[key], (*at, key))


def changed(message: Any, at: tuple[Any, ...], value: Any) -> Any:
    """A message with another value in one place."""
    if not at:
        return value
    found = part = copy.deepcopy(message)
    for key in at[:-1]:
        part = part[key]
    part[at[-1]] = value
    return found


def test_wrong_values_in_any_place_are_refused_in_words_and_the_session_lives_on():
    said = Heard()
    controller = Controller(said.append, Limits())
    wrong = [changed(message, at, value) for message in MESSAGES for at in places(message) for value in WRONG]
    for message in random.Random(0).sample(wrong, 400):
        said.clear()
        controller.handle(json.dumps(message))
        if controller.state == "running":
            controller.work()
        for one in said:
            assert isinstance(one, bytes | tuple) or json.dumps(one, allow_nan=False)
        assert not [told for told in said.errors() if "please report" in told], message
    said.clear()
    controller.handle(json.dumps(MESSAGES[4]))
    assert said.errors() == []


NO_MESSAGES = ["", "no", "{", "{}", "[]", "7", '"go"', "\ud800", "[" * 100_000]
NO_MESSAGES += ['{"do":' * 9_999, '{"do": ' + "9" * 9_999 + "}", '{"do": []}', '{"do": "_run"}', '{"do": "fly"}']


@pytest.mark.parametrize("text", NO_MESSAGES)
def test_what_is_no_message_is_refused(text):
    said = Heard()
    Controller(said.append, Limits()).handle(text)
    assert said.errors() == ["The page sent a request that the studio does not know; reload the page"]


def test_a_network_of_too_many_regions_is_not_tried_to_be_drawn_at_every_moment(monkeypatch):
    tried = []
    draw = live_module.views.map_slice
    monkeypatch.setattr(live_module.views, "map_slice", lambda *given: tried.append(1) or draw(*given))
    said = Heard()
    controller = Controller(said.append, Limits(regions=2))
    controller.handle(json.dumps({**MESSAGES[4], "hidden": [12], "epochs": 9}))
    for _ in range(3):
        controller.handle(json.dumps({"do": "step"}))
    assert len(tried) == 1
    assert said.errors() == []
    controller.handle(json.dumps({"do": "frame", "moment": 0, "slice": 0}))
    assert said.errors() == ["Network must have at most 2 regions on the slice, got at least 12"]


def test_what_was_undone_and_grown_by_hand_is_known_after_going_back():
    controller = Controller(Heard().append, Limits())
    controller.handle(json.dumps({**MESSAGES[4], "how": "random", "when": "1", "epochs": 20}))
    for do in ("step", "step", "undo", "grow", "grow", "undo"):
        controller.handle(json.dumps({"do": do}))
    assert controller._live.log == [True, False, "grow"]
    for do in ("undo", "undo"):
        controller.handle(json.dumps({"do": do}))
    assert controller._live.log == [False]
