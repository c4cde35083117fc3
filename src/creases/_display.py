"""How results draw themselves: the room ``show`` provides the drawing, the rooms below it only ask for it.

``creases/__init__.py``, which is above all rooms, says what draws; that is loaded when a result is first drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol


class Display(Protocol):
    """What draws results: ``creases.show.notebook._display``."""

    def plot(self, result: Any, **options: Any) -> Any:
        """Plot a result and return its axes or figure."""
        ...

    def to_html(self, result: Any) -> str:
        """Return a result as the HTML that notebooks show for it."""
        ...


_loaders: list[Callable[[], Display]] = []


def provide_display(load: Callable[[], Display]) -> None:
    """Set what loads the display."""
    _loaders[:] = [load]


def plot(result: Any, **options: Any) -> Any:
    """Plot a result with the display."""
    return _loaders[0]().plot(result, **options)


def to_html(result: Any) -> str:
    """Return a result as HTML from the display."""
    return _loaders[0]().to_html(result)
