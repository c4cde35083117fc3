"""A table split into rows to train on, to validate and to test with, and scaled."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
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
from creases.tables._stages.families import exposure_weights, family_with_exposure, parse_family

if TYPE_CHECKING:
    from creases.growth import GrowthConfig, InMemorySamples, Scaling
    from creases.tables._encoding.encoding import TableEncoding
    from creases.tables._reading.options import CurveConfig

#: Weights that are whole numbers are copies of rows up to this many in all.
MAX_COPIES = 10_000_000

#: More parts than a table is ever split into.
PARTS = 8

#: Rows for each value of a column that has few, and the decimals that its values have at most.
ROWS_PER_VALUE, FEW_DIGITS = 5, 2


@dataclass(frozen=True, eq=False)
class UniqueRows:
    """The different rows of a table, each with its weight, sorted."""

    X: Floats  #: (n, d)
    y: Floats  #: (n, m)
    weight: Floats  #: (n,) above 0
    count: Ints  #: (n,) copies: how often each occurs in the table, where a row of weight 2 occurs twice
    first: Ints  #: (n,) the number of the row in the table where each occurs first
    inverse: Ints  #: (rows of the table,) which of these each row is; -1 for rows of weight 0
    group: Ints | None = None  #: (n,) rows of a group are in one part and one fold; None where each row is by itself
    is_time: bool = False  #: whether groups are in the order of time: later ones are held out

    def __len__(self) -> int:
        return len(self.X)

    def table_rows(self, rows: Ints) -> Ints:
        """Return the numbers, in the table, of all rows that equal these."""
        return np.flatnonzero(np.isin(self.inverse, rows))

    @cached_property
    def deals_copies(self) -> bool:
        """Whether equal rows are dealt to all parts and folds, a share of the copies of each to every one.

        So they are where columns of few values make equal rows by chance: with copies kept together, a combination of
        values could be in no part that is fitted, and parts would hold other targets for the same inputs. In other
        tables equal rows are the same case twice. A copy in another part would give its target away, so copies are
        kept together.
        """
        return self.group is None and (self._has_few_values or self._has_other_targets)

    @property
    def _has_few_values(self) -> bool:
        """Whether every input has few values, written with few digits: categories, codes, counts, grades."""
        total = self.count.sum()
        for x in self.X.T:
            if (np.round(x, FEW_DIGITS) != x).any() or ROWS_PER_VALUE * len(np.unique(x)) > total:
                return False
        return True

    @property
    def _has_other_targets(self) -> bool:
        """Whether most rows have inputs that occur with other targets too."""
        which = np.unique(_row_keys(self.X), return_inverse=True)[1].reshape(-1)
        _, first = np.unique(
            _row_keys(np.column_stack([self.X, self.y])), return_index=True
        )  # a row may be in two parts
        targets = np.bincount(which[first], minlength=len(which))
        return 2 * int(self.count[targets[which] > 1].sum()) > int(self.count.sum())

    def describe_copies(self) -> str:
        """Say what becomes of equal rows in splits, and why; "" if there are none."""
        n_equal = int(self.count[self.count > 1].sum())
        if not n_equal:
            return ""
        rows = f"{n_equal:,} of {int(self.count.sum()):,} rows occur more than once"
        if self.group is not None:
            return ""
        if self._has_few_values:
            return f"{rows}, since all columns have few values: a share of the copies of each is held out"
        if self._has_other_targets:
            return f"{rows}, most of them with other targets too: a share of the copies of each is held out"
        return f"{rows}: copies of a row are held out together, as a copy would give its target away"

    def deal(self, rows: Ints) -> Ints:
        """Return what is dealt to parts and folds: the rows by number, or each as often as it has copies."""
        return np.repeat(rows, self.count[rows]) if self.deals_copies else rows


def merge_duplicates(X: Floats, y: Floats, weight: Floats) -> UniqueRows:
    """Merge equal rows X (n, d), y (n, m) into one with the sum of their weights (n,), and sort them.

    Rows of weight 0 are dropped. So a row of weight 2 and one that occurs twice are the same training problem to the
    last bit, and so are the rows in another order.
    """
    counted = np.flatnonzero(weight > 0)
    rows = np.column_stack([X[counted], y[counted]]) + 0.0  # -0.0 becomes 0.0: equal, other bits
    _, first, which = np.unique(_row_keys(rows), return_index=True, return_inverse=True)
    which = which.reshape(-1)
    total = np.bincount(which, weights=weight[counted])
    is_count = bool((weight == np.round(weight)).all()) and total.sum() <= MAX_COPIES
    count = total.astype(np.int64) if is_count else np.bincount(which)
    inverse = np.full(len(X), -1, np.int64)
    inverse[counted] = which
    d = X.shape[1]
    return UniqueRows(rows[first, :d], rows[first, d:], total.astype(np.float64), count, counted[first], inverse)


def _row_keys(rows: Floats) -> NDArray[Any]:
    """Return keys (n,) of rows (n, d) that are compared byte by byte, which is fast."""
    rows = np.ascontiguousarray(rows)
    keys: NDArray[Any] = rows.view(np.dtype((np.void, max(rows.shape[1], 1) * rows.itemsize)))[:, 0]
    return keys


def split_copies(rows: UniqueRows, part: Ints, dealt: Ints) -> tuple[UniqueRows, Ints]:
    """Return a row for each row and each of its copies' parts, and these parts; ``dealt`` and ``part`` are copies'."""
    pairs, first, share = np.unique(np.column_stack([dealt, part]), axis=0, return_index=True, return_counts=True)
    which, parts = pairs.T
    weight = rows.weight[which] * share / rows.count[which]
    counted = np.flatnonzero(rows.inverse >= 0)
    order = counted[np.argsort(rows.inverse[counted], kind="stable")]  # the table's rows as they were dealt
    number = np.searchsorted(which * PARTS + parts, dealt * PARTS + part)  # of each copy's new row
    is_once = len(order) == len(dealt)  # no row of the table has a weight other than 1
    inverse = np.full(len(rows.inverse), -1, np.int64)
    inverse[order] = number if is_once else number[np.searchsorted(dealt, rows.inverse[order])]
    table_rows = order[first] if is_once else rows.first[which]
    return UniqueRows(rows.X[which], rows.y[which], weight, share, table_rows, inverse), parts


def fold_weights(rows: UniqueRows, among: Ints, n_folds: int, seed: int, *, stratify: bool) -> Floats:
    """Return the weight (n_folds, n) of each of n rows, by number, that each fold holds out.

    Rows are shuffled; with ``stratify`` each class has about the same share in all folds. The sum over the folds is the
    weight of a row: a fold is fitted to the rest of it. Rows of a group are held out by one fold; in the order of time
    a fold is a stretch of it, the first fold the last stretch.
    """
    if rows.group is not None:
        part = deal_groups(rows, among, n_folds, seed)
        return np.asarray((part == np.arange(n_folds)[:, None]) * rows.weight[among])
    position = np.full(len(rows), -1)
    position[among] = np.arange(len(among))
    dealt = position[rows.deal(among)]
    order = dealt[np.random.default_rng(seed).permutation(len(dealt))]
    if stratify:
        order = order[np.argsort(rows.y[among][order, 0], kind="stable")]
    held = np.zeros((n_folds, len(among)))
    np.add.at(held, (np.arange(len(order)) % n_folds, order), 1.0)
    result: Floats = held * (rows.weight[among] / held.sum(axis=0))
    return result


def deal_groups(rows: UniqueRows, among: Ints, n_parts: int, seed: int) -> Ints:
    """Return the part (n,) of some rows, by number, so that groups stay together and parts are about as large."""
    assert rows.group is not None
    groups, which = np.unique(rows.group[among], return_inverse=True)
    if len(groups) < n_parts:
        what = "times" if rows.is_time else "groups"
        raise InputError("time" if rows.is_time else "groups", f"have at least {n_parts} {what}", f"{len(groups)}")
    sizes = np.bincount(which, rows.count[among])
    if rows.is_time:
        middle = (np.cumsum(sizes) - sizes / 2) / sizes.sum()
        return np.asarray(n_parts - 1 - (middle * n_parts).astype(np.int64).clip(0, n_parts - 1))[which]
    part, filled = np.zeros(len(groups), np.int64), np.zeros(n_parts)
    order = np.random.default_rng(seed).permutation(len(groups))
    for k in order[np.argsort(-sizes[order], kind="stable")].tolist():  # the largest first, each to the emptiest part
        part[k] = filled.argmin()
        filled[part[k]] += sizes[k]
    return part[which]


def split_groups(rows: UniqueRows, fraction: float, seed: int) -> tuple[Ints, Ints]:
    """Split rows so that those of a group are on one side; return the numbers of both parts, rising.

    In the order of time, the last are in the second.
    """
    assert rows.group is not None
    groups, which = np.unique(rows.group, return_inverse=True)
    sizes = np.bincount(which, rows.count)
    order = np.arange(len(groups))[::-1] if rows.is_time else np.random.default_rng(seed).permutation(len(groups))
    filled = np.cumsum(sizes[order]) - sizes[order] / 2
    chosen = order[filled < fraction * sizes.sum()]
    is_second = np.isin(which, chosen)
    return np.flatnonzero(~is_second), np.flatnonzero(is_second)


def split_rows(y: Floats, fraction: float, seed: int, *, stratify: bool) -> tuple[Ints, Ints]:
    """Split rows with targets y (n, m) at random; return the row numbers of both parts, rising.

    With ``stratify`` each class has about the same share in both parts, and the only row of its class is in the first.
    """
    order = np.random.default_rng(seed).permutation(len(y))
    if stratify:
        classes = y[order, 0].astype(np.int64)
        order, classes = order[np.argsort(classes, kind="stable")], np.sort(classes)
        order = order[np.bincount(classes)[classes] > 1]
    count = round(fraction * len(order))
    picked = ((np.arange(count) + 0.5) / max(count, 1) * len(order)).astype(np.int64)  # evenly over the classes
    second = np.sort(order[picked])
    return np.setdiff1d(np.arange(len(y)), second), second


def class_weights(y: Ints, weight: Floats, classes: Sequence[Any], class_weight: str | Mapping[Any, float]) -> Floats:
    """Return the weight of each class, for rows with class numbers y (n,) and weights (n,).

    ``"balanced"``: so that all classes that occur weigh the same, and all rows as much as before. A dictionary names
    classes; others have weight 1.
    """
    if isinstance(class_weight, str):
        total = np.bincount(y, weights=weight, minlength=len(classes))
        present = total > 0
        return np.where(present, total.sum() / (present.sum() * np.where(present, total, 1.0)), 1.0)
    names = {str(name): k for k, name in enumerate(classes)}
    unknown = [name for name in class_weight if str(name) not in names]
    if unknown:
        raise InputError("class_weight", f"name classes among {', '.join(names)}", repr(unknown[0]))
    weights = np.ones(len(classes))
    for name, value in class_weight.items():
        weights[names[str(name)]] = value
    return weights


# Parts of a table.


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
        column.name
        for column in columns
        if isinstance(column.kind.codec, Levels) and not column.kind.differs and looks_like_id(column.name)
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
