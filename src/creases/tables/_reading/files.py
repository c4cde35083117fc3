"""Tables in files or in memory, as columns."""

from __future__ import annotations

import codecs
import csv
import io
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import dropwhile, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from creases._files import open_npz, open_regular, read_bytes
from creases._text import in_one_line, plural
from creases.errors import FileError, InputError
from creases.tables._columns.numbers import find_format
from creases.tables._reading.columns import Column, check_letters, from_texts, from_values, half_letter, to_number

if TYPE_CHECKING:
    import pandas as pd


# Text files with one row per line: encoding, separator, names, cells.

DELIMITERS = (",", ";", "\t", "|")

#: Lines, and characters, from which the separator is chosen.
PROBE_LINES, PROBE_CHARACTERS = 50, 10**6

#: Lines or columns that a message names at most.
NAMED = 10

#: Columns of a table at most: with more, every later step takes minutes.
MAX_COLUMNS = 10_000

BYTE_ORDER_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


def decode(content: bytes, path: Path) -> str:
    """Return the text of a file: UTF-8 or UTF-16 by its byte order mark, else UTF-8, else Windows-1252."""
    encoding = find_encoding(content)
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError:
        if encoding != "utf-8":
            raise FileError(f"cannot read {path}: it is damaged {encoding.upper()} text") from None
        text = content.decode("cp1252", errors="replace")  # what Excel writes in the West; latin-1 is a part of it
    if "\0" in text:
        raise FileError(f"cannot read {path}: it is not text; save the table as CSV")
    return text


def find_encoding(content: bytes) -> str:
    """Return the kind of Unicode of a text by its beginning: "utf-8" where nothing shows another."""
    marked = (name for mark, name in BYTE_ORDER_MARKS.items() if content.startswith(mark))
    return next(marked, "") or _utf16_without_mark(content) or "utf-8"


def _utf16_without_mark(content: bytes) -> str:
    """Return the kind of UTF-16 by where the zero bytes are, as separators are ASCII; "" if there are few."""
    head = content[:2000]
    even, odd = head[::2].count(0), head[1::2].count(0)
    if max(even, odd) < len(head) / 8:
        return ""
    return "utf-16-le" if odd > even else "utf-16-be"


def csv_columns(text: str, path: Path, header: bool | None) -> list[Column]:
    """Return the columns of the text of a CSV file; ``path`` is its name in messages.

    An empty line is a row without cells, so that rows keep their numbers; before the first row and after the last one
    it is none.
    """
    text = text.removeprefix("\ufeff")
    if not text.strip():
        raise InputError(str(path), "have a row of column names and rows of values", "an empty file")
    delimiter = find_delimiter(text)
    first = text.lstrip().split("\n", 1)[0]
    if first.strip(delimiter).strip():
        check_width(path, first.count(delimiter) + 1)
    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True, strict=True)
        every = [(reader.line_num, row if any(map(str.strip, row)) or len(row) > 1 else []) for row in reader]
    except csv.Error as error:
        raise FileError(f"cannot read {path}: it is not in CSV format ({error})") from None
    lines = list(dropwhile(lambda line: not any(map(str.strip, line[1])), every))
    if not lines:
        raise InputError(str(path), "have rows of values", "only separators")
    while not lines[-1][1]:
        lines.pop()
    names = _names(path, lines[0][1], header)
    body = lines if names is None else lines[1:]
    filled = [row for _, row in body if row]
    if names is None:
        names = [""] * len(lines[0][1])
    elif body and all(len(row) == len(names) + 1 for row in filled) and any(row[-1].strip() for row in filled):
        names = ["", *names]  # R writes no name above the names of the rows
    cells = [_fit(row, len(names)) if row else [""] * len(names) for _, row in body]
    _check_lengths(path, names, [line for line, _ in body], cells)
    columns = zip(*cells, strict=True) if cells else ((),) * len(names)
    return [from_texts(name, column) for name, column in zip(distinct_names(names), columns, strict=True)]


def probe_csv(text: str, path: Path, header: bool | None) -> tuple[list[str], int, str]:
    """Return the names of the columns, the lines before the first row of cells, and the separator of a CSV file.

    ``text`` is its beginning.
    """
    names = [column.name for column in csv_columns(text, path, header)]
    delimiter = find_delimiter(text)
    row, last = first_row(io.StringIO(text.removeprefix("\ufeff"), newline=""), delimiter)
    return names, last if _names(path, row, header) is not None else last - 1, delimiter


def first_row(lines: Iterable[str], delimiter: str) -> tuple[list[str], int]:
    """Return the cells of the first row of a CSV file that is not empty, and the number of its last line, from 1.

    No more is read; if all rows are empty, it has no cells.
    """
    reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=True)
    row = next((row for row in reader if any(map(str.strip, row))), [])
    return [cell.strip() for cell in row], reader.line_num


