"""A table split into rows to train on, to validate and to test with, and scaled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch

from creases._typing import Floats, Ints
from creases.errors import InputError
from creases.growth import GrowthConfig, InMemorySamples, Scaling
from creases.problems import Problem
from creases.tables._split.rows import UniqueRows, class_weights, merge_duplicates, split_rows

if TYPE_CHECKING:
    from creases.tables._split.scaler import IncrementalScaler

#: Margin of pictures around the data, as a fraction of their range.
MARGIN = 0.05

_PARTS = ("train", "validation", "test")

#: A table with fewer rows than this cannot be split into three parts.
MIN_ROWS = 10

#: Of arrays with fewer rows than this all are trained on: too few would be left to validate with.
MIN_VALIDATION_ROWS = 20


@dataclass(frozen=True, eq=False)
class TableSplit:
    """The rows of a table in three parts, and the scaling that those of the first two give.

    Equal rows are merged, and are always in the same part. :meth:`from_problem` and :meth:`from_arrays` make one.
    """

    rows: UniqueRows
    task: Literal["classification", "regression"]
    n_outputs: int  #: outputs of the network: one per class, or per target
    parts: tuple[Ints, Ints, Ints]  #: train, validation, test: rising numbers into ``rows``
    scaling: Scaling
    source: Problem | None = None  #: the table, if it is one with names
    class_weights: Floats | None = None  #: (classes,) that the rows' weights are multiplied by; None if they are not
    is_validation_given: bool = False  #: whether the user chose the rows to validate with

    @classmethod
    def from_problem(cls, problem: Problem, config: GrowthConfig | None = None) -> TableSplit:
        """Split a problem at random by the configuration's seed and fractions.

        Examples
        --------
        >>> from creases import problems
        >>> split = TableSplit.from_problem(problems.get("iris"))
        >>> len(split.train), len(split.validation), len(split.test)
        (97, 23, 30)
        """
        config = GrowthConfig() if config is None else config
        n = len(problem.X)
        if n < MIN_ROWS:
            raise InputError("data", f"have at least {MIN_ROWS} rows", f"{n}", "too few rows cannot be split")
        rows = merge_duplicates(problem.X, problem.y.reshape(n, 1).astype(np.float64), np.ones(n))
        stratify = problem.classes is not None
        rest, test = split_rows(rows.y, config.test_fraction, config.seed, stratify=stratify)
        fraction = config.validation_fraction / (1 - config.test_fraction)
        train, validation = split_rows(rows.y[rest], fraction, config.seed, stratify=stratify)
        n_outputs = 1 if problem.classes is None else len(problem.classes)
        parts = (rest[train], rest[validation], test)
        if 2 * len(rows) < n:
            rows, parts = _split_repeated(problem, rows, config)
        return cls._from_rows(rows, problem.task, n_outputs, parts, config, problem.classes, problem)

    @classmethod
    def from_arrays(
        cls,
        X: Floats,
        y: Floats,
        *,
        weight: Floats,
        task: Literal["classification", "regression"],
        n_outputs: int,
        config: GrowthConfig,
        validation: Ints | None = None,
        classes: Sequence[Any] | None = None,
    ) -> TableSplit:
        """Split rows X (n, d) with class numbers or targets y (n, m) and weights (n,); none are held out for testing.

        ``validation`` are the numbers of the rows to validate with; by default a fraction of them at random.
        ``classes`` are the names of the classes, for their weights.
        """
        nothing = np.zeros(0, np.int64)
        if validation is None:
            rows = merge_duplicates(X, y, weight)
            fraction = config.validation_fraction if len(rows) >= MIN_VALIDATION_ROWS else 0.0
            train, held = split_rows(rows.y, fraction, config.seed, stratify=task == "classification")
        else:
            is_validation = np.zeros((len(X), 1))
            is_validation[validation] = 1.0  # a row to validate with is not merged with one to train on
            rows = merge_duplicates(X, np.column_stack([y, is_validation]), weight)
            train, held = (np.flatnonzero(rows.y[:, -1] == mark) for mark in (0.0, 1.0))
            rows = replace(rows, y=rows.y[:, :-1])
        split = cls._from_rows(rows, task, n_outputs, (train, held, nothing), config, classes)
        return replace(split, is_validation_given=validation is not None)

    @classmethod
    def _from_rows(
        cls,
        rows: UniqueRows,
        task: Any,
        n_outputs: int,
        parts: Any,
        config: GrowthConfig,
        classes: Sequence[Any] | None,
        source: Problem | None = None,
    ) -> TableSplit:
        used = np.sort(np.concatenate(parts[:2]))
        weights = None
        if config.class_weight is not None:
            if task == "regression":
                raise InputError("class_weight", "be None for a regression", repr(config.class_weight))
            y = rows.y[:, 0].astype(np.int64)
            names = range(n_outputs) if classes is None else classes
            weights = class_weights(y[used], rows.weight[used], names, config.class_weight)
            rows = replace(rows, weight=rows.weight * weights[y])
        scaling = Scaling(np.zeros(rows.X.shape[1]), np.ones(rows.X.shape[1]))
        if config.standardize:
            from creases.tables._split.scaler import IncrementalScaler  # scikit-learn is slow to import

            targets = rows.y[used] if task == "regression" else None
            scaling = IncrementalScaler().learn(rows.X[used], targets, rows.weight[used])
        return cls(rows, task, n_outputs, parts, scaling, source, weights)

    def rescale(self, scaler: IncrementalScaler) -> TableSplit:
        """Return the same split with the scaling of all rows that a scaler has seen, these included."""
        targets = self.rows.y if self.task == "regression" else None
        return replace(self, scaling=scaler.learn(self.rows.X, targets, self.rows.weight))

    @property
    def problem(self) -> Problem:
        """The table that was split."""
        if self.source is None:
            raise InputError("data", "be a problem with names, not arrays")
        return self.source

    @property
    def train(self) -> Ints:
        """Numbers of the rows to train on, rising."""
        return self.rows.table_rows(self.parts[0])

    @property
    def validation(self) -> Ints:
        """Numbers of the rows to validate with, rising."""
        return self.rows.table_rows(self.parts[1])

    @property
    def test(self) -> Ints:
        """Numbers of the rows to test with, rising."""
        return self.rows.table_rows(self.parts[2])

    @property
    def names(self) -> dict[str, Any]:
        """What explanations call features, classes and samples."""
        problem = self.problem
        return {
            "classes": problem.classes,
            "features": problem.features,
            "scaling": self.scaling,
            "instance": "row" if problem.target or problem.X.shape[1] > 2 else "point",
        }

    @property
    def _weighted(self) -> bool:
        used = self.rows.weight[np.concatenate(self.parts[:2])]
        return bool((used != used[0]).any())

    def samples(
        self, part: Literal["train", "validation", "test", "train and validation"], device: str = "cpu"
    ) -> InMemorySamples | None:
        """Return the rows of a part as the network is trained on them, each with its number; None if there are none."""
        both = part == "train and validation"
        rows = np.sort(np.concatenate(self.parts[:2])) if both else self.parts[_PARTS.index(part)]
        if not len(rows):
            return None
        X = torch.from_numpy(self.scaling.inputs(self.rows.X[rows]))
        if self.task == "classification":
            y = torch.from_numpy(self.rows.y[rows, 0].astype(np.int64))
        else:
            y = torch.from_numpy(self.scaling.targets(self.rows.y[rows]))
        weight, numbers = self.rows.weight[rows], self.rows.first[rows]
        if self.source is not None and self.source.rows is not None:
            numbers = self.source.rows[numbers]
        weights = torch.from_numpy(weight / weight.mean()).to(device) if self._weighted else None
        return InMemorySamples(X.to(device), y.to(device), weights, torch.from_numpy(numbers))


def _split_repeated(
    problem: Problem, rows: UniqueRows, config: GrowthConfig
) -> tuple[UniqueRows, tuple[Ints, Ints, Ints]]:
    """Split a table most of whose rows occur more than once: equal rows may be in different parts.

    In a table of a few categories the same inputs come with every class. Were equal rows kept together, the parts would
    hold other classes for the same inputs, and no score would mean anything.
    """
    y = problem.y.reshape(-1, 1).astype(np.float64)
    order = np.argsort(rows.inverse, kind="stable")  # does not depend on the order of the table
    stratify = problem.classes is not None
    rest, test = split_rows(y[order], config.test_fraction, config.seed, stratify=stratify)
    fraction = config.validation_fraction / (1 - config.test_fraction)
    _, validation = split_rows(y[order][rest], fraction, config.seed, stratify=stratify)
    part = np.zeros((len(y), 1))
    part[order[test]] = 2.0
    part[order[rest[validation]]] = 1.0
    merged = merge_duplicates(problem.X, np.column_stack([y, part]), np.ones(len(y)))
    train, held, tested = (np.flatnonzero(merged.y[:, -1] == k) for k in (0.0, 1.0, 2.0))
    return replace(merged, y=merged.y[:, :-1]), (train, held, tested)


def data_box(X: Floats) -> list[tuple[float, float]]:
    """Return a box around inputs (n, d): their range with a small margin."""
    low, high = X.min(axis=0), X.max(axis=0)
    margin = np.where(high > low, MARGIN * (high - low), 1.0)
    return [(float(a), float(b)) for a, b in zip(low - margin, high + margin, strict=True)]
