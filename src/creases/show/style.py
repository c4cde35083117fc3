"""The one style of every picture: regions pale, creases thin and darker with depth, boundary black, data on top."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_rgb
from matplotlib.figure import Figure
from numpy.typing import NDArray

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

#: One colour per class, told apart by colour-blind readers (after Paul Tol); the eleventh class begins again.
CLASS_COLORS = (
    "#0077BB", "#EE7733", "#009988", "#AA3377", "#DDAA33", "#33BBEE", "#CC3311", "#332288", "#999933", "#777777",
)  # fmt: skip

INK = "#222222"  #: axes, text
BOUNDARY = "#000000"
PAPER = "#FFFFFF"
CREASE_FIRST, CREASE_LAST = "#A9B0BA", "#39414D"  #: creases of the first bend and of the last
SHEET_LIGHT, SHEET_DARK = "#FAFBFD", "#B4C1D3"  #: a region turned to the light, and away from it

_RC: Any = {
    "figure.facecolor": PAPER,
    "axes.facecolor": PAPER,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.7,
    "axes.titlesize": 10,
    "axes.labelsize": 9,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "xtick.direction": "out",
    "ytick.direction": "out",
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "legend.fontsize": 8,
    "legend.frameon": False,
    "svg.hashsalt": "creases",  # the same picture is the same file
    "svg.fonttype": "none",
}


def styled() -> AbstractContextManager[None]:
    """The style's settings, for a ``with`` block: nothing global changes."""
    return rc_context(_RC)


def new_figure(width: float = 6.0, height: float = 6.0, *, panels: int = 1) -> tuple[Figure, list[Axes]]:
    """A figure in the style with a row of axes, outside pyplot: no window, no global state."""
    with styled():
        figure = Figure(figsize=(width, height), layout="constrained")
        axes = [figure.add_subplot(1, panels, i + 1) for i in range(panels)]
    return figure, axes


def own_axes(ax: Axes | None, width: float, height: float) -> Axes:
    """``ax``, or new axes of pyplot's when none is given, so that ``plt.show()`` and notebooks show them."""
    if ax is not None:
        return ax
    from matplotlib import pyplot

    with styled():
        return pyplot.subplots(figsize=(width, height), layout="constrained")[1]


def class_color(index: int) -> str:
    """Full colour of a class."""
    return CLASS_COLORS[index % len(CLASS_COLORS)]


def tint(color: str, strength: NDArray[np.float64] | float) -> NDArray[np.float64]:
    """``color`` on white paper: strength 0 is the paper, 1 the colour. (..., 3) for strengths (...)."""
    return blend(PAPER, color, strength)


def blend(first: str, last: str, share: NDArray[np.float64] | float) -> NDArray[np.float64]:
    """Colours between two: (..., 3) for shares (...) in [0, 1]."""
    a, b = np.array(to_rgb(first)), np.array(to_rgb(last))
    return np.asarray(a + (b - a) * np.asarray(share, np.float64)[..., None])


def crease_colors(bends: NDArray[np.integer[Any]], n_bends: int) -> NDArray[np.float64]:
    """Colour (e, 3) of creases by the bend they belong to: the deeper, the darker."""
    return blend(CREASE_FIRST, CREASE_LAST, bends / max(1, n_bends - 1))


def value_colors() -> LinearSegmentedColormap:
    """Colours of values about zero: below it those of class 0, above it those of class 1, white at the tie."""
    ends = [tuple(tint(class_color(index), 0.75)) for index in (0, 1)]
    return LinearSegmentedColormap.from_list("creases", [ends[0], to_rgb(PAPER), ends[1]])
