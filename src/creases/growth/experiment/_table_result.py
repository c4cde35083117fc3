"""A growth run on a table in memory, and its result: a network that predicts rows of the same table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from torch import nn

from creases._display import to_html
from creases._text import plural
from creases._typing import Floats
from creases.errors import InputError
from creases.explain import Scorecard, scorecard
from creases.growth._config import GrowthConfig
from creases.growth._progress import Callback
from creases.growth._records import History
from creases.growth.experiment._baselines import Baseline, baselines
from creases.growth.experiment._experiment import Experiment
from creases.growth.experiment._saved_run import SavedRun
from creases.growth.experiment._settings import RunSettings
from creases.growth.experiment._snapshots import Snapshots
from creases.growth.experiment._split import TableSplit
from creases.growth.experiment._threshold import decide
from creases.network import Network
from creases.problems import Problem, read_table


@dataclass(frozen=True, eq=False)
class TableResult:
    """What :func:`creases.grow` returns for a table; it unpacks as ``model, history``."""

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
        """Return the class (n,) of each row by its name, or its predicted value; rows as in :meth:`encode`."""
        outputs, classes = self.network(self.encode(rows)), self.problem.classes
        if classes is None:
            return np.asarray(outputs[:, 0])
        return np.asarray(np.asarray(classes)[decide(outputs, self.experiment.threshold)])

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
        """Return the whole network on one page, as :func:`creases.explain.scorecard` writes it for the table's rows."""
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


def grow_table(
    table: Any,
    target: str | int | None = None,
    config: GrowthConfig | None = None,
    *,
    task: Literal["classification", "regression"] | None = None,
    callbacks: Sequence[Callback] = (),
    progress: bool | None = None,
) -> TableResult:
    """Grow a network on a table in memory; with the same options it is the network of ``creases grow FILE``.

    Parameters
    ----------
    table
        A DataFrame, read as :func:`creases.problems.read_table` does, or a problem.
    target, task
        The column to predict, by default the last, and whether it has classes or values, by default what it looks
        like; not for a problem, which has both.
    config
        All options of the run.
    callbacks, progress
        As in :func:`creases.grow`.

    Examples
    --------
    >>> from creases import problems
    >>> from creases.growth import GrowthConfig
    >>> from creases.growth.experiment import grow_table
    >>> result = grow_table(problems.get("iris"), config=GrowthConfig(budget=3))
    >>> result.predict(result.problem.X[:2]).tolist()
    ['setosa', 'setosa']
    """
    if isinstance(table, Problem):
        for name, value in (("target", target), ("task", task)):
            if value is not None:
                raise InputError(name, "not be given for a problem, which has one", repr(value))
        problem = table
    else:
        problem = read_table(table, target, task=task)
    config = GrowthConfig() if config is None else config
    data = TableSplit.from_problem(problem, config)
    experiment = Experiment(data, config, snapshots=Snapshots(data.scaling))
    experiment.run(callbacks=callbacks, progress=progress)
    return TableResult(experiment)
