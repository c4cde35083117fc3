"""Networks of one input, drawn: the function and its breakpoints, delta-slopes, and both through training."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from numpy.typing import NDArray

from creases._typing import Floats
from creases._validation import check_samples
from creases.errors import InputError
from creases.show import style
from creases.splines.dynamics import Breakpoints, breakpoints

if TYPE_CHECKING:
    from creases.splines.dynamics import History

Function = Callable[[Floats], Any]
Window = tuple[float, float]


def plot_fit(
    model: Any,
    *,
    ax: Axes | None = None,
    data: tuple[Any, Any] | None = None,
    target: Function | None = None,
    window: Window | None = None,
) -> Axes:
    """Draw a function of one input with its breakpoints, over its data and the function it should be.

    Parameters
    ----------
    model
        What :func:`creases.read` reads, with one input and one output, ``splines.Shallow``, or ``splines.Breakpoints``.
    ax
        Axes to draw on; new ones unless given.
    data
        Inputs (N,) and targets (N,), as points.
    target
        The function to learn, from inputs (n,) to values (n,).
    window
        Inputs shown; unless given, those of the data, or of the middle nine tenths of the breakpoints.

    Returns
    -------
    Axes
        The axes drawn on.
    """
    found = model if isinstance(model, Breakpoints) else breakpoints(model)
    ax = style.get_axes(ax, 7, 4)
    low, high = shown_window(found, data, window)
    draw_targets(ax, data, target, low, high)
    _draw_breakpoints(ax, found, low, high)
    _draw_function(ax, found, low, high)
    ax.set_xlim(low, high)
    ax.set_xlabel("$x$")
    ax.set_ylabel("$f(x)$")
    with style.style_context():
        ax.legend(loc="best")
    return ax


def plot_delta_slopes(
    model: Any, *, ax: Axes | None = None, data: tuple[Any, Any] | None = None, window: Window | None = None
) -> Axes:
    """Draw at each breakpoint how much the slope grows there, from left to right; arguments as in :func:`plot_fit`."""
    found = model if isinstance(model, Breakpoints) else breakpoints(model)
    ax = style.get_axes(ax, 7, 2)
    low, high = shown_window(found, data, window)
    ax.axhline(0, color=style.active_theme().ink, linewidth=0.6)
    shown = (found.x >= low) & (found.x <= high)
    x, jump = found.x[shown], found.jump[shown]
    colors = jump_colors(jump)
    ax.vlines(x, 0, jump, colors=colors, linewidth=1.2)
    ax.scatter(x, jump, c=colors, s=10, zorder=3)
    ax.set_xlim(low, high)
    ax.set_xlabel("$x$")
    ax.set_ylabel("jump of the slope")
    return ax


def plot_tracks(history: History, *, ax: Axes | None = None, window: Window | None = None) -> Axes:
    """Draw every breakpoint through training, darker with depth, over the data; births and deaths are marked.

    Parameters
    ----------
    history
        What :meth:`creases.splines.Tracker.history` gives.
    ax
        Axes to draw on; new ones unless given.
    window
        Inputs shown; unless given, those of the data, or of the middle nine tenths of the breakpoints.
    """
    ax = style.get_axes(ax, 6, 5)
    low, high = shown_window(history, None, window)
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
        points = [(event.x, event.step) for event in history.events() if event.kind == kind and low < event.x < high]
        if points:
            ax.plot(*np.transpose(points), marker, color=color, markersize=3.5, label=f"{kind}s")
            with style.style_context():
                ax.legend(loc="best")
    ax.set_xlim(low, high)
    last = int(history.steps[-1]) if len(history) else 0
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
    """One figure of a function of one input: fit, delta-slopes and, where there is a target or data, errors below.

    ``optimum``: another fit, such as the best with as many pieces, drawn beside. ``names``: of input and output. Other
    arguments as in :func:`plot_fit`. Errors are against the target where there is one, else at the data.
    """
    found = model if isinstance(model, Breakpoints) else breakpoints(model)
    low, high = window = shown_window(found, data, window)
    figure, (top, middle, *rest) = stack_panels((3, 1.4) if target is None and data is None else (3, 1.4, 1.2))
    plot_fit(found, ax=top, data=data, target=target, window=window)
    grid = np.linspace(low, high, 1000)
    if optimum is not None:
        top.plot(
            grid,
            _values(optimum, grid),
            color=style.class_color(1),
            linewidth=1.2,
            linestyle=(0, (4, 2)),
            label="best fit",
        )
        with style.style_context():
            top.legend(loc="best")
    plot_delta_slopes(found, ax=middle, window=window)
    for ax in rest:
        _draw_errors(ax, found.pieces, optimum, data, target, grid)
        ax.set_xlim(low, high)
    name_axes(figure, names)
    return figure


def draw_targets(ax: Axes, data: Any, target: Function | None, low: float, high: float) -> None:
    if target is not None:
        grid = np.linspace(low, high, 1000)
        ax.plot(
            grid,
            _values(target, grid),
            color=style.active_theme().ink,
            linewidth=1.0,
            alpha=0.6,
            zorder=2,
            label="target",
        )
    if data is not None:
        x, y = check_samples(*data)
        ax.plot(x, y, "o", color=style.active_theme().quiet, markersize=_marker_size(x), zorder=3, label="data")


def _draw_errors(
    ax: Axes, function: Function, optimum: Function | None, data: Any, target: Function | None, grid: Floats
) -> None:
    """Errors of a function and of another over the grid, or at the data where there is no target."""
    ax.axhline(0, color=style.active_theme().ink, linewidth=0.6)
    x, y = (grid, _values(target, grid)) if target is not None else check_samples(*data)
    looks: Any = [{"linestyle": "-", "linewidth": 1.2}, {"linestyle": (0, (4, 2)), "linewidth": 1.0}]
    if target is None:
        size = _marker_size(x)
        looks = [{"linestyle": "", "marker": "o", "markersize": size}, {"linestyle": "", "marker": "x", "ms": size}]
    for one, color, look in zip((function, optimum), (0, 1), looks, strict=True):
        if one is not None:
            ax.plot(x, _values(one, x) - y, color=style.class_color(color), **look)
    ax.set_ylabel("error")


def _marker_size(x: Floats) -> float:
    return float(np.clip(120 / max(1, len(x)), 1.5, 4))


def _draw_breakpoints(ax: Axes, found: Breakpoints, low: float, high: float) -> None:
    """Lines at the breakpoints, darker with depth; those the output does not see are dotted."""
    shown = is_inside(found.x, (low, high))
    layers = int(found.layer.max(initial=0)) + 1
    for which, dash in ((shown & found.active, "-"), (shown & ~found.active, ":")):
        ax.add_collection(
            LineCollection(
                [[(x, 0.0), (x, 1.0)] for x in found.x[which]],
                colors=style.crease_colors(found.layer[which], layers),
                linewidths=float(np.clip(20 / max(1, shown.sum()), 0.3, 0.7)),
                linestyles=dash,
                transform=ax.get_xaxis_transform(),
                zorder=1,
            ),
            autolim=False,
        )


def _draw_function(ax: Axes, found: Breakpoints, low: float, high: float) -> None:
    x, f = curve_points(found.pieces, low, high)
    ax.plot(x, f, color=style.class_color(0), linewidth=1.6, zorder=4, label="network")
    size = float(np.clip(60 / max(1, len(x)), 0, 3))
    ax.plot(x[1:-1], f[1:-1], "o", color=style.class_color(0), markersize=size, zorder=5)


def curve_points(pieces: Any, low: float, high: float) -> tuple[Floats, Floats]:
    """The function's corners inside a window, and its ends."""
    x = np.concatenate([[low], pieces.knots[(pieces.knots > low) & (pieces.knots < high)], [high]])
    return x, pieces(x)


