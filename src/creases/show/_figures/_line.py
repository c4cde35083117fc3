"""Plots of line partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection

from creases._schema import instance
from creases._typing import Floats
from creases._validation import check_arguments
from creases.show import _style as style

if TYPE_CHECKING:
    from creases.regions import LinePartition


@check_arguments(partition=instance("LinePartition"))
def plot_line(partition: LinePartition, *, ax: Axes | None = None) -> Axes:
    """Plot a network along a line: outputs, breakpoints (darker with depth) and predicted classes.

    An infinite line is shown up to a quarter of their range beyond the outermost breakpoints.

    Parameters
    ----------
    partition
        A result of :func:`creases.line`.
    ax
        Axes to draw on; new ones by default.
    """
    ax = style.get_axes(ax, 8, 4)
    low, high = _window(partition)
    _draw_classes(ax, partition, low, high)
    _draw_breakpoints(ax, partition)
    _draw_outputs(ax, partition, low, high)
    ax.set_xlim(low, high)
    ax.set_xlabel("$t$")
    ax.set_ylabel("output")
    return ax


def _window(partition: LinePartition) -> tuple[float, float]:
    """Return the interval of t to show."""
    if not partition.infinite:
        return 0.0, 1.0
    if not len(partition.breakpoints):
        return -1.0, 2.0
    low, high = float(partition.breakpoints[0]), float(partition.breakpoints[-1])
    margin = (high - low) / 4 or 1.0
    return low - margin, high + margin


def _draw_classes(ax: Axes, partition: LinePartition, low: float, high: float) -> None:
    intervals = partition.classes()
    ends = np.clip(intervals.ends, low, high)
    for start, stop, index in zip(ends[:-1], ends[1:], intervals.classes, strict=True):
        if start < stop:
            ax.axvspan(start, stop, color=style.tint(style.class_color(int(index)), 0.15), linewidth=0, zorder=1)


def _draw_breakpoints(ax: Axes, partition: LinePartition) -> None:
    net, t = partition.net, partition.breakpoints
    units = partition.unit_ids[partition.unit_starts[:-1]]  # the first of several that meet
    bends = np.searchsorted(net.unit_starts, units, side="right") - 1
    ax.add_collection(
        LineCollection(
            [[(x, 0.0), (x, 1.0)] for x in t],
            colors=style.crease_colors(bends, len(net.bends)),
            linewidths=float(np.clip(20 / max(1, len(t)), 0.2, 0.5)),
            transform=ax.get_xaxis_transform(),
            zorder=2,
        ),
        autolim=False,
    )


def _draw_outputs(ax: Axes, partition: LinePartition, low: float, high: float) -> None:
    piece = partition.pieces()
    first, last = (piece.J[i, :, 0] * t + piece.y[i] for i, t in ((0, low), (-1, high)))
    t = np.concatenate([[low], partition.breakpoints, [high]])
    values: Floats = np.concatenate([first[None], partition.values, last[None]])  # (k + 2, m)
    size = float(np.clip(60 / max(1, len(t)), 0, 3))
    for index, output in enumerate(values.T):
        color = style.active_theme().ink if len(values.T) == 1 else style.class_color(index)
        ax.plot(t, output, color=color, linewidth=1.4, zorder=3, label=f"output {index}")
        ax.plot(t[1:-1], output[1:-1], "o", color=color, markersize=size, zorder=4)
    if len(values.T) == 1:
        ax.axhline(
            0, color=style.active_theme().boundary, linewidth=0.6, linestyle=(0, (4, 3)), zorder=2
        )  # the decision boundary
    else:
        with style.style_context():
            ax.legend(loc="best")
