"""Numbers as colored cells."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, LinearSegmentedColormap, to_rgb
from numpy.typing import NDArray

from creases import show

#: Largest number of columns for which values are written into the cells.
_MAX_ANNOTATED = 16


def draw_cells(ax: Axes, values: NDArray[np.float64], x_names: Sequence[str], y_names: Sequence[str]) -> None:
    """Draw numbers (rows, columns) as colored cells, the first row at the bottom, with a color bar."""
    rows, columns = values.shape
    low, high = _limits(values)
    with show.style_context():
        image = ax.imshow(values, _colormap(low < 0 < high), origin="lower", aspect="auto", vmin=low, vmax=high)
        ax.set_xticks(range(columns), x_names)
        ax.set_yticks(range(rows), y_names)
        ax.set_xticks(np.arange(1, columns) - 0.5, minor=True)
        ax.set_yticks(np.arange(1, rows) - 0.5, minor=True)
        ax.grid(which="minor", color=show.active_theme().paper, linewidth=1.5)
        ax.tick_params(which="both", length=0)
        ax.spines[:].set_visible(False)
        if columns <= _MAX_ANNOTATED:
            _annotate(ax, values, image.to_rgba(values))
        bar = ax.figure.colorbar(image, ax=ax, shrink=0.8, pad=0.02)
        bar.outline.set_visible(False)
    show.apply_theme(bar.ax)


def _limits(values: NDArray[np.float64]) -> tuple[float, float]:
    """Return the ends of the color scale: symmetric for values of both signs, 0 to 1 for shares."""
    finite = values[np.isfinite(values)]
    if not finite.size:
        return 0.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    if low < 0 < high:
        return -max(-low, high), max(-low, high)
    if low >= 0 and high <= 1 and high > 0.2:
        return 0.0, 1.0
    return (low, high) if low < high else (low - 0.5, high + 0.5)


def _annotate(ax: Axes, values: NDArray[np.float64], colors: NDArray[np.float64]) -> None:
    form = ".2f" if np.abs(np.nan_to_num(values)).max() <= 1 else ".3g"
    for (row, column), number in np.ndenumerate(values):
        if np.isfinite(number):
            ink = show.readable_color(colors[row, column, :3])
            ax.text(column, row, f"{number:{form}}", ha="center", va="center", color=ink, fontsize=8)


def _colormap(both_signs: bool) -> Colormap:
    paper, ends = show.active_theme().paper, [tuple(show.tint(show.class_color(index), 0.75)) for index in (0, 1)]
    diverging = LinearSegmentedColormap.from_list("creases", [ends[0], to_rgb(paper), ends[1]])
    return (diverging if both_signs else show.amount_colormap(0.06)).with_extremes(bad=show.active_theme().missing)
