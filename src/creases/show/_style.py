"""The one style of every picture: regions pale, creases thin and stronger with depth, boundary bold, data on top.

Its colours are those of the active theme (:func:`creases.show.theme`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, hsv_to_rgb, to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.transforms import ScaledTranslation
from numpy.typing import NDArray

from creases.errors import InputError
from creases.show._themes import now as now

if TYPE_CHECKING:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colorbar import Colorbar

_RC: dict[str, Any] = {
    "axes.linewidth": 0.7,
    "axes.titlesize": 10,
    "axes.labelsize": 9,
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
_ON_PAPER = ("figure.facecolor", "axes.facecolor")
_IN_INK = ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color")

#: matplotlib's settings belong to the whole process: one thread at a time changes them.
_SETTINGS = RLock()


@contextmanager
def styled() -> Iterator[None]:
    """The style's settings in the active theme, for a ``with`` block: nothing global changes."""
    theme = now()
    colors = dict.fromkeys(_ON_PAPER, theme.paper) | dict.fromkeys(_IN_INK, theme.ink)
    settings: Any = {**_RC, **colors}
    with _SETTINGS, rc_context(settings):
        yield


def new_figure(width: float = 6.0, height: float = 6.0, *, panels: int = 1) -> tuple[Figure, list[Axes]]:
    """A figure in the style with a row of axes, outside pyplot: no window, no global state."""
    figure, axes = new_grid(width, height, 1, panels)
    return figure, list(axes[0])


def new_grid(width: float, height: float, rows: int, columns: int, **shared: Any) -> tuple[Figure, Any]:
    """A figure in the style with rows of axes: an array (rows, columns). More options as for ``Figure.subplots``."""
    with styled():
        figure = Figure(figsize=(width, height), layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False, **shared)
    for ax in axes.flat:
        dress(ax)
    return figure, axes


def own_axes(ax: Axes | None, width: float, height: float, *, solid: bool = False) -> Axes:
    """``ax``, or new axes of pyplot's when none is given, so that ``plt.show()`` and notebooks show them.

    ``solid``: in three dimensions.
    """
    if ax is not None:
        return ax
    from matplotlib import pyplot

    with styled():
        figure = pyplot.figure(figsize=(width, height), layout="constrained")
        return dress(figure.add_subplot(projection="3d") if solid else figure.add_subplot())


def dress(ax: Axes) -> Axes:
    """Give new axes the theme's ticks: matplotlib makes these when it draws, with the settings of that time."""
    ink, look = now().ink, {"which": "both", "labelsize": _RC["xtick.labelsize"], "width": _RC["xtick.major.width"]}
    ax.tick_params(color=ink, labelcolor=ink, **look)
    for axis in ("x", "y", "z"):
        if hasattr(ax, f"{axis}axis"):
            getattr(ax, f"{axis}axis").get_offset_text().set_color(ink)
    return ax


def colorbar(ax: Axes, drawn: ScalarMappable, label: str, *, shrink: float = 0.8) -> Colorbar:
    """Which colour is which value, beside the axes."""
    with styled():
        bar = ax.figure.colorbar(drawn, ax=ax, shrink=shrink, pad=0.02)
        bar.set_label(label)
        bar.outline.set_visible(False)
    dress(bar.ax)
    return bar


def legend_below(ax: Axes, handles: Sequence[Any]) -> None:
    """Say what is what in a row under the axes, after what is said there already."""
    before = ax.get_legend()
    if before is not None:
        handles = [*before.legend_handles, *handles]
    if not handles:
        return
    columns = len(handles) if len(handles) <= 3 else min(5, -(-len(handles) // 2))
    below = ScaledTranslation(0, -0.46, ax.figure.dpi_scale_trans)  # inches: clear of ticks and label
    look: Any = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0), "bbox_transform": ax.transAxes + below}
    with styled():
        ax.legend(handles=handles, ncols=columns, handlelength=1.2, columnspacing=1.4, borderaxespad=0, **look)


def class_patches(classes: Sequence[int], names: Sequence[str] | None = None) -> list[Patch]:
    """For a legend: the colour of each class with its name, its number unless names are given."""
    if names is not None and classes and max(classes) >= len(names):
        raise InputError(f"classes: expected a name for each of {max(classes) + 1} classes, got {len(names)}")
    patches = []
    for index in classes:
        full, name = class_color(index), f"class {index}" if names is None else names[index]
        patches.append(Patch(facecolor=(full, 0.4), edgecolor=full, label=name))
    return patches


def class_color(index: int) -> str:
    """Full colour of a class."""
    classes = now().classes
    return classes[index % len(classes)]


def tint(color: str, strength: NDArray[np.float64] | float) -> NDArray[np.float64]:
    """``color`` on the theme's paper: strength 0 is the paper, 1 the colour. (..., 3) for strengths (...)."""
    return blend(now().paper, color, strength)


def blend(first: str, last: str, share: NDArray[np.float64] | float) -> NDArray[np.float64]:
    """Colours between two: (..., 3) for shares (...) in [0, 1]."""
    a, b = np.array(to_rgb(first)), np.array(to_rgb(last))
    return np.asarray(a + (b - a) * np.asarray(share, np.float64)[..., None])


def crease_colors(bends: NDArray[np.integer[Any]], n_bends: int) -> NDArray[np.float64]:
    """Colour (e, 3) of creases by the bend they belong to: the deeper, the stronger; in between where there is one."""
    share = bends / (n_bends - 1) if n_bends > 1 else np.full(len(bends), 0.4)
    return blend(now().crease_first, now().crease_last, share)


def random_colors(count: int) -> NDArray[np.float64]:
    """Colours (count, 3) near the paper's, in no order, the same for the same count."""
    rng = np.random.default_rng(0)
    hue, saturation, value = rng.random((3, count))
    if now().name == "dark":
        return np.asarray(hsv_to_rgb(np.stack([hue, 0.3 + 0.3 * saturation, 0.22 + 0.22 * value], axis=1)))
    return np.asarray(hsv_to_rgb(np.stack([hue, 0.08 + 0.24 * saturation, 0.88 + 0.1 * value], axis=1)))


def value_colors() -> LinearSegmentedColormap:
    """Colours of values about zero: below it those of class 0, above it those of class 1, the paper's at the tie."""
    ends = [tuple(tint(class_color(index), 0.75)) for index in (0, 1)]
    return LinearSegmentedColormap.from_list("creases", [ends[0], to_rgb(now().paper), ends[1]])


def amount_colors(least: float = 0.0) -> LinearSegmentedColormap:
    """Colours of amounts: from (nearly) the paper's to that of class 0."""
    ends = [tuple(tint(class_color(0), strength)) for strength in (least, 1.0)]
    return LinearSegmentedColormap.from_list("creases", ends)


def readable(background: Any) -> str:
    """Ink or paper, whichever stands out more from a background."""
    theme = now()
    light = luminance(background)
    return max((theme.ink, theme.paper), key=lambda one: contrast(light, luminance(one)))


def contrast(first: float, second: float) -> float:
    """Ratio of two luminances, 1 to 21, as WCAG 2 defines it."""
    return (max(first, second) + 0.05) / (min(first, second) + 0.05)


def luminance(color: Any) -> float:
    """Relative luminance of a colour, 0 to 1, as WCAG 2 defines it."""
    rgb = np.array(to_rgb(color))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])
