"""Plots of plane partitions: regions, creases, decision boundary and data; an output as a surface of flat facets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import Normalize
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FuncFormatter, MaxNLocator
from matplotlib.tri import Triangulation
from numpy.typing import ArrayLike, NDArray

from creases._schema import instance
from creases._typing import Floats
from creases._validation import check_arguments, check_choice, check_index, check_numbers
from creases.errors import InputError
from creases.show import _style as style
from creases.show._figures._marks import crease_numbers, mark_growth_step, number_creases

if TYPE_CHECKING:
    from creases.certify import SafetyMap
    from creases.growth import History, Record, Scaling
    from creases.regions import Boundary, PlanePartition, Topology


Coloring = Literal["regions", "random", "value", "class"]

# With more regions than this an SVG holds the sheet and the creases as pixels: no viewer opens that many paths.
_AS_PATHS = 5_000

#: Share of the plane from which on an island has room for its number.
_SMALLEST = 0.002

#: Inches that fit on a page.
_TALLEST = 9.0


@check_arguments(partition=instance("PlanePartition"))
def plot_plane(
    partition: PlanePartition,
    *,
    ax: Axes | None = None,
    color: Coloring = "regions",
    X: ArrayLike | None = None,
    y: ArrayLike | None = None,
    classes: Sequence[str] | None = None,
    boundary: bool = True,
    islands: bool = False,
    history: History | None = None,
    record: Record | None = None,
    scaling: Scaling | None = None,
) -> Axes:
    """Plot a plane partition: regions, creases (darker with depth), the decision boundary, and data on top.

    Parameters
    ----------
    partition
        A result of :func:`creases.plane`.
    ax
        Axes to draw on; new ones by default.
    color
        ``"regions"``: each region has one shade, like a sheet of folded paper lit from the upper left;
        ``"random"``: each region has a random pale color;
        ``"value"``: the network's output (the first of several);
        ``"class"``: the predicted class, in the shades of the sheet.
    X
        Points (n, 2) in slice coordinates.
    y
        Classes (n,) of the points.
    classes
        Class names; class numbers by default.
    boundary, islands
        Whether to draw the decision boundary, and to number the islands of each class that has several.
    history
        The history of a network of one hidden layer that grew: each crease has the number of the growth step that
        added it.
    record, scaling
        A growth step to mark: the samples that were wrong, the typical one and, in the network before it, where the
        crease was put, or in the network after it the new crease; and the scaling of the inputs during growth.
    """
    points, numbers = check_data(X, y)
    check_choice(color, get_args(Coloring), "color")
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
        draw_boundary(ax, decision)
    if points is not None:
        _draw_data(ax, points, numbers)
    style.set_box(ax, partition.box, axis_names(partition))
    if color == "class":
        style.add_legend_below(ax, style.class_patches(np.unique(decision.part_class).tolist(), classes))
    if islands:
        _number_islands(ax, partition.topology(), decision)
    if record is not None:
        mark_growth_step(ax, partition, record, X=points, scaling=scaling)
    if history is not None:
        newest = None if record is None else record.number
        number_creases(ax, partition, crease_numbers(partition.net, history, record), X=points, newest=newest)
    return ax


def plane_height(partition: PlanePartition, width: float) -> float:
    """Return the height in inches for a figure of this width: the box in proportion, plus labels, at most a page."""
    return min(_TALLEST, (width - 0.6) / _shape(partition.box) + 0.85)


def _shape(box: Floats) -> float:
    """Return width over height of a box as drawn, limited to between 1:4 and 4:1."""
    width, height = np.diff(box, axis=1).ravel()
    return float(np.clip(width / height, 0.25, 4))


def mark_points(ax: Axes, points: Mapping[str, ArrayLike]) -> None:
    """Mark named points, given in slice coordinates (2,), on the plot of a plane."""
    for name, point in points.items():
        at, theme = check_numbers(point, "points"), style.active_theme()
        if at.shape != (2,) or not np.isfinite(at).all():
            raise InputError("points", f"have two finite coordinates for {name!r}", str(at.tolist()))
        ax.plot(*at, "o", color=theme.ink, markeredgecolor=theme.paper, markersize=6, zorder=5)
        ax.annotate(name, (at[0], at[1]), (6, 6), textcoords="offset points", color=theme.ink, fontsize=11, zorder=5)


def draw_boundary(ax: Axes, boundary: Boundary) -> None:
    """Draw the boundary between classes."""
    color = style.active_theme().boundary
    lines = LineCollection(list(boundary.segments), colors=color, linewidths=1.8, capstyle="round", zorder=3)
    ax.add_collection(lines, autolim=False)


def axis_names(partition: PlanePartition) -> tuple[str, str]:
    """Return the names of the two axes: inputs, or coordinates t of the slice x = origin + basis t."""
    of_inputs = partition.net.n_in == 2 and np.array_equal(partition.basis, np.eye(2)) and not partition.origin.any()
    return ("$x_1$", "$x_2$") if of_inputs else ("$t_1$", "$t_2$")


def check_data(X: ArrayLike | None, y: ArrayLike | None) -> tuple[NDArray[np.float64] | None, NDArray[np.int64] | None]:
    """Return points (n, 2) of a plane and their classes (n,), validated; None for what is not given."""
    if X is None:
        if y is not None:
            raise InputError("y", "come with points X (n, 2)", "y without X")
        return None, None
    points = check_numbers(X, "X")
    if points.ndim != 2 or points.shape[1] != 2:
        raise InputError("X", "be points (n, 2) in slice coordinates", f"shape {points.shape}")
    if not np.isfinite(points).all():
        row = int(np.flatnonzero(~np.isfinite(points).all(axis=1))[0])
        raise InputError("X", "be finite", f"NaN or infinity in row {row}", "drop such rows")
    if y is None:
        return points, None
    values = check_numbers(y, "y")
    if values.shape != (len(points),):
        raise InputError("y", f"have {len(points)} classes, one for each row of X", f"shape {values.shape}")
    invalid = values[~((values >= 0) & (values == np.round(values)))]
    if len(invalid):
        raise InputError("y", "be class numbers: integers from 0", f"{invalid[0]:g}")
    return points, values.astype(np.int64)


def shades(partition: PlanePartition, output: int | None = None) -> NDArray[np.float64]:
    """Return for each region (R,) how far it is turned away from the light, in [0, 1].

    The sheet is the graph of an output (by default of the largest one), its height scaled so that the median slope
    is 45 degrees.
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
            of_class = decision.part_class == index
            colors[of_class] = style.tint(style.class_color(int(index)), strength[of_class])
    # Edges in the face's color close the hairline seams that antialiasing leaves between polygons.
    ax.add_collection(
        PolyCollection(polygons, facecolors=colors, edgecolors=colors, linewidths=0.4, zorder=1, rasterized=raster),
        autolim=False,
    )


