"""Training and growth, one epoch after another, from a run's start or checkpoint to its end, with its progress."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from creases.growth._config import GrowthConfig
from creases.growth._explained.choice import choose_loop
from creases.growth._explained.run import ExplainedRun
from creases.growth._objective import Loss
from creases.growth._run import Run
from creases.growth._samples import InMemorySamples, as_samples, resolve_validation, split_samples
from creases.growth._state import State
from creases.growth._training import preserve_modes
from creases.growth.integrations import _ranks as ranks
from creases.network.surgery import unwrap_module

if TYPE_CHECKING:
    from rich.console import Console

#: Called with the state at the end of every epoch.
Callback = Callable[[State], None]


@contextmanager
def terminal_progress(show: bool | None) -> Iterator[Callback | None]:
    """Provide a callback that shows the run on stderr, by default only at a terminal.

    Elsewhere, such as in a log file, it writes a line for every growth step and for the end.
    """
    if ranks.rank() != 0 or not (sys.stderr.isatty() if show is None else show):
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True, soft_wrap=True)
    if not console.is_terminal:
        yield lambda state: _print_growth(console, state)
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("growing", total=None)
        yield lambda state: bar.update(task, description=progress_line(state))


def _print_growth(console: Console, state: State) -> None:
    if state.record is not None or state.history.ended:
        console.print(progress_line(state), markup=False, highlight=False)


def progress_line(state: State) -> str:
    """Return the state of a run at the end of an epoch in one line."""
    last = state.history.last
    parts = [f"epoch {last['epoch']}", f"loss {last['loss']:.4g}"]
    parts += [f"score {last['score']:.3g}"] if last["score"] is not None else []
    parts += [f"validation {last['validation_score']:.3g}"] if last["validation_score"] is not None else []
    widths = "-".join(str(width) for width in last["widths"].values())
    return ", ".join([*parts, f"widths {widths}", f"{last['parameters']} parameters"])


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
