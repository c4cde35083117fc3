"""Draw formulas when the site is built: a hook of mkdocs, named in ``mkdocs.yml``.

``$a$`` in a line and ``$$a$$`` in a paragraph become SVG with matplotlib's own typesetter, in the color of the text:
a page needs no script, no font and no network. The source of a formula is its label for screen readers.
"""

from __future__ import annotations

import html
import re
from functools import cache
from typing import Any

from matplotlib.font_manager import FontProperties
from matplotlib.path import Path
from matplotlib.textpath import TextToPath

SIZE = TextToPath.FONT_SCALE  #: of the font that formulas are drawn with; the page gives lengths in em
_INLINE = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', re.DOTALL)
_DISPLAY = re.compile(r'<div class="arithmatex">\s*\\\[(.*?)\\\]\s*</div>', re.DOTALL)
_COMMANDS = {Path.MOVETO: "M", Path.LINETO: "L", Path.CURVE3: "Q", Path.CURVE4: "C", Path.CLOSEPOLY: "Z"}


@cache
def draw_formula(tex: str) -> str:
    """Return a formula as inline SVG whose baseline is that of the text around it."""
    font, typesetter = FontProperties(size=SIZE, math_fontfamily="cm"), TextToPath()
    vertices, codes = typesetter.get_text_path(font, f"${tex}$", ismath=True)
    width, height, depth = typesetter.get_text_width_height_descent(f"${tex}$", font, ismath=True)
    path = Path(vertices, codes)
    parts = []
    for points, code in path.iter_segments(simplify=False, curves=True):
        numbers = "" if code == Path.CLOSEPOLY else " ".join(f"{number:.1f}" for number in points)
        parts.append(_COMMANDS[code] + numbers)
    em = 1.08 / SIZE  # the letters of the typesetter are a little smaller than those of the page
    top = height - depth
    box = f"0 {-top:.1f} {width:.1f} {height:.1f}"
    return (
        f'<svg class="formula" role="img" aria-label="{html.escape(tex)}" viewBox="{box}"'
        f' style="width:{width * em:.3f}em;height:{height * em:.3f}em;vertical-align:{-depth * em:.3f}em">'
        f'<path transform="scale(1,-1)" d="{"".join(parts)}"/></svg>'
    )


def _source(match: re.Match[str]) -> str:
    return " ".join(html.unescape(match[1]).split())


def _display(match: re.Match[str]) -> str:
    """Return a formula on a line of its own, with fractions in full size."""
    tex = _source(match).replace(r"\frac", r"\dfrac")
    return f'<div class="formula">{draw_formula(tex)}</div>'


def on_page_content(content: str, **_: Any) -> str:
    """Replace the formulas of a page by their drawings."""
    content = _DISPLAY.sub(_display, content)
    return _INLINE.sub(lambda match: draw_formula(_source(match)), content)
