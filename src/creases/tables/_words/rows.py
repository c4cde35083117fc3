"""The rows behind a model: what its terms do to them, and which values occur in them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np

from creases._typing import Floats, Ints
from creases.errors import CreasesError
from creases.tables._columns.dates import FEW_DAYS
from creases.tables._folder.folder import RunFile
from creases.tables._model.schema import RowFunction
from creases.tables._words.terms import ColumnTerm, CurveTerms, Terms

Rows = TypeVar("Rows")


@dataclass(frozen=True, eq=False)
class TermEffects:
    """What each term of a model does to the predictions of the rows that it was fitted to, in the units of the terms.

    Every text and picture takes the order of the terms and their ranges from here, so that they agree.
    """

    sizes: Floats  #: (t,) mean absolute effect; of several classes that of the one moved most
    ranges: Floats | None  #: (t, 2) least and largest effect on any class; None if no rows are known

    @classmethod
    def from_rows(cls, terms: Terms, X: Floats, count: Floats | Ints | None = None) -> TermEffects:
        """Return the effects on encoded rows X (n, d), each of which occurs ``count`` (n,) times."""
        effects = terms.contributions(X)
        sizes = np.average(np.abs(effects).max(axis=2), axis=0, weights=count)
        return cls(sizes, np.stack([effects.min(axis=(0, 2)), effects.max(axis=(0, 2))], axis=1))

    @classmethod
    def from_model(cls, model: RowFunction, terms: Terms, X: Floats | None = None) -> TermEffects:
        """Return the effects on rows X, or on those that the model was fitted to, which it has or remembers.

        Without any, the size of a column is a quarter of its range.
        """
        from creases.tables._folder.settings import RunSettings

        if X is not None:
            return cls.from_rows(terms, X)
        if (stored := model._facts.effects) is not None:
            values = np.array([stored[name] for name in terms.parts]).reshape(-1, 3) * terms.scale
            return cls(values[:, 0], values[:, 1:])
        data = model.data
        if data is None and not isinstance(terms, CurveTerms):  # a growth run, whose folder says where its table is
            data = _read_again(model, lambda folder: RunSettings.load(folder).load_split())
        if data is None:
            return cls(np.concatenate([terms.spans / 4, np.zeros(len(terms.names) - len(terms.columns))]), None)
        used = data.fitted_rows
        used = used[np.linspace(0, len(used) - 1, min(len(used), terms.most_rows)).astype(np.int64)]
        return cls.from_rows(terms, data.rows.X[used], data.rows.count[used])

    def to_dict(self, terms: Terms) -> dict[str, tuple[float, float, float]]:
        """Return size, least and largest effect on the scores by the name of each part, the largest first."""
        assert self.ranges is not None
        table = np.column_stack([self.sizes, self.ranges]) / terms.scale
        order = np.argsort(-self.sizes, kind="stable")
        return {terms.parts[k]: tuple(table[k].tolist()) for k in order}


def table_rows(model: RowFunction) -> Floats | None:
    """Return all encoded rows (n, d) of a model's table; a loaded model reads them again, if they are still there."""
    from creases.tables._folder.settings import FitSettings

    if (data := model.data) is not None:
        return np.asarray(data.rows.X)
    return _read_again(model, lambda folder: np.asarray(FitSettings.load(folder).load_problem().X))


def _read_again(model: RowFunction, read: Callable[[Path], Rows]) -> Rows | None:
    """Return what is read of the table of a loaded model; None if it has no folder, or the table has gone."""
    folder = model._folder
    if folder is None or not (folder / RunFile.SETTINGS).exists():
        return None
    try:
        return read(folder)
    except (CreasesError, OSError):
        return None


# What the inputs of a model are in the rows it was trained on: ranges, spreads, whole numbers, days.


@dataclass(frozen=True, eq=False)
class InputRanges:
    """The values of inputs that occur."""

    low: Floats  #: (d,)
    high: Floats  #: (d,)
    spread: Floats  #: (d,) standard deviation; 1 where an input is constant
    unit: Floats  #: (d,) power of ten that all values of a number are multiples of; 0 if there is none
    month_days: frozenset[int]  #: days of the month that dates have; empty if they have many

    @classmethod
    def from_rows(cls, terms: Terms, X: Floats) -> InputRanges:
        """Return the ranges in encoded rows X (n, d); a value filled in for a missing one counts nowhere."""
        d = X.shape[1]
        low, high, spread, unit = np.zeros(d), np.ones(d), np.ones(d), np.ones(d)
        days: set[int] = set()
        for term in terms.columns:
            known = X[term.is_number(X)]
            for j in term.inputs.tolist():
                values = known[:, j] if len(known) else X[:, j]
                low[j], high[j] = values.min(), values.max()
                spread[j] = values.std() or 1.0
                powers = (10.0**-decimals for decimals in range(7) if (np.round(values, decimals) == values).all())
                unit[j] = next(powers, 0.0)
            days |= term.codec.month_days(known[:, term.inputs])
        return cls(low, high, spread, unit, frozenset(days) if len(days) <= FEW_DAYS else frozenset())

    def of(self, term: ColumnTerm) -> InputRanges:
        """Return those of the inputs of one column."""
        low, high, spread, unit = (each[term.inputs] for each in (self.low, self.high, self.spread, self.unit))
        return InputRanges(low, high, spread, unit, self.month_days)

    @classmethod
    def from_limits(cls, terms: Terms, limits: Floats) -> InputRanges:
        """Return what is known without rows, from the least and largest value (d, 2) of each input."""
        low, high = limits.T
        curves = [terms.knots(j) for j in range(len(low))]
        whole = [bool((np.append(knots, ends) % 1 == 0).all()) for knots, ends in zip(curves, limits, strict=True)]
        spread = np.where(high > low, (high - low) / 4, 1.0)
        return cls(low, high, spread, np.where(whole, 1.0, 0.0), frozenset())


def model_ranges(model: RowFunction, terms: Terms, X: Floats | None = None) -> InputRanges:
    """Return what the inputs of a model are: in rows X (n, d), in those trained on, or as far as the model knows."""
    X = model.data.rows.X[model.data.fitted_rows] if X is None and model.data is not None else X
    return InputRanges.from_limits(terms, model.schema.ranges) if X is None else InputRanges.from_rows(terms, X)
