"""Mutated CSV files, and the check that each is read, or refused in one sentence that names every offending column."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from typer.testing import CliRunner

from creases.cli import app
from creases.errors import CreasesError
from creases.tables import TableEncoding, read_table
from creases.tables._reading.columns import to_number

Rng = np.random.Generator


@dataclass
class Sheet:
    """A table before it is written."""

    names: list[str]
    rows: list[list[str]]
    done: list[str] = field(default_factory=list)  #: mutations


def make_sheet(rng: Rng) -> Sheet:
    """Return an ordinary table of every kind, with classes or numbers to predict."""
    n = int(rng.integers(12, 40))
    columns = {
        "size": [f"{x:.2f}" for x in rng.normal(50, 10, n)],
        "Größe (cm)": [f"{x:.1f}" for x in rng.uniform(1, 9, n)],
        "town": rng.choice(["Ulm", "Köln", "São Paulo", "Bonn"], n).tolist(),
        "member": rng.choice(["yes", "no"], n).tolist(),
        "when": [f"2024-{m:02}-{d:02}" for m, d in zip(rng.integers(1, 13, n), rng.integers(1, 29, n), strict=True)],
        "floor": [str(k) for k in rng.integers(0, 9, n)],
    }
    if rng.random() < 0.5:
        columns["kind"] = ["rose" if k % 2 else "violet" for k in range(n)]
    else:
        columns["price"] = [f"{x:.3f}" for x in rng.normal(size=n)]
    return Sheet(list(columns), [list(row) for row in zip(*columns.values(), strict=True)])


def infinite_columns(sheet: Sheet) -> list[str]:
    """Return the names of the columns of numbers that have infinite ones, if every row has all cells."""
    if any(len(row) != len(sheet.names) for row in sheet.rows) or "damage" in sheet.done:
        return []
    columns = zip(sheet.names, *sheet.rows, strict=True)
    numbers = [(name, [to_number(cell) for cell in cells]) for name, *cells in columns]
    named = [(name, cells) for name, cells in numbers if name and sheet.names.count(name) == 1]  # others are renamed
    return [name for name, cells in named if cells and None not in cells and np.isinf(cells).any()]


def _pick(sheet: Sheet, rng: Rng) -> int:
    return int(rng.integers(len(sheet.names)))


def _set_column(sheet: Sheet, k: int, cell: Callable[[int, str], str]) -> None:
    for i, row in enumerate(sheet.rows):
        if k < len(row):
            row[k] = cell(i, row[k])


def empty_columns(sheet: Sheet, rng: Rng) -> None:
    """Empty some columns."""
    for _ in range(int(rng.integers(1, 4))):
        gap = str(rng.choice(["", "NA", "?", "  ", "null"]))
        _set_column(sheet, _pick(sheet, rng), lambda i, cell, gap=gap: gap)


def scattered_gaps(sheet: Sheet, rng: Rng) -> None:
    """Empty some cells."""
    for k in range(len(sheet.names)):
        _set_column(sheet, k, lambda i, cell: "" if rng.random() < 0.1 else cell)


def numbers_as_text(sheet: Sheet, rng: Rng) -> None:
    """Write numbers in another way."""
    forms = ("1,5", "1.234,5", "1,234.5", "$5", "7 %", "12 km", "1_000", "0x1F", "1e5", "+3", "- 4", "٣", "1.2.3")
    form = str(rng.choice(forms))
    _set_column(sheet, 0, lambda i, cell: form.replace("5", str(i)) if rng.random() < 0.95 else cell)


def infinite_numbers(sheet: Sheet, rng: Rng) -> None:
    """Put infinite numbers into columns of numbers."""
    for k in rng.choice([0, 1, 5], int(rng.integers(1, 4)), replace=False):
        if k < len(sheet.names):
            word, place = str(rng.choice(["inf", "-Infinity", "1e999"])), int(rng.integers(max(1, len(sheet.rows))))
            _set_column(sheet, int(k), lambda i, cell, w=word, p=place: w if i == p else cell)


def odd_names(sheet: Sheet, rng: Rng) -> None:
    """Repeat, remove or distort names."""
    for _ in range(int(rng.integers(1, 4))):
        names = ["", sheet.names[0], "a\nb", "x" * 300, "=1+1", "[red]", "name;with,all|of\tthem", "7", "'", "\u200b"]
        sheet.names[_pick(sheet, rng)] = str(rng.choice(names))


def ragged_rows(sheet: Sheet, rng: Rng) -> None:
    """Remove or add cells."""
    for row in sheet.rows:
        if rng.random() < 0.2 and row:
            row.pop() if rng.random() < 0.5 else row.append("more")


def odd_cells(sheet: Sheet, rng: Rng) -> None:
    """Put cells with separators, quotes, line ends and odd characters into a column."""
    cells = ["a,b", "a;b", 'say "x"', "two\nlines", "tab\there", "'", "😀", "\u00a0", "=cmd()", "[/bold]", "{0}", "%s"]
    _set_column(sheet, _pick(sheet, rng), lambda i, cell: str(rng.choice(cells)))


def few_rows(sheet: Sheet, rng: Rng) -> None:
    """Keep none, one or two rows."""
    sheet.rows = sheet.rows[: int(rng.integers(0, 3))]


def one_class(sheet: Sheet, rng: Rng) -> None:
    """Give every row the same target."""
    _set_column(sheet, len(sheet.names) - 1, lambda i, cell: "same")


def ids_and_text(sheet: Sheet, rng: Rng) -> None:
    """Add a column of IDs and one of free text."""
    sheet.names[:0] = ["", "remarks"]
    for i, row in enumerate(sheet.rows):
        row[:0] = [str(i + 1), f"remark number {i} on this row, and more"]


def many_columns(sheet: Sheet, rng: Rng) -> None:
    """Add thousands of columns."""
    count = 10_000 if rng.random() < 0.1 else 300
    sheet.rows = sheet.rows[:12]
    sheet.names[:0] = [f"c{k}" for k in range(count)]
    for row in sheet.rows:
        row[:0] = [f"{x:.1f}" for x in rng.normal(size=count)]


def no_header(sheet: Sheet, rng: Rng) -> None:
    """Leave out the names."""
    sheet.names = sheet.rows.pop(0) if sheet.rows else sheet.names


def garbage(sheet: Sheet, rng: Rng) -> None:
    """Put random characters into cells."""
    for row in sheet.rows:
        for k in range(len(row)):
            if rng.random() < 0.1:
                row[k] = "".join(chr(int(c)) for c in rng.integers(32, 0x250, int(rng.integers(0, 8))))


SHEET_MUTATIONS = (
    empty_columns, scattered_gaps, numbers_as_text, infinite_numbers, odd_names, ragged_rows, odd_cells, few_rows,
    one_class, ids_and_text, many_columns, no_header, garbage,
)  # fmt: skip


def to_bytes(sheet: Sheet, rng: Rng) -> bytes:
    """Write a sheet with a separator, a style of quotes, line ends and an encoding."""
    text = io.StringIO()
    writer = csv.writer(
        text,
        delimiter=str(rng.choice([",", ";", "\t", "|"])),
        quoting=int(rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])),
        lineterminator=str(rng.choice(["\n", "\r\n", "\r"])),
    )
    writer.writerows([sheet.names, *sheet.rows])
    encoding = str(rng.choice(["utf-8", "utf-8", "utf-8-sig", "latin-1", "utf-16", "utf-16-le"]))
    content = text.getvalue().encode(encoding, errors="replace")
    if rng.random() < 0.2:
        content = damage(content, rng)
        sheet.done.append("damage")
    return content


def damage(content: bytes, rng: Rng) -> bytes:
    """Cut, flip or insert bytes."""
    place = int(rng.integers(len(content) + 1))
    kind = int(rng.integers(5))
    if kind == 0:
        return content[:place]
    insert = {1: b'"', 2: b"\0", 3: rng.bytes(3), 4: b"\xff\xfe"}[kind]
    return content[:place] + insert + content[place:]


def mutants(count: int, seed: int = 0) -> Iterator[tuple[Sheet, bytes]]:
    """Yield mutated tables, before and after they are written."""
    for k in range(count):
        rng = np.random.default_rng([seed, k])
        sheet = make_sheet(rng)
        for mutate in rng.choice(np.array(SHEET_MUTATIONS, object), int(rng.integers(0, 4)), replace=False):
            mutate(sheet, rng)
            sheet.done.append(mutate.__name__)
        yield sheet, to_bytes(sheet, rng)


def check(sheet: Sheet, content: bytes, folder: Path) -> str:
    """Read one file; return "read" or "refused", and raise AssertionError if it is neither."""
    path = folder / "table.csv"
    path.write_bytes(content)
    try:
        problem = read_table(path)
    except CreasesError as error:
        check_refusal(sheet, str(error), path, folder / "run")
        return "refused"
    assert np.isfinite(problem.X).all()
    assert len(set(problem.features)) == len(problem.features)
    assert problem.encoding is not None
    restored = TableEncoding.from_dict(problem.encoding.to_dict())
    again = restored.transform(path).X
    np.testing.assert_array_equal(again if problem.rows is None else again[problem.rows], problem.X)
    return "read"


def check_refusal(sheet: Sheet, message: str, path: Path, run: Path) -> None:
    """Check that a refusal is one line, names every column with infinite numbers, and writes nothing."""
    if "have finite numbers" in message:
        assert all(repr(name) in message for name in infinite_columns(sheet)), message
    result = CliRunner().invoke(app, ["fit", str(path), "--out", str(run)])
    assert result.exit_code == 2, (message, result.output)
    assert len(result.stderr.strip().splitlines()) == 1, result.stderr
    assert result.stderr.startswith("error: ")
    assert not run.exists()


def run_all(count: int, folder: Path, seed: int = 0) -> Counter[str]:
    """Check so many files; return how many were read and refused."""
    return Counter(check(sheet, content, folder) for sheet, content in mutants(count, seed))
