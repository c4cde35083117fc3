"""Marks of growth on a plane: samples that were wrong, fold point and crease of a growth step, numbers of creases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from numpy.typing import ArrayLike, NDArray

from creases.errors import InputError
from creases.show import _style as style

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from creases.growth import History, Record, Scaling
    from creases.network import Network
    from creases.regions import PlanePartition


def mark_growth_step(
    ax: Axes,
    partition: PlanePartition,
    record: Record,
    *,
    X: ArrayLike | None = None,
    scaling: Scaling | None = None,
    legend: bool = True,
) -> Axes:
    """Mark a growth step on the plot of a partition: the samples that were wrong, the fold point, the new crease.

    On the network before the step the crease is dashed where it was put; on a slice only the creases of new units are
    marked. Only folding has a fold point and samples: those of X (n, 2) with the same mistake are ringed. Points are
    in the original units, which ``scaling`` leads back to.
    """
    from creases.growth.methods.folding import fold_entries  # maps of networks that did not grow need no growth

    units = new_units(partition.net, record)
    handles = mark_units(ax, partition, units)
    entry = next(iter(fold_entries(record.explanation)), record.explanation)  # of several folds, the strongest
    why, where = (entry.get(key) or {} for key in ("why", "where"))
    if partition.net.n_in == 2 and where.get("space") == "input":
        samples = same_mistakes(why, X, scaling)
        x, y = _slice_coordinates(partition, samples)
        handles += ring_points(ax, x, y, "same mistake", 7.5, 1.1)
        typical = _unscale(why["features"], scaling)[None]
        x, y = _slice_coordinates(partition, typical)
        handles += ring_points(ax, x, y, "typical mistake", 11, 1.8)
        fold = _unscale(where["fold_point"], scaling)
        if not units and "crease" in entry:  # dashed where the crease was put
            normal = np.asarray(entry["crease"]["normal"], np.float64) / (1.0 if scaling is None else scaling.spread)
            along = np.array([-normal[1], normal[0]]) / np.linalg.norm(normal)
            (x0, x1), (y0, y1) = _slice_coordinates(partition, np.stack([fold, fold + along]))
            dashed: dict[str, Any] = {"color": style.active_theme().accent, "linewidth": 2.0}
            dashed |= {"linestyle": (0, (2.5, 1.5)), "label": "where the crease is put"}
            handles.append(ax.axline((x0, y0), (x1, y1), zorder=3.5, **dashed))
        if not units or _is_on_crease(partition, fold, units):
            theme = style.active_theme()
            look: dict[str, Any] = {"markersize": 8, "color": theme.accent, "markeredgecolor": theme.paper}
            at = _slice_coordinates(partition, fold[None])
            handles += ax.plot(*at, "D", label="fold point", linestyle="none", markeredgewidth=1.2, zorder=6, **look)
    if legend:
        style.add_legend_below(ax, handles)
    return ax


def same_mistakes(why: Mapping[str, Any], X: ArrayLike | None, scaling: Scaling | None) -> NDArray[np.float64]:
    """Return the samples (k, d) that a fold was made for, besides the typical one; none if X is not their data."""
    data = np.zeros((0, len(why["features"]))) if X is None else np.asarray(X, np.float64)
    rows = np.array([row for row in why.get("cluster", {}).get("alike", ()) if row != why["instance"]], np.int64)
    if not len(rows) or max(rows.max(), why["instance"]) >= len(data):
        return data[:0]
    typical = _unscale(why["features"], scaling)
    close = 1e-4 * (np.ptp(data, axis=0) + 1e-12)  # growth may have been computed in float32
    return data[rows] if (np.abs(data[why["instance"]] - typical) <= close).all() else data[:0]


def ring_points(ax: Axes, x: ArrayLike, y: ArrayLike, label: str, size: float, width: float) -> list[Any]:
    """Ring points (k,); return the artists."""
    look: dict[str, Any] = {"markersize": size, "markeredgewidth": width, "markerfacecolor": "none"}
    look |= {"markeredgecolor": style.active_theme().ink, "linestyle": "none", "zorder": 6}
    return ax.plot(x, y, "o", label=label, **look) if np.size(x) else []


def _is_on_crease(partition: PlanePartition, point: NDArray[np.float64], units: Sequence[int]) -> bool:
    """Return whether the crease of a unit passes through a point of the input plane: training moves creases."""
    at = np.array(_slice_coordinates(partition, point[None]))[:, 0]
    segments = partition.vertices[partition.edges[np.isin(partition.edge_units, np.asarray(units, np.int64))]]
    if not len(segments):
        return False
    a, along = segments[:, 0], segments[:, 1] - segments[:, 0]
    share = np.clip(((at - a) * along).sum(axis=1) / (along**2).sum(axis=1).clip(1e-300), 0, 1)
    nearest = np.linalg.norm((a + share[:, None] * along - at) / np.diff(partition.box, axis=1).ravel(), axis=1)
    return bool(nearest.min() < 0.01)


def crease_numbers(net: Network, history: History, record: Record | None) -> list[int]:
    """Return for each unit the growth step that added it, up to a record; the network may be that before it."""
    if record is None:
        return history.added_by(net.n_units)
    is_after = net.n_units == record.width[1]
    return history.added_by(net.n_units, until=record.number - (not is_after))


def number_creases(
    ax: Axes,
    partition: PlanePartition,
    numbers: Sequence[int],
    *,
    X: NDArray[np.float64] | None = None,
    newest: int | None = None,
) -> None:
    """Write a number at the crease of each unit, where there is room; 0 for none, the newest one in the accent color.

    ``X`` are points (n, 2) in slice coordinates to keep away from.
    """
    low, size = partition.box[:, 0], np.diff(partition.box, axis=1).ravel()
    creases = {
        unit: _points_along((partition.vertices[partition.edges[partition.edge_units == unit]] - low) / size)
        for unit in range(len(numbers))
    }
    taken = [] if X is None or len(X) > MAX_AVOIDED else [(np.asarray(X, np.float64) - low) / size]
    labels: list[NDArray[np.float64]] = []
    for unit, points in creases.items():
        inside = points[((points > 0.03) & (points < 0.97)).all(axis=1)]
        if not numbers[unit] or not len(inside):
            continue
        others = [*taken, *(line for other, line in creases.items() if other != unit)]
        room = np.minimum(_distance(inside, others), 0.4 * _distance(inside, labels))
        labels.append(inside[[room.argmax()]])
        write_number(ax, numbers[unit], *(low + size * labels[-1][0]), is_newest=numbers[unit] == newest)


#: Points beyond which numbers do not keep away from them: they would find no room.
MAX_AVOIDED = 2_000


def _points_along(segments: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return points (k, 2) along segments (e, 2, 2), about a hundredth apart."""
    parts = []
    for a, b in segments:
        share = np.linspace(0, 1, max(3, int(100 * np.linalg.norm(b - a))))[1:-1, None]
        parts.append(a + share * (b - a))
    return np.concatenate(parts) if parts else np.zeros((0, 2))


