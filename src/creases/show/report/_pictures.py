"""Figures as the text of a page: one for light paper, one for dark."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable

from matplotlib.figure import Figure

from creases.show.style import THEMES, style_context, theme


def both(draw: Callable[[], Figure], *, dpi: int = 130) -> dict[str, str]:
    """What ``draw`` draws, in each theme by its name, as PNG in a data address."""
    found = {}
    for name in THEMES:
        with theme(name):
            figure, drawn = draw(), io.BytesIO()
            with style_context():
                figure.savefig(drawn, format="png", dpi=dpi, metadata={"Software": None})
        found[name] = f"data:image/png;base64,{base64.b64encode(drawn.getvalue()).decode()}"
    return found
