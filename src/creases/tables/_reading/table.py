"""Tables as problems."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from creases._options import documents, options_of
from creases._schema import STRING
from creases._text import list_names, list_some, plural
from creases._typing import Floats, Task
from creases._validation import check_arguments, check_number
from creases.errors import InputError
from creases.problems import Problem
from creases.tables._columns.dates import CYCLES, DateFormat
from creases.tables._columns.kinds import ColumnKind, detect_kind, detect_kinds, find_parts, set_codes
from creases.tables._encoding.columns import ColumnSummary, find_lookups
from creases.tables._encoding.encoding import check_finite, describe_choice, encode_target, fit_encoding, label_kind
from creases.tables._reading.columns import Column
from creases.tables._reading.files import csv_columns, frame_columns, read_raw_columns
from creases.tables._reading.options import Missing, Names, ReadOptions

if TYPE_CHECKING:
    import pandas as pd

    from creases.tables._streaming.files import TableFiles

#: Columns that a message describes one by one; more are only named.
DETAILED = 10


@documents(ReadOptions)
def read_table(
    path: str | Path | pd.DataFrame,
    target: str | int | None = None,
    *,
    task: Task | None = None,
    missing: Missing = "indicate",
    header: bool | None = None,
    inputs: Names | None = None,
    drop: Names = (),
    kinds: Mapping[str, str] | None = None,
    codes: Mapping[str, Any] | None = None,
    weight: str | int | None = None,
    exposure: str | int | None = None,
    groups: str | int | None = None,
    time: str | int | None = None,
    missing_marks: Sequence[str] | None = None,
    lookups: bool = False,
) -> Problem:
    r"""Read a table from a CSV, Parquet or NPZ file, or a DataFrame, as a problem.

    The kind of every column is detected: the page *From a table to predictions* lists all kinds, each with an example,
    what it becomes, and how to overrule it. IDs, free text, constant and empty columns are left out;
    :func:`creases.fit_table` tries IDs of numbers, and IDs and free text with values that come again or are missing.

    ``Problem.encoding`` has the kinds (``kinds``, ``describe()``), what was left out and why (``left_out``), where
    every feature comes from (``features``), and encodes new rows in the same way (``transform``). It is fitted to all
    rows and does not look at the target.

    Empty cells, ``NA``, ``N/A``, ``NaN``, ``null`` (in any case), ``None`` and ``?`` are missing values; ``none`` is
    text, as in pandas. In the column to predict only empty cells are, unless it has numbers: classes may be called so.
    ``missing_marks`` names other ones. ``Problem.encoding.read_as_missing`` says what was read as missing.

    A column of a DataFrame is read as its cells in a CSV file are: truth values are ``True`` and ``False``, whole
    numbers too long for a float64 are names if they are not all different as such, spaces around a cell or a name do
    not count. A column without a name is numbered; two columns of one name are refused.

    Parameters
    ----------
    path
        ``.csv``, ``.tsv`` or ``.txt``: cells separated by commas, semicolons, tabs or bars, as UTF-8, UTF-16 or
        Windows-1252 (Latin-1). ``.parquet`` or ``.pq``. ``.npz``: 1-D arrays are columns; a 2-D array ``X`` is columns
        X0, X1, ..., or named by an array ``features``. Or a DataFrame, whose index is ignored.
    {options}

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from creases.tables import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "flowers.csv")
    ...     _ = file.write_text("length;color;bought;kind\n1,5;red;2.1.2024;rose\n0,5;blue;9.1.2024;violet\n")
    ...     table = read_table(file, "kind")
    >>> table.features
    ('length', 'color=blue', 'color=red', 'bought days since 2024-01-02')
    >>> table.encoding.kinds
    {'length': 'number', 'color': 'category', 'bought': 'date', 'kind': 'category'}

    A DataFrame works as well:

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"age": [31, 42, 25], "member": ["yes", "no", "yes"], "spent": [10.5, 7.25, 9.0]})
    >>> read_table(frame, "spent").features
    ('age', 'member=yes')
    """
    options = locals()
    return read_with(path, ReadOptions(**{name: options[name] for name in options_of(ReadOptions)}))


def read_with(path: str | Path | pd.DataFrame, options: ReadOptions) -> Problem:
    """Read a table as :func:`read_table` does."""
    if isinstance(path, str | Path):
        return make_problem(Path(path), read_raw_columns(Path(path), options.header), options)
    if not hasattr(path, "columns") or not hasattr(path, "iloc"):
        raise InputError("path", "be the name of a file or a DataFrame", type(path).__name__)
    return make_problem(Path("table"), frame_columns(path), options)


@check_arguments(text=STRING, name=STRING)
def parse_table(
    text: str, name: str = "table.csv", target: str | int | None = None, *, header: bool | None = None, **options: Any
) -> Problem:
    r"""Return the text of a CSV file as a problem; ``name`` is its file name, the rest as in :func:`read_table`.

    Examples
    --------
    >>> from creases.tables import parse_table
    >>> parse_table("length,kind\n1.5,rose\n0.5,violet\n1.4,rose\n", "flowers.csv")
    <Problem flowers: 3 x 1, 2 classes>
    """
    path = Path(name)
    reading = ReadOptions(target=target, header=header, **options)
    return make_problem(path, csv_columns(text, path, header), reading)


def make_problem(
    path: Path,
    columns: list[Column],
    options: ReadOptions,
    *,
    also: Collection[str] = (),
    name: str | None = None,
    source: str | None = None,
) -> Problem:
    """Return the columns of a table as a problem.

    Columns in ``also`` are used although they look like IDs. Messages call the table by its path. So do the problem and
    its description, unless they are given a name and a source of the rows.
    """
    columns = with_parts(path, columns, options)
    places = {use: _find_column(columns, each, path, use) for use, each in options.aside.items()}
    missing, options = (
        options.missing,
        replace(options, drop=(*options.drop, *(k for use, k in places.items() if use != "time"))),
    )
    position, found, uses = choose_columns(path, columns, options, also)
    raw, columns = columns, [kind.read(column) for column, kind in zip(columns, found, strict=True)]
    if "time" in places:
        found = [_drop_single_cycles(kind, column) for kind, column in zip(found, columns, strict=True)]
    wider = None
    if doubtful := doubtful_columns(columns, found, uses, missing):
        wider = make_problem(path, raw, options, also=doubtful, name=name, source=source)
    used = [k for k, use in enumerate(uses) if use != "left out"]
    triples = zip(raw, columns, found, strict=True)
    gaps = [(int(column.missing.sum()), kind.gaps(cells, column)) for cells, column, kind in triples]
    check_finite([columns[k] for k in used], [found[k] for k in used])
    columns, rows, changes = _handle_missing(path, columns, uses, missing)
    found = find_lookups(columns, found, uses) if options.lookups else found
    y, classes = encode_target(columns[position], found[position], options.task)
    sizes: dict[str, Any] = {use: _read_sizes(columns[k], use) for use, k in places.items() if use in _SIZES}
    if places.keys() - _SIZES:
        together, order = (columns[places[use]] if use in places else None for use in ("groups", "time"))
        for use in places.keys() - _SIZES:
            _check_present(use, columns[places[use]], raw[places[use]], rows)
        sizes |= {"groups": number_groups(together, order), "is_time": order is not None}
    if "exposure" in places:
        if classes is not None:
            raise InputError("exposure", "be given for a target of numbers", "classes", "use {0}",
                             [("task", "regression")])  # fmt: skip
        y = y / sizes["exposure"]
        changes += f"; {columns[position].name!r} is for one unit of {columns[places['exposure']].name!r}"
    changes += describe_choice(columns[position], classes) if options.task is None else ""
    target_facts: dict[str, Any] = {"task": "regression" if classes is None else "classification", "classes": classes}
    target_facts["labels"] = "text" if classes is None else label_kind(columns[position])
    inputs = [k for k, use in enumerate(uses) if use == "input"]
    summaries = [ColumnSummary.of(found[k], columns[k]) for k in inputs]
    encoding = fit_encoding(summaries, found, uses, missing, gaps, **target_facts)
    X = encoding.transform_columns([columns[k] for k in used]).X
    return Problem(
        name=path.stem if name is None else name,
        X=X,
        y=y,
        features=tuple(feature.name for feature in encoding.features),
        classes=classes,
        description=f"{plural(len(y), 'row')} of {source or path.name}, predicting {columns[position].name!r}{changes}",
        target=columns[position].name,
        rows=rows,
        encoding=encoding,
        **sizes,
        wider=wider,
    )


def with_parts(path: Path, columns: list[Column], options: ReadOptions) -> list[Column]:
    """Return columns and, behind them, the parts of those that are inputs and have some."""
    names = [column.name for column in columns]
    if not columns or any(column.part is not None for column in columns):
        return columns
    aside = [*options.drop, *options.aside.values()]
    known = [name for name in aside if isinstance(name, int) or (isinstance(name, str) and name in names)]
    others = {names[_find_column(columns, name, path)] for name in (options.target, *known)}
    kinds = {each: kind for each, kind in (options.kinds or {}).items() if each in names or isinstance(each, int)}
    kinds = {names[_find_column(columns, each, path)]: kind for each, kind in kinds.items()}

    def are_names(column: Column) -> bool:
        return detect_kind(column).kind in ("category", "ID", "text")

    return [*columns, *find_parts(columns, others, kinds, options.marks, are_names)]


#: Cycles of months, weekdays and hours that later rows can be predicted from.
LEAST_CYCLES = 1.5


def _drop_single_cycles(kind: ColumnKind, column: Column) -> ColumnKind:
    """Return the kind of a date without parts that have hardly come again, which are as likely steps of a trend."""
    if not isinstance(kind.codec, DateFormat) or not len(column.present):
        return kind
    days = (column.present.max() - column.present.min()) / np.timedelta64(1, "D")
    single = [part for part in kind.codec.parts if part in CYCLES and days < LEAST_CYCLES * CYCLES[part]]
    if not single:
        return kind
    parts = tuple(part for part in kind.codec.parts if part not in single)
    note = f"without its {list_some(single)}: less than {LEAST_CYCLES:g} cycles are no pattern for later rows"
    note = "; ".join(filter(None, (kind.note, note)))
    return replace(kind, codec=replace(kind.codec, parts=parts), note=note)


#: Columns that measure rows.
_SIZES = ("weight", "exposure")


def number_groups(together: Column | None, order: Column | None) -> NDArray[np.int64]:
    """Return the number (n,) of each row's group; with times these rise, those of groups as their last row."""
    for column, use in ((together, "groups"), (order, "time")):
        if column is not None:
            _check_present(use, column, column, None)
    if order is not None and order.is_text:
        got = f"{order.name!r} with cells such as {list_names(order.levels()[:3])}"
        raise InputError("time", "be a column of dates or numbers", got)
    if order is None:
        assert together is not None
        return np.unique(together.values.astype(str), return_inverse=True)[1].reshape(-1).astype(np.int64)
    when = np.unique(order.values, return_inverse=True)[1].reshape(-1)
    if together is None:
        return when.astype(np.int64)
    which = np.unique(together.values.astype(str), return_inverse=True)[1].reshape(-1)
    last = np.zeros(which.max() + 1, np.int64)
    np.maximum.at(last, which, when)
    rank = np.empty(len(last), np.int64)
    rank[np.argsort(last, kind="stable")] = np.arange(len(last))
    return rank[which]


