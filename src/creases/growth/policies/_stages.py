"""Growth by stages early in a run: each changes the widths by a factor, and is undone unless held-out data favor it."""

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

#: Fraction of the budget for growth.
SHARE = 0.28

#: Fraction of a budget in seconds that may be spent when the first network has grown, whose step takes unknown time.
FIRST_RACE = 0.5

#: Optimizer steps of a race: at most this many, or this part of all steps of the run if that is more. A race takes a
#: part of what is left for growth, so that others can follow it. With fewer than 40 steps it would say little about
#: sizes; where not even those fit, a run has one shorter race, of 20 steps or more.
RACE_STEPS, RACE_PART, PART_OF_REST, MIN_STEPS, SHORT_RUN_STEPS = 200, 0.025, 0.4, 40, 20

#: Optimizer steps of a race by the fast factor, at least; where the budget has not so many, the slow one is used.
ENOUGH_STEPS = 80

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
STEP_OVERHEAD = 5_000_000

#: A network whose score is perfect is right if its held-out loss is at most this fraction of the loss at the start.
TINY = 0.02

#: Rounding of sums of shares of a budget.
ROUNDING = 1e-7

#: Epochs that the largest network has to have left; a larger one would not be trained.
MIN_EPOCHS = 10


@dataclass(frozen=True)
class Stages:
    """Growth by stages in the first part of the budget, to the smallest size that is as good as a larger one.

    A stage is a race. The network is first trained without growth. It is then reset to the beginning of the stage,
    every place (or the first of the policy ``where``) is widened by a factor, and it is trained for as many steps.
    The stage pays if the held-out loss of the grown network, its weights averaged, is lower by more than a standard
    error of the difference, and by more than the larger network costs: 1.5 % of the loss for each doubling of the cost
    of a step and 0.5 % for each doubling of the parameters. Of classes it also pays if the errors are fewer by as much;
    from 32 units a layer it must be the errors, because the loss of a wide network falls faster at first, whatever it
    will be in the end. Otherwise growth is undone, and the network trained without it is kept.

    Stages widen by four. After one that does not pay, or where the budget has no time to judge it, the next widens by
    two; in a small network by sixteen, because
    some functions, such as parities, need several units before any of them helps. Growth ends after ``patience`` stages
    in a row that do not pay, when the network is right on all samples, or when its share of the budget is spent. A
    network that is wide at the start, 16 units or more a layer, is narrowed by four first, as long as the narrower one
    is not worse by as much as a stage must gain. A ``factor`` is used in every stage, and nothing is narrowed then.

    The comparison is at equal steps, not equal compute: early in a run more steps always help more than more units, so
    at equal compute the smaller network would always win. Races have about the same number of steps, so their costs are
    in proportion to the networks, and all together cost little more than the last.
    """

    share: float | str = "auto"  #: of the budget; "auto" is 0.28
    factor: float | str = "auto"  #: of the widths; "auto" is four, and two after a stage that does not pay
    patience: int = 2  #: stages

    def __post_init__(self) -> None:
        _check_automatic(self.share, "growth_share", above=0, below=1)
        _check_automatic(self.factor, "growth_factor", above=1)
        check_count(self.patience, "growth_patience")

    def __call__(self, state: State) -> bool:
        """Return whether the stage is over."""
        return self.steps_left(state) <= 0

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

    def next_factor(self, state: State) -> float:
        """Return the factor by which the next stage changes the widths; below 1 it narrows the network."""
        stages = state.history.stages
        automatic = isinstance(self.factor, str)
        fast, slow = (FAST, SLOW) if isinstance(self.factor, str) else (self.factor, self.factor)
        widths = [place.width for place in state.places]
        only_narrowed = all(stage["factor"] < 1 for stage in stages)
        may_narrow = automatic and only_narrowed and all(stage["pays"] for stage in stages)
        if may_narrow and min(widths) >= max(WIDE, 2 * state.n_outputs):
            return 1 / FAST
        failures, small = self.failures(stages), max(widths) < SMALL
        if failures:
            return float(fast ** (1 + failures)) if small else slow
        if only_narrowed and any(stage["pays"] for stage in stages):
            return slow
        if not stages and small and self._race_steps(state, fast) < 2 * MIN_STEPS:
            return float(fast**2)  # in a short run the first stage may be the only one
        return slow if self.race_length(state, fast) < min(ENOUGH_STEPS, self.race_length(state, slow)) else fast

    def race_length(self, state: State, factor: float) -> int:
        """Return the optimizer steps of each network in a race that begins now; 0 where none fits into the share."""
        least, steps = self._min_steps(state), int(self._race_steps(state, factor))
        if not state.step_progress:
            return least
        total = 1 / state.step_progress
        usual = min(int(max(RACE_STEPS, RACE_PART * total)), int(PART_OF_REST * steps))
        if usual >= least:
            return usual
        return least if steps >= least else steps if SHORT_RUN_STEPS <= steps < least == MIN_STEPS else 0

    def _race_steps(self, state: State, factor: float) -> float:
        """Return how many steps of both networks of a race the rest of growth's share has room for."""
        if not state.step_progress:
            return math.inf
        in_epochs = state.meter.budget.unit == "epochs"  # where every network's step takes the same of the budget
        costs = 2.0 if in_epochs else 1 + _step_ratio(state, state.flops, state.cost_ratio(factor))
        return max(self.share_of_budget - state.meter.progress + ROUNDING, 0.0) / (state.step_progress * costs)

    def over(self, state: State) -> str:
        """Return why growth is over; "" if another stage fits into its share."""
        last, factor = state.history.last if state.history.epochs else None, self.next_factor(state)
        if last is not None and state.history.stages and _is_right(last, state.history.epochs[0]["loss"]):
            return "the network is right on all samples"
        if factor > 1 and _room(state, factor) < 1:
            limits = (stop(state) for stop in state.stops if isinstance(stop, SizeLimit))
            return next(filter(None, limits), "the largest network that the budget can train is reached")
        if factor > 1 and (losers := self._lost_before(state, factor)):
            return f"a network of {losers} did not pay before"
        if not self.race_length(state, factor):
            return f"its share of the budget ({self.share_of_budget:.0%} of {state.meter.budget}) is spent"
        return ""

    def _lost_before(self, state: State, factor: float) -> str:
        """Return the widths of an earlier stage that lost, if the next one would try them, or fewer units, again."""
        if not isinstance(self.factor, str) or self.failures(state.history.stages):
            return ""
        widths = {place.name: factor * place.width for place in state.places}
        for stage in state.history.stages:
            is_tried = all(widths.get(name, 0) >= width for name, width in stage["widths"].items())
            if is_tried and not stage["pays"] and stage["factor"] > 1:
                return " and ".join(str(width) for width in stage["widths"].values()) + " units"
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
        """Return the optimizer steps of a race, at least; an epoch where a stage cannot end within one."""
        return MIN_STEPS if _counts_steps(state) else max(state.last_epoch[0], 1)

    def least_gain(self, state: State, flops: int, parameters: int) -> float:
        """Return the fraction of the loss that the larger network must take away to justify its cost.

        ``flops``, ``parameters``: operations of a forward pass and parameters before; those after are the state's.
        """
        ratio = _step_ratio(state, min(flops, state.flops), _ratio(state.flops, flops))
        return GAIN_PER_COST * math.log2(ratio) + GAIN_PER_SIZE * math.log2(_ratio(state.parameters, parameters))

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


