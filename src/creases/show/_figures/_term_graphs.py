"""Plots of what one column of a table adds to a prediction: a curve of a number, bars of a category."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from creases._arguments import check_arguments
from creases._schema import any_of, instance
from creases._text import format_change, format_number
from creases.show import _style as style
from creases.show._figures._pair_graphs import plot_pair, short_text
from creases.show._figures._ticks import axis_ticks
from creases.tables import LevelGraph, NumberGraph, PairGraph

#: Values of a category that have a bar: those with the largest effects.
LEVELS = 12

#: Bins of the rows' density, and its height as a share of the plot.
BINS, DENSITY = 32, 0.2

#: Standard errors that a band and a whisker extend to either side.
ERRORS = 2.0

#: Knots up to which each gets a dot.
DOTS = 40


@check_arguments(graph=any_of(instance("NumberGraph"), instance("LevelGraph"), instance("PairGraph")))
def plot_term(graph: NumberGraph | LevelGraph | PairGraph, *, ax: Axes | None = None) -> Axes:
    """Plot what a column, or two columns together, add to the prediction of a model of a table.

    A number has a curve with a dot at each knot, a band of two standard errors, and the density of the rows below; a
    category a bar for each value; two numbers a map with its creases; a number and a category a curve for each value;
    two categories a table. Of several classes each has its color.

    Parameters
    ----------
    graph
        One of those that :func:`creases.tables.model_graphs` returns.
    ax
        Axes to draw on; new ones by default.
    """
    ax = style.get_axes(ax, 3.6, term_height(graph))
    with style.style_context():
        if isinstance(graph, NumberGraph):
            _draw_curve(ax, graph)
        elif isinstance(graph, LevelGraph):
            _draw_levels(ax, graph)
        else:
            plot_pair(graph, ax)
        ax.set_title(short_text(graph.name, 40), loc="left", fontsize=9, fontweight="bold")
        for side in ("top", "right"):
            ax.spines[side].set_visible(False)
    return ax


def term_height(graph: NumberGraph | LevelGraph | PairGraph) -> float:
    """Return the height in inches that a plot needs."""
    if isinstance(graph, LevelGraph):
        return max(1.5, 0.75 + 0.16 * min(len(graph.levels), LEVELS + 1))
    if isinstance(graph, PairGraph):
        return 2.6
    return 1.9


def value_label(graph: NumberGraph | LevelGraph | PairGraph) -> str:
    """Return the label of the axis of effects."""
    if len(graph.outputs) > 1:
        return "points" if graph.unit == "points" else graph.unit
    what = short_text(graph.outputs[0], 20)
    return f"points for {what}" if graph.unit == "points" else graph.unit or what


def _draw_curve(ax: Axes, graph: NumberGraph) -> None:
    knots, several = graph.knots, len(graph.outputs) > 1
    _draw_density(ax, graph)
    ax.axhline(0.0, color=style.active_theme().quiet, linewidth=0.7, zorder=1)
    for k in range(len(graph.outputs)):
        color, height = style.class_color(k), graph.values[:, k]
        if graph.errors is not None and not several:
            reach = ERRORS * graph.errors[:, k]
            ax.fill_between(knots, height - reach, height + reach, color=color, alpha=0.18, linewidth=0, zorder=2)
        ax.plot(knots, height, color=color, linewidth=1.8, solid_joinstyle="round", zorder=3)
        if len(knots) <= DOTS:
            ax.plot(knots, height, "o", color=color, markersize=3.2, zorder=4)
    if graph.missing is not None and not several and np.abs(graph.missing).max() > 0:
        text = f"missing: {format_change(graph.missing[0])}"
        ax.text(0.99, 0.97, text, transform=ax.transAxes, ha="right", va="top", fontsize=7.5, zorder=5,
                color=style.active_theme().quiet)  # fmt: skip
    span = float(knots[-1] - knots[0]) or 1.0
    ax.set_xlim(knots[0] - 0.02 * span, knots[-1] + 0.02 * span)
    ax.set_ylabel(value_label(graph))
    ax.yaxis.set_major_locator(MaxNLocator(4))
    low, high = ax.get_ylim()
    ax.set_ylim(low - (DENSITY * (high - low) if len(graph.rows) else 0.0), high)
    _set_ticks(ax, graph)


def _draw_density(ax: Axes, graph: NumberGraph) -> None:
    """Draw a histogram of the rows at the bottom, which the values do not reach."""
    low, high = graph.knots[0], graph.knots[-1]
    rows = graph.rows[(graph.rows >= low) & (graph.rows <= high)]
    if not len(rows) or not high > low:
        return
    bins: Any = np.append(graph.cycle, graph.cycle[-1] + 1) - 0.5 if graph.cycle else np.linspace(low, high, BINS + 1)
    counts, edges = np.histogram(rows, bins)
    twin = ax.twinx()
    twin.set_zorder(ax.get_zorder() - 1)
    ax.patch.set_visible(False)
    twin.bar(edges[:-1], counts, np.diff(edges), align="edge", color=style.active_theme().missing, linewidth=0)
    twin.set_ylim(0, counts.max() / DENSITY)
    twin.set_axis_off()


def _set_ticks(ax: Axes, graph: NumberGraph) -> None:
    label = short_text(graph.label, 36)
    if named := axis_ticks(graph):
        ax.set_xticks(*zip(*named, strict=True))
    else:
        is_whole = bool((graph.rows == np.round(graph.rows)).all()) if len(graph.rows) else False
        ax.xaxis.set_major_locator(MaxNLocator(5, min_n_ticks=3, integer=is_whole))
        is_year = "," not in graph.place(2000.0) and graph.knots[0] >= 1000
        form = "{:.10g}" if is_year else "{:,.10g}"
        ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: form.format(x)))
        if label != short_text(graph.name, 36):  # it has the unit
            ax.set_xlabel(label)


def _draw_levels(ax: Axes, graph: LevelGraph) -> None:
    order = np.argsort(-np.abs(graph.values).max(axis=1), kind="stable")[:LEVELS]
    shown = np.sort(order)  # largest first, as in the graph
    rest = len(graph.levels) - len(shown)
    places = np.arange(len(shown))
    ax.axvline(0.0, color=style.active_theme().quiet, linewidth=0.7, zorder=1)
    if len(graph.outputs) == 1:
        ax.barh(places, graph.values[shown, 0], height=0.7, color=style.class_color(0), alpha=0.85, zorder=2)
        reach = np.nan_to_num(ERRORS * graph.errors[shown, 0])
        ax.errorbar(graph.values[shown, 0], places, xerr=reach, fmt="none", elinewidth=1, zorder=3,
                    ecolor=style.active_theme().quiet)  # fmt: skip
    else:
        for k in range(len(graph.outputs)):
            ax.plot(graph.values[shown, k], places, "o", color=style.class_color(k), markersize=4.5, zorder=3)
    names = [short_text(graph.levels[k], 22) for k in shown]
    if len(graph.counts):
        names = [f"{name} ({graph.counts[k]:,})" for name, k in zip(names, shown, strict=True)]
    if rest:
        others = np.setdiff1d(np.arange(len(graph.levels)), shown)
        largest = format_number(float(np.abs(graph.values[others]).max()))
        names.append(f"and {rest} more, at most ±{largest}")
        places = np.append(places, len(shown))
    ax.set_yticks(places, names)
    ax.tick_params(axis="y", length=0, labelsize=7.5)
    ax.set_ylim(len(places) - 0.5, -0.5)
    ax.xaxis.set_major_locator(MaxNLocator(4))
    ax.set_xlabel(value_label(graph))
