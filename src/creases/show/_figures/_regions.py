"""Plots of regions in space, and of one region."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Polygon
from numpy.typing import NDArray

from creases._schema import instance
from creases._typing import Floats
from creases._validation import check_arguments, check_number
from creases.errors import InputError
from creases.show import _style as style

if TYPE_CHECKING:
    from creases.regions import Cell, SpacePartition


#: Largest number of solids that can be told apart in a plot.
_MAX_REGIONS = 5_000


@check_arguments(partition=instance("SpacePartition"))
def plot_space(partition: SpacePartition, *, ax: Axes | None = None, gap: float = 0.12) -> Axes:
    """Plot the regions of three-dimensional space as separated solids, colored by the predicted class.

    Parameters
    ----------
    partition
        A result of :func:`creases.space` for a network of three inputs.
    ax
        Axes to draw on (``projection="3d"``); new ones by default.
    gap
        Fraction by which each region shrinks towards its center, 0 to 1.
    """
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    dimensions = len(partition.box)
    if dimensions != 3:
        hint = "plot planes with creases.plane" if dimensions == 2 else "plot slices with creases.plane"
        raise InputError("partition", "be of three dimensions", str(dimensions), hint)
    if partition.count > _MAX_REGIONS:
        raise InputError(
            "partition", f"have at most {_MAX_REGIONS} regions", str(partition.count), "plot slices with creases.plane"
        )
    if not len(partition.vertices):
        raise InputError("partition", "have vertices", "none", "compute it with {0}", [("method", "vertices")])
    if not 0 <= check_number(gap, "gap") <= 1:
        raise InputError("gap", "be from 0 to 1", f"{gap:g}")
    ax = style.get_axes(ax, 6.5, 6, solid=True)
    polygons, region = _faces(partition)
    middle = np.stack(
        [partition.vertices[part].mean(axis=0) for part in np.split(partition.corners, partition.starts[1:-1])]
    )
    shrunk = []
    for polygon, r in zip(polygons, region, strict=True):
        smaller = middle[r] + (1 - gap) * (polygon - middle[r])
        center = smaller.mean(axis=0)
        turns = np.cross(smaller - center, np.roll(smaller, -1, axis=0) - center).sum(axis=0)
        shrunk.append(smaller if turns @ (center - middle[r]) > 0 else smaller[::-1])  # normals point out, for shading
    outputs = partition.net(middle).reshape(len(middle), -1)
    decided = outputs.argmax(axis=1) if outputs.shape[1] > 1 else (outputs[:, 0] > 0).astype(int)
    faces = np.stack([style.tint(style.class_color(int(index)), 0.35) for index in decided])[region]
    solids = Poly3DCollection(
        shrunk, facecolors=faces, edgecolors=style.active_theme().crease_last, linewidths=0.3, shade=True
    )
    ax.add_collection(solids)
    style.set_solid_box(ax, partition.box.tolist(), ("$x_1$", "$x_2$", "$x_3$"))
    ax.set_box_aspect(np.diff(partition.box, axis=1).ravel())  # type: ignore[arg-type]
    return ax


def _faces(partition: SpacePartition) -> tuple[list[Floats], NDArray[np.int64]]:
    """Return all polygons of all regions, corners in order, and the region of each."""
    flat = partition.flat
    corners, starts = flat.corners(2)
    polygons = [sort_corners(partition.vertices[part]) for part in np.split(corners, starts[1:-1])]
    first_polygon, first_region = int(flat.counts[:2].sum()), int(flat.counts[:3].sum())
    starts = flat.starts[first_region:]
    facets = flat.lists[starts[0] : starts[-1]] - first_polygon
    region = np.repeat(np.arange(partition.count), np.diff(starts))
    return [polygons[f] for f in facets], region


def sort_corners(points: Floats) -> Floats:
    """Sort the corners (k, 2) or (k, 3) of a flat convex polygon around it."""
    centered = points - points.mean(axis=0)
    axes = np.linalg.svd(centered, full_matrices=False)[2][:2]
    angle = np.arctan2(*(centered @ axes.T).T)
    return points[np.argsort(angle)]


# One region.


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
    corners = sort_corners(cell.vertices)
    face = style.tint(style.class_color(0), 0.15)
    ax.add_patch(
        Polygon(corners, closed=True, facecolor=face, edgecolor=style.active_theme().crease_last, linewidth=1.0)
    )
    for row in cell.facets:
        _name_side(ax, cell, corners, int(row))
    ax.plot(*cell.x, "o", color=style.active_theme().ink, markersize=6, label="input")
    crease, boundary = cell.nearest_crease, cell.nearest_boundary
    ends: list[tuple[Floats, str, str]] = []
    if crease is not None:
        normal = cell.Q[crease.row] / np.linalg.norm(cell.Q[crease.row])
        ends = [(cell.x + crease.distance * normal, style.active_theme().crease_last, "nearest crease")]
    if boundary is not None:
        ends.append((boundary.point, style.active_theme().boundary, "nearest boundary"))
    for stop, color, label in ends:
        ax.plot(*np.stack([cell.x, stop]).T, color=color, linewidth=0.9, linestyle=":")
        ax.plot(*stop, "s", color=color, markersize=4, label=label)
    ax.set_aspect("equal")
    ax.margins(0.3, 0.15)
    ax.set_xlabel("$x_1$")
    ax.set_ylabel("$x_2$")
    style.add_legend(ax, loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=3)
    return ax


def _name_side(ax: Axes, cell: Cell, corners: Floats, row: int) -> None:
    """Write the name of the unit beside its facet."""
    gap = np.abs(corners @ cell.Q[row] - cell.p[row]) / np.linalg.norm(cell.Q[row])
    middle = corners[np.argsort(gap)[:2]].mean(axis=0)
    out = cell.Q[row] / np.linalg.norm(cell.Q[row])
    unit = int(cell.units[row])
    name = str(cell.net.unit(unit)) if unit >= 0 else "box"
    align = "left" if out[0] > 0.3 else "right" if out[0] < -0.3 else "center"
    look: dict[str, Any] = {"textcoords": "offset points", "ha": align, "va": "center", "fontsize": 7}
    ax.annotate(name, middle, 8 * out, color=style.active_theme().ink, **look)
