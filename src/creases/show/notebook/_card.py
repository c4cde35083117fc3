"""Parts of the HTML that notebooks show for a result: escaped text, small tables, no scripts.

Text takes the notebook's own color and nothing has a background, so that a card can be read on light and dark pages.
"""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Callable, Sequence
from html import escape
from typing import Any

from matplotlib.figure import Figure

from creases._document import Section
from creases.show._style import new_figure, reduce_colors, style_context
from creases.show._themes import theme

#: Longest text of a cell; what is beyond is left out.
LONGEST = 200

#: Letters from which a cell has a least width, so that a narrow page does not squeeze it.
LONG = 40

#: A cell that is a number, for people: with commas, a unit of a letter or so, or a dash where it is not known.
_NUMBER = re.compile(r"[+\-−±]?[\d,.]+(e-?\d+)?%?|[–∞]|−∞")

_LINE = "rgba(128,128,128,.35)"
_STYLE = f"""
.creases-card {{ font: 13px/1.5 system-ui, sans-serif; max-width: 60rem; margin: .3rem 0; padding: .5rem .8rem;
  border: 1px solid {_LINE}; border-radius: 6px; color: inherit; overflow-x: auto; }}
.creases-card p {{ margin: .2rem 0; }}
.creases-card .creases-faint {{ opacity: .7; }}
.creases-card .creases-code {{ white-space: pre-wrap; font-family: ui-monospace, monospace; }}
.creases-card .creases-beside {{ display: flex; flex-wrap: wrap; gap: .4rem 1.6rem; align-items: flex-start; }}
.creases-card table {{ border-collapse: collapse; margin: .3rem 0; font-variant-numeric: tabular-nums; }}
.creases-card td, .creases-card th {{ padding: .1rem .6rem .1rem 0; text-align: left; font-weight: 400;
  vertical-align: top; background: none; color: inherit; border: 0; border-bottom: 1px solid {_LINE}; }}
.creases-card th {{ opacity: .7; }}
.creases-card td.creases-number {{ text-align: right; white-space: nowrap; }}
.creases-card td.creases-long {{ min-width: 16rem; }}
.creases-card img {{ max-width: 100%; background: #ffffff; border-radius: 4px; }}
"""


def card(title: str, *parts: str) -> str:
    """Return a card: a title and parts, the results of the functions below."""
    return f'<div class="creases-card"><style>{_STYLE}</style><p><b>{text(title)}</b></p>{"".join(parts)}</div>'


def text(value: Any, longest: int = LONGEST) -> str:
    """Return a value as escaped text; a long one ends in an ellipsis."""
    words = str(value)
    return escape(words if len(words) <= longest else words[: longest - 1] + "…")


def paragraph(value: Any, look: str = "", longest: int = 2000) -> str:
    """Return a paragraph, which may be ``faint``, or ``code``."""
    return f"<p{f' class=creases-{look}' if look else ''}>{text(value, longest)}</p>"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table with numbers aligned to the right; without heads it has names and what is said of each."""
    if not any(heads):
        lines = "".join(f'<tr><th scope="row">{text(name)}</th><td>{text(value)}</td></tr>' for name, value in rows)
        return f"<table>{lines}</table>"
    top = "".join(f'<th scope="col">{text(head)}</th>' for head in heads)
    lines = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{lines}</tbody></table>"


def section(content: Section) -> str:
    """Return the sentences, the table and the notes of a document's section."""
    before, after = (content.get(name, "").split("\n") for name in ("text", "note"))
    parts = [paragraph(line) for line in before if line]
    parts += [paragraph(content["code"], "code", 20_000)] if "code" in content else []
    if "table" in content:
        parts.append(table(content["table"]["columns"], content["table"]["rows"]))
    return "".join([*parts, *(paragraph(line) for line in after if line)])


def _cell(value: Any) -> str:
    if _NUMBER.fullmatch(str(value)):
        return f'<td class="creases-number">{value}</td>'
    long = ' class="creases-long"' if len(str(value)) > LONG else ""
    return f"<td{long}>{text(value)}</td>"


def beside(*parts: str) -> str:
    """Return parts side by side where there is room."""
    inner = "".join(f"<div>{part}</div>" for part in parts if part)
    return f'<div class="creases-beside">{inner}</div>'


def image(address: str, alternative: str) -> str:
    """Return a picture by its data URI, with text for those who cannot see it."""
    return f'<img src="{address}" alt="{text(alternative)}">'


# Small pictures of results, as PNG data URIs.

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
