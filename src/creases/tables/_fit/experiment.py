"""A growth run on a table, from its rows to the grown network: what estimators, command line and studio share."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn, optim

from creases._options import options_of
from creases._typing import Floats, Ints
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
from creases.tables._fit.fit_table import make_config, read_problem, warn_of_columns
from creases.tables._fit.snapshots import Snapshots
from creases.tables._folder.folder import SNAPSHOTS_FOLDER, RunFile
from creases.tables._folder.settings import RunSettings
from creases.tables._model.grown_model import GrownModel, SavedRun, make_grown_model
from creases.tables._reading.files import is_stream
from creases.tables._reading.options import ReadOptions
from creases.tables._reading.table import find_table_files
from creases.tables._scores.baselines import choose_threshold
from creases.tables._split.split import TableSplit, fold_weights

# The network that a growth run on a table starts from: a linear function in the form of a ReLU network.


@dataclass(frozen=True, eq=False)
class LinearModel:
    """A linear function ``mixture @ (signals @ x) + offset``; each signal takes a mirrored pair of units."""

    signals: Tensor  #: (s, d)
    mixture: Tensor  #: (m, s)
    offset: Tensor  #: (m,)

    @classmethod
    def from_weights(cls, weight: Tensor, offset: Tensor) -> LinearModel:
        """Return the function ``weight @ x + offset`` with weights (m, d), split evenly over both layers of a pair.

        Two classes have one signal: their difference. A row of zeros stays one, of a signal along the first input.
        """
        mixture = torch.eye(len(weight), dtype=torch.float64)
        if len(weight) == 2 and bool((weight[0] == -weight[1]).all()):
            weight, mixture = weight[1:], torch.tensor([[-1.0], [1.0]], dtype=torch.float64)
        size = weight.norm(dim=1, keepdim=True).sqrt()
        along = torch.eye(1, weight.shape[1], dtype=torch.float64)
        signals = torch.where(size > 1e-6, weight / size.clamp_min(1e-6), along)
        return cls(signals, mixture * torch.where(size > 1e-6, size, 0.0).T, offset)

    def fits(self, hidden: Sequence[int]) -> bool:
        """Return whether layers of these widths have a pair of units for each signal."""
        return all(width // 2 >= len(self.signals) for width in hidden)


def linear_start(
    n_inputs: int,
    hidden: Sequence[int],
    n_outputs: int,
    *,
    linear: LinearModel | None = None,
    live: Tensor | None = None,
    seed: int = 0,
) -> nn.Sequential:
    """Return a network of ReLU layers, in float64, whose units come in mirrored pairs ``relu(a), relu(-a)``.

    As ``relu(a) - relu(-a) = a``, it is a linear function at the start (for odd widths, except for the last unit of a
    layer): at every input one unit of a pair is active, so no unit is dead. The layers are ``hidden1``, ``bend1``,
    ``hidden2``, ..., ``output``.

    It starts as the function ``linear``, in a pair for each of its signals; layers too narrow for it start at random.
    Inputs that are not ``live`` (n_inputs,) get weight 0.

    Examples
    --------
    >>> model = linear_start(3, (4,), 2)
    >>> x = torch.ones(1, 3).double()
    >>> bool(torch.allclose(model(-x), -model(x)))
    True
    """
    numbers = torch.Generator().manual_seed(seed)
    layers: OrderedDict[str, nn.Module] = OrderedDict()
    live = torch.ones(n_inputs, dtype=torch.bool) if live is None else live
    linear = linear if linear is not None and linear.fits(hidden) else None
    reading = torch.diag(live.double())  # (signals, width): the signals as functions of a layer's outputs
    for k, width in enumerate(hidden, 1):
        pairs = -(-width // 2)
        signals = _draw_weights(pairs, reading, 2.0, numbers)
        if linear is not None:
            count = len(linear.signals)
            signals[:count] = linear.signals if k == 1 else reading[:count]
        layers[f"hidden{k}"] = _make_layer(torch.cat([signals, -signals])[:width])
        layers[f"bend{k}"] = nn.ReLU()
        eye = torch.eye(pairs, dtype=torch.float64)
        reading = torch.cat([eye, -eye], 1)[:, :width]
    output = _draw_weights(n_outputs, reading, 0.25, numbers)
    if linear is not None:
        output = linear.mixture @ reading[: len(linear.signals)]
    layers["output"] = _make_layer(output, None if linear is None else linear.offset)
    return nn.Sequential(layers)


def _draw_weights(count: int, reading: Tensor, variance: float, numbers: torch.Generator) -> Tensor:
    """Return weights (count, width) of random mixtures of the signals that ``reading`` (signals, width) gives."""
    mix = torch.randn(count, len(reading), generator=numbers, dtype=torch.float64)
    return torch.mul(mix @ reading, (variance / max(len(reading), 1)) ** 0.5)


def _make_layer(weight: Tensor, bias: Tensor | None = None) -> nn.Linear:
    with torch.random.fork_rng(devices=()):  # the numbers that it draws are replaced
        layer = nn.Linear(weight.shape[1], weight.shape[0], dtype=torch.float64)
    with torch.no_grad():
        layer.weight.copy_(weight)
        layer.bias.copy_(torch.zeros(len(weight)) if bias is None else bias)
    return layer


# The linear model of a table: where a run starts, and what its network must beat.

#: Rows that the model is fitted to, at most: more change its weights little and take long.
MAX_ROWS = 20_000

#: Strengths of the ridge penalty that leave-one-out errors choose from.
RIDGE_ALPHAS = np.logspace(-2, 4, 13)

#: Inverse penalties of logistic regression, the folds that choose one of them, and the tables in which they do, by how
#: many numbers they have at most. Without folds it is scikit-learn's default.
INVERSE_PENALTIES, FOLDS, MAX_NUMBERS = np.logspace(-3, 3, 7), 5, 30_000
DEFAULT = 1.0

#: Offset of a class that no row has: a logit well below the others.
_ABSENT = -5.0


def choose_penalty(data: TableSplit, rows: Ints) -> float:
    """Return the penalty of ridge (alpha) or logistic regression (C) for scaled rows, by number.

    Leave-one-out errors choose alpha. Shuffled folds choose C, by their log loss: 1 unless another value lowers it by
    more than a standard error of the differences.
    """
    rows = _sample(rows)
    X = data.scaling.inputs(data.rows.X[rows])
    if not X.size or not np.ptp(X, axis=0).any():
        return DEFAULT
    if data.task == "regression":
        from sklearn.linear_model import RidgeCV

        model = RidgeCV(RIDGE_ALPHAS).fit(X, data.scaling.targets(data.rows.y[rows]), data.rows.weight[rows])
        return float(model.alpha_)
    y = data.rows.y[rows, 0].astype(np.int64)
    counts = np.bincount(data.rows.y[data.rows.deal(rows), 0].astype(np.int64))
    if X.size > MAX_NUMBERS or (counts > 0).sum() < 2 or counts[counts > 0].min() < FOLDS:
        return DEFAULT  # a fold would lack a class
    held = fold_weights(data.rows, rows, FOLDS, 0, stratify=True)
    return _choose_inverse_penalty(X, y, data.rows.weight[rows], held)


def fit_linear_model(data: TableSplit, rows: Ints, penalty: float) -> LinearModel | None:
    """Fit ridge or logistic regression to scaled rows, by number; None where there is nothing to fit."""
    rows = _sample(rows)
    X, weight = data.scaling.inputs(data.rows.X[rows]), data.rows.weight[rows]
    if not X.size or not np.ptp(X, axis=0).any():
        return None
    if data.task == "regression":
        from sklearn.linear_model import Ridge

        y = data.scaling.targets(data.rows.y[rows])
        model = Ridge(penalty).fit(X, y, sample_weight=weight)
        coefficients = np.asarray(model.coef_, np.float64).reshape(y.shape[1], X.shape[1])
        offset = np.broadcast_to(np.asarray(model.intercept_, np.float64), y.shape[1]).copy()
        return LinearModel.from_weights(torch.from_numpy(coefficients), torch.from_numpy(offset))
    return _fit_logistic(X, data.rows.y[rows, 0].astype(np.int64), weight, data.n_outputs, penalty)


def _sample(rows: Ints) -> Ints:
    return rows if len(rows) <= MAX_ROWS else rows[np.random.default_rng(0).permutation(len(rows))[:MAX_ROWS]]


def _choose_inverse_penalty(X: Floats, y: Ints, weight: Floats, held: Floats) -> float:
    """Return C by the log loss of rows that each fold holds out, ``held`` (folds, n) by weight."""
    from sklearn.linear_model import LogisticRegression

    losses = np.zeros((len(INVERSE_PENALTIES), len(X)))  # of each row, as often as it is held out
    with _one_thread():
        for out in held:
            train, test = weight - out > 0, out > 0
            model = LogisticRegression(max_iter=200, warm_start=True)
            for k, C in enumerate(INVERSE_PENALTIES):
                model.set_params(C=C).fit(X[train], y[train], sample_weight=(weight - out)[train])
                chances = model.predict_log_proba(X[test])
                losses[k, test] -= out[test] * chances[np.arange(test.sum()), np.searchsorted(model.classes_, y[test])]
    default = int(np.flatnonzero(INVERSE_PENALTIES == DEFAULT)[0])
    best = int(losses.sum(axis=1).argmin())
    gains = losses[default] - losses[best]
    is_better = gains.sum() > gains.std() * np.sqrt(len(gains))
    return float(INVERSE_PENALTIES[best if is_better else default])


def _fit_logistic(X: Floats, y: Ints, weight: Floats, n_classes: int, penalty: float) -> LinearModel | None:
    from sklearn.linear_model import LogisticRegression

    present = np.unique(y[weight > 0])
    if len(present) < 2:
        return None
    with _one_thread(X.size <= MAX_NUMBERS):
        model = LogisticRegression(C=penalty, max_iter=200).fit(X, y, sample_weight=weight)
    coefficients, offset = np.zeros((n_classes, X.shape[1])), np.full(n_classes, _ABSENT)
    if len(present) == 2:
        coefficients[present] = np.stack([-model.coef_[0] / 2, model.coef_[0] / 2])
        offset[present] = [-model.intercept_[0] / 2, model.intercept_[0] / 2]
    else:
        coefficients[present], offset[present] = model.coef_, model.intercept_
    return LinearModel.from_weights(torch.from_numpy(coefficients), torch.from_numpy(offset))


@contextmanager
def _one_thread(is_small: bool = True) -> Iterator[None]:
    """Fit on one thread, for which others would wait in small tables, without scikit-learn's warnings."""
    from threadpoolctl import threadpool_limits

    with warnings.catch_warnings(), threadpool_limits(1 if is_small else None):
        warnings.simplefilter("ignore")  # a few more iterations would not change a start
        yield


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
    errors, the linear model is kept, fitted to the validation rows too.

    The folder has checkpoints and ``snapshots``, networks along the way; a run that is already there is resumed. With
    ``fit=False`` the network starts as a random linear function.

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
        settings = RunSettings(problem.name, target=problem.target or None, config=self.config)
        run = SavedRun(settings, self.data, self.history, snapshots, "")
        return make_grown_model(self.network, self.data, threshold=self.threshold, run=run, **self.data.table_names)

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
        may_join = self.config.keep == "auto" and not self.data.is_validation_given
        run = open_run(
            self.model,
            self.data.samples("train", device),
            self.data.task,
            self.config,
            validation=self.data.samples("validation", device),
            checkpoint=None if self.folder is None else self.folder / RunFile.CHECKPOINT,
            all_samples=self.data.samples("train and validation", device) if may_join else None,
        )
        if self.snapshots is not None:
            run.before_decision.append(self.snapshots.before)
        self.optimizer, self.history = run.optimizer, run.history
        return run

    def run(
        self,
        *,
        callbacks: Sequence[Callback] = (),
        progress: bool | None = None,
        on_start: Callable[[Run | ExplainedRun], None] | None = None,
    ) -> History:
        """Train and grow to the end, from the checkpoint in the folder if there is one; return the history.

        ``on_start`` is called with the run before its first epoch.
        """
        run, snapshots = self.create_run(), self.snapshots
        if on_start is not None:
            on_start(run)
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
        if isinstance(run, Run):
            self._keep_linear_model()
        network = read(self.data.scaling.fold_into(self.model))
        self.threshold = choose_threshold(network, self.data, self.config.threshold)
        if self.snapshots is not None:
            self.snapshots.end(self.model, self.best_epoch)

    def _keep_linear_model(self) -> None:
        """Keep the linear model where no network clearly beats it on validation rows."""
        data, config = self.data, self.config
        validation = data.samples("validation", config.device)
        if validation is None or config.keep == "last" or not self.history.epochs:
            return
        fitted = self._linear
        if fitted is not None and not fitted.fits(config.layer_widths(data.n_outputs, data.task)):
            return
        goal = objective(data.task, weighted=validation.weighted)
        start = self._initial_network()
        gain, error = compare_losses(*(block_losses(model, validation, goal) for model in (start, self.model)))
        if gain > LINEAR_MARGIN * error:
            return
        rows = data.fitted_rows
        linear = initial_network(data, config, fit_linear_model(data, rows, self._penalty)).to(config.device)
        widths = {name: layer.out_features for name, layer in linear.named_children() if isinstance(layer, nn.Linear)}
        widths.pop("output")
        ModelState.from_model(linear, widths).restore(self.model, validation.example(), self.optimizer)
        self.history.note = "the network is the linear model, which does as well on validation rows"
        self.history.kept = 0

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


