"""Units that grew, in words: where each bends, and which rows it was grown for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from creases._text import format_value, plural
from creases._typing import Floats
from creases.tables._encoding.encoding import Feature
from creases.tables._stages.parts import Reason, Units
from creases.tables._words.terms import Terms, part_name

#: Inputs of a crease that are named, and digits of their numbers.
NAMED, DIGITS = 4, 2

#: Share of the largest part of a crease that the input with the coefficient 1 has at least.
LEADING = 0.5


def unit_texts(terms: Terms) -> list[str]:
    """Return a line for each unit that grew, with its crease and the rows that it was grown for.

    ``unit 3: rises above a + b = 1.4; grown because 212 rows like row 871 (at 1.9) were predicted 0.6 too low``
    """
    units = terms.model.units
    lines = []
    for k, reason in enumerate(() if units is None else units.reasons):
        assert units is not None
        crease, there = _crease_text(terms, units, k)
        lines.append(f"unit {k + 1}: {crease}; grown because {_reason_text(terms, reason, there)}")
    return lines


@dataclass(frozen=True, eq=False)
class _Crease:
    """The crease of a unit in the units of its columns: where a sum of them has a value."""

    inputs: list[int]  #: those with the largest parts, in the order of the table
    coefficients: list[float]  #: rounded; one of them is 1
    more: int  #: inputs with smaller parts
    value: float
    scale: float  #: the input of the unit's relu is this times what the sum is above the value

    @classmethod
    def from_unit(cls, weights: Floats, bias: float, knots: tuple[Floats, ...]) -> _Crease:
        """Return the crease of ``relu(u @ weights + bias)``, where u are inputs spread over [0, 1] between two knots.

        Coefficients are rounded and smaller parts left out; the value makes up for it in the middle of the range of
        each number, so that the sum is right there.
        """
        spans = np.array([np.ptp(each) if len(each) > 1 else 1.0 for each in knots])
        middles = np.array([each.mean() if len(each) > 1 else 0.0 for each in knots])
        slopes, starts = weights / spans, np.array([each[0] for each in knots])
        size = np.abs(weights)
        inputs = np.sort(np.argsort(-size, kind="stable")[: min(NAMED, np.count_nonzero(weights))])
        lead = inputs[size[inputs] >= LEADING * size.max()][0]
        scale = float(slopes[lead])
        rounded = np.array([float(f"{each:.{DIGITS}g}") for each in slopes[inputs] / scale])
        value = (slopes @ (starts - middles) - bias) / scale + rounded @ middles[inputs]
        return cls(inputs.tolist(), rounded.tolist(), int(np.count_nonzero(weights)) - len(inputs), value, scale)


def _crease_text(terms: Terms, units: Units, k: int) -> tuple[str, str]:
    """Return where a unit bends and what it does there, ``rises above a + 0.5 b = 1.4``, and the sum at its row."""
    crease = _Crease.from_unit(units.weights[k], float(units.biases[k]), units.knots)
    effects = terms.to_points(units.outputs)[k]
    output = int(np.abs(effects).argmax())
    what = "rises" if effects[output] > 0 else "falls"
    if terms.classes is not None or len(effects) > 1:
        what += f" for {terms.outputs[output]}"
    parts = [
        f"{'-' if coefficient < 0 else '+'} {_part_text(terms, terms.encoding.features[j], abs(coefficient))}"
        for j, coefficient in zip(crease.inputs, crease.coefficients, strict=True)
    ]
    parts += [f"+ {plural(crease.more, 'smaller part')}"] if crease.more else []
    parts[0] = parts[0].removeprefix("+ ") if parts[0][0] == "+" else f"-{parts[0][2:]}"
    values = [crease.value, crease.value + units.reasons[k].side / crease.scale]
    at, there = (format_value(each, _digits(*values)) for each in values)
    where = "above" if crease.scale > 0 else "below"
    return f"{what} {where} {' '.join(parts)} = {at}", there


def _digits(first: float, second: float) -> int:
    """Return how many digits tell two numbers apart, at least three."""
    gap = abs(first - second)
    largest = max(abs(first), abs(second))
    return 3 if not gap else int(np.clip(np.ceil(np.log10(largest / gap)) + 1, 3, 9))


def _part_text(terms: Terms, feature: Feature, coefficient: float) -> str:
    """Return what an input adds to the sum of a crease: ``0.5 age``, ``(12 if town is Ulm)``."""
    size = format_value(coefficient, DIGITS)
    if feature.is_numeric:
        name = part_name(feature, terms)
        return name if size == "1" else f"{size} {name}"
    term = next(term for term in terms.columns if term.column.name == feature.column)
    if feature.kind == "category":
        level = term.level_name(feature)
    else:
        level = "missing" if feature.kind == "missing" else (term.column.kind.words or ("0", "1"))[1]
    return f"({size} if {term.name} is {level})"


def _reason_text(terms: Terms, reason: Reason, there: str) -> str:
    """Return which rows a unit was grown for: ``212 rows like row 871 (at 1.9) were predicted 0.6 too low``."""
    which, was = plural(reason.count, "row"), "was" if reason.count == 1 else "were"
    if reason.row is not None:
        which = ("" if reason.count == 1 else f"{which} like ") + f"row {reason.row} (at {there})"
    if reason.classes is not None:
        predicted, true = (terms.labels[each] for each in reason.classes)
        return f"{which} {was} classified as {predicted} instead of {true}"
    output = int(np.abs(reason.errors).argmax())
    what = f" in {terms.outputs[output]}" if len(reason.errors) > 1 else ""
    size = format_value(abs(reason.errors[output]), DIGITS)
    return f"{which} {was} predicted {size}{terms.unit} too {'low' if reason.errors[output] > 0 else 'high'}{what}"
