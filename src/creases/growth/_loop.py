"""``creases.grow``: training and growth of a torch module from its start or checkpoint to its end, with progress."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Unpack

import torch
from torch import nn

from creases.errors import CreasesError, InputError
from creases.growth._config import GrowthConfig, RunOptions, config_of, takes_options
from creases.growth._explained.run import ExplainedRun
from creases.growth._integrations import _ranks as ranks
from creases.growth._objective import Loss, objective
from creases.growth._records import History
from creases.growth._run import Run
from creases.growth._samples import InMemorySamples, Samples, as_samples, resolve_validation, split_samples
from creases.growth._state import State
from creases.growth._training import preserve_modes
from creases.network import read
from creases.network.surgery import evaluation_mode, unwrap_module

#: Called with the state at the end of every epoch.
Callback = Callable[[State], None]


#: Rows, and numbers in them, up to which every step of training takes all rows: a run takes about a minute there.
MAX_ROWS, MAX_NUMBERS = 20_000, 200_000

#: Options that act in sized growth alone.
SIZED_OPTIONS = (
    *("where", "when", "stop", "growth_share", "growth_patience"),
    *("optimizer", "lr", "schedule", "weight_decay", "batch_size", "hidden", "device"),
)

#: Methods whose every unit has a reason: with others, ``loop="explained"`` must be asked for.
EXPLAINED = ("auto", "fold")

#: Seconds after which a checkpoint is written again, at the end of an epoch.
CHECKPOINT_SECONDS = 30.0


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
    all others to convergence, and stays if held-out samples confirm it, alone, in a series or, where neither helps, in
    a group of up to 32; ``history.explain()`` says why each is there.

    Other models and larger data grow by size (``loop="sized"``). Such a run has two phases and one budget. In the first
    phase, at most a share of the budget, the network grows in stages that widen its layers by four or two, with units
    from the method ``how``; a stage that does not lower the held-out loss by enough is undone exactly. In the second
    phase the network only trains. The learning rate fits the size of the network, and is annealed to zero over both
    phases.

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
        Validation samples, or the fraction of the data (in memory) to hold out for validation. ``"auto"`` holds out
        0.15 of 200 samples or more; None holds out nothing. With ``keep="last"`` these samples are trained on too once
        growth has ended.
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

    Arguments are those of :class:`creases.growth.Run`; ``all_samples`` are training and validation samples together, on
    which explained growth ends.
    """
    config, model = GrowthConfig() if config is None else config, unwrap_module(model)
    samples = as_samples(data, model)
    is_explained, why = choose_loop(config, model, samples, loss)
    if not is_explained:
        run = Run(model, data, loss, config, validation=validation, checkpoint=checkpoint)
        run.history.loop = why
        return run
    assert isinstance(samples, InMemorySamples)
    validation = resolve_validation(samples, validation, config.validation_fraction)
    joins = validation is None or isinstance(validation, float) or all_samples is not None
    joins = joins and config.keep != "best"
    train, held = split_samples(samples, validation, model, config.seed)
    explained = ExplainedRun(model, train, held, loss, config, joins=joins, checkpoint=checkpoint)
    explained.history.loop = why
    return explained


def choose_loop(config: GrowthConfig, model: nn.Module, samples: Samples, loss: str | Loss) -> tuple[bool, str]:
    """Return whether a model grows one fold at a time, and why; refuse ``loop="explained"`` where it cannot run."""
    if config.loop == "sized":
        return False, "sized growth, as loop='sized' asks for"
    if obstacle := _option_obstacle(config) or _data_obstacle(samples, loss) or _model_obstacle(model, samples):
        if config.loop == "explained":
            raise InputError("loop", "be 'sized' or 'auto' here", f"'explained', and {obstacle}")
        return False, f"sized growth, as {obstacle}"
    if config.loop == "auto" and config.how not in EXPLAINED:
        how = repr(config.how) if isinstance(config.how, str) else type(config.how).__name__
        return False, f"sized growth, as how={how} gives units without a reason of their own"
    return True, "explained growth, one fold at a time, as all rows fit one batch"


def _option_obstacle(config: GrowthConfig) -> str:
    for name in SIZED_OPTIONS:
        value, default = getattr(config, name, None), getattr(GrowthConfig, name, None)
        is_default = value is default or (isinstance(value, type(default)) and value == default)  # arrays have no truth
        if not is_default:
            return f"{name} is an option of sized growth"
    return ""


def _data_obstacle(samples: Samples, loss: str | Loss) -> str:
    if ranks.world_size() > 1:
        return "several processes train it"
    if not isinstance(samples, InMemorySamples):
        return "the data are not in memory"
    if not objective(loss).is_builtin:
        return "the loss is a function"
    if len(samples) > MAX_ROWS or samples.X.numel() > MAX_NUMBERS:
        return f"{len(samples):,} rows of {samples.X[0].numel():,} numbers are too many for one batch"
    if samples.X.ndim != 2 or samples.y.ndim > 2:
        return "the samples are not rows of numbers"
    return ""


def _model_obstacle(model: nn.Module, samples: Samples) -> str:
    """Return why a model is not a perceptron of one hidden relu layer, with biases, on the CPU; "" if it is."""
    shown = "the model is not a perceptron of one hidden relu layer"
    if any(parameter.device.type != "cpu" for parameter in model.parameters()):
        return "the model is not on the CPU"
    try:
        with evaluation_mode(model):
            steps = read(model, tuple(samples.example().shape[1:])).steps
    except CreasesError:
        return shown
    if [step.op for step in steps] != ["linear", "relu", "linear"] or steps[1].leak is not None:
        return shown
    layers = [dict(model.named_modules()).get(steps[k].path) for k in (0, 2)]
    is_plain = all(isinstance(layer, nn.Linear) and layer.bias is not None for layer in layers)
    return "" if is_plain and len(list(model.parameters())) == 4 else shown


def drive(
    run: Run | ExplainedRun,
    *,
    checkpoint_seconds: float | None = None,
    callbacks: Sequence[Callback] = (),
    progress: bool | None = None,
) -> None:
    """Train and grow a run from its start, or its checkpoint, to its end."""
    seconds = CHECKPOINT_SECONDS if checkpoint_seconds is None else checkpoint_seconds
    devices = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else ()  # type: ignore[no-untyped-call]
    with ExitStack() as stack:
        stack.enter_context(torch.random.fork_rng(devices=list(devices)))
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

        def print_growth(state: State) -> None:
            if state.record is not None or state.history.ended:
                console.print(progress_line(state), markup=False, highlight=False)

        yield print_growth
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("growing", total=None)
        yield lambda state: bar.update(task, description=progress_line(state))


def progress_line(state: State) -> str:
    """Return the state of a run at the end of an epoch in one line."""
    last = state.history.last
    parts = [f"epoch {last['epoch']}", f"loss {last['loss']:.4g}"]
    parts += [f"score {last['score']:.3g}"] if last["score"] is not None else []
    parts += [f"validation {last['validation_score']:.3g}"] if last["validation_score"] is not None else []
    widths = "-".join(str(width) for width in last["widths"].values())
    return ", ".join([*parts, f"widths {widths}", f"{last['parameters']} parameters"])
