"""Plots of growth runs: learning curves with every growth step marked, and the network for one or two inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter
from numpy.typing import NDArray

from creases._text import OneLine, plural
from creases.errors import InputError
from creases.regions import LinePartition
from creases.show import _style as style
from creases.show._figures._marks import number_creases, write_number
from creases.show._figures._plane import plot_plane

if TYPE_CHECKING:
    from creases.growth import History
    from creases.regions import PlanePartition

#: Marker of each kind of growth step, above the curves.
_MARKS = {"grow": "v", "narrow": "^", "revive": "s"}
#: Legends that stay readable over lines.
_SOLID: dict[str, Any] = {"frameon": True, "framealpha": 0.9, "edgecolor": "none", "borderpad": 0.2}

_LABELS = {
    "grow": "units added",
    "narrow": "units removed",
    "revive": "dead units reinitialised",
}


#: Units up to which creases are numbered: more numbers hide the picture.
MAX_NUMBERED = 24


@dataclass(frozen=True, eq=False, repr=False)
class GrowthView(OneLine):
    """A network of one or two inputs before and after growth, with its data, to draw above the curves."""

    before: PlanePartition | LinePartition | None  #: before the first growth step
    after: PlanePartition | LinePartition
    X: NDArray[np.float64]  #: (n, 1) or (n, 2)
    y: NDArray[Any]  #: (n,)
    features: Sequence[str]
    classes: Sequence[str] | None  #: None for regression


def plot_growth(
    history: History,
    *,
    view: GrowthView | None = None,
    score: str = "score",
) -> Figure:
    """Plot loss, score and size of a network by epoch, with every growth step marked.

    Parameters
    ----------
    history
        The history of the run.
    view
        The network before and after growth, for one or two inputs, drawn above the curves.
    score
        Name of the score.

    Returns
    -------
    Figure
        The figure with all panels.
    """
    if not history.epochs:
        raise InputError("history", "have at least one epoch", "none")
    with style.style_context():
        if view is None:
            figure, (curves,) = style.new_grid(12, 3.8, 1, 3)
        else:
            figure = Figure(figsize=(12, 9.2), layout="constrained")
            parts: Any = figure.subfigures(2, 1, height_ratios=(1.6, 1))
            upper, lower = parts
            _draw_view(upper, view, history)
            curves = lower.subplots(1, 3)
            for ax in curves:
                style.apply_theme(ax)
        plot_growth_curves(history, axes=list(curves), score=score)
    return figure


def plot_growth_curves(history: History, *, axes: Sequence[Axes] | None = None, score: str = "score") -> list[Axes]:
    """Plot loss, score and size by epoch on three axes, with every growth step marked above them."""
    if axes is None:
        from matplotlib import pyplot

        with style.style_context():
            axes = list(pyplot.subplots(1, 3, figsize=(12, 3.8), layout="constrained")[1])
        for ax in axes:
            style.apply_theme(ax)
    with style.style_context():
        _draw_curves(history, axes, score)
    return list(axes)


def _draw_curves(history: History, axes: Sequence[Axes], score: str) -> None:
    loss, scored, size = axes
    epochs = [epoch["epoch"] for epoch in history.epochs]
    _draw_curve(loss, epochs, history, "loss")
    loss.set_ylabel("loss")
    values = np.concatenate([np.asarray(line.get_ydata(), np.float64) for line in loss.lines])
    if np.nanmin(values) > 0 and np.nanmax(values) > 20 * np.nanmin(values):
        loss.set_yscale("log")
        loss.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        loss.yaxis.set_major_formatter("{x:g}")
        loss.yaxis.set_minor_formatter(NullFormatter())
    _draw_curve(scored, epochs, history, "score")
    scored.set_ylabel(score)
    _draw_sizes(size, epochs, history)
    for ax in axes:
        ax.set_xlabel("epoch")
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.margins(x=0.02)
        _mark_steps(ax, history)
    loss.legend(loc="best", **_SOLID)
    _add_step_legend(scored, history)


def draw_score(ax: Axes, history: History) -> None:
    """Draw the score by epoch, with every growth step marked above it."""
    _draw_curve(ax, [epoch["epoch"] for epoch in history.epochs], history, "score")
    ax.set_xlabel("epoch")
    ax.set_ylabel("score")
    ax.margins(x=0.02)
    _mark_steps(ax, history)
    ax.legend(loc="lower right", **_SOLID)


def _draw_curve(ax: Axes, epochs: list[int], history: History, name: str) -> None:
    for k, (key, label) in enumerate(((name, "training"), (f"validation_{name}", "validation"))):
        values = np.array([epoch[key] for epoch in history.epochs], np.float64)  # NaN where it is not known
        if not np.isnan(values).all():
            ax.plot(epochs, values, color=style.class_color(k), linewidth=1.3, label=label)


def _draw_sizes(ax: Axes, epochs: list[int], history: History) -> None:
    """Draw the width of every layer, with the number of parameters in the title."""
    names = list(history.epochs[-1]["widths"])
    for k, name in enumerate(names):
        widths = [epoch["widths"].get(name, 0) for epoch in history.epochs]
        ax.plot(epochs, widths, color=style.class_color(k), linewidth=1.5, drawstyle="steps-post", label=name)
    ax.set_ylabel("units")
    ax.yaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_ylim(bottom=0)
    if len(names) > 1:
        ax.legend(loc="best", **_SOLID)
    first = history.epochs[0]["parameters"]
    last = history.epochs[-1 if history.kept is None else max(history.kept, 1) - 1]["parameters"]
    ax.set_title(f"{first} parameters grow to {last}" if last != first else f"{first} parameters", pad=9)


def _mark_steps(ax: Axes, history: History) -> None:
    """Draw a marker and a thin line for every growth step, and a dashed line at the kept epoch."""
    kept, across = history.kept, ax.get_xaxis_transform()
    for record in history.records:
        ax.axvline(record.epoch, color=style.active_theme().crease_first, linewidth=0.6, zorder=0)
        face = style.active_theme().crease_last if history.keeps(record) else style.active_theme().paper
        look: dict[str, Any] = {"markersize": 4.5, "color": face, "markeredgecolor": style.active_theme().crease_last}
        ax.plot([record.epoch], [1.0], _MARKS[record.action], transform=across, clip_on=False, zorder=5, **look)
    if kept is not None and kept < len(history.epochs):
        ax.axvline(kept, color=style.active_theme().ink, linewidth=1.0, linestyle=(0, (4, 2)), zorder=1)


def _add_step_legend(ax: Axes, history: History) -> None:
    handles, kept = [], history.kept
    for action in dict.fromkeys(record.action for record in history.records):
        (mark,) = ax.plot(
            [], [], _MARKS[action], color=style.active_theme().crease_last, markersize=4.5, label=_LABELS[action]
        )
        handles.append(mark)
    left_out = [record for record in history.records if not history.keeps(record)]
    if left_out:
        look: dict[str, Any] = {
            "color": style.active_theme().paper,
            "markeredgecolor": style.active_theme().crease_last,
        }
        outcomes = {history.outcome(record).value for record in left_out}
        why = outcomes.pop() if len(outcomes) == 1 else "not in the network"
        handles.append(ax.plot([], [], "v", markersize=4.5, label=why, **look)[0])
    if kept is not None and kept < len(history.epochs):
        dashed: dict[str, Any] = {
            "linewidth": 1.0,
            "linestyle": (0, (4, 2)),
            "label": "network kept" if kept else "linear model kept",
        }
        handles.append(ax.plot([], [], color=style.active_theme().ink, **dashed)[0])
    if handles:
        ax.legend(handles=handles, loc="best", **_SOLID)


def _draw_view(figure: Any, view: GrowthView, history: History) -> None:
    last = max((record.number for record in history.records if history.keeps(record)), default=0)
    partitions = [(view.after, "After")] if view.before is None else [(view.before, "Before"), (view.after, "After")]
    on_line = isinstance(view.after, LinePartition)
    axes = figure.subplots(1, len(partitions), squeeze=False, sharey=on_line)[0]
    for ax, (partition, name) in zip(axes, partitions, strict=True):
        style.apply_theme(ax)
        units = partition.net.n_units
        numbers = history.added_by(units, until=last)
        numbers = numbers if units <= MAX_NUMBERED else []
        if isinstance(partition, LinePartition):
            _draw_line(ax, partition, view, numbers)
        else:
            _draw_plane(ax, partition, view, numbers)
        more = f", {partition.count} regions" if partition.count > 1 else ""
        note = "; a number is the growth step that added the crease" if ax.texts and name == "After" else ""
        ax.set_title(f"{name}: {plural(units, 'unit')}{more}{note}")


def _draw_plane(ax: Axes, partition: PlanePartition, view: GrowthView, numbers: Sequence[int]) -> None:
    if view.classes is None:
        plot_plane(partition, ax=ax, color="regions", boundary=False)
    else:
        plot_plane(partition, ax=ax, color="class", X=view.X, y=view.y, classes=view.classes)
    sides = np.diff(partition.box, axis=1).ravel()
    if not 0.5 <= sides[0] / sides[1] <= 2:  # inputs of different kinds: proportions have no meaning
        ax.set_aspect("auto")
    ax.set_xlabel(view.features[0])
    ax.set_ylabel(view.features[1])
    number_creases(ax, partition, numbers, X=view.X)


def _draw_line(ax: Axes, partition: LinePartition, view: GrowthView, numbers: Sequence[int]) -> None:
    """Draw a network of one input and one output over its data, with its breakpoints."""
    size = float(np.clip(3000 / max(1, len(view.X)), 4, 16))
    dots: dict[str, Any] = {"s": size, "color": style.active_theme().crease_first, "linewidths": 0, "zorder": 1}
    ax.scatter(view.X[:, 0], view.y, label="data", **dots)
    x, values = draw_outputs(ax, partition, [style.active_theme().ink], ["network"])
    ax.set_xlabel(view.features[0])
    ax.set_ylabel("target")
    ax.legend(loc="best")
    number_breakpoints(ax, partition, numbers, x[1:-1], values[1:-1, 0])


def draw_outputs(
    ax: Axes, partition: LinePartition, colors: Sequence[str], names: Sequence[str]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Draw the outputs of a network of one input with its breakpoints; return corners (k,) and outputs (k, m) there."""
    a, b = float(partition.a[0]), float(partition.b[0])
    x = np.concatenate([[a], a + partition.breakpoints * (b - a), [b]])
    values = np.asarray(partition.net(x[:, None])).reshape(len(x), -1)
    for output, color, name in zip(values.T, colors, names, strict=True):
        dots = "breakpoints" if len(names) == 1 else "_nolegend_"
        ax.plot(x, output, color=color, linewidth=1.5, zorder=2, label=name)
        ax.plot(x[1:-1], output[1:-1], "o", color=color, markersize=4, zorder=3, label=dots)
    return x, values


def number_breakpoints(
    ax: Axes,
    partition: LinePartition,
    numbers: Sequence[int],
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    newest: int | None = None,
) -> None:
    """Write the growth step that added it beside each breakpoint (k,); 0 for none, the newest in the accent color."""
    (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
    across, step = 0.035 * (right - left), 0.05 * (high - low)
    written: list[tuple[float, float]] = []
    for k in range(len(x)):
        units = partition.unit_ids[partition.unit_starts[k] : partition.unit_starts[k + 1]]
        for number in sorted({numbers[unit] for unit in units if unit < len(numbers)} - {0}):
            height = y[k] + step
            for at, other in sorted(written):  # above the numbers that are close
                if x[k] - at < across and abs(other - height) < step:
                    height = other + step
            written.append((x[k], height))
            write_number(ax, number, x[k], min(height, high), is_newest=number == newest)
