"""Sections of a document as text: the sentences and tables that reports have too, for a terminal or a text file."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rich.console import Console, RenderableType
from rich.markup import escape
from rich.table import Table

#: Columns of a table beyond which it does not fit a terminal.
MAX_COLUMNS = 9

#: Letters of a line of a text file.
WIDTH = 100

Section = dict[str, Any]


def section_parts(sections: Sequence[Section]) -> Iterator[RenderableType]:
    """Yield the sections, by the questions that they answer, as what rich can print; charts are left out."""
    group = None
    for section in sections:
        is_alone = sum(each.get("group") == section.get("group") for each in sections) == 1
        if section.get("group") != group:
            group = section.get("group")
            yield ""
            yield f"[bold]{escape(str(group))}[/]"
        if not is_alone:
            yield ""
            yield f"[bold dim]{escape(section['title'])}[/]"
        if section.get("text"):
            yield escape(section["text"])
        if table := _table_of(section):
            yield from _table_parts(*table)
        if section.get("note"):
            yield f"[dim]{escape(section['note'])}[/]"


def write_text(parts: Iterable[RenderableType]) -> str:
    """Return parts as plain text, as a file holds it."""
    console = Console(file=io.StringIO(), width=WIDTH, color_system=None, highlight=False)
    for part in parts:
        console.print(part)
    assert isinstance(console.file, io.StringIO)
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines()).strip() + "\n"


def _table_of(section: Section) -> tuple[list[str], list[list[str]]] | None:
    """Return heads and rows of a section's table or confusion matrix."""
    if "table" in section:
        return section["table"]["columns"], section["table"]["rows"]
    if "matrix" in section:
        matrix = section["matrix"]
        heads = [f"{matrix['down']}, as predicted", *matrix["columns"]]
        return heads, [[name, *map(str, row)] for name, row in zip(matrix["rows"], matrix["values"], strict=True)]
    return None


def _table_parts(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[RenderableType]:
    if not any(heads):  # names and what is said of them
        yield from (escape(": ".join(row)) for row in rows)
        return
    if len(heads) > MAX_COLUMNS:
        return
    table = Table(box=None, pad_edge=False, header_style="dim")
    for k, head in enumerate(heads):
        table.add_column(escape(head), justify="right" if k else "left", no_wrap=not k)
    for row in rows:
        table.add_row(*map(escape, row))
    yield table
