"""One region."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Polygon

from creases._schema import instance
from creases._typing import Floats
from creases._validation import check_arguments
from creases.errors import InputError
from creases.show import _style as style

if TYPE_CHECKING:
    from creases.regions import Cell


@check_arguments(cell=instance("Cell"))
def plot_cell(cell: Cell, *, ax: Axes | None = None) -> Axes:
    """Plot the region of an input: its polygon, the unit of each side, the nearest crease and boundary.

    Parameters
    ----------
    cell
        A result of :func:`creases.cell` for a network of two inputs, bounded (pass it a ``box``).
    ax
        Axes to draw on; new ones by default.
    """
    if len(cell.x) != 2:
        raise InputError(
            "cell", "be of a network of two inputs", f"{len(cell.x)} inputs", "plot a slice with creases.plane"
        )
    ax = style.get_axes(ax, 5, 5)
    corners = _sort_corners(cell.vertices)
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
        _draw_path(ax, cell.x, cell.x + crease.distance * normal, style.active_theme().crease_last, "nearest crease")
    if boundary is not None:
        _draw_path(ax, cell.x, boundary.point, style.active_theme().boundary, "nearest boundary")
    ax.set_aspect("equal")
    ax.margins(0.3, 0.15)
    ax.set_xlabel("$x_1$")
    ax.set_ylabel("$x_2$")
    with style.style_context():
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=3)
    return ax


def _sort_corners(points: Floats) -> Floats:
    centered = points - points.mean(axis=0)
    return points[np.argsort(np.arctan2(centered[:, 1], centered[:, 0]))]


def _name_side(ax: Axes, cell: Cell, corners: Floats, row: int) -> None:
    """Write the name of the unit beside its facet."""
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


def _draw_path(ax: Axes, start: Floats, stop: Floats, color: str, label: str) -> None:
    ax.plot(*np.stack([start, stop]).T, color=color, linewidth=0.9, linestyle=":")
    ax.plot(*stop, "s", color=color, markersize=4, label=label)
