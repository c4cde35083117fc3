"""A network and the rows of a table: names, columns of inputs, and outputs as people read them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Protocol

import numpy as np
import torch

from creases._schema import optional, sequence
from creases._text import OneLine
from creases._typing import Floats
from creases._validation import check_arguments, check_choice, check_finite, check_index, check_numbers, check_points
from creases.errors import InputError
from creases.network import Network, NetworkLike, as_network


class ScalingLike(Protocol):
    """The scaling ``(x - center) / spread`` of a network's inputs and targets, as :class:`creases.growth.Scaling`."""

    @property
    def center(self) -> Floats: ...
    @property
    def spread(self) -> Floats: ...
    @property
    def target_center(self) -> float | Floats: ...
    @property
    def target_spread(self) -> float | Floats: ...


@dataclass(frozen=True)
class Column:
    """A column of a table: one input, or the inputs of 0 and 1 that stand for its categories."""

    name: str
    inputs: tuple[int, ...]
    categories: tuple[str, ...] | None = None  #: None for a column of numbers; else one for each input


@dataclass(frozen=True, eq=False)
class Table:
    """A network in float64, rows in the table's own units, and the names of both."""

    net: Network
    scaling: ScalingLike | None
    X: Floats  #: (n, d)
    names: tuple[str, ...]  #: (d,) of the inputs
    classes: tuple[str, ...] | None
    mix: Floats  #: (q, m) what is shown are these mixtures of the network's outputs
    outputs: tuple[str, ...]  #: (q,) names of what is shown

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The columns of the table that the inputs come from."""
        return group_columns(self.names, self.X)

    @cached_property
    def spread(self) -> Floats:
        """Standard deviations (d,) of the inputs over the rows."""
        return np.asarray(self.X.std(axis=0))

    @cached_property
    def values(self) -> Floats:
        """What is shown (n, q) at the rows, computed by the network itself."""
        return self.evaluate(self.X)

    def to_network(self, X: Floats) -> Floats:
        """Return rows (n, d) as the network takes them."""
        return X if self.scaling is None else np.asarray((X - self.scaling.center) / self.scaling.spread)

    def evaluate(self, X: Floats) -> Floats:
        """Return what is shown (n, q) at rows (n, d)."""
        return self.show_outputs(np.asarray(self.net(self.to_network(X))).reshape(len(X), -1))

    def show_outputs(self, raw: Floats) -> Floats:
        """Return what is shown (n, q) for outputs of the network (n, m)."""
        if self.scaling is not None:
            raw = raw * self.scaling.target_spread + self.scaling.target_center
        return np.asarray(raw @ self.mix.T)

    def pieces(self, X: Floats) -> tuple[Floats, Floats]:
        """Return the affine functions that hold at rows (n, d): coefficients (n, q, d) and offsets (n, q)."""
        J, y = self.net.piece(self.to_network(X))
        J, y = np.asarray(J), np.asarray(y)
        if self.scaling is not None:
            size = np.broadcast_to(np.asarray(self.scaling.target_spread, np.float64), y.shape[1])
            J = J * size[:, None] / self.scaling.spread
            y = y * size + self.scaling.target_center - J @ self.scaling.center
        return np.asarray(self.mix @ J), np.asarray(y @ self.mix.T)


def make_table(
    net: NetworkLike,
    X: Any,
    *,
    names: Sequence[str] | None = None,
    classes: Sequence[Any] | None = None,
    target: str | None = None,
    scaling: ScalingLike | None = None,
    scores: Literal["as they are", "above the mean"] = "as they are",
) -> Table:
    """Check a network, rows and names; see :func:`creases.tables.effects`.

    Two classes are shown as one function, the log-odds of the second. For more of them ``scores`` says whether to
    subtract the mean over the classes, which changes no decision and no probability.
    """
    work = as_network(net).to("cpu").to(torch.float64)
    if names is None and hasattr(X, "columns"):  # a data frame
        names = [str(name) for name in X.columns]
    rows = check_points(X.to_numpy(np.float64) if hasattr(X, "to_numpy") else X, work.n_in, "X")
    if not len(rows):
        raise InputError("X", "have at least one row", "none")
    check_finite(rows, "X")
    names = tuple(f"x{k}" for k in range(work.n_in)) if names is None else tuple(map(str, names))
    if len(names) != work.n_in:
        raise InputError("names", f"be {work.n_in}, one for each input of the network", f"{len(names)}")
    labels = None if classes is None else tuple(map(str, classes))
    if labels is not None and len(labels) != max(work.n_out, 2):
        raise InputError("classes", f"be {max(work.n_out, 2)}, as the network's outputs decide", f"{len(labels)}")
    mix, shown = _shown_outputs(work.n_out, labels, target, scores)
    return Table(work, scaling, rows, names, labels, mix, shown)


def _shown_outputs(m: int, classes: tuple[str, ...] | None, target: str | None, scores: str) -> tuple[Floats, Any]:
    """Return how the outputs are mixed for show (q, m), and the names of the mixtures."""
    if classes is None:
        name = target or "output"
        return np.eye(m), (name,) if m == 1 else tuple(f"{name} {k}" for k in range(m))
    if len(classes) == 2:
        return (np.array([[-1.0, 1.0]]) if m == 2 else np.eye(1)), (f"log-odds of {classes[1]}",)
    if scores == "as they are":
        return np.eye(m), classes
    return np.eye(m) - 1 / m, tuple(f"score of {name}" for name in classes)


def group_columns(names: Sequence[str], X: Floats) -> tuple[Column, ...]:
    """Return the columns behind inputs: those called ``color=red``, ``color=blue``, ... of 0 and 1 are one.

    Examples
    --------
    >>> X = np.array([[1.5, 1.0, 0.0], [2.5, 0.0, 1.0]])
    >>> [(column.name, column.categories) for column in group_columns(["age", "color=red", "color=blue"], X)]
    [('age', None), ('color', ('red', 'blue'))]
    """
    members: dict[str, list[int]] = {}
    for k, name in enumerate(names):
        before, sign, _ = name.partition("=")
        members.setdefault(f"{before.strip()}=" if sign else name, []).append(k)
    columns = []
    for key, inputs in members.items():
        name = key.removesuffix("=")
        part = X[:, inputs]
        one_hot = key.endswith("=") and len(inputs) > 1 and name not in members
        if one_hot and ((part == 0) | (part == 1)).all() and (part.sum(axis=1) <= 1).all():
            categories = tuple(names[k].partition("=")[2].strip() for k in inputs)
            columns.append(Column(name, tuple(inputs), categories))
        else:
            columns += [Column(readable_name(names[k]), (k,)) for k in inputs]
    return tuple(columns)


def readable_name(name: str) -> str:
    """Return the name of an input as a reader sees it: ``species = Adelie`` for ``species=Adelie``."""
    before, sign, after = name.partition("=")
    return f"{before.strip()} = {after.strip()}" if sign else name


def find_column(table: Table, column: str | int) -> Column:
    """Return a column by its name, by the name of an input, or by the number of an input."""
    for entry in table.columns:
        known = {entry.name} if entry.categories is None else {entry.name, *(table.names[k] for k in entry.inputs)}
        if column in known or (not isinstance(column, str) and column in entry.inputs):
            return entry
        if entry.categories is None and column == table.names[entry.inputs[0]]:
            return entry
    names = [entry.name for entry in table.columns]
    more = ", ..." if len(names) > 12 else ""
    raise InputError("column", f"be one of {', '.join(names[:12])}{more}, or the number of an input", repr(column))


# What the columns of a table may be: their names, units, ranges, whole numbers and categories.

_UNIT = re.compile(r"^(.*\S)\s+[(\[]([^()\[\]]+)[)\]]$")  # petal length (cm)


@dataclass(frozen=True, eq=False, repr=False)
class Columns(OneLine):
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
