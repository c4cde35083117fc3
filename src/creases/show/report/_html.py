"""Parts of a self-contained HTML page: headings, paragraphs, tables and images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

_STYLE = """
:root { color-scheme: light dark; --ink: #1f2933; --paper: #ffffff; --faint: #6b7785; --line: #d9dee4; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ed; --paper: #181b20; --faint: #9aa5b1; --line: #333b45; } }
body { margin: 0 auto; padding: 2rem 1rem; max-width: 62rem; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, sans-serif; }
h1 { font-size: 1.5rem; line-height: 1.25; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
p.note, figcaption, th { color: var(--faint); }
div.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
td, th { padding: .25rem .7rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap;
  font-weight: 400; }
td:first-child, th:first-child { text-align: left; white-space: normal; }
@media (max-width: 40rem) { td { white-space: normal; } }
figure { margin: 1rem 0; } img { max-width: 100%; background: #ffffff; border-radius: 4px; }
figure.drawn img { background: none; }
div.beside { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 26rem), 1fr)); gap: 0 2.5rem; }
div.beside > section { min-width: 0; }
pre { overflow-x: auto; padding: .8rem 1rem; border: 1px solid var(--line); border-radius: 4px; }
"""


def page(title: str, parts: Sequence[str]) -> str:
    """Return a page from its parts, the results of the functions below."""
    body = "\n".join(parts)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<h1>{escape(title)}</h1>\n{body}\n"
        "</body>\n</html>\n"
    )


def heading(text: str) -> str:
    """Return the heading of a section."""
    return f"<h2>{escape(text)}</h2>"


def columns(sections: Sequence[Sequence[str]]) -> str:
    """Return sections, each a list of parts, side by side if there is room."""
    inner = "\n".join("<section>\n" + "\n".join(parts) + "\n</section>" for parts in sections)
    return f'<div class="beside">\n{inner}\n</div>'


def paragraph(text: str, *, note: bool = False) -> str:
    """Return a paragraph; a note has a fainter color."""
    return f'<p class="note">{escape(text)}</p>' if note else f"<p>{escape(text)}</p>"


def code(text: str) -> str:
    """Return a block of code."""
    return f"<pre>{escape(text)}</pre>"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table whose first column has names and the others numbers."""
    top = "".join(f'<th scope="col">{escape(head)}</th>' for head in heads)
    lines = "".join(
        f'<tr><th scope="row">{escape(row[0])}</th>{"".join(f"<td>{escape(cell)}</td>" for cell in row[1:])}</tr>\n'
        for row in rows
    )
    return f'<div class="wide"><table>\n<thead><tr>{top}</tr></thead>\n<tbody>\n{lines}</tbody>\n</table></div>'


def image(address: str | Mapping[str, str], caption: str) -> str:
    """Return an image by its data URI, or by those of the light and the dark theme."""
    light, dark = (address, None) if isinstance(address, str) else (address["light"], address["dark"])
    img = f'<img src="{light}" alt="{escape(caption)}">'
    if dark is None:
        return f"<figure>{img}</figure>"
    other = f'<source srcset="{dark}" media="(prefers-color-scheme: dark)">'
    return f'<figure class="drawn"><picture>{other}{img}</picture></figure>'
