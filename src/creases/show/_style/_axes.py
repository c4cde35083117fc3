"""Figures and axes in the common style: pale regions, thin creases, a bold boundary, data on top."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import RLock
from typing import TYPE_CHECKING, Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.transforms import ScaledTranslation

from creases.errors import InputError
from creases.show._style._colors import class_color
from creases.show._style._themes import active_theme

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
    "svg.hashsalt": "creases",  # the same figure gives the same file
    "svg.fonttype": "none",
}
_ON_PAPER = ("figure.facecolor", "axes.facecolor")
_IN_INK = ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color")

#: matplotlib's settings are global: only one thread at a time may change them.
_SETTINGS = RLock()


@contextmanager
def style_context() -> Iterator[None]:
    """Apply the style in the active theme inside a ``with`` block, without changing global settings."""
    theme = active_theme()
    colors = dict.fromkeys(_ON_PAPER, theme.paper) | dict.fromkeys(_IN_INK, theme.ink)
    settings: Any = {**_RC, **colors}
    with _SETTINGS, rc_context(settings):
        yield


def new_figure(width: float = 6.0, height: float = 6.0, *, panels: int = 1) -> tuple[Figure, list[Axes]]:
    """Create a figure with a row of axes in the style, outside pyplot: no window, no global state."""
    figure, axes = new_grid(width, height, 1, panels)
    return figure, list(axes[0])


def new_grid(width: float, height: float, rows: int, columns: int, **shared: Any) -> tuple[Figure, Any]:
    """Create a figure with an array (rows, columns) of axes in the style; ``shared`` goes to ``Figure.subplots``."""
    with style_context():
        figure = Figure(figsize=(width, height), layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False, **shared)
    for ax in axes.flat:
        apply_theme(ax)
    return figure, axes


def get_axes(ax: Axes | None, width: float, height: float, *, solid: bool = False) -> Axes:
    """Return ``ax``, or new pyplot axes if it is None, so that ``plt.show()`` and notebooks display them.

    With ``solid`` the new axes are three-dimensional.
    """
    if ax is not None:
        return ax
    from matplotlib import pyplot

    with style_context():
        figure = pyplot.figure(figsize=(width, height), layout="constrained")
        return apply_theme(figure.add_subplot(projection="3d") if solid else figure.add_subplot())


def apply_theme(ax: Axes) -> Axes:
    """Apply the theme to the ticks of new axes, which matplotlib would style only when it draws them."""
    ink, look = (
        active_theme().ink,
        {"which": "both", "labelsize": _RC["xtick.labelsize"], "width": _RC["xtick.major.width"]},
    )
    ax.tick_params(color=ink, labelcolor=ink, **look)
    for axis in ("x", "y", "z"):
        if hasattr(ax, f"{axis}axis"):
            getattr(ax, f"{axis}axis").get_offset_text().set_color(ink)
    return ax


def add_colorbar(ax: Axes, artist: ScalarMappable, label: str, *, shrink: float = 0.8) -> Colorbar:
    """Add a color bar beside the axes."""
    with style_context():
        bar = ax.figure.colorbar(artist, ax=ax, shrink=shrink, pad=0.02)
        bar.set_label(label)
        bar.outline.set_visible(False)
    apply_theme(bar.ax)
    return bar


def add_legend_below(ax: Axes, handles: Sequence[Any]) -> None:
    """Add handles to the legend below the axes, after those already there."""
    before = ax.get_legend()
    if before is not None:
        handles = [*before.legend_handles, *handles]
    if not handles:
        return
    columns = len(handles) if len(handles) <= 3 else min(5, -(-len(handles) // 2))
    below = ScaledTranslation(0, -0.46, ax.figure.dpi_scale_trans)  # inches: clear of ticks and label
    look: Any = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0), "bbox_transform": ax.transAxes + below}
    with style_context():
        ax.legend(handles=handles, ncols=columns, handlelength=1.2, columnspacing=1.4, borderaxespad=0, **look)


def class_patches(classes: Sequence[int], names: Sequence[str] | None = None) -> list[Patch]:
    """Return legend handles with the color and the name of each class; its number without ``names``."""
    if names is not None and classes and max(classes) >= len(names):
        raise InputError("classes", f"name each of the {max(classes) + 1} classes", f"{len(names)} names")
    patches = []
    for index in classes:
        full, name = class_color(index), f"class {index}" if names is None else names[index]
        patches.append(Patch(facecolor=(full, 0.4), edgecolor=full, label=name))
    return patches