def _check_present(use: str, column: Column, raw: Column, rows: NDArray[np.int64] | None) -> None:
    """Refuse a column with missing values in the numbered rows of its table, naming the first of its cells."""
    gaps = np.flatnonzero(column.missing)
    if len(gaps):
        numbers = (gaps if rows is None else rows[gaps])[:3].tolist()
        cells = {k: raw.values[k] if raw.is_text else None for k in numbers}
        listing = [f"{repr(cell) if cell else 'an empty cell'} in row {k}" for k, cell in cells.items()]
        got = f"{column.name!r} with {plural(len(gaps), 'such cell')}: {', '.join(listing)} (rows count from 0)"
        expected = f"be a column with a {'date or number' if use == 'time' else 'value'} in every row"
        raise InputError(use, expected, got, "fill these cells, or leave their rows out")


def _read_sizes(column: Column, use: str) -> Floats:
    """Return weights or exposures (n,) of rows."""
    values = column.values
    if column.is_text or column.missing.any() or not np.isfinite(np.asarray(values, np.float64)).all():
        raise InputError(use, "be a column of numbers without missing values", repr(column.name))
    values = np.asarray(values, np.float64)
    if values.min() < 0 or (use == "exposure" and values.min() == 0) or not values.any():
        raise InputError(use, f"be a column of numbers {'above 0' if use == 'exposure' else 'from 0 on, some above'}",
                         f"{values.min():g} in {column.name!r}")  # fmt: skip
    return values


