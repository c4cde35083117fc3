"""Training and growth, one epoch after another, from the start of a run or its checkpoint to its end."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import torch

from creases.growth._progress import Callback, tensorboard_writer, terminal_progress
from creases.growth._run import Run
from creases.growth._training import preserve_modes


def drive(
    run: Run,
    *,
    checkpoint_seconds: float = 30.0,
    callbacks: Sequence[Callback] = (),
    tensorboard: str | Path | None = None,
    progress: bool | None = None,
) -> None:
    """Train and grow a run from its start, or its checkpoint, to its end."""
    with ExitStack() as stack:
        stack.enter_context(_fork_random_numbers())
        stack.enter_context(preserve_modes(run.grower.state.model))
        monitors = [
            stack.enter_context(terminal_progress(progress)),
            stack.enter_context(tensorboard_writer(tensorboard)),
        ]
        run.start()
        while not run.history.ended:
            run.epoch()
            for callback in (*monitors, *callbacks):
                if callback is not None:
                    callback(run.grower.state)
            run.save(checkpoint_seconds)
        run.finish()


def _fork_random_numbers() -> Any:
    devices = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else ()  # type: ignore[no-untyped-call]
    return torch.random.fork_rng(devices=list(devices))
