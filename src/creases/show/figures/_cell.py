"""One region of the plane, drawn with what bounds it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Polygon

from creases._typing import Floats
from creases.errors import InputError
from creases.show import style

if TYPE_CHECKING:
    from creases.regions import Cell


def plot_cell(cell: Cell, *, ax: Axes | None = None) -> Axes:
    """Draw the region of one input: its polygon, the unit on each side, the input and what is nearest to it.

    Parameters
    ----------
    cell
        What :func:`creases.cell` gives for a network of two inputs, bounded (give it a ``box``).
    ax
        Axes to draw on; new ones unless given.

    Returns
    -------
    Axes
        The axes drawn on.
    """
    if len(cell.x) != 2:
        raise InputError(f"cell: only regions of two inputs can be drawn, got {len(cell.x)}; see creases.plane")
    ax = style.get_axes(ax, 5, 5)
    corners = _in_order(cell.vertices)
    face = style.tint(style.class_color(0), 0.15)
    ax.add_patch(
        Polygon(corners, closed=True, facecolor=face, edgecolor=style.active_theme().crease_last, linewidth=1.0)
    )
    for row in cell.facets:
        _name_side(ax, cell, corners, int(row))
    ax.plot(*cell.x, "o", color=style.active_theme().ink, markersize=6, label="input")
    crease, boundary = cell.nearest_crease, cell.nearest_boundary
    if crease is not None:
        normal = cell.Q[crease.row] / np.linalg.norm(cell.Q[crease.row])
        _reach(ax, cell.x, cell.x + crease.distance * normal, style.active_theme().crease_last, "nearest crease")
    if boundary is not None:
        _reach(ax, cell.x, boundary.point, style.active_theme().boundary, "nearest boundary")
    ax.set_aspect("equal")
    ax.margins(0.3, 0.15)
    ax.set_xlabel("$x_1$")
    ax.set_ylabel("$x_2$")
    with style.style_context():
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=3)
    return ax


def _in_order(points: Floats) -> Floats:
    centred = points - points.mean(axis=0)
    return points[np.argsort(np.arctan2(centred[:, 1], centred[:, 0]))]


def _name_side(ax: Axes, cell: Cell, corners: Floats, row: int) -> None:
    """Write the unit behind a facet beside it."""
    gap = np.abs(corners @ cell.Q[row] - cell.p[row]) / np.linalg.norm(cell.Q[row])
    middle = corners[np.argsort(gap)[:2]].mean(axis=0)
    out = cell.Q[row] / np.linalg.norm(cell.Q[row])
    unit = int(cell.units[row])
    name = str(cell.net.unit(unit)) if unit >= 0 else "box"
    align = "left" if out[0] > 0.3 else "right" if out[0] < -0.3 else "center"
    ax.annotate(
        name,
        middle,
        8 * out,
        textcoords="offset points",
        ha=align,
        va="center",
        fontsize=7,
        color=style.active_theme().ink,
    )


def _reach(ax: Axes, start: Floats, stop: Floats, color: str, label: str) -> None:
    ax.plot(*np.stack([start, stop]).T, color=color, linewidth=0.9, linestyle=":")
    ax.plot(*stop, "s", color=color, markersize=4, label=label)
