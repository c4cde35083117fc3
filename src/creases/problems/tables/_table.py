"""Tables as problems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from difflib import get_close_matches
from operator import index
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from creases._text import plural
from creases._typing import Floats
from creases._validation import check_choice
from creases.errors import InputError
from creases.problems._problem import Problem, Task
from creases.problems.tables._columns import MAX_LEVELS, Column, check_finite, check_not_empty, encode, missing_report
from creases.problems.tables._files import csv_columns, read_columns

Missing = Literal["error", "drop", "mean"]


def read_table(
    path: str | Path,
    target: str | int | None = None,
    *,
    task: Task | None = None,
    missing: Missing = "error",
    header: bool | None = None,
    inputs: Sequence[str | int] | None = None,
) -> Problem:
    r"""Read a table from a CSV, Parquet or NPZ file as a problem.

    Columns of numbers are used unchanged. A column of text becomes one column of 0 and 1 for each of its values, named
    ``column=value``; with more than 20 values it is refused. Empty cells, ``NA``, ``N/A``, ``NaN``, ``null`` (in any
    case), ``None`` and ``?`` are missing values; ``none`` is text, as in pandas.

    Parameters
    ----------
    path
        ``.csv``, ``.tsv`` or ``.txt``: UTF-8 text, cells separated by commas, semicolons, tabs or bars.
        ``.parquet`` or ``.pq``: needs pyarrow. ``.npz``: 1-D arrays are columns; a 2-D array ``X`` is columns X0,
        X1, ..., or named by an array ``features``.
    target
        The column to predict: its name, or its number (from 0; negative from the end). Default: the column ``y`` of
        an NPZ file, else the last.
    task
        ``"classification"`` or ``"regression"``. Default: classification if the target is text, or whole numbers with
        at most 20 different values that on average occur at least twice.
    missing
        What to do with missing values: ``"error"``; ``"drop"`` drops rows that have any; ``"mean"`` fills in the
        column's mean (for text: of its columns of 0 and 1, that is the frequency of each value). Targets are never
        filled in: rows without one can only be dropped.
    header
        Whether the first row of a CSV file has the names of the columns. Default: it does if it has no number; it does
        not if it has nothing else.
    inputs
        Columns to predict from, by name or number; other columns are ignored. Default: all but the target.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from creases.problems import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "flowers.csv")
    ...     _ = file.write_text("length,color,kind\n1.5,red,rose\n0.5,blue,violet\n1.4,white,rose\n")
    ...     table = read_table(file, "kind")
    >>> table
    <Problem flowers: 3 x 4, 2 classes>
    >>> table.features
    ('length', 'color=blue', 'color=red', 'color=white')
    """
    path = Path(path)
    _check_options(task, missing)
    return _problem(path, read_columns(path, header), target, task, missing, inputs)


def parse_table(
    text: str,
    name: str = "table.csv",
    target: str | int | None = None,
    *,
    task: Task | None = None,
    missing: Missing = "error",
    header: bool | None = None,
    inputs: Sequence[str | int] | None = None,
) -> Problem:
    r"""Return the text of a CSV file as a problem; ``name`` is its file name, the rest as in :func:`read_table`.

    Examples
    --------
    >>> from creases.problems import parse_table
    >>> parse_table("length,kind\n1.5,rose\n0.5,violet\n1.4,rose\n", "flowers.csv")
    <Problem flowers: 3 x 1, 2 classes>
    """
    _check_options(task, missing)
    path = Path(name)
    return _problem(path, csv_columns(text, path, header), target, task, missing, inputs)


def _check_options(task: str | None, missing: str) -> None:
    if task is not None:
        check_choice(task, ("classification", "regression"), "task")
    check_choice(missing, ("error", "drop", "mean"), "missing")


def _problem(
    path: Path,
    columns: list[Column],
    target: str | int | None,
    task: Task | None,
    missing: Missing,
    inputs: Sequence[str | int] | None,
) -> Problem:
    """Return the columns of a table as a problem."""
    _check_table(path, columns)
    position = _find_column(columns, target, path)
    if inputs is not None:
        columns, position = _select_columns(columns, position, inputs, path)
    check_not_empty(columns)
    check_finite(columns)
    total = len(columns[0].values)
    columns, rows = _handle_missing(columns, position, missing)
    dropped = 0 if rows is None else total - len(columns[0].values)
    y, classes = _encode_target(columns[position], task)
    features, X = _encode_inputs(
        [column for i, column in enumerate(columns) if i != position], fill_means=missing == "mean"
    )
    changes = f"; {plural(dropped, 'row')} with missing values dropped" if dropped else ""
    if missing == "mean" and (gaps := int(sum(column.missing.sum() for column in columns))):
        changes = f"; {plural(gaps, 'missing value')} replaced by the mean of the column"
    return Problem(
        name=path.stem,
        X=X,
        y=y,
        features=features,
        classes=classes,
        description=f"{plural(len(y), 'row')} of {path.name}, predicting {columns[position].name!r}{changes}",
        target=columns[position].name,
        rows=rows,
    )


def _check_table(path: Path, columns: Sequence[Column]) -> None:
    if not columns or len(columns[0].values) == 0:
        raise InputError(str(path), "have rows of values", "none")
    if len(columns) == 1:
        raise InputError(str(path), "have at least two columns, an input and a target", f"only {columns[0].name!r}")
    repeated = [name for name, count in Counter(column.name for column in columns).items() if count > 1]
    if repeated:
        raise InputError(str(path), "have different names of columns", f"{repeated[0]!r} more than once")


def _select_columns(
    columns: Sequence[Column], target: int, inputs: Sequence[str | int], path: Path
) -> tuple[list[Column], int]:
    """Return the input columns and, last, the target; and the target's position."""
    positions = [_find_column(columns, name, path, "inputs") for name in inputs]
    if not positions or len(set(positions)) < len(positions) or target in positions:
        raise InputError("inputs", "be different columns without the target", f"{list(inputs)}")
    return [columns[i] for i in (*positions, target)], len(positions)


