"""Tables in files: CSV, Parquet and NPZ, as columns."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from creases._files import open_npz
from creases.errors import FileError, InputError
from creases.problems.images._folder import read_bytes
from creases.problems.tables._columns import Column, from_texts, to_number

DELIMITERS = (",", ";", "\t", "|")
PANDAS_MISSING = ("NAType", "NaTType")  # what pandas puts for a missing value; it need not be installed
INDEX = "__index_level_"  # how pandas names the row labels it saves in a Parquet file


def read_columns(path: Path, header: bool | None) -> list[Column]:
    """Read the columns of a .csv, .tsv, .txt, .parquet, .pq or .npz file."""
    ending = path.suffix.lower()
    if path.is_dir():
        raise FileError(f"cannot read {path}: it is a folder; give the name of a file")
    if not path.exists():
        raise FileError(f"cannot read {path}: there is no such file")
    if ending in (".csv", ".tsv", ".txt"):
        return read_csv(path, header)
    if ending in (".parquet", ".pq"):
        return read_parquet(path)
    if ending == ".npz":
        return read_npz(path)
    raise FileError(f"cannot read {path}: its format is unknown; the name must end in .csv, .parquet or .npz")


def read_csv(path: Path, header: bool | None) -> list[Column]:
    """Read the columns of a text file with one row per line, separated by commas, semicolons, tabs or bars."""
    try:
        text = read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileError(f"cannot read {path}: it is not UTF-8 text (byte {error.start}); save it as UTF-8") from None
    return csv_columns(text, path, header)


def csv_columns(text: str, path: Path, header: bool | None) -> list[Column]:
    """Return the columns of the text of a CSV file; ``path`` is its name in messages."""
    if not text.strip():
        raise InputError(str(path), "have a row of column names and rows of values", "an empty file")
    try:
        delimiter = _delimiter(next(line for line in text.splitlines() if line.strip()))
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True, strict=True)
        lines = [(rows.line_num, row) for row in rows if any(cell.strip() for cell in row)]
    except csv.Error as error:
        raise FileError(f"cannot read {path}: it is not in CSV format ({error})") from None
    names = _names(path, lines[0][1], header)
    body = lines if names is None else lines[1:]
    if names is None:
        names = [f"column {i}" for i in range(len(lines[0][1]))]
    for line, row in body:
        if len(row) != len(names):
            raise InputError(
                f"line {line} of {path}", f"have {len(names)} cells, as the first", f"{len(row)}", "correct that line"
            )
    cells = zip(*(row for _, row in body), strict=True) if body else ((),) * len(names)
    return [from_texts(name, column) for name, column in zip(names, cells, strict=True)]


def _delimiter(line: str) -> str:
    """Return the delimiter that splits the first line into the most cells."""
    return max(DELIMITERS, key=lambda delimiter: len(next(csv.reader([line], delimiter=delimiter))))


def _names(path: Path, first: list[str], header: bool | None) -> list[str] | None:
    """Return the column names if the first row has them, None if it is data."""
    first = [cell.strip() for cell in first]
    numbers = sum(to_number(cell) is not None for cell in first)
    if header is None:
        if 0 < numbers < len(first):
            raise InputError(
                "data",
                "have a first row of names or of data",
                f"{path} with both numbers and text in it: {', '.join(first)[:80]}",
                "say which by {0} or {1}",
                [("header", True), ("header", False)],
            )
        header = numbers == 0
    if not header:
        return None
    if "" in first:
        place = first.index("")
        raise InputError(
            f"column {place} of {path}",
            "have a name",
            "none",
            "name it in the first row, or remove it if it has only row numbers",
        )
    return first


def read_parquet(path: Path) -> list[Column]:
    """Read the columns of a Parquet file, with pyarrow if it is installed, else with pandas."""
    with path.open("rb") as file:
        start = file.read(4)
    if start != b"PAR1":
        raise FileError(f"cannot read {path}: it is not a Parquet file (it does not start with PAR1), or damaged")
    try:
        columns = _with_pyarrow(path)
        if columns is None:
            columns = _with_pandas(path)
    except (OSError, ValueError, NotImplementedError) as error:  # pyarrow's errors are among these
        raise FileError(f"cannot read {path} as Parquet: {error}") from None
    if columns is None:
        raise FileError(f"cannot read {path}: Parquet needs pyarrow; pip install pyarrow, or save it as CSV or NPZ")
    return [from_values(name, values) for name, values in columns]


def _with_pyarrow(path: Path) -> list[tuple[str, NDArray[Any]]] | None:
    try:
        parquet = import_module("pyarrow.parquet")
    except ImportError:
        return None
    table = parquet.ParquetFile(path).read()
    columns = zip(table.column_names, table.columns, strict=True)
    return [(str(name), _objects(column.to_pylist())) for name, column in columns if not name.startswith(INDEX)]


def _with_pandas(path: Path) -> list[tuple[str, NDArray[Any]]] | None:
    try:
        frame = import_module("pandas").read_parquet(path)
    except ImportError:
        return None
    return [(str(name), frame.iloc[:, i].to_numpy()) for i, name in enumerate(frame.columns)]


def _objects(values: Iterable[Any]) -> NDArray[Any]:
    listed = list(values)
    result = np.empty(len(listed), object)
    result[:] = listed
    return result


def read_npz(path: Path) -> list[Column]:
    """Read the columns of an .npz file: every 1-D array is one, a 2-D array several.

    Those of ``X`` are named X0, X1, ... or as an array ``features`` names them.
    """
    try:
        with open_npz(path) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except (OSError, ValueError) as error:
        raise FileError(f"cannot read {path} as .npz arrays of numbers or text: {error}") from None
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
    return columns


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


def from_values(name: str, values: NDArray[Any]) -> Column:
    """Return a column of typed values; raise an error unless they are numbers or text."""
    if values.dtype.kind in "biuf":
        return Column(name, values.astype(np.float64))
    if values.dtype.kind == "U":
        return from_texts(name, [str(value) for value in values])
    if values.dtype.kind == "O":
        present = [value for value in values if not _is_missing(value)]
        if all(isinstance(value, str) for value in present):
            return from_texts(name, [value if isinstance(value, str) else None for value in values])
        kinds = {type(value).__name__ for value in present}
        if kinds <= {"bool", "int", "float", "Decimal"}:
            return Column(name, np.array([np.nan if _is_missing(v) else float(v) for v in values], np.float64))
        kind = ", ".join(sorted(kinds))
    else:
        kind = str(values.dtype)
    raise InputError(f"column {name!r}", "have numbers or text", f"{kind}", "convert it or remove it")


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and value != value) or type(value).__name__ in PANDAS_MISSING
