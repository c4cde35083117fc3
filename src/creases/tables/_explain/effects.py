"""The effect of one column on the outputs, exactly: curves of single rows, and their mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from creases._schema import INTEGER, STRING, any_of, optional, sequence
from creases._text import OneLine
from creases._typing import Floats, Ints
from creases._validation import check_arguments, check_count, check_seed
from creases.errors import InputError
from creases.network import NetworkLike
from creases.regions import lines
from creases.tables._explain.table import Column, InputName, ScalingLike, Table, make_table

if TYPE_CHECKING:
    import pandas as pd

#: A curve bends where its slope changes by more than this share of the largest slope.
FLAT = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class NumberEffect(OneLine):
    """The outputs as functions of a column of numbers, all others left as they are; :func:`effects` returns it.

    The curve of row i (its individual conditional expectation) has the knots ``starts[i]`` to ``starts[i + 1]`` and is
    linear between them; its mean over the rows (the partial dependence) has the knots ``grid``.
    """

    column: str
    outputs: tuple[str, ...]  #: (q,)
    values: Floats  #: (n,) the column's value in each row
    knots: Floats  #: (K,) values of the column, rising within each row's curve
    heights: Floats  #: (K, q) outputs at the knots
    starts: Ints  #: (n + 1,)

    @property
    def limits(self) -> tuple[float, float]:
        """The least and the largest value of the column."""
        return float(self.knots[0]), float(self.knots[self.starts[1] - 1])

    @cached_property
    def _inner(self) -> Ints:
        """Knots that are breakpoints, not ends of curves."""
        inner = np.ones(len(self.knots), bool)
        inner[self.starts[:-1]] = inner[self.starts[1:] - 1] = False
        return np.flatnonzero(inner)

    @property
    def breakpoints(self) -> Floats:
        """Values of the column, rising, where the mean bends: where the curve of some row does."""
        return np.unique(self.knots[self._inner])

    @cached_property
    def grid(self) -> Floats:
        """Knots of the mean (G,): its limits and all breakpoints."""
        low, high = self.limits
        return np.concatenate([[low], self.breakpoints, [high]])

    @cached_property
    def mean(self) -> Floats:
        """The mean over the rows (G, q) at the knots ``grid``: the exact partial dependence, linear between them."""
        n, inner = len(self.starts) - 1, self._inner
        first = self.starts[:-1]
        slopes = np.diff(self.heights, axis=0) / np.diff(self.knots)[:, None].clip(min=1e-300)
        change = np.zeros((len(self.grid), self.heights.shape[1]))
        change[0] = slopes[first].sum(axis=0) / n
        np.add.at(change, np.searchsorted(self.grid, self.knots[inner]), (slopes[inner] - slopes[inner - 1]) / n)
        steps = np.cumsum(change, axis=0)[:-1] * np.diff(self.grid)[:, None]
        start = self.heights[first].mean(axis=0)
        return np.concatenate([start[None], start + np.cumsum(steps, axis=0)])

    @property
    def bends(self) -> Floats:
        """How much the slope of the mean changes (G - 2, q) at each breakpoint."""
        slopes = np.diff(self.mean, axis=0) / np.diff(self.grid)[:, None]
        return np.diff(slopes, axis=0)

    def curve(self, row: int) -> tuple[Floats, Floats]:
        """Return the knots (k,) and heights (k, q) of one row's curve."""
        knots = slice(self.starts[row], self.starts[row + 1])
        return self.knots[knots], self.heights[knots]

    def __call__(self, x: Any) -> Floats:
        """Return the mean (n, q) at values (n,) of the column, within its limits."""
        x = np.asarray(x, np.float64).reshape(-1)
        return np.stack([np.interp(x, self.grid, height) for height in self.mean.T], axis=1)

    def to_frame(self) -> pd.DataFrame:
        """Return the mean as a table: a row for each knot, a column for each output."""
        import pandas as pd

        return pd.DataFrame(self.mean, index=pd.Index(self.grid, name=self.column), columns=list(self.outputs))


