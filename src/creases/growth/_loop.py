"""Training and growth in one: the loop that starts tiny and ends when nothing more is worth adding."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal, NamedTuple

import torch
from torch import nn, optim

from creases.growth._loss_sum import Loss
from creases.growth._progress import Callback, tensorboard_writer, terminal_progress
from creases.growth._records import History
from creases.growth._run import MakeOptimizer, Run
from creases.growth._training import preserve_modes
from creases.growth.methods._evidence import GrowthMethod
from creases.growth.policies._stop import Stop
from creases.growth.policies._when import When
from creases.growth.policies._where import Where


class GrowthResult(NamedTuple):
    """What :func:`grow` returns."""

    model: nn.Module  #: the module that was given, changed in place
    history: History


def grow(
    model: nn.Module,
    data: Any,
    loss: str | Loss,
    *,
    how: str | GrowthMethod = "tiny",
    where: str | Where = "bottleneck",
    when: str | int | When = "plateau",
    stop: Stop | Sequence[Stop] = (),
    max_epochs: int = 1000,
    validation: Any = None,
    recycle: bool = True,
    optimizer: optim.Optimizer | MakeOptimizer | None = None,
    lr: float = 1e-3,
    batch_size: int = 100,
    epoch_steps: int | None = None,
    keep: Literal["best", "last"] = "best",
    seed: int = 0,
    checkpoint: str | Path | None = None,
    checkpoint_seconds: float = 30.0,
    callbacks: Sequence[Callback] = (),
    tensorboard: str | Path | None = None,
    progress: bool | None = None,
) -> GrowthResult:
    """Train a model and grow it until nothing more is worth adding; it is changed in place.

    ``data``, ``loss``, ``how``, ``where``, ``when``, ``stop``, ``max_epochs``, ``recycle``: as for
    :class:`creases.growth.Grower`, which does the growth; this adds the training.

    For the same seed, on CPU, the result is the same, also when the run is killed and resumed. Under torchrun (with
    ``torch.distributed`` initialised) every process makes the same call; batches, statistics and measurements are
    shared between them, and the network is that of one process up to rounding (dropout, and batch-norm's batch
    statistics, are each process's own; so is a DataLoader, which has the process's share of the samples).

    Parameters
    ----------
    validation
        Samples to measure with; a number is the share of the data (in memory) that is set aside for it.
    epoch_steps
        After how many steps of the optimizer an epoch ends, so that growth need not wait for all samples; by default
        when all samples were seen.
    optimizer
        An optimizer of the model's parameters, or a function that makes one; by default Adam with ``lr``.
    keep
        "best": where there are validation data, end with the network whose score on them was highest (of equals, or
        where nothing is scored: whose loss was lowest). "last": with the last one.
    checkpoint
        A file to save the run in after growth steps and every ``checkpoint_seconds``; where it is there already, the
        run goes on from it (the model is the one the run began with).
    callbacks
        Called with the run's :class:`creases.growth.State` at the end of every epoch.
    tensorboard
        A folder for TensorBoard's curves.
    progress
        Whether to show progress on stderr; by default at a terminal.

    Returns
    -------
    Grown
        ``model, history``.

    Examples
    --------
    >>> import creases, torch
    >>> from creases import problems
    >>> problem = problems.get("moons", n=200)
    >>> with torch.random.fork_rng():
    ...     _ = torch.manual_seed(0)
    ...     model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU(), torch.nn.Linear(2, 2))
    >>> model, history = creases.grow(model, problem, "classification", how="fold", where="0", lr=0.02, max_epochs=150)
    >>> model[0].out_features > 2
    True
    """
    run = Run.of(
        model,
        data,
        loss,
        how=how,
        where=where,
        when=when,
        stop=stop,
        max_epochs=max_epochs,
        validation=validation,
        recycle=recycle,
        optimizer=optimizer,
        lr=lr,
        batch_size=batch_size,
        epoch_steps=epoch_steps,
        keep=keep,
        seed=seed,
        checkpoint=checkpoint,
    )
    with ExitStack() as stack:
        stack.enter_context(_own_random_numbers())
        stack.enter_context(preserve_modes(run.grower.state.model))
        shown = [stack.enter_context(terminal_progress(progress)), stack.enter_context(tensorboard_writer(tensorboard))]
        run.start()
        while not run.history.ended:
            run.epoch()
            for callback in (*shown, *callbacks):
                if callback is not None:
                    callback(run.grower.state)
            run.save(checkpoint_seconds)
        run.finish()
    return GrowthResult(run.grower.state.model, run.history)


def _own_random_numbers() -> Any:
    devices = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else ()  # type: ignore[no-untyped-call]
    return torch.random.fork_rng(devices=list(devices))
