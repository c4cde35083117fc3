"""The sum that a model is, in the terms of a reader: one for each column, each plane, and one for all units."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil, exp, expm1, inf, log
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from creases._text import format_change, format_value, plural
from creases._typing import Bools, Floats, Ints
from creases.tables._columns.codec import Codec, Feature, unused_name
from creases.tables._columns.levels import Levels
from creases.tables._encoding.columns import ColumnEncoding
from creases.tables._encoding.encoding import TableEncoding
from creases.tables._stages.families import apply_link, log_odds, probabilities
from creases.tables._stages.model import CurveModel, Plane, add_margins

if TYPE_CHECKING:
    from creases.tables._stages.trades import Effect, Trade  # imports scipy

#: Letters of a short name.
LONGEST = 28

_BRACKETS = re.compile(r"\s*[(\[][^()\[\]]*[)\]]\s*$")

#: Points by which odds double, and the points of one unit of log-odds.
DOUBLING = 10.0
POINTS = DOUBLING / log(2.0)

#: Points beyond which a class is as good as certain or excluded: odds of about a million to one.
DECISIVE = 200.0

#: Factors up to this one, or its inverse, are told in per cent.
FACTOR = 1.5

#: Points that nobody sees: odds change by less than a thousandth.
UNSEEN = 0.01

#: Pairs of options of a plane that are evaluated at once.
PAIRS = 400_000

#: Terms that change the prediction by less than this share of the largest count as constant.
NEGLIGIBLE = 1e-6

_UNIT = re.compile(r"^(.*\S)\s*[(\[][^()\[\]]{1,12}[)\]]\s*$")  # petal length (cm)


_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")


def short_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return names without what they have in brackets, and no longer than a few words, unless two become equal.

    Examples
    --------
    >>> short_names(["Adelie Penguin (Pygoscelis adeliae)", "Gentoo penguin (Pygoscelis papua)"])
    ('Adelie Penguin', 'Gentoo penguin')
    >>> short_names(["a (1)", "a (2)"])
    ('a (1)', 'a (2)')
    """
    for shorten in (lambda name: _BRACKETS.sub("", name)[:LONGEST].strip(), lambda name: name[:LONGEST].strip()):
        short = [shorten(name) for name in names]
        if all(short) and len(set(short)) == len(short):
            return tuple(short)
    return tuple(names)


@dataclass(frozen=True, eq=False)
class ColumnTerm:
    """What one column of the table adds: the curves of all inputs that encode it."""

    column: ColumnEncoding
    features: tuple[Feature, ...]
    inputs: Ints  #: (k,) numbers of these inputs
    name: str  #: what it is called: without its unit, where that tells it from the other columns
    levels: tuple[str, ...]  #: what its inputs are called; of a category ``Ulm``, ``missing``, ``other values``

    @property
    def codec(self) -> Codec:
        """What is known of its kind."""
        return self.column.kind.codec

    @property
    def values(self) -> list[tuple[str, Floats]]:
        """The values of a category or of yes and no, each with its inputs (k,); [] of a number."""
        return self.codec.levels(self.column, self.levels)

    @property
    def main_input(self) -> int:
        """The input that has the order of the column: of a date that of its days."""
        return int(self.inputs[self.codec.main])

    @property
    def numbers(self) -> tuple[tuple[int, Feature], ...]:
        """The inputs that are numbers or parts of a date."""
        pairs = zip(self.inputs.tolist(), self.features, strict=True)
        return tuple((j, feature) for j, feature in pairs if feature.is_numeric)

    @property
    def number_inputs(self) -> list[int]:
        """The numbers of these inputs."""
        return [j for j, _ in self.numbers]

    @property
    def indicator(self) -> int | None:
        """The input that is 1 where the number or date is missing; None if there is none."""
        pairs = zip(self.inputs.tolist(), self.features, strict=True)
        return next((j for j, feature in pairs if feature.is_gap and not feature.is_code), None)

    @property
    def codes(self) -> dict[int, str]:
        """The inputs that are 1 where the number is a code, with its text."""
        pairs = zip(self.inputs.tolist(), self.features, strict=True)
        return {j: feature.level for j, feature in pairs if feature.is_code}

    def gap(self, x: Floats) -> str:
        """Return ``missing``, or the code that the number of an encoded row x (d,) is; "" for another."""
        if self.indicator is not None and x[self.indicator]:
            return "missing"
        return next((text for j, text in self.codes.items() if x[j]), "")

    def is_missing(self, own: Floats) -> bool:
        """Return whether inputs (k,) are of a cell that is missing, a code, or a value that the table did not have."""
        if isinstance(self.codec, Levels):
            return not self.codec.level_of(self.column, own)
        return bool(own[[k for k, feature in enumerate(self.features) if feature.is_gap]].any())

    def is_number(self, X: Floats) -> Bools:
        """Return in which encoded rows X (n, d) the number or date is neither missing nor a code."""
        gaps = [*self.codes, *([] if self.indicator is None else [self.indicator])]
        return np.asarray(~(X[:, gaps] > 0.5).any(axis=1))


