"""Write figures to files."""

from __future__ import annotations

import io
from pathlib import Path

from matplotlib.figure import Figure

from creases._files import write_atomically
from creases.errors import InputError
from creases.show._style import style_context

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


def reduce_colors(png: bytes, colors: int = 255) -> bytes:
    """Return a PNG with a palette of so many colors, which takes about a third of the bytes."""
    from PIL import Image

    buffer = io.BytesIO()
    with Image.open(io.BytesIO(png)) as image:
        image.convert("RGB").quantize(colors).save(buffer, "PNG", optimize=True)
    return buffer.getvalue()
