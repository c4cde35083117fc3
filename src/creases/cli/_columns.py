"""Show the columns of a table: their kinds, what becomes of them, and what is left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from creases.cli.console import note, print_table

if TYPE_CHECKING:
    from creases.tables import TableEncoding

#: Columns that are listed at most.
LISTED = 40


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
    read = [f"{column.name!r} as {column.kind.kind}" for column in encoding.columns if column.kind.is_reading]
    if read:
        more = f" and {len(read) - LISTED:,} more" if len(read) > LISTED else ""
        note(f"Read: {', '.join(read[:LISTED])}{more}. Read a column otherwise with --kind-of COLUMN=KIND.")
    for name, text in encoding.doubtful.items():
        note(f"Caution: {text}. Ignore it with --drop {name}.")
    left_out = encoding.left_out
    if left_out:
        listing = ", ".join(f"{name!r} ({why})" for name, why in list(left_out.items())[:LISTED])
        more = f" and {len(left_out) - LISTED:,} more" if len(left_out) > LISTED else ""
        note(f"Ignored: {listing}{more}. Use a column anyway with --inputs; ignore others with --drop.")
