"""The files of one table: found by a pattern or in a folder, and read in blocks of rows by pyarrow."""

from __future__ import annotations

import csv
import glob
import hashlib
import io
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.parquet

from creases._text import in_one_line, list_names, plural
from creases.errors import FileError, InputError
from creases.tables._columns.kinds import ColumnKind
from creases.tables._reading.arrow import arrow_column
from creases.tables._reading.columns import Column
from creases.tables._reading.files import (
    INDEX,
    check_width,
    decode,
    distinct_names,
    find_encoding,
    first_row,
    probe_csv,
)

#: Rows of a block at most, and at least. How many there are depends on the columns only, not on a limit of memory or on
#: how many processes read them: nor do results.
BLOCK, LEAST_BLOCK = 65_536, 256

#: Bytes that a block is to take at most.
BLOCK_BYTES = 160_000_000

#: Bytes that a table in memory is taken to need for each of its cells, and for each byte of a text file: rough guesses.
CELL_BYTES, TEXT_BYTES = 120, 25

#: What ``max_memory`` is by default, in bytes, and what Python and its libraries take of it at most.
MAX_MEMORY, LIBRARIES = 4e9, 300_000_000

#: Bytes of a text file from which its separator and the names of its columns are read.
PROBE = 1_000_000

FORMATS = {
    ".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".tsv": "csv", ".txt": "csv",
    ".feather": "feather", ".arrow": "feather", ".ipc": "feather",
}  # fmt: skip


