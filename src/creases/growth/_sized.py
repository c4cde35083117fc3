"""Sized growth: stages, each of which races a wider or narrower network against the best one so far."""

from __future__ import annotations

from statistics import fmean as mean
from typing import Any

from creases.growth._budget import count_cost
from creases.growth._growth_steps import note_outcomes, remove_dead, resize_places, revive_layer, stage_widths
from creases.growth._race import (
    MIN_GAIN,
    NetworkState,
    Race,
    Trial,
    average_weights,
    block_losses,
    compare_losses,
    shrink_gain,
)
from creases.growth._state import State
from creases.growth.policies._stages import Stages, is_right, reducible_loss


def observe_race(state: State, steps: int) -> None:
    """Add the present weights to the average by which a race is judged, after this many steps of the history."""
    if state.race is not None and state.stage_end is not None:
        state.race.observe(state.model, state.stage_end - steps)


def leave_stage(state: State) -> None:
    """End a stage in progress with the current network, unjudged; the next stage is planned from there."""
    if state.race is not None and state.race.rival is not None:
        _mark_replaced(state, state.race)
    state.race, state.stage_end = None, None


def close_stage(state: State, stages: Stages) -> None:
    """At a look: note the held-out losses of the network that trains; after the last one, judge it."""
    race = state.race
    if race is None:
        _begin_race(state, stages)
        return
    _look(state, race)
    if race.next_look is not None:
        before = int(state.history.epochs[race.epoch - 1]["steps"]) if race.epoch else 0  # of every network in the race
        state.stage_end = before + race.next_look
        return
    if race.rival is None:
        race.rival = race.trial
    else:
        _judge(state, race, stages)
    _begin_stage(state, stages, race)


def close_race(state: State, stages: Stages) -> None:
    """Keep the better network, where the budget ends in the middle of a race, and record the stage."""
    race, state.race = state.race, None
    if race is not None and race.rival is not None:
        _look(state, race)
        _judge(state, race, stages)
        _restore_rival(state, race)


def end_growth(state: State, *, is_over: bool) -> None:
    """Remove dead units of a size that stages have chosen, unless the run is over, and note what is spent."""
    if not is_over and any(stage["pays"] for stage in state.history.stages):
        seconds = state.step_seconds.get(state.flops)
        with count_cost() as cost:
            remove_dead(state)
        state.meter.charge(cost.multiply_adds)
        if seconds is not None:
            state.step_seconds[state.flops] = seconds  # a step takes about as long as before
    state.history.growth_spent = state.meter.progress


def _begin_race(state: State, stages: Stages) -> None:
    """Train the current network for as many steps as other sizes will get; or end growth."""
    history = state.history
    history.growth_ended = stages.over(state)
    if not history.growth_ended:
        with count_cost() as cost:
            revive_layer(state)  # once for all networks of the race: to a dead layer nothing can be added
        state.meter.charge(cost.multiply_adds)
        steps = stages.race_length(state)
        before = NetworkState.from_state(state)
        state.race = Race(before, len(history.epochs), len(history.records), steps)
        state.race.plan = stages.looks(state, steps)
        state.stage_end = history.steps + state.race.plan[0]


def _begin_stage(state: State, stages: Stages, race: Race) -> None:
    """Begin again with other widths than those of the best network so far; or end growth.

    Every network is the one before the race with more or fewer units.
    """
    history = state.history
    _restore_rival(state, race)
    if not race.reason:
        failed = stages.failures(history.stages) >= stages.patience
        race.reason = stages.explain_failure(history.stages) if failed else stages.over(state, race.steps)
    halving = stages.next_halving(state, race.steps) if race.reason else None
    present = state.widths
    if halving is not None and stage_widths(state, halving) == present:
        halving = None  # a layer has no fewer units than the model has outputs
    if race.reason and halving is None:
        history.growth_ended, state.race = race.reason, None
        return
    race.factor = stages.next_factor(state, race.steps) if halving is None else halving
    race.plan = stages.looks(state, race.steps)[: stages.count_looks(state, race.factor, race.steps)]
    race.trial, race.average, race.averaged = Trial(), {}, 0
    widths = stage_widths(state, race.factor)
    race.widths, race.stage_records = present, len(history.records)
    del history.epochs[race.epoch :]
    race.before.restore(state)
    for hook in state.before_decision:  # the network that grows is this one
        hook(state)
    state.stage_end = history.steps + race.plan[0]
    _resize(state, widths, race.factor)
    race.plan = [look for look in race.plan if stages.has_room(state, look)]
    if race.factor > 1 and all(place.width <= race.widths[place.name] for place in state.places):
        history.growth_ended = history.growth_ended or "no layer can grow within the size limits"
        _undo(state, race)
    elif state.record is not None and not race.plan:
        history.growth_ended = "a growth step costs more than growth's share of the budget leaves"
        _undo(state, race)
    elif state.record is None:
        _undo(state, race)