def check_width(path: Path, count: int) -> None:
    """Refuse a table of more columns than can be used, before time is spent on them."""
    if count > MAX_COLUMNS:
        most = f"have at most {MAX_COLUMNS:,} columns"
        raise InputError(str(path), most, f"{count:,}", "write the columns that matter to a file of their own")


def find_delimiter(text: str) -> str:
    """Return the separator that gives the first lines the same number of cells, as many as possible."""
    head = text[:PROBE_CHARACTERS]
    if len(head) < len(text) and "\n" in head:
        head = head[: head.rindex("\n")]  # without the line that is cut
    lines = [line for line in islice(io.StringIO(head, newline=None), PROBE_LINES) if line.strip()]

    def score(delimiter: str) -> tuple[bool, int]:
        try:
            counts = [len(row) for row in csv.reader(lines, delimiter=delimiter, skipinitialspace=True) if row]
        except csv.Error:
            return False, 0
        return counts[0] > 1 and len(set(counts)) == 1, counts[0]

    return max(DELIMITERS, key=score)


def _fit(row: list[str], width: int) -> list[str]:
    """Return a row without the empty cells behind its last column, which separators at the ends of lines make."""
    while len(row) > width and not row[-1].strip():
        row = row[:-1]
    return row


def _check_lengths(path: Path, names: Sequence[str], lines: Sequence[int], cells: Sequence[Sequence[str]]) -> None:
    wrong = [(line, len(row)) for line, row in zip(lines, cells, strict=True) if len(row) != len(names)]
    if not wrong:
        return
    listing = ", ".join(f"{line} with {count}" for line, count in wrong[:NAMED])
    more = f" and {plural(len(wrong) - NAMED, 'more line')}" if len(wrong) > NAMED else ""
    what = "line" if len(wrong) == 1 else "lines"
    raise InputError(
        f"every line of {path}",
        f"have {plural(len(names), 'cell')}, as the first",
        f"{what} {listing}{more}",
        f"correct {'that line' if len(wrong) == 1 else 'those lines'}",
    )


def _names(path: Path, first: list[str], header: bool | None) -> list[str] | None:
    """Return the column names if the first row has them, None if it is data."""
    first = [cell.strip() for cell in first]
    numbers = sum(to_number(cell) is not None for cell in first)
    if header is None:
        if 0 < numbers < len(first) - first.count(""):
            raise InputError(
                "data",
                "have a first row of names or of data",
                f"{path} with both numbers and text in it: {', '.join(first)[:80]}",
                "say which with {0} or {1}",
                [("header", True), ("header", False)],
            )
        header = numbers == 0
    return first if header else None


def distinct_names(names: Sequence[str]) -> list[str]:
    """Return names of columns, without spaces around them; one without a name is numbered, a second one refused."""
    result = [name.strip() or f"column {k}" for k, name in enumerate(names)]
    if twice := [name for name, count in Counter(result).items() if count > 1]:
        hint = "rename or remove one of them: nobody could tell which is meant"
        raise InputError("data", "have a different name for each column", f"{twice[0]!r} more than once", hint)
    check_letters(result, " in the name of a column")
    return result


INDEX = "__index_level_"  # how pandas names the row labels it saves in a Parquet file


def read_columns(path: Path, header: bool | None = None) -> list[Column]:
    """Read the columns of a .csv, .tsv, .txt, .parquet, .pq or .npz file, text that spells numbers as numbers."""
    columns = read_raw_columns(path, header)
    formats = [find_format(column) if column.is_text else None for column in columns]
    return [
        column if form is None or (np.isnan(form[1]) & ~column.missing).any() else replace(column, values=form[1])
        for column, form in zip(columns, formats, strict=True)
    ]


def read_raw_columns(path: Path, header: bool | None) -> list[Column]:
    """Read the columns of a file; those of a text file are text."""
    ending = path.suffix.lower()
    if path.is_dir():
        raise FileError(f"cannot read {path}: it is a folder; give the name of a file")
    if not path.exists():
        raise FileError(f"cannot read {path}: there is no such file")
    if ending in (".csv", ".tsv", ".txt"):
        return csv_columns(decode(read_bytes(path), path), path, header)
    if ending in (".parquet", ".pq"):
        return read_parquet(path)
    if ending == ".npz":
        return read_npz(path)
    raise FileError(f"cannot read {path}: its format is unknown; the name must end in .csv, .parquet or .npz")


def frame_columns(frame: pd.DataFrame) -> list[Column]:
    """Return the columns of a DataFrame; its index is left out."""
    from pandas.api import types

    columns = []
    for k, name in enumerate(distinct_names([str(name) for name in frame.columns])):
        series = frame.iloc[:, k]
        is_plain = isinstance(series.dtype, np.dtype) and series.dtype.kind in "biucM"
        if types.is_float_dtype(series.dtype):
            values = series.to_numpy(np.float64, na_value=np.nan)
        else:
            values = series.to_numpy() if is_plain else series.astype(object).to_numpy()
        columns.append(from_values(name, values))
    return columns


