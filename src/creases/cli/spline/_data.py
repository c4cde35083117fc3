"""Data with one input: a built-in curve, or two columns of a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np

from creases._typing import Floats
from creases._validation import check_count, check_number, check_seed
from creases.errors import FileError, InputError
from creases.problems import FORMULAS, INTERVAL, TARGETS, Problem, curve
from creases.tables import read_columns, read_table

#: Number of points at which a fit is compared with a curve.
TEST_POINTS = 1001

#: With fewer rows, none are held out.
MIN_ROWS = 10


@dataclass(frozen=True, eq=False)
class Data:
    """Training data in increasing x, and test data."""

    name: str
    x: Floats  #: (N,)
    y: Floats  #: (N,)
    test_x: Floats  #: (M,) empty if nothing was held out
    test_y: Floats  #: (M,)
    target: Callable[[Floats], Floats] | None  #: the function behind the data, if known
    input: str  #: name of x
    output: str  #: name of y
    first_day: str | None = None  #: for dates, the day from which x counts days

    def __post_init__(self) -> None:
        if len(np.unique(self.x)) < 2:
            raise InputError(
                "table", "have at least two different inputs to train on", f"one value of {self.input!r} in all rows"
            )


def curve_data(name: str, *, points: int, noise: float, seed: int) -> Data:
    """Return equally spaced points of a built-in curve, with noise; they are tested against the curve itself."""
    if name not in TARGETS:
        raise _unknown_curve(name)
    points, seed = check_count(points, "points", least=2), check_seed(seed)
    noise = check_number(noise, "noise", least=0)
    X, y = curve(name, n=points, noise=noise, seed=seed, spaced=True)
    grid = np.linspace(*INTERVAL, TEST_POINTS)
    return Data(name, X[:, 0], y, grid, TARGETS[name](grid), TARGETS[name], "x", FORMULAS[name])


def table_data(path: Path, *, target: str | None, column: str | None, test: float, seed: int, **options: Any) -> Data:
    """Return two columns of a table, with random rows held out; the options are those of :func:`read_table`."""
    test, seed = check_number(test, "test", least=0, below=1), check_seed(seed)
    if not path.is_file():
        hint = f"; for the built-in curve use --target {path}" if str(path) in TARGETS else ""
        raise FileError(f"cannot read {path}: no such file{hint}")
    columns = read_columns(path, options.get("header"))
    names = [each.name for each in columns]
    if column is None and len(names) > 2:
        raise InputError(
            "x",
            "name the column to predict from",
            f"a table with {len(names)} columns",
            f"choose from {', '.join(names[:20])}",
        )
    try:
        inputs = [column] if column is not None else [0] if target is None else None
        table = read_table(path, target, task="regression", inputs=inputs, **options)
    except InputError as error:
        param = {"inputs": "x", "data": "table"}.get(error.param, error.param)  # the options of the command
        raise InputError(param, error.expected, error.got, error.hint, error.settings) from None
    feature, first_day = _feature(table, names)
    order = np.random.default_rng(seed).permutation(len(table.y))
    n_test = round(test * len(order)) if len(order) >= MIN_ROWS else 0
    x, y = table.X[:, feature], table.y
    train = order[n_test:][np.argsort(x[order[n_test:]], kind="stable")]
    held_out = order[:n_test]
    name = table.features[feature]
    return Data(table.name, x[train], y[train], x[held_out], y[held_out], None, name, table.target, first_day)


def _feature(table: Problem, names: list[str]) -> tuple[int, str | None]:
    """Return which feature is x, and the first day if it counts days; columns of text are refused."""
    for k, feature in enumerate(table.features):
        column, _, day = feature.rpartition(" days since ")
        if column in names and feature not in names:
            return k, day
    if table.features[0] not in names:
        raise _text_column(table.features[0].rpartition("=")[0])
    return 0, None


def _text_column(name: str | None) -> InputError:
    return InputError("x", "be a column of numbers", f"{name!r}, which holds text")


def _unknown_curve(name: str) -> InputError:
    if Path(name).is_file():
        hint = f"to fit a table, run: creases spline {name} --target COLUMN"
        return InputError("target", "be the name of a curve", f"the file {name}", hint)
    close = get_close_matches(name, TARGETS, n=1)
    hint = f"did you mean {close[0]!r}?" if close else ""
    return InputError("target", f"be one of {', '.join(TARGETS)}", repr(name), hint)