def _number_islands(ax: Axes, topology: Topology, decision: Boundary) -> None:
    """Write a number on each island of a class that has several, the largest first: in the middle of a wide part."""
    polygons, sizes = _polygons(decision.vertices, decision.part_corners, decision.part_starts), topology.sizes
    outline = [withStroke(linewidth=2.5, foreground=style.active_theme().paper)]
    look: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 10, "fontweight": "bold", "zorder": 6}
    for label in np.unique(topology.classes).tolist():
        islands = np.flatnonzero(topology.classes == label)
        islands = islands[np.argsort(-sizes[islands], kind="stable")] if len(islands) > 1 else islands[:0]
        for number, island in enumerate(islands[sizes[islands] > _SMALLEST * sizes.sum()].tolist(), 1):
            parts = [polygons[part] for part in np.flatnonzero(topology.part_islands == island)]
            widest = max(parts, key=lambda part: float(np.ptp(part, axis=0).min()))
            x, y = widest.mean(axis=0)
            ax.text(x, y, str(number), color=style.class_color(label), path_effects=outline, **look)


def _polygons(
    vertices: NDArray[np.float64], corners: NDArray[np.integer[Any]], starts: NDArray[np.integer[Any]]
) -> list[NDArray[np.float64]]:
    return np.split(vertices[corners], starts[1:-1])


