"""The stages of a grower: each races the network that grows against the same network trained on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from statistics import fmean as mean
from typing import Any

from creases.growth._cost import count_cost
from creases.growth._race import MIN_GAIN, NetworkState, Race, average_weights, compare_losses, measure_blocks
from creases.growth._records import History
from creases.growth._samples import Samples
from creases.growth._state import State
from creases.growth.policies._stages import SMALL, Stages, reducible_loss


class Racing(ABC):
    """What a :class:`creases.growth.Grower` does at the end of a stage."""

    state: State
    race: Race | None
    validation: Samples | None
    before_decision: list[Callable[[State], None]]

    @property
    @abstractmethod
    def history(self) -> History:
        """The run's epochs and growth steps so far."""

    @abstractmethod
    def _grow_or_end(self, factor: float | None = None) -> None:
        """Grow, and charge it to the budget; end growth if there is a reason to."""

    @abstractmethod
    def _look_back(self) -> None:
        """Note the outcome of the last growth steps so far."""

    def observe_race(self, steps: int) -> None:
        """Add the present weights to the average by which a race is judged, after this many steps of the history."""
        if self.race is not None and self.state.stage_end is not None:
            self.race.observe(self.state.model, self.state.stage_end - steps)

    def _close_stage(self, stages: Stages) -> None:
        """At the end of a stage: train on, then grow instead, then judge which was better; or end growth."""
        history, race = self.history, self.race
        if race is None:
            self._begin_race(stages)
            return
        if race.rival is None:
            self._grow_rival(stages, race)
        else:
            self._close_race(stages)
            if stages.failures(history.stages) >= stages.patience:
                history.growth_ended = stages.explain_failure(history.stages)
        if self.race is None and not history.growth_ended:
            self._begin_race(stages)

    def _begin_race(self, stages: Stages) -> None:
        """Train the current network on, for as many steps as the grown one will get; or end growth."""
        state, history = self.state, self.history
        history.growth_ended = stages.over(state)
        if not history.growth_ended:
            factor = stages.next_factor(state)
            steps = stages.race_length(state, factor)
            before, size = NetworkState.from_state(state), (state.flops, state.parameters)
            self.race = Race(before, len(history.epochs), len(history.records), steps, factor, *size)
            state.stage_end = history.last["steps"] + steps

    def _grow_rival(self, stages: Stages, race: Race) -> None:
        """Keep the network that was trained on, go back to before that, and grow instead."""
        state, history = self.state, self.history
        race.rival, (race.losses, race.errors) = NetworkState.from_state(state), self._held_out_losses(race)
        race.average, race.averaged = {}, 0
        race.epochs = history.epochs[race.epoch :]
        del history.epochs[race.epoch :]
        race.before.restore(state)
        for hook in self.before_decision:  # the network that grows is this one
            hook(state)
        state.stage_end = history.last["steps"] + race.steps
        self._grow_or_end(race.factor)
        if state.record is not None and not stages.has_room(state, race.steps):
            history.growth_ended = "a growth step costs more than growth's share of the budget leaves"
            self._undo(race)
        elif state.record is None:
            self._restore_rival(race)
            self.race = None

    def _close_race(self, stages: Stages) -> None:
        """Keep the better network, where both have been trained, and record the stage."""
        race, self.race = self.race, None
        if race is not None and race.rival is not None:
            self._look_back()
            self.history.stages.append(self._judge(race, stages))

    def _judge(self, race: Race, stages: Stages) -> dict[str, Any]:
        """Keep the better network of a race, and return the stage's record."""
        history = self.history
        losses, errors = self._held_out_losses(race)
        gain, error = compare_losses(race.losses, losses)
        before, cost = mean(race.losses), stages.least_gain(self.state, race.flops, race.parameters)
        needed = max(MIN_GAIN * error, cost * reducible_loss(before, history.epochs[0]["loss"]))
        wider = race.factor > 1
        needed = needed if wider else -needed  # a narrower network may lose what a wider one must gain
        pays = gain > needed
        if errors and race.errors:  # an overconfident network may decide better while its loss is higher
            decided, spread = compare_losses(race.errors, errors)
            least = max(MIN_GAIN * spread, cost * mean(race.errors))
            small = max(race.before.network.widths.values()) < SMALL
            pays = decided > least or (pays and small) if wider else pays and decided >= -least
        stage = {
            "epoch": race.epoch,
            "factor": race.factor,
            "widths_before": dict(race.before.network.widths),
            "steps": history.last["steps"],
            "widths": history.last["widths"],
            "loss_grown": mean(losses),
            "loss_training_on": before,
            "gain": gain,
            "error": error,
            "needed": needed,
            "pays": pays,
        }
        if not stage["pays"]:
            self._undo(race)
        return stage

    def _undo(self, race: Race) -> None:
        """Undo the growth steps of a race, and go back to the network that was trained on."""
        self._restore_rival(race)
        for record in self.history.records[race.records :]:
            record.undone = True
        self.race = None

    def _restore_rival(self, race: Race) -> None:
        """Go back to the network that was trained on."""
        assert race.rival is not None
        self.history.epochs[race.epoch :] = race.epochs
        race.rival.restore(self.state)

    def _held_out_losses(self, race: Race) -> tuple[list[float], list[float]]:
        """Return the losses and errors by block of the network that was trained, with its weights averaged."""
        state = self.state
        with count_cost() as cost, average_weights(state.model, race.average, state.inspected):
            losses = measure_blocks(state.model, self.validation or state.inspected, state.objective)
        state.meter.charge(cost.multiply_adds)
        return losses
