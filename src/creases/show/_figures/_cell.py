"""One region, and a polytope in the plane."""

from __future__ import annotations

from math import pi
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Polygon
from matplotlib.ticker import MaxNLocator

from creases._schema import instance
from creases._typing import Floats
from creases._validation import check_arguments, check_points
from creases.errors import InputError
from creases.show import _style as style
from creases.show._figures._space import orient_outward, sort_corners

if TYPE_CHECKING:
    from creases.regions import Cell, DecisionPolytope


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


def plot_polytope(polytope: DecisionPolytope, *, ax: Axes | None = None, center: Any = None) -> Axes:
    """Plot a bounded, convex decision polytope of two or three dimensions.

    Parameters
    ----------
    polytope
        A result of :func:`creases.regions.decision_polytopes`.
    ax
        Axes to draw on (``projection="3d"`` for three dimensions); new ones by default.
    center
        In two dimensions: center of the largest circle inside and the smallest circle around; the origin by default.
    """
    n = polytope.vertices.shape[1]
    if n not in (2, 3) or not polytope.convex:
        raise InputError("polytope", "be bounded, convex and of 2 or 3 dimensions", repr(polytope))
    if n == 2:
        return _draw_polygon(polytope, style.get_axes(ax, 4, 4), center)
    return _draw_solid(polytope, ax)


def _draw_polygon(polytope: DecisionPolytope, ax: Axes, center: Any) -> Axes:
    corners = sort_corners(polytope.vertices)
    pale: Any = style.tint(style.class_color(1), 0.3)
    ax.add_patch(Polygon(corners, facecolor=pale, edgecolor=style.active_theme().boundary, linewidth=1.2))
    c = np.zeros(2) if center is None else check_points(center, 2, "center")[0]
    angle = np.linspace(0, 2 * pi, 361)
    for radius in polytope.radii(c):
        x, y = c[:, None] + radius * np.array([np.cos(angle), np.sin(angle)])
        ax.plot(x, y, color=style.active_theme().crease_last, linewidth=0.7, linestyle=(0, (4, 3)))
    ax.set_aspect("equal")
    ax.set_xlabel("$x_1$")
    ax.set_ylabel("$x_2$")
    return ax


def _draw_solid(polytope: DecisionPolytope, ax: Any) -> Axes:
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    ax = style.get_axes(ax, 5, 5, solid=True)
    middle = polytope.vertices.mean(axis=0)
    facets = [orient_outward(sort_corners(polytope.vertices[corners]), middle) for corners in polytope.incidence]
    color = style.tint(style.class_color(1), 0.45)
    faces = np.tile(color, (len(facets), 1))
    ax.add_collection(
        Poly3DCollection(facets, facecolors=faces, edgecolors=style.active_theme().ink, linewidths=0.8, shade=True)
    )
    reach = np.abs(polytope.vertices - middle).max()
    for k, name in enumerate("xyz"):
        getattr(ax, f"set_{name}lim")(middle[k] - reach, middle[k] + reach)
        getattr(ax, f"{name}axis").set_major_locator(MaxNLocator(2))
        getattr(ax, f"set_{name}label")(f"$x_{k + 1}$")
        getattr(ax, f"{name}axis").set_pane_color((1, 1, 1, 0))
    ax.set_box_aspect((1, 1, 1), zoom=0.9)  # room for the labels
    ax.grid(False)
    axes: Axes = ax
    return axes