@dataclass(frozen=True)
class TableFiles:
    """Files with the same columns, in the order of their names, whose rows are one table."""

    paths: tuple[str, ...]
    form: str  #: "parquet", "csv" or "feather"
    base: str = ""  #: the folder whose sub-folders may be named ``column=value``
    names: tuple[str, ...] = ()  #: of text files: the columns
    delimiter: str = ","
    skip: int = 1  #: lines before the first row of cells
    encoding: str = "utf8"
    block: int = BLOCK  #: rows of a block at most
    title: str = ""  #: what the table is called, if not by its files
    stamps: tuple[tuple[int, int], ...] = ()  #: size of each file and when it changed last, as they were when found

    @property
    def name(self) -> str:
        """What the table is called: the name of a file without its ending, or of the folder of several files."""
        first = Path(self.paths[0])
        if self.title:
            return self.title
        return first.stem if len(self.paths) == 1 else (Path(self.base) if self.base else first.parent).name

    @property
    def source(self) -> str:
        """Where its rows are: the name of a file, or the number of files."""
        if self.title:
            return self.title
        return Path(self.paths[0]).name if len(self.paths) == 1 else plural(len(self.paths), "file")

    @property
    def label(self) -> str:
        """What messages call the table: the name of a file, or of a folder with the number of its files."""
        return self.source if len(self.paths) == 1 else f"{self.source} of {self.name}"

    @property
    def columns(self) -> list[str]:
        """The names of all columns, without spaces around them."""
        return [*self.fields]

    @property
    def fields(self) -> dict[str, str]:
        """The columns in the files by their names."""
        names = [name for name in _open(self)[0].names if not name.startswith(INDEX)]
        return dict(zip(distinct_names(names), names, strict=True))

    @property
    def n_bytes(self) -> int:
        """How large the files are together."""
        return sum(size for size, _ in self.stamps)

    @property
    def block_bytes(self) -> float:
        """About how many bytes a block takes while it is summed."""
        return float(CELL_BYTES * self.block * len(self.columns))

    @property
    def n_tasks(self) -> int:
        """Parts that can be read apart: row groups of Parquet files, other files as they are."""
        return len(_open(self)[1])

    def read(self, task: int, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a part in blocks; empty lines at the end of a text file are none."""
        (schema, parts), fields = _open(self), self.fields
        spare = _count_empty_lines(Path(parts[task].path)) if self.form == "csv" else 0
        options = {"batch_size": self.block, "use_threads": False, "batch_readahead": 1, "fragment_readahead": 1}
        try:
            chosen = [fields[name] for name in columns]
            for batch in _without_last(parts[task].to_batches(schema=schema, columns=chosen, **options), spare):
                for start in range(0, batch.num_rows, self.block):
                    yield batch.slice(start, self.block)
        except (pa.ArrowException, OSError) as error:
            raise FileError(f"cannot read {parts[task].path}: {_describe_problem(error)}") from None

    def read_all(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of all files in blocks."""
        for task in range(self.n_tasks):
            yield from self.read(task, columns)

    def empty_block(self, columns: Sequence[str]) -> pa.RecordBatch:
        """Return a block without rows."""
        schema, fields = _open(self)[0], self.fields
        return pa.RecordBatch.from_pylist([], schema=pa.schema([schema.field(fields[name]) for name in columns]))

    def digest(self) -> str:
        """Return a digest of the names of the files, their sizes and when they changed last."""
        facts = [(path, *stamp) for path, stamp in zip(self.paths, read_stamps(self.paths), strict=True)]
        return hashlib.sha256(repr(facts).encode()).hexdigest()

    def check_unchanged(self) -> None:
        """Refuse files that have changed since they were found: what was read of them may not fit together."""
        for path, before, now in zip(self.paths, self.stamps, read_stamps(self.paths), strict=True):
            if now != before:
                raise FileError(f"{path} changed while it was read; start again when it is complete")


def read_stamps(paths: Sequence[str]) -> tuple[tuple[int, int], ...]:
    """Return the size of each file, in bytes, and when it changed last, in nanoseconds."""
    try:
        return tuple((stat.st_size, stat.st_mtime_ns) for stat in (Path(path).stat() for path in paths))
    except OSError as problem:
        raise FileError(f"cannot read {problem.filename}: {problem.strerror}") from None


@lru_cache(maxsize=8)
def _open(files: TableFiles) -> tuple[Any, list[Any]]:
    """Return the schema and the parts of files; a process opens them once, and again if they change."""
    options: dict[str, Any] = {"format": files.form}
    if files.form == "csv":
        text = pyarrow.csv.ConvertOptions(
            column_types=dict.fromkeys(files.names, pa.string()), strings_can_be_null=False
        )
        options["format"] = pyarrow.dataset.CsvFileFormat(
            read_options=pyarrow.csv.ReadOptions(
                column_names=list(files.names), skip_rows=files.skip, encoding=files.encoding
            ),
            parse_options=pyarrow.csv.ParseOptions(
                delimiter=files.delimiter, newlines_in_values=True, ignore_empty_lines=False
            ),
            convert_options=text,
        )
    if files.base:
        options |= {"partitioning": "hive", "partition_base_dir": files.base}
    try:
        dataset = pyarrow.dataset.dataset(list(files.paths), **options)
        fragments, parts = list(dataset.get_fragments()), list[Any]()
        for fragment in fragments:
            parts += fragment.split_by_row_group() if files.form == "parquet" else [fragment]
        if files.form != "csv":
            _check_columns(fragments)
        schema = dataset.schema if files.form == "csv" else _common_schema(dataset.schema, fragments)
    except (pa.ArrowException, OSError) as error:
        raise FileError(f"cannot read {files.paths[0]}: {_describe_problem(error)}") from None
    names = schema.names
    check_width(Path(files.paths[0]), len(names))
    if len(set(names)) < len(names):
        raise FileError(f"cannot read {files.paths[0]}: two columns have one name")
    return schema, parts


def _describe_problem(error: Exception) -> str:
    """Return what pyarrow says in words of tables."""
    if "straddling" in str(error):
        return "a row is longer than a megabyte; is a quotation mark missing?"
    return in_one_line(error)


def _check_columns(fragments: Sequence[Any]) -> None:
    """Refuse Parquet or Feather files that lack columns of the first one, or have others."""
    first = _column_names(fragments[0])
    for fragment in fragments:
        names = _column_names(fragment)
        if set(names) == set(first):
            continue
        lists = {"without": [name for name in first if name not in names]}
        lists["with"] = [name for name in names if name not in first]
        got = "a file " + " and ".join(f"{word} {list_names(each)}" for word, each in lists.items() if each)
        expected = f"have the same columns as {Path(fragments[0].path).name}"
        hint = "write all files with the same columns, or give only files that have the same"
        raise InputError(str(fragment.path), expected, got, hint)


def _column_names(fragment: Any) -> list[str]:
    """Return the names of the columns of a Parquet or Feather file."""
    return [name for name in fragment.physical_schema.names if not name.startswith(INDEX)]


def _common_schema(first: Any, fragments: Sequence[Any]) -> Any:
    """Return the columns of the first file with types that hold the values of all files.

    A column may have no values in the first file, or whole numbers only. Where types have nothing in common the first
    one is kept, and reading says what cannot be converted.
    """
    schema = first
    for fragment in fragments:
        types = fragment.physical_schema
        shared = pa.schema([types.field(name) for name in first.names if types.get_field_index(name) >= 0])
        with suppress(pa.ArrowException):
            schema = pa.unify_schemas([schema, shared], promote_options="permissive")
    return schema


def find_files(
    data: Any, *, header: bool | None = None, max_memory: float | None = None, always: bool = False
) -> TableFiles | None:
    """Return the files of a table that is to be read block by block; None for one that is read as a whole.

    Several files are: a pattern, a folder, a dataset of pyarrow, and a Feather file. So is a single file that would
    take more than ``max_memory`` bytes, or any with ``always``.
    """
    limit = MAX_MEMORY if max_memory is None else max_memory
    if isinstance(data, pyarrow.dataset.FileSystemDataset):
        return _check_files([Path(path) for path in data.files], "", header)
    if not isinstance(data, str | Path):
        return None
    path = Path(data).expanduser()
    if path.is_file():
        form = FORMATS.get(path.suffix.lower())
        if form is None or (form != "feather" and not always and _size(path) <= limit):
            return None
        return _check_files([path], "", header)
    if path.is_dir():
        return _check_files(_tables_inside(path), str(path), header)
    if not glob.has_magic(str(path)):
        return None
    return _check_files(*_match_files(str(path)), header, str(path))


def _tables_inside(folder: Path) -> list[Path]:
    """Return the files of tables in a folder and its sub-folders."""
    inside = (each for each in folder.rglob("*") if each.is_file() and not each.name.startswith((".", "_")))
    return [each for each in inside if each.suffix.lower() in FORMATS]


def _match_files(pattern: str) -> tuple[list[Path], str]:
    """Return the files that a pattern finds, and their base.

    Folders count by the files inside, as Spark writes a table, if only folders match; beside files only those that are
    named like a table: ``data/*`` leaves other sub-folders out.
    """
    matches = [Path(each) for each in glob.glob(pattern, recursive=True)]
    files, folders = [each for each in matches if each.is_file()], [each for each in matches if each.is_dir()]
    if files:
        folders = [each for each in folders if each.suffix.lower() in FORMATS]
    inside = [each for folder in folders for each in _tables_inside(folder)]
    base = os.path.commonpath([each.resolve().parent for each in folders]) if folders and not files else ""
    return [*files, *inside], base


def _check_files(paths: list[Path], base: str, header: bool | None, pattern: str = "") -> TableFiles:
    files = sorted({str(path.resolve()) for path in paths if path.is_file()})
    if not files:
        raise FileError(f"there are no tables in {pattern or base}" if base else f"no file matches {pattern}")
    forms = {FORMATS.get(path.suffix.lower(), "") for path in paths if path.is_file()}  # of a link by its own name
    if forms == {""} or len(forms) > 1:
        expected = "be Parquet, CSV or Feather files, all of one kind"
        raise InputError("data", expected, ", ".join(sorted({Path(path).suffix for path in files})) or "others")
    result = TableFiles(tuple(files), forms.pop(), str(Path(base).resolve()) if base else "")
    if result.form == "csv":
        result = _probe_text(result, header)
    result = replace(result, stamps=read_stamps(result.paths))
    rows = BLOCK_BYTES // (CELL_BYTES * len(_open(result)[0].names))
    return replace(result, block=max(LEAST_BLOCK, min(BLOCK, rows)))


def _probe_text(files: TableFiles, header: bool | None) -> TableFiles:
    """Return text files with their separator, names and encoding, as the beginning of the first one shows them.

    Empty files are left out. Columns are read by their position, so all files must have them in the same order.
    """
    paths = [path for path in files.paths if Path(path).stat().st_size] or [*files.paths[:1]]
    path = Path(paths[0])
    content = _read_beginning(path)
    try:
        content.decode("utf8")
        encoding = "utf8"
    except UnicodeDecodeError:
        encoding = "cp1252"
    text = decode(content, path)
    names, skip, delimiter = probe_csv(text, path, header)
    if skip:
        _check_headers(paths, delimiter, encoding)
    return TableFiles(tuple(paths), "csv", files.base, tuple(names), delimiter, skip, encoding)


def _read_beginning(path: Path) -> bytes:
    """Return the first lines of a text file."""
    try:
        with path.open("rb") as file:
            content = file.read(PROBE)
    except OSError as problem:
        raise FileError(f"cannot read {path}: {problem.strerror}") from None
    _check_encoding(path, content)
    return content if len(content) < PROBE or b"\n" not in content else content[: content.rindex(b"\n") + 1]


def _check_encoding(path: Path, content: bytes) -> None:
    """Refuse UTF-16, whose lines pyarrow does not find."""
    if find_encoding(content).startswith("utf-16"):
        raise FileError(f"cannot read {path} in blocks: it is UTF-16 text; save it as UTF-8 or as Parquet")


def _check_headers(paths: Sequence[str], delimiter: str, encoding: str) -> None:
    """Refuse text files whose first row is not that of the first file."""
    (first, start), *others = (_read_header(Path(path), delimiter, encoding) for path in paths)
    for path, (row, line) in zip(paths[1:], others, strict=True):
        if row != first or line != start:
            expected = f"have the same first row as {Path(paths[0]).name}: {', '.join(first)[:80]}"
            hint = "give all files the same columns in the same order, or save them as Parquet"
            got = ", ".join(row)[:80] if row != first else "other empty lines before it"
            raise InputError(path, expected, got, hint)


def _without_last(batches: Iterator[pa.RecordBatch], count: int) -> Iterator[pa.RecordBatch]:
    """Yield blocks of rows without the last rows, so many of them."""
    held: list[pa.RecordBatch] = []
    for batch in batches:
        held.append(batch)
        while held and sum(each.num_rows for each in held[1:]) >= count:
            yield held.pop(0)
    rows = sum(each.num_rows for each in held) - count
    for batch in held:
        if rows > 0:
            yield batch.slice(0, rows)
        rows -= batch.num_rows


def _count_empty_lines(path: Path) -> int:
    """Return the number of empty lines at the end of a text file."""
    with path.open("rb") as file:
        file.seek(max(path.stat().st_size - PROBE, 0))
        content = file.read()
    tail = content[len(content.rstrip(b"\r\n")) :]
    return max(tail.count(b"\n") or tail.count(b"\r"), 1) - 1


def _read_header(path: Path, delimiter: str, encoding: str) -> tuple[list[str], int]:
    """Return the first row of a text file and its last line, and read no more of the file than that takes."""
    try:
        with path.open("rb") as file:
            _check_encoding(path, file.peek())
            name = "utf-8-sig" if encoding == "utf8" else encoding
            with io.TextIOWrapper(file, name, errors="replace", newline="") as lines:
                return first_row(lines, delimiter)
    except OSError as problem:
        raise FileError(f"cannot read {path}: {problem.strerror}") from None
    except csv.Error as error:
        raise FileError(f"cannot read {path}: it is not in CSV format ({error})") from None


def _size(path: Path) -> float:
    """Return about how many bytes this process takes with a table in memory, and its fit."""
    if FORMATS.get(path.suffix.lower()) == "csv":
        return float(LIBRARIES + TEXT_BYTES * path.stat().st_size)
    if FORMATS.get(path.suffix.lower()) == "parquet":
        try:
            facts = pyarrow.parquet.read_metadata(path)
        except (pa.ArrowException, OSError):
            return 0.0  # the reader of whole files says what is wrong
        return float(LIBRARIES + CELL_BYTES * facts.num_rows * facts.num_columns)
    return 0.0


# Arrays of pyarrow as columns.


def block_columns(arrays: Mapping[str, pa.Array], kinds: Sequence[ColumnKind], *, is_text_file: bool) -> list[Column]:
    """Return the cells of columns of these kinds, those of the parts of a column from that column."""
    result = []
    for kind in kinds:
        name = kind.name if kind.name in arrays else kind.source
        result.append(kind.cells({name: arrow_column(name, arrays[name], is_text_file=is_text_file, kind=kind)}))
    return result
