"""Sized growth: networks of several sizes that begin alike are trained for as many steps; held-out data decide."""

from __future__ import annotations

import math
from contextlib import closing
from copy import deepcopy
from dataclasses import dataclass
from statistics import fmean as mean
from typing import Any

import torch
from torch import nn

from creases.growth._budget import count_cost
from creases.growth._checkpoint import ModelState, load_optimizer_state
from creases.growth._growth_steps import note_outcomes, revive_layer, stage_widths, widen_places
from creases.growth._integrations import _ranks as ranks
from creases.growth._objective import Objective
from creases.growth._samples import Samples
from creases.growth._state import State
from creases.growth._training import preserve_modes
from creases.growth.policies._stages import FIRST_STEPS, Stages, count_failures, is_right, least_gain, reducible_loss
from creases.network.surgery import without_side_effects

#: Blocks of held-out samples whose mean losses are compared in pairs.
BLOCKS = 20


@dataclass(frozen=True, eq=False)
class NetworkState:
    """A network of a run with its optimizer's state, to go back to."""

    network: ModelState
    optimizer: dict[str, Any] | None

    @classmethod
    def from_state(cls, state: State) -> NetworkState:
        """Return the network of a run as it is now."""
        optimizer = None if state.optimizer is None else deepcopy(state.optimizer.state_dict())
        return cls(ModelState.from_model(state.model, state.widths), optimizer)

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> NetworkState:
        """Return the state that ``asdict`` wrote."""
        return cls(ModelState.from_dict(saved["network"]), saved["optimizer"])

    def restore(self, state: State) -> None:
        """Give a run this network bit for bit; learning rates stay as they are, as a schedule owns them."""
        self.network.restore(state.model, state.samples.example(), state.optimizer)
        if state.optimizer is not None and self.optimizer is not None:
            groups = [
                {**then, **{name: value for name, value in now.items() if name != "params"}}
                for then, now in zip(self.optimizer["param_groups"], state.optimizer.param_groups, strict=True)
            ]
            load_optimizer_state(state.optimizer, {**deepcopy(self.optimizer), "param_groups": groups})
        state.followers.renew(state.model)
        state.clear()


@dataclass(frozen=True, eq=False)
class Trained:
    """A network of a race after its steps, with its held-out losses by block."""

    losses: list[float]
    network: NetworkState
    epochs: list[dict[str, Any]]  #: of the race until then
    parameters: int

    @classmethod
    def from_state(cls, state: State, race: Race) -> Trained:
        """Return the network of a run as it is now; measuring it is charged to the budget."""
        with count_cost() as cost:
            losses = block_losses(state.model, state.validation or state.inspected, state.objective)
        state.meter.charge(cost.multiply_adds)
        return cls(losses, NetworkState.from_state(state), state.history.epochs[race.epoch :], state.parameters)


@dataclass(eq=False)
class Race:
    """Networks of several sizes that begin with the same units and weights, one after another."""

    before: NetworkState  #: at the start of the race
    epoch: int  #: after which it began
    records: int  #: growth steps before it
    steps: int  #: for which each network is trained
    best: Trained | None = None  #: so far; None while the first network trains
    factor: float = 1.0  #: by which the network that trains now is wider than at the start
    stage_records: int = 0  #: growth steps before that network

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> Race:
        """Return the race that ``asdict`` wrote."""
        best = saved["best"]
        if best is not None:
            best = Trained(**{**best, "network": NetworkState.from_dict(best["network"])})
        return cls(**{**saved, "before": NetworkState.from_dict(saved["before"]), "best": best})


def leave_stage(state: State) -> None:
    """End a stage in progress with the current network, unjudged; the next stage is planned from there."""
    if state.race is not None and state.race.best is not None:
        _mark_replaced(state, state.race)
    state.race, state.stage_end = None, None


def close_stage(state: State, stages: Stages) -> None:
    """Judge the network that was trained, and begin with the next size; or end growth."""
    race, history = state.race, state.history
    if race is not None:
        steps = race.steps - history.steps + (history.epochs[race.epoch - 1]["steps"] if race.epoch else 0)
        if steps > 0 and stages.has_room(state, steps):  # now that the time of a step is known
            state.stage_end = history.steps + steps
        elif steps > 0 and race.best is not None:
            _undo(state, race, stages.no_room(state))
        else:
            _judge(state, race)
            _begin_stage(state, stages, race)
        return
    steps = stages.count_steps(state)
    if not steps:
        state.history.growth_ended = stages.no_room(state)
        return
    with count_cost() as cost:
        revive_layer(state)  # once for all networks of the race: to a dead layer nothing can be added
    state.meter.charge(cost.multiply_adds)
    state.race = Race(NetworkState.from_state(state), len(state.history.epochs), len(state.history.records), steps)
    state.stage_end = state.history.steps + steps


def close_race(state: State) -> None:
    """Keep the better network, where the budget ends in the middle of a race, and record the stage."""
    race = state.race
    if race is not None and race.best is not None:
        _judge(state, race)
        _end_race(state, race)
    state.race = None


