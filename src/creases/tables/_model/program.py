"""A model of a table as steps of plain arithmetic on its columns, from which other languages are written.

Columns of numbers are numbers, those of words text, those of dates text such as ``2021-03-05 14:30:00``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from math import isfinite, log
from typing import Any

import numpy as np

from creases._typing import Floats
from creases.tables._encoding.columns import ColumnEncoding
from creases.tables._encoding.encoding import TableEncoding
from creases.tables._model.schema import RowFunction
from creases.tables._reading.numbers import IntervalFormat
from creases.tables._reading.scales import ScaleFormat
from creases.tables._stages.families import log_odds

#: Fields of a date with the place of their digits in its text.
FIELDS = {"year": (1, 4), "month": (6, 2), "day": (9, 2), "hour": (12, 2), "minute": (15, 2), "second": (18, 2)}


@dataclass(frozen=True)
class Number:
    """A number, or one from a column: what is missing is another one."""

    column: str
    missing: float


@dataclass(frozen=True)
class Missing:
    """1 where a column is missing, else 0. A text that is not among the known ones may count as missing."""

    column: str
    known: tuple[str, ...] | None = None
    is_date: bool = False


@dataclass(frozen=True)
class Field:
    """A field of a date; a number where the date is missing or has no time."""

    column: str
    part: str
    missing: float


@dataclass(frozen=True)
class Choose:
    """A number for each text of a column, and one for all others and one for what is missing."""

    column: str
    values: Mapping[str, float]
    other: float
    missing: float
    ignores_case: bool = False


@dataclass(frozen=True)
class Name:
    """The value of an earlier step."""

    name: str


@dataclass(frozen=True)
class Operation:
    """``a op b`` with op among ``+ - * / % < = and or max min``; comparisons are conditions of :class:`If`."""

    op: str
    a: Any
    b: Any


@dataclass(frozen=True)
class If:
    """One of two values by a condition."""

    condition: Any
    yes: Any
    no: Any


@dataclass(frozen=True)
class Exp:
    """The exponential of a value."""

    value: Any


@dataclass(frozen=True, eq=False)
class Interpolate:
    """A piecewise-linear function of a step: straight between knots, constant outside, or open at the end."""

    of: Name
    knots: Floats  #: (k,)
    values: Floats  #: (k,)
    is_open: bool


@dataclass(frozen=True, eq=False)
class Dot:
    """A sum of steps times weights, and a constant; with ``is_positive`` 0 where it is negative."""

    names: tuple[str, ...]
    weights: Floats
    constant: float
    is_positive: bool = False


@dataclass(frozen=True)
class Word:
    """The label of a class: a text, a number or a truth value."""

    label: Any


@dataclass(frozen=True, eq=False)
class Program:
    """Steps in stages: each reads columns and steps of earlier stages."""

    columns: Mapping[str, str]  #: what the columns are, in words
    stages: tuple[Mapping[str, Any], ...]
    numbers: tuple[str, ...]  #: steps of the last stages that are predicted values or probabilities
    decision: str | None  #: the step that is the predicted class; None for values
    target: str


def make_program(model: RowFunction) -> Program:
    """Return the steps of a model."""
    encoding = model.schema.encoder
    encoded: dict[str, Any] = {}
    dates: dict[str, Any] = {}
    for column in encoding.inputs:
        if column.kind.date is not None:
            dates |= _date_fields(column)
        encoded |= _encode(column, encoding)
    names = tuple(f"x{j}" for j in range(len(model.schema.features)))
    hidden, scores = _curve_stages(model, names) if hasattr(model, "curves") else _layer_stages(model, names)
    read = _read_names([*hidden, scores])
    encoded = {name: node for name, node in encoded.items() if name in read}
    stages = [dates, encoded, *hidden, scores, *_decide(model, tuple(scores))]
    kept = tuple(stage for stage in stages if stage)
    numbers = tuple(name for stage in kept for name in stage if name.startswith(("predicted ", "probability ")))
    decision = "decision" if model.classes is not None else None
    about = {column.name: describe_cells(column) for column in encoding.inputs}
    return Program(about, kept, numbers, decision, model.schema.target or "class")


def describe_cells(column: ColumnEncoding) -> str:
    """Say what the cells of a column are."""
    kind = column.kind
    if column.is_category:
        return "text"
    if kind.date is not None:
        return "a date, YYYY-MM-DD with or without a time HH:MM:SS"
    if label_numbers(column):
        return "text"
    return f"a number{f' in {kind.unit}' if kind.unit else ''}"


def label_numbers(column: ColumnEncoding) -> dict[str, float]:
    """Return the numbers of texts that a column has in place of numbers: yes and no, words in an order, intervals."""
    notation = column.kind.notation
    if isinstance(notation, ScaleFormat):
        return {word: float(k) for k, words in enumerate(notation.levels) for word in words}
    if isinstance(notation, IntervalFormat) and notation.labels:
        return dict(zip(notation.labels, notation.parse(notation.labels).tolist(), strict=True))
    return {word: float(k) for k, word in enumerate(column.kind.words or ())}


def _encode(column: ColumnEncoding, encoding: TableEncoding) -> dict[str, Any]:
    """Return the inputs that encode a column, by the names of their steps."""
    inputs = [j for j, feature in enumerate(encoding.features) if feature.column == column.name]
    name, is_indicated = column.name, bool(column.n_missing) and encoding.missing == "indicate"
    if column.is_category:
        place = column.places(encoding.missing)
        steps: dict[str, Any] = {}
        for k, j in enumerate(inputs):
            values = {text: float(own == k) for text, own in place.items() if text}
            steps[f"x{j}"] = Choose(name, values, 0.0, float(place.get("") == k))
        return steps
    labels = {word.lower(): value for word, value in label_numbers(column).items()}
    if column.kind.date is not None:
        nodes = [date_number(column, part, k) for k, part in enumerate(column.kind.date.parts)]
    elif labels:
        nodes = [Choose(name, labels, column.means[0], column.means[0], ignores_case=True)]
    else:
        nodes = [_number_beside_codes(column)]
    if is_indicated:
        nodes.append(Missing(name, tuple(labels) or None, column.kind.date is not None))
    nodes += [_is_code(column, code) for code in column.kind.codes]
    return {f"x{j}": node for j, node in zip(inputs, nodes, strict=True)}


def _number_beside_codes(column: ColumnEncoding) -> Any:
    """Return the number of a column; the mean in place of a special code."""
    node: Any = Number(column.name, column.means[0])
    for code in column.kind.codes:
        node = If(Operation("=", Number(column.name, column.means[0]), code), column.means[0], node)
    return node


def _is_code(column: ColumnEncoding, code: float) -> Any:
    """Return 1 where a column has a special code, else 0; the mean, which stands for what is missing, may equal it."""
    is_equal = If(Operation("=", Number(column.name, column.means[0]), code), 1, 0)
    return If(Operation("=", Missing(column.name), 1), 0, is_equal)


# -- dates ------------------------------------------------------------------------------------------------------------


def _date_fields(column: ColumnEncoding) -> dict[str, Any]:
    """Return the fields of a date; those of a missing one are of the first day."""
    assert column.kind.date is not None
    first = date.fromisoformat(column.kind.date.first)
    start = {"year": first.year, "month": first.month, "day": first.day}
    return {f"{column.name} {part}": Field(column.name, part, float(start.get(part, 0))) for part in FIELDS}


def date_number(column: ColumnEncoding, part: str, k: int) -> Any:
    """Return a number of a date as the encoding computes it; the mean where the date is missing."""
    assert column.kind.date is not None
    year, month, day, hour, minute, second = (Name(f"{column.name} {field}") for field in FIELDS)
    leap = If(
        Operation(
            "and",
            Operation("=", Operation("%", year, 4), 0),
            Operation("or", Operation("<", 0, Operation("%", year, 100)), Operation("=", Operation("%", year, 400), 0)),
        ),
        1,
        0,
    )

    def before(number: Any) -> Any:
        """Return the days before a month of the year; month 13 begins the next year."""
        whole = _quotient(Operation("-", Operation("*", number, 367), 362), 12)  # with a February of 30 days
        return _add(whole, If(Operation("<", number, 3), 0, Operation("-", leap, 2)))

    past = Operation("-", year, 1)
    days = _add(
        Operation("*", past, 365),
        *(Operation("*", sign, _quotient(past, by)) for sign, by in ((1, 4), (-1, 100), (1, 400))),
        before(month),
        day,
    )  # days since the last day of the year 0
    clock = _add(hour, Operation("/", minute, 60), Operation("/", second, 3600))
    first = date.fromisoformat(column.kind.date.first).toordinal()
    length = Operation("-", before(Operation("+", month, 1)), before(month))
    passed = Operation("/", _add(Operation("-", day, 1), Operation("/", clock, 24)), length)
    numbers = {
        "year": year,
        "month": month if column.kind.date.whole_months else _add(month, passed),
        "weekday": Operation("%", _add(days, 6), 7),
        "hour": clock,
        "days": _add(Operation("-", days, first), Operation("/", clock, 24)),
    }
    gone = Missing(column.name, None, is_date=True)
    return If(Operation("=", gone, 1), column.means[k], numbers[part])


def _quotient(value: Any, by: int) -> Any:
    return Operation("/", Operation("-", value, Operation("%", value, by)), by)


def _add(*nodes: Any) -> Any:
    total = nodes[0]
    for node in nodes[1:]:
        total = Operation("+", total, node)
    return total


# -- scores -----------------------------------------------------------------------------------------------------------


def _curve_stages(model: Any, inputs: Sequence[str]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return the curves, with the network of planes and units beside them, and the scores."""
    from creases.tables._stages.model import to_layers

    function = model.function
    m = len(function.intercept)
    steps: dict[str, Any] = {}
    hidden: list[dict[str, Any]] = []
    terms: list[dict[str, float]] = [{} for _ in range(m)]
    constant = function.intercept.astype(np.float64).copy()
    for j, curve in enumerate(function.curves.values()):
        for k in range(m):
            values = curve.values[:, k]
            if not np.ptp(values):
                constant[k] += values[0]
                continue
            steps[f"curve{j}_{k}"] = Interpolate(Name(inputs[j]), curve.knots, values, not curve.is_number)
            terms[k][f"curve{j}_{k}"] = 1.0
    if function.planes or function.units is not None:
        flat = {
            name: replace(curve, values=0 * curve.values, errors=0 * curve.errors)
            for name, curve in function.curves.items()
        }
        rest = replace(function, n_classes=0, intercept=np.zeros(m), curves=flat)
        hidden, last = _network_steps(to_layers(rest), inputs)
        steps |= hidden.pop(0)
        for k, node in enumerate(last):
            terms[k] |= dict(zip(node.names, node.weights.tolist(), strict=True))
            constant[k] += node.constant
    scores = {
        f"score{k}": Dot(tuple(terms[k]), np.array(list(terms[k].values())), float(constant[k])) for k in range(m)
    }
    return [steps, *hidden], scores


