"""What columns and planes add: in words, by slopes and values, and as pictures need it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from creases._text import OneLine, format_change, format_value, plural
from creases._typing import Floats, Ints
from creases.tables._columns.codec import UNKNOWN, Axis
from creases.tables._columns.levels import Levels, Lookup
from creases.tables._model.schema import RowFunction
from creases.tables._stages.model import Plane
from creases.tables._words.rows import InputRanges, TermEffects
from creases.tables._words.terms import DECISIVE, NEGLIGIBLE, ColumnTerm, CurveTerms, Options, Terms

if TYPE_CHECKING:
    from creases.network import Network

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
            texts += [(graph.axis.name, text)] if text else []
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


def _several_text(terms: CurveTerms, graph: NumberGraph) -> str:
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


def _runs_text(terms: CurveTerms, graph: NumberGraph, values: Floats, unit: str) -> str:
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


# What columns and planes add, as a picture needs it.


# What two columns add together, as a picture needs it: a map of two numbers, a curve for each value, or a table.


@dataclass(frozen=True, eq=False)
class Side:
    """One of the two columns of a plane."""

    name: str
    inputs: Ints  #: the inputs that encode it
    levels: tuple[str, ...]  #: of a category or a yes/no column; () for a number
    knots: Floats  #: (k,) of a number: everything that bends along it alone lies at one of these
    axis: Axis | None = None  #: how numbers are written

    def encode(self, X: Floats, values: Floats) -> None:
        """Set the inputs of encoded rows X (n, d) to numbers (n,), or to the levels with these numbers."""
        if not self.levels or len(self.inputs) == 1:
            X[:, self.inputs[0]] = values
        else:
            X[np.arange(len(X)), self.inputs[values.astype(np.int64)]] = 1.0


@dataclass(frozen=True, eq=False, repr=False)
class PairGraph(OneLine):
    """What two columns add together beyond what each adds alone."""

    name: str
    outputs: tuple[str, ...]
    unit: str
    size: float
    first: Side
    second: Side
    rows: Floats  #: (n, 2) numbers of the two columns in the rows, or numbers of levels
    _terms: CurveTerms = field(repr=False)
    _plane: Plane = field(repr=False)

    def __call__(self, first: Floats, second: Floats) -> Floats:
        """Return what values (n,) of both add, (n, m): numbers, or the numbers of levels."""
        X = np.zeros((len(first), len(self._terms.encoding.features)))
        self.first.encode(X, np.asarray(first, np.float64))
        self.second.encode(X, np.asarray(second, np.float64))
        return self._terms.to_points(self._plane(X))

    @property
    def inputs(self) -> tuple[int, int]:
        """The inputs of two numbers."""
        return int(self.first.inputs[0]), int(self.second.inputs[0])

    def creases(self) -> list[Floats]:
        """Return the lines, each of points (k, 2), at which the map of two numbers bends."""
        hinges, lines = self._plane.hinges, list[Floats]()
        for k in np.flatnonzero(self._plane.weights.any(axis=1)).tolist():
            keys, (a, b, c) = [int(hinges.first[k]), int(hinges.second[k])], hinges.weights[k]
            if hinges.feature_of(keys[0]) != self.inputs[0]:
                keys, a, b = keys[::-1], b, a
            for (p, even), (q, other) in product(*(hinges.branches(key) for key in keys)):
                u = np.unique(np.concatenate([even, -(b * other + c) / a]))
                v = -(a * u + c) / b
                inside = (u >= even[0]) & (u <= even[-1]) & (v >= other[0] - 1e-9) & (v <= other[-1] + 1e-9)
                lines.append(np.stack([np.interp(u, even, p), np.interp(v, other, q)], axis=1)[inside])
        for axis, side in enumerate((self.first, self.second)):
            for knot in side.knots[1:-1]:
                line = np.stack([each[[0, -1]] for each in (self.first.knots, self.second.knots)], axis=1)
                line[:, axis] = knot
                lines.append(line)
        return [line for line in lines if len(line) > 1]

    def network(self, output: int = 0) -> Network:
        """Return one output of the plane of two numbers, in the units of its values, as a network of all inputs."""
        from creases.tables._stages.model import to_module  # imports torch

        parts = self._terms.to_points(np.eye(len(self.outputs)))[:, output] if len(self.outputs) > 1 else None
        weights = self._terms.to_points(np.ones(1)) if parts is None else parts
        plane, mix = self._plane, np.atleast_2d(weights).reshape(-1, 1)
        margins = {j: replace(each, values=each.values @ mix) for j, each in plane.margins.items()}
        alone = replace(plane, weights=plane.weights @ mix, constant=plane.constant @ mix, margins=margins)
        zero, curves = np.zeros((2, 1)), self._terms.model.curves
        flat = tuple(replace(each, knots=each.knots[[0, -1]], values=zero, errors=zero) for each in curves)
        model = replace(self._terms.model, n_classes=0, intercept=np.zeros(1), curves=flat, planes=(alone,), units=None)
        from creases.network import read

        return read(to_module(model))


def _pair_graph(terms: CurveTerms, k: int, size: float, X: Floats | None) -> PairGraph:
    """Return the graph of plane k."""
    plane = terms.model.planes[k]
    sides = [_side(terms, plane, inputs) for inputs in plane.inputs]
    rows = np.zeros((0, 2))
    if X is not None:
        own = [X[:, side.inputs] for side in sides]
        rows = np.stack([each.argmax(axis=1) if each.shape[1] > 1 else each[:, 0] for each in own], axis=1) * 1.0
    return PairGraph(terms.pairs[k], terms.outputs, terms.graph_unit, size, sides[0], sides[1], rows, terms, plane)


def _side(terms: CurveTerms, plane: Plane, numbers: list[int]) -> Side:
    """Return one side of a plane; the values of one input that is not a number are what 0 and 1 are called."""
    inputs, feature = np.array(numbers), terms.encoding.features[numbers[0]]
    term, name = terms.term_of[numbers[0]], terms.variables[numbers[0]]
    if feature.is_numeric:
        knots = plane_knots(plane, numbers[0])
        if numbers[0] in plane.hinges.knots:  # no circle
            first, *_, last = plane.hinges.knots[numbers[0]]
            knots = knots[(knots >= first) & (knots <= last)]
        axis = term.codec.axis(feature, knots)
        return Side(name, inputs, (), knots, axis)
    if term.codec.has_levels:
        names = dict(zip(term.inputs.tolist(), term.levels, strict=True))
        levels = tuple(names[j] for j in numbers)
        levels = levels if len(levels) > 1 else (f"not {levels[0]}", *levels)
    elif numbers[0] != term.inputs[0]:  # whether the value is missing, or a code
        levels = ("no", "yes")
    else:
        levels = tuple(text for text, _ in term.values[1::-1])
    return Side(name, inputs, levels, np.zeros(0))


@dataclass(frozen=True, eq=False, repr=False)
class NumberGraph(OneLine):
    """What a number, or a part of a date, adds to the prediction: straight between knots, constant beyond them."""

    name: str  #: the column, of a date with its part
    column: str  #: of the table
    input: str  #: the encoded input whose curve this is
    label: str  #: of the axis: the column with its unit
    outputs: tuple[str, ...]  #: (m,) what it adds to: the target, the second of two classes, or each of more
    unit: str  #: of the values: that of the target, ``points``, or ""
    size: float  #: mean size of the column's effect
    knots: Floats  #: (k,)
    values: Floats  #: (k, m)
    errors: Floats  #: (k, m) standard errors of the values
    missing: Floats | None  #: (m,) what a missing value adds; None if none was missing
    axis: Axis  #: how values of the column are written
    rows: Floats  #: (n,) values of the rows


@dataclass(frozen=True, eq=False, repr=False)
class LevelGraph(OneLine):
    """What each value of a category adds, largest first."""

    name: str
    column: str  #: of the table
    outputs: tuple[str, ...]
    unit: str
    size: float
    levels: tuple[str, ...]
    knots: tuple[tuple[str, float], ...]  #: (l,) where each level has its value: an input, and a knot of its curve
    values: Floats  #: (l, m)
    errors: Floats  #: (l, m) standard errors; NaN where unknown
    counts: Ints  #: (l,) rows with each value; empty without rows


def model_graphs(model: RowFunction, *, X: Floats | None = None) -> list[NumberGraph | LevelGraph | PairGraph]:
    """Return what each column and each plane of a model of curves adds, the most important first.

    Columns come first, then planes, each in the order of importance by encoded rows X (n, d), whose density pictures
    show; by default those that the model was fitted to. What is constant is left out. With classes the values are
    points: ten double the odds.
    """
    terms = model._terms()
    assert isinstance(terms, CurveTerms)
    sizes = TermEffects.from_model(model, terms, X).sizes
    if X is None and model.data is not None:
        used, data = model.data.fitted_rows, model.data.rows
        X = np.asarray(np.repeat(data.X[used], data.count[used], axis=0))
    graphs: list[NumberGraph | LevelGraph] = []
    for term, size in zip(terms.columns, sizes, strict=False):
        if term.codec.is_discrete:
            graphs.append(_level_graph(terms, term, float(size), X))
        else:
            graphs += column_graphs(terms, term, float(size), X)
    least = NEGLIGIBLE * max(terms.spans.max(initial=0.0), 1e-300)
    graphs = [graph for graph in graphs if np.ptp(graph.values, axis=0).max() > least]
    graphs.sort(key=lambda graph: -graph.size)
    first = len(terms.columns)
    pairs = [_pair_graph(terms, k, float(sizes[first + k]), X) for k in range(len(terms.model.planes))]
    return [*graphs, *sorted(pairs, key=lambda pair: -pair.size)]


def column_graphs(terms: CurveTerms, term: ColumnTerm, size: float = 0.0, X: Floats | None = None) -> list[NumberGraph]:
    """Return the functions of a column of numbers or dates, that of its order first.

    ``size`` is that of the whole column; a part of a date has its own, by encoded rows X (n, d).
    """
    graphs = []
    for j, feature in sorted(term.numbers, key=lambda pair: pair[0] != term.main_input):
        knots, values = terms.curve_values(j)
        axis, is_part = term.codec.axis(feature, knots), j != term.main_input
        rows = np.zeros(0) if X is None else X[term.is_number(X), j]
        if axis.name:
            at_rows = np.stack([np.interp(rows, knots, column) for column in values.T])
            size = float(np.abs(at_rows).max(axis=0).mean()) if len(rows) else float(np.ptp(values, axis=0).max()) / 4
        graph = NumberGraph(
            name=terms.variables[j],
            column=term.column.name,
            input=feature.name,
            label=f"{axis.name} of {term.column.name}" if is_part else term.column.name,
            outputs=terms.outputs,
            unit=terms.graph_unit,
            size=size,
            knots=knots,
            values=values,
            errors=terms.error_values(j),
            missing=None if is_part else terms.gaps(term).get("missing"),
            axis=axis,
            rows=rows,
        )
        graphs.append(graph)
    return graphs


def _level_graph(terms: CurveTerms, term: ColumnTerm, size: float, X: Floats | None) -> LevelGraph:
    levels = level_values(terms, term)
    values = np.stack([*levels.values()])
    errors, knots = np.full(values.shape, np.nan), list[tuple[str, float]]()
    for k, (_, cells) in enumerate(term.values):
        place = int(np.flatnonzero(cells).max(initial=0))
        j = int(term.inputs[place])
        knots.append((terms.encoding.features[j].name, float(cells[place])))
        if k < 2 or isinstance(term.codec, Levels):  # of yes or no that is missing it is not known
            at = terms.model.curves[j].knots.searchsorted(cells[place])
            errors[k] = terms.error_values(j)[min(at, len(terms.error_values(j)) - 1)]
    counts = np.zeros(0, np.int64)
    if X is not None:
        found, each = np.unique(X[:, term.inputs], axis=0, return_counts=True)
        count_of = dict(zip(map(tuple, found.tolist()), each.tolist(), strict=True))
        counts = np.array([count_of.get(tuple(cells.tolist()), 0) for _, cells in term.values], np.int64)
    order = np.argsort(-values.max(axis=1), kind="stable")
    names = tuple(levels)
    return LevelGraph(
        term.name,
        term.column.name,
        terms.outputs,
        terms.graph_unit,
        size,
        tuple(names[k] for k in order),
        tuple(knots[k] for k in order),
        values[order],
        errors[order],
        counts[order] if len(counts) else counts,
    )
