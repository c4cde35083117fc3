"""The stages of a grower: each races a wider or narrower network against the best one so far."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from statistics import fmean as mean

from creases.growth._cost import count_cost
from creases.growth._growth_steps import remove_dead, revive_layer, stage_widths
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
from creases.growth._records import History
from creases.growth._samples import Samples
from creases.growth._state import State
from creases.growth._step_count import StepCount
from creases.growth.policies._stages import Stages, is_right, reducible_loss
from creases.growth.policies._where import grows_together


class Racing(ABC):
    """What a :class:`creases.growth.Grower` does at the end of a stage."""

    state: State
    race: Race | None
    validation: Samples | None
    before_decision: list[Callable[[State], None]]
    _counted: StepCount

    @property
    @abstractmethod
    def history(self) -> History:
        """The run's epochs and growth steps so far."""

    @abstractmethod
    def _grow_or_end(self, factor: float | None = None, widths: Mapping[str, int] | None = None) -> None:
        """Grow, by a factor or to widths, and charge it to the budget; end growth if there is a reason to."""

    @abstractmethod
    def _look_back(self) -> None:
        """Note the outcome of the last growth steps so far."""

    def observe_race(self, steps: int) -> None:
        """Add the present weights to the average by which a race is judged, after this many steps of the history."""
        if self.race is not None and self.state.stage_end is not None:
            self.race.observe(self.state.model, self.state.stage_end - steps)

    def _after_step(self) -> None:
        """In a loop of the user's own, average the weights of a race over its last steps."""
        if not self.state.metered:
            self.observe_race(self.history.steps + self._counted.steps)

    def leave_stage(self) -> None:
        """End a stage in progress with the current network, unjudged; the next stage is planned from there."""
        race = self.race
        if race is not None and race.rival is not None and race.start is None:
            self._mark_replaced(race)
        self.race, self.state.stage_end = None, None

    def _close_stage(self, stages: Stages) -> None:
        """At a look: note the held-out losses of the network that trains; after the last one, judge it."""
        race, state = self.race, self.state
        if race is None:
            self._begin_race(stages)
            return
        self._look(race)
        if race.next_look is not None:
            state.stage_end = self._steps_before(race) + race.next_look
            return
        if race.rival is None:
            race.rival = race.trial
        else:
            self._judge(race, stages)
        self._begin_stage(stages, race)

    def _begin_race(self, stages: Stages) -> None:
        """Train the current network for as many steps as other sizes will get; or end growth."""
        state, history = self.state, self.history
        history.growth_ended = stages.over(state)
        if not history.growth_ended:
            with count_cost() as cost:
                revive_layer(state)  # once for all networks of the race: to a dead layer nothing can be added
            state.meter.charge(cost.multiply_adds)
            steps = stages.race_length(state)
            before = NetworkState.from_state(state)
            self.race = Race(before, len(history.epochs), len(history.records), steps)
            self.race.plan = stages.looks(state, steps)
            state.stage_end = history.steps + self.race.plan[0]

    def _begin_stage(self, stages: Stages, race: Race) -> None:
        """Begin again with other widths than those of the best network so far; or end growth.

        Every network is the one before the race with more or fewer units. Where a policy names one place after the
        other, or inserts layers, it is the best network so far as it began.
        """
        state, history = self.state, self.history
        self._restore_rival(race)
        if not race.reason:
            failed = stages.failures(history.stages) >= stages.patience
            race.reason = stages.explain_failure(history.stages) if failed else stages.over(state, race.steps)
        halving = stages.next_halving(state, race.steps) if race.reason else None
        present = state.widths
        if halving is not None and stage_widths(state, state.stops, halving) == present:
            halving = None  # a layer has no fewer units than the model has outputs
        if race.reason and halving is None:
            history.growth_ended, self.race = race.reason, None
            return
        race.factor = stages.next_factor(state, race.steps) if halving is None else halving
        race.plan = stages.looks(state, race.steps)[: stages.count_looks(state, race.factor, race.steps)]
        race.trial, race.average, race.averaged = Trial(), {}, 0
        widths = stage_widths(state, state.stops, race.factor) if grows_together(state) else None
        race.widths, race.stage_records = present, len(history.records)
        del history.epochs[race.epoch :]
        race.before.restore(state)
        for hook in self.before_decision:  # the network that grows is this one
            hook(state)
        state.stage_end = history.steps + race.plan[0]
        self._grow_or_end(race.factor, widths)
        race.plan = [look for look in race.plan if stages.has_room(state, look)]
        places = state.places if widths else ()
        if race.factor > 1 and places and all(place.width <= race.widths[place.name] for place in places):
            history.growth_ended = history.growth_ended or "no layer can grow within the size limits"
            self._undo(race)
        elif state.record is not None and not race.plan:
            history.growth_ended = "a growth step costs more than growth's share of the budget leaves"
            self._undo(race)
        elif state.record is None:
            self._undo(race)
        elif widths is None:
            race.start = NetworkState.from_state(state)

    def _close_race(self, stages: Stages) -> None:
        """Keep the better network, where the budget ends in the middle of a race, and record the stage."""
        race, self.race = self.race, None
        if race is not None and race.rival is not None:
            self._look(race)
            self._judge(race, stages)
            self._restore_rival(race)

    def _look(self, race: Race) -> None:
        """Note the held-out losses of the network that trains, with its weights averaged."""
        state = self.state
        with count_cost() as cost, average_weights(state.model, race.average, state.inspected):
            losses = block_losses(state.model, self.validation or state.inspected, state.objective)
        state.meter.charge(cost.multiply_adds)
        race.average, race.averaged = {}, 0
        race.trial = race.trial.add(losses, state, self.history.epochs[race.epoch :])

    def _judge(self, race: Race, stages: Stages) -> None:
        """Let the better network of two be the rival of the next one, and record the stage."""
        self._look_back()
        history, rival, trial = self.history, race.rival, race.trial
        assert rival is not None
        looks = min(len(rival.losses), len(trial.losses))
        before, after = rival.lowest(looks), trial.lowest(looks)
        gain, error = compare_losses(before, after)
        cost = stages.least_gain(self.state, rival.flops, rival.parameters)
        start = history.epochs[0]["loss"]
        needed = cost * reducible_loss(min(mean(before), mean(after)), start)
        expected = stages.expected_gain(history.stages, race.widths, race.factor)
        needed = needed if expected else max(MIN_GAIN * error, needed)
        if race.factor < 1:  # a narrower network may lose what a wider one must gain; half of it, once wider ones won
            needed = -needed / 2 if race.reason else -needed
        stage = {
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
            "pays": _pays(race.factor, gain, shrink_gain(gain, error, expected), needed)
            or (race.factor < 1 and is_right(history.last, start)),
        }
        history.stages.append(stage)
        if not stage["pays"]:
            self._mark_undone(race)
            return
        race.rival, race.before = trial, race.start or race.before
        if race.start is None:
            self._mark_replaced(race)

    def _end_growth(self, *, is_over: bool) -> None:
        """Remove dead units of a size that stages have chosen, unless the run is over, and note what is spent."""
        state, history = self.state, self.history
        if not is_over and any(stage["pays"] for stage in history.stages):
            seconds = state.step_seconds.get(state.flops)
            with count_cost() as cost:
                remove_dead(state)
            state.meter.charge(cost.multiply_adds)
            if seconds is not None:
                state.step_seconds[state.flops] = seconds  # a step takes about as long as before
        history.growth_spent = state.meter.progress

    def _undo(self, race: Race) -> None:
        """Go back to the best network so far, and end the race."""
        self._mark_undone(race)
        self._restore_rival(race)
        self.race = self.state.record = None

    def _mark_replaced(self, race: Race) -> None:
        """Mark the growth steps of earlier stages that paid, whose networks another one that began again replaced."""
        for record in self.history.records[race.records : race.stage_records]:
            if not record.undone:
                record.undone = record.replaced = True

    def _mark_undone(self, race: Race) -> None:
        for record in self.history.records[race.stage_records :]:
            record.undone = True

    def _restore_rival(self, race: Race) -> None:
        """Go back to the best network so far, at its best look."""
        assert race.rival is not None
        assert race.rival.network is not None
        self.history.epochs[race.epoch :] = race.rival.epochs
        race.rival.network.restore(self.state)

    def _steps_before(self, race: Race) -> int:
        """Return the optimizer steps before the race, which every network in it has behind it."""
        return int(self.history.epochs[race.epoch - 1]["steps"]) if race.epoch else 0


def _pays(factor: float, gain: float, likely: float, needed: float) -> bool:
    """Return whether a stage pays by its measured gain and the likely one: no size is larger for a gain not seen."""
    return likely > needed and (factor < 1 or gain > 0)