def _find_column(columns: Sequence[Column], target: str | int | None, path: Path, param: str = "target") -> int:
    """Return the position of the target column, or of a column of another parameter."""
    names = [column.name for column in columns]
    if target is None:
        return names.index("y") if path.suffix.lower() == ".npz" and "y" in names else len(names) - 1
    if isinstance(target, str) and target in names:
        return names.index(target)
    try:
        position = int(target) if isinstance(target, str) else index(target)
    except (ValueError, TypeError):
        close = get_close_matches(str(target), names, n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        listing = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
        raise InputError(param, f"be a column of {path}", repr(target), f"{hint}it has: {listing}") from None
    if not -len(names) <= position < len(names):
        raise InputError(param, f"be a column of {path}, from 0 to {len(names) - 1}", f"{position}")
    return position % len(names)


def _handle_missing(
    columns: Sequence[Column], target: int, missing: Missing
) -> tuple[list[Column], NDArray[np.int64] | None]:
    """Refuse missing values or drop their rows ("mean" fills them in later).

    Returns
    -------
    The columns, and the numbers of the remaining rows; None if no row was dropped.
    """
    report = missing_report(columns)
    if missing == "drop" and report:
        complete = ~np.logical_or.reduce([column.missing for column in columns])
        if not complete.any():
            raise InputError(
                "missing", "leave some rows", f"'drop' with missing values in {report}", "remove columns first"
            )
        return [column.rows(complete) for column in columns], np.flatnonzero(complete)
    if missing == "error" and report:
        raise InputError(
            "data",
            "have no missing values",
            report,
            "fill them in, or leave out those rows by {0} or take the means of the columns by {1}",
            [("missing", "drop"), ("missing", "mean")],
        )
    gaps = missing_report([columns[target]])
    if gaps:
        raise InputError(
            "target",
            "have no missing values",
            gaps,
            "fill them in, or leave out those rows by {0}",
            [("missing", "drop")],
        )
    return list(columns), None


def _encode_target(column: Column, task: Task | None) -> tuple[NDArray[np.int64] | Floats, tuple[str, ...] | None]:
    """Return class numbers and the names of the classes, or values and None."""
    levels, n = column.levels(), len(column.values)
    is_integer = not column.is_text and bool((column.values == np.round(column.values)).all())
    few = len(levels) <= MAX_LEVELS and 2 * len(levels) <= n
    if len(levels) == 1:
        raise InputError(
            "target", "have different values", f"{levels[0]!r} in all {plural(n, 'row')} of column {column.name!r}"
        )
    if task is None:
        task = "classification" if column.is_text or (is_integer and few) else "regression"
    if task == "regression":
        if column.is_text:
            raise InputError(
                "target",
                "be numbers for regression",
                f"text in column {column.name!r} ({column.values[0]!r})",
                "use {0}",
                [("task", "classification")],
            )
        return column.values, None
    if len(levels) == n > 2 or (len(levels) > MAX_LEVELS and not column.is_text and not is_integer):
        count = f"{len(levels)} different values in {plural(n, 'row')} of column {column.name!r}"
        if column.is_text:
            raise InputError("target", "be classes", count, "predict another column")
        raise InputError("target", "be classes", count, "use {0}", [("task", "regression")])
    number = {level: k for k, level in enumerate(levels)}
    y = np.array([number[value] for value in column.values.tolist()], np.int64)
    return y, tuple(str(int(level)) if is_integer else str(level) for level in levels)


def _encode_inputs(columns: Sequence[Column], *, fill_means: bool) -> tuple[tuple[str, ...], Floats]:
    """Return names and numbers (n, d) of input columns, with means for missing values if asked."""
    encoded = [encode(column) for column in columns]
    features = tuple(name for names, _ in encoded for name in names)
    X = np.concatenate([numbers for _, numbers in encoded], axis=1)
    if fill_means:
        X = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    return features, X