@dataclass(frozen=True, eq=False, repr=False)
class CategoryEffect(OneLine):
    """The outputs for each category of a column, all others left as they are; :func:`effects` returns it."""

    column: str
    outputs: tuple[str, ...]  #: (q,)
    categories: tuple[str, ...]  #: (c,)
    counts: Ints  #: (c,) rows of each category
    heights: Floats  #: (n, c, q) outputs of each row in each category

    @property
    def mean(self) -> Floats:
        """The mean over the rows (c, q): the partial dependence."""
        return np.asarray(self.heights.mean(axis=0))

    def to_frame(self) -> pd.DataFrame:
        """Return the mean as a table: a row for each category, a column for each output."""
        import pandas as pd

        index = pd.Index(self.categories, name=self.column)
        return pd.DataFrame(self.mean, index=index, columns=list(self.outputs))


@check_arguments(column=any_of(STRING, INTEGER), names=optional(sequence()), classes=optional(sequence()))
def effects(
    net: NetworkLike,
    X: Any,
    column: str | int,
    *,
    names: Sequence[InputName] | None = None,
    classes: Sequence[Any] | None = None,
    target: str | None = None,
    scaling: ScalingLike | None = None,
) -> NumberEffect | CategoryEffect:
    """Return the exact effect of a column: the outputs of every row as the column changes, and their mean.

    As the network is piecewise linear, so is the curve of each row [1]_ and so is the mean of the curves, the partial
    dependence [2]_. All breakpoints are computed; nothing is sampled on a grid. A column of numbers runs from its least
    to its largest value in the table. For a category, the outputs are those with each category in turn.

    For two classes the output is the log-odds of the second; for more, each class has its score above the mean of all
    classes, since what all scores share decides nothing.

    Parameters
    ----------
    net, X
        A network, torch module or file name, computed in float64, and rows (n, d) in the table's own units.
    names
        Names of the inputs (d,); by default those of the data frame, or ``x0``, ``x1``, ... Inputs of 0 and 1 that are
        the values of a category are called by column and value: ``("species", "Adelie"), ("species", "Gentoo")``. For
        a table that was read they are ``problem.encoding.input_names``.
    classes, target
        Names of the classes for a classifier; else what a regression predicts, for the text.
    scaling
        The :class:`creases.growth.Scaling` by which the network takes its inputs and gives its targets; by default it
        takes rows in the table's own units, as the networks of growth runs and estimators do.
    column
        A column by its name (``"species"``), or by the number of one of its inputs.

    References
    ----------
    .. [1] Goldstein, Kapelner, Bleich, Pitkin, "Peeking inside the black box: visualizing statistical learning with
       plots of individual conditional expectation", J. Comp. Graph. Statistics 24(1), 2015.
    .. [2] J. H. Friedman, "Greedy function approximation: a gradient boosting machine", Annals of Statistics 29(5),
       2001.

    Examples
    --------
    >>> import creases
    >>> from creases.tables import effects
    >>> net = creases.read([([[1.0, 1.0]], [0.0]), ([[1.0]], [0.0])])  # relu(x0 + x1)
    >>> effect = effects(net, [[-1.0, 0.0], [3.0, -1.0]], "x0")
    >>> effect.breakpoints.tolist(), effect.mean[:, 0].tolist()
    ([0.0, 1.0], [0.0, 0.0, 0.5, 2.5])
    """
    table = make_table(net, X, names=names, classes=classes, target=target, scaling=scaling, scores="above the mean")
    for entry in table.columns:
        if column == entry.name or (not isinstance(column, str) and column in entry.inputs):
            break
    else:
        listing = ", ".join(each.name for each in table.columns[:12]) + (", ..." if len(table.columns) > 12 else "")
        raise InputError("column", f"be one of {listing}, or the number of an input", repr(column))
    if entry.categories is None:
        return _number_effect(table, entry)
    inputs, heights = list(entry.inputs), []
    for k in inputs:
        rows = table.X.copy()
        rows[:, inputs] = 0.0
        rows[:, k] = 1.0
        heights.append(table.evaluate(rows))
    counts = (table.X[:, inputs] == 1).sum(axis=0).astype(np.int64)
    return CategoryEffect(entry.name, table.outputs, entry.categories, counts, np.stack(heights, axis=1))