@dataclass(frozen=True, eq=False)
class Options:
    """The cells that one column could have; the first is the row's own."""

    term: ColumnTerm
    values: Floats  #: (n, inputs of the column)
    costs: Floats  #: (n,) rising from 0

    def __len__(self) -> int:
        """Return the number of options."""
        return len(self.costs)


@dataclass(frozen=True, eq=False)
class Terms(ABC):
    """A model with the columns, classes and units of its table: what each of its terms adds.

    That is in the units of the target, or with a logarithmic link to its logarithm, so that it
    multiplies the prediction. Of two classes it is in points for the second one, of more classes in points for each,
    above their mean: ten points double the odds.
    """

    most_rows: ClassVar[int]  #: that sizes of effects are means over

    encoding: TableEncoding
    classes: tuple[str, ...] | None
    target: str
    threshold: float

    @property
    @abstractmethod
    def start(self) -> Floats:
        """(m,) The scores of the average row: where all terms are 0."""

    @abstractmethod
    def score_parts(self, X: Floats) -> Floats:
        """Return what each term adds to the start of encoded rows X (n, d), which makes their scores: (n, t, m)."""

    @abstractmethod
    def scores(self, X: Floats) -> Floats:
        """Return the predictions (n, m) in the units of the terms."""

    @abstractmethod
    def gains(self, x: Floats, D: Floats, options: Options, columns: Sequence[Options]) -> Floats:
        """Return by how much each option (n,) of a column brings each part of a goal (n, k) nearer at most."""

    @abstractmethod
    def knots(self, j: int) -> Floats:
        """Return where what input j adds by itself may bend, with the ends of its range."""

    # Of a model whose columns act together in no way that can be told apart, only the columns are known.

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What the terms are called: the columns, then others."""
        return tuple(term.name for term in self.columns)

    @cached_property
    def parts(self) -> tuple[str, ...]:
        """What the terms are called where a model stores them: the table's columns, then others."""
        return tuple(term.column.name for term in self.columns)

    @property
    def spans(self) -> Floats:
        """(columns,) How far each column alone can move the prediction over the range of the rows trained on."""
        return np.zeros(len(self.columns))

    def mixed_columns(self) -> list[bool]:
        """Return for each column whether others act with it."""
        return [True] * len(self.columns)

    @property
    def is_factor(self) -> bool:
        """Whether what terms add are logarithms of factors of the prediction."""
        return False

    @property
    def largest(self) -> float:
        """The largest prediction that there can be."""
        return inf

    @cached_property
    def columns(self) -> tuple[ColumnTerm, ...]:
        """The terms of the columns, in the table's order."""
        places: dict[str, list[int]] = {}
        for j, feature in enumerate(self.encoding.features):
            places.setdefault(feature.column, []).append(j)
        by_name = {column.name: column for column in self.encoding.inputs}
        plain = Counter(map(plain_name, places))
        names = [name if isinstance(name, str) else name[1] for name in self.encoding.input_names]
        return tuple(
            ColumnTerm(
                by_name[name],
                tuple(self.encoding.features[j] for j in inputs),
                np.array(inputs),
                short if plain[short := plain_name(name)] == 1 else name,
                tuple(names[j] for j in inputs),
            )
            for name, inputs in places.items()
        )

    def predictions(self, scores: Floats) -> Floats:
        """Return what scores (..., m), in the units of the terms, stand for: values; points stay points."""
        return apply_link(scores, "log", self.largest) if self.is_factor else scores

    def amount_text(self, value: float) -> str:
        """Return what is added with its sign, or the factor that it stands for: ``+12 %``, ``x 1.8``."""
        return factor_text(value) if self.is_factor else format_change(value)

    @property
    def graph_unit(self) -> str:
        """What the values of a graph are measured in; "" where it is the target, whose unit is not known.

        Of factors it is their logarithm, with what a step of it is.
        """
        return f"log {self.target}".rstrip() + " (0.1 is x 1.11)" if self.is_factor else self.unit.strip()

    @property
    def is_binary(self) -> bool:
        """Whether the model decides between two classes."""
        return self.classes is not None and len(self.classes) == 2

    @property
    def threshold_points(self) -> float:
        """The points above which the second of two classes is predicted."""
        return POINTS * log_odds(self.threshold)

    def predicted_class(self, chances: Floats) -> int:
        """Return the number of the class that is predicted with probabilities (n_classes,)."""
        return int(chances[1] > self.threshold) if self.is_binary else int(chances.argmax())

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the classes, shortened where they are long; numbers with the target: ``survived=1``."""
        return class_labels(self.classes or (), self.target)

    @property
    def outputs(self) -> tuple[str, ...]:
        """(m,) What the terms are for: the target, the second of two classes, or each of more."""
        if self.classes is not None:
            return self.labels[1:] if self.is_binary else self.labels
        m = len(self.start)
        return (self.target,) if m == 1 else tuple(f"{self.target} {k + 1}" for k in range(m))

    @property
    def unit(self) -> str:
        """What the terms are measured in, with a space before it; "" where it is not known."""
        if self.classes is not None:
            return " points"
        return "" if self.is_factor else self.target_unit

    @property
    def target_unit(self) -> str:
        """The unit of the target, with a space before it; "" where it is not known."""
        unit = next((c.kind.unit for c in self.encoding.columns if c.use == "target"), "")
        return f" {unit}" if unit else ""

    @property
    def scale(self) -> float:
        """What one unit of the model's scores is in the units of the terms."""
        return 1.0 if self.classes is None else POINTS

    @property
    def unseen(self) -> float:
        """What a column must change at least to be mentioned."""
        return 0.0 if self.classes is None else UNSEEN

    @cached_property
    def intercept(self) -> Floats:
        """(m,) The prediction for the average row: where all terms are 0."""
        return self.to_points(self.start)

    def to_points(self, scores: Floats) -> Floats:
        """Return scores (..., m) in the units of the terms."""
        if self.classes is None:
            return scores
        return POINTS * (scores if self.is_binary else scores - scores.mean(axis=-1, keepdims=True))

    def contributions(self, X: Floats) -> Floats:
        """Return what each term adds at encoded rows X (n, d): (n, t, m), in their units."""
        return self.to_points(self.score_parts(X))

    def change_text(self, value: float) -> str:
        """Return what is added with its sign; of points no more than odds of a million to one."""
        if self.classes is not None and abs(value) > DECISIVE:
            return f"{'under -' if value < 0 else 'over +'}{DECISIVE:.0f}"
        return "0" if self.classes is not None and abs(value) < UNSEEN else self.amount_text(value)


