"""What columns, and two columns together, add to a prediction: charts that the viewer draws, and pictures as SVG.

Pictures are written by hand: matplotlib takes two CPU-seconds to import and a quarter for each theme of each picture,
half as much again as the rest of a report.
"""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Sequence
from html import escape
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
    short_text,
)
from creases.show._themes import THEMES, Theme
from creases.show.report._page import round_values
from creases.tables import LevelGraph, NumberGraph, PairGraph

#: Values of a category that have a bar, and of one in a pair that have a curve: those with the largest effects.
LEVELS, MAX_LINES = 12, 6

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
        lines = [series for series in first["series"] if series["kind"] == "line"]
        for name, series in zip(graphs[0].outputs, lines, strict=True):
            series["name"] = name
    return charts


def line_chart(graph: PairGraph) -> dict[str, Any]:
    """Return the chart of a number and a category: a curve for each value of the category."""
    number, category, k, values = PairLines.from_graph(graph)
    shown = np.sort(np.argsort(-np.abs(values).max(axis=1), kind="stable")[:MAX_LINES])
    series = [
        {
            "kind": "line",
            "x": round_values(number.knots),
            "y": round_values(values[row]),
            "color": n,
            "name": category.levels[row],
        }
        for n, row in enumerate(shown.tolist())
    ]
    few = f" ({len(shown)} of {len(values)} values of {category.name})" if len(shown) < len(values) else ""
    return {
        "title": graph.name + few,
        "x": {"name": number.name, **_ticks(number)},
        "y": {"name": pair_label(graph, k)},
        "series": series,
    }


def _number_chart(graph: NumberGraph, least: float) -> dict[str, Any]:
    low, high = _extent(graph)
    grow = max(0.0, least - (high - low)) / 2
    low, high = low - grow, high + grow
    pad = 0.04 * (high - low)
    bottom = low - pad - (DENSITY * (high - low) if len(graph.rows) else 0.0)
    several, series = len(graph.outputs) > 1, _density(graph)
    for k in range(len(graph.outputs)):
        x, y = graph.knots, graph.values[:, k]
        if graph.errors is not None and not several:
            reach = ERRORS * graph.errors[:, k]
            band = {
                "kind": "band",
                "x": round_values(x),
                "y": round_values(y - reach),
                "top": round_values(y + reach),
                "color": k,
            }
            series.append(band)
        series.append({"kind": "line", "x": round_values(x), "y": round_values(y), "color": k, "marks": True})
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
        "series": series,
        "label": f"what {graph.name} adds",
        "low": True,
    }


def _density(graph: NumberGraph) -> list[dict[str, Any]]:
    low, high = float(graph.knots[0]), float(graph.knots[-1])
    rows = graph.rows[(graph.rows >= low) & (graph.rows <= high)]
    if not len(rows) or not high > low:
        return []
    counts, edges = np.histogram(rows, np.linspace(low, high, BINS + 1))
    return [{"kind": "density", "x": round_values(edges), "y": counts.tolist()}]


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


# What two columns add together, as SVG: a table of two categories, or a map of two numbers with its creases.

#: Rows and columns of a table: the values with the largest effects.
CELLS = (14, 7)

#: Pixels of a letter, of a line of text and of a whole picture's width.
LETTER, LINE, WIDTH = 7.2, 17, 350

#: Pixels of a map, its samples along each side, and rows drawn on it.
MAP, SAMPLES, ROWS = (226, 180), (150, 120), 400

#: Share of a class's color that the largest effect has.
STRENGTH = 0.75


def pair_picture(graph: PairGraph) -> dict[str, str]:
    """Return the picture of two categories or two numbers as an SVG data URI for each theme, with its title."""
    draw = _draw_table if graph.first.levels else _draw_map
    pictures = {name: base64.b64encode(draw(graph, theme).encode()).decode() for name, theme in THEMES.items()}
    return {"title": graph.name} | {name: f"data:image/svg+xml;base64,{text}" for name, text in pictures.items()}