def grow_table(
    table: Any,
    target: str | int | None = None,
    *,
    task: Literal["classification", "regression"] | None = None,
    missing: Literal["indicate", "mean", "drop", "error"] = "indicate",
    header: bool | None = None,
    inputs: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    kinds: Mapping[str, str] | None = None,
    codes: Mapping[str, Any] | None = None,
    missing_marks: Sequence[str] | None = None,
    callbacks: Sequence[Callback] = (),
    progress: bool | None = None,
    **options: Any,
) -> GrownModel:
    """Grow a network on a table; with the same options that of ``creases grow``.

    It starts as the linear model and grows by units as :func:`creases.grow` does, each with its reason in ``history``.
    For a model that a person can read completely see :func:`creases.fit_table`.

    Parameters
    ----------
    table
        A DataFrame, a file, or a problem.
    target, task, missing, header, inputs, drop, kinds, codes, missing_marks
        As for :func:`creases.fit_table`.
    callbacks, progress
        Functions called with the run's :class:`creases.growth.State` at the end of every epoch, and whether to show
        progress on stderr, by default at a terminal.
    options
        All options of :class:`creases.growth.GrowthConfig`, with its defaults.

    Examples
    --------
    >>> from creases import problems
    >>> from creases.tables import grow_table
    >>> model = grow_table(problems.get("iris"), budget=5)
    >>> model.predict(model.data.problem.X[:2]).tolist()
    ['setosa', 'setosa']
    """
    reading = {name: value for name, value in locals().items() if name in options_of(ReadOptions)}
    hint = "shapes and refit belong to creases.fit_table or creases fit"
    config = make_config(GrowthConfig, options, "growth", hint)
    if isinstance(target, list | tuple):
        raise InputError("target", "be one column", repr(target), "creases.fit_table predicts several")
    if is_stream(table) or find_table_files(table, header=header):
        hint = "use creases.fit_table, which reads tables larger than memory, or one file"
        raise InputError("table", "fit in memory: a network grows on all rows at once", hint=hint)
    problem = read_problem(table, ReadOptions(**reading))
    warn_of_columns(problem.encoding)
    data = TableSplit.from_problem(problem, config)
    experiment = Experiment(data, config, snapshots=Snapshots(data.scaling))
    experiment.run(callbacks=callbacks, progress=progress)
    return experiment.table_model()