def shown_window(found: Breakpoints | History, data: tuple[Any, Any] | None, window: Window | None) -> Window:
    """The inputs that are shown."""
    if window is not None:
        low, high = float(window[0]), float(window[1])
        if not (np.isfinite(low) and np.isfinite(high) and low < high):
            raise InputError(f"window: expected two finite numbers, the smaller first, got {window!r}")
        return low, high
    x = check_samples(*data)[0] if data is not None else getattr(found, "data", np.zeros(0))
    if not len(x):
        x = np.quantile(found.x, [0.05, 0.95]) if len(found.x) else np.array([-1.0, 1.0])
    return pad_interval(float(x.min()), float(x.max()))


def pad_interval(low: float, high: float) -> Window:
    margin = 0.05 * (high - low) or 1.0
    return low - margin, high + margin


def jump_colors(jump: Floats) -> list[str]:
    return [style.class_color(int(one > 0)) for one in jump]


def is_inside(x: Floats, window: Window) -> NDArray[np.bool_]:
    return (x >= window[0]) & (x <= window[1])


def _values(function: Function, grid: Floats) -> Floats:
    return np.asarray(function(grid), np.float64).reshape(len(grid))


def stack_panels(heights: tuple[float, ...]) -> tuple[Figure, list[Axes]]:
    """A figure in the style with axes above each other."""
    height = 0.6 + 1.25 * sum(heights)
    figure, axes = style.new_grid(7, height, len(heights), 1, sharex=True, height_ratios=heights)
    return figure, list(axes[:, 0])


def name_axes(figure: Figure, names: tuple[str, str]) -> None:
    """Name the input under the lowest axes only, and the output at the highest."""
    for ax in figure.axes:
        ax.set_xlabel("")
    figure.axes[-1].set_xlabel(names[0])
    figure.axes[0].set_ylabel(names[1])
    figure.align_ylabels()
