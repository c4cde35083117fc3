"""Which tables are read in blocks; a file of its own, as those that ask need not load what fits them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from creases._validation import check_number

if TYPE_CHECKING:
    from creases.tables._streaming.files import TableFiles

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
