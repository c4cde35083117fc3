"""Statements of proofs in words."""

from __future__ import annotations

from math import inf
from typing import Any

from creases._text import plural
from creases.certify.proofs._format import (
    DecisionsStatement,
    DifferencesStatement,
    Domain,
    HoldsStatement,
    MonotoneStatement,
    NearestStatement,
    Proof,
    RangeEntry,
    RangeStatement,
    VerifyStatement,
)

#: Entries of a point or of a list that are shown.
SHOWN = 8


def describe(proof: Proof) -> str:
    """Return what a proof states, in words with numbers."""
    statement = proof.statement
    writers: dict[type, Any] = {
        VerifyStatement: _verify,
        HoldsStatement: _holds,
        MonotoneStatement: _monotone,
        RangeStatement: _range,
        NearestStatement: _nearest,
        DifferencesStatement: _differences,
        DecisionsStatement: _decisions,
    }
    text: str = writers[type(statement)](statement)
    return text


def _number(value: Any) -> str:
    try:
        return f"{float(value):.10g}"
    except OverflowError:  # of a fraction
        return "a number beyond 1e308" if value > 0 else "a number below -1e308"


def _numbers(values: Any) -> str:
    shown = ", ".join(_number(value) for value in values[:SHOWN])
    return f"({shown}{', ...' if len(values) > SHOWN else ''})"


def _place(domain: Domain) -> str:
    return f"the box with {plural(len(domain.b), 'further row')}" if domain.b else "the box"


def _verify(statement: VerifyStatement) -> str:
    cases = plural(len(statement.cases), "case")
    if statement.verdict == "holds":
        return f"the property holds: no input is in any of its {cases}"
    return f"the property is violated: the input {_numbers(statement.point)} is in one of its {cases}"


def _holds(statement: HoldsStatement) -> str:
    place = _place(statement.domain)
    if statement.verdict == "violated":
        if statement.outputs is not None:
            what = "has outputs beyond the limits"
        elif statement.never is not None:
            what = f"is decided for class {statement.never}"
        else:
            what = f"is not decided for class {statement.always}"
        return f"the input {_numbers(statement.point)} of {place} {what}"
    if statement.outputs is not None:
        return f"all inputs of {place} have outputs within the {plural(len(statement.outputs.d), 'limit')}"
    if statement.never is not None:
        return f"no input of {place} is decided for class {statement.never}"
    return f"every input of {place} is decided for class {statement.always}"


def _monotone(statement: MonotoneStatement) -> str:
    wrong = "falls" if statement.direction == "rising" else "rises"
    subject = f"output {statement.output}"
    if statement.verdict == "violated":
        return f"{subject} {wrong} as input {statement.column} grows: {_two(statement.pair)}"
    slack = f" by more than {_number(statement.slack)} per unit" if statement.slack else ""
    return f"{subject} never {wrong}{slack} as input {statement.column} grows in {_place(statement.domain)}"


def _two(pair: Any) -> str:
    return f"from {_numbers(pair[0])} to {_numbers(pair[1])}"


def _range(statement: RangeStatement) -> str:
    lines = [_entry(statement.quantity, entry) for entry in statement.entries[: 4 * SHOWN]]
    more = len(statement.entries) - len(lines)
    if more:
        lines.append(f"and {more} more")
    return f"in {_place(statement.domain)} " + "; ".join(lines)


def _entry(quantity: str, entry: RangeEntry) -> str:
    if quantity == "outputs":
        name = f"output {entry.index[0]}"
    elif quantity == "differences":
        name = f"output {entry.index[0]} less output {entry.index[1]}"
    else:
        name = f"the coefficient of input {entry.index[1]} in output {entry.index[0]}"
    parts = []
    if entry.low is not None:
        parts.append(f"is at least {_number(entry.low)}")
    if entry.minimum is not None:
        parts.append(f"reaches {_number(entry.minimum)} or less")
    if entry.high is not None:
        parts.append(f"is at most {_number(entry.high)}")
    if entry.maximum is not None:
        parts.append(f"reaches {_number(entry.maximum)} or more")
    return f"{name} {', '.join(parts) or 'is not bounded'}"


def _nearest(statement: NearestStatement) -> str:
    what = "another decision"
    if statement.target is not None:
        what = f"class {statement.target}"
    if statement.target_range is not None:
        ends = ["any" if end is None else _number(end) for end in statement.target_range]
        what = f"an output from {ends[0]} to {ends[1]}"
    if statement.lower_bound == inf:
        first = f"no allowed input has {what} than the input {_numbers(statement.x)} of class {statement.predicted}"
        return first if what == "another decision" else first.replace(" than", ", asked for")
    if statement.lower_bound:
        first = (
            f"no allowed input within {statement.norm} distance {_number(statement.lower_bound)} of "
            f"{_numbers(statement.x)}, class {statement.predicted}, has {what} or ties"
        )
    else:
        first = f"the input {_numbers(statement.x)} has class {statement.predicted}"
    if statement.point is None:
        return first
    return f"{first}; {_numbers(statement.point)} has, at distance {_number(statement.distance)} or less"


def _differences(statement: DifferencesStatement) -> str:
    lines = []
    for entry in statement.entries[: 4 * SHOWN]:
        parts = [] if entry.upper is None else [f"by at most {_number(entry.upper)}"]
        parts += [] if entry.lower is None else [f"by {_number(entry.lower)} or more at {_numbers(entry.where)}"]
        lines.append(f"output {entry.index} differs {' and '.join(parts) or 'by an amount not stated'}")
    more = len(statement.entries) - len(lines)
    return "in the box " + "; ".join(lines) + (f"; and {more} more" if more else "")


def _decisions(statement: DecisionsStatement) -> str:
    if statement.verdict == "same":
        return "both networks decide alike everywhere in the box"
    assert statement.classes is not None
    i, j = statement.classes
    return f"at {_numbers(statement.point)} the first network decides for class {i}, the second for class {j}"
