"""Write figures to files."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from creases._files import write_atomically
from creases.errors import InputError
from creases.show.style import style_context

#: Accepted endings, each with the metadata to omit so that the same figure gives the same file.
PICTURES: dict[str, dict[str, str | None]] = {".png": {"Software": None}, ".svg": {"Date": None}}


def save_figure(figure: Figure, path: str | Path, *, dpi: int = 160) -> Path:
    """Write a figure as ``.png`` or ``.svg``, atomically."""
    path = Path(path)
    if path.suffix not in PICTURES:
        raise InputError("path", f"end in {' or '.join(PICTURES)}", repr(path.name))
    with write_atomically(path) as temporary, style_context():
        figure.savefig(temporary, dpi=dpi, metadata=PICTURES[path.suffix])
    return path
