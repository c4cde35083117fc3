"""A partition of the plane, drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.tri import Triangulation
from numpy.typing import ArrayLike, NDArray

from creases._validation import check_numbers
from creases.errors import InputError
from creases.show import style
from creases.show.figures._marks import mark_growth_step

if TYPE_CHECKING:
    from creases.growth import Record, Scaling
    from creases.regions import Boundary, PlanePartition

Coloring = Literal["regions", "random", "value", "class"]

# Above this many regions an SVG holds the sheet and the creases as pixels: as paths no viewer opens it.
_AS_PATHS = 5_000

#: Inches: what fits on a page.
_TALLEST = 9.0


def plot_plane(
    partition: PlanePartition,
    *,
    ax: Axes | None = None,
    color: Coloring = "regions",
    data: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    classes: Sequence[str] | None = None,
    boundary: bool = True,
    record: Record | None = None,
    scaling: Scaling | None = None,
) -> Axes:
    """Draw a plane partition: its regions, its creases (darker with depth), the boundary, and data on top.

    Parameters
    ----------
    partition
        What :func:`creases.plane` gives.
    ax
        Axes to draw on; new ones unless given.
    color
        ``"regions"``: every region in one shade, as a sheet of folded paper lit from the upper left;
        ``"random"``: every region in a pale colour of its own;
        ``"value"``: the network's output (its first, if it has several);
        ``"class"``: the class that is decided, in the shades of the sheet.
    data
        Points (n, 2) in slice coordinates.
    labels
        Classes (n,) of the points.
    classes
        Names of the classes; without them they go by number.
    boundary
        Whether to draw where the decision is a tie.
    record, scaling
        A growth step that made this network: its new creases, fold point and typical instance are marked, as
        :func:`creases.show.mark_growth_step` does.

    Returns
    -------
    Axes
        The axes drawn on.
    """
    points, numbers = check_data(data, labels)
    if color not in get_args(Coloring):
        raise InputError(f"color: expected 'regions', 'random', 'value' or 'class', got {color!r}")
    height = plane_height(partition, 6)
    ax = style.get_axes(ax, (6 if height < _TALLEST else 4.5) + 0.9 * (color == "value"), height)
    raster = partition.count > _AS_PATHS
    decision = partition.boundary()
    if color == "value":
        _draw_values(ax, partition, decision)
    else:
        _draw_sheet(ax, partition, decision if color == "class" else None, raster, random=color == "random")
    _draw_creases(ax, partition, raster)
    if boundary:
        ax.add_collection(
            LineCollection(
                list(decision.segments),
                colors=style.active_theme().boundary,
                linewidths=1.8,
                capstyle="round",
                zorder=3,
            ),
            autolim=False,
        )
    if points is not None:
        _draw_data(ax, points, numbers)
    _dress(ax, partition)
    if color == "class":
        style.add_legend_below(ax, style.class_patches(np.unique(decision.part_class).tolist(), classes))
    if record is not None:
        mark_growth_step(ax, partition, record, scaling=scaling)
    return ax


def plane_height(partition: PlanePartition, width: float) -> float:
    """Height in inches of a picture of this width: the box in its own shape, the labels below it; not beyond a page."""
    return min(_TALLEST, (width - 0.6) / _shape(partition) + 0.85)


def _shape(partition: PlanePartition) -> float:
    """Width over height of the box as it is drawn: its own, but no strip."""
    width, height = np.diff(partition.box, axis=1).ravel()
    return float(np.clip(width / height, 0.25, 4))


def mark_points(ax: Axes, points: Mapping[str, ArrayLike]) -> None:
    """Mark named points, each two slice coordinates, on a plane that is drawn."""
    for name, point in points.items():
        given = check_numbers(point, "points")
        if given.shape != (2,) or not np.isfinite(given).all():
            raise InputError(f"points: expected two finite coordinates for {name!r}, got {given.tolist()}")
        t1, t2 = given
        ax.plot(
            t1,
            t2,
            "o",
            color=style.active_theme().ink,
            markeredgecolor=style.active_theme().paper,
            markersize=6,
            zorder=5,
        )
        ax.annotate(
            name, (t1, t2), (6, 6), textcoords="offset points", color=style.active_theme().ink, fontsize=11, zorder=5
        )


def axis_names(partition: PlanePartition) -> tuple[str, str]:
    """What the two axes are: inputs, or coordinates t on the slice x = origin + basis t."""
    whole = partition.net.n_in == 2 and np.array_equal(partition.basis, np.eye(2)) and not partition.origin.any()
    return ("$x_1$", "$x_2$") if whole else ("$t_1$", "$t_2$")


def check_data(
    data: ArrayLike | None, labels: ArrayLike | None
) -> tuple[NDArray[np.float64] | None, NDArray[np.int64] | None]:
    """Points (n, 2) of a plane and their classes (n,), where they are given."""
    if data is None:
        if labels is not None:
            raise InputError("labels: given without data; give the points as data=(n, 2)")
        return None, None
    points = check_numbers(data, "data")
    if points.ndim != 2 or points.shape[1] != 2:
        raise InputError(f"data: expected points (n, 2) in slice coordinates, got shape {points.shape}")
    if not np.isfinite(points).all():
        row = int(np.flatnonzero(~np.isfinite(points).all(axis=1))[0])
        raise InputError(f"data: expected finite numbers, got NaN or infinity in point {row}; leave such points out")
    if labels is None:
        return points, None
    values = check_numbers(labels, "labels")
    if values.shape != (len(points),):
        raise InputError(f"labels: expected {len(points)} classes, one for each point, got shape {values.shape}")
    strange = values[~((values >= 0) & (values == np.round(values)))]
    if len(strange):
        raise InputError(f"labels: expected the numbers of classes, whole and from 0, got {strange[0]:g}")
    return points, values.astype(np.int64)


def shades(partition: PlanePartition, output: int | None = None) -> NDArray[np.float64]:
    """How far each region is turned from the light, in [0, 1]: (R,).

    The sheet is the graph of an output (of the winning one unless given), its height scaled so that the usual slope
    is about 45 degrees.
    """
    slopes = partition.pieces().J  # (R, m, 2)
    middle = np.add.reduceat(partition.values[partition.corners], partition.starts[:-1], axis=0)  # (R, m)
    gradient = slopes[np.arange(len(slopes)), middle.argmax(axis=1) if output is None else output]  # (R, 2)
    size = np.linalg.norm(gradient, axis=1)
    gradient = gradient / (np.median(size[size > 0]) if (size > 0).any() else 1.0)
    light = np.array([-0.45, 0.65, 0.62])
    normal = np.concatenate([-gradient, np.ones((len(gradient), 1))], axis=1)
    lit = normal @ light / np.linalg.norm(normal, axis=1) / np.linalg.norm(light)  # (R,) cosine to the light
    return np.asarray((1 - lit) / 2)


def _draw_sheet(
    ax: Axes, partition: PlanePartition, decision: Boundary | None, raster: bool, *, random: bool = False
) -> None:
    turned = shades(partition)
    if decision is None:
        polygons = _polygons(partition.vertices, partition.corners, partition.starts)
        sheet = style.blend(style.active_theme().sheet_light, style.active_theme().sheet_dark, turned)
        colors = style.random_colors(partition.count) if random else sheet
    else:
        polygons = _polygons(decision.vertices, decision.part_corners, decision.part_starts)
        strength = 0.14 + 0.36 * turned[decision.part_region]
        colors = np.ones((len(polygons), 3))
        for index in np.unique(decision.part_class):
            chosen = decision.part_class == index
            colors[chosen] = style.tint(style.class_color(int(index)), strength[chosen])
    # Edges in the face's own colour close the hairline seams that antialiasing leaves between polygons.
    ax.add_collection(
        PolyCollection(polygons, facecolors=colors, edgecolors=colors, linewidths=0.4, zorder=1, rasterized=raster),
        autolim=False,
    )


def _polygons(
    vertices: NDArray[np.float64], corners: NDArray[np.integer[Any]], starts: NDArray[np.integer[Any]]
) -> list[NDArray[np.float64]]:
    return np.split(vertices[corners], starts[1:-1])


def _draw_values(ax: Axes, partition: PlanePartition, decision: Boundary) -> None:
    """The first output: linear on the triangles of a fan of each part, and a part of one output has one sign."""
    corners, starts = decision.part_corners, decision.part_starts
    sides = np.diff(starts)
    first, last = np.repeat(starts[:-1], sides), np.repeat(starts[1:], sides) - 1
    here = np.arange(len(corners))
    inner = here[(here > first) & (here < last)]  # each inner corner, with its successor and the part's first corner
    fan = np.stack([first[inner], inner, inner + 1], axis=1)  # (triangles, 3)
    points = decision.vertices[corners]
    piece, region = partition.pieces(), np.repeat(decision.part_region, sides)
    value = np.einsum("cd,cd->c", piece.J[region, 0], points) + piece.y[region, 0]
    limit = float(np.abs(value).max()) or 1.0
    mesh = ax.tripcolor(
        Triangulation(points[:, 0], points[:, 1], fan),
        value,
        shading="gouraud",
        cmap=style.value_colormap(),
        vmin=-limit,
        vmax=limit,
        zorder=1,
        rasterized=True,
    )
    style.add_colorbar(ax, mesh, "output" if partition.net.n_out == 1 else "output 0")


def _draw_creases(ax: Axes, partition: PlanePartition, raster: bool) -> None:
    inner = partition.edge_units >= 0
    net = partition.net
    bends = np.searchsorted(net.unit_starts, partition.edge_units[inner], side="right") - 1
    order = np.argsort(bends, kind="stable")  # deeper ones on top
    segments = partition.vertices[partition.edges[inner][order]]  # (e, 2, 2)
    width = float(np.clip(18 / np.sqrt(partition.count), 0.15, 0.9))
    ax.add_collection(
        LineCollection(
            list(segments),
            colors=style.crease_colors(bends[order], len(net.bends)),
            linewidths=width,
            capstyle="round",
            zorder=2,
            rasterized=raster,
        ),
        autolim=False,
    )


def _draw_data(ax: Axes, points: NDArray[np.float64], classes: NDArray[np.int64] | None) -> None:
    size = float(np.clip(6000 / max(1, len(points)), 4, 20))
    look: dict[str, Any] = {"s": size, "edgecolors": style.active_theme().paper, "linewidths": 0.35, "zorder": 4}
    if classes is None:
        ax.scatter(points[:, 0], points[:, 1], color=style.active_theme().ink, **look)
        return
    for index in np.unique(classes):
        chosen = points[classes == index]
        ax.scatter(chosen[:, 0], chosen[:, 1], color=style.class_color(int(index)), **look)


def _dress(ax: Axes, partition: PlanePartition) -> None:
    (left, right), (bottom, top) = partition.box
    ax.set_xlim(left, right)
    ax.set_ylim(bottom, top)
    ax.set_aspect("equal" if _shape(partition) == (right - left) / (top - bottom) else "auto")
    first, second = axis_names(partition)
    ax.set_xlabel(first)
    ax.set_ylabel(second)
