"""How results draw and describe themselves where that takes the room ``show``: the rooms below it only ask for it.

``creases/__init__.py``, which is above all rooms, says which modules do so; these are loaded when they are first asked.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from creases._document import Document

_homes: dict[str, str] = {}


def provide_display(**homes: str) -> None:
    """Set the module of each of the functions below."""
    _homes.update(homes)


class Described:
    """A result that notebooks show as a card: what ``describe()`` says, or as it is printed."""

    def _repr_html_(self) -> str:
        return to_html(self)


def plot(result: Any, **options: Any) -> Any:
    """Plot a result with the display."""
    return import_module(_homes["plot"]).plot(result, **options)


def to_html(result: Any) -> str:
    """Return a result as the HTML that notebooks show for it."""
    html: str = import_module(_homes["to_html"]).to_html(result)
    return html


def describe(result: Any, **names: Any) -> Document:
    """Return what is said of a run or of a model of a table."""
    document: Document = import_module(_homes["describe"]).describe(result, **names)
    return document
