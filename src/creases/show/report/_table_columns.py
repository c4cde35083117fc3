"""The columns of a table behind the inputs of its network: numbers, and categories of several 0-1 inputs."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from creases._typing import Floats
from creases.problems import Problem
from creases.tables import TableSplit, importance

if TYPE_CHECKING:
    from creases.network import Network


@dataclass(frozen=True, eq=False)
class Category:
    """A column of categories: some inputs of 0 and 1, or one input with two values."""

    name: str
    inputs: tuple[int, ...]  #: positions of its k inputs
    levels: tuple[str, ...]  #: its L categories
    codes: Floats  #: (L, k) values of the inputs in each category
    counts: tuple[int, ...]  #: rows in each category

    @property
    def most_frequent(self) -> int:
        """Number of the most frequent category."""
        return int(np.argmax(self.counts))

    def level_of(self, x: Floats) -> str:
        """Return the category of an input (d,)."""
        return self.levels[int(np.abs(self.codes - x[list(self.inputs)]).sum(axis=1).argmin())]


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of a table: positions of numeric inputs, and categories."""

    numeric: tuple[int, ...]
    categories: tuple[Category, ...]


def find_columns(problem: Problem) -> Columns:
    r"""Return the numeric and the categorical columns of a problem.

    Inputs named ``column=category`` that hold 0 and 1 are one column of categories; an input with at most two
    different values is a column of two categories.

    Examples
    --------
    >>> from creases.tables import parse_table
    >>> table = "size,color,kind\n1,red,a\n2,blue,b\n3,red,a\n4,red,b\n"
    >>> found = find_columns(parse_table(table))
    >>> found.numeric, [(column.name, column.levels, column.counts) for column in found.categories]
    ((0,), [('color', ('blue', 'red'), (1, 3))])
    """
    groups: dict[str, list[int]] = defaultdict(list)
    numeric: list[int] = []
    categories: dict[int, Category] = {}
    for position, name in enumerate(problem.features):
        column, separator, _ = name.partition("=")
        values = np.unique(problem.X[:, position])
        if separator and set(values.tolist()) <= {0.0, 1.0}:
            groups[column].append(position)
        elif len(values) <= 2:
            counts = tuple(int((problem.X[:, position] == value).sum()) for value in values)
            levels = tuple(f"{value:g}" for value in values)
            categories[position] = Category(name, (position,), levels, values[:, None], counts)
        else:
            numeric.append(position)
    for column, inputs in groups.items():
        categories[inputs[0]] = _one_hot(problem, column, inputs)
    return Columns(tuple(numeric), tuple(categories[position] for position in sorted(categories)))


def column_weights(net: Network, data: TableSplit) -> dict[str, float]:
    """Return the importance of each column at the training rows, largest first: see :func:`creases.tables.importance`.

    That is the mean size of the coefficient times the standard deviation of the column.
    """
    problem = data.problem
    found = importance(
        net, problem.X[data.train], names=problem.features, classes=problem.classes, target=problem.target or None
    )
    return dict(zip(found.columns, found.values.tolist(), strict=True))


def _one_hot(problem: Problem, column: str, inputs: list[int]) -> Category:
    levels = [problem.features[position].partition("=")[2] for position in inputs]
    kind = next((one.kind for one in problem.encoding.inputs if one.name == column), None) if problem.encoding else None
    no = kind.words[0] if kind is not None and kind.words else f"not {levels[0]}"  # yes/no columns have one input
    codes, counts = np.eye(len(inputs)), problem.X[:, inputs].sum(axis=0).astype(int).tolist()
    rest = int((problem.X[:, inputs].sum(axis=1) == 0).sum())
    if rest:  # rows in none of the categories that have an input
        levels, counts = [*levels, no if len(levels) == 1 else "other"], [*counts, rest]
        codes = np.concatenate([codes, np.zeros((1, len(inputs)))])
    return Category(column, tuple(inputs), tuple(levels), codes, tuple(counts))