def row_columns(rows: Any, names: Sequence[str], header: bool | None = None) -> list[Column]:
    """Return rows as columns: a file, a DataFrame, mappings, or an array (n, d) in the order of ``names``."""
    if isinstance(rows, str | Path):
        return read_raw_columns(Path(rows), header)
    try:
        return frame_columns(_frame(rows, names))
    except UnicodeEncodeError as error:  # of pandas, which makes strings of Arrow
        raise half_letter("", error) from None


def _frame(rows: Any, names: Sequence[str]) -> pd.DataFrame:
    """Return rows in memory as a DataFrame."""
    import pandas as pd

    if isinstance(rows, pd.DataFrame):
        return rows
    if isinstance(rows, pd.Series):
        return rows.to_frame().T
    if isinstance(rows, Mapping):
        is_row = all(np.ndim(value) == 0 for value in rows.values())
        return pd.DataFrame([rows] if is_row else dict(rows))
    if isinstance(rows, Sequence) and rows and isinstance(rows[0], Mapping):
        return pd.DataFrame(list(rows))
    values = np.asarray(rows, None if isinstance(rows, np.ndarray) else object)
    values = values[None] if values.ndim == 1 else values
    if values.ndim != 2 or values.shape[1] != len(names):
        raise InputError("rows", f"have {len(names)} columns: {', '.join(names[:20])}", f"shape {values.shape}")
    return pd.DataFrame(values, columns=list(names))


def read_parquet(path: Path) -> list[Column]:
    """Read the columns of a Parquet file."""
    import pyarrow.parquet

    from creases.tables._reading.arrow import arrow_column  # imports pyarrow

    try:
        with open_regular(path) as opened:
            start = opened.read(4)
    except OSError as problem:
        raise FileError(f"cannot read {path}: {problem.strerror}") from None
    if start != b"PAR1":
        raise FileError(f"cannot read {path}: it is not a Parquet file (it does not start with PAR1), or damaged")
    try:
        file = pyarrow.parquet.ParquetFile(path)
        check_width(path, len(file.schema_arrow))
        table = file.read()
        table = table.select([k for k, name in enumerate(table.column_names) if not name.startswith(INDEX)])
        names = distinct_names(table.column_names)
        pairs = zip(names, table.columns, strict=True)
        return [arrow_column(name, column.combine_chunks(), is_text_file=False).expand() for name, column in pairs]
    except InputError:
        raise
    except (OSError, ValueError, NotImplementedError) as error:  # pyarrow's errors are among these
        raise FileError(f"cannot read {path} as Parquet: {in_one_line(error)}") from None


def read_npz(path: Path) -> list[Column]:
    """Read the columns of an .npz file: every 1-D array is one, a 2-D array several.

    Those of ``X`` are named X0, X1, ... or as an array ``features`` names them.
    """
    try:
        with open_npz(path) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except (OSError, ValueError) as error:
        raise FileError(f"cannot read {path} as .npz arrays of numbers or text: {error}") from None
    check_width(path, sum(array.shape[1] if array.ndim == 2 else 1 for array in arrays.values()))
    features = arrays.pop("features", None)
    columns: list[Column] = []
    for name, array in arrays.items():
        if array.ndim == 1:
            columns.append(from_values(name, array))
        elif array.ndim == 2:
            columns += _columns_of(path, name, array, features if name == "X" else None)
        else:
            raise InputError(f"{name} in {path}", "have shape (n,) or (n, d)", f"{array.shape}")
    lengths = {column.name: len(column.values) for column in columns}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name} {length}" for name, length in list(lengths.items())[:10])
        raise InputError(str(path), "have arrays with the same number of rows", listed)
    names = distinct_names([column.name for column in columns])
    return [replace(column, name=name) for name, column in zip(names, columns, strict=True)]


def _columns_of(path: Path, name: str, array: NDArray[Any], features: NDArray[Any] | None) -> list[Column]:
    if features is not None:
        names = [str(feature) for feature in features.ravel()]
    else:
        names = [name] if array.shape[1] == 1 else [f"{name}{i}" for i in range(array.shape[1])]
    if len(names) != array.shape[1]:
        raise InputError(
            f"features in {path}", f"be {array.shape[1]} names, one for each column of {name}", f"{len(names)}"
        )
    return [from_values(feature, array[:, i]) for i, feature in enumerate(names)]


def is_stream(table: Any) -> bool:
    """Return whether a table is a stream of rows, such as a relation of DuckDB, and no DataFrame of pandas."""
    return hasattr(table, "__arrow_c_stream__") and not hasattr(table, "iloc")
