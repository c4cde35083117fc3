"""Render figures as PNG data URIs, in the light and the dark theme."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def render_themes(draw: Callable[[], Figure], *, dpi: int = 130) -> dict[str, str]:
    """Return the figure of ``draw`` as a PNG data URI for each theme."""
    from creases.show._save import reduce_colors  # with matplotlib, which pages without pictures do not need
    from creases.show._style import THEMES, style_context, theme

    images = {}
    for name in THEMES:
        with theme(name):
            figure, buffer = draw(), io.BytesIO()
            with style_context():
                figure.savefig(buffer, format="png", dpi=dpi, metadata={"Software": None})
        images[name] = f"data:image/png;base64,{base64.b64encode(reduce_colors(buffer.getvalue())).decode()}"
    return images