def _draw_values(ax: Axes, partition: PlanePartition, decision: Boundary) -> None:
    """Draw the first output, which is linear on the triangles of a fan of each part and has one sign there."""
    points = decision.vertices[decision.part_corners]
    piece, region = partition.pieces(), np.repeat(decision.part_region, np.diff(decision.part_starts))
    value = np.einsum("cd,cd->c", piece.J[region, 0], points) + piece.y[region, 0]
    limit = float(np.abs(value).max()) or 1.0
    look: dict[str, Any] = {"cmap": style.value_colormap(), "vmin": -limit, "vmax": limit, "zorder": 1}
    mesh = fill_values(ax, points, np.arange(len(points)), decision.part_starts, value, **look)
    style.add_colorbar(ax, mesh, "output" if partition.net.n_out == 1 else "output 0")


def fill_values(ax: Axes, points: Floats, corners: Any, starts: Any, values: Floats, **look: Any) -> Any:
    """Draw values at points (v, 2), linear on convex parts, as colors: by a fan of triangles from each first corner.

    The corners of each part are numbers of points, one part after another, that begin at ``starts``.
    """
    sides, index = np.diff(starts), np.arange(starts[-1])
    first, last = np.repeat(starts[:-1], sides), np.repeat(starts[1:], sides) - 1
    inner = index[(index > first) & (index < last)]
    triangles = corners[np.stack([first[inner], inner, inner + 1], axis=1)]
    mesh = Triangulation(points[:, 0], points[:, 1], triangles)
    return ax.tripcolor(mesh, values, shading="gouraud", rasterized=True, **look)


def _draw_creases(ax: Axes, partition: PlanePartition, raster: bool) -> None:
    inner = partition.edge_units >= 0
    net = partition.net
    bends = np.searchsorted(net.unit_starts, partition.edge_units[inner], side="right") - 1
    order = np.argsort(bends, kind="stable")  # deeper ones on top
    segments = partition.vertices[partition.edges[inner][order]]  # (e, 2, 2)
    width = float(np.clip(18 / np.sqrt(partition.count), 0.15, 0.9))
    colors = style.crease_colors(bends[order], len(net.bends))
    look: dict[str, Any] = {"linewidths": width, "capstyle": "round", "zorder": 2, "rasterized": raster}
    ax.add_collection(LineCollection(list(segments), colors=colors, **look), autolim=False)


def _draw_data(ax: Axes, points: NDArray[np.float64], classes: NDArray[np.int64] | None) -> None:
    size = float(np.clip(6000 / max(1, len(points)), 4, 20))
    look: dict[str, Any] = {"s": size, "edgecolors": style.active_theme().paper, "linewidths": 0.35, "zorder": 4}
    if classes is None:
        ax.scatter(points[:, 0], points[:, 1], color=style.active_theme().ink, **look)
        return
    for index in np.unique(classes):
        of_class = points[classes == index]
        ax.scatter(of_class[:, 0], of_class[:, 1], color=style.class_color(int(index)), **look)


# Maps of safety: how far every point of a plane is from the decision boundary.

#: Tint of a class where the decision is farthest from changing.
STRONGEST = 0.75


