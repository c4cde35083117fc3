"""A partition of three-dimensional space, drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from creases._typing import Floats
from creases.errors import InputError
from creases.show import style

if TYPE_CHECKING:
    from creases.regions import SpacePartition


#: Above this many regions a picture of solids shows nothing any more.
_MOST = 5_000


def plot_space(partition: SpacePartition, *, ax: Axes | None = None, gap: float = 0.12) -> Axes:
    """Draw the regions of three-dimensional space as solids, moved a little apart, coloured by the class decided.

    Parameters
    ----------
    partition
        What :func:`creases.space` gives for a network of three inputs.
    ax
        Axes to draw on (``projection="3d"``); new ones unless given.
    gap
        By how much each region is shrunk towards its middle, 0 to 1.

    Returns
    -------
    Axes
        The axes drawn on.
    """
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    dimensions = len(partition.box)
    if dimensions != 3:
        advice = "creases.plane draws planes" if dimensions == 2 else "draw slices of it with creases.plane"
        raise InputError(f"partition: only three dimensions can be drawn as solids, got {dimensions}; {advice}")
    if partition.count > _MOST:
        raise InputError(f"partition: {partition.count} solids show nothing; draw slices of it with creases.plane")
    if not len(partition.vertices):
        raise InputError('partition: made with method="lp" it has no vertices to draw; make it with "vertices"')
    ax = style.get_axes(ax, 6.5, 6, solid=True)
    polygons, region = _faces(partition)
    middle = np.stack([partition.vertices[part].mean(axis=0) for part in _regions(partition)])
    shrunk = [
        outward(middle[r] + (1 - gap) * (polygon - middle[r]), middle[r])
        for polygon, r in zip(polygons, region, strict=True)
    ]
    outputs = partition.net(middle).reshape(len(middle), -1)
    decided = outputs.argmax(axis=1) if outputs.shape[1] > 1 else (outputs[:, 0] > 0).astype(int)
    faces = np.stack([style.tint(style.class_color(int(index)), 0.35) for index in decided])[region]
    solids = Poly3DCollection(
        shrunk, facecolors=faces, edgecolors=style.active_theme().crease_last, linewidths=0.3, shade=True
    )
    ax.add_collection(solids)
    _dress(ax, partition)
    return ax


def _regions(partition: SpacePartition) -> list[NDArray[Any]]:
    return np.split(partition.corners, partition.starts[1:-1])


def _faces(partition: SpacePartition) -> tuple[list[Floats], NDArray[np.int64]]:
    """Every polygon of every region, corners in order, and the region it belongs to."""
    flat = partition.flat
    corners, starts = flat.corners(2)
    polygons = [around(partition.vertices[part]) for part in np.split(corners, starts[1:-1])]
    first_polygon, first_region = int(flat.counts[:2].sum()), int(flat.counts[:3].sum())
    own = flat.starts[first_region:]
    facets = flat.lists[own[0] : own[-1]] - first_polygon
    region = np.repeat(np.arange(partition.count), np.diff(own))
    return [polygons[f] for f in facets], region


def around(points: Floats) -> Floats:
    """Corners (k, 3) of a flat convex polygon, in order around it."""
    centred = points - points.mean(axis=0)
    axes = np.linalg.svd(centred, full_matrices=False)[2][:2]
    angle = np.arctan2(*(centred @ axes.T).T)
    return points[np.argsort(angle)]


def outward(polygon: Floats, inside: Floats) -> Floats:
    """The polygon turned so that its normal points away from a point inside the solid: light falls on it right."""
    centre = polygon.mean(axis=0)
    turns = np.cross(polygon - centre, np.roll(polygon, -1, axis=0) - centre).sum(axis=0)
    return polygon if turns @ (centre - inside) > 0 else polygon[::-1]


def _dress(ax: Any, partition: SpacePartition) -> None:
    for name, (low, high) in zip("xyz", partition.box, strict=True):
        getattr(ax, f"set_{name}lim")(low, high)
        getattr(ax, f"set_{name}label")(f"$x_{'xyz'.index(name) + 1}$")
        getattr(ax, f"{name}axis").set_major_locator(MaxNLocator(4))
        getattr(ax, f"{name}axis").set_pane_color((1, 1, 1, 0))
    ax.set_box_aspect(np.diff(partition.box, axis=1).ravel())
    ax.grid(False)
