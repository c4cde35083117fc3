"""A table split into rows to train on, to validate and to test with, and scaled."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from creases._text import OneLine
from creases._typing import Bools, Floats, Ints, Task
from creases.errors import InputError
from creases.problems import Problem
from creases.tables._columns.kinds import looks_like_id
from creases.tables._columns.levels import Levels
from creases.tables._split.rows import (
    UniqueRows,
    class_weights,
    merge_duplicates,
    split_copies,
    split_groups,
    split_rows,
)
from creases.tables._stages.families import exposure_weights, family_with_exposure, parse_family

if TYPE_CHECKING:
    from creases.growth import GrowthConfig, InMemorySamples, Scaling
    from creases.tables._encoding.encoding import TableEncoding
    from creases.tables._split.config import CurveConfig


# Numbers that depend on the content of a row and a seed only: they split and sample rows of any order and amount.

Keys = NDArray[np.uint64]

#: Different rows from which on parts and samples are drawn by keys: a table larger than memory has the same ones.
LARGE = 40_000

_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_STEP = 0x9E3779B97F4A7C15


def row_keys(X: Floats, y: Floats, seed: int) -> Keys:
    """Return a key (n,), evenly spread over 64 bits, of each row X (n, d) with targets y (n, m).

    Equal rows have equal keys. This is SplitMix64 (Steele, Lea, Flood 2014), applied to one column after another.
    """
    keys = mix(np.full(len(X), seed % 2**64, np.uint64))
    for column in [*X.T, *y.T]:
        keys = mix(keys ^ (np.asarray(column, np.float64) + 0.0).view(np.uint64))  # -0.0 becomes 0.0
    return keys


def mix(keys: Keys) -> Keys:
    """Return other keys (n,), without a pattern that both share."""
    keys = keys + np.uint64(_STEP)
    keys = (keys ^ (keys >> np.uint64(30))) * _FIRST
    keys = (keys ^ (keys >> np.uint64(27))) * _SECOND
    return np.asarray(keys ^ (keys >> np.uint64(31)))


def is_below(keys: Keys, fraction: float) -> Bools:
    """Return whether each row (n,) is among a fraction of all, drawn by its key."""
    return np.asarray(keys < np.uint64(min(int(fraction * 2.0**64), 2**64 - 1)))


def least_keys(keys: Keys, count: int) -> NDArray[np.int64]:
    """Return the numbers, rising, of a sample of rows: so many with the least keys."""
    if len(keys) <= count:
        return np.arange(len(keys))
    return np.sort(np.argsort(keys, kind="stable")[:count])


#: Margin of pictures around the data, as a fraction of their range.
MARGIN = 0.05

_PARTS = ("train", "validation", "test")

#: Of fewer rows than this none are held out to validate with, and a table cannot be tested.
MIN_ROWS = 10


@dataclass(frozen=True, eq=False, repr=False)
class TableSplit(OneLine):
    """The rows of a table in three parts, and the scaling that those of the first two give.

    Equal rows are merged, and are in the same part unless their copies are dealt (see ``UniqueRows.deals_copies``).
    :meth:`from_problem` and :meth:`from_arrays` make one.
    """

    rows: UniqueRows
    task: Task
    n_outputs: int  #: outputs of the network: one per class, or per target
    parts: tuple[Ints, Ints, Ints]  #: train, validation, test: rising numbers into ``rows``
    is_standardized: bool = True  #: whether columns are scaled for training
    source: Problem | None = None  #: the table, if it is one with names
    class_weights: Floats | None = None  #: (classes,) that the rows' weights are multiplied by; None if they are not
    is_validation_given: bool = False  #: whether the user chose the rows to validate with
    has_exposure: bool = False  #: whether targets are for one unit of an exposure

    @classmethod
    def from_problem(cls, problem: Problem, config: CurveConfig | GrowthConfig | None = None) -> TableSplit:
        """Split a problem at random by the configuration's seed and fractions.

        Examples
        --------
        >>> from creases import problems
        >>> split = TableSplit.from_problem(problems.get("iris"))
        >>> len(split.train), len(split.validation), len(split.test)
        (97, 23, 30)
        """
        if config is None:
            from creases.growth import GrowthConfig  # imports torch

            config = GrowthConfig()
        n = len(problem.X)
        if n < MIN_ROWS and config.test_fraction > 0:
            hint = "too few rows cannot be split; test on none with {0}"
            raise InputError("data", f"have at least {MIN_ROWS} rows", f"{n}", hint, [("test_fraction", 0)])
        return cls.from_arrays(
            problem.X,
            problem.y.reshape(n, 1).astype(np.float64),
            weight=np.ones(n) if problem.weight is None else problem.weight,
            exposure=problem.exposure,
            groups=problem.groups,
            is_time=problem.is_time,
            task=problem.task,
            n_outputs=1 if problem.classes is None else len(problem.classes),
            config=config,
            classes=problem.classes,
            source=problem,
        )

    @classmethod
    def from_arrays(
        cls,
        X: Floats,
        y: Floats,
        *,
        weight: Floats,
        task: Task,
        n_outputs: int,
        config: CurveConfig | GrowthConfig,
        exposure: Floats | None = None,
        groups: Ints | None = None,
        is_time: bool = False,
        validation: Ints | None = None,
        classes: Sequence[Any] | None = None,
        source: Problem | None = None,
    ) -> TableSplit:
        """Split rows X (n, d) with class numbers or targets y (n, m) and weights (n,) by the configuration.

        ``validation`` are the numbers of the rows to validate with; then none are held out for testing. ``classes`` are
        the names of the classes, for their weights. Targets are divided by ``exposure`` (n,) already; rows of a larger
        one weigh more, as the family asks. Rows with the same number in ``groups`` (n,) are in one part; if these are
        ``is_time``, the last are tested on.
        """
        if validation is None:
            rows = merge_duplicates(X, y if groups is None else np.column_stack([y, groups]), weight)
            if groups is not None:
                rows = replace(rows, y=rows.y[:, :-1], group=rows.y[:, -1].astype(np.int64), is_time=is_time)
            if exposure is not None:
                known = rows.inverse >= 0
                family = parse_family(family_with_exposure(getattr(config, "family", "auto")))
                more = weight * exposure_weights(family, exposure)
                rows = replace(rows, weight=np.bincount(rows.inverse[known], more[known], len(rows)).astype(np.float64))
            rows, part = _draw_parts(rows, config, stratify=task == "classification")
        else:
            is_validation = np.zeros((len(X), 1))
            is_validation[validation] = 1.0  # a row to validate with is not merged with one to train on
            rows = merge_duplicates(X, np.column_stack([y, is_validation]), weight)
            rows, part = replace(rows, y=rows.y[:, :-1]), rows.y[:, -1].astype(np.int64)
        parts: Any = tuple(np.flatnonzero(part == k) for k in range(len(_PARTS)))
        weights = None
        if config.class_weight is not None:
            if task == "regression":
                raise InputError("class_weight", "be None for a regression", repr(config.class_weight))
            used, labels = np.sort(np.concatenate(parts[:2])), rows.y[:, 0].astype(np.int64)
            names = range(n_outputs) if classes is None else classes
            weights = class_weights(labels[used], rows.weight[used], names, config.class_weight)
            rows = replace(rows, weight=rows.weight * weights[labels])
        about = {"is_validation_given": validation is not None, "has_exposure": exposure is not None}
        return cls(rows, task, n_outputs, parts, config.standardize, source, weights, **about)

    @property
    def fitted_rows(self) -> Ints:
        """Numbers of the different rows in the first two parts, to train on and to validate with, rising."""
        return np.sort(np.concatenate(self.parts[:2]))

    @cached_property
    def moments(self) -> tuple[Floats, Floats]:
        """Means (d,) and standard deviations (d,) of the inputs in the first two parts; 1 where one is constant."""
        used = self.fitted_rows
        X, weight = self.rows.X[used], self.rows.weight[used]
        center, spread, is_constant = _moments(X, weight)
        return center, np.where(is_constant | (np.ptp(X, axis=0) == 0), 1.0, spread)

    @cached_property
    def scaling(self) -> Scaling:
        """The scaling for training."""
        if not self.is_standardized:
            from creases.growth import Scaling  # imports torch

            return Scaling(np.zeros(self.rows.X.shape[1]), np.ones(self.rows.X.shape[1]))

        used = self.fitted_rows
        targets = self.rows.y[used] if self.task == "regression" else None
        return learn_scaling(self.rows.X[used], targets, self.rows.weight[used])

    def without_test(self) -> TableSplit:
        """Return the same rows, those to test with among the ones to train on."""
        empty = np.zeros(0, np.int64)
        return replace(self, parts=(np.sort(np.concatenate(self.parts)), empty, empty))

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
            "features": problem.features if problem.encoding is None else problem.encoding.input_names,
            "scaling": self.scaling,
            "instance": "row" if problem.target or problem.X.shape[1] > 2 else "point",
        }

    @property
    def table_names(self) -> dict[str, Any]:
        """What a model is told of the table: its features, classes, targets and encoding."""
        problem = self.problem
        named = {"features": problem.features, "classes": problem.classes, "targets": (problem.target,)}
        return named | {"encoding": problem.encoding}

    def samples(
        self, part: Literal["train", "validation", "test", "train and validation"], device: str = "cpu"
    ) -> InMemorySamples | None:
        """Return the rows of a part as the network is trained on them, each with its number; None if there are none."""
        both = part == "train and validation"
        rows = self.fitted_rows if both else self.parts[_PARTS.index(part)]
        if not len(rows):
            return None
        import torch

        from creases.growth import InMemorySamples

        X = torch.from_numpy(self.scaling.inputs(self.rows.X[rows]))
        if self.task == "classification":
            y = torch.from_numpy(self.rows.y[rows, 0].astype(np.int64))
        else:
            y = torch.from_numpy(self.scaling.targets(self.rows.y[rows]))
        weight, numbers = self.rows.weight[rows], self.rows.first[rows]
        if self.source is not None and self.source.rows is not None:
            numbers = self.source.rows[numbers]
        is_weighted = np.ptp(self.rows.weight[self.fitted_rows]) > 0
        weights = torch.from_numpy(weight / weight.mean()).to(device) if is_weighted else None
        return InMemorySamples(X.to(device), y.to(device), weights, torch.from_numpy(numbers))


def _draw_parts(rows: UniqueRows, config: CurveConfig | GrowthConfig, *, stratify: bool) -> tuple[UniqueRows, Ints]:
    """Return the rows and the part of each, drawn at random: 0 to train on, 1 to validate and 2 to test with."""
    if rows.group is not None:
        part = np.zeros(len(rows), np.int64)
        part[split_groups(rows, config.test_fraction, config.seed)[1]] = 2
        return rows, part
    dealt = rows.deal(np.arange(len(rows)))
    y, part = rows.y[dealt], np.zeros(len(dealt), np.int64)
    if len(rows) > LARGE and not rows.deals_copies:  # as in a table larger than memory, which cannot be shuffled
        is_test = is_below(row_keys(rows.X, rows.y, config.seed), config.test_fraction)
        rest, test = np.flatnonzero(~is_test), np.flatnonzero(is_test)
    else:
        rest, test = split_rows(y, config.test_fraction, config.seed, stratify=stratify)
    fraction = config.validation_fraction / (1 - config.test_fraction) if len(dealt) >= MIN_ROWS else 0.0
    _, validation = split_rows(y[rest], fraction, config.seed, stratify=stratify)
    part[test], part[rest[validation]] = 2, 1
    return split_copies(rows, part, dealt) if rows.deals_copies else (rows, part)


def describe_crossings(data: TableSplit, encoding: TableEncoding | None) -> list[str]:
    """Say where the split holds out rows whose like are trained on: those of one customer, or of earlier dates."""
    rows, n_test = data.rows, len(data.parts[2])
    if rows.group is not None:
        kind = "the latest ones" if rows.is_time else "whole groups"
        return [f"the test rows are {kind}, and folds keep them together"] if n_test else []
    if encoding is None or not n_test:
        return []
    columns = [column for column in encoding.columns if column.use != "target"]
    repeated = [
        column.name for column in columns if isinstance(column.kind.codec, Levels) and looks_like_id(column.name)
    ]
    dates = [column for column in columns if column.kind.codec.is_moment and column.use == "input"]
    notes = [
        f"the model may be tested on a {name!r} that it was trained on, so scores may be too good for new ones; "
        f"{_name_option('groups', name)} keeps the rows of each together"
        for name in repeated
    ]
    for column in dates[:1]:
        need = f", and needs a date in every row: {column.read_as_missing} have none" if column.n_missing else ""
        way = f"{_name_option('time', column.name)} tests on the latest rows instead{need}"
        notes.append(f"some test rows have an earlier {column.name!r} than rows trained on; {way}")
    return notes


def _name_option(option: str, value: str) -> str:
    """Return an option as the command line and as Python take it."""
    return f"--{option} {shlex.quote(value)} (in Python {option}={value!r})"


def data_box(X: Floats) -> list[tuple[float, float]]:
    """Return a box around inputs (n, d): their range with a small margin."""
    low, high = X.min(axis=0), X.max(axis=0)
    margin = np.where(high > low, MARGIN * (high - low), 1.0)
    return [(float(a), float(b)) for a, b in zip(low - margin, high + margin, strict=True)]


# Scaling of a table's columns, with weights.


def learn_scaling(X: Floats, y: Floats | None, weight: Floats) -> Scaling:
    """Return the scaling of rows X (n, d), and for a regression of targets y (n, m), with weights (n,).

    It is scikit-learn's StandardScaler, for numbers of any size that a float64 can hold.
    """
    from creases.growth import Scaling  # imports torch

    center, spread, constant = _moments(X, weight)
    if y is None:
        return Scaling(center, spread, constant=constant)
    target_center, target_spread, _ = _moments(y, weight)
    if y.shape[1] == 1:
        return Scaling(center, spread, float(target_center[0]), float(target_spread[0]), constant)
    return Scaling(center, spread, target_center, target_spread, constant)


def _moments(values: Floats, weight: Floats) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Return means and standard deviations (d,), and which columns are all the same, up to rounding."""
    from sklearn.preprocessing import StandardScaler  # slow to import

    size = np.exp2(np.clip(np.frexp(np.abs(values).max(axis=0))[1], -1000, 1000))  # so that no square is too large
    scaler = StandardScaler().fit(values / size, sample_weight=weight)
    return scaler.mean_ * size, scaler.scale_ * size, np.asarray((scaler.scale_ == 1.0) & (scaler.var_ != 1.0))
