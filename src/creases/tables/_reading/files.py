"""Tables in files or in memory, as columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from creases._array_files import open_npz
from creases._files import open_regular, read_bytes
from creases._text import in_one_line
from creases.errors import FileError, InputError
from creases.tables._reading.columns import Column, from_values
from creases.tables._reading.csv_file import check_width, csv_columns, decode, distinct_names
from creases.tables._reading.numbers import find_format

if TYPE_CHECKING:
    import pandas as pd

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
        if types.is_bool_dtype(series.dtype) or types.is_numeric_dtype(series.dtype):
            values = series.to_numpy(np.float64, na_value=np.nan) if series.dtype.kind != "c" else series.to_numpy()
        elif isinstance(series.dtype, np.dtype) and series.dtype.kind == "M":
            values = series.to_numpy()
        else:
            values = _objects(series.astype(object))
        column = from_values(name, values)
        kind = series.dtype.kind  # of nullable types too
        columns.append(replace(column, source="i" if kind == "u" else kind) if kind in "biu" else column)
    return columns


def row_columns(rows: Any, names: Sequence[str], header: bool | None = None) -> list[Column]:
    """Return rows as columns: a file, a DataFrame, mappings, or an array (n, d) in the order of ``names``."""
    import pandas as pd

    if isinstance(rows, str | Path):
        return read_raw_columns(Path(rows), header)
    if isinstance(rows, pd.Series):
        rows = rows.to_frame().T
    elif isinstance(rows, Mapping):
        is_row = all(np.ndim(value) == 0 for value in rows.values())
        rows = pd.DataFrame([rows] if is_row else dict(rows))
    elif isinstance(rows, Sequence) and rows and isinstance(rows[0], Mapping):
        rows = pd.DataFrame(list(rows))
    elif not isinstance(rows, pd.DataFrame):
        values = np.asarray(rows, None if isinstance(rows, np.ndarray) else object)
        values = values[None] if values.ndim == 1 else values
        if values.ndim != 2 or values.shape[1] != len(names):
            raise InputError("rows", f"have {len(names)} columns: {', '.join(names[:20])}", f"shape {values.shape}")
        rows = pd.DataFrame(values, columns=list(names))
    return frame_columns(rows)


def read_parquet(path: Path) -> list[Column]:
    """Read the columns of a Parquet file, with pyarrow if it is installed, else with pandas."""
    try:
        with open_regular(path) as file:
            start = file.read(4)
    except OSError as problem:
        raise FileError(f"cannot read {path}: {problem.strerror}") from None
    if start != b"PAR1":
        raise FileError(f"cannot read {path}: it is not a Parquet file (it does not start with PAR1), or damaged")
    try:
        columns = _with_pyarrow(path)
        if columns is None:
            columns = _with_pandas(path)
    except InputError:
        raise
    except (OSError, ValueError, NotImplementedError) as error:  # pyarrow's errors are among these
        raise FileError(f"cannot read {path} as Parquet: {in_one_line(error)}") from None
    if columns is None:
        raise FileError(f"cannot read {path}: Parquet needs pyarrow; pip install pyarrow, or save it as CSV or NPZ")
    names = distinct_names([column.name for column in columns])
    return [replace(column, name=name) for name, column in zip(names, columns, strict=True)]


def _with_pyarrow(path: Path) -> list[Column] | None:
    try:
        parquet = import_module("pyarrow.parquet")
    except ImportError:
        return None
    from creases.tables._streaming.cells import raw_cells  # imports pyarrow

    file = parquet.ParquetFile(path)
    check_width(path, len(file.schema_arrow))
    table = file.read()
    columns = zip(table.column_names, table.columns, strict=True)
    return [
        raw_cells(str(name), column.combine_chunks(), is_text_file=False).expand()
        for name, column in columns
        if not name.startswith(INDEX)
    ]


def _with_pandas(path: Path) -> list[Column] | None:
    try:
        frame = import_module("pandas").read_parquet(path)
    except ImportError:
        return None
    return [from_values(str(name), _objects(frame.iloc[:, i])) for i, name in enumerate(frame.columns)]


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
