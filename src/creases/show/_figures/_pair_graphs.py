"""Plots of what two columns of a table add together: an exact map, a curve for each value, or a table."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import LineCollection
from matplotlib.ticker import FuncFormatter, MaxNLocator
from matplotlib.tri import Triangulation

from creases._text import format_change
from creases._typing import Floats, Ints
from creases.show import _style as style
from creases.show._figures._ticks import ColumnAxis, axis_ticks
from creases.tables import PairGraph

#: Values of a category that have a curve, or a row or column of a table: those with the largest effects.
LINES, CELLS = 6, 10

#: Rows drawn on a map.
ROWS = 400


def plot_pair(graph: PairGraph, ax: Axes) -> None:
    """Draw a pair on axes; of several classes the one that it moves most."""
    first, second = graph.first, graph.second
    if not first.levels and not second.levels:
        _draw_map(ax, graph)
    elif first.levels and second.levels:
        _draw_table(ax, graph)
    else:
        _draw_lines(ax, graph)


def short_text(text: str, length: int) -> str:
    """Return a text of at most so many letters; a longer one ends in an ellipsis."""
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


def pair_label(graph: PairGraph, output: int) -> str:
    """Return the label of a pair's values."""
    of = f" for {short_text(graph.outputs[output], 18)}" if graph.unit == "points" else ""
    return f"{graph.unit or short_text(graph.outputs[output], 20)}{of}"


def _draw_map(ax: Axes, graph: PairGraph) -> None:
    from creases.regions import plane  # slow to import

    i, j = graph.inputs
    box = [(float(side.knots[0]), float(side.knots[-1])) for side in (graph.first, graph.second)]
    grid = np.stack(np.meshgrid(graph.first.knots, graph.second.knots), axis=-1).reshape(-1, 2)
    k = int(np.abs(graph(grid[:, 0], grid[:, 1])).max(axis=0).argmax())
    net = graph.network(k)
    basis = np.zeros((net.n_in, 2))
    basis[i, 0] = basis[j, 1] = 1.0
    partition = plane(net, box, np.zeros(net.n_in), basis)
    corners, starts = partition.corners, partition.starts
    index, sides = np.arange(len(corners)), np.diff(starts)
    begin, end = np.repeat(starts[:-1], sides), np.repeat(starts[1:], sides) - 1
    inner = index[(index > begin) & (index < end)]
    fan = corners[np.stack([begin[inner], inner, inner + 1], axis=1)]
    values = partition.values[:, 0]
    limit = float(np.abs(values).max()) or 1.0
    look: dict[str, Any] = {"cmap": style.value_colormap(), "vmin": -limit, "vmax": limit}
    points = partition.vertices
    mesh = ax.tripcolor(
        Triangulation(points[:, 0], points[:, 1], fan), values, shading="gouraud", zorder=1, rasterized=True, **look
    )
    edges = partition.edges[partition.edge_units >= 0]
    ink = style.active_theme().crease_last
    ax.add_collection(LineCollection(list(points[edges]), colors=ink, linewidths=0.4, alpha=0.6, zorder=2))
    some = graph.rows[:: max(1, len(graph.rows) // ROWS)]
    ax.scatter(some[:, 0], some[:, 1], s=3, color=style.active_theme().ink, alpha=0.45, linewidths=0, zorder=3)
    ax.set_xlim(*box[0])
    ax.set_ylim(*box[1])
    _set_ticks(ax.xaxis, graph.first)
    _set_ticks(ax.yaxis, graph.second)
    ax.set_xlabel(short_text(graph.first.name, 36))
    ax.set_ylabel(short_text(graph.second.name, 28))
    style.add_colorbar(ax, mesh, pair_label(graph, k))


class PairLines(NamedTuple):
    """The graph of a number and a category as lines: of the output that varies most."""

    number: Any  #: the column of numbers
    category: Any
    output: int
    values: Floats  #: (levels, knots)

    @classmethod
    def from_graph(cls, graph: PairGraph) -> PairLines:
        """Evaluate a graph at the knots of the number for each level of the category."""
        number, category = (graph.first, graph.second) if graph.second.levels else (graph.second, graph.first)
        knots, levels = number.knots, np.arange(len(category.levels))
        x, level = np.tile(knots, len(levels)), np.repeat(levels, len(knots)).astype(np.float64)
        every = graph(x, level) if category is graph.second else graph(level, x)
        table = every.reshape(len(levels), len(knots), -1)
        output = int(np.abs(table).max(axis=(0, 1)).argmax())
        return cls(number, category, output, table[:, :, output])


def _draw_lines(ax: Axes, graph: PairGraph) -> None:
    number, category, k, values = PairLines.from_graph(graph)
    knots = number.knots
    shown = _largest(np.abs(values).max(axis=1), LINES)
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
    _set_ticks(ax.xaxis, number)
    ax.yaxis.set_major_locator(MaxNLocator(4))
    ax.set_xlabel(short_text(number.name, 36))
    ax.set_ylabel(pair_label(graph, k))


def _draw_table(ax: Axes, graph: PairGraph) -> None:
    sizes = len(graph.first.levels), len(graph.second.levels)
    a, b = (np.ravel(each) for each in np.meshgrid(np.arange(sizes[0]), np.arange(sizes[1]), indexing="ij"))
    table = graph(a.astype(np.float64), b.astype(np.float64)).reshape(*sizes, -1)
    k = int(np.abs(table).max(axis=(0, 1)).argmax())
    values = table[:, :, k]
    rows, columns = (_largest(np.abs(values).max(axis=1 - axis), CELLS) for axis in (0, 1))
    values = values[np.ix_(rows, columns)].T  # the first column of the table runs along x
    limit = float(np.abs(values).max()) or 1.0
    mesh = ax.imshow(values, cmap=style.value_colormap(), vmin=-limit, vmax=limit, aspect="auto", zorder=1)
    ax.set_xticks(np.arange(len(rows)), [short_text(graph.first.levels[n], 10) for n in rows])
    ax.set_yticks(np.arange(len(columns)), [short_text(graph.second.levels[n], 16) for n in columns])
    if values.size <= CELLS * 4:
        for (y, x), value in np.ndenumerate(values):
            ax.text(x, y, format_change(value), ha="center", va="center", fontsize=7, color=_on(float(value) / limit))
    ax.set_xlabel(short_text(graph.first.name, 36))
    ax.set_ylabel(short_text(graph.second.name, 28))
    style.add_colorbar(ax, mesh, pair_label(graph, k))


def _set_ticks(axis: Axis, side: ColumnAxis) -> None:
    if named := axis_ticks(side):
        axis.set_ticks(*zip(*named, strict=True))
        return
    axis.set_major_locator(MaxNLocator(4))
    axis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.10g}"))


def _on(share: float) -> Any:
    """Return the color of text on a share of the largest value."""
    return style.readable_color(style.value_colormap()((share + 1) / 2)[:3])


def _largest(sizes: Floats, most: int) -> Ints:
    """Return the numbers of the largest sizes, in their order."""
    return np.sort(np.argsort(-sizes, kind="stable")[:most])
