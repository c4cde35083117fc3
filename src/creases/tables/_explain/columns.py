"""What the columns of a table may be: their names, units, ranges, whole numbers and categories."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from creases._schema import optional, sequence
from creases._typing import Floats
from creases._validation import check_arguments, check_choice, check_finite, check_index, check_numbers
from creases.errors import InputError
from creases.tables._explain.table import group_columns

_UNIT = re.compile(r"^(.*\S)\s+[(\[]([^()\[\]]+)[)\]]$")  # petal length (cm)


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of a table, as :meth:`from_data` finds them: what a change of a row may look like.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[20.0, 1, 0, 1.5], [30.0, 0, 1, 2.5], [40.0, 1, 0, 3.5]])
    >>> columns = Columns.from_data(X, ["age", "home=own", "home=rent", "income (k)"])
    >>> columns.integer, columns.one_hot
    ((0,), ((1, 2),))
    >>> columns.plain_name(3), columns.unit(3)
    ('income', ' k')
    """

    names: tuple[str, ...]  #: (d,)
    count: int  #: rows that this was found from; 0: unknown, see :meth:`unknown`
    center: Floats  #: (d,) mean
    spread: Floats  #: (d,) standard deviation; 1 where a column is constant
    box: Floats  #: (d, 2) range
    integer: tuple[int, ...]  #: columns that hold whole numbers only, without those of ``one_hot``
    one_hot: tuple[tuple[int, ...], ...]  #: columns ``name=value`` of 0 and 1 of which one is 1 in each row

    @classmethod
    @check_arguments(names=optional(sequence()))
    def from_data(cls, X: Any, names: Sequence[str] | None = None) -> Columns:
        """Find what columns are from rows X (n, d)."""
        rows = check_numbers(X, "X")
        if rows.ndim != 2 or not len(rows):
            raise InputError("X", "have shape (n, d) with at least one row", f"{rows.shape}")
        check_finite(rows, "X")
        d = rows.shape[1]
        if names is not None and len(names) != d:
            raise InputError("names", f"have one entry for each of the {d} columns", f"{len(names)}")
        labels = tuple(f"x[{j}]" for j in range(d)) if names is None else tuple(map(str, names))
        groups = _one_hot_groups(labels, rows)
        members = {column for group in groups for column in group}
        whole = (rows == np.round(rows)).all(axis=0)
        largest = np.abs(rows).max(axis=0)
        size = np.where(largest > 0, largest, 1.0)
        spread = (rows / size).std(axis=0) * size  # squares of large numbers would overflow
        return cls(
            names=labels,
            count=len(rows),
            center=(rows / size).mean(axis=0) * size,
            spread=np.where(spread > 0, spread, 1.0),
            box=np.column_stack([rows.min(axis=0), rows.max(axis=0)]),
            integer=tuple(j for j in range(d) if whole[j] and j not in members),
            one_hot=groups,
        )

    @classmethod
    @check_arguments(names=sequence())
    def unknown(cls, names: Sequence[str]) -> Columns:
        """Return columns of which only the names are known: any numbers, measured in their own units."""
        d = len(names)
        limits = np.tile([-np.inf, np.inf], (d, 1))
        return cls(tuple(map(str, names)), 0, np.zeros(d), np.ones(d), limits, (), ())

    @property
    def constant(self) -> tuple[int, ...]:
        """Columns with one value only."""
        return tuple(int(j) for j in np.flatnonzero(self.box[:, 0] == self.box[:, 1]))

    def numbers(self, columns: Iterable[str | int], name: str) -> list[int]:
        """Return the numbers of columns that are named or numbered; the name of a category stands for its columns."""
        chosen: list[int] = []
        for column in [columns] if isinstance(columns, str) else columns:
            if isinstance(column, str):
                chosen += self._by_name(column, name)
            else:
                chosen.append(check_index(column, len(self.names), name))
        return chosen

    def _by_name(self, column: str, name: str) -> list[int]:
        spellings = [{label, self.plain_name(j)} for j, label in enumerate(self.names)]
        exact = [j for j, spelling in enumerate(spellings) if column in spelling]
        group = [j for j, label in enumerate(self.names) if "=" in label and label.split("=", 1)[0] == column]
        if not exact + group:
            known = ", ".join(dict.fromkeys(label.split("=", 1)[0] for label in self.names[:12]))
            raise InputError(name, f"name columns among {known}{', ...' if len(self.names) > 12 else ''}", repr(column))
        return exact or group

    def plain_name(self, column: int) -> str:
        """Return the name of a column without its unit: ``petal length`` of ``petal length (cm)``."""
        match = _UNIT.match(self.names[column])
        return match.group(1) if match else self.names[column]

    def unit(self, column: int) -> str:
        """Return the unit in a column's name with a space before it, "" if there is none."""
        match = _UNIT.match(self.names[column])
        return f" {match.group(2)}" if match else ""

    def weights(self, norm: str) -> Floats:
        """Return what a change by one counts in each column, (d,): in standard deviations.

        The weights of one-hot columns are such that a change of category counts 1 in the norm.
        """
        check_choice(norm, ["l1", "l2", "linf"], "norm")
        weights = 1.0 / self.spread
        members = [column for group in self.one_hot for column in group]
        weights[members] = {"l1": 0.5, "l2": np.sqrt(0.5), "linf": 1.0}[norm]
        return weights


def _one_hot_groups(names: Sequence[str], rows: Floats) -> tuple[tuple[int, ...], ...]:
    """Return the inputs of each category column of which exactly one is 1 in every row."""
    groups = [column.inputs for column in group_columns(names, rows) if column.categories]
    return tuple(group for group in groups if (rows[:, group].sum(axis=1) == 1).all())
