"""What two columns add together, as a picture needs it: a map of two numbers, a curve for each value, or a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from creases._typing import Floats, Ints
from creases.tables._stages.parts import Curve
from creases.tables._words.axes import feature_axis
from creases.tables._words.terms import ColumnTerm, Terms, date_part, part_name

if TYPE_CHECKING:
    from creases.network import Network
    from creases.tables._stages.parts import Plane


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


@dataclass(frozen=True, eq=False)
class PairGraph:
    """What two columns add together beyond what each adds alone."""

    name: str
    outputs: tuple[str, ...]
    unit: str
    size: float
    first: Side
    second: Side
    rows: Floats  #: (n, 2) numbers of the two columns in the rows, or numbers of levels
    _terms: Terms = field(repr=False)
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

    def network(self, output: int = 0) -> Network:
        """Return one output of the plane of two numbers, in the units of its values, as a network of all inputs."""
        from creases.tables._stages.module import to_module  # imports torch

        parts = self._terms.to_points(np.eye(len(self.outputs)))[:, output] if len(self.outputs) > 1 else None
        weights = self._terms.to_points(np.ones(1)) if parts is None else parts
        plane, mix = self._plane, np.atleast_2d(weights).reshape(-1, 1)
        margins = {j: replace(each, values=each.values @ mix) for j, each in plane.margins.items()}
        alone = replace(plane, weights=plane.weights @ mix, constant=plane.constant @ mix, margins=margins)
        flat = {name: _flat(curve) for name, curve in self._terms.model.curves.items()}
        model = replace(self._terms.model, n_classes=0, intercept=np.zeros(1), curves=flat, planes=(alone,), units=None)
        from creases.network import read

        return read(to_module(model))


def pair_graph(terms: Terms, k: int, size: float, X: Floats | None) -> PairGraph:
    """Return the graph of plane k."""
    plane = terms.model.planes[k]
    sides = [_side(terms, plane, features) for features in plane.features]
    rows = np.zeros((0, 2)) if X is None else np.stack([_row_values(side, X) for side in sides], axis=1)
    name = terms.plane_name(k).removesuffix(" together")
    return PairGraph(name, terms.outputs, terms.unit.strip(), size, sides[0], sides[1], rows, terms, plane)


def _side(terms: Terms, plane: Plane, names: tuple[str, ...]) -> Side:
    by_name = {feature.name: j for j, feature in enumerate(terms.encoding.features)}
    inputs = np.array([by_name[name] for name in names])
    feature = terms.encoding.features[int(inputs[0])]
    term = next(term for term in terms.columns if term.column.name == feature.column)
    name = part_name(feature, terms)
    if not feature.is_numeric:
        return Side(name, inputs, _levels(term, inputs), np.zeros(0), str)
    knots = _knots(plane, int(inputs[0]))
    date, axis = term.column.kind.date, feature_axis(feature, terms.encoding, knots)
    first = date.first if date is not None and date_part(feature, terms.encoding) == "days" else ""
    return Side(name, inputs, (), knots, axis.place, first, axis.cycle, axis.ticks)


def _levels(term: ColumnTerm, inputs: Ints) -> tuple[str, ...]:
    if len(inputs) == 1 and not term.column.is_category:
        return term.column.kind.words or ("0", "1")
    by_input = dict(zip(term.inputs.tolist(), term.features, strict=True))
    if len(inputs) == 1:
        name = term.level_name(by_input[int(inputs[0])])
        return f"not {name}", name
    return tuple(term.level_name(by_input[j]) for j in inputs.tolist())


def _knots(plane: Plane, j: int) -> Floats:
    """Return where a plane can bend along input j alone: its knots, those of the margin, and hinges with levels."""
    hinges = plane.hinges
    knots = hinges.knots[j]
    places = [knots, plane.margins[j].knots] if j in plane.margins else [knots]
    if any(variable.kind != "number" for variable in hinges.variables):  # the other is a level, 0 or 1
        for first, second, (a, b, c) in zip(hinges.first, hinges.second, hinges.weights, strict=True):
            u = -(b + c) / a if first == j else -(a + c) / b if second == j else np.nan
            if 0 < u < 1:
                places.append(np.interp([u], np.linspace(0, 1, len(knots)), knots))
    every = np.unique(np.concatenate(places))
    return np.asarray(every[(every >= knots[0]) & (every <= knots[-1])])


def _row_values(side: Side, X: Floats) -> Floats:
    values = X[:, side.inputs]
    return np.asarray(values.argmax(axis=1) if values.shape[1] > 1 else values[:, 0], np.float64)


def _flat(curve: Curve) -> Curve:
    ends = curve.knots[[0, -1]]
    return replace(curve, knots=ends, values=np.zeros((2, 1)), errors=np.zeros((2, 1)))
