"""Geometric growth early in a run: stages that multiply the widths, each undone unless it lowers the held-out loss."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from creases._text import plural
from creases._validation import check_count, check_number
from creases.errors import InputError
from creases.growth._cost import PASSES_PER_STEP
from creases.growth._state import State
from creases.growth.policies._stop import UNBOUNDED, SizeLimit

#: Optimizer steps in a race, at least: fewer say little about the sizes of networks. A run so short that its growth
#: phase has no room for one race of 50 steps has one shorter race, of 20 steps or more.
MIN_STEPS, SHORT_RUN_STEPS = 50, 20

#: Optimizer steps of a race that say enough. Of longer stages a race takes a quarter; its winner trains the rest alone.
RACE_STEPS = 200
RACE_PART = 1 / 4

#: Units of a layer up to which the only stage of a short run multiplies its width more than once.
SHORT_RUN_UNITS = 32

#: Stages that the growth phase has time for, if nothing limits the size before: 2^8 times the width of the start.
MAX_STAGES = 8

#: Fractions of the budget for growth. The small one leaves more time to train the last units; it is chosen where it
#: has room for this many of the shortest stages, or for all there will be.
SMALL_SHARE, LARGE_SHARE, ENOUGH_STAGES = 0.1, 0.2, 4

#: Fraction of the held-out loss that a stage must take away for each doubling of the cost of a step. Early in a run the
#: wider of two networks of CIFAR-10 and MNIST that end level at equal compute is ahead by about this much.
GAIN_PER_DOUBLING = 0.015

#: Multiply-adds that a computer does in the time it takes to start a training step: small networks are no cheaper.
STEP_OVERHEAD = 5_000_000

#: Rounding of sums of shares of a budget.
ROUNDING = 1e-7

#: Epochs that the largest network has to have left; a larger one would not be trained.
MIN_EPOCHS = 10


@dataclass(frozen=True)
class Stages:
    """Growth by stages in the first part of the budget.

    In each stage the network is first trained without growth. It is then reset to the beginning of the stage, every
    place (or the first of the policy ``where``) is widened by a factor, and it is trained for the same number of steps.
    The stage pays if the held-out loss of the grown network is lower by more than half the standard error of the
    difference, and by more than 1.5 % for each doubling of the cost of a step; otherwise growth is undone, and the
    network trained without growth is kept. The one that is kept trains alone for the rest of a long stage. After a
    stage that did not pay the next widens by the factor once more, because some functions, such as parities, need
    several units before any of them helps. Growth ends after ``patience`` stages in a row that do not pay, or when its
    share of the budget is spent. In a short run, where a single stage fits into that share, it begins at once, and
    widens by up to 16, to 32 units a layer at most.

    The comparison is at equal steps, not equal compute: early in a run more steps always help more than more units, so
    at equal compute the smaller network would always win. The cost of larger networks is met by the 1.5 % (in a budget
    of epochs a step costs the same at every size), by the share, and by the epochs that a budget in multiply-adds
    leaves them.
    """

    share: float | str = "auto"  #: of the budget; "auto" is a tenth, or a fifth in short runs
    factor: float = 2.0  #: of the widths
    patience: int = 3  #: stages

    def __post_init__(self) -> None:
        if not (isinstance(self.share, str) and self.share == "auto"):
            _check_share(self.share)
        check_number(self.factor, "growth_factor", above=1)
        check_count(self.patience, "growth_patience")

    def __call__(self, state: State) -> bool:
        """Return whether the stage is over."""
        return self.steps_left(state) <= 0

    def steps_left(self, state: State) -> int:
        """Return the optimizer steps until the end of the stage."""
        if state.stage_end is None:
            is_short = self._multiplications(state) > 1 and not self.over(state)  # then the first race begins at once
            state.stage_end = state.history.steps + (0 if is_short else self.stage_length(state))
        return state.stage_end - state.history.steps

    def share_of(self, state: State) -> float:
        """Return the fraction of this run's budget for growth; "auto" is decided once the cost of a step is known.

        It is a tenth where four stages of 50 steps, or as many as there will be, fit into that, and else a fifth.
        """
        if not isinstance(self.share, str):
            return self.share
        history, step = state.history, state.step_progress
        if history.growth_share is None and step:
            number = min(ENOUGH_STAGES, self.stages_left(state))
            costs = 1 + sum(sum(self._step_costs(state, stage)) for stage in range(1, number + 1))
            fits = step * self._usual_steps(state) * costs <= SMALL_SHARE
            history.growth_share = SMALL_SHARE if fits else LARGE_SHARE
        return LARGE_SHARE if history.growth_share is None else history.growth_share

    def stage_length(self, state: State) -> int:
        """Return the optimizer steps of a stage that begins now.

        The share of the budget that is left is divided among the stages to come, of equally many steps. These cost more
        the wider the network is, and those of the race are made twice: grown and not.
        """
        step, least = state.step_progress, self._min_steps(state)
        if not step:
            return least
        costs = [self._step_costs(state, number) for number in range(1, self.stages_left(state) + 1)]
        rivals, grown = (sum(column) for column in zip(*costs, strict=True))
        grown += not state.history.stages  # the first network is trained before the first race
        left = (self.share_of(state) - state.meter.progress) / step
        if (length := left / (rivals + grown)) > RACE_STEPS:
            length = max((left - RACE_STEPS * rivals) / grown, 0.0)
            if RACE_PART * length > RACE_STEPS:
                length = left / (RACE_PART * rivals + grown)
        return max(int(length), least)

    def race_length(self, stage: int) -> int:
        """Return the optimizer steps of the race at the beginning of a stage of so many steps."""
        return min(stage, max(RACE_STEPS, math.ceil(RACE_PART * stage)))

    def stages_left(self, state: State) -> int:
        """Return how many stages there is room for, at least one."""
        room = MAX_STAGES - sum(bool(stage["pays"]) for stage in state.history.stages)
        meter = state.meter
        if meter.budget.unit == "multiply-adds" and meter.n_samples:
            affordable = meter.budget.amount / (MIN_EPOCHS * PASSES_PER_STEP * meter.n_samples)
            larger = math.log(max(2 * affordable / max(state.flops, 1), 1))
            room = min(room, math.ceil(larger / math.log(max(state.cost_ratio(self.factor), 1.01))))
        return max(min(room, math.ceil(math.log(max(_room(state), 1)) / math.log(self.factor) - 1e-9)), 1)

    def over(self, state: State) -> str:
        """Return why growth is over by the budget; "" if another stage fits into its share."""
        costs = self._step_costs(state, 1, self._multiplications(state))
        least = state.step_progress * self._min_steps(state) * sum(costs)
        if state.meter.progress + least > (share := self.share_of(state)):
            return f"its share of the budget ({share:.0%} of {state.meter.budget}) is spent"
        return ""

    def has_room(self, state: State, steps: int) -> bool:
        """Return whether so many steps of the network as it is now fit into growth's share.

        A growth step, which is not planned, may have taken what they need. Seconds are known only afterwards.
        """
        step = 0.0 if state.meter.budget.unit == "seconds" else state.step_progress
        return state.meter.progress + steps * step <= self.share_of(state) + ROUNDING

    def _min_steps(self, state: State) -> int:
        """Return the optimizer steps of a stage, at least; an epoch where a stage cannot end within one."""
        usual, step = self._usual_steps(state), state.step_progress
        if usual != MIN_STEPS or not step:  # not known yet
            return usual
        fitting = int(0.9 * self.share_of(state) / (step * sum(self._step_costs(state, 1))))  # almost all of it
        return fitting if SHORT_RUN_STEPS <= fitting < MIN_STEPS else MIN_STEPS

    def _usual_steps(self, state: State) -> int:
        """Return the optimizer steps of the shortest stage, save in short runs."""
        return MIN_STEPS if state.batch_size and state.meter.n_samples else max(state.last_epoch[0], 1)

    def _step_costs(self, state: State, number: int, times: int = 1) -> tuple[float, float]:
        """Return what a step of a stage takes of the budget, in current steps: of the rival, and of the grown network.

        ``number``: how many stages come before it, from now, and it; ``times``: how often each multiplies the widths.
        """
        ratio = _step_ratio(state, state.flops, state.cost_ratio(self.factor))
        grown = number + self.failures(state.history.stages)
        return ratio ** (times * (number - 1)), ratio ** (times * grown)

    def least_gain(self, state: State, flops: int) -> float:
        """Return the fraction of the loss that a stage must take away to justify the larger network's cost.

        ``flops``: operations of a forward pass before; those after are the state's.
        """
        ratio = _step_ratio(state, flops, state.flops / max(flops, 1))
        return GAIN_PER_DOUBLING * math.log2(max(ratio, 1.0))

    def widening(self, state: State) -> float:
        """Return by what factor the next stage widens the network."""
        return float(self.factor ** (self._multiplications(state) + self.failures(state.history.stages)))

    def _multiplications(self, state: State) -> int:
        """Return how many times a stage multiplies the widths by the factor: once, unless it will be the only one."""
        step = state.step_progress * self._min_steps(state)
        if not step:
            return 1

        def stages_of(times: int) -> int:
            return int(self.share_of(state) / (step * sum(self._step_costs(state, 1, times))))

        widest = max((place.width for place in state.places), default=1)
        fitting = [n for n in range(2, 5) if widest * self.factor**n <= SHORT_RUN_UNITS and stages_of(n)]
        return 1 if stages_of(1) > 1 else max(fitting, default=1)

    def failures(self, stages: Sequence[dict[str, Any]]) -> int:
        """Return how many stages at the end did not pay."""
        count = 0
        while count < len(stages) and not stages[-1 - count]["pays"]:
            count += 1
        return count

    def explain_failure(self, stages: Sequence[dict[str, Any]]) -> str:
        """Return why growth ends after the last stages, in one sentence."""
        last = stages[-1]
        losses = f"{last['loss_grown']:.4g} with growth, {last['loss_training_on']:.4g} without"
        count = plural(self.failures(stages), "growth stage")
        return f"{count} in a row did not lower the held-out loss enough ({losses}, {last['needed']:.2g} less needed)"


def _check_share(share: object) -> None:
    try:
        check_number(share, "growth_share", above=0, below=1)
    except InputError:
        raise InputError("growth_share", "be 'auto' or a number above 0 and below 1", repr(share)) from None


def _step_ratio(state: State, flops: int, ratio: float) -> float:
    """Return by what factor a step takes more of the budget when a pass of so many operations costs more by a ratio."""
    unit = state.meter.budget.unit
    if unit == "epochs":
        return 1.0
    if unit == "seconds":
        fixed = STEP_OVERHEAD / (PASSES_PER_STEP * max(state.batch_size, 1) * max(flops // 2, 1))
        ratio = (ratio + fixed) / (1 + fixed)
    return float(ratio)


def _room(state: State) -> float:
    """Return by what factor the network may still grow."""
    ratios = [float(UNBOUNDED)]
    units = sum(place.width for place in state.places)
    for stop in state.stops:
        if isinstance(stop, SizeLimit):
            sizes = ((stop.units, units), (stop.parameters, state.parameters), (stop.flops, state.flops))
            ratios += [limit / max(size, 1) for limit, size in sizes if limit is not None]
    return min(ratios)