def _distance(points: NDArray[np.float64], others: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return the distance of points (k, 2) from the nearest of others."""
    known = [other for other in others if len(other)]
    if not known:
        return np.full(len(points), 1.0)
    return np.asarray(np.linalg.norm(points[:, None] - np.concatenate(known), axis=2).min(axis=1))


def write_number(ax: Axes, number: int, x: float, y: float, *, is_newest: bool = False) -> None:
    """Write the number of a growth step at the crease or breakpoint that it added."""
    theme = style.active_theme()
    face = theme.accent if is_newest else theme.ink
    box = {"boxstyle": "circle,pad=0.18", "fc": face, "ec": theme.paper, "linewidth": 0.7}
    look: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 7, "zorder": 7, "color": theme.paper}
    ax.annotate(str(number), (x, y), bbox=box, annotation_clip=True, **look)


def mark_units(ax: Axes, partition: PlanePartition, units: Sequence[int]) -> list[Any]:
    """Highlight the creases of some units in the accent color; return the artists, for a legend."""
    is_marked = np.isin(partition.edge_units, np.asarray(units, np.int64))
    if not is_marked.any():
        return []
    segments = partition.vertices[partition.edges[is_marked]]  # (e, 2, 2)
    name = "newest crease" if len(units) == 1 else "newest creases"
    look: dict[str, Any] = {"colors": style.active_theme().accent, "linewidths": 2.2, "capstyle": "round"}
    lit = LineCollection(list(segments), zorder=3.5, label=name, **look)
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


def _slice_coordinates(partition: PlanePartition, x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the slice coordinates (2, k) of points (k, 2) of the input plane."""
    return np.asarray(np.linalg.solve(partition.basis, (x - partition.origin).T))