def _chosen_columns(path: Path, columns: Sequence[Column], target: int, inputs: Names | None, drop: Names) -> list[int]:
    """Return the positions of the columns that may be inputs."""
    dropped = {_find_column(columns, name, path, "drop") for name in drop}
    if target in dropped:
        raise InputError("drop", "not hold the target", repr(columns[target].name))
    if inputs is None:
        return [k for k in range(len(columns)) if k != target and k not in dropped]
    positions = [_find_column(columns, name, path, "inputs") for name in inputs]
    sources = {columns[k].name for k in positions}
    positions += [k for k, each in enumerate(columns) if each.part is not None and each.part.source in sources]
    if not positions or len(set(positions)) < len(positions) or target in positions:
        raise InputError("inputs", "be different columns without the target", f"{list(inputs)}")
    if clash := dropped & set(positions):
        raise InputError("drop", "not hold inputs", repr(columns[min(clash)].name))
    return sorted(positions)


def _check_inputs(
    path: Path, columns: Sequence[Column], kinds: Sequence[ColumnKind], uses: list[Any], inputs: Names | None
) -> None:
    """Refuse a table without a usable input or target, and inputs that were chosen but cannot be used."""
    target = kinds[uses.index("target")]
    if target.left_out or target.codec.is_moment:
        got = f"{target.name!r} with {target.codec.plural if target.codec.is_moment else target.note}"
        raise InputError("target", "be a column of numbers or classes", got)
    unused = [
        kind for kind, use in zip(kinds, uses, strict=True) if use == "left out" and kind.left_out and not kind.is_split
    ]
    listing = ", ".join(f"column {kind.name!r} ({kind.kind}: {kind.note})" for kind in unused)
    if len(unused) > DETAILED:
        names: dict[str, list[str]] = {}
        for kind in unused:
            names.setdefault(kind.kind, []).append(kind.name)
        listing = "; ".join(f"columns that are {what} ({list_names(group)})" for what, group in names.items())
    if inputs is not None and any(kind.name in {columns[_find_column(columns, name, path)].name for name in inputs}
                                  for kind in unused):  # fmt: skip
        raise InputError("inputs", "be columns with values", listing)
    if "input" not in uses:
        raise InputError(
            str(path),
            "have a column to predict from",
            listing or f"only {target.name!r}",
            "to use one anyway, set {0}" if listing else "",
            [("inputs", unused[0].name)] if listing else (),
        )


