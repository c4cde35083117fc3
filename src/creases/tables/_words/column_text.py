"""What a column adds, in words: slopes of numbers, values of categories, parts of dates, missing values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import floor, log10
from typing import TYPE_CHECKING, Any

import numpy as np

from creases._text import format_value, plural
from creases._typing import Floats
from creases.tables._reading.kinds import ColumnKind
from creases.tables._words.curves import NEAR, Axis, choose_places, curve_text, date_text, feature_axis, number_axis
from creases.tables._words.rows import InputRanges, date_options
from creases.tables._words.terms import ColumnTerm, Options, Terms, days_input, part_name

if TYPE_CHECKING:
    from creases.tables._stages.trades import Effect, Trade  # imports scipy

#: Values of a category that are named, those with the largest and those with the least effect.
HIGHEST, LOWEST = 4, 3

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
    texts = [(each.name, write(terms, each)) for each in graphs if np.ptp(each.values, axis=0).max() > terms.unseen]
    texts = [(name, text) for name, text in texts if text]
    words = [f"{name} {text}" if len(texts) > 1 and name else text for name, text in texts]
    missing = terms.missing(term)
    if missing is not None and np.abs(missing).max() > max(1e-9, terms.unseen):
        words.append(_missing_text(terms, "missing", missing, named=bool(words)))
    words += [_missing_text(terms, code, effect, named=bool(words)) for code, effect in terms.codes(term).items()]
    if terms.is_decisive(term) and words:
        words.append("moves the odds by more than a million to one")
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
        graphs[feature.part] = Graph(feature.part, axis, knots, values)
    trend = graphs.pop("days")
    return [Graph("trend", trend.axis, trend.knots, trend.values), *graphs.values()]


def _single_text(terms: Terms, graph: Graph) -> str:
    return curve_text(graph.knots, graph.values[:, 0], graph.axis, terms.unit, terms.amount_text)


def _levels_text(terms: Terms, levels: dict[str, Floats]) -> str:
    """Return the effects of a category's values: ``Japan +1.9 mpg, Europe +0.4, USA -0.8``."""
    table = np.stack([*levels.values()])
    if np.ptp(table, axis=0).max() <= max(1e-9 * max(float(np.abs(table).max()), 1.0), terms.unseen):
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


def _missing_text(terms: Terms, name: str, effect: Floats, *, named: bool) -> str:
    if len(terms.outputs) == 1:
        return f"{name}: {terms.change_text(float(effect[0]))}{'' if named else terms.unit}"
    k = int(effect.argmax())
    return f"{name}: {terms.change_text(float(effect[k]))} for {terms.outputs[k]}"


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
    return ", ".join(texts) + (f", {plural(more, 'other')} less" if more else "")


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


# Encoded rows as cells of the table, and cells as text.

#: What stands for a value that the table did not have.
UNKNOWN = "a new value"


def decode_row(terms: Terms, x: Floats) -> dict[str, Any]:
    """Return an encoded row x (d,) as cells by the names of columns; None is missing.

    Encoding the cells gives the row again. Of values that were pooled because they are rare the first one stands for
    all. An unknown value of a category is the text ``a new value``.
    """
    return {term.column.name: _decode(term, x) for term in terms.columns}


def _decode(term: ColumnTerm, x: Floats) -> Any:
    column, values = term.column, x[term.inputs]
    if term.indicator is not None and x[term.indicator]:
        return None
    if codes := [text for j, text in term.codes.items() if x[j]]:
        return float(codes[0])
    if column.is_category:
        if not values.any():
            return UNKNOWN
        name = term.level_name(term.features[int(values.argmax())])
        return None if name == "missing" else column.rare[0] if name == "other values" and column.rare else name
    if column.kind.date is not None:
        return datetime.fromisoformat(column.kind.date.first) + _days(float(x[days_input(term)]))
    if column.kind.words is not None:
        return column.kind.words[int(values[0] > 0.5)]
    return _as_written(column.kind, float(values[0]))


def _as_written(kind: ColumnKind, value: float) -> str | float:
    """Return a number as the column writes it, where that is read as the same number again."""
    if kind.notation is None:
        return value
    text = kind.notation.write(value)
    return text if kind.notation.parse([text])[0] == value else value


def _days(days: float) -> timedelta:
    """Return a span of time, to the nearest millisecond: days with fractions are not exact."""
    return timedelta(milliseconds=round(days * 86_400_000))


def cell_text(terms: Terms, term: ColumnTerm, x: Floats) -> str:
    """Return a column's cell in an encoded row x (d,) as a reader writes it: ``58``, ``2,130 lb``, ``14 May 2020``."""
    column, values = term.column, x[term.inputs]
    if term.indicator is not None and x[term.indicator]:
        return "missing"
    if codes := [text for j, text in term.codes.items() if x[j]]:
        return codes[0]
    if column.is_category:
        return term.level_name(term.features[int(values.argmax())]) if values.any() else UNKNOWN
    if column.kind.date is not None:
        days = float(x[days_input(term)])
        return column.kind.date.write(days) if column.kind.date.is_months else date_text(column.kind.date.first, days)
    if column.kind.words is not None:
        return column.kind.words[int(values[0] > 0.5)]
    return number_text(terms, term, float(values[0]))


