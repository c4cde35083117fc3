"""Checks of a history or a checkpoint that was read from a file, which may be damaged or forged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any, Unpack

from torch import Tensor

from creases._schema import (
    BOOL,
    COUNT,
    DICT,
    NUMBER,
    STRING,
    Kind,
    check_entries,
    choice,
    dict_of,
    expect,
    is_count,
    is_number,
    list_of,
    optional,
    sequence,
)
from creases.growth._explanation import NameOptions
from creases.growth.methods._fold.explanation import fold_entries

_COUNTS = list_of(COUNT)
_MEASURES = ("score", "validation_loss", "validation_score", "smoothed_loss", "smoothed_score")

_EPOCH = {
    **dict.fromkeys(("epoch", "steps", "parameters"), COUNT),
    **dict.fromkeys(("epochs", "seconds", "multiply_adds", "progress", "loss"), NUMBER),
    **dict.fromkeys(_MEASURES, optional(NUMBER)),
    "widths": dict_of(COUNT),
}
_RECORD = {
    **dict.fromkeys(("number", "epoch", "steps"), COUNT),
    **dict.fromkeys(("place", "method"), STRING),
    **dict.fromkeys(("units", "removed"), _COUNTS),
    **dict.fromkeys(("width", "parameters"), sequence(COUNT, 2)),
    **dict.fromkeys(("before", "after", "later"), dict_of(optional(NUMBER))),
    **dict.fromkeys(("weights", "explanation"), DICT),
    **dict.fromkeys(("undone", "replaced"), BOOL),
    "action": choice("grow", "narrow", "revive"),
    "predicted": optional(NUMBER),
    "changed": optional(COUNT),
}
_STAGE = {
    **dict.fromkeys(("epoch", "steps"), COUNT),
    **dict.fromkeys(("factor", "loss_grown", "loss_training_on", "gain", "error", "needed"), NUMBER),
    **dict.fromkeys(("widths", "widths_before"), dict_of(COUNT)),
    "records": _COUNTS,
    "pays": BOOL,
}
_HISTORY = {
    **dict.fromkeys(("epochs", "stages"), list_of(DICT)),
    **dict.fromkeys(("growth_ended", "ended", "note", "loop"), STRING),
    "growth_spent": optional(Kind("a fraction", lambda value: is_number(value) and 0 <= value <= 1)),
    "idle": COUNT,
    "kept": optional(COUNT),
    "joined": optional(COUNT),
    "setting": DICT,
}
_AMOUNT = Kind("an amount", lambda value: is_number(value) and 0 <= value < inf)
_SPENT = {**dict.fromkeys(("epochs", "seconds", "multiply_adds"), _AMOUNT), "steps": COUNT}
_RACE = {
    **dict.fromkeys(("epoch", "records", "steps", "stage_records"), COUNT),
    "factor": Kind("a number above 0", lambda value: is_number(value) and value > 0),
}
_TRAINED = {"losses": list_of(NUMBER), "parameters": COUNT, "epochs": list_of(DICT)}

#: What telling a damaged explanation raises.
_DAMAGE = (ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError, ZeroDivisionError)


def check_history(history: Any) -> None:
    """Raise ValueError where a history is not what its class declares."""
    check_entries(history, "the history", **_HISTORY)
    _check_epochs(history.epochs, 1)
    for number, record in enumerate(history.records, 1):
        check_entries(record, f"growth step {number}", **_RECORD)
        for losses in (record.before, record.after, *([record.later] if record.later else [])):
            check_entries(losses, f"growth step {number}", loss=NUMBER)
    check_explanations(history)
    for number, stage in enumerate(history.stages, 1):
        check_entries(stage, f"stage {number}", **_STAGE)
    expect(all(isinstance(history.setting.get(name, ""), str) for name in ("loss", "budget")), "a setting is not text")
    expect((history.kept or 0) <= len(history.epochs), "kept is not an epoch")


def check_explanations(history: Any, **names: Unpack[NameOptions]) -> None:
    """Raise ValueError where a growth step cannot be explained, with the names of its data if they are given."""
    for number, record in enumerate(history.records, 1):
        try:
            record.explain(**names), record.why(**names)
            for fold in fold_entries(record.explanation) if record.method == "fold" else []:
                classes = [fold["why"][name] for name in ("true", "predicted") if name in fold["why"]]
                expect(all(map(is_count, classes)), f"there is no class {classes}")
        except _DAMAGE as problem:
            raise ValueError(f"the explanation of growth step {number} is damaged: {problem!r}") from None


def check_checkpoint(saved: Mapping[str, Any], history: Any) -> None:
    """Raise ValueError where a part of a checkpoint is not what a run writes, or belongs to another history.

    Networks are checked when they are restored, and the tensors of an optimizer's state when it takes a step.
    """
    check_entries(saved["spent"], "what is spent", **_SPENT)
    check_entries(saved, "the checkpoint", stage_end=optional(COUNT), untrained=BOOL, rate_scale=NUMBER)
    _check_optimizer(saved["optimizer"], "the optimizer")
    epochs, race = len(history.epochs), saved["race"]
    if saved["best"] is not None:
        best = saved["best"][0]
        expect(is_count(best) and 0 < best <= epochs, f"the best network is of epoch {best!r}")
    if race is not None:
        check_entries(race, "the race", **_RACE)
        expect(race["epoch"] <= epochs and race["records"] <= len(history.records), "the race has not begun")
        _check_optimizer(race["before"]["optimizer"], "the network before the race")
        if race["best"] is not None:
            check_entries(race["best"], "the best network of the race", **_TRAINED)
            expect(bool(race["best"]["losses"]), "the best network of the race has no losses")
            _check_epochs(race["best"]["epochs"], race["epoch"] + 1)
            _check_optimizer(race["best"]["network"]["optimizer"], "the best network of the race")


def check_groups(before: Sequence[Mapping[str, Any]], loaded: Sequence[Mapping[str, Any]]) -> None:
    """Raise ValueError where the loaded groups of an optimizer lack one of its options, or have no number for one."""
    for own, group in zip(before, loaded, strict=True):
        for name, value in own.items():
            expect(name in group, f"the optimizer's group has no {name!r}")
            expect(_is_alike(value, group[name]), f"the optimizer's {name!r} is {group[name]!r}")


def _is_alike(own: Any, value: Any) -> bool:
    """Return whether a value can stand for another: a number for a number, as many for several; anything else can."""
    if isinstance(own, tuple):
        return isinstance(value, tuple | list) and len(own) == len(value) and all(map(_is_alike, own, value))
    if is_number(own):
        return is_number(value) or (isinstance(value, Tensor) and value.numel() == 1)
    return True


def _check_epochs(epochs: Sequence[Mapping[str, Any]], first: int) -> None:
    for number, epoch in enumerate(epochs, first):
        check_entries(epoch, f"epoch {number}", **_EPOCH)
        expect(epoch["epoch"] == number, f"epoch {number} is numbered {epoch['epoch']}")


def _check_optimizer(state: Any, where: str) -> None:
    if state is None:
        return
    check_entries(state, where, state=dict_of(DICT), param_groups=list_of(DICT))
    numbers = [number for group in state["param_groups"] for number in group["params"]]
    expect(all(map(is_count, numbers)), f"{where} has parameters that are not numbered")
    unknown = state["state"].keys() - set(numbers)
    expect(not unknown, f"{where} has the state of parameters that it does not have: {sorted(unknown, key=repr)}")