@check_arguments(picture=instance("SafetyMap"))
def plot_safety_map(
    picture: SafetyMap,
    *,
    ax: Axes | None = None,
    X: ArrayLike | None = None,
    y: ArrayLike | None = None,
    classes: Sequence[str] | None = None,
    flips: bool = False,
    names: tuple[str, str] | None = None,
    label: str = "distance to the boundary",
) -> Axes:
    """Plot the distance to the decision boundary on a plane, with lines of equal distance.

    Each class has its color, paler towards the boundary. Distances are exact within the plane.

    Parameters
    ----------
    picture
        A result of :func:`creases.certify.safety_map`.
    ax
        Axes to draw on; new ones by default.
    X, y
        Points (n, 2) in slice coordinates and their classes (n,).
    classes
        Class names; class numbers by default.
    flips
        Whether to connect each point with the nearest point of the boundary.
    names
        Of the two axes.
    label
        Of the color bar, to name the unit.
    """
    points, numbers = check_data(X, y)
    ax = style.get_axes(ax, 6.9, min(9.0, 5.4 / _shape(picture.box) + 0.85))
    farthest = float(picture.distance.max()) or 1.0
    _draw_distance(ax, picture, farthest, label)
    _draw_levels(ax, picture)
    draw_boundary(ax, picture.boundary)
    if points is not None:
        _draw_points(ax, picture, points, numbers, flips=flips)
    style.set_box(ax, picture.box, names or axis_names(picture.partition))
    style.add_legend_below(ax, style.class_patches(np.unique(picture.classes).tolist(), classes))
    return ax


def _draw_distance(ax: Axes, picture: SafetyMap, farthest: float, label: str) -> None:
    """Draw the pixels: with two classes the signed distance, with more the tint of each class."""
    extent: Any = tuple(picture.box.ravel())
    look: dict[str, Any] = {"origin": "lower", "extent": extent, "aspect": "auto", "zorder": 1}
    labels = np.unique(picture.classes)
    if labels.max() <= 1:
        image = ax.imshow(picture.signed, cmap=style.value_colormap(), vmin=-farthest, vmax=farthest, **look)
        bar = style.add_colorbar(ax, image, label)
        bar.ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{abs(value):.4g}"))
        return
    pixels = np.ones((*picture.distance.shape, 3))
    strength = 0.08 + (STRONGEST - 0.08) * picture.distance / farthest
    for index in labels:
        of_class = picture.classes == index
        pixels[of_class] = style.tint(style.class_color(int(index)), strength[of_class])
    ax.imshow(pixels, **look)
    ink = style.active_theme().ink
    gray = [tuple(style.tint(ink, share)) for share in (0.05, 0.6)]
    colors = type(style.value_colormap()).from_list("creases-safety", gray)
    style.add_colorbar(ax, ScalarMappable(Normalize(0, farthest), colors), label)


def _draw_levels(ax: Axes, picture: SafetyMap) -> None:
    """Draw lines of equal distance, the same on both sides of the boundary."""
    farthest = float(picture.distance.max())
    ticks = np.asarray(MaxNLocator(6).tick_values(0.0, farthest))
    levels = ticks[(ticks > 0) & (ticks < farthest)]
    if not len(levels) or min(picture.distance.shape) < 2:
        return
    lines = ax.contour(
        picture.t1, picture.t2, picture.distance, levels, colors=style.active_theme().ink, linewidths=0.5, zorder=2
    )
    with style.style_context():
        texts = ax.clabel(lines, fmt="%g", fontsize=7, inline_spacing=3)
    low, size = picture.box[:, 0], picture.box[:, 1] - picture.box[:, 0]
    for text in texts:
        place = (np.array(text.get_position()) - low) / size
        text.set_visible(bool(np.abs(place - 0.5).max() < 0.46))  # else it would be cut off


def _draw_points(ax: Axes, picture: SafetyMap, points: Floats, numbers: Any, *, flips: bool) -> None:
    theme = style.active_theme()
    if flips:
        ends = np.stack([points, picture.flips(points)], axis=1)
        ax.add_collection(LineCollection(list(ends), colors=theme.ink, linewidths=0.9, zorder=4), autolim=False)
        ax.scatter(ends[:, 1, 0], ends[:, 1, 1], s=9, color=theme.ink, linewidths=0, zorder=4)
    colors = theme.ink if numbers is None else [style.class_color(int(index)) for index in numbers]
    ax.scatter(points[:, 0], points[:, 1], s=24, c=colors, edgecolors=theme.paper, linewidths=0.5, zorder=5)


# Plots of an output over a plane as a surface of flat facets.

#: Largest number of facets: more are too small to see and slow to draw.
_MAX_FACETS = 20_000


