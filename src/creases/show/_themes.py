"""The colours of pictures, on light paper and on dark: everything that is drawn takes them from the active theme."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from creases.errors import InputError


@dataclass(frozen=True)
class Theme:
    """One set of colours, as ``#RRGGBB``."""

    name: str
    paper: str
    ink: str  #: axes, text
    quiet: str  #: what is in the background: data beside a fit, other samples
    missing: str  #: a cell without a value
    boundary: str
    accent: str  #: what is newest
    crease_first: str  #: creases of the first bend
    crease_last: str  #: and of the last
    sheet_light: str  #: a region turned to the light
    sheet_dark: str  #: and away from it
    classes: tuple[str, ...]  #: one for each class, told apart by colour-blind readers; the eleventh begins again


#: After Paul Tol.
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

#: The same hues, lightened until they stand out from dark paper and, seen without red or green, from each other.
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

THEMES = {one.name: one for one in (LIGHT, DARK)}

_ACTIVE: ContextVar[Theme] = ContextVar("creases-theme", default=LIGHT)


def now() -> Theme:
    """The theme that is drawn in now."""
    return _ACTIVE.get()


@contextmanager
def theme(name: str) -> Iterator[Theme]:
    """Draw in ``"light"`` (as without it) or ``"dark"`` inside a ``with`` block.

    Figures keep the colours they were made with: one made inside may be saved or shown outside. Each thread and each
    asynchronous task has a theme of its own, and begins with the light one.

    >>> from creases.show import new_figure, theme
    >>> with theme("dark"):
    ...     figure, (ax,) = new_figure()
    >>> figure.get_facecolor()[:3] == ax.get_facecolor()[:3] < (0.1, 0.2, 0.2)
    True
    """
    if name not in THEMES:
        raise InputError(f"theme: expected {' or '.join(map(repr, THEMES))}, got {name!r}")
    before = _ACTIVE.set(THEMES[name])
    try:
        yield THEMES[name]
    finally:
        _ACTIVE.reset(before)
