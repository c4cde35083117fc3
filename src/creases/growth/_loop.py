"""Training and growth, one epoch after another, from the start of a run or its checkpoint to its end."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import torch

from creases.growth._progress import Callback, terminal_progress
from creases.growth._run import Run
from creases.growth._training import preserve_modes

#: Seconds after which a checkpoint is written again, at the end of an epoch.
CHECKPOINT_SECONDS = 30.0


def drive(
    run: Run,
    *,
    checkpoint_seconds: float | None = None,
    callbacks: Sequence[Callback] = (),
    progress: bool | None = None,
) -> None:
    """Train and grow a run from its start, or its checkpoint, to its end."""
    seconds = CHECKPOINT_SECONDS if checkpoint_seconds is None else checkpoint_seconds
    with ExitStack() as stack:
        stack.enter_context(_fork_random_numbers())
        stack.enter_context(preserve_modes(run.grower.state.model))
        monitor = stack.enter_context(terminal_progress(progress))
        run.start()
        while not run.history.ended:
            run.epoch()
            for callback in (monitor, *callbacks):
                if callback is not None:
                    callback(run.grower.state)
            run.save(seconds)
        run.finish()


def _fork_random_numbers() -> Any:
    devices = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else ()  # type: ignore[no-untyped-call]
    return torch.random.fork_rng(devices=list(devices))
