"""Marks of a growth step on a plane: new creases, fold point and typical sample."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from numpy.typing import ArrayLike, NDArray

from creases.errors import InputError
from creases.show import _style as style

if TYPE_CHECKING:
    from collections.abc import Sequence

    from creases.growth import Record, Scaling
    from creases.network import Network
    from creases.regions import PlanePartition


def mark_growth_step(
    ax: Axes, partition: PlanePartition, record: Record, *, scaling: Scaling | None = None, legend: bool = True
) -> Axes:
    """Mark a growth step on the plot of a partition: new creases, fold point and typical sample.

    Parameters
    ----------
    ax
        Axes of :func:`creases.show.plot_plane`.
    partition
        The partition of the network right after the growth step; on a slice only the creases are marked.
    record
        The growth step. Only folding has a fold point and a typical sample.
    scaling
        Scaling of the inputs during growth: points are marked in the original units.
    legend
        Whether to add the marks to the legend below.

    Returns
    -------
    Axes
        The axes drawn on.
    """
    from creases.growth.methods.folding import fold_entries  # maps of networks that did not grow need no growth

    theme = style.active_theme()
    handles = mark_units(ax, partition, new_units(partition.net, record))
    entry = next(iter(fold_entries(record.explanation)), record.explanation)  # of several folds, the strongest
    why, where = (entry.get(key) or {} for key in ("why", "where"))
    if partition.net.n_in == 2 and where.get("space") == "input":
        look: dict[str, Any] = {"linestyle": "none", "zorder": 6}
        sample = _unscale(why["features"], scaling)
        ring: dict[str, Any] = {
            "markersize": 11,
            "markerfacecolor": "none",
            "markeredgecolor": theme.ink,
            "markeredgewidth": 1.6,
        }
        handles += ax.plot(*_slice_coordinates(partition, sample), "o", label="typical mistake", **ring, **look)
        fold: dict[str, Any] = {
            "markersize": 8,
            "color": theme.accent,
            "markeredgecolor": theme.paper,
            "markeredgewidth": 1.2,
        }
        handles += ax.plot(
            *_slice_coordinates(partition, _unscale(where["fold_point"], scaling)),
            "D",
            label="fold point",
            **fold,
            **look,
        )
    if legend:
        style.add_legend_below(ax, handles)
    return ax


def mark_units(ax: Axes, partition: PlanePartition, units: Sequence[int]) -> list[Any]:
    """Highlight the creases of some units in the accent color; return the artists, for a legend."""
    is_marked = np.isin(partition.edge_units, np.asarray(units, np.int64))
    if not is_marked.any():
        return []
    segments = partition.vertices[partition.edges[is_marked]]  # (e, 2, 2)
    name = "newest crease" if len(units) == 1 else "newest creases"
    look: dict[str, Any] = {
        "colors": style.active_theme().accent,
        "linewidths": 2.2,
        "capstyle": "round",
        "label": name,
    }
    lit = LineCollection(list(segments), zorder=3.5, **look)
    ax.add_collection(lit, autolim=False)
    return [lit]


def new_units(net: Network, record: Record) -> list[int]:
    """Return the numbers of the units that a growth step added, in the network after it."""
    places = [net.steps[net.steps[bend].inputs[0] - 1].path for bend in net.bends]  # of the layer before each bend
    if record.place not in places:
        raise InputError(
            "record", f"be of a layer of this network ({', '.join(map(repr, places))})", repr(record.place)
        )
    first, after = net.unit_starts[places.index(record.place) :][:2]
    return [int(first) + unit for unit in record.units if first + unit < after]


def _unscale(point: ArrayLike, scaling: Scaling | None) -> NDArray[np.float64]:
    x = np.asarray(point, np.float64)
    return x if scaling is None else scaling.point(x)


def _slice_coordinates(partition: PlanePartition, x: NDArray[np.float64]) -> tuple[list[float], list[float]]:
    """Return the slice coordinates of a point (2,) of the input plane."""
    t = np.linalg.solve(partition.basis, x - partition.origin)
    return [float(t[0])], [float(t[1])]
