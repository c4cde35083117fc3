"""Checks of a checkpoint that was read from a file, which may be damaged or forged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

from torch import Tensor

from creases._schema import expect, is_count, is_number
from creases.growth._record_checks import check_epoch
from creases.growth._records import History


def check_checkpoint(saved: Mapping[str, Any], history: History) -> None:
    """Raise ValueError where a part of a checkpoint is not what a run writes, or belongs to another history.

    Networks are checked when they are restored, and the tensors of an optimizer's state when it takes a step.
    """
    spent = saved["spent"]
    amounts = [spent[name] for name in ("epochs", "seconds", "multiply_adds")]
    expect(all(is_number(amount) and 0 <= amount < inf for amount in amounts), f"{amounts} cannot be spent")
    expect(is_count(spent["steps"]), f"{spent['steps']!r} is not a count of steps")
    expect(saved["stage_end"] is None or is_count(saved["stage_end"]), "stage_end is not a count")
    _check_optimizer_state(saved["optimizer"], "the optimizer")
    if saved["best"] is not None:
        epoch, _ = saved["best"]
        expect(_is_within(epoch, history.epochs) and epoch > 0, f"the best network is of epoch {epoch!r}")
    if saved["race"] is not None:
        _check_race(saved["race"], history, saved["model"]["tensors"])
    if saved["refit"] is not None:
        _check_refit(saved["refit"], history)


def check_groups(before: Sequence[Mapping[str, Any]], loaded: Sequence[Mapping[str, Any]]) -> None:
    """Raise ValueError where loaded groups of an optimizer lack options of its own ones, or have no numbers there."""
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


def _check_optimizer_state(state: Any, where: str) -> None:
    expect(isinstance(state["state"], dict) and isinstance(state["param_groups"], list), f"{where} has no state")
    numbers = [number for group in state["param_groups"] for number in group["params"]]
    expect(all(map(is_count, numbers)), f"{where} has parameters that are not numbered")
    unknown = state["state"].keys() - set(numbers)
    expect(not unknown, f"{where} has the state of parameters that it does not have: {sorted(unknown, key=repr)}")
    expect(all(isinstance(values, dict) for values in state["state"].values()), f"{where} has state without names")


def _check_race(race: Mapping[str, Any], history: History, tensors: Mapping[str, Tensor]) -> None:
    first = race["epoch"]
    expect(_is_within(first, history.epochs) and _is_within(race["records"], history.records), "the race has not begun")
    counts = [race[name] for name in ("steps", "averaged", "stage_records")]
    expect(all(map(is_count, [*counts, *race["plan"]])), "the race has an invalid count")
    expect(is_number(race["factor"]) and race["factor"] > 0, "the race has no factor")
    expect(race["rival"] is None or race["rival"]["network"] is not None, "the race has no best network")
    for trial in (race["rival"], race["trial"]):
        if trial is not None:
            _check_trial(trial, first)
    shapes = {name: value.shape for name, value in race["average"].items()}
    expect(all(tensors[name].shape == shape for name, shape in shapes.items()), "the race averages another network")
    expect(all(map(is_count, race["widths"].values())), "the race has widths that are not counts")
    _check_network_state(race["before"], "the network before the race")


def _check_trial(trial: Mapping[str, Any], first: int) -> None:
    losses = [loss for look in trial["losses"] for loss in look]
    expect(all(map(is_number, losses)), "the race has losses that are not numbers")
    expect(bool(losses) == (trial["network"] is not None), "a network of the race has no losses")
    expect(is_count(trial["flops"]) and is_count(trial["parameters"]), "a network of the race has no size")
    for number, epoch in enumerate(trial["epochs"], first + 1):
        check_epoch(epoch, number)
    if trial["network"] is not None:
        _check_network_state(trial["network"], "a network of the race")


def _check_refit(refit: Mapping[str, Any], history: History) -> None:
    expect(_is_within(refit["epoch"], history.epochs), "growth ended after an epoch that is not there")
    expect(is_number(refit["spent"]) and is_number(refit["epochs"]), "growth ended at no time")
    expect(isinstance(refit["decided"], bool), "retraining is not described")
    expect((refit["begun"] is None) == (refit["end"] is None), '"begun" and "end" must both be set or both be null')
    expect(all(refit[name] is None or is_number(refit[name]) for name in ("begun", "end")), "retraining has no time")
    _check_network_state(refit["start"], "the network at the end of growth")


def _check_network_state(saved: Mapping[str, Any], where: str) -> None:
    if saved["optimizer"] is not None:
        _check_optimizer_state(saved["optimizer"], where)
    expect(isinstance(saved["companions"], list), f"{where} has no companions")
    expect(isinstance(saved["averaged"], list) and all(map(is_count, saved["averaged"])), f"{where} has no averages")


def _is_within(count: Any, entries: Sequence[Any]) -> bool:
    return is_count(count) and count <= len(entries)