def _draw_table(graph: PairGraph, theme: Theme) -> str:
    """Return a cell for each two values, with its number; the category with more values runs down."""
    table = PairTable.from_graph(graph, CELLS)
    rows, columns = table.values.shape
    names = [short_text(table.down.levels[n], 16) for n in table.rows]
    left = LETTER * max(map(len, [*names, short_text(table.down.name, 16)])) + 10
    width = (WIDTH - left) / columns
    heads = [_wrap(table.across.levels[n], int(width / LETTER)) for n in table.columns]
    top = 2 * LINE + 6 + LINE * max(map(len, heads))
    height = 26
    limit = float(np.abs(table.values).max()) or 1.0
    decimals = common_decimals(table.values.ravel().tolist(), 2)
    parts = [_text(0, 13, f"{graph.name}, {pair_label(graph, table.output)}", theme.ink, "start", weight=600)]
    parts.append(_text(left, 13 + LINE, short_text(table.across.name, 40), theme.quiet, "start"))
    parts.append(_text(0, top - 6, short_text(table.down.name, 16), theme.quiet, "start"))
    for x, lines in enumerate(heads):
        for k, line in enumerate(reversed(lines)):
            parts.append(_text(left + (x + 0.5) * width, top - 6 - k * LINE, line, theme.ink))
    for y, name in enumerate(names):
        parts.append(_text(left - 8, top + y * height + 17, name, theme.ink, "end"))
    for (y, x), value in np.ndenumerate(table.values):
        color = _color(np.array([value / limit]), theme)[0]
        box = f'x="{left + x * width:.1f}" y="{top + y * height}" width="{width - 2:.1f}" height="{height - 2}"'
        parts.append(f'<rect {box} rx="2" fill="{_hex(color)}"/>')
        middle = left + x * width + width / 2 - 1, top + y * height + 17
        parts.append(_text(*middle, format_fixed(float(value), decimals), _readable(color, theme)))
    bottom = top + rows * height + 4
    if table.note:
        parts.append(_text(0, bottom + 12, table.note, theme.quiet, "start"))
        bottom += LINE
    return _svg(WIDTH, bottom, parts)