def _number_effect(table: Table, column: Column) -> NumberEffect:
    (k,) = column.inputs
    values = table.X[:, k]
    low, high = float(values.min()), float(values.max())
    if low == high:
        raise InputError("column", "vary over the rows", f"{column.name!r}, which is {low:g} in every row")
    first, second = table.X.copy(), table.X.copy()
    first[:, k], second[:, k] = low, high
    curves = lines(table.net, table.to_network(first), table.to_network(second))
    knots = np.where(curves.t == 1, high, low + curves.t * (high - low))
    heights = table.show_outputs(curves.values)
    keep = _bending(knots, heights, curves.starts)
    starts = np.append(0, np.cumsum(np.bincount(curves.segment[keep], minlength=len(values)))).astype(np.int64)
    # Knots that differ by rounding only, of rows that bend at the same crease, become equal.
    different, inverse = np.unique(knots[keep], return_inverse=True)
    group = np.append(0, np.cumsum(np.diff(different) > 1e-11 * (high - low)))
    first, last = np.append(True, np.diff(group) > 0), np.append(np.diff(group) > 0, True)
    middle = (different[first] + different[last]) / 2
    middle[0], middle[-1] = different[0], different[-1]  # the limits stay as they are
    knots = middle[group][inverse.reshape(-1)]
    return NumberEffect(column.name, table.outputs, values, knots, heights[keep], starts)


def _bending(knots: Floats, heights: Floats, starts: Ints) -> Ints:
    """Return the knots that are ends of curves, or where the slope changes by more than rounding.

    At others units change side whose bends cancel, such as the mirrored pairs that make up a linear function.
    """
    slopes = np.diff(heights, axis=0) / np.diff(knots)[:, None].clip(min=1e-300)
    ends = np.zeros(len(knots), bool)
    ends[starts[:-1]] = ends[starts[1:] - 1] = True
    change = np.zeros(len(knots))
    change[1:-1] = np.abs(np.diff(slopes, axis=0)).max(axis=1)
    within = np.abs(slopes)[~(ends[1:] & ends[:-1] & (np.diff(knots) <= 0))]
    return np.flatnonzero(ends | (change > FLAT * within.max(initial=0)))


# Which columns matter, and which of them interact.


#: Rows whose changes are computed at once.
BLOCK = 50_000


@check_arguments(names=optional(sequence()), classes=optional(sequence()))
def importance(
    net: NetworkLike,
    X: Any,
    *,
    names: Sequence[InputName] | None = None,
    classes: Sequence[Any] | None = None,
    target: str | None = None,
    scaling: ScalingLike | None = None,
) -> pd.DataFrame:
    """Return how much each column matters at the rows, from the exact coefficients, the largest first.

    At each row the network is a linear function, and the contribution of a column is its coefficient there times its
    value. The importance of the column is the standard deviation of that contribution over all rows of the table, in
    the mean over the rows whose coefficients are taken: for a column of numbers the mean of ``|coefficient|`` times the
    column's standard deviation. For a category the contribution is the coefficient of the row's category. Several
    classes count with their scores above the mean of all classes: the mean over the outputs, beside the importance for
    each. The parameters are those of :func:`effects`.

    Examples
    --------
    >>> import creases
    >>> from creases.tables import importance
    >>> net = creases.read([([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0]), ([[1.0, 3.0]], [0.0])])  # relu(x0) + 3 relu(x1)
    >>> importance(net, [[1.0, 1.0], [3.0, -1.0]], names=["age", "dose"])["importance"].to_dict()
    {'dose': 1.5, 'age': 1.0}
    """
    import pandas as pd

    table = make_table(net, X, names=names, classes=classes, target=target, scaling=scaling, scores="above the mean")
    packed = table.net.pattern(table.to_network(table.X)).reshape(len(table.X), -1)
    first, counts = np.zeros(1, np.int64), np.array([len(table.X)])
    if packed.shape[1]:
        _, first, counts = np.unique(packed, axis=0, return_index=True, return_counts=True)
    J, _ = table.pieces(table.X[first])  # (k, q, d): one piece for each region that holds rows
    sizes = []
    for column in table.columns:
        inputs = list(column.inputs)
        part = table.X[:, inputs] - table.X[:, inputs].mean(axis=0)
        weights = J[:, :, inputs]
        variance = np.einsum("kqi,ij,kqj->kq", weights, part.T @ part / len(part), weights).clip(min=0)
        sizes.append(np.average(np.sqrt(variance), axis=0, weights=counts))  # over pieces with so many rows
    by_output = np.stack(sizes)
    order = np.argsort(-by_output.mean(axis=1), kind="stable")
    data = {"importance": by_output[order].mean(axis=1)}
    if len(table.outputs) > 1:
        data |= dict(zip(table.outputs, by_output[order].T, strict=True))
    frame = pd.DataFrame(data, index=pd.Index([table.columns[k].name for k in order], name="column"))
    frame.attrs["unit"] = table.outputs[0] if len(table.outputs) == 1 else "class scores"
    return frame


