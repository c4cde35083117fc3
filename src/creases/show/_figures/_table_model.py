"""A model of a table as graphs: curves of columns, levels, planes of pairs; effects and importance of columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator

from creases._schema import any_of, instance
from creases._text import common_decimals, format_change, format_fixed, format_number
from creases._validation import check_arguments, check_count, check_index
from creases.errors import InputError
from creases.show import _style as style
from creases.show._figures._column_axes import (
    LEAST_RANGE,
    ColumnAxis,
    PairLines,
    PairTable,
    axis_ticks,
    largest,
    pair_label,
    short_text,
)
from creases.tables import (
    CategoryEffect,
    LevelGraph,
    NumberEffect,
    NumberGraph,
    PairGraph,
    TableModel,
    model_graphs,
)

if TYPE_CHECKING:
    import pandas as pd

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
    """
    graph = _escape(graph)
    ax = style.get_axes(ax, 3.6, term_height(graph))
    with style.style_context():
        if isinstance(graph, NumberGraph):
            _draw_curve(ax, graph)
        elif isinstance(graph, LevelGraph):
            _draw_levels(ax, graph)
        elif graph.first.levels and graph.second.levels:
            _draw_table(ax, graph)
        elif graph.first.levels or graph.second.levels:
            _draw_lines(ax, graph)
        else:
            _draw_map(ax, graph)
        ax.set_title(short_text(graph.name, 40), loc="left", fontsize=9, fontweight="bold")
        for side in ("top", "right"):
            ax.spines[side].set_visible(False)
    return ax


def _escape(value: Any) -> Any:
    """Return names, also those in what is drawn, with dollars that begin no formula of matplotlib."""
    if isinstance(value, str):
        return value.replace("$", r"\$")
    if isinstance(value, tuple):
        return tuple(map(_escape, value))
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{each.name: _escape(getattr(value, each.name)) for each in fields(value) if each.init})
    return value


def term_height(graph: NumberGraph | LevelGraph | PairGraph) -> float:
    """Return the height in inches that a plot needs."""
    if isinstance(graph, LevelGraph):
        return max(1.5, 0.75 + 0.16 * min(len(graph.levels), LEVELS + 1))
    if isinstance(graph, PairGraph):
        levels = max(len(graph.first.levels), len(graph.second.levels)) if graph.first.levels else 0
        return max(2.6, 0.9 + 0.24 * min(levels, CELLS[0]))
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
    cycle = graph.axis.cycle
    bins: Any = np.append(cycle, cycle[-1] + 1) - 0.5 if cycle else np.linspace(low, high, BINS + 1)
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
        is_year = "," not in graph.axis.place(2000.0) and graph.knots[0] >= 1000
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


#: Values of a category that have a curve, and rows and columns of a table: those with the largest effects.
LINES, CELLS = 6, (12, 6)

#: Rows drawn on a map.
ROWS = 400


