"""Training and growth, one epoch after another, from the start of a run or its checkpoint to its end."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import torch
from torch import nn

from creases.growth._config import GrowthConfig
from creases.growth._explained.choice import choose_loop
from creases.growth._explained.run import ExplainedRun
from creases.growth._held_out import resolve_validation, split_samples
from creases.growth._loss_sum import Loss
from creases.growth._progress import Callback, terminal_progress
from creases.growth._run import Run
from creases.growth._samples import InMemorySamples, as_samples
from creases.growth._training import preserve_modes
from creases.network.surgery import unwrap_module

#: Seconds after which a checkpoint is written again, at the end of an epoch.
CHECKPOINT_SECONDS = 30.0


def open_run(
    model: nn.Module,
    data: Any,
    loss: str | Loss,
    config: GrowthConfig | None = None,
    *,
    validation: Any = None,
    checkpoint: str | Path | None = None,
    all_samples: Any = None,
) -> Run | ExplainedRun:
    """Return a run of the loop that the configuration asks for, or that fits the model and the data.

    Arguments are those of :class:`creases.growth.Run`.
    """
    config, model = GrowthConfig() if config is None else config, unwrap_module(model)
    samples = as_samples(data, model)
    choice = choose_loop(config, model, samples, loss)
    if not choice.is_explained:
        run = Run(model, data, loss, config, validation=validation, checkpoint=checkpoint, all_samples=all_samples)
        run.history.loop = choice.why
        return run
    assert isinstance(samples, InMemorySamples)
    validation = resolve_validation(samples, validation, config.validation_fraction)
    joins = validation is None or isinstance(validation, float) or all_samples is not None
    joins = joins and config.keep != "best"
    train, held = split_samples(samples, validation, model, config.seed)
    explained = ExplainedRun(model, train, held, loss, config, joins=joins, checkpoint=checkpoint)
    explained.history.loop = choice.why
    return explained


def drive(
    run: Run | ExplainedRun,
    *,
    checkpoint_seconds: float | None = None,
    callbacks: Sequence[Callback] = (),
    progress: bool | None = None,
) -> None:
    """Train and grow a run from its start, or its checkpoint, to its end."""
    seconds = CHECKPOINT_SECONDS if checkpoint_seconds is None else checkpoint_seconds
    with ExitStack() as stack:
        stack.enter_context(_fork_random_numbers())
        stack.enter_context(preserve_modes(run.state.model))
        monitor = stack.enter_context(terminal_progress(progress))
        run.start()
        while not run.history.ended:
            run.epoch()
            for callback in (monitor, *callbacks):
                if callback is not None:
                    callback(run.state)
            run.save(seconds)
        run.finish()


def _fork_random_numbers() -> Any:
    devices = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else ()  # type: ignore[no-untyped-call]
    return torch.random.fork_rng(devices=list(devices))
