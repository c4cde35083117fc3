"""Plots of an output over a plane as a surface of flat facets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from creases._schema import instance
from creases._validation import check_arguments, check_index
from creases.errors import InputError
from creases.show import _style as style
from creases.show._figures._plane import axis_names, shades

if TYPE_CHECKING:
    from creases.regions import PlanePartition

#: Largest number of facets: more are too small to see and slow to draw.
_MAX_REGIONS = 20_000


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
    if partition.count > _MAX_REGIONS:
        raise InputError("partition", f"have at most {_MAX_REGIONS} regions", str(partition.count), "use plot_plane")
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
        ax.add_collection(
            Line3DCollection(
                _lift(partition, segments, output), colors=style.active_theme().boundary, linewidths=1.8, zorder=2
            )
        )
    _format_axes(ax, partition, height, output)
    return ax


def _lift(partition: PlanePartition, segments: NDArray[np.float64], output: int) -> NDArray[np.float64]:
    """Lift segments (s, 2, 2) of the plane to the height of the output: (s, 2, 3)."""
    flat = segments.reshape(-1, 2)
    values = np.asarray(partition.net(partition.points(flat)), np.float64).reshape(len(flat), -1)
    return np.column_stack([flat, values[:, output]]).reshape(-1, 2, 3)


def _format_axes(ax: Any, partition: PlanePartition, height: NDArray[np.float64], output: int) -> None:
    low, high = float(height.min()), float(height.max())
    margin = 0.05 * (high - low) or 1.0
    limits = [*partition.box.tolist(), (low - margin, high + margin)]
    names = [*axis_names(partition), "output" if partition.net.n_out == 1 else f"output {output}"]
    sides = np.diff(partition.box, axis=1).ravel()
    flat = np.clip(sides / sides.max(), 0.6, 1)
    for axis, (start, stop), name in zip("xyz", limits, names, strict=True):
        getattr(ax, f"set_{axis}lim")(start, stop)
        getattr(ax, f"set_{axis}label")(name)
        getattr(ax, f"{axis}axis").set_major_locator(MaxNLocator(4))
        getattr(ax, f"{axis}axis").set_pane_color((1, 1, 1, 0))
    ax.set_box_aspect((*flat, 0.65), zoom=1.12)  # room for the labels
    ax.view_init(elev=32, azim=-58)
    ax.grid(False)