def _begin_stage(state: State, stages: Stages, race: Race) -> None:
    """Begin the race again with a wider network; or end growth with the best network so far."""
    history, base = state.history, race.before.network.widths
    base = {place.name: base[place.name] for place in state.where(state)}
    tried = {stage["factor"]: stage["pays"] for stage in history.stages if stage["epoch"] == race.epoch}
    factor, start = stages.next_factor(state, base, tried), history.epochs[0]["loss"]
    assert race.best is not None
    if count_failures(history.stages) >= stages.patience:
        reason = stages.explain_failure(history.stages)
    elif history.stages and is_right(race.best.epochs[-1], start):
        reason = "the network is right on all samples"
    elif factor in tried:
        widths = [str(math.ceil(factor * width)) for width in base.values()]
        reason = f"a network of {' and '.join(widths)} units did not pay before"
    else:
        reason = stages.obstacle(state, base, factor, race.steps)
    race.stage_records = len(history.records)
    if not reason:
        race.factor = factor
        del history.epochs[race.epoch :]
        race.before.restore(state)
        for hook in state.before_decision:  # the network that grows is this one
            hook(state)
        with count_cost() as cost:
            state.record = widen_places(state, stage_widths(state, factor))
        state.meter.charge(cost.multiply_adds)
        state.measured_share = 0.0
        is_timed = state.metered and state.meter.budget.unit == "seconds"
        state.stage_end = history.steps + min(race.steps, FIRST_STEPS if is_timed else race.steps)
        if state.record is None:
            reason = "no unit was proposed that fits within the size limits"
        elif not stages.has_room(state, race.steps):
            reason = "a growth step costs more than growth's share of the budget leaves"
    if reason:
        _undo(state, race, reason)


def _judge(state: State, race: Race) -> None:
    """Let the better of two networks be the best one so far, and record the stage."""
    history, best, trained = state.history, race.best, Trained.from_state(state, race)
    if best is None:
        race.best = trained
        return
    note_outcomes(state)
    gain, error = compare_losses(best.losses, trained.losses)
    least = min(mean(best.losses), mean(trained.losses))
    needed = max(error, least_gain(state, best.parameters) * reducible_loss(least, history.epochs[0]["loss"]))
    stage: dict[str, Any] = {
        "epoch": race.epoch,
        "records": [record.number for record in history.records[race.stage_records :]],
        "factor": race.factor,
        "widths_before": best.network.network.widths,
        "steps": history.steps,
        "compared_steps": race.steps,
        "widths": history.last["widths"],
        "loss_grown": mean(trained.losses),
        "loss_training_on": mean(best.losses),
        "gain": gain,
        "error": error,
        "needed": needed,
        "pays": gain > needed,
    }
    history.stages.append(stage)
    if stage["pays"]:
        race.best = trained
        _mark_replaced(state, race)
        return
    for record in history.records[race.stage_records :]:
        record.undone = True


def _undo(state: State, race: Race, reason: str) -> None:
    """End growth with the best network so far; the one that trains now is not judged."""
    for record in state.history.records[race.stage_records :]:
        record.undone = True
    state.history.growth_ended = reason
    _end_race(state, race)
    state.record = None


def _end_race(state: State, race: Race) -> None:
    """Go back to the best network so far."""
    assert race.best is not None
    state.history.epochs[race.epoch :] = race.best.epochs
    race.best.network.restore(state)
    state.race = None


def _mark_replaced(state: State, race: Race) -> None:
    """Mark the growth steps of earlier stages that paid, whose networks another one that began again replaced."""
    for record in state.history.records[race.records : race.stage_records]:
        if not record.undone:
            record.undone = record.replaced = True


@torch.no_grad()
def block_losses(model: nn.Module, samples: Samples, objective: Objective) -> list[float]:
    """Return the mean losses in eval mode of samples in blocks, the same blocks at every call."""
    sums = torch.zeros(2, BLOCKS, dtype=torch.float64)
    number = 0
    with preserve_modes(model), without_side_effects(), closing(samples.parts()) as parts:
        model.eval()
        for x, target in parts:
            if not len(x):
                continue
            outputs = model(x)
            for rows in torch.tensor_split(torch.arange(len(x), device=x.device), min(len(x), BLOCKS)):
                own = tuple(part[rows] for part in target) if isinstance(target, tuple | list) else target[rows]
                loss = objective.loss_sum(outputs[rows], own, len(rows))
                sums[0, number % BLOCKS] += float(loss)
                sums[1, number % BLOCKS] += len(rows)
                number += 1
    ranks.sum_over_ranks([sums])
    used = sums[1] > 0
    return [float(value) for value in sums[0, used] / sums[1, used]]


def compare_losses(training_on: list[float], grown: list[float]) -> tuple[float, float]:
    """Return by how much the grown network's loss is lower in the mean, and the standard error of that, over blocks."""
    difference = torch.tensor(training_on, dtype=torch.float64) - torch.tensor(grown, dtype=torch.float64)
    error = float(difference.std() / len(difference) ** 0.5) if len(difference) > 1 else 0.0
    return float(difference.mean()), error
