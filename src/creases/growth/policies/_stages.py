"""Stages early in a run: each widens the layers, and is undone unless held-out data favor the wider network."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from creases._text import plural
from creases._validation import check_count, check_number
from creases.errors import InputError
from creases.growth._state import State

#: Fraction of the budget for growth, and until when the first stage may go on, whose growth step takes unknown time.
SHARE, FIRST_SHARE = 0.28, 0.5

#: Optimizer steps of every network that is compared: at most this many, and these fractions of all steps of the run and
#: of those that growth has room for. With fewer than the least they would say nothing about sizes.
STEPS, PART_OF_RUN, PART_OF_GROWTH, MIN_STEPS = 320, 0.1, 0.1, 20

#: Optimizer steps before the first stage, from which the time of a step is known.
FIRST_STEPS = 10

#: Factors by which a stage widens the best network so far: the first while stages pay, the second once one does not.
FAST, SLOW = 4.0, 2.0

#: Width that the first stage gives the layers at least: some functions, such as parities, need several units before any
#: of them helps.
LEAST_WIDTH = 16

#: Fraction of the reducible loss that a larger network must take away for each doubling of its parameters.
GAIN = 0.01

#: A network whose score is perfect is right if its held-out loss is at most this fraction of the loss at the start.
TINY = 0.02

#: Rounding of sums of shares of a budget.
ROUNDING = 1e-7

#: Epochs, or optimizer steps if those are fewer, that the largest network has to have left.
MIN_EPOCHS, ENOUGH_STEPS = 6, 1000

#: Training samples for each hidden unit, at least, and units that any number of samples is enough for.
SAMPLES_PER_UNIT, FREE_UNITS = 3, 16


@dataclass(frozen=True)
class Stages:
    """Growth by fours and twos in the first part of the budget, to a size beyond which held-out data see no gain.

    Networks of several sizes begin alike and are trained for as many steps: a wider one must beat the best one so far
    by more than a standard error, and by enough for its size (``GAIN``), or it is undone.

    The comparison is at equal steps, not equal compute: early in a run more steps always help more than more units, so
    at equal compute the smaller network would always win.
    """

    share: float | str = "auto"  #: of the budget; "auto" is 0.28
    patience: int = 2  #: stages

    def __post_init__(self) -> None:
        if not isinstance(self.share, str) or self.share != "auto":
            try:
                check_number(self.share, "growth_share", above=0, below=1)
            except InputError:
                expected = "be 'auto' or a number above 0 and below 1"
                raise InputError("growth_share", expected, repr(self.share)) from None
        check_count(self.patience, "growth_patience")

    @property
    def share_of_budget(self) -> float:
        """The fraction of the budget for growth."""
        return SHARE if isinstance(self.share, str) else self.share

    def steps_left(self, state: State) -> int:
        """Return the optimizer steps until the end of the stage."""
        if state.stage_end is None:
            first = 0 if state.history.stages else FIRST_STEPS if _counts_steps(state) else 1
            state.stage_end = state.history.steps + first
        return state.stage_end - state.history.steps

    def count_steps(self, state: State) -> int:
        """Return for how many optimizer steps networks are trained that are compared from now on; 0 without room."""
        least = MIN_STEPS if _counts_steps(state) else max(state.epoch_steps, 1)
        if not state.step_share:
            return least
        room, base = self._room(state) / state.step_share, {place.name: place.width for place in state.where(state)}
        next_share = self._step_share(state, base, self.next_factor(state, base, {}))
        next_size = room / (1 + 2 * next_share / state.step_share)  # this network, a wider one, and as much again
        steps = min(PART_OF_GROWTH * room, next_size, STEPS, PART_OF_RUN / state.step_share)
        if not _counts_steps(state):
            steps = round(steps / least) * least  # whole epochs
        steps = max(int(steps), least)
        return steps if 2 * steps <= room else 0

    def next_factor(self, state: State, base: Mapping[str, int], tried: Mapping[float, bool]) -> float:
        """Return by what factor of the widths at the start of a race the next network is wider.

        ``base``: these widths; ``tried``: whether the networks of the race so far paid, by their factors.
        """
        best = max((factor for factor, pays in tried.items() if pays), default=1.0)
        if count_failures([{"pays": pays} for pays in tried.values()]) > 1:
            return FAST * max(tried)
        factors = [SLOW * best] if False in tried.values() else [FAST * best, SLOW * best]
        if not tried:
            factors.insert(0, max(LEAST_WIDTH / max(base.values()), FAST))
        return next((factor for factor in factors if not self._excess(state, base, factor)), factors[-1])

    def obstacle(self, state: State, base: Mapping[str, int], factor: float, steps: int) -> str:
        """Return why no network is tried that is wider than at the start by a factor; "" if one may be.

        The state is that of the network that was trained last.
        """
        if reason := state.limit.reached(state) or self._excess(state, base, factor):
            return reason
        share = self._step_share(state, base, factor)
        if steps * share > self._room(state):
            return self.no_room(state)
        n = state.meter.n_samples
        needed = min(MIN_EPOCHS * -(-n // state.batch_size), ENOUGH_STEPS) if n and state.batch_size else 0
        is_small = factor * max(base.values()) <= LEAST_WIDTH  # so few units are trained in few epochs
        if state.meter.budget.unit != "epochs" and not is_small and (1 - self.share_of_budget) < needed * share:
            return "a wider network could not be trained with the rest of the budget"
        return ""

    def has_room(self, state: State, steps: int) -> bool:
        """Return whether the network as it is now can be trained for so many steps.

        What its growth step takes is not known before, so the first stage may go on until half of the budget is
        spent: otherwise one slow step would end all growth.
        """
        is_first = isinstance(self.share, str) and not state.history.stages
        share = FIRST_SHARE if is_first else self.share_of_budget
        return state.meter.progress + (steps - 1) * state.step_share <= share + ROUNDING

    def no_room(self, state: State) -> str:
        """Return that growth's share of the budget has no room for another network."""
        return f"its share ({self.share_of_budget:.0%} of {state.meter.budget}) has no room for another network"

    def explain_failure(self, stages: Sequence[Mapping[str, Any]]) -> str:
        """Return why growth ends after stages that did not pay, in one sentence."""
        last = stages[-1]
        losses = f"{last['loss_grown']:.4g} with growth, {last['loss_training_on']:.4g} without"
        count = plural(count_failures(stages), "growth stage")
        return f"{count} in a row did not lower the held-out loss enough ({losses}, {last['needed']:.2g} less needed)"

    def _room(self, state: State) -> float:
        """Return the rest of growth's share of the budget."""
        return max(self.share_of_budget - state.meter.progress + ROUNDING, 0.0)

    def _step_share(self, state: State, base: Mapping[str, int], factor: float) -> float:
        """Return the share of the budget that a step of a network with other widths takes; in seconds at least."""
        if state.meter.budget.unit != "multiply-adds":
            return state.step_share
        widths = {name: math.ceil(factor * width) for name, width in base.items()}
        return state.step_share * state.size_at(widths)[1] / max(state.flops, 1)

    def _excess(self, state: State, base: Mapping[str, int], factor: float) -> str:
        """Return that a network would have too many units for the samples, or ""."""
        n, units = state.meter.n_samples, factor * sum(base.values())
        if n and units > max(n / SAMPLES_PER_UNIT, FREE_UNITS):
            return f"a wider network would have more than a unit for every {SAMPLES_PER_UNIT} samples"
        return ""


def least_gain(state: State, parameters: int) -> float:
    """Return the fraction of the loss that the network must take away beside one of so many parameters."""
    return GAIN * math.log2(max(state.parameters, 1) / max(parameters, 1))


def count_failures(stages: Sequence[Mapping[str, Any]]) -> int:
    """Return how many stages at the end did not pay."""
    return next((k for k, stage in enumerate(reversed(stages)) if stage["pays"]), len(stages))


def reducible_loss(loss: float, start: float) -> float:
    """Return a loss, or what was gained since the start of a run where that is less: in noise little can be gained."""
    return min(abs(loss), max(start - loss, 0.0)) if start > loss else abs(loss)


def is_right(last: Mapping[str, Any], start: float) -> bool:
    """Return whether a network predicts all samples, those held out included, with hardly any loss."""
    scores = [last[name] for name in ("score", "validation_score") if last[name] is not None]
    if not scores or min(scores) < 1 - 1e-6:
        return False
    return last["validation_loss"] is None or bool(last["validation_loss"] <= TINY * start)


def _counts_steps(state: State) -> bool:
    """Return whether stages can end within an epoch."""
    return bool(state.metered and state.batch_size and state.meter.n_samples)
