"""A growth run on a table, from its rows to the grown network: what estimators, command line and studio share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path

import numpy as np
import torch
from torch import nn, optim

from creases.errors import InputError
from creases.growth import (
    Callback,
    ExplainedRun,
    GrowthConfig,
    History,
    ModelState,
    Run,
    block_losses,
    compare_losses,
    drive,
    objective,
    open_run,
)
from creases.network import Network, read
from creases.problems import Problem
from creases.tables._fit.linear_model import choose_penalty, fit_linear_model
from creases.tables._fit.linear_start import LinearModel, linear_start
from creases.tables._fit.snapshots import Snapshots
from creases.tables._fit.threshold import choose_threshold
from creases.tables._folder.folder import SNAPSHOTS_FOLDER, RunFile
from creases.tables._folder.saved_run import SavedRun
from creases.tables._folder.settings import RunSettings
from creases.tables._model.grown_model import GrownModel, grown_model
from creases.tables._split.split import TableSplit

#: Numbers in a table up to which one thread is fastest: more would wait for each other.
SMALL = 1_000_000

#: Standard errors of the difference by which a network must beat the linear model on the validation rows. Their losses
#: are few and skewed: with one, networks that fit noise were kept on tables where a linear model is best.
LINEAR_MARGIN = 1.5

#: Seconds between checkpoints, besides those after growth steps.
CHECKPOINT_SECONDS = 10.0


class Experiment:
    """A growth run on a table: data, split, scaling, configuration, network, history, folder.

    The network starts as the linear model of the training rows (ridge or logistic regression) and is trained in float64
    on scaled rows. For the same start, rows, split and configuration it is the same network, bit for bit, as that of
    :func:`creases.grow`; but where it predicts the validation rows no better than the linear model, by 1.5 standard
    errors, the linear model is kept, fitted to the validation rows too. With ``keep="refit"`` the validation rows are
    trained on at the end where training overfits, unless the user gave them.

    Parameters
    ----------
    data
        The rows, split and scaled.
    config
        All options of the run.
    folder
        Folder for checkpoints and snapshots; a run that is already there is resumed.
    snapshots
        Networks along the way; by default none are kept without a folder.
    fit
        Whether to fit the linear model to start as; otherwise the network starts as a random linear function.

    Examples
    --------
    >>> from creases import problems
    >>> from creases.growth import GrowthConfig
    >>> from creases.tables import Experiment
    >>> experiment = Experiment.from_problem(problems.get("moons"), GrowthConfig(budget=3))
    >>> history = experiment.run()
    >>> history.ended.split(";")[0], experiment.network.n_in
    ('the budget of 3 epochs is spent', 2)
    """

    def __init__(
        self,
        data: TableSplit,
        config: GrowthConfig | None = None,
        *,
        folder: Path | None = None,
        snapshots: Snapshots | None = None,
        fit: bool = True,
    ) -> None:
        self.data, self.folder = data, folder
        self.config = GrowthConfig() if config is None else config
        if snapshots is None and folder is not None:
            snapshots = Snapshots(data.scaling, folder / SNAPSHOTS_FOLDER)
        self.snapshots = snapshots
        if self.config.threshold != 0.5 and (data.task != "classification" or data.n_outputs != 2):
            raise InputError("threshold", "be 0.5 unless there are two classes", repr(self.config.threshold))
        self._penalty = choose_penalty(data, data.parts[0]) if fit else 0.0
        self._linear: LinearModel | None = fit_linear_model(data, data.parts[0], self._penalty) if fit else None
        self.model = self._initial_network()
        self.optimizer: optim.Optimizer | None = None
        self.history = History()
        self.threshold = 0.5  #: probability above which the second of two classes is predicted, once the run has ended

    @classmethod
    def from_problem(
        cls, problem: Problem, config: GrowthConfig | None = None, *, folder: Path | None = None
    ) -> Experiment:
        """Return the experiment on a problem that is split by the configuration."""
        config = GrowthConfig() if config is None else config
        return cls(TableSplit.from_problem(problem, config), config, folder=folder)

    def table_model(self) -> GrownModel:
        """Return the network as a model of the table, with its history."""
        problem, snapshots = self.data.problem, () if self.snapshots is None else tuple(self.snapshots)
        settings = RunSettings(problem.name, problem.target or None, config=self.config)
        run = SavedRun(settings, self.data, self.history, snapshots, "")
        return grown_model(self.network, self.data, threshold=self.threshold, run=run, **self.data.table_names)

    @property
    def network(self) -> Network:
        """The network as it is now, for rows in the data's own units."""
        return read(self.data.scaling.fold_into(self.model))

    @property
    def widths(self) -> tuple[int, ...]:
        """Widths of the hidden layers as they are now."""
        return tuple(layer.out_features for layer in self.model.modules() if isinstance(layer, nn.Linear))[:-1]

    @property
    def best_epoch(self) -> int:
        """The epoch, from 1, whose network was kept; 0 where that is the linear model."""
        return self.history.best_epoch

    def create_run(self) -> Run | ExplainedRun:
        """Return the run, before its first epoch, to drive by hand."""
        device = self.config.device
        may_refit = self.config.keep == "refit" and not self.data.is_validation_given
        run = open_run(
            self.model,
            self.data.samples("train", device),
            self.data.task,
            self.config,
            validation=self.data.samples("validation", device),
            checkpoint=None if self.folder is None else self.folder / RunFile.CHECKPOINT,
            all_samples=self.data.samples("train and validation", device) if may_refit else None,
        )
        if self.snapshots is not None:
            run.before_decision.append(self.snapshots.before)
        self.optimizer, self.history = run.optimizer, run.history
        return run

    def run(self, *, callbacks: Sequence[Callback] = (), progress: bool | None = None) -> History:
        """Train and grow to the end, from the checkpoint in the folder if there is one; return the history."""
        run, snapshots = self.create_run(), self.snapshots
        if snapshots is not None:
            snapshots.start(self.model)
            callbacks = [snapshots.after, *callbacks]
        with self.single_thread():
            drive(run, checkpoint_seconds=CHECKPOINT_SECONDS, callbacks=callbacks, progress=progress)
        self.finish(run)
        return self.history

    def finish(self, run: Run | ExplainedRun) -> None:
        """Choose the network of a run that has ended: its best one, or the linear model."""
        run.finish()
        self.history = run.history
        judged = self._judged_network(run)
        if isinstance(run, Run) and self._keep_linear_model(judged):
            judged = self.model
        self.threshold = choose_threshold(read(self.data.scaling.fold_into(judged)), self.data, self.config.threshold)
        if self.snapshots is not None:
            self.snapshots.end(self.model, self.best_epoch)

    def _judged_network(self, run: Run | ExplainedRun) -> nn.Sequential:
        """Return the network to judge by validation rows: the best one before these were trained on."""
        if not run.is_retrained or run.best is None:
            return self.model
        judged = deepcopy(self.model)
        run.best[1].restore(judged, run.state.samples.example())
        return judged

    def _keep_linear_model(self, judged: nn.Module) -> bool:
        """Keep the linear model where no network clearly beats it on validation rows; return whether it was kept."""
        data, config = self.data, self.config
        validation = data.samples("validation", config.device)
        if validation is None or config.keep == "last" or not self.history.epochs:
            return False
        fitted = self._linear
        if fitted is not None and not fitted.fits(config.layer_widths(data.n_outputs, data.task)):
            return False
        goal = objective(data.task, weighted=validation.weighted)
        start = self._initial_network()
        gain, error = compare_losses(*(block_losses(model, validation, goal) for model in (start, judged)))
        if gain > LINEAR_MARGIN * error:
            return False
        rows = np.sort(np.concatenate(data.parts[:2]))
        linear = initial_network(data, config, fit_linear_model(data, rows, self._penalty)).to(config.device)
        widths = {name: layer.out_features for name, layer in linear.named_children() if isinstance(layer, nn.Linear)}
        widths.pop("output")
        ModelState.from_model(linear, widths).restore(self.model, validation.example(), self.optimizer)
        reason, _, _ = self.history.ended.partition("; the network is from epoch ")
        reason = "training after growth overfitted" if self.history.refit else reason
        self.history.ended = f"{reason}; the network is the linear model, which does as well on validation rows"
        self.history.kept = 0
        return True

    @contextmanager
    def single_thread(self) -> Iterator[None]:
        """Train on one thread where the table is small."""
        from threadpoolctl import threadpool_limits

        before = torch.get_num_threads()
        if self.config.device != "cpu" or self.data.rows.X.size > SMALL:
            yield
            return
        torch.set_num_threads(1)
        try:
            with threadpool_limits(1):
                yield
        finally:
            torch.set_num_threads(before)

    def _initial_network(self) -> nn.Sequential:
        data, config = self.data, self.config
        widths = config.layer_widths(data.n_outputs, data.task)
        layers = [f"hidden{k}" for k in range(1, len(widths) + 1)]
        if isinstance(config.where, str) and config.where not in ("all", *layers):
            raise InputError("where", f"be {', '.join(map(repr, ['all', *layers]))}", repr(config.where))
        model = initial_network(data, config, self._linear)
        least = sum(parameter.numel() for parameter in model.parameters())
        if config.max_parameters is not None and config.max_parameters < least:
            got = f"{config.max_parameters}"
            raise InputError("max_parameters", f"be at least {least}, the size of the network at the start", got)
        try:
            return model.to(config.device)
        except (RuntimeError, AssertionError) as problem:  # torch raises either for a device that is not there
            got = f"{config.device!r}: {str(problem).splitlines()[0]}"
            raise InputError("device", "be a device that torch can use", got) from None


def initial_network(data: TableSplit, config: GrowthConfig, linear: LinearModel | None) -> nn.Sequential:
    """Return the network before training: linear; it ignores constant columns and predicts constant targets exactly."""
    used = np.concatenate(data.parts[:2])
    X, y = data.rows.X[used], data.rows.y[used]
    live = torch.from_numpy(X.min(axis=0) < X.max(axis=0))
    widths = config.layer_widths(data.n_outputs, data.task)
    model = linear_start(X.shape[1], widths, data.n_outputs, linear=linear, live=live, seed=config.seed)
    if data.task == "regression":
        last = model[-1]
        assert isinstance(last, nn.Linear)
        last.weight.detach()[torch.from_numpy(y.min(axis=0) == y.max(axis=0))] = 0.0  # met from the start
    return model
