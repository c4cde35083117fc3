"""What each column of a table adds to the scores of a model, exactly."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from creases._typing import Floats, Ints

if TYPE_CHECKING:
    import pandas as pd

    from creases.tables._model.row_model import RowModel

INTERCEPT = "intercept"


def column_parts(model: RowModel, X: Floats) -> dict[str, Floats]:
    """Return the intercept, and what each column, each plane and the units add to the scores of rows X, (n, m) each.

    A sum of curves is divided as it is, a network by integrated gradients from the mean row, which add up exactly too.
    """
    columns = model.columns
    start, by_input = model.input_parts(X)
    inputs = dict(zip(model.features, columns, strict=True))
    parts: dict[str, Floats] = {column: np.zeros_like(start) for column in dict.fromkeys(columns)}
    mixed: dict[str, Floats] = {}
    for name, part in by_input.items():
        if name in inputs:
            parts[inputs[name]] += part
        else:
            mixed[_unused_name(name, [*parts, *mixed])] = part
    return {_unused_name(INTERCEPT, [*parts, *mixed]): start} | parts | mixed


def explain_rows(model: RowModel, X: Floats) -> pd.DataFrame:
    """Return the parts as a table with a row for each of the rows; of several scores each has columns of its own."""
    import pandas as pd

    parts = column_parts(model, X)
    if len(model.score_names) == 1:
        return pd.DataFrame({name: part[:, 0] for name, part in parts.items()})
    keys = [(score, name) for score in model.score_names for name in parts]
    values = [part[:, k] for k in range(len(model.score_names)) for part in parts.values()]
    return pd.DataFrame(np.stack(values, axis=1), columns=pd.MultiIndex.from_tuples(keys))


def mean_sizes(model: RowModel, X: Floats, count: Ints) -> dict[str, float]:
    """Return the mean absolute part of each column, each plane and the units, the largest first.

    ``count`` (n,) is how often each row of X (n, d) occurs.
    """
    some = np.linspace(0, len(X) - 1, min(len(X), model.max_explained)).astype(np.int64)
    _, *parts = column_parts(model, X[some]).items()
    sizes = {name: float(np.average(np.abs(part).mean(axis=1), weights=count[some])) for name, part in parts}
    return dict(sorted(sizes.items(), key=lambda item: -item[1]))


def _unused_name(name: str, used: list[str]) -> str:
    while name in used:  # a column may have this name
        name += "'"
    return name
