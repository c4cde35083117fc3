"""What a column adds, in words: slopes of numbers, values of categories, parts of dates, missing values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from creases._text import format_change, format_value, plural
from creases._typing import Floats
from creases.tables._columns.axes import Axis
from creases.tables._columns.codec import UNKNOWN
from creases.tables._columns.levels import Lookup
from creases.tables._stages.model import Plane
from creases.tables._words.rows import InputRanges
from creases.tables._words.terms import DECISIVE, ColumnTerm, CurveTerms, Options, Terms, factor_text

if TYPE_CHECKING:
    from creases.tables._stages.trades import Effect, Trade  # imports scipy

#: Pieces of a curve that are told by their slopes; one with more by its values at so many places.
PIECES, PLACES = 3, 5

#: A change below this share of the curve's range is flat; a place nearer than that to the others' line is left out.
FLAT, NEAR = 0.005, 0.03


def curve_text(
    knots: Floats, values: Floats, axis: Axis, unit: str, change: Callable[[float], str] = format_change
) -> str:
    """Return a piecewise-linear function with values (k,) at knots (k,) in words; "" if it is constant.

    ``change`` writes what is added.
    """
    if not np.ptp(values) > 1e-12 * max(float(np.abs(values).max(initial=0.0)), 1e-300):
        return ""
    if axis.cycle:
        values = np.interp(axis.cycle, knots, values)
        low, high = int(values.argmin()), int(values.argmax())
        lowest = f"lowest {axis.at} {axis.place(axis.cycle[low])} ({change(values[low])}{unit})"
        return f"{lowest}, highest {axis.at} {axis.place(axis.cycle[high])} ({change(values[high])})"
    if axis.levels:
        return places_text(np.array(axis.levels), np.interp(axis.levels, knots, values), axis, unit, change)
    bends = choose_places(knots, values, 1e-9)  # without knots at which the curve goes straight on
    knots, values = knots[bends], values[bends]
    if len(knots) - 1 > PIECES:
        return places_text(knots, values, axis, unit, change)
    return _slopes_text(knots, values, axis, unit, change)


def choose_places(knots: Floats, values: Floats, share: float, most: int = 1_000_000) -> list[int]:
    """Return the knots between which straight lines are within a share of the range, or the best so many.

    The knot farthest from the lines so far is added until none is far (Douglas and Peucker 1973).
    """
    kept = [0, len(knots) - 1]
    while len(kept) < most:
        distance = np.abs(np.interp(knots, knots[kept], values[kept]) - values)
        farthest = int(distance.argmax())
        if distance[farthest] <= share * np.ptp(values) or farthest in kept:
            break
        kept = sorted([*kept, farthest])
    return kept


def plane_knots(plane: Plane, j: int, cells: Sequence[Mapping[int, float]] | None = None) -> Floats:
    """Return where a plane can bend along the number j, alone or where its other variable has certain cells.

    Cells are values by input, those of other inputs are 0; by default they are all levels of the other variable.
    """
    hinges = plane.hinges
    if cells is None:
        other = next(each for each in hinges.variables if j not in each.features)
        cells = [] if other.kind == "number" else [{level: 1.0} for level in other.features.tolist()]
    places = [plane.margins[j].knots] if j in plane.margins else []
    for i, k, (a, b, c) in zip(hinges.first.tolist(), hinges.second.tolist(), hinges.weights, strict=True):
        key, level_key, slope, factor = (i, k, a, b) if hinges.feature_of(i) == j else (k, i, b, a)
        for knots, values in hinges.branches(key):
            places.append(knots)
            for level in {cell.get(hinges.feature_of(level_key), 0.0) for cell in cells}:
                height = slope * values + factor * max(level, 0.0) + c
                before = np.flatnonzero(height[:-1] * height[1:] < 0)
                share = height[before] / (height[before] - height[before + 1])
                places.append(knots[before] + share * np.diff(knots)[before])
    return np.unique(np.concatenate(places))


def places_text(knots: Floats, values: Floats, axis: Axis, unit: str, change: Callable[[float], str]) -> str:
    """Return the values of a function at the places between which it is nearly straight."""
    kept = choose_places(knots, values, NEAR, PLACES)
    shown = [f"{change(values[k])} {axis.at} {axis.place(knots[k])}" for k in kept]
    if unit:
        shown[0] = shown[0].replace(f" {axis.at} ", f"{unit} {axis.at} ", 1)
    return ", ".join(shown)


def _slopes_text(knots: Floats, values: Floats, axis: Axis, unit: str, change: Callable[[float], str]) -> str:
    """Return the slopes of a few pieces: ``-1.2 mpg per 100 lb up to 2,750 lb, -0.6 above``."""
    words, named = [], False
    last = len(knots) - 2
    for k in range(last + 1):
        a, b, rise = knots[k], knots[k + 1], values[k + 1] - values[k]
        if abs(rise) < FLAT * np.ptp(values):
            text = "flat"
        elif b - a < axis.step and last:  # too short for a slope: nearly a jump
            words.append(f"{change(rise)}{'' if named else unit} from {axis.place(a)} to {axis.place(b)}")
            continue
        else:
            text = change(rise / (b - a) * axis.step)
            text += "" if named else f"{unit} per {axis.step_name}"
            named = True
        if last and k == last:
            text += f" {axis.beyond}"
        elif last:
            text += f" {axis.until} {axis.place(b)}"
        words.append(text)
    return ", ".join(words)


# What a column adds.


#: Values of a category that are named, those with the largest and those with the least effect.
HIGHEST, LOWEST = 4, 3

#: Classes of several that are named.
CLASSES = 3


@dataclass(frozen=True, eq=False)
class Graph:
    """A piecewise-linear function of one number of a column."""

    name: str  #: "" for a column of numbers; else what part of the date: trend, month, weekday, hour
    input: int  #: the number of its input
    axis: Axis
    knots: Floats  #: (k,)
    values: Floats  #: (k, m)


def column_text(terms: CurveTerms, term: ColumnTerm) -> str:
    """Return what a column adds in words; "" if it is constant."""
    if term.codec.is_discrete:
        levels = level_values(terms, term)
        text = _levels_text(terms, levels)
        if not text or not isinstance(term.codec, Lookup):
            return text
        spread = format_value(float(np.stack([*levels.values()]).std(axis=0).max()), 2)
        count = f"{len(term.column.levels):,} values"
        return f"{count}, each with its own effect (standard deviation {spread}{terms.unit}): {text}"
    texts = []
    for graph in column_graphs(terms, term):
        if np.ptp(graph.values, axis=0).max() > terms.unseen:
            if len(terms.outputs) > 1:
                text = _several_text(terms, graph)
            else:
                text = curve_text(graph.knots, graph.values[:, 0], graph.axis, terms.unit, terms.amount_text)
            texts += [(graph.name, text)] if text else []
    words = [f"{name} {text}" if len(texts) > 1 and name else text for name, text in texts]
    for name, effect in terms.gaps(term).items():
        if name in term.codes.values() or np.abs(effect).max() > max(1e-9, terms.unseen):
            k = int(effect.argmax())
            unit = f" for {terms.outputs[k]}" if len(effect) > 1 else "" if words else terms.unit
            words.append(f"{name}: {terms.change_text(float(effect[k]))}{unit}")
    if words and terms.classes is not None and terms.spans[terms.columns.index(term)] > DECISIVE:
        words.append("moves the odds by more than a million to one")
    return "; ".join(words)


def level_values(terms: CurveTerms, term: ColumnTerm) -> dict[str, Floats]:
    """Return what each value of a category or a yes/no column adds, (m,) by its name; missing ones as ``missing``."""
    inputs = term.inputs.tolist()
    return {text: terms.at(term, dict(zip(inputs, cells.tolist(), strict=True))) for text, cells in term.values}


def column_graphs(terms: CurveTerms, term: ColumnTerm) -> list[Graph]:
    """Return the functions of a column of numbers or dates, that of its order first."""
    graphs = []
    for j, feature in sorted(term.numbers, key=lambda pair: pair[0] != term.main_input):
        knots, values = terms.curve_values(j)
        axis = term.codec.axis(feature, knots)
        graphs.append(Graph(axis.name, j, axis, knots, values))
    return graphs


def _levels_text(terms: CurveTerms, levels: dict[str, Floats]) -> str:
    """Return the effects of a category's values: ``Japan +1.9 mpg, Europe +0.4, USA -0.8``."""
    table = np.stack([*levels.values()])
    if np.ptp(table, axis=0).max() <= max(1e-9 * max(float(np.abs(table).max()), 1.0), terms.unseen):
        return ""
    if len(terms.outputs) > 1:  # which class each value favors most: Biscoe +22 points for Gentoo
        order, texts = sorted(levels, key=lambda name: -float(levels[name].max())), list[str]()
        for name in order[: HIGHEST + LOWEST]:
            k = int(levels[name].argmax())
            amount = terms.change_text(float(levels[name][k])) + ("" if texts else terms.unit)
            texts.append(f"{name} {amount} for {terms.outputs[k]}")
        more = len(order) - len(texts)
        return ", ".join(texts) + (f", {plural(more, 'other')} less" if more else "")
    order = sorted(levels, key=lambda name: -float(levels[name][0]))
    texts = [f"{name} {terms.change_text(float(levels[name][0]))}" for name in order]
    texts[0] += terms.unit
    if len(order) > HIGHEST + LOWEST:
        middle = order[HIGHEST - 1 : -LOWEST + 1]
        ends = (float(levels[middle[0]][0]), float(levels[middle[-1]][0]))
        between = f"{len(middle)} others between {terms.change_text(ends[0])} and {terms.change_text(ends[1])}"
        texts = [*texts[: HIGHEST - 1], between, *texts[-LOWEST + 1 :]]
    return ", ".join(texts)


