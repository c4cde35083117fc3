"""A growth run on a table in memory, and its result: a network that predicts rows of the same table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from torch import nn

from creases._display import to_html
from creases._text import plural
from creases._typing import Floats
from creases.errors import InputError
from creases.growth import Callback, GrowthConfig, History
from creases.network import Network
from creases.problems import Problem
from creases.tables._explain.scorecard import Scorecard, scorecard
from creases.tables._fit.experiment import Experiment
from creases.tables._fit.snapshots import Snapshots
from creases.tables._fit.threshold import decide
from creases.tables._folder.saved_run import SavedRun
from creases.tables._folder.settings import RunSettings
from creases.tables._reading.table import read_table
from creases.tables._scores.baselines import Baseline, baselines
from creases.tables._split.split import TableSplit


@dataclass(frozen=True, eq=False)
class TableResult:
    """What :func:`creases.fit_table` returns; it unpacks as ``model, history``."""

    experiment: Experiment

    @property
    def history(self) -> History:
        """Every epoch and growth step."""
        return self.experiment.history

    @property
    def data(self) -> TableSplit:
        """The rows, split into training, validation and test rows."""
        return self.experiment.data

    @property
    def problem(self) -> Problem:
        """The table as numbers: its rows, features and classes."""
        return self.experiment.data.problem

    @cached_property
    def network(self) -> Network:
        """The network, for encoded rows in the table's own units; with classes, a logit for each."""
        return self.experiment.network

    @cached_property
    def model(self) -> nn.Module:
        """The same as a torch module (float64)."""
        return self.data.scaling.fold_into(self.experiment.model)

    @cached_property
    def scores(self) -> list[Baseline]:
        """Accuracy, or R², of the network, of a linear model and of a constant on each part of the rows."""
        return baselines(self.network, self.data, threshold=self.experiment.threshold)

    def encode(self, rows: Any) -> Floats:
        """Return rows as the network takes them, (n, d): a DataFrame with the table's columns, or numbers (n, d)."""
        encoding = self.problem.encoding
        if encoding is not None and not isinstance(rows, np.ndarray):
            return np.asarray(encoding.transform(rows).X)
        X = np.asarray(rows, np.float64)
        if X.ndim != 2 or X.shape[1] != self.network.n_in:
            raise InputError("rows", f"have shape (n, {self.network.n_in})", f"{X.shape}")
        return X

    def predict(self, rows: Any) -> NDArray[Any]:
        """Return the class (n,) of each row, of the table's own type, or its value; rows as in :meth:`encode`."""
        outputs, classes = self.network(self.encode(rows)), self.problem.classes
        if classes is None:
            return np.asarray(outputs[:, 0])
        encoding = self.problem.encoding
        labels = np.asarray(classes) if encoding is None else encoding.label_values
        return np.asarray(labels[decide(outputs, self.experiment.threshold)])

    def predict_proba(self, rows: Any) -> Floats:
        """Return the probability (n, n_classes) of each class, in the order of ``problem.classes``."""
        if self.problem.classes is None:
            raise InputError("rows", "be of a table with classes", "a regression", "predict returns values")
        from scipy.special import softmax

        return np.asarray(softmax(self.network(self.encode(rows)), axis=1))

    def explain(self) -> str:
        """Return how the network grew, with the table's names and units."""
        return self.history.explain(**self.data.names)

    def scorecard(self, **options: Any) -> Scorecard:
        """Return the whole network on one page, as :func:`creases.tables.scorecard` writes it for the table's rows."""
        problem = self.problem
        names, classes, target = problem.features, problem.classes, problem.target or "y"
        return scorecard(self.network, problem.X, problem.y, names=names, classes=classes, target=target, **options)

    def saved_run(self) -> SavedRun:
        """Return the run as ``creases report`` reads it from a folder."""
        settings = RunSettings(self.problem.name, self.problem.target or None, config=self.experiment.config)
        snapshots = self.experiment.snapshots
        return SavedRun(settings, self.data, self.history, () if snapshots is None else tuple(snapshots), "")

    def __iter__(self) -> Any:
        return iter((self.model, self.history))

    def __repr__(self) -> str:
        return f"TableResult({self.problem.name}: {self.network!r}, {plural(len(self.history.records), 'growth step')})"

    def _repr_html_(self) -> str:
        return to_html(self)


def fit_table(
    table: Any,
    target: str | int | None = None,
    *,
    task: Literal["classification", "regression"] | None = None,
    missing: Literal["indicate", "mean", "drop", "error"] = "indicate",
    inputs: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    categorical: Sequence[str] = (),
    callbacks: Sequence[Callback] = (),
    progress: bool | None = None,
    **options: Any,
) -> TableResult:
    """Grow a network on a table; with the same options it is the network of ``creases grow FILE``, bit for bit.

    Parameters
    ----------
    table
        A DataFrame, a file, or a problem.
    target, task, missing, inputs, drop, categorical
        The column to predict, by default the last, whether it has classes or values, by default what it looks like, and
        what to do with missing values and columns; see :func:`creases.tables.read_table`. Not for a problem.
    callbacks
        Called with the run's :class:`creases.growth.State` at the end of every epoch.
    progress
        Whether to show progress on stderr; by default at a terminal.
    options
        Options of the run, those of :class:`creases.growth.GrowthConfig`, with its defaults.

    Examples
    --------
    >>> import creases
    >>> from creases import problems
    >>> result = creases.fit_table(problems.get("iris"), budget=3)
    >>> result.predict(result.problem.X[:2]).tolist()
    ['setosa', 'setosa']
    """
    config = _make_config(options)
    reading: dict[str, Any] = {"target": target, "task": task, "inputs": inputs, "drop": tuple(drop)}
    reading |= {"categorical": tuple(categorical), "missing": missing}
    if isinstance(table, Problem):
        for name, value in reading.items():
            if value and value != "indicate":
                raise InputError(name, "not be given for a problem, which has been read", repr(value))
        problem = table
    elif isinstance(table, str | Path) or hasattr(table, "columns"):
        problem = read_table(table, **reading)
    else:
        raise InputError("table", "be a DataFrame, a file or a problem", type(table).__name__)
    data = TableSplit.from_problem(problem, config)
    experiment = Experiment(data, config, snapshots=Snapshots(data.scaling))
    experiment.run(callbacks=callbacks, progress=progress)
    return TableResult(experiment)


def _make_config(options: Mapping[str, Any]) -> GrowthConfig:
    known = [field.name for field in fields(GrowthConfig)]
    for name in options:
        if name not in known:
            raise InputError(name, f"be an option of a run: {', '.join(known)}")
    return GrowthConfig(**options)
