"""What a column adds, as a picture needs it: knots and values of numbers, values of categories, errors and rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from creases._text import OneLine
from creases._typing import Floats, Ints
from creases.tables._columns.levels import Levels
from creases.tables._words.column_text import Graph, column_graphs, level_values, plane_knots
from creases.tables._words.rows import TermEffects
from creases.tables._words.terms import NEGLIGIBLE, ColumnTerm, CurveTerms

if TYPE_CHECKING:
    from creases.network import Network
    from creases.tables._model.table_model import TableModel
    from creases.tables._stages.model import Plane


# What two columns add together, as a picture needs it: a map of two numbers, a curve for each value, or a table.


@dataclass(frozen=True, eq=False)
class Side:
    """One of the two columns of a plane."""

    name: str
    inputs: Ints  #: the inputs that encode it
    levels: tuple[str, ...]  #: of a category or a yes/no column; () for a number
    knots: Floats  #: (k,) of a number: everything that bends along it alone lies at one of these
    place: Callable[[float], str]  #: a number as text
    first_day: str = ""  #: of days, the date of day 0
    cycle: tuple[float, ...] = ()  #: all values of a month, weekday or hour
    ticks: tuple[float, ...] = ()  #: where an axis has labels; () for round numbers

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
        return Side(name, inputs, (), knots, axis.place, axis.first_day, axis.cycle, axis.ticks)
    if term.codec.has_levels:
        names = dict(zip(term.inputs.tolist(), term.levels, strict=True))
        levels = tuple(names[j] for j in numbers)
        levels = levels if len(levels) > 1 else (f"not {levels[0]}", *levels)
    elif numbers[0] != term.inputs[0]:  # whether the value is missing, or a code
        levels = ("no", "yes")
    else:
        levels = tuple(text for text, _ in term.values[1::-1])
    return Side(name, inputs, levels, np.zeros(0), str)


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
    place: Callable[[float], str]  #: a value of the column as text
    first_day: str  #: of days, the date of day 0; else ""
    cycle: tuple[float, ...]  #: all values of a month, weekday or hour
    ticks: tuple[float, ...]  #: where an axis has labels; () for round numbers
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


def model_graphs(model: TableModel, *, X: Floats | None = None) -> list[NumberGraph | LevelGraph | PairGraph]:
    """Return what each column and each plane of a model adds, the most important first.

    Columns come first, then planes, each in the order of importance by encoded rows X (n, d), whose density pictures
    show; by default those that the model was fitted to. What is constant is left out. With classes the values are
    points: ten double the odds.
    """
    terms = model._terms()
    sizes = TermEffects.from_model(model, terms, X).sizes
    if X is None and model.data is not None:
        used, data = model.data.fitted_rows, model.data.rows
        X = np.asarray(np.repeat(data.X[used], data.count[used], axis=0))
    graphs: list[NumberGraph | LevelGraph] = []
    for term, size in zip(terms.columns, sizes, strict=False):
        if term.codec.is_discrete:
            graphs.append(_level_graph(terms, term, float(size), X))
        else:
            graphs += [_number_graph(terms, term, graph, float(size), X) for graph in column_graphs(terms, term)]
    least = NEGLIGIBLE * max(terms.spans.max(initial=0.0), 1e-300)
    graphs = [graph for graph in graphs if np.ptp(graph.values, axis=0).max() > least]
    graphs.sort(key=lambda graph: -graph.size)
    first = len(terms.columns)
    pairs = [_pair_graph(terms, k, float(sizes[first + k]), X) for k in range(len(terms.model.planes))]
    return [*graphs, *sorted(pairs, key=lambda pair: -pair.size)]


def _number_graph(terms: CurveTerms, term: ColumnTerm, graph: Graph, size: float, X: Floats | None) -> NumberGraph:
    j = graph.input
    rows = np.zeros(0) if X is None else X[term.is_number(X), j]
    is_part = j != term.main_input
    if graph.name:  # a part of a date
        at_rows = np.stack([np.interp(rows, graph.knots, column) for column in graph.values.T])
        size = float(np.abs(at_rows).max(axis=0).mean()) if len(rows) else float(np.ptp(graph.values, axis=0).max()) / 4
    return NumberGraph(
        name=terms.variables[j],
        column=term.column.name,
        input=terms.encoding.features[j].name,
        label=f"{graph.name} of {term.column.name}" if is_part else term.column.name,
        outputs=terms.outputs,
        unit=terms.graph_unit,
        size=size,
        knots=graph.knots,
        values=graph.values,
        errors=terms.error_values(j),
        missing=None if is_part else terms.gaps(term).get("missing"),
        place=graph.axis.place,
        first_day=graph.axis.first_day,
        cycle=graph.axis.cycle,
        ticks=graph.axis.ticks,
        rows=rows,
    )


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
