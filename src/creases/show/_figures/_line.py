"""Plots of networks along a line and of networks of one input: the function, its breakpoints, also during training."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from numpy.typing import NDArray

from creases._schema import instance
from creases._typing import Floats
from creases._validation import check_arguments, check_samples, check_vector
from creases.errors import InputError
from creases.show import _style as style
from creases.splines import Breakpoints, OptimalFit, breakpoints

if TYPE_CHECKING:
    from creases.regions import LinePartition
    from creases.splines import History


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
    intervals = partition.classes()
    ends = np.clip(intervals.ends, low, high)
    for start, stop, index in zip(ends[:-1], ends[1:], intervals.classes, strict=True):
        if start < stop:
            ax.axvspan(start, stop, color=style.tint(style.class_color(int(index)), 0.15), linewidth=0, zorder=1)
    _draw_breakpoint_lines(ax, partition)
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


def _draw_breakpoint_lines(ax: Axes, partition: LinePartition) -> None:
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
        style.add_legend(ax)


# Plots of networks of one input: the function, its breakpoints and changes of slope, also during training.

Function = Callable[[Floats], Any]
Window = tuple[float, float]


def draw_fit(
    ax: Axes, breaks: Breakpoints, data: tuple[Any, Any] | None, target: Function | None, window: Window
) -> None:
    """Draw a function of one input with its breakpoints, over its data and its target."""
    low, high = window
    draw_targets(ax, data, target, low, high)
    _draw_breakpoints(ax, breaks, low, high)
    x, f = curve_points(breaks.pieces, low, high)
    size = float(np.clip(60 / max(1, len(x)), 0, 3))
    ax.plot(x, f, color=style.class_color(0), linewidth=1.6, zorder=4, label="network")
    ax.plot(x[1:-1], f[1:-1], "o", color=style.class_color(0), markersize=size, zorder=5)
    ax.set_xlim(low, high)


def draw_slope_changes(ax: Axes, breaks: Breakpoints, window: Window) -> None:
    """Draw the change of slope at each breakpoint."""
    ax.axhline(0, color=style.active_theme().ink, linewidth=0.6)
    inside = is_inside(breaks.x, window)
    x, jump = breaks.x[inside], breaks.jump[inside]
    colors = [style.class_color(int(change > 0)) for change in jump]
    ax.vlines(x, 0, jump, colors=colors, linewidth=1.2)
    ax.scatter(x, jump, c=colors, s=10, zorder=3)
    ax.set_xlim(*window)
    ax.set_ylabel("slope change")


def plot_tracks(
    history: History,
    *,
    predicted: Sequence[tuple[int, Floats, Floats]] = (),
    ax: Axes | None = None,
    window: Window | None = None,
) -> Axes:
    """Plot the breakpoints during training, darker with depth, with their births and deaths.

    Parameters
    ----------
    history
        A result of :meth:`creases.splines.Tracker.history`.
    predicted
        Motion to show beside the observed one, as tangents: steps, each with positions (k,) and their changes in a step
        (k,), such as ``2 lr / N`` times :func:`creases.splines.theory.velocities` for the mean squared error.
    ax
        Axes to draw on; new ones by default.
    window
        Interval of inputs to show; by default that of the data, or of the middle 90 % of the breakpoints.
    """
    ax = style.get_axes(ax, 6, 5)
    low, high = choose_window(history, None, window)
    tracks = list(history.tracks().values())
    layers = np.array([track.layer for track in tracks], np.int64)
    pale: Any = style.tint(style.class_color(1), 0.25)
    ax.vlines(history.data, 0, 1, colors=pale, linewidth=0.5, transform=ax.get_xaxis_transform())
    ax.add_collection(
        LineCollection(
            [np.column_stack([track.x, track.step]) for track in tracks],
            colors=style.crease_colors(layers, int(layers.max(initial=0)) + 1),
            linewidths=float(np.clip(60 / max(1, len(tracks)), 0.5, 1.2)),
        ),
        autolim=False,
    )
    for kind, marker, color in (("birth", "^", style.class_color(1)), ("death", "v", style.active_theme().ink)):
        points = [(event.x, event.step) for event in history.events if event.kind == kind and low < event.x < high]
        if points:
            ax.plot(*np.transpose(points), marker, color=color, markersize=3.5, label=f"{kind}s")
            style.add_legend(ax)
    ax.set_xlim(low, high)
    last = int(history.steps[-1]) if len(history) else 0
    tangents = [
        [(x + sign * last / 25 * rate, step + sign * last / 25) for sign in (-1, 1)]
        for step, places, rates in predicted
        for x, rate in zip(places, rates, strict=True)
        if np.isfinite(rate)
    ]
    if tangents:
        ax.add_collection(LineCollection(tangents, colors=style.class_color(1), linewidths=1.8, label="predicted"))
        style.add_legend(ax)
    ax.set_ylim(0, max(1, last))
    ax.set_xlabel("$x$")
    ax.set_ylabel("step")
    return ax


def plot_spline(
    model: Any,
    *,
    data: tuple[Any, Any] | None = None,
    target: Function | None = None,
    optimum: Function | None = None,
    window: Window | None = None,
    names: tuple[str, str] = ("$x$", "$f(x)$"),
) -> Figure:
    """Plot a function of one input: its fit, its changes of slope and, with a target or data, its errors.

    Errors are relative to the target, or to the data without a target.

    Parameters
    ----------
    model
        A network, torch module or file name with one input and one output, a ``splines.Shallow``, or ``Breakpoints``.
    data
        Inputs (N,) and targets (N,).
    target
        The function to learn, from inputs (n,) to values (n,).
    window
        Interval of inputs to show; by default that of the data, or of the middle 90 % of the breakpoints.
    optimum
        Another fit to compare with, such as the best one with as many pieces.
    names
        Names of the input and the output.

    Returns
    -------
    Figure
        The figure with all panels.
    """
    breaks = model if isinstance(model, Breakpoints) else breakpoints(model)
    low, high = window = choose_window(breaks, data, window)
    heights = (3, 1.4) if target is None and data is None else (3, 1.4, 1.2)
    figure, axes = style.new_grid(7, 0.6 + 1.25 * sum(heights), len(heights), 1, sharex=True, height_ratios=heights)
    top, middle, *rest = axes[:, 0]
    draw_fit(top, breaks, data, target, window)
    grid = np.linspace(low, high, 1000)
    if optimum is not None:
        dashed: dict[str, Any] = {"linewidth": 1.2, "linestyle": (0, (4, 2)), "label": "best fit"}
        top.plot(grid, _values(optimum, grid), color=style.class_color(1), **dashed)
    style.add_legend(top)
    draw_slope_changes(middle, breaks, window)
    for ax in rest:
        _draw_errors(ax, breaks.pieces, optimum, data, target, grid)
        ax.set_xlim(low, high)
    top.set_ylabel(names[1])
    figure.axes[-1].set_xlabel(names[0])
    figure.align_ylabels()
    return figure


def _check_data(data: Any) -> tuple[Floats, Floats]:
    """Return samples as inputs and targets (n,)."""
    if not isinstance(data, tuple | list) or len(data) != 2:
        raise InputError("data", "be a pair (x, y)", type(data).__name__)
    return check_samples(*data)


def draw_targets(ax: Axes, data: Any, target: Function | None, low: float, high: float) -> None:
    """Draw the target function and the data."""
    if target is not None:
        grid = np.linspace(low, high, 1000)
        look: dict[str, Any] = {"color": style.active_theme().ink, "linewidth": 1.0, "alpha": 0.6, "zorder": 2}
        ax.plot(grid, _values(target, grid), label="target", **look)
    if data is not None:
        x, y = _check_data(data)
        ax.plot(x, y, "o", color=style.active_theme().quiet, markersize=_marker_size(x), zorder=3, label="data")


def _draw_errors(
    ax: Axes, function: Function, optimum: Function | None, data: Any, target: Function | None, grid: Floats
) -> None:
    """Draw the errors of a function and of the optimum on a grid, or at the data without a target."""
    ax.axhline(0, color=style.active_theme().ink, linewidth=0.6)
    x, y = (grid, _values(target, grid)) if target is not None else _check_data(data)
    looks: Any = [{"linestyle": "-", "linewidth": 1.2}, {"linestyle": (0, (4, 2)), "linewidth": 1.0}]
    if target is None:
        size = _marker_size(x)
        looks = [{"linestyle": "", "marker": "o", "markersize": size}, {"linestyle": "", "marker": "x", "ms": size}]
    for fit, color, look in zip((function, optimum), (0, 1), looks, strict=True):
        if fit is not None:
            ax.plot(x, _values(fit, x) - y, color=style.class_color(color), **look)
    ax.set_ylabel("error")


def _marker_size(x: Floats) -> float:
    return float(np.clip(120 / max(1, len(x)), 1.5, 4))


def _draw_breakpoints(ax: Axes, breaks: Breakpoints, low: float, high: float) -> None:
    """Draw lines at the breakpoints, darker with depth; dotted if the output does not depend on them."""
    inside = is_inside(breaks.x, (low, high))
    layers = int(breaks.layer.max(initial=0)) + 1
    for which, dash in ((inside & breaks.active, "-"), (inside & ~breaks.active, ":")):
        ax.add_collection(
            LineCollection(
                [[(x, 0.0), (x, 1.0)] for x in breaks.x[which]],
                colors=style.crease_colors(breaks.layer[which], layers),
                linewidths=float(np.clip(20 / max(1, inside.sum()), 0.3, 0.7)),
                linestyles=dash,
                transform=ax.get_xaxis_transform(),
                zorder=1,
            ),
            autolim=False,
        )


def curve_points(pieces: Any, low: float, high: float) -> tuple[Floats, Floats]:
    """Return the corners of a function inside a window, with its ends."""
    x = np.concatenate([[low], pieces.knots[(pieces.knots > low) & (pieces.knots < high)], [high]])
    return x, pieces(x)


def choose_window(breaks: Breakpoints | History, data: tuple[Any, Any] | None, window: Window | None) -> Window:
    """Return the interval of inputs to show."""
    if window is not None:
        low, high = check_vector(window, "window", 2).tolist()
        if not low < high:
            raise InputError("window", "be two finite numbers, the smaller first", repr(window))
        return low, high
    x = _check_data(data)[0] if data is not None else getattr(breaks, "data", np.zeros(0))
    if not len(x):
        x = np.quantile(breaks.x, [0.05, 0.95]) if len(breaks.x) else np.array([-1.0, 1.0])
    return pad_interval(float(x.min()), float(x.max()))


def pad_interval(low: float, high: float) -> Window:
    """Widen an interval by 5 % on each side."""
    margin = 0.05 * (high - low) or 1.0
    return low - margin, high + margin


def is_inside(x: Floats, window: Window) -> NDArray[np.bool_]:
    """Return which points lie inside a window."""
    return (x >= window[0]) & (x <= window[1])


def _values(function: Function, grid: Floats) -> Floats:
    return np.asarray(function(grid), np.float64).reshape(len(grid))


def plot_pieces(
    fit: OptimalFit,
    *,
    ax: Axes | None = None,
    data: tuple[Any, Any] | None = None,
    target: Any = None,
    window: Window | None = None,
    names: tuple[str, str] = ("$x$", "$f(x)$"),
) -> Axes:
    """Plot the best piecewise-linear fit with its knots, over its data.

    Parameters
    ----------
    fit
        A result of :func:`creases.splines.optimal_fit`.
    ax
        Axes to draw on; new ones by default.
    data, target
        As in :func:`plot_spline`.
    window
        Interval of inputs to show; by default that of the data, or of the knots.
    names
        Names of the input and the output.
    """
    ax = style.get_axes(ax, 7, 4)
    x = np.asarray(fit.knots if data is None else data[0], np.float64)
    low, high = window or (pad_interval(float(x.min()), float(x.max())) if len(x) else (-1.0, 1.0))
    draw_targets(ax, data, target, low, high)
    corners, values = curve_points(fit.pieces, low, high)
    quiet = style.active_theme().quiet
    ax.vlines(corners[1:-1], 0, 1, colors=quiet, linewidth=0.6, transform=ax.get_xaxis_transform(), zorder=1)
    ax.plot(corners, values, color=style.class_color(0), linewidth=1.6, zorder=4, label="best fit")
    ax.set_xlim(low, high)
    ax.set_xlabel(names[0])
    ax.set_ylabel(names[1])
    style.add_legend(ax)
    return ax
