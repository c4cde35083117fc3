"""Which columns matter at the rows of a table, and which of them interact."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from creases._schema import INTEGER, optional, sequence
from creases._text import OneLine, format_number
from creases._typing import Floats, Ints
from creases._validation import check_arguments, check_count, check_seed
from creases.network import NetworkLike
from creases.tables._explain.table import Column, InputName, ScalingLike, Table, make_table

if TYPE_CHECKING:
    import pandas as pd

#: Rows whose changes are computed at once.
BLOCK = 50_000


@dataclass(frozen=True, eq=False, repr=False)
class Importance(OneLine):
    """How much each column matters, as :func:`importance` returns it; largest first."""

    columns: tuple[str, ...]  #: (c,)
    values: Floats  #: (c,) in the units of the outputs, mean over them
    by_output: Floats  #: (c, q)
    outputs: tuple[str, ...]  #: (q,)

    def to_frame(self) -> pd.DataFrame:
        """Return a table with a row for each column."""
        import pandas as pd

        data = {"importance": self.values}
        if len(self.outputs) > 1:
            data |= dict(zip(self.outputs, self.by_output.T, strict=True))
        return pd.DataFrame(data, index=pd.Index(self.columns, name="column"))

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able data."""
        return {"columns": list(self.columns), "values": self.values.tolist(), "outputs": list(self.outputs)}

    def __str__(self) -> str:
        width = max(map(len, self.columns))
        pairs = zip(self.columns, self.values, strict=True)
        return "\n".join(f"{name:<{width}}  {format_number(float(value))}" for name, value in pairs)


@dataclass(frozen=True, eq=False)
class Interactions:
    """Pairs of columns that interact, as :func:`interactions` returns them; largest first."""

    pairs: tuple[tuple[str, str], ...]  #: (p,)
    values: Floats  #: (p,) in the units of the outputs, mean over them
    n_pairs: int  #: pairs of rows that were compared
    outputs: tuple[str, ...]  #: (q,)

    def to_frame(self) -> pd.DataFrame:
        """Return a table with a row for each pair."""
        import pandas as pd

        first, second = zip(*self.pairs, strict=True) if self.pairs else ((), ())
        return pd.DataFrame({"first": first, "second": second, "interaction": self.values})

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able data."""
        return {"pairs": [list(pair) for pair in self.pairs], "values": self.values.tolist(), "n_pairs": self.n_pairs}

    def __str__(self) -> str:
        if not self.pairs:
            return "no two columns interact on these rows"
        names = [f"{first} x {second}" for first, second in self.pairs]
        width = max(map(len, names))
        return "\n".join(f"{n:<{width}}  {format_number(float(v))}" for n, v in zip(names, self.values, strict=True))


@check_arguments(names=optional(sequence()), classes=optional(sequence()))
def importance(
    net: NetworkLike,
    X: Any,
    *,
    names: Sequence[InputName] | None = None,
    classes: Sequence[Any] | None = None,
    target: str | None = None,
    scaling: ScalingLike | None = None,
) -> Importance:
    """Return how much each column matters at the rows, from the exact coefficients.

    At each row the network is a linear function, and the contribution of a column is its coefficient there times its
    value. The importance of the column is the standard deviation of that contribution over all rows of the table, in
    the mean over the rows whose coefficients are taken: for a column of numbers the mean of ``|coefficient|`` times the
    column's standard deviation. For a category the contribution is the coefficient of the row's category. Several
    classes count with their scores above the mean of all classes. The parameters are those of :func:`effects`.

    Examples
    --------
    >>> import creases
    >>> from creases.tables import importance
    >>> net = creases.read([([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0]), ([[1.0, 3.0]], [0.0])])  # relu(x0) + 3 relu(x1)
    >>> print(importance(net, [[1.0, 1.0], [3.0, -1.0]], names=["age", "dose"]))
    dose  1.5
    age   1
    """
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
    values = by_output.mean(axis=1)
    order = np.argsort(-values, kind="stable")
    columns = tuple(table.columns[k].name for k in order)
    return Importance(columns, values[order], by_output[order], table.outputs)


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
) -> Interactions:
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
    x0 x x1  2
    """
    table = make_table(net, X, names=names, classes=classes, target=target, scaling=scaling, scores="above the mean")
    check_count(max_pairs, "max_pairs")
    check_seed(seed)
    ranked = importance(table.net, table.X, names=table.names, classes=classes, scaling=scaling).columns[:max_columns]
    columns = [column for column in table.columns if column.name in ranked]
    x, z = _row_pairs(len(table.X), max_pairs, seed)
    single = [_swap(table, x, z, column) for column in columns]
    base = table.evaluate(table.X[x])
    tiny = 1e-12 * max(1.0, float(np.abs(base).max()))
    results = []
    for (i, first), (j, second) in combinations(enumerate(columns), 2):
        difference = base - single[i] - single[j] + _swap(table, x, z, first, second)
        value = float(np.abs(difference).mean())
        if value > tiny:
            results.append((value, first.name, second.name))
    results.sort(key=lambda result: -result[0])
    values = np.array([value for value, _, _ in results])
    return Interactions(tuple((a, b) for _, a, b in results), values, len(x), table.outputs)


def _row_pairs(n: int, max_pairs: int, seed: int) -> tuple[Ints, Ints]:
    """Return the first and second rows of pairs of different rows; all of them if there are few."""
    if n * (n - 1) // 2 <= max_pairs:
        first, second = np.triu_indices(n, 1)
        return first.astype(np.int64), second.astype(np.int64)
    draw = np.random.default_rng(seed)
    first = draw.integers(n, size=max_pairs)
    return first, (first + draw.integers(1, n, size=max_pairs)) % n


def _swap(table: Table, x: Ints, z: Ints, *columns: Column) -> Floats:
    """Return the outputs (p, q) at rows x with some columns of rows z."""
    inputs = [k for column in columns for k in column.inputs]
    parts = []
    for start in range(0, len(x), BLOCK):
        rows = table.X[x[start : start + BLOCK]]
        rows[:, inputs] = table.X[z[start : start + BLOCK]][:, inputs]
        parts.append(table.evaluate(rows))
    return np.concatenate([np.zeros((0, len(table.outputs))), *parts])