def _layer_stages(model: RowFunction, inputs: Sequence[str]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    hidden, last = _network_steps(model._layers(), inputs)
    if model.classes is not None and len(last) == 2:
        node, other = last[1], last[0]
        joined = dict(zip(node.names, node.weights.tolist(), strict=True))
        for name, weight in zip(other.names, other.weights.tolist(), strict=True):
            joined[name] = joined.get(name, 0.0) - weight
        last = [Dot(tuple(joined), np.array(list(joined.values())), node.constant - other.constant)]
    return hidden, {f"score{k}": node for k, node in enumerate(last)}


def _network_steps(
    layers: Sequence[tuple[Floats, Floats]], inputs: Sequence[str]
) -> tuple[list[dict[str, Any]], list[Dot]]:
    """Return the units of a network as steps, a stage for each layer, and its outputs."""
    names, stages = list(inputs), []
    for depth, (weight, bias) in enumerate(layers):
        is_last = depth == len(layers) - 1
        nodes = []
        for row, constant in zip(weight, bias, strict=True):
            used = np.flatnonzero(row)
            nodes.append(Dot(tuple(names[j] for j in used), row[used], float(constant), not is_last))
        if not is_last:
            names = [f"unit{depth}_{k}" for k in range(len(nodes))]
            stages.append(dict(zip(names, nodes, strict=True)))
    return stages, nodes


def _decide(model: RowFunction, scores: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return the stages that make predictions of scores."""
    if model.classes is None:
        pairs = zip(model.schema.targets, scores, strict=True)
        return [{f"predicted {name}": _apply_link(Name(score), model._largest) for name, score in pairs}]
    words = model.schema.label_values.tolist()
    if len(words) == 2:
        score = Name(scores[0])
        sign = If(Operation("<", score, 0), Operation("-", 0, score), score)  # exp of a negative number cannot overflow
        power = {"power": Exp(Operation("-", 0, sign))}
        small = Operation("/", Name("power"), Operation("+", 1, Name("power")))
        large = Operation("/", 1, Operation("+", 1, Name("power")))
        first, second = (f"probability {name}" for name in model.classes)
        binary: dict[str, Any] = {
            first: If(Operation("<", score, 0), large, small),
            second: If(Operation("<", score, 0), small, large),
        }
        above = Operation("<", float(log_odds(model.schema.threshold)) if model.schema.threshold != 0.5 else 0.0, score)
        return [power, binary, {"decision": If(above, Word(words[1]), Word(words[0]))}]
    largest: Any = Name(scores[0])
    for name in scores[1:]:
        largest = Operation("max", largest, Name(name))
    powers = {f"power{k}": Exp(Operation("-", Name(name), Name("largest"))) for k, name in enumerate(scores)}
    total = {"total": _add(*(Name(name) for name in powers))}
    chances = {
        f"probability {name}": Operation("/", Name(f"power{k}"), Name("total")) for k, name in enumerate(model.classes)
    }
    decision: Any = Word(words[-1])
    for k in range(len(words) - 2, -1, -1):  # the first of the largest
        decision = If(Operation("=", Name(scores[k]), Name("largest")), Word(words[k]), decision)
    return [{"largest": largest}, powers, total, chances, {"decision": decision}]


def _apply_link(score: Any, largest: float | None) -> Any:
    """Return what a score stands for: with a logarithmic link its exponential, up to the largest prediction."""
    if largest is None:
        return score
    return Exp(score if not isfinite(largest) else Operation("min", score, log(largest)))


def _read_names(stages: Sequence[Mapping[str, Any]]) -> set[str]:
    """Return the steps that others read."""
    names: set[str] = set()
    for stage in stages:
        for node in stage.values():
            names |= {node.of.name} if isinstance(node, Interpolate) else set(getattr(node, "names", ()))
    return names