def number_text(terms: Terms, term: ColumnTerm, value: float) -> str:
    """Return a number of a column as it writes it, or with its unit."""
    if (notation := term.column.kind.notation) is not None:
        return notation.write(value)
    knots, _ = terms.curve_values(int(term.inputs[0]))
    axis = number_axis(term.column.name, term.features[0].unit, knots)
    unit = f" {term.features[0].unit}" if term.features[0].unit else ""
    is_year = "," not in axis.place(2000.0) and knots[0] >= 1000
    return format_value(value, 12 if value == round(value, 3) else 5, commas=not is_year) + unit


# Columns that can trade their effects.

#: Pairs of them that are named.
NAMED = 3


def describe_trades(terms: Terms, trades: Sequence[Trade]) -> list[str]:
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


def _effect_text(terms: Terms, effect: Effect) -> tuple[str, str]:
    """Return the name of a column, and what it could add: ``from 2 to 12 'years' may bring -10 % to +40 %``."""
    features = [terms.encoding.features[j] for j in effect.inputs]
    term = next(each for each in terms.columns if effect.inputs[0] in each.inputs)
    name = part_name(features[0], terms)
    if features[0].kind == "category":
        ends = [term.level_name(feature) for feature in features]
    elif features[0].kind == "number":
        ends = [number_text(terms, term, float(f"{value:.3g}")) for value in effect.values]
    elif features[0].kind == "yes/no":
        ends = [term.column.kind.words[k] if term.column.kind.words else str(k) for k in (0, 1)]
    else:
        ends = [format_value(value, 4) for value in effect.values]
    low, high = (terms.amount_text(terms.scale * value) for value in (effect.low, effect.high))
    return f"'{name}'", f"from {ends[0]} to {ends[1]} '{name}' may bring {low} to {high}{terms.unit}"


# The cells that a row could have instead of its own, with what each change counts.

#: What any change of a column counts, and a change of a category or of yes and no in all.
CHANGE, SWITCH = 0.1, 1.0

#: Numbers move by at most this share of their range, in round steps.
STEP = 1 / 200


def column_options(term: ColumnTerm, x: Floats, ranges: InputRanges, *, fixed: bool) -> Options:
    """Return what a column of an encoded row x (d,) could be.

    A number moves in round steps within the range of the table, at most as fine as the table writes it; a date by whole
    days; a category to any of its values. What is missing remains missing, and nothing becomes missing.
    """
    own = x[term.inputs]
    values, costs = np.zeros((0, len(own))), np.zeros(0)
    if not fixed and not _is_missing(term, own):
        if term.column.is_category:
            levels = [k for k, feature in enumerate(term.features) if feature.level and not own[k]]
            values = np.eye(len(own))[levels]
            costs = np.full(len(values), SWITCH)
        elif term.column.kind.date is not None:
            days, parts = date_options(term, x, ranges)
            values = np.repeat(own[None], len(parts), axis=0)
            values[:, : parts.shape[1]] = parts
            costs = CHANGE + days / ranges.spread[days_input(term)]
        else:
            values, costs = _numbers(term, own, ranges)
    order = np.argsort(costs, kind="stable")
    return Options(term, np.concatenate([own[None], values[order]]), np.append(0.0, costs[order]))


def _is_missing(term: ColumnTerm, own: Floats) -> bool:
    """Return whether a column is missing or a code in a row, or has a value that the table did not have."""
    if term.column.is_category:
        return not own.any() or term.level_name(term.features[int(own.argmax())]) == "missing"
    gaps = [k for k, feature in enumerate(term.features) if feature.is_gap]
    return bool(own[gaps].any())


def _numbers(term: ColumnTerm, own: Floats, ranges: InputRanges) -> tuple[Floats, Floats]:
    """Return other numbers, or the other of yes and no, and their costs."""
    j = int(term.inputs[0])
    low, high = float(ranges.low[j]), float(ranges.high[j])
    if term.features[0].kind == "yes/no":
        values = np.array([1.0 - own[0]]) if low < high else np.zeros(0)
        costs = np.full(len(values), SWITCH)
    elif (notation := term.column.kind.notation) is not None:
        values = notation.grid(low, high, round(1 / STEP))
        values = values[np.abs(values - own[0]) > 1e-9 * (high - low)]
        costs = CHANGE + np.abs(values - own[0]) / ranges.spread[j]
    else:
        step = max(round_down(STEP * (high - low)), float(ranges.unit[j])) if high > low else 1.0
        values = np.arange(np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9) + 1) * step
        values = np.array([float(f"{value:.12g}") for value in np.clip(values, low, high)])
        values = values[np.abs(values - own[0]) > step / 1000]
        costs = CHANGE + np.abs(values - own[0]) / ranges.spread[j]
    rows = np.repeat(own[None], len(values), axis=0)
    rows[:, 0] = values
    return rows, costs


def round_down(value: float) -> float:
    """Return the largest of 1, 2, 5, 10, ... (or their tenths, hundredths, ...) that is at most a value.

    Examples
    --------
    >>> round_down(17.6), round_down(0.5), round_down(0.037)
    (10.0, 0.5, 0.02)
    """
    power = 10.0 ** floor(log10(value) + 1e-12)
    return float(f"{power * max(k for k in (1, 2, 5) if k * power <= value * (1 + 1e-12)):.12g}")
