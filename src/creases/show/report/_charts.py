"""What columns, and two columns together, add to a prediction: the data of charts that the viewer draws.

No chart is a picture: matplotlib takes two CPU-seconds to import and a quarter for each theme of each picture, half as
much again as the rest of a report.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np

from creases._text import common_decimals, format_change, format_fixed, format_value
from creases._typing import Floats
from creases.show._figures._column_axes import (
    LEAST_RANGE,
    ColumnAxis,
    PairLines,
    PairTable,
    axis_ticks,
    pair_label,
)
from creases.show.report._page import round_values, series
from creases.tables import LevelGraph, NumberGraph, PairGraph

#: Values of a category that have a bar, and of one in a pair that have a curve: those with the largest effects.
LEVELS, MAX_LINES = 12, 6

#: Rows and columns of a table of two categories: the values with the largest effects.
CELLS = (14, 7)

#: Samples along each side of a map, and rows drawn on it.
SAMPLES, ROWS = (150, 120), 400

#: Bins of the rows' density, and standard errors of bands to either side.
BINS, ERRORS = 32, 2.0

#: Share of a chart's height that the density of rows takes.
DENSITY = 0.2


def column_charts(graphs: Sequence[NumberGraph | LevelGraph]) -> list[dict[str, Any]]:
    """Return a chart for each column; small effects are drawn on a share of the largest range, so that they look small.

    The first chart of several classes has their names.
    """
    spans = [float(np.ptp(_extent(graph))) for graph in graphs]
    least = LEAST_RANGE * max(spans, default=0.0)
    charts = [
        _number_chart(graph, least) if isinstance(graph, NumberGraph) else _level_chart(graph, least)
        for graph in graphs
    ]
    first = next((chart for chart in charts if "series" in chart), None)
    if first is not None and len(graphs[0].outputs) > 1:
        lines = [line for line in first["series"] if line["kind"] == "line"]
        for name, line in zip(graphs[0].outputs, lines, strict=True):
            line["name"] = name
    return charts


def pair_chart(graph: PairGraph) -> dict[str, Any]:
    """Return the chart of two columns: a table of two categories, a map of two numbers, or a curve for each value."""
    if graph.first.levels and graph.second.levels:
        return _table_chart(graph)
    return _line_chart(graph) if graph.first.levels or graph.second.levels else _map_chart(graph)


def _line_chart(graph: PairGraph) -> dict[str, Any]:
    number, category, output, values = PairLines.from_graph(graph)
    shown = np.sort(np.argsort(-np.abs(values).max(axis=1), kind="stable")[:MAX_LINES])
    lines = [series("line", number.knots, values[k], n, name=category.levels[k]) for n, k in enumerate(shown.tolist())]
    few = f" ({len(shown)} of {len(values)} values of {category.name})" if len(shown) < len(values) else ""
    return {
        "title": graph.name + few,
        "x": {"name": number.name, **_ticks(number)},
        "y": {"name": pair_label(graph, output)},
        "series": lines,
    }


def _table_chart(graph: PairGraph) -> dict[str, Any]:
    """Return a number for each two values of two categories; that with more values runs down."""
    table = PairTable.from_graph(graph, CELLS)
    decimals = common_decimals(table.values.ravel().tolist(), 2)
    return {
        "title": f"{graph.name}, {pair_label(graph, table.output)}",
        "down": {"name": table.down.name, "levels": [table.down.levels[n] for n in table.rows]},
        "across": {"name": table.across.name, "levels": [table.across.levels[n] for n in table.columns]},
        "values": round_values(table.values),
        "texts": [[format_fixed(value, decimals) for value in row] for row in table.values.tolist()],
        "limit": float(np.abs(table.values).max()) or 1.0,
        "note": table.note,
    }


def _map_chart(graph: PairGraph) -> dict[str, Any]:
    """Return the values of two numbers on a grid, the lines at which these bend, and rows."""
    sides = graph.first, graph.second
    axes = [np.linspace(side.knots[0], side.knots[-1], 2 * n + 1)[1::2] for side, n in zip(sides, SAMPLES, strict=True)]
    first, second = np.meshgrid(axes[0], axes[1][::-1])
    every = graph(first.ravel(), second.ravel())
    output = int(np.abs(every).max(axis=0).argmax())
    limit = float(np.abs(every[:, output]).max()) or 1.0
    x, y = ({"name": s.name, "range": [float(s.knots[0]), float(s.knots[-1])], **_ticks(s)} for s in sides)
    return {
        "title": f"{graph.name}, {pair_label(graph, output)}",
        "x": x,
        "y": y,
        "shades": base64.b64encode(np.round(127 * every[:, output] / limit).astype(np.int8).tobytes()).decode(),
        "samples": list(SAMPLES),
        "limit": limit,
        "creases": [round_values(line) for line in graph.creases()],
        "rows": round_values(graph.rows[:: max(1, len(graph.rows) // ROWS)]),
    }


def _number_chart(graph: NumberGraph, least: float) -> dict[str, Any]:
    low, high = _extent(graph)
    grow = max(0.0, least - (high - low)) / 2
    low, high = low - grow, high + grow
    pad = 0.04 * (high - low)
    bottom = low - pad - (DENSITY * (high - low) if len(graph.rows) else 0.0)
    several, drawn = len(graph.outputs) > 1, _density(graph)
    for k in range(len(graph.outputs)):
        x, y = graph.knots, graph.values[:, k]
        if graph.errors is not None and not several:
            reach = ERRORS * graph.errors[:, k]
            drawn.append(series("band", x, y - reach, k, top=round_values(y + reach)))
        drawn.append(series("line", x, y, k, marks=True))
    missing = ""
    if graph.missing is not None and not several and np.abs(graph.missing).max() > 0:
        missing = f" (missing: {format_change(graph.missing[0])})"
    span = [float(graph.knots[0]), float(graph.knots[-1])]
    return {
        "title": f"{graph.label}{missing}",
        "x": {"name": "", "range": span, **_ticks(graph)},
        "y": {
            "name": graph.unit or graph.outputs[0] if len(graph.outputs) == 1 else graph.unit,
            "range": [bottom, high + pad],
        },
        "series": drawn,
        "label": f"what {graph.name} adds",
        "low": True,
    }


def _density(graph: NumberGraph) -> list[dict[str, Any]]:
    low, high = float(graph.knots[0]), float(graph.knots[-1])
    rows = graph.rows[(graph.rows >= low) & (graph.rows <= high)]
    if not len(rows) or not high > low:
        return []
    counts, edges = np.histogram(rows, np.linspace(low, high, BINS + 1))
    return [series("density", edges, counts)]


def _ticks(axis: ColumnAxis) -> dict[str, Any]:
    named = axis_ticks(axis)
    return {"ticks": [list(pair) for pair in named]} if named else {}


def _level_chart(graph: LevelGraph, least: float) -> dict[str, Any]:
    order = np.argsort(-np.abs(graph.values).max(axis=1), kind="stable")[:LEVELS]
    rest = np.setdiff1d(np.arange(len(graph.levels)), order)
    several = len(graph.outputs) > 1
    levels = []
    for k in np.sort(order).tolist():
        count = f" ({graph.counts[k]:,})" if len(graph.counts) else ""
        best = int(graph.values[k].argmax())
        level = {
            "name": graph.levels[k] + count,
            "values": round_values(graph.values[k]),
            "text": format_change(graph.values[k, best]) if not several else "",
        }
        if not several and np.isfinite(graph.errors[k, 0]):
            level["error"] = float(ERRORS * graph.errors[k, 0])
        levels.append(level)
    limit = max(float(np.abs(_extent(graph)).max()), least / 2) or 1.0
    chart: dict[str, Any] = {"title": graph.name, "levels": levels, "limit": limit}
    if len(rest):
        largest = float(np.abs(graph.values[rest]).max())
        chart["more"] = f"and {len(rest)} more, at most ±{format_value(largest, 2)}"
    return chart


def _extent(graph: NumberGraph | LevelGraph) -> Floats:
    """Return the least and the largest of a graph's values, bands and 0."""
    errors = np.nan_to_num(graph.errors) if graph.errors is not None and len(graph.outputs) == 1 else 0.0
    reach = np.stack([graph.values - ERRORS * errors, graph.values + ERRORS * errors])
    return np.array([min(float(reach.min()), 0.0), max(float(reach.max()), 0.0)])