def reducible_loss(loss: float, start: float) -> float:
    """Return a loss, or what was gained since the start of a run where that is less: in noise little can be gained."""
    return min(abs(loss), max(start - loss, 0.0)) if start > loss else abs(loss)


def _check_automatic(value: object, name: str, **limits: float) -> None:
    if isinstance(value, str) and value == "auto":
        return
    try:
        check_number(value, name, **limits)
    except InputError:
        range_ = " and ".join(f"{key} {limit:g}" for key, limit in limits.items())
        raise InputError(name, f"be 'auto' or a number {range_}", repr(value)) from None


def _counts_steps(state: State) -> bool:
    """Return whether stages can end within an epoch."""
    return bool(state.batch_size and state.meter.n_samples)


def _is_right(last: dict[str, Any], start: float) -> bool:
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
    fixed = STEP_OVERHEAD / (PASSES_PER_STEP * max(state.batch_size, 1) * max(flops // 2, 1))
    return float((ratio + fixed) / (1 + fixed))


def _room(state: State, factor: float) -> float:
    """Return by what factor the network of the next stage may be larger, within limits of size and of the budget."""
    ratios = [float(UNBOUNDED)]
    units = sum(place.width for place in state.places)
    for stop in state.stops:
        if isinstance(stop, SizeLimit):
            sizes = ((stop.units, units), (stop.parameters, state.parameters), (stop.flops, state.flops))
            ratios += [limit / max(size + 1, 1) for limit, size in sizes if limit is not None]
    meter = state.meter
    if meter.budget.unit == "multiply-adds" and meter.n_samples:
        affordable = meter.budget.amount / (MIN_EPOCHS * PASSES_PER_STEP * meter.n_samples)
        ratios.append(2 * affordable / max(state.flops * state.cost_ratio(factor), 1))
    return min(ratios)