# -- several classes --------------------------------------------------------------------------------------------------


def _several_text(terms: CurveTerms, graph: Graph) -> str:
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


def _runs_text(terms: CurveTerms, graph: Graph, values: Floats, unit: str) -> str:
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


# Encoded rows as cells of the table, and cells as text.


def decode_row(terms: Terms, x: Floats) -> dict[str, Any]:
    """Return an encoded row x (d,) as cells by the names of columns; None is missing.

    Encoding the cells gives the row again. Of values that were pooled because they are rare the first one stands for
    all. An unknown value of a category is the text ``a new value``.
    """
    cells: dict[str, Any] = {}
    for term in terms.columns:
        gap = term.gap(x)
        cell = (None if gap == "missing" else float(gap)) if gap else term.codec.cell(term.column, x[term.inputs])
        cells[term.column.name] = cell
    return cells


def cell_text(terms: Terms, term: ColumnTerm, x: Floats) -> str:
    """Return a column's cell in an encoded row x (d,) as a reader writes it: ``58``, ``2,130 lb``, ``14 May 2020``."""
    if gap := term.gap(x):
        return gap
    values = x[term.inputs]
    if term.codec.has_levels:
        return term.levels[int(values.argmax())] if values.any() else UNKNOWN
    if isinstance(term.codec, Lookup):
        return term.values[int(values[0]) - 1][0] if values[0] else UNKNOWN
    return term.codec.text(values, term.column.name, terms.knots(int(term.inputs[0])))


