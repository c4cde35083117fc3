"""Checks of a history that was read from a file, which may be damaged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

from creases._schema import expect, is_count, is_number
from creases.growth._feature_names import NameOptions
from creases.growth.methods._fold.explanation import fold_entries

#: Entries of an epoch that are numbers, those that may be unknown, and those that count something.
_NUMBERS = ("epochs", "seconds", "multiply_adds", "progress", "loss")
_PERHAPS = ("score", "validation_loss", "validation_score", "smoothed_loss")
_COUNTS = ("epoch", "steps", "parameters")

#: What a growth step may do.
_ACTIONS = ("grow", "deepen", "narrow", "recycle", "revive")

#: Entries of a stage that are numbers.
_STAGE_NUMBERS = ("factor", "loss_grown", "loss_training_on", "gain", "error", "needed")

#: What telling a damaged explanation raises.
_DAMAGE = (ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError, ZeroDivisionError)


def check_history(history: Any) -> None:
    """Raise ValueError where a history is not what its class declares."""
    for name in ("epochs", "stages"):
        expect(_is_list(getattr(history, name), dict), f"{name} is not a list of entries")
    for number, epoch in enumerate(history.epochs, 1):
        check_epoch(epoch, number)
    for number, record in enumerate(history.records, 1):
        _check_record(record, f"growth step {number}")
    check_explanations(history)
    for number, stage in enumerate(history.stages, 1):
        _check_stage(stage, f"stage {number}")
    for name in ("growth_ended", "ended", "loop"):
        expect(isinstance(getattr(history, name), str), f"{name} is not text")
    expect(is_count(history.idle), "idle is not a count")
    share = history.growth_spent
    expect(share is None or (is_number(share) and 0 <= share <= 1), "growth_spent is not a fraction")
    kept = history.kept
    expect(kept is None or (is_count(kept) and kept <= len(history.epochs)), "kept is not an epoch")
    expect(isinstance(history.setting, dict), "setting has no names")
    expect(all(isinstance(history.setting.get(name, ""), str) for name in ("loss", "budget")), "a setting is not text")
    expect(isinstance(history.refit, dict) and all(map(is_number, history.refit.values())), "refit has no numbers")


def check_explanations(history: Any, **names: Unpack[NameOptions]) -> None:
    """Raise ValueError where a growth step cannot be explained, with the names of its data if they are given."""
    for number, record in enumerate(history.records, 1):
        try:
            record.explain(**names), record.why(**names)
            _check_classes(record)
        except _DAMAGE as problem:
            raise ValueError(f"the explanation of growth step {number} is damaged: {problem!r}") from None


def _check_classes(record: Any) -> None:
    for fold in fold_entries(record.explanation) if record.method == "fold" else []:
        classes = [fold["why"][name] for name in ("true", "predicted") if name in fold["why"]]
        expect(all(map(is_count, classes)), f"there is no class {classes}")


def check_epoch(epoch: Mapping[str, Any], number: int) -> None:
    """Raise ValueError where an epoch's entry is not what a run records."""
    where = f"epoch {number}"
    expect(all(is_number(epoch[name]) for name in _NUMBERS), f"{where} has an entry that is not a number")
    expect(all(epoch[name] is None or is_number(epoch[name]) for name in _PERHAPS), f"{where} has an entry of text")
    expect(all(is_count(epoch[name]) for name in _COUNTS), f"{where} has an invalid count")
    expect(epoch["epoch"] == number, f"{where} is numbered {epoch['epoch']}")
    _check_widths(epoch["widths"], where)


def _check_stage(stage: Mapping[str, Any], where: str) -> None:
    expect(is_count(stage["epoch"]) and is_count(stage["steps"]), f"{where} has a time that is not a count")
    expect(all(is_number(stage[name]) for name in _STAGE_NUMBERS), f"{where} has an entry that is not a number")
    expect(isinstance(stage["pays"], bool), f"{where} does not say whether it pays")
    expect(all(map(is_count, stage["records"])), f"{where} has growth steps that are not counts")
    _check_widths(stage["widths"], where)
    _check_widths(stage["widths_before"], where)


def _check_widths(widths: Any, where: str) -> None:
    counts = isinstance(widths, dict) and all(map(is_count, widths.values()))
    expect(counts, f"{where} has widths that are not counts")


def _check_record(record: Any, where: str) -> None:
    counts = (record.number, record.epoch, record.steps)
    expect(all(map(is_count, counts)), f"{where} has a number or a time that is not a count")
    expect(record.action in _ACTIONS, f"{where} has the action {record.action!r}")
    expect(isinstance(record.place, str) and isinstance(record.method, str), f"{where} has a place that is not text")
    expect(_is_list(record.units, int) and _is_list(record.removed, int), f"{where} has units that are not numbers")
    for pair in (record.width, record.parameters):
        expect(len(pair) == 2 and all(map(is_count, pair)), f"{where} has a size that is not a pair of counts")
    expect(record.predicted is None or is_number(record.predicted), f"{where} predicts no number")
    for part in (record.before, record.after, record.later):
        expect(isinstance(part, dict), f"{where} has no losses")
        expect(all(value is None or is_number(value) for value in part.values()), f"{where} has losses of text")
    losses = [record.before["loss"], record.after["loss"], *([record.later["loss"]] if record.later else [])]
    expect(all(map(is_number, losses)), f"{where} has no loss")
    expect(record.changed is None or is_count(record.changed), f"{where} changes no count of decisions")
    expect(isinstance(record.undone, bool), f"{where} does not say whether it was undone")
    expect(isinstance(record.weights, dict) and isinstance(record.explanation, dict), f"{where} has no explanation")


def _is_list(value: Any, kind: type) -> bool:
    return isinstance(value, list) and all(isinstance(entry, kind) for entry in value)
