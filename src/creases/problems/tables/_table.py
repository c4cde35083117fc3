"""A user's own table as a problem."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from difflib import get_close_matches
from operator import index
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from creases._typing import Floats
from creases.errors import InputError
from creases.problems._problem import Problem, Task
from creases.problems.tables._columns import (
    MOST_LEVELS,
    Column,
    check_finite,
    check_not_empty,
    encode,
    missing_report,
    plural,
)
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
    """A table of a CSV, Parquet or NPZ file as a problem.

    Columns of numbers stay as they are. A column of text becomes one column of 0 and 1 for each of its values, named
    ``column=value``; with more than 20 values it is refused. Empty cells, ``NA``, ``N/A``, ``NaN``, ``null`` (in any
    case), ``None`` and ``?`` are missing values; ``none`` is a text, as for pandas.

    Parameters
    ----------
    path
        ``.csv``, ``.tsv`` or ``.txt``: UTF-8 text, cells separated by commas, semicolons, tabs or bars.
        ``.parquet`` or ``.pq``: needs pyarrow. ``.npz``: 1-D arrays are columns; a 2-D array ``X`` is columns X0,
        X1, ..., or named by an array ``features``.
    target
        What to predict: the name of a column, or its number (from 0; negative from the end). Default: the column
        ``y`` of an NPZ file, else the last.
    task
        ``"classification"`` or ``"regression"``. Default: classification if the target is text, or whole numbers with
        at most 20 different values that on average occur at least twice.
    missing
        What to do with missing values: ``"error"``; ``"drop"`` leaves out rows that have any; ``"mean"`` puts the
        column's mean (for text: of its columns of 0 and 1, so how often each value occurs). What to predict is never
        made up: rows without it can only be dropped.
    header
        Whether the first row of a CSV file has the names of the columns. Default: it does if it has no number; it does
        not if it has nothing else.
    inputs
        Columns to predict from, as ``target`` is given; what the others hold does not matter. Default: all others.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from creases.problems import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "flowers.csv")
    ...     _ = file.write_text("length,colour,kind\\n1.5,red,rose\\n0.5,blue,violet\\n1.4,white,rose\\n")
    ...     table = read_table(file, "kind")
    >>> table
    <Problem flowers: 3 x 4, 2 classes>
    >>> table.features
    ('length', 'colour=blue', 'colour=red', 'colour=white')
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
    """The text of a CSV file as a problem: as :func:`read_table` reads the file; ``name`` is what it is called.

    Examples
    --------
    >>> from creases.problems import parse_table
    >>> parse_table("length,kind\\n1.5,rose\\n0.5,violet\\n1.4,rose\\n", "flowers.csv")
    <Problem flowers: 3 x 1, 2 classes>
    """
    _check_options(task, missing)
    path = Path(name)
    return _problem(path, csv_columns(text, path, header), target, task, missing, inputs)


def _check_options(task: str | None, missing: str) -> None:
    if task not in (None, "classification", "regression"):
        raise InputError("task", "be 'classification' or 'regression'", repr(task))
    if missing not in ("error", "drop", "mean"):
        raise InputError("missing", "be 'error', 'drop' or 'mean'", repr(missing))


def _problem(
    path: Path,
    columns: list[Column],
    target: str | int | None,
    task: Task | None,
    missing: Missing,
    inputs: Sequence[str | int] | None,
) -> Problem:
    """The columns of a table as a problem."""
    _check_table(path, columns)
    place = _find(columns, target, path)
    if inputs is not None:
        columns, place = _chosen(columns, place, inputs, path)
    check_not_empty(columns)
    check_finite(columns)
    total = len(columns[0].values)
    columns, whole = _without_gaps(columns, place, missing)
    dropped = 0 if whole is None else total - len(columns[0].values)
    y, classes = _targets(columns[place], task)
    features, X = _inputs([column for i, column in enumerate(columns) if i != place], filled=missing == "mean")
    lost = f"; {plural(dropped, 'row')} with missing values left out" if dropped else ""
    if missing == "mean" and (gaps := int(sum(column.missing.sum() for column in columns))):
        lost = f"; the mean of its column put for {plural(gaps, 'missing value')}"
    return Problem(
        name=path.stem,
        X=X,
        y=y,
        features=features,
        classes=classes,
        description=f"{plural(len(y), 'row')} of {path.name}, predicting {columns[place].name!r}{lost}",
        target=columns[place].name,
        rows=whole,
    )