@dataclass(frozen=True, eq=False)
class CurveTerms(Terms):
    """The terms of a model of curves: one for each column, one for each plane, and one for all units."""

    most_rows: ClassVar[int] = 20_000

    model: CurveModel

    @cached_property
    def term_of(self) -> tuple[ColumnTerm, ...]:
        """(d,) The column of each input."""
        owners = {j: term for term in self.columns for j in term.inputs.tolist()}
        return tuple(owners[j] for j in range(len(owners)))

    @cached_property
    def variables(self) -> tuple[str, ...]:
        """(d,) What each input is of, as planes and units read it, each variable with a name of its own.

        That is its column, or ``month of sold``, ``distance is missing``, ``income is -999``.
        """
        used, names = {term.name for term in self.columns}, []
        for feature, term in zip(self.encoding.features, self.term_of, strict=True):
            name = term.name
            if feature.is_gap:
                name = f"{name} is {feature.level or 'missing'}"
            elif feature.variable != feature.column:
                name = f"{feature.part} of {name}"
            names.append(name if name == term.name else unused_name(name, used))
            used.add(names[-1])
        return tuple(names)

    @property
    def pairs(self) -> list[str]:
        """What the planes are of: ``hour and workday``."""
        return [" and ".join(self.variables[inputs[0]] for inputs in plane.inputs) for plane in self.model.planes]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What the terms are called: columns, planes, units."""
        units = self.model.units
        more = [f"{plural(len(units.biases), 'unit')} of several columns"] if units else []
        return (*super().names, *(f"{pair} together" for pair in self.pairs), *more)

    @cached_property
    def parts(self) -> tuple[str, ...]:
        """What the terms are called where a model stores them: the table's columns, planes and units."""
        names, features = [*super().parts], self.encoding.features
        pairs = [" and ".join(features[inputs[0]].variable for inputs in each.inputs) for each in self.model.planes]
        for name in [*pairs, *(["units"] if self.model.units else [])]:
            names.append(unused_name(name, names))  # a column may have this name
        return tuple(names)

    @property
    def is_factor(self) -> bool:
        """Whether what terms add are logarithms of factors of the prediction."""
        return self.model.link == "log"

    @property
    def largest(self) -> float:
        """The largest prediction, under a logarithmic link."""
        return self.model.largest

    @property
    def start(self) -> Floats:
        """(m,) The scores of the average row: where all terms are 0."""
        return self.model.intercept

    def score_parts(self, X: Floats) -> Floats:
        """Return what each term adds to the start of encoded rows X (n, d), which makes their scores: (n, t, m)."""
        parts = self.model.parts(X)
        columns = [np.sum([parts[j] for j in term.inputs], axis=0) for term in self.columns]
        return np.stack([*columns, *parts[len(self.encoding.features) :]], axis=1)

    def scores(self, X: Floats) -> Floats:
        """Return the predictions (n, m) in the units of the terms."""
        return self.to_points(self.model.scores(X))

    def mixed_columns(self) -> list[bool]:
        """Return for each column whether planes or units read it."""
        units = self.model.units
        used = np.zeros(len(self.encoding.features), bool) if units is None else np.any(units.weights != 0, axis=0)
        used[[j for plane in self.model.planes for inputs in plane.inputs for j in inputs]] = True
        return [bool(used[term.inputs].any()) for term in self.columns]

    def gains(self, x: Floats, D: Floats, options: Options, columns: Sequence[Options]) -> Floats:
        """Return by how much each option (n,) of a column brings each part of a goal (n, k) nearer at most."""
        inputs = options.term.inputs
        parts = [self.model.curves[j](options.values[:, k]) for k, j in enumerate(inputs)]
        total = self.to_points(np.sum(parts, axis=0)) @ D.T
        gains = np.asarray(total - total[0])
        by_input = {j: other for other in columns for j in other.term.inputs.tolist()}
        for plane in self.model.planes:
            first, second = (by_input[numbers[0]] for numbers in plane.inputs)
            if options.term in (first.term, second.term):
                gains = gains + self._plane_gains(x, D, plane, options, second if options is first else first, first)
        if self.model.units is not None:
            gains = gains + self._unit_gains(x, D, options)
        return gains

    def _plane_gains(
        self, x: Floats, D: Floats, plane: Plane, options: Options, other: Options, first: Options
    ) -> Floats:
        """Return what a plane adds at most with each option of one of its columns.

        The change of both is the first's, with the row's own second cell, and then the second's, with the new first.
        """
        if options is first:
            rows = np.repeat(x[None], len(options), axis=0)
            rows[:, options.term.inputs] = options.values
            values = self.to_points(plane(rows)) @ D.T
            return np.asarray(values - values[0])
        result = np.full((len(options), len(D)), -np.inf)
        size = max(1, PAIRS // len(options))
        for start in range(0, len(other), size):
            part = other.values[start : start + size]
            rows = np.repeat(x[None], len(options) * len(part), axis=0)
            rows[:, options.term.inputs] = np.repeat(options.values, len(part), axis=0)
            rows[:, other.term.inputs] = np.tile(part, (len(options), 1))
            values = (self.to_points(plane(rows)) @ D.T).reshape(len(options), len(part), -1)
            result = np.maximum(result, (values - values[:1]).max(axis=1))
        return result

    def _unit_gains(self, x: Floats, D: Floats, options: Options) -> Floats:
        """Return what units add at most: a unit changes by no more than its input, if in the right direction.

        What is taken out of them by columns is known exactly.
        """
        units = self.model.units
        assert units is not None
        rows = np.repeat(x[None], len(options), axis=0)
        rows[:, options.term.inputs] = options.values
        spread = units.spread(rows)
        moved = (spread - spread[0]) @ units.weights.T  # (n, h): of this column alone
        effect = self.to_points(units.outputs) @ D.T  # (h, k)
        margins = add_margins(np.zeros((len(rows), units.outputs.shape[1])), units.margins, rows)
        known = self.to_points(margins - margins[0]) @ D.T
        return np.asarray(
            known + np.maximum(moved, 0) @ np.maximum(effect, 0) + np.minimum(moved, 0) @ np.minimum(effect, 0)
        )

    @cached_property
    def spans(self) -> Floats:
        """(columns,) How far each column can move the prediction over the range of the rows trained on."""
        spans = []
        for term in self.columns:
            parts = [self.curve_values(j)[1] for j in term.inputs.tolist()]
            if term.codec.has_levels:
                parts = [np.stack([self.at(term, {j: 1.0}) for j in term.inputs.tolist()])]
            spans.append(float(sum(np.ptp(values, axis=0).max() for values in parts)))
        return np.array(spans)

    def curve_values(self, j: int) -> tuple[Floats, Floats]:
        """Return knots (k,) and values (k, m) of the curve of input j, in the units of the terms."""
        curve = self.model.curves[j]
        return curve.knots, self.to_points(curve.values)

    def knots(self, j: int) -> Floats:
        """Return the knots of the curve of input j."""
        return self.model.curves[j].knots

    def error_values(self, j: int) -> Floats:
        """Return the standard errors (k, m) of the curve of input j at its knots, in the units of the terms."""
        errors = self.model.curves[j].errors
        return errors if self.classes is None else POINTS * errors

    def at(self, term: ColumnTerm, values: Mapping[int, float]) -> Floats:
        """Return what a column adds (m,) with values by input; the other inputs of the column are 0."""
        parts = [self.model.curves[j](np.array([values.get(j, 0.0)]))[0] for j in term.inputs.tolist()]
        return self.to_points(np.sum(parts, axis=0))

    def gaps(self, term: ColumnTerm) -> dict[str, Floats]:
        """Return what a column of numbers or dates adds (m,) where it is ``missing``, if it was, and at each code."""
        means = dict(zip(term.number_inputs or term.inputs[:1].tolist(), term.column.means, strict=False))
        indicators = {} if term.indicator is None else {"missing": term.indicator}
        indicators |= {text: j for j, text in term.codes.items()}
        return {text: self.at(term, means | {j: 1.0}) for text, j in indicators.items()}


def factor_text(value: float, least: float = FACTOR) -> str:
    """Return the factor that adding to a logarithm is: in per cent up to the least one that is written as such."""
    if abs(value) < log(least):
        return f"{format_change(100 * expm1(value))} %"
    return f"x {format_value(exp(min(value, 700.0)), 2)}"


def class_labels(classes: Sequence[str], target: str) -> tuple[str, ...]:
    """Return what classes are called in sentences: their names, shortened; numbers with the target."""
    is_number = bool(classes and target) and all(_NUMBER.fullmatch(name) for name in classes)
    return short_names([f"{target}={name}" for name in classes] if is_number else classes)


def plain_name(name: str) -> str:
    """Return a column's name without the unit in it: ``petal length`` of ``petal length (cm)``."""
    match = _UNIT.match(name)
    return match[1] if match else name


# From points to probabilities, and the share of each term in a change of probability.


#: Nodes of the quadrature in each piece of a path, and the change of a score in a piece at most.
NODES, PIECE = 12, 2.0


def probability(terms: Terms, points: Floats) -> Floats:
    """Return the probabilities (n, classes) of predictions (n, m) in points."""
    scores = points / POINTS
    if terms.is_binary:
        scores = np.concatenate([np.zeros_like(scores), scores], axis=1)
    return probabilities(scores)


def share_probability(terms: Terms, parts: Floats, k: int) -> Floats:
    """Return how much of a row's probability of class k is due to each of its terms (t, m) in points: (t,).

    All terms grow together from 0 to their values, and each change of the probability on the way is the sum of the
    terms' own (Aumann and Shapley 1974). So the shares add up to the probability minus that of the average row. Of two
    classes they are in proportion to the points.
    """
    start, step = terms.intercept / POINTS, parts.sum(axis=0) / POINTS
    if terms.is_binary:
        start, step = np.array([0.0, start[0]]), np.array([0.0, step[0]])
        parts = np.concatenate([np.zeros_like(parts), parts], axis=1)
    n = max(1, ceil(float(np.ptp(step)) / PIECE))
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    t = ((np.arange(n)[:, None] + (nodes + 1) / 2) / n).reshape(-1)
    p = probabilities(start + t[:, None] * step)
    slopes = p[:, k, None] * ((np.arange(p.shape[1]) == k) - p)  # of the probability by each score
    gradient = np.tile(weights, n) / (2 * n) @ slopes
    return np.asarray(parts @ gradient / POINTS)


# Columns that can trade their effects.

#: Pairs of them that are named.
TRADES = 3


def describe_trades(terms: CurveTerms, trades: Sequence[Trade]) -> list[str]:
    """Return which columns can trade their effects, with the range of each, in words."""
    texts = []
    for trade in trades[:TRADES]:
        first, second = (_effect_text(terms, effect) for effect in trade.effects)
        class_ = f" on {terms.outputs[trade.score]}" if len(terms.outputs) > 1 else ""
        texts.append(
            f"{first[0]} and {second[0]} can trade their effects{class_} at nearly the same loss, so read them "
            f"together: {first[1]}; {second[1]}"
        )
    if more := len(trades) - TRADES:
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
