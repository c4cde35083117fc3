"""A growth step, marked on the plane: its new creases, the point they fold at, the instance that asked for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from numpy.typing import ArrayLike, NDArray

from creases.errors import InputError
from creases.show import style

if TYPE_CHECKING:
    from collections.abc import Sequence

    from creases.growth import Record, Scaling
    from creases.network import Network
    from creases.regions import PlanePartition


def mark_growth_step(
    ax: Axes, partition: PlanePartition, record: Record, *, scaling: Scaling | None = None, legend: bool = True
) -> Axes:
    """Mark a growth step on a partition that is drawn: new creases, fold point and typical instance.

    Parameters
    ----------
    ax
        What :func:`creases.show.plot_plane` gave.
    partition
        That of the network right after the growth step: of its input plane, or of a slice that shows the creases only.
    record
        Of the growth step. Methods other than folding have new creases, but neither fold point nor typical instance.
    scaling
        What the inputs were scaled by when the network was grown: points are marked in the data's own units.
    legend
        Whether to say what the marks are, below.
    """
    theme = style.active_theme()
    shown = mark_units(ax, partition, new_units(partition.net, record))
    why, where = (record.explanation.get(key) or {} for key in ("why", "where"))
    if partition.net.n_in == 2 and where.get("space") == "input":
        look: dict[str, Any] = {"linestyle": "none", "zorder": 6}
        instance = _own(why["features"], scaling)
        ring: dict[str, Any] = {
            "markersize": 11,
            "markerfacecolor": "none",
            "markeredgecolor": theme.ink,
            "markeredgewidth": 1.6,
        }
        shown += ax.plot(*_on(partition, instance), "o", label="typical instance", **ring, **look)
        fold: dict[str, Any] = {
            "markersize": 8,
            "color": theme.accent,
            "markeredgecolor": theme.paper,
            "markeredgewidth": 1.2,
        }
        shown += ax.plot(*_on(partition, _own(where["fold_point"], scaling)), "D", label="fold point", **fold, **look)
    if legend:
        style.add_legend_below(ax, shown)
    return ax


def mark_units(ax: Axes, partition: PlanePartition, units: Sequence[int]) -> list[Any]:
    """Draw the creases of some units once more, in the accent's colour; what was drawn, for a legend."""
    own = np.isin(partition.edge_units, np.asarray(units, np.int64))
    if not own.any():
        return []
    segments = partition.vertices[partition.edges[own]]  # (e, 2, 2)
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
    """The new units of a growth step, by their numbers in the network that it made."""
    places = [net.steps[net.steps[bend].inputs[0] - 1].path for bend in net.bends]  # of the layer before each bend
    if record.place not in places:
        raise InputError(f"record: its place {record.place!r} is no layer of this network; it has {places}")
    first, after = net.unit_starts[places.index(record.place) :][:2]
    return [int(first) + unit for unit in record.units if first + unit < after]


def _own(point: ArrayLike, scaling: Scaling | None) -> NDArray[np.float64]:
    x = np.asarray(point, np.float64)
    return x if scaling is None else scaling.point(x)


def _on(partition: PlanePartition, x: NDArray[np.float64]) -> tuple[list[float], list[float]]:
    """A point (2,) of the input plane in the coordinates it is drawn in."""
    t = np.linalg.solve(partition.basis, x - partition.origin)
    return [float(t[0])], [float(t[1])]