def _check_table(path: Path, columns: Sequence[Column]) -> None:
    if not columns or len(columns[0].values) == 0:
        raise InputError(f"{path} has no rows of values")
    if len(columns) == 1:
        raise InputError(
            f"{path} has only one column, {columns[0].name!r}; expected at least one to predict from and one to predict"
        )
    twice = [name for name, count in Counter(column.name for column in columns).items() if count > 1]
    if twice:
        raise InputError(f"{path}: more than one column is named {twice[0]!r}; give every column its own name")


def _chosen(columns: Sequence[Column], place: int, inputs: Sequence[str | int], path: Path) -> tuple[list[Column], int]:
    """The input columns and, last, the target's; its place among them."""
    places = [_find(columns, one, path, "inputs") for one in inputs]
    if not places or len(set(places)) < len(places) or place in places:
        raise InputError("inputs", "be different columns, none of them the target", f"{list(inputs)}")
    return [columns[i] for i in (*places, place)], len(places)


def _find(columns: Sequence[Column], target: str | int | None, path: Path, argument: str = "target") -> int:
    """Place of the target column, or of another one named by an argument."""
    names = [column.name for column in columns]
    if target is None:
        return names.index("y") if path.suffix.lower() == ".npz" and "y" in names else len(names) - 1
    if isinstance(target, str) and target in names:
        return names.index(target)
    try:
        place = int(target) if isinstance(target, str) else index(target)
    except (ValueError, TypeError):
        close = get_close_matches(str(target), names, n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        shown = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
        raise InputError(argument, f"be a column of {path}", repr(target), f"{hint}it has: {shown}") from None
    if not -len(names) <= place < len(names):
        raise InputError(argument, f"be a column of {path}, 0 to {len(names) - 1}", f"{place}")
    return place % len(names)


def _without_gaps(
    columns: Sequence[Column], place: int, missing: Missing
) -> tuple[list[Column], NDArray[np.int64] | None]:
    """Columns after missing values were refused or their rows dropped ("mean" fills in later), and the rows left.

    These are None where all are.
    """
    report = missing_report(columns)
    if missing == "drop" and report:
        whole = ~np.logical_or.reduce([column.missing for column in columns])
        if not whole.any():
            raise InputError("missing", "leave rows", f"'drop' with missing values in {report}", "remove columns first")
        return [column.rows(whole) for column in columns], np.flatnonzero(whole)
    if missing == "error" and report:
        hint = "fill them in, or leave out those rows by {0} or take the means of the columns by {1}"
        settings = [("missing", "drop"), ("missing", "mean")]
        raise InputError("data", "have no missing values", report, hint, settings)
    gaps = missing_report([columns[place]])
    if gaps:
        hint = "fill them in, or leave out those rows by {0}"
        raise InputError("target", "have no missing values", gaps, hint, [("missing", "drop")])
    return list(columns), None


def _targets(column: Column, task: Task | None) -> tuple[NDArray[np.int64] | Floats, tuple[str, ...] | None]:
    """What to predict: class numbers and the names of the classes, or values and None."""
    levels, n = column.levels(), len(column.values)
    name = f"column {column.name!r}"
    whole = not column.is_text and bool((column.values == np.round(column.values)).all())
    few = len(levels) <= MOST_LEVELS and 2 * len(levels) <= n
    if len(levels) == 1:
        got = f"{name} with the one value {levels[0]!r} in all {plural(n, 'row')}"
        raise InputError("target", "have different values", got, "there is nothing to learn")
    if task is None:
        task = "classification" if column.is_text or (whole and few) else "regression"
    if task == "regression":
        if column.is_text:
            got = f"{name}, which holds text ({column.values[0]!r})"
            raise InputError("target", "be a column of numbers for a regression", got)
        return column.values, None
    if len(levels) == n > 2 or (len(levels) > MOST_LEVELS and not column.is_text and not whole):
        way = "predict another column" if column.is_text else "predict values by {0}"
        got = f"{name} with {len(levels)} different values in {plural(n, 'row')}"
        raise InputError("target", "have classes", got, way, [("task", "regression")])
    number = {level: k for k, level in enumerate(levels)}
    y = np.array([number[value] for value in column.values.tolist()], np.int64)
    return y, tuple(str(int(level)) if whole else str(level) for level in levels)


def _inputs(columns: Sequence[Column], *, filled: bool) -> tuple[tuple[str, ...], Floats]:
    """Names and numbers (n, d) of all columns but the target, with means for what is missing."""
    encoded = [encode(column) for column in columns]
    features = tuple(name for names, _ in encoded for name in names)
    X = np.concatenate([numbers for _, numbers in encoded], axis=1)
    if filled:
        X = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    return features, X
