"""Sections of a document, and the columns of a table, as text for a terminal or a file."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console, JustifyMethod, RenderableType
from rich.markup import escape
from rich.measure import Measurement
from rich.table import Table

from creases._document import Document, Section
from creases.cli.console import note, out, print_json, print_table

if TYPE_CHECKING:
    from creases.tables import TableEncoding

#: Columns that are listed at most.
LISTED = 40

#: Columns of a table beyond which it does not fit a terminal.
MAX_COLUMNS = 9

#: Letters from which on cells of a last column are sentences, which stand below their table.
LONGEST = 60

#: Sentences of a table that a terminal shows; a file has all.
SENTENCES = 12

#: Letters of a line of a text file.
WIDTH = 100


def print_document(
    document: Document, *, as_json: bool = False, full: bool = False, style: str = "", **values: Any
) -> None:
    """Print the lead of a document and its sections; or its values, and more, as JSON.

    With a style for the lead up to its colon, lines are not broken: programs read them.
    """
    if as_json:
        print_json({**document.values, **values})
        return
    if document.lead:
        head, colon, rest = map(escape, document.lead.partition(":"))
        out.print(f"[{style}]{head}{colon}[/]{rest}" if style else head + colon + rest, soft_wrap=bool(style))
    for part in section_parts(document.sections, full=full):
        out.print(part, soft_wrap=bool(style))


def section_parts(sections: Sequence[Section], *, full: bool = False) -> Iterator[RenderableType]:
    """Yield the sections, by the questions that they answer, as what rich can print; charts are left out.

    A file has what narrow views leave out, too: it is ``full``.
    """
    sections, group = [section for section in sections if full or not section.get("detail")], None
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
            detail = section.get("table", {}).get("detail", ())
            yield from _table_parts(*table, detail, len(table[1]) if full else SENTENCES)
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


def _table_parts(
    heads: Sequence[str], rows: Sequence[Sequence[str]], detail: Sequence[str], most: int
) -> Iterator[RenderableType]:
    """Yield a table; a last column of sentences follows below it, by the first cell of each row, of the first rows."""
    if not any(heads):  # names and what is said of them
        yield from (escape(": ".join(row)) for row in rows)
        return
    shown = [k for k, head in enumerate(heads) if head not in detail]
    has_sentences = any(len(row[-1]) > LONGEST for row in rows)
    shown = shown[:-1] if has_sentences else shown
    if len(shown) <= MAX_COLUMNS:
        table = Table(box=None, pad_edge=False, header_style="dim")
        for k in shown:
            is_text = any(letter.isalpha() for row in rows for letter in row[k])
            justify: JustifyMethod = "left" if is_text or not k else "right"
            table.add_column(escape(heads[k]), justify=justify, no_wrap=not (k and is_text))
        for row in rows:
            table.add_row(*(escape(row[k]) for k in shown))
        if Measurement.get(out, out.options.update(max_width=10 * WIDTH), table).maximum > out.width:
            table.padding = (0, 1, 0, 0)  # one blank between columns, not two, and heads of several lines
            for column in table.columns:
                column.header = str(column.header).replace(" ", "\n") if column.no_wrap else column.header
        yield table
    if has_sentences:
        sentences = Table(box=None, pad_edge=False, show_header=False)
        for row in rows[:most]:
            sentences.add_row(escape(row[0]), escape(row[-1]))
        yield ""
        yield f"[dim]{escape(heads[-1])}[/]"
        yield sentences
        if len(rows) > most:
            yield f"[dim]... and {len(rows) - most} more; the report has all[/]"


def print_columns(encoding: TableEncoding) -> None:
    """Print the kind and use of every column, before anything is trained."""
    frame = encoding.describe()
    rows: list[tuple[str, ...]] = [
        (str(name), str(kind), str(use), str(missing or ""), str(text))
        for name, kind, use, missing, text in frame.head(LISTED).itertuples(index=False)
    ]
    if len(frame) > LISTED:
        rows.append((f"... {len(frame) - LISTED:,} more", "", "", "", ""))
    print_table("Columns", rows, ("column", "kind", "use", "missing", "note"), left=(0, 1, 2, 4))
    print_readings(encoding)


def print_readings(encoding: TableEncoding) -> None:
    """Say which texts are read as times and the like, which columns are ignored, and which look like IDs."""
    chosen = [each for each in encoding.columns if each.kind.is_split or each.kind.codec.is_reading]
    if read := [f"{each.name!r} as {each.kind.kind}" for each in chosen]:
        more = f" and {len(read) - LISTED:,} more" if len(read) > LISTED else ""
        note(f"Read: {', '.join(read[:LISTED])}{more}. Read a column otherwise with --kind-of COLUMN=KIND.")
    for name, text in encoding.doubtful.items():
        note(f"Caution: {text}. Ignore it with --drop {name}.")
    left_out = encoding.left_out
    if left_out:
        listing = ", ".join(f"{name!r} ({why})" for name, why in list(left_out.items())[:LISTED])
        more = f" and {len(left_out) - LISTED:,} more" if len(left_out) > LISTED else ""
        note(f"Ignored: {listing}{more}. Use a column anyway with --inputs; ignore others with --drop.")
