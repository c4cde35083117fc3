"""What a network does to the rows of a table: columns that matter, exact effects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from creases._text import format_number
from creases.errors import InputError
from creases.show.report._page import Section, pluralize, round_values
from creases.tables import (
    CategoryEffect,
    NumberEffect,
    SavedRun,
    effects,
    interactions,
)

#: Largest number of columns with a bar, and with a chart; of pairs; of rows whose own curves are drawn.
COLUMNS, CHARTS, PAIRS, CURVES = 15, 6, 8, 25

#: Largest number of rows to compute effects at, of knots of a curve drawn, and of breakpoints marked.
ROWS, KNOTS, MARKS = 1000, 150, 25

#: Largest number of outputs whose effects are drawn.
OUTPUTS = 10


def effect_sections(run: SavedRun, weights: Mapping[str, float]) -> list[Section]:
    """Return the sections about the columns, given the importance of each, largest first."""
    sections = [_importance(run, weights)]
    if run.data.n_outputs <= OUTPUTS:
        sections = [*sections, *_interactions(run), _effects(run, weights)]
    return sections


def names_of(run: SavedRun) -> dict[str, Any]:
    """Return the names of inputs, classes and target, as the functions of :mod:`creases.explain` take them."""
    problem = run.data.problem
    return {"names": problem.features, "classes": problem.classes, "target": problem.target or None}


def _unit(run: SavedRun) -> str:
    problem = run.data.problem
    return f"in the units of {problem.target or 'the target'}" if problem.classes is None else "in log-odds"


def _importance(run: SavedRun, weights: Mapping[str, float]) -> Section:
    """Return a bar for each column: the mean size of its coefficient times its standard deviation."""
    listed = list(weights.items())
    top = listed[0][1] or 1.0
    text = (
        f"How far a typical change of the column moves the prediction, {_unit(run)}: the mean absolute "
        "coefficient over the training rows times the standard deviation of the column."
    )
    if len(listed) > COLUMNS:
        text += f" The {COLUMNS} most important of {pluralize(len(listed), 'column')}."
    bars = [
        {"name": name, "share": size / top, "text": format_number(size), "main": k < 2}
        for k, (name, size) in enumerate(listed[:COLUMNS])
    ]
    return {"title": "Most important columns", "text": text, "bars": bars}


def _interactions(run: SavedRun) -> list[Section]:
    """Return a bar for each of the pairs of columns that interact most."""
    problem = run.data.problem
    found = interactions(run.net, problem.X[run.data.train], **names_of(run))
    pairs = [(pair, float(value)) for pair, value in zip(found.pairs, found.values, strict=True) if value > 0][:PAIRS]
    if not pairs:
        return []
    text = f"Pairs of columns where the effect of one depends on the value of the other, {_unit(run)}."
    bars = [
        {"name": " × ".join(pair), "share": value / pairs[0][1], "text": format_number(value)} for pair, value in pairs
    ]
    return [{"title": "Interactions", "text": text, "bars": bars}]


def _effects(run: SavedRun, weights: Mapping[str, float]) -> Section:
    """Return a chart of the exact effect of each of the most important columns."""
    problem, charts = run.data.problem, []
    X = problem.X[:: -(-len(problem.X) // ROWS)]
    for name in list(weights)[:CHARTS]:
        try:
            effect = effects(run.net, X, name, **names_of(run))
        except InputError:  # a column that does not vary over these rows
            continue
        charts.append(_chart(effect))
    text = (
        f"How the prediction ({_unit(run)}) changes with one column while the others keep their values: the exact mean "
        f"over {pluralize(len(X), 'row')} (partial dependence)."
    )
    text += (
        " Thin lines are single rows."
        if run.data.n_outputs <= 2
        else " Scores are relative to the mean of all classes."
    )
    if any(series.get("marks") for chart in charts for series in chart["series"]):
        text += " Circles mark breakpoints."
    return {"title": "Effect of each column", "text": text, "charts": charts, "size": "full"}


def _chart(effect: NumberEffect | CategoryEffect) -> dict[str, Any]:
    """Return the chart of an effect: curves over numbers, bars or points over categories and over two values."""
    if isinstance(effect, CategoryEffect):
        return _category_chart(effect)
    return _category_chart(_two_categories(effect)) if len(np.unique(effect.values)) == 2 else _number_chart(effect)


def _two_categories(effect: NumberEffect) -> CategoryEffect:
    """Return the effect of a column of two values, such as 0 and 1, at these values: between them there is no row."""
    values, counts = np.unique(effect.values, return_counts=True)
    ends = np.stack([effect.heights[effect.starts[:-1]], effect.heights[effect.starts[1:] - 1]], axis=1)
    low, high = map(format_number, values.tolist())
    return CategoryEffect(effect.column, effect.outputs, (low, high), counts, ends)


def _number_chart(effect: NumberEffect) -> dict[str, Any]:
    one = len(effect.outputs) == 1
    grid, mean = effect.grid, effect.mean
    keep = np.unique(np.linspace(0, len(grid) - 1, min(KNOTS, len(grid))).astype(int))
    series: list[dict[str, Any]] = []
    if one:
        for row in np.linspace(0, len(effect.starts) - 2, min(CURVES, len(effect.starts) - 1)).astype(int):
            x, y = effect.curve(int(row))
            inner = np.unique(np.linspace(0, len(x) - 1, min(KNOTS, len(x))).astype(int))
            series.append({"kind": "line", "x": round_values(x[inner]), "y": round_values(y[inner, 0]), "faint": True})
    few = len(grid) <= MARKS
    for k, name in enumerate(effect.outputs):
        look = {"color": 0} if one else {"color": k, "name": name}
        series.append(
            {"kind": "line", "x": round_values(grid[keep]), "y": round_values(mean[keep, k]), "marks": few, **look}
        )
    bends = pluralize(len(grid) - 2, "breakpoint")
    return {"title": f"{effect.column} ({bends})", "x": {"name": effect.column}, "y": _y_axis(effect), "series": series}


def _category_chart(effect: CategoryEffect) -> dict[str, Any]:
    one, count = len(effect.outputs) == 1, len(effect.categories)
    series = [
        {
            "kind": "bars" if one else "points",
            "x": list(range(count)),
            "y": round_values(effect.mean[:, k]),
            "color": k,
            **({} if one else {"name": name}),
        }
        for k, name in enumerate(effect.outputs)
    ]
    axis = {"name": effect.column, "range": [-0.6, count - 0.4], "labels": list(effect.categories)}
    return {"title": effect.column, "x": axis, "y": _y_axis(effect), "series": series}


def _y_axis(effect: NumberEffect | CategoryEffect) -> dict[str, str]:
    return {"name": effect.outputs[0] if len(effect.outputs) == 1 else "class score"}