@check_arguments(names=optional(sequence()), classes=optional(sequence()), max_columns=INTEGER)
def interactions(
    net: NetworkLike,
    X: Any,
    *,
    names: Sequence[InputName] | None = None,
    classes: Sequence[Any] | None = None,
    target: str | None = None,
    scaling: ScalingLike | None = None,
    max_pairs: int = 2000,
    max_columns: int = 30,
    seed: int = 0,
) -> pd.DataFrame:
    """Return the pairs of columns that interact, ranked: the effect of one depends on the value of the other.

    For two rows x and z and columns j and k, the mixed second difference is
    ``f(x) - f(x with z_j) - f(x with z_k) + f(x with z_j and z_k)``. It is zero where the network is a sum of a
    function without j and one without k, and differs from zero only if a crease between the rows bends in both columns.
    The interaction of j and k is the mean of its magnitude over pairs of rows. Several classes count with their scores
    above the mean of all classes, in the mean over the classes.

    All pairs of rows are compared where they are no more than ``max_pairs``, else as many drawn at random, and the
    ``max_columns`` columns of the largest :func:`importance`. The other parameters are those of :func:`effects`.

    Examples
    --------
    >>> import creases
    >>> from creases.tables import interactions
    >>> net = creases.read([([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]], [0.0, 0.0]), ([[1.0, 1.0]], [0.0])])
    >>> print(interactions(net, [[1.0, 1.0, 1.0], [-1.0, -1.0, -1.0]]))  # relu(x0 + x1) + relu(x2)
      first second  interaction
    0    x0     x1          2.0
    """
    import pandas as pd

    table = make_table(net, X, names=names, classes=classes, target=target, scaling=scaling, scores="above the mean")
    check_count(max_pairs, "max_pairs")
    check_seed(seed)
    ranked = importance(table.net, table.X, names=table.names, classes=classes, scaling=scaling).index[:max_columns]
    columns = [column for column in table.columns if column.name in ranked]
    n, draw = len(table.X), np.random.default_rng(seed)
    if n * (n - 1) // 2 <= max_pairs:
        x, z = np.triu_indices(n, 1)
    else:
        x = draw.integers(n, size=max_pairs)
        z = (x + draw.integers(1, n, size=max_pairs)) % n
    single = [_swap(table, x, z, column) for column in columns]
    base = table.evaluate(table.X[x])
    tiny = 1e-12 * max(1.0, float(np.abs(base).max()))
    results = []
    for (i, first), (j, second) in combinations(enumerate(columns), 2):
        difference = base - single[i] - single[j] + _swap(table, x, z, first, second)
        value = float(np.abs(difference).mean())
        if value > tiny:
            results.append((first.name, second.name, value))
    results.sort(key=lambda result: -result[2])
    frame = pd.DataFrame(results, columns=["first", "second", "interaction"])
    frame.attrs["pairs of rows"] = len(x)
    return frame


def _swap(table: Table, x: Ints, z: Ints, *columns: Column) -> Floats:
    """Return the outputs (p, q) at rows x with some columns of rows z."""
    inputs = [k for column in columns for k in column.inputs]
    parts = []
    for start in range(0, len(x), BLOCK):
        rows = table.X[x[start : start + BLOCK]]
        rows[:, inputs] = table.X[z[start : start + BLOCK]][:, inputs]
        parts.append(table.evaluate(rows))
    return np.concatenate([np.zeros((0, len(table.outputs))), *parts])
