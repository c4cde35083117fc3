"""Data of one input: a built-in curve, or two columns of a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np

from creases._typing import Floats
from creases.errors import FileError, InputError
from creases.growth.experiment import as_options
from creases.problems import FORMULAS, INTERVAL, TARGETS, curve, read_table
from creases.problems.tables import read_columns

#: Places at which a fit is compared with a curve.
TEST_POINTS = 1001

#: Rows below which nothing can be held out.
LEAST_ROWS = 10


@dataclass(frozen=True, eq=False)
class Data:
    """Data to fit, in increasing x, and others to test with."""

    name: str
    x: Floats  #: (N,)
    y: Floats  #: (N,)
    test_x: Floats  #: (M,) none where nothing was held out
    test_y: Floats  #: (M,)
    target: Callable[[Floats], Floats] | None  #: the function behind the data, where it is known
    input: str  #: what x is called
    output: str  #: what y is called

    def __post_init__(self) -> None:
        if len(np.unique(self.x)) < 2:
            raise InputError(f"data: {self.input!r} has one value in all rows to train on; there is nothing to fit")


def curve_data(name: str, *, points: int, noise: float, seed: int) -> Data:
    """Equally spaced points of a built-in curve, perhaps with noise; tested against the curve itself."""
    if name not in TARGETS:
        raise InputError(_unknown(name))
    if points < 2:
        raise InputError(f"--points: expected at least 2, got {points}")
    if not 0 <= noise < np.inf:
        raise InputError(f"--noise: expected a standard deviation of at least 0, got {noise}")
    X, y = curve(name, n=points, noise=noise, seed=seed, spaced=True)
    grid = np.linspace(*INTERVAL, TEST_POINTS)
    return Data(name, X[:, 0], y, grid, TARGETS[name](grid), TARGETS[name], "x", FORMULAS[name])


def table_data(path: Path, *, target: str | None, column: str | None, test: float, seed: int, **options: Any) -> Data:
    """Two columns of a table, some rows held out at random; the options are those of :func:`read_table`."""
    if not 0 <= test < 1:
        raise InputError(f"--test: expected a share of the rows, at least 0 and below 1, got {test:g}")
    if not path.is_file():
        hint = f"; a built-in curve is named by --target {path}" if str(path) in TARGETS else ""
        raise FileError(f"data: there is no file {path}{hint}")
    try:
        columns = read_columns(path, options.get("header"))
        names = [one.name for one in columns]
        if column is None and len(names) > 2:
            raise InputError(
                f"--x: {path} has {len(names)} columns; name the one to predict from and the --target: "
                + ", ".join(names[:20])
            )
        if any(one.is_text and one.name == column for one in columns):
            raise InputError(f"--x: column {column!r} holds text; a curve needs numbers")
        inputs = None if column is None else [column]
        table = read_table(path, target, task="regression", inputs=inputs, **options)
    except InputError as problem:
        raise InputError(as_options(str(problem)).replace("inputs: ", "--x: ", 1)) from None
    if table.features[0] not in names:
        raise InputError(f"--x: column {table.features[0].rpartition('=')[0]!r} holds text; a curve needs numbers")
    order = np.random.default_rng(seed).permutation(len(table.y))
    held = round(test * len(order)) if len(order) >= LEAST_ROWS else 0
    x, y = table.X[:, 0], table.y
    train = order[held:][np.argsort(x[order[held:]], kind="stable")]
    later = order[:held]
    return Data(table.name, x[train], y[train], x[later], y[later], None, table.features[0], table.target)


def _unknown(name: str) -> str:
    if Path(name).is_file():
        return f"--target: {name} is a file; give it first: creases spline {name} --target COLUMN"
    close = get_close_matches(name, TARGETS, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else "."
    return f"--target: there is no curve {name!r}{hint} There are: {', '.join(TARGETS)}"
