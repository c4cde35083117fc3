"""What a column adds, in words: slopes of numbers, values of categories, parts of dates, missing values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from creases._typing import Floats
from creases.tables._words.axes import Axis, feature_axis
from creases.tables._words.curves import NEAR, choose_places, curve_text
from creases.tables._words.terms import ColumnTerm, Terms, date_part

#: Values of a category that are named, those with the largest and those with the least effect.
HIGHEST, LOWEST = 4, 3

#: Years differ in their days: a trend that bends by no more than this share of its range is straight.
LEAP = 0.005

#: Classes of several that are named.
CLASSES = 3


@dataclass(frozen=True, eq=False)
class Graph:
    """A piecewise-linear function of one number of a column."""

    name: str  #: "" for a column of numbers; else what part of the date: trend, month, weekday, hour
    axis: Axis
    knots: Floats  #: (k,)
    values: Floats  #: (k, m)


def column_text(terms: Terms, term: ColumnTerm) -> str:
    """Return what a column adds in words; "" if it is constant."""
    if term.column.is_category or term.features[0].kind == "yes/no":
        return _levels_text(terms, level_values(terms, term))
    graphs = column_graphs(terms, term)
    write = _single_text if len(terms.outputs) == 1 else _several_text
    texts = [(graph.name, write(terms, graph)) for graph in graphs]
    texts = [(name, text) for name, text in texts if text]
    words = [f"{name} {text}" if len(texts) > 1 and name else text for name, text in texts]
    missing = terms.missing(term)
    if missing is not None and np.abs(missing).max() > 1e-9:
        words.append(_missing_text(terms, missing, named=bool(words)))
    if terms.is_decisive(term) and words:
        words.append("decides almost alone")
    return "; ".join(words)


def level_values(terms: Terms, term: ColumnTerm) -> dict[str, Floats]:
    """Return what each value of a category or a yes/no column adds, (m,) by its name; missing ones as ``missing``."""
    if term.column.is_category:
        pairs = zip(term.inputs.tolist(), term.features, strict=True)
        return {term.level_name(feature): terms.at(term, {j: 1.0}) for j, feature in pairs}
    no, yes = term.column.kind.words or ("0", "1")
    j = int(term.inputs[0])
    values = {yes: terms.at(term, {j: 1.0}), no: terms.at(term, {j: 0.0})}
    missing = terms.missing(term)
    return values if missing is None else values | {"missing": missing}


def column_graphs(terms: Terms, term: ColumnTerm) -> list[Graph]:
    """Return the functions of a column of numbers or dates."""
    if not term.numbers:
        return []
    if term.column.kind.date is None:
        ((j, feature),) = term.numbers
        knots, values = terms.curve_values(j)
        return [Graph("", feature_axis(feature, terms.encoding, knots), knots, values)]
    graphs = {}
    for j, feature in term.numbers:
        knots, values = terms.curve_values(j)
        axis = feature_axis(feature, terms.encoding, knots)
        graphs[date_part(feature, terms.encoding)] = Graph(date_part(feature, terms.encoding), axis, knots, values)
    trend = graphs.pop("days")
    return [Graph("trend", trend.axis, trend.knots, trend.values), *graphs.values()]


def _single_text(terms: Terms, graph: Graph) -> str:
    return curve_text(graph.knots, graph.values[:, 0], graph.axis, terms.unit)


def _levels_text(terms: Terms, levels: dict[str, Floats]) -> str:
    """Return the effects of a category's values: ``Japan +1.9 mpg, Europe +0.4, USA -0.8``."""
    table = np.stack([*levels.values()])
    if np.ptp(table, axis=0).max() <= 1e-9 * max(float(np.abs(table).max()), 1.0):
        return ""
    if len(terms.outputs) > 1:
        return _favored_text(terms, levels)
    order = sorted(levels, key=lambda name: -float(levels[name][0]))
    texts = [f"{name} {terms.change_text(float(levels[name][0]))}" for name in order]
    texts[0] += terms.unit
    if len(order) > HIGHEST + LOWEST:
        middle = order[HIGHEST - 1 : -LOWEST + 1]
        ends = (float(levels[middle[0]][0]), float(levels[middle[-1]][0]))
        between = f"{len(middle)} others between {terms.change_text(ends[0])} and {terms.change_text(ends[1])}"
        texts = [*texts[: HIGHEST - 1], between, *texts[-LOWEST + 1 :]]
    return ", ".join(texts)


def _missing_text(terms: Terms, effect: Floats, *, named: bool) -> str:
    if len(terms.outputs) == 1:
        return f"missing: {terms.change_text(float(effect[0]))}{'' if named else terms.unit}"
    k = int(effect.argmax())
    return f"missing: {terms.change_text(float(effect[k]))} for {terms.outputs[k]}"


# -- several classes --------------------------------------------------------------------------------------------------


def _favored_text(terms: Terms, levels: dict[str, Floats]) -> str:
    """Return which class each value of a category favors most: ``Biscoe +22 points for Gentoo``."""
    order = sorted(levels, key=lambda name: -float(levels[name].max()))
    texts: list[str] = []
    for name in order[: HIGHEST + LOWEST]:
        k = int(levels[name].argmax())
        amount = terms.change_text(float(levels[name][k])) + ("" if texts else terms.unit)
        texts.append(f"{name} {amount} for {terms.outputs[k]}")
    more = len(order) - len(texts)
    return ", ".join(texts) + (f", {more} others less" if more else "")


def _several_text(terms: Terms, graph: Graph) -> str:
    """Return how the classes that a number moves most change over its range."""
    spans = np.ptp(graph.values, axis=0)
    if not spans.max() > 0:
        return ""
    order = [k for k in np.argsort(-spans, kind="stable")[:CLASSES] if spans[k] > 0.05 * spans.max()]
    if graph.axis.cycle:
        places = np.array(graph.axis.cycle)
        texts: list[str] = []
        for k in order:
            values = np.interp(places, graph.knots, graph.values[:, k])
            best = int(values.argmax())
            place = f"{graph.axis.at} {graph.axis.place(places[best])}"
            amount = terms.change_text(values[best]) + ("" if texts else terms.unit)
            texts.append(f"{terms.outputs[k]} highest {place} ({amount})")
        return ", ".join(texts)
    low, high = (graph.axis.place(float(graph.knots[k])) for k in (0, -1))
    runs = [
        f"{terms.outputs[k]} {_runs_text(terms, graph, graph.values[:, k], '' if i else terms.unit)}"
        for i, k in enumerate(order)
    ]
    return f"from {low} to {high}: {', '.join(runs)}"


def _runs_text(terms: Terms, graph: Graph, values: Floats, unit: str) -> str:
    """Return the rises and falls of one class: ``+30 up to 47 mm then -12``."""
    kept = choose_places(graph.knots, values, max(NEAR, 0.1), 4)
    rises = np.diff(values[kept])
    ends = [k for k in range(len(rises)) if k + 1 == len(rises) or rises[k] * rises[k + 1] < 0]
    words: list[str] = []
    start = 0
    for end in ends:
        change = terms.change_text(float(values[kept[end + 1]] - values[kept[start]])) + ("" if words else unit)
        last = end + 1 == len(rises)
        words.append(change if last else f"{change} {graph.axis.until} {graph.axis.place(graph.knots[kept[end + 1]])}")
        start = end + 1
    return " then ".join(words)