def _draw_map(ax: Axes, graph: PairGraph) -> None:
    from creases.regions import plane  # slow to import
    from creases.show._figures._plane import fill_values

    i, j = graph.inputs
    box = [(float(side.knots[0]), float(side.knots[-1])) for side in (graph.first, graph.second)]
    grid = np.stack(np.meshgrid(graph.first.knots, graph.second.knots), axis=-1).reshape(-1, 2)
    k = int(np.abs(graph(grid[:, 0], grid[:, 1])).max(axis=0).argmax())
    net = graph.network(k)
    basis = np.zeros((net.n_in, 2))
    basis[i, 0] = basis[j, 1] = 1.0
    partition = plane(net, box, np.zeros(net.n_in), basis)
    values = partition.values[:, 0]
    limit = float(np.abs(values).max()) or 1.0
    look: dict[str, Any] = {"cmap": style.value_colormap(), "vmin": -limit, "vmax": limit, "zorder": 1}
    points = partition.vertices
    mesh = fill_values(ax, points, partition.corners, partition.starts, values, **look)
    edges = partition.edges[partition.edge_units >= 0]
    ink = style.active_theme().crease_last
    ax.add_collection(LineCollection(list(points[edges]), colors=ink, linewidths=0.4, alpha=0.6, zorder=2))
    some = graph.rows[:: max(1, len(graph.rows) // ROWS)]
    ax.scatter(some[:, 0], some[:, 1], s=3, color=style.active_theme().ink, alpha=0.45, linewidths=0, zorder=3)
    ax.set_xlim(*box[0])
    ax.set_ylim(*box[1])
    _set_plane_ticks(ax.xaxis, graph.first)
    _set_plane_ticks(ax.yaxis, graph.second)
    ax.set_xlabel(short_text(graph.first.name, 36))
    ax.set_ylabel(short_text(graph.second.name, 28))
    style.add_colorbar(ax, mesh, pair_label(graph, k))


def _draw_lines(ax: Axes, graph: PairGraph) -> None:
    number, category, k, values = PairLines.from_graph(graph)
    knots = number.knots
    shown = largest(np.abs(values).max(axis=1), LINES)
    ax.axhline(0.0, color=style.active_theme().quiet, linewidth=0.7, zorder=1)
    for n, row in enumerate(shown):
        name = short_text(category.levels[row], 18)
        ax.plot(knots, values[row], color=style.class_color(n), linewidth=1.5, label=name, zorder=3)
    rest = len(values) - len(shown)
    if rest:
        ax.plot([], [], " ", label=f"and {rest} more")
    ax.legend(fontsize=7, title=short_text(category.name, 24), title_fontsize=7, loc="upper left",
              bbox_to_anchor=(1.0, 1.0), handlelength=1.2, borderaxespad=0.2)  # fmt: skip
    ax.set_xlim(knots[0], knots[-1])
    _set_plane_ticks(ax.xaxis, number)
    ax.yaxis.set_major_locator(MaxNLocator(4))
    ax.set_xlabel(short_text(number.name, 36))
    ax.set_ylabel(pair_label(graph, k))


def _draw_table(ax: Axes, graph: PairGraph) -> None:
    table = PairTable.from_graph(graph, CELLS)
    values, limit = table.values, float(np.abs(table.values).max()) or 1.0
    mesh = ax.imshow(values, cmap=style.value_colormap(), vmin=-limit, vmax=limit, aspect="auto", zorder=1)
    wide = max(4, 26 // values.shape[1])
    ax.set_xticks(np.arange(values.shape[1]), [short_text(table.across.levels[n], wide) for n in table.columns])
    ax.set_yticks(np.arange(len(values)), [short_text(table.down.levels[n], 16) for n in table.rows])
    decimals, colors = common_decimals(values.ravel().tolist(), 2), style.value_colormap()
    for (y, x), value in np.ndenumerate(values):
        ink = style.readable_color(colors((float(value) / limit + 1) / 2)[:3])
        ax.text(x, y, format_fixed(value, decimals), ha="center", va="center", fontsize=6.5, color=ink)
    ax.set_xlabel(f"{short_text(table.across.name, 36)}{f' ({table.note})' if table.note else ''}")
    ax.set_ylabel(short_text(table.down.name, 28))
    style.add_colorbar(ax, mesh, pair_label(graph, table.output))


def _set_plane_ticks(axis: Axis, side: ColumnAxis) -> None:
    if named := axis_ticks(side):
        axis.set_ticks(*zip(*named, strict=True))
        return
    axis.set_major_locator(MaxNLocator(4))
    axis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.10g}"))


#: Width of a panel in inches.
WIDTH = 3.3

Graph = NumberGraph | LevelGraph | PairGraph


@check_arguments(model=instance("TableModel"))
def plot_curves(model: TableModel, *, max_terms: int = 12, columns: int = 3) -> Figure:
    """Plot a model of curves: what each column adds to the prediction, then what pairs of columns add together.

    Columns are in the order of importance, in their own units, with a dot at each knot, a band of two standard errors
    and the density of the rows; categories have a bar for each value, planes a map with their creases. What is
    constant is left out.

    Parameters
    ----------
    model
        A model of :func:`creases.fit_table`.
    max_terms
        Columns and planes to draw.
    columns
        Panels side by side.

    Returns
    -------
    Figure
        The figure.
    """
    check_count(max_terms, "max_terms")
    check_count(columns, "columns")
    graphs = model_graphs(model)[:max_terms]
    if not graphs:
        raise InputError("model", "have a column that changes its prediction", "a constant")
    columns = min(columns, len(graphs))
    rows = [graphs[k : k + columns] for k in range(0, len(graphs), columns)]
    heights = [max(term_height(graph) for graph in row) for row in rows]
    ratios = {"gridspec_kw": {"height_ratios": heights}}
    legend = 0.3 if len(graphs[0].outputs) > 1 else 0.0
    figure, axes = style.new_grid(WIDTH * columns, sum(heights) + legend, len(rows), columns, **ratios)
    panels: list[Axes] = axes.ravel().tolist()
    for graph, ax in zip(graphs, panels, strict=False):
        plot_term(graph, ax=ax)
    for k, graph in enumerate(graphs):
        if isinstance(graph, NumberGraph) and k % columns:
            panels[k].set_ylabel("")  # as in the first panel of the row
    for ax in panels[len(graphs) :]:
        ax.set_axis_off()
    share_scale(graphs, panels)
    if legend:
        with style.style_context():
            names = [short_text(_escape(name), 28) for name in graphs[0].outputs]
            colored = [
                Line2D([], [], color=style.class_color(k), linewidth=2, label=name) for k, name in enumerate(names)
            ]
            figure.legend(handles=colored, loc="outside upper left", ncols=5)
    return figure


def share_scale(graphs: Sequence[Graph], panels: Sequence[Axes]) -> None:
    """Let the axes of effects of all columns span a share of the largest range at least."""
    spans = [abs(high - low) for low, high in (_limits(*pair) for pair in zip(graphs, panels, strict=False))]
    least = LEAST_RANGE * max(spans, default=0.0)
    for graph, ax in zip(graphs, panels, strict=False):
        low, high = _limits(graph, ax)
        if isinstance(graph, PairGraph) or high - low >= least:
            continue
        middle = (low + high) / 2
        (ax.set_ylim if isinstance(graph, NumberGraph) else ax.set_xlim)(middle - least / 2, middle + least / 2)


def _limits(graph: Graph, ax: Axes) -> tuple[float, float]:
    if isinstance(graph, PairGraph):
        return 0.0, 0.0
    return ax.get_ylim() if isinstance(graph, NumberGraph) else ax.get_xlim()


# Plots of the effects and the importance of a table's columns.

#: Breakpoints of the mean that get a mark: those where it bends most.
MARKED = 12

#: A breakpoint gets a mark if the mean bends there by this share of the largest bend.
VISIBLE = 0.02


@check_arguments(effect=any_of(instance("NumberEffect"), instance("CategoryEffect")))
def plot_effect(
    effect: NumberEffect | CategoryEffect, *, output: int = 0, max_curves: int = 60, ax: Axes | None = None
) -> Axes:
    """Plot the effect of a column: the curves of single rows, and their mean with the points where it bends.

    Curves are shifted to the height of the mean at their left end, so that their shapes can be compared.

    Parameters
    ----------
    effect
        What :func:`creases.tables.effects` returns.
    output
        Number of the output to plot.
    max_curves
        Curves of single rows to draw, spread evenly over the rows.
    ax
        Axes to draw on; new ones by default.

    Examples
    --------
    >>> import creases
    >>> from creases import show, tables
    >>> net = creases.read([([[1.0, 1.0]], [0.0]), ([[1.0]], [0.0])])
    >>> effect = tables.effects(net, [[-1.0, 0.0], [3.0, -1.0]], "x0")
    >>> show.plot_effect(effect).get_xlabel()
    'x0'
    """
    output = check_index(output, len(effect.outputs), "output")
    check_count(max_curves, "max_curves", least=0)
    effect = _escape(effect)
    ax = style.get_axes(ax, 4.8, 3.4)
    with style.style_context():
        if isinstance(effect, NumberEffect):
            _draw_effect_curves(ax, effect, output, max_curves)
        else:
            _draw_categories(ax, effect, output)
        ax.set_xlabel(effect.column)
        ax.set_ylabel(effect.outputs[output])
    return ax


def _draw_effect_curves(ax: Axes, effect: NumberEffect, output: int, max_curves: int) -> None:
    n = len(effect.starts) - 1
    mean = effect.mean[:, output]
    rows = np.unique(np.linspace(0, n - 1, min(n, max_curves)).astype(int))
    curves = [effect.curve(int(row)) for row in rows]
    shapes = [np.column_stack([x, y[:, output] - y[0, output] + mean[0]]) for x, y in curves]
    ax.add_collection(LineCollection(shapes, colors=[style.active_theme().quiet], linewidths=0.5, alpha=0.35, zorder=1))
    ax.plot(effect.grid, mean, color=style.class_color(0), linewidth=2, zorder=3)
    bends = np.abs(effect.bends[:, output])
    order = np.argsort(-bends, kind="stable")[:MARKED]
    marked = order[bends[order] > VISIBLE * bends.max(initial=0)]
    ax.plot(effect.grid[marked + 1], mean[marked + 1], "o", color=style.class_color(0), markersize=4, zorder=4)
    inner = effect.grid[1:-1]
    ax.plot(inner, np.zeros(len(inner)), "|", color=style.active_theme().quiet, markersize=5, alpha=0.3,
            transform=ax.get_xaxis_transform(), clip_on=False, zorder=2)  # fmt: skip
    ax.autoscale_view()
    ax.margins(x=0)


def _draw_categories(ax: Axes, effect: CategoryEffect, output: int) -> None:
    heights, mean = effect.heights[:, :, output], effect.mean[:, output]
    places = np.arange(len(effect.categories))
    spread = heights - heights.mean(axis=1, keepdims=True) + mean.mean()
    low, high = np.quantile(spread, [0.1, 0.9], axis=0)
    ax.vlines(places, low, high, color=style.active_theme().quiet, linewidth=3, alpha=0.35)
    ax.plot(places, mean, "o", color=style.class_color(0), markersize=6)
    labels = [f"{name}\n{count} rows" for name, count in zip(effect.categories, effect.counts, strict=True)]
    ax.set_xticks(places, labels)
    ax.set_xlim(-0.5, len(places) - 0.5)


@check_arguments(importance=instance("DataFrame"))
def plot_importance(importance: pd.DataFrame, *, max_columns: int = 12, ax: Axes | None = None) -> Axes:
    """Plot the importance of columns as bars, the largest on top.

    Parameters
    ----------
    importance
        What :func:`creases.tables.importance` returns.
    max_columns
        Columns to show.
    ax
        Axes to draw on; new ones by default.
    """
    values = importance["importance"].iloc[: check_count(max_columns, "max_columns")]
    count = len(values)
    ax = style.get_axes(ax, 4.8, 0.6 + 0.28 * count)
    with style.style_context():
        bars = ax.barh(np.arange(count), values, color=style.class_color(0), height=0.7)
        ax.bar_label(bars, [*map(format_number, values)], padding=3, fontsize=7)
        ax.set_yticks(np.arange(count), [*map(_escape, values.index)])
        ax.invert_yaxis()
        ax.margins(x=0.12)
        ax.set_xlabel(f"importance, in {_escape(importance.attrs['unit'])}")
    return ax
