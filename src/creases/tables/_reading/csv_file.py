"""Text files with one row per line: encoding, separator, names, cells."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path

from creases._text import plural
from creases.errors import FileError, InputError
from creases.tables._reading.columns import Column, from_texts, to_number

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
    """Return the columns of the text of a CSV file; ``path`` is its name in messages."""
    text = text.removeprefix("\ufeff")
    if not text.strip():
        raise InputError(str(path), "have a row of column names and rows of values", "an empty file")
    delimiter = find_delimiter(text)
    first = text.lstrip().split("\n", 1)[0]
    if first.strip(delimiter).strip():
        check_width(path, first.count(delimiter) + 1)
    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True, strict=True)
        lines = [(reader.line_num, row) for row in reader if any(cell.strip() for cell in row)]
    except csv.Error as error:
        raise FileError(f"cannot read {path}: it is not in CSV format ({error})") from None
    if not lines:
        raise InputError(str(path), "have rows of values", "only separators")
    names = _names(path, lines[0][1], header)
    body = lines if names is None else lines[1:]
    if names is None:
        names = [""] * len(lines[0][1])
    elif body and all(len(row) == len(names) + 1 for _, row in body) and any(row[-1].strip() for _, row in body):
        names = ["", *names]  # R writes no name above the names of the rows
    cells = [_fit(row, len(names)) for _, row in body]
    _check_lengths(path, names, [line for line, _ in body], cells)
    columns = zip(*cells, strict=True) if cells else ((),) * len(names)
    return [from_texts(name, column) for name, column in zip(distinct_names(names), columns, strict=True)]


def probe_csv(text: str, path: Path, header: bool | None) -> tuple[list[str], bool, str]:
    """Return the names of the columns, whether the first row has them, and the separator, by a CSV file's beginning."""
    names = [column.name for column in csv_columns(text, path, header)]
    delimiter = find_delimiter(text)
    lines = io.StringIO(text.removeprefix("\ufeff"), newline="")
    return names, _names(path, first_row(lines, delimiter), header) is not None, delimiter


def first_row(lines: Iterable[str], delimiter: str) -> list[str]:
    """Return the cells of the first row of a CSV file that is not empty, of which no more is read; none if all are."""
    reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=True)
    return next(([cell.strip() for cell in row] for row in reader if any(cell.strip() for cell in row)), [])


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
    """Return names without repetition: a column without a name is numbered, a repeated name gets a number behind it."""
    result: list[str] = []
    taken = {name for name in names if name}
    used: set[str] = set()
    for k, name in enumerate(names):
        name = name or f"column {k}"
        candidate, number = name, 2
        while candidate in used or (candidate != name and candidate in taken):
            candidate, number = f"{name} ({number})", number + 1
        used.add(candidate)
        result.append(candidate)
    return result
