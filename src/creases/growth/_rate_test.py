"""Short tests at the start of a run: of the learning rate, and whether the network was trained before."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import torch
from torch import optim

from creases.growth._cost import count_cost
from creases.growth._race import NetworkState
from creases.growth._samples import InMemorySamples
from creases.growth._state import MAX_INSPECTED, State, combine_seeds
from creases.growth._training import measure, train_epoch

#: Optimizer steps of the test, the fraction of the budget that it may take, and the factors of the rate that it tries.
STEPS, SHARE, SCALES = 20, 0.01, (1 / 3, 1 / 9, 1 / 27)

#: Fraction of the loss by which it must rise for the rate to be lowered: of a network of few units it may hardly move.
RISE = 0.02

#: A network whose loss is at least this fraction of a new one's is untrained.
UNTRAINED = 0.95


def lower_rate(state: State, optimizer: optim.Optimizer, batch_size: int, set_rate: Callable[[], None]) -> None:
    """Lower a run's ``rate_scale`` until the loss does not rise in a few steps with the rate that ``set_rate`` sets.

    The steps count towards the budget, and are undone. A run in which they would take more than a hundredth of the
    budget has no test.
    """
    meter = state.meter
    known = state.step_progress or meter.budget.unit == "seconds"
    if not known or STEPS * state.step_progress > SHARE:
        return
    before, loss = NetworkState.from_state(state), measure(state.model, state.inspected, state.objective).loss
    for scale in (*SCALES, SCALES[-1]):
        set_rate()
        _, steps = train_epoch(
            state.model,
            optimizer,
            state.samples,
            state.objective,
            batch_size,
            STEPS,
            seed=combine_seeds(state.seed, 0, 3),
            before_step=lambda: meter.progress <= SHARE,
            after_step=lambda samples: meter.train(samples, state.flops // 2),
        )
        after = measure(state.model, state.inspected, state.objective).loss
        before.restore(state)
        if after <= loss + RISE * abs(loss) or steps < STEPS:  # fewer steps, where the budget has no more, say nothing
            return
        state.rate_scale = scale


def is_untrained(state: State) -> bool:
    """Return whether a network does no better than a copy whose layers are initialised again.

    False where that cannot be said: of a model that cannot be copied, does not take the samples, or has a layer that
    cannot be initialised.
    """
    try:
        copy = deepcopy(state.model)
        layers = [module for module in copy.modules() if any(True for _ in module.parameters(recurse=False))]
        with torch.random.fork_rng():
            torch.manual_seed(state.seed)
            for layer in layers:
                reset: Any = layer.reset_parameters
                reset()
        arrays = state.samples.arrays(MAX_INSPECTED)
        some = InMemorySamples(arrays.X, arrays.y, arrays.weight)
        with count_cost() as cost:
            loss, reset_loss = (measure(model, some, state.objective).loss for model in (state.model, copy))
    except Exception:  # of any module; what is wrong with samples is said when the run begins
        return False
    state.meter.charge(cost.multiply_adds)
    return loss >= reset_loss - (1 - UNTRAINED) * abs(reset_loss)