def _find_column(columns: Sequence[Column], target: str | int | None, path: Path, param: str = "target") -> int:
    """Return the position of the target column, or of a column of another parameter."""
    names = [column.name for column in columns]
    target = target.strip() if isinstance(target, str) else target
    n = sum(column.part is None for column in columns)  # parts of columns are behind these
    if target is None:
        return names.index("y") if path.suffix.lower() == ".npz" and "y" in names else n - 1
    if isinstance(target, str) and target in names:
        return names.index(target)
    try:
        position = int(target) if isinstance(target, str) else index(target)
    except (ValueError, TypeError):
        close = get_close_matches(str(target), names, n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        listing = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
        raise InputError(param, f"be a column of {path}", repr(target), f"{hint}it has: {listing}") from None
    if not -n <= position < n:
        raise InputError(param, f"be a column of {path}, from 0 to {n - 1}", f"{position}")
    return position % n


def _handle_missing(
    path: Path, columns: list[Column], uses: Sequence[str], missing: Missing
) -> tuple[list[Column], NDArray[np.int64] | None, str]:
    """Refuse missing values, or drop rows: those without a target, or those with any missing value.

    Return the columns, the numbers of the rows that are left (None if all are), and what to say about it.
    """
    used = [column for column, use in zip(columns, uses, strict=True) if use != "left out"]
    target = columns[uses.index("target")]
    report = missing_report(used)
    refuse_missing(report, missing)
    lacking = used if missing == "drop" else [target]
    complete = ~np.any([column.missing for column in lacking], axis=0)
    if complete.all():
        return columns, None, _say_filled(used, missing)
    if not complete.any():
        if missing == "drop":
            raise InputError(
                "missing", "leave some rows", f"'drop' with missing values in {report}", "leave columns out first"
            )
        raise InputError("target", "have values", f"none in column {target.name!r} of {path}")
    dropped = plural(int((~complete).sum()), "row")
    why = "missing values" if missing == "drop" else f"no {target.name!r}"
    left = [column.rows(complete) for column in columns]
    filled = _say_filled([column for column, use in zip(left, uses, strict=True) if use == "input"], missing)
    return left, np.flatnonzero(complete), f"; {dropped} with {why} dropped{filled}"


def refuse_missing(report: str, missing: Missing) -> None:
    """Refuse missing values, by a list of the columns that have some, where a table is to have none."""
    if missing == "error" and report:
        hint = "fill them in, drop those rows with {0}, or add an indicator column with {1}"
        settings = [("missing", "drop"), ("missing", "indicate")]
        raise InputError("data", "have no missing values", report, hint, settings)


def _say_filled(columns: Sequence[Column], missing: Missing) -> str:
    gaps = int(sum(column.missing.sum() for column in columns))
    if not gaps or missing not in ("indicate", "mean"):
        return ""
    said = "marked by indicator columns" if missing == "indicate" else "filled with the column mean"
    return f"; {plural(gaps, 'missing value')} {said}"


def missing_report(columns: Sequence[Column]) -> str:
    """List the columns with missing values: ``'age' 3 (the first in row ...), 'cabin' 1 (...)``; empty if none."""
    parts = []
    for column in columns:
        gaps = column.missing
        if gaps.any():
            first = f"(the first in row {int(gaps.argmax())}, counted from 0)"
            parts.append(f"{column.name!r} {int(gaps.sum())} {first}")
    return list_some(parts)


def read_inputs(frame: pd.DataFrame, target: str, **options: Any) -> Problem:
    """Return the rows of a DataFrame as a problem whose target, of this name, nobody has looked at."""
    inputs = frame_columns(frame)
    name = target + "'" * sum(column.name.rstrip("'") == target for column in inputs)  # not one of theirs
    columns = [*inputs, Column(name, np.arange(float(len(frame))))]
    return make_problem(Path("table"), columns, ReadOptions(target=name, task="regression", **options))


def choose_columns(
    path: Path, columns: list[Column], options: ReadOptions, also: Collection[str] = ()
) -> tuple[int, list[ColumnKind], list[str]]:
    """Return the position of the target, the kinds of the columns, and the use of each: input, target or left out."""
    if not columns or len(columns[0].values) == 0:
        raise InputError(str(path), "have rows of values", "none")
    if len(columns) == 1:
        raise InputError(str(path), "have at least two columns, an input and a target", f"only {columns[0].name!r}")
    position = _find_column(columns, options.target, path)
    chosen = _chosen_columns(path, columns, position, options.inputs, options.drop)
    given = (options.kinds or {}).items()
    by_name = {columns[_find_column(columns, name, path, "kinds")].name: kind for name, kind in given}
    names = {columns[k].name for k in chosen} if options.inputs is not None else set()
    target = columns[position].name
    kinds = detect_kinds(columns, given=by_name, wanted=names | {target}, target=target, marks=options.marks)
    if all(kinds[k].left_out for k in chosen):  # a number that looks like an ID is better than nothing
        also = {*also, *(kinds[k].name for k in chosen if kinds[k].is_counter)}
    uses = ["left out"] * len(columns)
    for k, kind in enumerate(kinds):
        if k in chosen and kind.name in also:
            kinds[k] = replace(kind, kind="ID" if kind.is_counter else "category", left_out=False)
        elif k not in (*chosen, position):
            kinds[k] = replace(kind, left_out=False)  # the user leaves it out
    for k in chosen:
        uses[k] = "left out" if kinds[k].left_out else "input"
    uses[position] = "target"
    _check_inputs(path, columns, kinds, uses, options.inputs)
    for name, numbers in (options.codes or {}).items():
        k = _find_column(columns, name, path, "codes")
        kinds[k] = set_codes(kinds[k], numbers)
    return position, kinds, uses


def doubtful_columns(
    columns: Sequence[Column], kinds: Sequence[ColumnKind], uses: Sequence[str], missing: Missing
) -> list[str]:
    """Return the columns that were left out and may still predict, by name; columns have been read.

    These are IDs of numbers, and IDs and free text whose values come again or are missing in some rows.
    """
    names = []
    for column, kind, use in zip(columns, kinds, uses, strict=True):
        if use == "left out" and kind.left_out and kind.kind in ("ID", "text"):
            has_gaps = bool(column.missing.any())
            is_refused = has_gaps and missing in ("drop", "error")
            if not is_refused and (kind.is_counter or len(column.levels()) < len(column.values)):
                names.append(kind.name)
    return names


#: Bytes of a file of text that fits into any memory.
SMALL_TEXT = 2**20


def find_table_files(table: Any, *, header: bool | None = None, max_memory: float | None = None) -> TableFiles | None:
    """Return the files of a table that is to be read in blocks; None for one that is read as a whole."""
    if max_memory is not None:
        check_number(max_memory, "max_memory", above=0)
    if not isinstance(table, str | Path) and not type(table).__module__.startswith("pyarrow"):
        return None
    path = Path(table).expanduser() if isinstance(table, str | Path) else Path()
    is_text = path.suffix.lower() == ".csv" and path.is_file()  # which takes little memory
    if max_memory is None and is_text and path.stat().st_size <= SMALL_TEXT:
        return None
    from creases.tables._streaming.files import find_files  # imports pyarrow

    return find_files(table, header=header, max_memory=max_memory)
