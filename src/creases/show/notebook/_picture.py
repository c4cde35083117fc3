"""Small pictures of results, as PNG data URIs."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable
from typing import Any

from matplotlib.figure import Figure

from creases.show._save import reduce_colors
from creases.show._style import new_figure, style_context, theme

#: Bytes of a picture above which it is drawn with fewer colors.
LARGEST = 60_000

#: Colors of a picture that would be too large otherwise.
COLORS = 64


def draw(plot: Callable[[Any], Any], width: float = 3.4, height: float = 3.2, *, solid: bool = False) -> str:
    """Return what a function draws on axes as a PNG data URI, on white: readable on any page."""
    with theme("light"), style_context():
        if solid:
            figure = Figure(figsize=(width, height), layout="constrained")
            axes = figure.add_subplot(projection="3d")
        else:
            figure, (axes,) = new_figure(width, height)
        plot(axes)
        return encode_figure(figure)


def draw_figure(plot: Callable[[], Figure]) -> str:
    """Return the figure that a function makes as a PNG data URI, on white."""
    with theme("light"), style_context():
        return encode_figure(plot())


def encode_figure(figure: Figure) -> str:
    """Return a figure as a PNG data URI, with few colors if it would be large."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=100, metadata={"Software": None})
    data = buffer.getvalue()
    data = data if len(data) <= LARGEST else reduce_colors(data, COLORS)
    return f"data:image/png;base64,{base64.b64encode(data).decode()}"
