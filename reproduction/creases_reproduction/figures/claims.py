"""A claim of a source, drawn: printed numbers beside measured ones, curves with their intervals, or a heat map."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from creases import show
from creases.errors import InputError
from creases_reproduction.figures.heat_map import draw_cells

if TYPE_CHECKING:
    from collections.abc import Sequence

    from creases_reproduction.claim import Curve, Picture, Row


#: Names longer than this are cut in the drawing.
_LONGEST = 44

#: Curves over more than this ratio of x have a logarithmic axis.
_WIDE = 30


def plot_claim(picture: Picture, ax: Axes | None = None) -> Axes:
    """Draw what a claim's ``picture`` makes of its numbers.

    Rows are dots with 95 % intervals, the printed number beside as an open diamond; curves are lines with their
    intervals as bands; a heat map says its values unless they are many.

    Parameters
    ----------
    picture
        With rows, curves or a heat map; the first of these that it has is drawn.
    ax
        Axes to draw on; new ones unless given.

    Returns
    -------
    Axes
        The axes drawn on.
    """
    ax = show.get_axes(ax, *claim_size(picture))
    with show.style_context():
        if picture.rows:
            _draw_rows(ax, picture.rows)
        elif picture.curves:
            _draw_curves(ax, picture.curves)
        elif len(picture.heat):
            values = np.asarray(picture.heat, np.float64)
            x_names = picture.x_names or [str(k + 1) for k in range(values.shape[1])]
            y_names = picture.y_names or [str(k + 1) for k in range(values.shape[0])]
            draw_cells(ax, values, list(map(str, x_names)), list(map(str, y_names)))
        else:
            raise InputError("picture", "have rows, curves or a heat map", "none of them")
        if picture.log and not len(picture.heat):
            (ax.set_xscale if picture.rows else ax.set_yscale)("log")
        ax.set_xlabel(picture.x)
        ax.set_ylabel(picture.y)
    return ax


def claim_figure(picture: Picture, title: str) -> Figure:
    """Return a claim's picture as a figure of its own, without pyplot."""
    figure, (ax,) = show.new_figure(*claim_size(picture))
    plot_claim(picture, ax)
    with show.style_context():
        figure.suptitle(fill(title, 80), fontsize=10)  # above the legend
    return figure


def claim_size(picture: Picture) -> tuple[float, float]:
    """Return width and height in inches that suit a picture."""
    if picture.rows:
        return 6.4, 1.3 + 0.24 * len(picture.rows)
    if picture.curves:
        return 5.6, 3.4
    if len(picture.heat):
        return min(12.0, 2.2 + 0.6 * len(picture.heat[0])), min(9.0, 1.3 + 0.42 * len(picture.heat))
    return 5.6, 3.4


def _draw_rows(ax: Axes, rows: Sequence[Row]) -> None:
    at = np.arange(len(rows))[::-1]  # the first row on top
    ours, theirs = show.class_color(0), show.class_color(1)
    measured, printed = (_numbers([row.measured for row in rows]), _numbers([row.printed for row in rows]))
    low, high = (_numbers([row.low for row in rows]), _numbers([row.high for row in rows]))
    ax.hlines(at, low, high, color=ours, linewidth=1.6)
    ax.plot(measured, at, "o", color=ours, markersize=4.5, label="measured")
    if np.isfinite(printed).any():
        look: Any = {
            "markerfacecolor": "none",
            "markeredgecolor": theirs,
            "markeredgewidth": 1.4,
            "markersize": 7,
        }
        ax.plot(printed, at, "D", linestyle="none", label="printed", **look)
        ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    ax.set_yticks(at, [_cut(row.what) for row in rows])
    ax.set_ylim(-0.6, len(rows) - 0.4)
    ax.grid(axis="y", color=tuple(show.tint(show.active_theme().ink, 0.12)), linewidth=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def _draw_curves(ax: Axes, curves: Sequence[Curve]) -> None:
    for number, curve in enumerate(curves):
        color = show.class_color(number)
        few = len(curve.x) <= 30
        y = _numbers(curve.y)
        ax.plot(curve.x, y, color=color, linewidth=1.4, marker="o" if few else None, markersize=3, label=curve.name)
        if curve.low is not None and curve.high is not None:
            ax.fill_between(curve.x, _numbers(curve.low), _numbers(curve.high), color=color, alpha=0.18, linewidth=0)
    if any(curve.name for curve in curves):
        ax.legend()
    x = np.concatenate([np.asarray(curve.x, np.float64) for curve in curves])
    if x.min(initial=1) > 0 and x.max(initial=1) > _WIDE * x.min(initial=1):
        ax.set_xscale("log")
    ax.spines[["top", "right"]].set_visible(False)


def _numbers(values: Sequence[float | None]) -> NDArray[np.float64]:
    """Return numbers, those that are not there as NaN, which is not drawn."""
    return np.array([np.nan if value is None else value for value in values], np.float64)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1].rstrip()}…"