def _draw_map(graph: PairGraph, theme: Theme) -> str:
    """Return the values of two numbers as colors, the creases as lines, rows as dots."""
    sides = graph.first, graph.second
    low, high = np.array([side.knots[0] for side in sides]), np.array([side.knots[-1] for side in sides])
    axes = [low[k] + (high[k] - low[k]) * (np.arange(n) + 0.5) / n for k, n in enumerate(SAMPLES)]
    points = [each.ravel() for each in np.meshgrid(*axes)]
    every = graph(*points)
    output = int(np.abs(every).max(axis=0).argmax())
    values = every[:, output].reshape(len(axes[1]), len(axes[0]))[::-1]
    limit = float(np.abs(values).max()) or 1.0
    ticks = [_round_ticks(side) for side in sides]
    left, top = 12 + LINE + LETTER * max(len(name) for _, name in ticks[1]), LINE + 10
    size = np.array(MAP)

    def place(at: Floats) -> Floats:
        share = (at - low) / np.where(high > low, high - low, 1.0)
        return np.stack([left + share[:, 0] * size[0], top + (1 - share[:, 1]) * size[1]], axis=1)

    image = base64.b64encode(_png(np.round(255 * _color(values / limit, theme)).astype(np.uint8))).decode()
    frame = f'x="{left:.1f}" y="{top}" width="{size[0]}" height="{size[1]}"'
    parts = [
        _text(0, 13, f"{graph.name}, {pair_label(graph, output)}", theme.ink, "start", weight=600),
        f'<image {frame} preserveAspectRatio="none" href="data:image/png;base64,{image}"/>',
        _path(map(place, graph.creases()), theme.crease_last, 0.6, 0.55),
        _dots(place(graph.rows[:: max(1, len(graph.rows) // ROWS)]), theme.ink),
        f'<rect {frame} fill="none" stroke="{theme.quiet}" stroke-width=".7"/>',
    ]
    bottom = top + size[1]
    for value, name in ticks[0]:
        parts.append(_text(place(np.array([[value, low[1]]]))[0, 0], bottom + 15, name, theme.ink))
    for value, name in ticks[1]:
        parts.append(_text(left - 6, place(np.array([[low[0], value]]))[0, 1] + 4, name, theme.ink, "end"))
    parts.append(_text(left + size[0] / 2, bottom + 15 + LINE, short_text(sides[0].name, 40), theme.quiet))
    turned = f'transform="rotate(-90 12 {top + size[1] / 2})"'
    parts.append(_text(12, top + size[1] / 2, short_text(sides[1].name, 30), theme.quiet, more=turned))
    parts += _color_bar(left + size[0] + 10, top, limit, theme)
    return _svg(left + size[0] + 14 + 10 + LETTER * 7, bottom + 15 + LINE + 8, parts)


def _color_bar(x: float, top: float, limit: float, theme: Theme) -> list[str]:
    steps = _color(np.linspace(1, -1, 32), theme)
    height = MAP[1] / len(steps)
    bars = [
        f'<rect x="{x:.1f}" y="{top + k * height:.2f}" width="10" height="{height + 0.5:.2f}" fill="{_hex(color)}"/>'
        for k, color in enumerate(steps)
    ]
    ends = [(f"+{format_value(limit, 2)}", 10), ("0", MAP[1] / 2 + 4), (f"−{format_value(limit, 2)}", MAP[1])]
    return bars + [_text(x + 14, top + y, name, theme.ink, "start") for name, y in ends]


def _round_ticks(side: Any) -> list[tuple[float, str]]:
    """Return where to label an axis, and the labels: round numbers, or what dates and words have."""
    if named := axis_ticks(side):
        return named
    low, high = float(side.knots[0]), float(side.knots[-1])
    rough = (high - low) / 4 or 1.0
    power = 10.0 ** np.floor(np.log10(rough))
    step = power * min((1, 2, 5, 10), key=lambda each: abs(each * power - rough))
    values = np.arange(np.ceil(low / step), np.floor(high / step) + 1) * step
    return [(float(value), side.place(float(value))) for value in values]


def _wrap(name: str, length: int) -> list[str]:
    """Return a name in at most two lines of so many letters."""
    length = max(length, 4)
    if len(name) <= length:
        return [name]
    space = name.rfind(" ", 0, length + 1)
    cut = space if space > 0 else length
    return [name[:cut].strip(), short_text(name[cut:].strip(), length)]


def _color(share: Floats, theme: Theme) -> Floats:
    """Return colors (..., 3) for shares of the largest effect: class 0 below zero, the paper at zero, class 1 above."""
    paper, ends = _rgb(theme.paper), [_rgb(theme.classes[k]) for k in (0, 1)]
    side = np.where(share[..., None] < 0, ends[0], ends[1])
    return np.asarray(paper + (side - paper) * STRENGTH * np.abs(share)[..., None])


def _rgb(color: str) -> Floats:
    return np.array([int(color[k : k + 2], 16) / 255 for k in (1, 3, 5)])


def _hex(color: Floats) -> str:
    return "#" + "".join(f"{round(255 * float(part)):02x}" for part in color)


def _readable(color: Floats, theme: Theme) -> str:
    """Return ink or paper, whichever is farther from a color in lightness."""
    weights = np.array([0.2126, 0.7152, 0.0722])
    light = {each: float(_rgb(each) @ weights) for each in (theme.ink, theme.paper)}
    return max(light, key=lambda each: abs(light[each] - float(color @ weights)))


def _text(x: float, y: float, text: str, color: str, anchor: str = "middle", weight: int = 400, more: str = "") -> str:
    look = f'fill="{color}" text-anchor="{anchor}"' + (f' font-weight="{weight}"' if weight != 400 else "")
    return f'<text x="{x:.1f}" y="{y:.1f}" {look} {more}>{escape(text)}</text>'


def _path(lines: Any, color: str, width: float, opacity: float) -> str:
    shape = "".join("M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in line) for line in lines)
    return f'<path d="{shape}" fill="none" stroke="{color}" stroke-width="{width}" opacity="{opacity}"/>'


def _dots(points: Floats, color: str) -> str:
    shape = "".join(f"M{x:.1f} {y:.1f}h0" for x, y in points)
    return f'<path d="{shape}" stroke="{color}" stroke-width="2.4" stroke-linecap="round" opacity=".45"/>'


def _svg(width: float, height: float, parts: list[str]) -> str:
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    font = 'font-family="system-ui, sans-serif" font-size="12"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {font}>{"".join(parts)}</svg>'


def _png(pixels: Any) -> bytes:
    """Return an image (h, w, 3) of bytes as a PNG file."""
    height, width, _ = pixels.shape
    lines = b"".join(b"\0" + row.tobytes() for row in pixels)
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = [(b"IHDR", head), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b"")]
    packed = [
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(packed)
