"""A short test of the learning rate at the start of a run."""

from __future__ import annotations

from collections.abc import Callable

from torch import optim

from creases.growth._race import NetworkState
from creases.growth._state import State, combine_seeds
from creases.growth._training import measure, train_epoch

#: Optimizer steps of the test, the fraction of the budget that it may take, and the factors of the rate that it tries.
STEPS, SHARE, SCALES = 20, 0.01, (1 / 3, 1 / 9, 1 / 27)


def lower_rate(state: State, optimizer: optim.Optimizer, batch_size: int, set_rate: Callable[[], None]) -> None:
    """Lower a run's ``rate_scale`` until the loss falls in a few steps with the rate that ``set_rate`` sets.

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
        if after < loss or steps < STEPS:  # fewer steps, where the budget has no more, say nothing
            return
        state.rate_scale = scale