def _resize(state: State, widths: dict[str, int], factor: float) -> None:
    """Give places these widths, and charge it to the budget; end growth where that adds nothing."""
    with count_cost() as cost:
        reason = state.limit.reached(state) if factor > 1 else ""
        state.record = None if reason else resize_places(state, widths)
        if not reason and state.record is None:
            reason = "no unit was proposed that fits within the size limits"
    state.meter.charge(cost.multiply_adds)
    state.history.growth_ended = reason


def _look(state: State, race: Race) -> None:
    """Note the held-out losses of the network that trains, with its weights averaged."""
    with count_cost() as cost, average_weights(state.model, race.average, state.inspected):
        losses = block_losses(state.model, state.validation or state.inspected, state.objective)
    state.meter.charge(cost.multiply_adds)
    race.average, race.averaged = {}, 0
    race.trial = race.trial.add(losses, state, state.history.epochs[race.epoch :])


def _judge(state: State, race: Race, stages: Stages) -> None:
    """Let the better network of two be the rival of the next one, and record the stage."""
    note_outcomes(state)
    history, rival, trial = state.history, race.rival, race.trial
    assert rival is not None
    looks = min(len(rival.losses), len(trial.losses))
    before, after = rival.lowest(looks), trial.lowest(looks)
    gain, error = compare_losses(before, after)
    cost = stages.least_gain(state, rival.flops, rival.parameters)
    start = history.epochs[0]["loss"]
    needed = cost * reducible_loss(min(mean(before), mean(after)), start)
    expected = stages.expected_gain(history.stages, race.widths, race.factor)
    needed = needed if expected else max(MIN_GAIN * error, needed)
    if race.factor < 1:  # a narrower network may lose what a wider one must gain; half of it, once wider ones won
        needed = -needed / 2 if race.reason else -needed
    likely = shrink_gain(gain, error, expected)
    stage: dict[str, Any] = {
        "epoch": race.epoch,
        "records": [record.number for record in history.records[race.stage_records :]],
        "factor": race.factor,
        "widths_before": race.widths,
        "steps": history.steps,
        "compared_steps": race.plan[min(looks, len(race.plan)) - 1],
        "widths": history.last["widths"],
        "loss_grown": mean(after),
        "loss_training_on": mean(before),
        "gain": gain,
        "error": error,
        "expected": expected,
        "needed": needed,
        "pays": _pays(race.factor, gain, likely, needed) or (race.factor < 1 and is_right(history.last, start)),
    }
    history.stages.append(stage)
    if not stage["pays"]:
        _mark_undone(state, race)
        return
    race.rival = trial
    _mark_replaced(state, race)


def _pays(factor: float, gain: float, likely: float, needed: float) -> bool:
    """Return whether a stage pays by its measured gain and the likely one: no size is larger for a gain not seen."""
    return likely > needed and (factor < 1 or gain > 0)


def _undo(state: State, race: Race) -> None:
    """Go back to the best network so far, and end the race."""
    _mark_undone(state, race)
    _restore_rival(state, race)
    state.race = state.record = None


def _mark_replaced(state: State, race: Race) -> None:
    """Mark the growth steps of earlier stages that paid, whose networks another one that began again replaced."""
    for record in state.history.records[race.records : race.stage_records]:
        if not record.undone:
            record.undone = record.replaced = True


def _mark_undone(state: State, race: Race) -> None:
    for record in state.history.records[race.stage_records :]:
        record.undone = True


def _restore_rival(state: State, race: Race) -> None:
    """Go back to the best network so far, at its best look."""
    assert race.rival is not None
    assert race.rival.network is not None
    state.history.epochs[race.epoch :] = race.rival.epochs
    race.rival.network.restore(state)
