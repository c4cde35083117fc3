"""``creases.grow``: training and growth of a torch module in one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Unpack

from torch import nn

from creases.errors import InputError
from creases.growth._config import RunOptions, config_of, takes_options
from creases.growth._loop import Callback, drive, open_run
from creases.growth._objective import Loss
from creases.growth._records import History


class GrowthResult(NamedTuple):
    """What :func:`grow` returns."""

    model: nn.Module  #: the module that was given, changed in place
    history: History


@takes_options(RunOptions)
def grow(
    model: nn.Module,
    data: Any,
    loss: str | Loss,
    *,
    validation: Any = "auto",
    checkpoint: str | Path | None = None,
    callbacks: Sequence[Callback] = (),
    progress: bool | None = None,
    **options: Unpack[RunOptions],
) -> GrowthResult:
    """Train a model in place, and grow it as long as growth lowers the held-out loss.

    A perceptron of one hidden layer, on data that fit one batch, grows one unit at a time (``loop="explained"``): it
    starts as the linear model, whatever its weights are; each unit folds it at a typical misprediction, is trained with
    all others to convergence, and stays if held-out samples confirm it; ``history.explain()`` tells the reason of each.

    Other models and larger data grow by size (``loop="sized"``). Such a run has two phases and one budget. In the first
    phase, at most a share of the budget, the network grows in stages that widen its layers by four or two, with units
    from the method ``how``; a stage that does not lower the held-out loss by more than it costs is undone exactly. In
    the second phase the network only trains. The learning rate fits the size of the network, and is annealed to zero
    over both phases.

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
    validation
        Validation samples; a number is the fraction of the data (in memory) to hold out for validation, ``"auto"`` is
        0.15 of 200 samples or more, None is none. With ``keep="last"`` that fraction is trained on too once growth has
        ended.
    checkpoint
        File to save the run to after growth steps and every 30 seconds. If it exists, the run resumes from it (pass the
        model that the run began with).
    callbacks
        Called with the run's :class:`creases.growth.State` at the end of every epoch.
    progress
        Whether to show progress on stderr; by default at a terminal.
    **options
        ``how``, ``where``, ``when``, ``stop``, ``budget``, ``optimizer``, ``seed``, ...: those of
        :class:`creases.growth.GrowthConfig`, with its defaults, except for the ones of tables.

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
    >>> model, history = creases.grow(model, problem, "classification")
    >>> model[0].out_features < 9, history.last["score"]
    (True, 1.0)
    """
    config = config_of(options, RunOptions, "grow")
    if not isinstance(model, nn.Module):
        hint = "use creases.fit_table for a table"
        raise InputError("model", "be a torch.nn.Module", type(model).__name__, hint)
    run = open_run(model, data, loss, config, validation=validation, checkpoint=checkpoint)
    drive(run, callbacks=callbacks, progress=progress)
    return GrowthResult(run.state.model, run.history)
