"""Growth by stages early in a run: each changes the widths by a factor, and is undone unless held-out data favor it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from creases._text import plural
from creases._validation import check_count, check_number
from creases.errors import InputError
from creases.growth._budget import PASSES_PER_STEP
from creases.growth._records import beats_smaller
from creases.growth._state import State

#: Fraction of the budget for growth.
SHARE = 0.28

#: Fraction of a budget in seconds that may be spent when the first network has grown, whose step takes unknown time.
FIRST_RACE = 0.5

#: Optimizer steps of a network in a race: at most this many, or the first part of all steps of the run if that is more;
#: never more than the second part. With fewer than 20 it would say nothing about sizes.
RACE_STEPS, RACE_PART, MOST_PART, MIN_STEPS = 320, 0.025, 0.1, 20

#: Parts of these steps after which a network is looked at: those of networks that overfit are best early.
LOOKS = (1 / 4, 1 / 2, 1.0)

#: Part of what is left of growth's share that one network may take; it trains for fewer steps, or not at all.
PART_OF_REST = 0.7

#: Sizes that a race is planned for, at most.
SIZES = 8

#: Optimizer steps before the first race, from which the time of a step is known.
FIRST_STEPS = 10

#: Factors by which a stage widens the layers: the first while stages pay, the second once one does not.
FAST, SLOW = 4.0, 2.0

#: Widths from which a network is narrowed first, and below which it is small: the first units of some functions, such
#: as parities, help only together, so a small network is widened by more after a stage that does not pay.
WIDE, SMALL = 16, 32

#: Fractions of the reducible loss that a stage must take away for each doubling of the cost of a step, and of the
#: parameters. Early in a run the wider of two networks of CIFAR-10 and MNIST that end level at equal compute is ahead
#: by about the first.
GAIN_PER_COST, GAIN_PER_SIZE = 0.015, 0.005

#: Multiply-adds that a computer does in the time it takes to start a training step: small networks are no cheaper.
#: Where the budget is in seconds they follow from the seconds of a step, at so many multiply-adds in a second, or for
#: each thread of a processor.
STEP_OVERHEAD, PER_SECOND, PER_THREAD_SECOND = 25_000_000, 1e13, 2.5e10

#: A network whose score is perfect is right if its held-out loss is at most this fraction of the loss at the start.
TINY = 0.02

#: Rounding of sums of shares of a budget.
ROUNDING = 1e-7

#: Epochs, or optimizer steps if those are fewer, that the largest network has to have left; a larger one would not be
#: trained.
MIN_EPOCHS, ENOUGH_STEPS = 6, 1000

#: Training samples for each hidden unit, at least, and units that any number of samples is enough for.
SAMPLES_PER_UNIT, FREE_UNITS = 3, 16


@dataclass(frozen=True)
class Stages:
    """Growth by stages in the first part of the budget, to the smallest size that is as good as a larger one.

    Networks of several sizes begin alike, are trained for as many steps, and looked at several times: a wider one must
    beat the best one so far by more than it costs (``GAIN_PER_COST``, ``GAIN_PER_SIZE``), and by more than what luck
    lets expect. Stages widen by four, after a failure by two, in small networks by more. In the end narrower networks
    are tried, half-way to the next smaller one that was worse. "Growth, with reasons" in the documentation has it all.

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

    def steps_left(self, state: State) -> int:
        """Return the optimizer steps until the end of the stage."""
        if state.stage_end is None:
            first = 0 if state.history.stages else FIRST_STEPS if _counts_steps(state) else 1
            state.stage_end = state.history.steps + first
        return state.stage_end - state.history.steps

    @property
    def share_of_budget(self) -> float:
        """The fraction of the budget for growth."""
        return SHARE if isinstance(self.share, str) else self.share

    def next_factor(self, state: State, steps: int) -> float:
        """Return the factor by which the next stage changes the widths; below 1 it narrows the network.

        ``steps``: of the first network of the race.
        """
        stages = state.history.stages
        widths = [place.width for place in state.places]
        only_narrowed = all(stage["factor"] < 1 for stage in stages)
        may_narrow = only_narrowed and all(stage["pays"] for stage in stages)
        if may_narrow and min(widths) >= max(WIDE, 2 * state.n_outputs):
            return 1 / FAST
        failures, small = self.failures(stages), max(widths) < SMALL
        factors = [FAST, SLOW]
        if failures:
            factors = [FAST * stages[-1]["factor"], SLOW] if small else [SLOW]
        elif only_narrowed and any(stage["pays"] for stage in stages):
            factors = [SLOW]
        elif not stages and (_is_tiny(widths) or (small and self._affordable_steps(state) < 3 * steps)):
            factors = [FAST**2, FAST, SLOW]  # few units are seldom enough; a short run may have one stage
        return next((factor for factor in factors if not self._obstacle(state, factor, steps)), SLOW)

    def race_length(self, state: State) -> int:
        """Return the optimizer steps of the first network in a race that begins now; 0 where none fits."""
        least, steps = self._min_steps(state), self._affordable_steps(state)
        if not state.step_progress:
            return least
        total = 1 / state.step_progress
        usual = min(steps / self._ladder(state), max(RACE_STEPS, RACE_PART * total), MOST_PART * total)
        if not _counts_steps(state):
            usual = round(usual / least) * least  # whole epochs
        length = max(int(usual), least)
        return length if 2 * length <= steps else 0

    def next_halving(self, state: State, steps: int) -> float | None:
        """Return the factor of a narrower network to try once wider ones are not worth it; None where none is left.

        It is half-way, by factors, between the best network and the largest smaller one that was worse.
        """
        widths = state.widths
        worse = [other for stage in state.history.stages if (other := _smaller_loser(stage, widths))]
        if not worse:
            return None
        ratio = min(max(widths[name] / other[name] for name in other) for other in worse)
        factor = 1 / math.sqrt(ratio)
        return factor if ratio > SLOW**1.5 and self.count_looks(state, factor, steps) else None

    def _ladder(self, state: State) -> float:
        """Return what a step of every size that growth may reach costs together, in steps of the current network."""
        factors = [1.0]
        while len(factors) < SIZES and not self._too_large(state, FAST * factors[-1]):
            factors.append(FAST * factors[-1])
        if not self._too_large(state, SLOW * factors[-1]):
            factors.append(SLOW * factors[-1])
        if FAST**2 in factors and _is_tiny([place.width for place in state.places]):
            factors.remove(FAST)
        return max(sum(self._cost(state, factor) for factor in factors), 2.0)

    def _cost(self, state: State, factor: float) -> float:
        """Return by what factor a step of a network costs more that is wider by a factor."""
        in_epochs = state.meter.budget.unit == "epochs"  # where every network's step takes the same of the budget
        return 1.0 if in_epochs else _step_ratio(state, state.flops, state.cost_ratio(factor))

    def looks(self, state: State, steps: int) -> list[int]:
        """Return after how many optimizer steps a network that is trained for so many is looked at."""
        if not _counts_steps(state):
            epoch = self._min_steps(state)
            return sorted({max(math.ceil(part * steps / epoch), 1) * epoch for part in LOOKS})
        looks = {round(part * steps) for part in LOOKS}
        return sorted(look for look in looks if look >= min(MIN_STEPS, steps))

    def count_looks(self, state: State, factor: float, steps: int) -> int:
        """Return how many looks at a network that is wider by a factor fit into growth's share; 0 where it is over."""
        looks = self.looks(state, steps)
        if not state.step_progress:
            return len(looks)
        room = self._affordable_steps(state) / self._cost(state, factor)
        part = PART_OF_REST * room if state.history.stages else room
        least = self._min_steps(state)
        fitting = [count for count, look in enumerate(looks, 1) if look <= part and look >= min(least, steps)]
        last = [len(looks)] if looks[-1] <= room and looks[-1] <= least else []  # one more of the shortest length
        return max([*fitting, *last], default=0)

    def _affordable_steps(self, state: State) -> float:
        """Return how many steps of the current network the rest of growth's share has room for."""
        if not state.step_progress:
            return math.inf
        return max(self.share_of_budget - state.meter.progress + ROUNDING, 0.0) / state.step_progress

    def over(self, state: State, steps: int | None = None) -> str:
        """Return why growth is over; "" if another stage fits into its share.

        ``steps``: of the first network of the race; None before it begins.
        """
        if steps is None:
            return "" if self.race_length(state) else self._no_room(state)
        last, factor = state.history.last if state.history.epochs else None, self.next_factor(state, steps)
        if last is not None and state.history.stages and is_right(last, state.history.epochs[0]["loss"]):
            return "the network is right on all samples"
        if factor > 1 and state.limit.room(state) < 1:
            return state.limit.reached(state) or "the largest network that the budget can train is reached"
        if factor > 1 and (losers := self._lost_before(state, factor)):
            return f"a network of {losers} did not pay before"
        return self._obstacle(state, factor, steps)

    def _obstacle(self, state: State, factor: float, steps: int) -> str:
        """Return why a network that is wider by a factor cannot be tried; "" where it can."""
        if factor > 1 and (why := self._too_large(state, factor)):
            return why
        if not self.count_looks(state, factor, steps):
            return self._no_room(state)
        return ""

    def _no_room(self, state: State) -> str:
        return f"its share ({self.share_of_budget:.0%} of {state.meter.budget}) has no room for another network"

    def _too_large(self, state: State, factor: float) -> str:
        """Return why a network that is wider by a factor would be too large for the samples or the budget, or ""."""
        meter, step = state.meter, state.step_progress
        units = factor * sum(place.width for place in state.places)
        if meter.n_samples and units > max(meter.n_samples / SAMPLES_PER_UNIT, FREE_UNITS):
            return f"a wider network would have more than a unit for every {SAMPLES_PER_UNIT} samples"
        if meter.budget.unit == "epochs" or not (step and meter.n_samples and state.batch_size):
            return ""
        if factor * max(place.width for place in state.places) <= WIDE:  # so few units are trained in few epochs
            return ""
        needed = min(MIN_EPOCHS * -(-meter.n_samples // state.batch_size), ENOUGH_STEPS)
        if (1 - self.share_of_budget) / (step * self._cost(state, factor)) < needed:
            return "a wider network could not be trained with the rest of the budget"
        return ""

    def _lost_before(self, state: State, factor: float) -> str:
        """Return the widths of an earlier network that lost, if the next one would have as many units or more."""
        current = state.widths
        widths = {name: factor * width for name, width in current.items()}
        failed = self.failures(state.history.stages)
        for stage in state.history.stages:
            narrowed = stage["factor"] < 1
            loser = stage["widths_before"] if narrowed else stage["widths"]
            lost = stage["pays"] if narrowed else not (stage["pays"] or failed)
            is_wider = all(widths.get(name, 0) >= width for name, width in loser.items())
            is_again = failed and not stage["pays"] and all(widths.get(name) == loser[name] for name in loser)
            is_larger = any(width > current.get(name, 0) for name, width in loser.items())
            if is_larger and ((lost and is_wider) or is_again):
                return " and ".join(map(str, loser.values())) + " units"
        return ""

    def has_room(self, state: State, steps: int) -> bool:
        """Return whether so many steps of the network as it is now fit into growth's share.

        A growth step, which is not planned, may have taken what they need. Seconds are known only afterwards, so the
        first race may go on until half of the budget is spent: otherwise one slow step would end all growth. In epochs
        a growth step takes nothing, but batches that differ by a sample take up to a step more than was planned.
        """
        unit = state.meter.budget.unit
        is_first = unit == "seconds" and isinstance(self.share, str) and not state.history.stages
        step = 0.0 if unit == "seconds" else state.step_progress
        share = FIRST_RACE if is_first else self.share_of_budget
        planned = steps - 1 if unit == "epochs" else steps
        return state.meter.progress + planned * step <= share + ROUNDING

    def _min_steps(self, state: State) -> int:
        """Return the optimizer steps of a network in a race, at least; an epoch where a race cannot end within one."""
        return MIN_STEPS if _counts_steps(state) else max(state.last_epoch[0], 1)

    def least_gain(self, state: State, flops: int, parameters: int) -> float:
        """Return the fraction of the loss that the larger network must take away to justify its cost.

        ``flops``, ``parameters``: operations of a forward pass and parameters before; those after are the state's.
        """
        ratio = _step_ratio(state, min(flops, state.flops), _ratio(state.flops, flops))
        return GAIN_PER_COST * math.log2(ratio) + GAIN_PER_SIZE * math.log2(_ratio(state.parameters, parameters))

    def expected_gain(self, stages: Sequence[dict[str, Any]], widths: Mapping[str, int], factor: float) -> float:
        """Return what a change of these widths by a factor should gain, judged by an earlier stage; 0 without one.

        A network's loss is taken to fall in inverse proportion to its width. Below 1, a factor loses, by the same law.
        """
        for stage in reversed(stages):
            if smaller := _smaller_loser(stage, widths):
                ratio = max(widths[name] / width for name, width in smaller.items())
                gain = max(stage["gain"] if stage["factor"] > 1 else -stage["gain"], 0.0)
                return float(gain * (1 - 1 / factor) / (ratio - 1))
        return 0.0

    def failures(self, stages: Sequence[dict[str, Any]]) -> int:
        """Return how many stages at the end widened the network and did not pay."""
        count = 0
        while count < len(stages) and stages[-1 - count]["factor"] > 1 and not stages[-1 - count]["pays"]:
            count += 1
        return count

    def explain_failure(self, stages: Sequence[dict[str, Any]]) -> str:
        """Return why growth ends after the last stages, in one sentence."""
        last = stages[-1]
        losses = f"{last['loss_grown']:.4g} with growth, {last['loss_training_on']:.4g} without"
        count = plural(self.failures(stages), "growth stage")
        return f"{count} in a row did not lower the held-out loss enough ({losses}, {last['needed']:.2g} less needed)"


def _smaller_loser(stage: Mapping[str, Any], widths: Mapping[str, int]) -> Mapping[str, int]:
    """Return the widths of a smaller network that lost against one of these widths in a stage; none otherwise."""
    if not beats_smaller(stage, widths):
        return {}
    loser = stage["widths_before"] if stage["factor"] > 1 else stage["widths"]
    return {name: width for name, width in loser.items() if width < widths[name]}


def _is_tiny(widths: Sequence[int]) -> bool:
    """Return whether layers are so narrow that the first stage passes a size over."""
    return FAST * max(widths) < WIDE


def reducible_loss(loss: float, start: float) -> float:
    """Return a loss, or what was gained since the start of a run where that is less: in noise little can be gained."""
    return min(abs(loss), max(start - loss, 0.0)) if start > loss else abs(loss)


def _counts_steps(state: State) -> bool:
    """Return whether stages can end within an epoch."""
    return bool(state.metered and state.batch_size and state.meter.n_samples)


def is_right(last: dict[str, Any], start: float) -> bool:
    """Return whether a network predicts all samples, those held out included, with hardly any loss."""
    scores = [last[name] for name in ("score", "validation_score") if last[name] is not None]
    if not scores or min(scores) < 1 - 1e-6:
        return False
    return last["validation_loss"] is None or bool(last["validation_loss"] <= TINY * start)


def _ratio(after: int, before: int) -> float:
    """Return by what factor the larger of two sizes is larger."""
    return max(after, before, 1) / max(min(after, before), 1)


def _step_ratio(state: State, flops: int, ratio: float) -> float:
    """Return by what factor a step costs more when a pass of so many operations costs more by a ratio."""
    if state.meter.budget.unit == "multiply-adds":
        return float(ratio)
    work = PASSES_PER_STEP * max(state.batch_size, 1) * max(flops // 2, 1)
    fixed = max(_step_overhead(state, flops, work) / work, 0.0)
    return float((ratio + fixed) / (1 + fixed))


def _step_overhead(state: State, flops: int, work: float) -> float:
    """Return the multiply-adds that take as long as what is the same for all sizes in a training step."""
    seconds = state.step_seconds
    if state.meter.budget.unit != "seconds" or flops not in seconds:
        return STEP_OVERHEAD
    rate = PER_THREAD_SECOND * torch.get_num_threads() if next(state.model.parameters()).is_cpu else PER_SECOND
    return seconds[flops] * rate - work
