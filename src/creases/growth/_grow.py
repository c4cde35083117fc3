"""``creases.grow``: training and growth of a torch module in one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from torch import nn, optim
from torch.optim.lr_scheduler import LRScheduler

from creases.errors import InputError
from creases.growth._budget import Budget
from creases.growth._config import GrowthConfig, MakeOptimizer
from creases.growth._loop import drive
from creases.growth._loss_sum import Loss
from creases.growth._progress import Callback
from creases.growth._records import History
from creases.growth._run import Run
from creases.growth._schedule import MakeScheduler
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
    growth_share: str | float = GrowthConfig.growth_share,
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
    keep: Literal["best", "refit", "last"] = GrowthConfig.keep,
    seed: int = GrowthConfig.seed,
    checkpoint: str | Path | None = None,
    callbacks: Sequence[Callback] = (),
    progress: bool | None = None,
) -> GrowthResult:
    """Train a model in place, and grow it early in the run as long as growth lowers the held-out loss.

    A run has two phases and one budget. In the first phase, at most a share of the budget, the network grows in stages
    that about double its layers, with units from the method ``how``; a stage that does not lower the held-out loss is
    undone exactly. In the second phase the network only trains. The learning rate is annealed to zero over both phases.

    The options are those of :class:`creases.growth.GrowthConfig`, with its defaults.

    With the same seed, on a CPU, the result is the same, even if the run is interrupted and resumed. Under torchrun
    (with ``torch.distributed`` initialised) every process makes the same call; batches, statistics and measurements are
    shared between them, and the network is that of one process up to rounding (dropout, and batch-norm's batch
    statistics, are each process's own; so is a DataLoader, which has the process's share of the samples).

    Parameters
    ----------
    model
        The module to train; its layers are widened in place. For a table see :func:`creases.fit_table`.
    data
        Training samples: ``(X, y)``, ``(X, y, weights)``, a problem, a Dataset or a DataLoader of pairs.
    loss
        ``"classification"``, ``"regression"``, or a function of outputs and targets.
    how
        A method's name (``"auto"``, ``"fold"``, ``"tiny"``, ``"gradmax"``, ``"random"``, ``"split"``, ...), an object
        such as ``Tiny(count=20)``, or a function of (model, place, evidence) to a proposal.
    where
        ``"all"``, ``"width or depth"`` (new layers too), a place's name, or a function of the state to places.
    when
        ``"stages"``, ``"plateau"``, a number of epochs, or a function of the state.
    stop
        Policies such as ``Target(score=0.99)`` and ``SizeLimit(parameters=500)``, or functions of the state.
    budget
        Total budget of the run: a number of epochs, or a text such as ``"60 s"`` or ``"2e12 multiply-adds"``.
    growth_share, growth_factor, growth_patience
        Fraction of the budget for growth, by default a tenth, or a fifth in short runs; factor by which a stage widens
        a layer; number of unsuccessful stages in a row after which growth stops.
    max_units, max_parameters
        Maximum size of the network.
    patience
        Epochs without progress before the network grows, for ``when="plateau"``.
    validation
        Validation samples; a number is the fraction of the data (in memory) to hold out for validation. With
        ``keep="last"`` that fraction is trained on too once growth has ended.
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
    keep
        "best": with validation data, return the network with the lowest validation loss, smoothed over epochs.
        "refit": the same, but if that loss is past its best half-way through the training after growth, retrain from
        the end of growth on all samples, a fraction held out included. "last": return the last network.
    seed
        Seed of the training and of every random choice in growth.
    checkpoint
        File to save the run to after growth steps and every 30 seconds. If it exists, the run resumes from it (pass the
        model that the run began with).
    callbacks
        Called with the run's :class:`creases.growth.State` at the end of every epoch.
    progress
        Whether to show progress on stderr; by default at a terminal.

    Returns
    -------
    GrowthResult
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
        keep=keep,
        seed=seed,
    )
    if not isinstance(model, nn.Module):
        hint = "use creases.fit_table for a table"
        raise InputError("model", "be a torch.nn.Module", type(model).__name__, hint)
    run = Run(model, data, loss, config, validation=validation, checkpoint=checkpoint)
    drive(run, callbacks=callbacks, progress=progress)
    return GrowthResult(run.grower.state.model, run.history)