# Columns that can trade their effects.

#: Pairs of them that are named.
NAMED = 3


def describe_trades(terms: CurveTerms, trades: Sequence[Trade]) -> list[str]:
    """Return which columns can trade their effects, with the range of each, in words."""
    texts = []
    for trade in trades[:NAMED]:
        first, second = (_effect_text(terms, effect) for effect in trade.effects)
        class_ = f" on {terms.outputs[trade.score]}" if len(terms.outputs) > 1 else ""
        texts.append(
            f"{first[0]} and {second[0]} can trade their effects{class_} at nearly the same loss, so read them "
            f"together: {first[1]}; {second[1]}"
        )
    if more := len(trades) - NAMED:
        texts += [f"so can {plural(more, 'more pair')} of columns"] if more > 0 else []
    return texts


def _effect_text(terms: CurveTerms, effect: Effect) -> tuple[str, str]:
    """Return the name of a column, and what it could add: ``from 2 to 12 'years' may bring -10 % to +40 %``."""
    features = [terms.encoding.features[j] for j in effect.inputs]
    term, name = terms.term_of[effect.inputs[0]], terms.variables[effect.inputs[0]]
    if features[0].is_level:
        ends = [term.levels[term.features.index(feature)] for feature in features]
    elif not features[0].is_numeric:
        ends = [text for text, _ in term.values[1::-1]]
    elif features[0].is_free:
        knots = terms.curve_values(int(term.inputs[0]))[0]
        rough = [np.array([float(f"{value:.3g}")]) for value in effect.values]
        ends = [term.codec.text(value, term.column.name, knots) for value in rough]
    else:
        ends = [format_value(value, 4) for value in effect.values]
    values = [terms.scale * effect.low, terms.scale * effect.high]
    low, high = map(terms.amount_text, values)
    if low.startswith("x ") != high.startswith("x "):  # a range of factors, not of one and a share
        low, high = (factor_text(value, least=1.0) for value in values)
    return f"'{name}'", f"from {ends[0]} to {ends[1]} '{name}' may bring {low} to {high}{terms.unit}"


# The cells that a row could have instead of its own, with what each change counts.


def column_options(term: ColumnTerm, x: Floats, ranges: InputRanges, *, fixed: bool) -> Options:
    """Return what a column of an encoded row x (d,) could be.

    A number moves in round steps within the range of the table, at most as fine as the table writes it; a date by whole
    days; a category to any of its values. What is missing remains missing, and nothing becomes missing.
    """
    own = x[term.inputs]
    values, costs = np.zeros((0, len(own))), np.zeros(0)
    if not fixed and not term.is_missing(own):
        values, costs = term.codec.options(own, term.features, ranges.of(term))
    order = np.argsort(costs, kind="stable")
    return Options(term, np.concatenate([own[None], values[order]]), np.append(0.0, costs[order]))