@check_arguments(partition=instance("PlanePartition"))
def plot_surface(partition: PlanePartition, *, output: int = 0, ax: Axes | None = None, boundary: bool = True) -> Axes:
    """Plot an output over a plane partition in three dimensions: one flat facet for each region.

    The surface is exact: its corners are the vertices of the partition with the values of the network. The colormap is
    diverging about zero, and the decision boundary is drawn on the surface.

    Parameters
    ----------
    partition
        A result of :func:`creases.plane`.
    output
        Number of the output, from 0.
    ax
        Axes to draw on (``projection="3d"``); new ones by default.
    boundary
        Whether to draw the decision boundary.

    Examples
    --------
    >>> import creases
    >>> from creases.show import plot_surface
    >>> net = creases.read([([[1.0, 0.0]], [0.0]), ([[1.0]], [-0.5])])  # relu(x1) - 0.5
    >>> ax = plot_surface(creases.plane(net))
    >>> ax.get_zlabel(), [round(float(z), 2) for z in ax.get_zlim()]
    ('output', [-0.55, 0.55])
    """
    from mpl_toolkits.mplot3d.art3d import Line3DCollection, Poly3DCollection

    output = check_index(output, partition.net.n_out, "output")
    if partition.count > _MAX_FACETS:
        raise InputError("partition", f"have at most {_MAX_FACETS} regions", str(partition.count), "use plot_plane")
    if ax is not None and not hasattr(ax, "zaxis"):
        raise InputError("ax", 'be created with projection="3d"', type(ax).__name__)
    ax = style.get_axes(ax, 6, 4.6, solid=True)
    ax.computed_zorder = False  # type: ignore[attr-defined]  # the boundary lies on the surface: draw it after
    height = partition.values[:, output]
    corners = np.column_stack([partition.vertices, height])[partition.corners]  # (C, 3)
    facets = np.split(corners, partition.starts[1:-1])
    middle = np.add.reduceat(corners[:, 2], partition.starts[:-1]) / np.diff(partition.starts)
    limit = float(np.abs(height).max()) or 1.0
    turned = shades(partition, output)[:, None]
    sheet = style.blend(style.active_theme().sheet_light, style.active_theme().sheet_dark, turned[:, 0])
    colors = (0.8 * style.value_colormap()((middle / limit + 1) / 2)[:, :3] + 0.2 * sheet) * (1.05 - 0.45 * turned)
    colors = np.clip(colors, 0, 1)
    width = float(np.clip(6 / np.sqrt(partition.count), 0.1, 0.7))
    look: dict[str, Any] = {"edgecolors": style.active_theme().crease_last, "linewidths": width, "zorder": 1}
    ax.add_collection(Poly3DCollection(facets, facecolors=colors, **look))
    if boundary and len(segments := partition.boundary().segments):
        flat = segments.reshape(-1, 2)
        values = np.asarray(partition.net(partition.points(flat)), np.float64).reshape(len(flat), -1)
        lifted = np.column_stack([flat, values[:, output]]).reshape(-1, 2, 3)
        look = {"colors": style.active_theme().boundary, "linewidths": 1.8, "zorder": 2}
        ax.add_collection(Line3DCollection(lifted, **look))
    _format_surface_axes(ax, partition, height, output)
    return ax


def _format_surface_axes(ax: Any, partition: PlanePartition, height: NDArray[np.float64], output: int) -> None:
    low, high = float(height.min()), float(height.max())
    margin = 0.05 * (high - low) or 1.0
    limits = [*partition.box.tolist(), (low - margin, high + margin)]
    names = [*axis_names(partition), "output" if partition.net.n_out == 1 else f"output {output}"]
    sides = np.diff(partition.box, axis=1).ravel()
    flat = np.clip(sides / sides.max(), 0.6, 1)
    style.set_solid_box(ax, limits, names)
    ax.set_box_aspect((*flat, 0.65), zoom=1.12)  # room for the labels
    ax.view_init(elev=32, azim=-58)
