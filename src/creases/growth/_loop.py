"""Training and growth in one: the loop that starts tiny and ends when nothing more is worth adding."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal, NamedTuple

import torch
from torch import nn, optim
from torch.optim.lr_scheduler import LRScheduler

from creases.growth._budget import Budget
from creases.growth._config import GrowthConfig, MakeOptimizer
from creases.growth._loss_sum import Loss
from creases.growth._progress import Callback, tensorboard_writer, terminal_progress
from creases.growth._records import History
from creases.growth._run import Run
from creases.growth._schedule import MakeScheduler
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
    how: str | GrowthMethod = GrowthConfig.how,
    where: str | Where = GrowthConfig.where,
    when: str | int | When = GrowthConfig.when,
    stop: Stop | Sequence[Stop] = GrowthConfig.stop,
    budget: str | float | Budget = GrowthConfig.budget,
    growth_share: float = GrowthConfig.growth_share,
    growth_factor: float = GrowthConfig.growth_factor,
    max_units: int | None = GrowthConfig.max_units,
    max_parameters: int | None = GrowthConfig.max_parameters,
    patience: int = GrowthConfig.patience,
    growth_patience: int | None = GrowthConfig.growth_patience,
    validation: Any = None,
    recycle: bool = GrowthConfig.recycle,
    optimizer: str | optim.Optimizer | MakeOptimizer = GrowthConfig.optimizer,
    lr: float = GrowthConfig.lr,
    schedule: str | LRScheduler | MakeScheduler = GrowthConfig.schedule,
    weight_decay: float = GrowthConfig.weight_decay,
    batch_size: str | int | None = GrowthConfig.batch_size,
    epoch_steps: int | None = GrowthConfig.epoch_steps,
    keep: Literal["best", "last"] = GrowthConfig.keep,
    seed: int = GrowthConfig.seed,
    checkpoint: str | Path | None = None,
    checkpoint_seconds: float = 30.0,
    callbacks: Sequence[Callback] = (),
    tensorboard: str | Path | None = None,
    progress: bool | None = None,
) -> GrowthResult:
    """Train a model and grow it early in the run, as long as that pays; it is changed in place.

    A run has two phases and one budget. In the first, at most a share of the budget, the network grows in stages that
    about double its layers, with units that the method ``how`` supplies; a stage that does not pay on held-out data is
    undone exactly, and growth ends. In the second it is trained on. The learning rate is annealed to zero over both.

    The options are those of :class:`creases.growth.GrowthConfig`, with its defaults.

    For the same seed, on CPU, the result is the same, also when the run is killed and resumed. Under torchrun (with
    ``torch.distributed`` initialised) every process makes the same call; batches, statistics and measurements are
    shared between them, and the network is that of one process up to rounding (dropout, and batch-norm's batch
    statistics, are each process's own; so is a DataLoader, which has the process's share of the samples).

    Parameters
    ----------
    model
        The module to train; its layers are widened in place.
    data
        Training samples: ``(X, y)``, ``(X, y, weights)``, a problem, a Dataset or a DataLoader of pairs.
    loss
        ``"classification"``, ``"regression"``, or a function of outputs and targets.
    how, where, when, stop
        Growth method, place, time, and further reasons to stop.
    budget
        What the run may spend: a number of epochs, or a text such as ``"60 s"`` or ``"2e12 multiply-adds"``.
    growth_share, growth_factor, growth_patience
        Share of the budget that growth may take; by how much a stage widens a layer; stages in a row that may fail to
        pay before they are undone and growth ends.
    max_units, max_parameters
        Limits of the size.
    patience
        Epochs without progress before the network grows, for ``when="plateau"``.
    validation
        Samples to validate with; a number is the fraction of the data (in memory) to hold out for that. With
        ``keep="last"`` nothing is chosen by them after growth, so that a fraction is trained on from then on.
    recycle
        Whether redundant units are replaced before new ones are added.
    optimizer, lr, weight_decay
        ``"adamw"`` or ``"adam"`` with this learning rate and weight decay, an optimizer of the model's parameters, or
        a function that makes one.
    schedule
        ``"cosine"`` anneals the learning rate to zero over the budget; ``"constant"``; or a torch scheduler of your
        optimizer, or a function that makes one, stepped after every optimizer step.
    batch_size
        Samples in a batch; ``"auto"`` is an eighth of them, between 32 and 200; None is all.
    epoch_steps
        Optimizer steps in an epoch, so that growth need not wait for all samples; by default an epoch ends when all
        were seen.
    keep
        "best": with validation data, end with the network whose loss on them was lowest, smoothed over epochs.
        "last": with the last one.
    seed
        Seed of the training and of every random choice in growth.
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
    >>> model, history = creases.grow(model, problem, "classification", how="fold", where="0", budget=150)
    >>> model[0].out_features > 2
    True
    """
    config = GrowthConfig(
        how=how,
        where=where,
        when=when,
        stop=stop,
        budget=budget,
        growth_share=growth_share,
        growth_factor=growth_factor,
        max_units=max_units,
        max_parameters=max_parameters,
        patience=patience,
        growth_patience=growth_patience,
        recycle=recycle,
        optimizer=optimizer,
        lr=lr,
        schedule=schedule,
        weight_decay=weight_decay,
        batch_size=batch_size,
        epoch_steps=epoch_steps,
        keep=keep,
        seed=seed,
    )
    run = Run(model, data, loss, config, validation=validation, checkpoint=checkpoint)
    drive(run, checkpoint_seconds=checkpoint_seconds, callbacks=callbacks, tensorboard=tensorboard, progress=progress)
    return GrowthResult(run.grower.state.model, run.history)


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
