"""The light and the dark theme; all figures take their colors from the active one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from creases._validation import check_choice


@dataclass(frozen=True)
class Theme:
    """A set of colors, as ``#RRGGBB``."""

    name: str
    paper: str
    ink: str  #: axes, text
    quiet: str  #: background elements: data beside a fit, other samples
    missing: str  #: a cell without a value
    boundary: str
    accent: str  #: the newest units
    crease_first: str  #: creases of the first bend
    crease_last: str  #: creases of the last bend
    sheet_light: str  #: a region facing the light
    sheet_dark: str  #: a region facing away
    classes: tuple[str, ...]  #: one for each class, safe for color-blind readers; an eleventh class reuses the first


#: The light theme; its colors are after Paul Tol.
LIGHT = Theme(
    name="light",
    paper="#FFFFFF",
    ink="#222222",
    quiet="#8A9099",
    missing="#E4E6E9",
    boundary="#000000",
    accent="#CC3311",
    crease_first="#A9B0BA",
    crease_last="#39414D",
    sheet_light="#FAFBFD",
    sheet_dark="#B4C1D3",
    classes=(
        "#0077BB",
        "#EE7733",
        "#009988",
        "#AA3377",
        "#DDAA33",
        "#33BBEE",
        "#CC3311",
        "#332288",
        "#999933",
        "#777777",
    ),
)

#: The dark theme: the same hues, lightened to contrast with dark paper and, for color-blind readers, with each other.
DARK = Theme(
    name="dark",
    paper="#181B20",
    ink="#E6E8EB",
    quiet="#8A929D",
    missing="#2B3038",
    boundary="#FFFFFF",
    accent="#FF7755",
    crease_first="#5A626E",
    crease_last="#A9B3C1",
    sheet_light="#1F242B",
    sheet_dark="#46566B",
    classes=(
        "#4BA8F0",
        "#DC7D29",
        "#31AD87",
        "#D76AB1",
        "#F0D878",
        "#A5E0FA",
        "#F0584A",
        "#8B86FA",
        "#B8B94E",
        "#B0B0B0",
    ),
)

#: Themes by name.
THEMES = {theme.name: theme for theme in (LIGHT, DARK)}

_ACTIVE: ContextVar[Theme] = ContextVar("creases-theme", default=LIGHT)


def active_theme() -> Theme:
    """Return the active theme."""
    return _ACTIVE.get()


@contextmanager
def theme(name: str) -> Iterator[Theme]:
    """Use the ``"light"`` (default) or the ``"dark"`` theme inside a ``with`` block.

    A figure keeps the colors it was created with: it can be saved or shown outside the block. Each thread and each
    asynchronous task has its own active theme, initially the light one.

    >>> from creases.show._style import new_figure
    >>> with theme("dark"):
    ...     figure, (ax,) = new_figure()
    >>> figure.get_facecolor()[:3] == ax.get_facecolor()[:3] < (0.1, 0.2, 0.2)
    True
    """
    check_choice(name, THEMES, "name")
    before = _ACTIVE.set(THEMES[name])
    try:
        yield THEMES[name]
    finally:
        _ACTIVE.reset(before)
