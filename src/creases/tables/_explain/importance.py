"""Which columns matter at the rows of a table, and which of them interact."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from creases._schema import INTEGER, optional, sequence
from creases._typing import Floats, Ints
from creases._validation import check_arguments, check_count, check_seed
from creases.network import NetworkLike
from creases.tables._explain.table import Column, InputName, ScalingLike, Table, make_table

if TYPE_CHECKING:
    import pandas as pd

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
