"""Statements of proofs in words."""

from __future__ import annotations

from fractions import Fraction
from math import inf
from typing import Any

from creases._text import plural
from creases.certify.proofs._format import (
    CaseSet,
    DecisionsStatement,
    DifferencesStatement,
    Domain,
    HoldsStatement,
    LipschitzStatement,
    MonotoneStatement,
    NearestStatement,
    Proof,
    RangeEntry,
    RangeStatement,
    UnitsStatement,
    VerifyStatement,
)

#: Entries of a point, of a box or of a row that are shown, and rows or cases.
SHOWN, LINES = 8, 4


def describe(proof: Proof) -> str:
    """Return what a proof states, in words with numbers; a domain is named by its box, rows, whole numbers, groups."""
    statement = proof.statement
    writers: dict[type, Any] = {
        VerifyStatement: _verify,
        HoldsStatement: _holds,
        MonotoneStatement: _monotone,
        RangeStatement: _range,
        LipschitzStatement: _lipschitz,
        NearestStatement: _nearest,
        DifferencesStatement: _differences,
        DecisionsStatement: _decisions,
        UnitsStatement: _units,
    }
    text: str = writers[type(statement)](statement)
    return text


def _number(value: Any) -> str:
    """Return a number as it is, or nearly so where that is long."""
    if isinstance(value, Fraction):
        text = str(value)
        try:
            return text if len(text) <= 24 else f"about {float(value):.10g}"
        except OverflowError:
            return "a number beyond 1e308" if value > 0 else "a number below -1e308"
    return repr(float(value))


def _numbers(values: Any) -> str:
    shown = ", ".join(_number(value) for value in values[:SHOWN])
    return f"({shown}{', ...' if len(values) > SHOWN else ''})"


# -- domains ----------------------------------------------------------------------------------------------------------


def _box(box: Any) -> str:
    """Return a box: one pair if all are equal, else the first ones."""
    pairs = [f"[{_number(low)}, {_number(high)}]" for low, high in box]
    if len(set(pairs)) == 1:
        return f"the box {pairs[0]}" + (f" for each of {len(pairs)} inputs" if len(pairs) > 1 else "")
    more = f" x ... ({len(pairs) - SHOWN} more)" if len(pairs) > SHOWN else ""
    return f"the box {' x '.join(pairs[:SHOWN])}{more}"


def _terms(row: Any, name: str) -> str:
    """Return a row times numbered variables."""
    used = [(value, f"{name}{j}") for j, value in enumerate(row) if value]
    text = ""
    for k, (value, variable) in enumerate(used[:SHOWN]):
        sign = ("- " if value < 0 else "") if k == 0 else (" - " if value < 0 else " + ")
        text += sign + (variable if abs(value) == 1 else f"{_number(abs(value))} {variable}")
    return text + (f" + ... ({len(used) - SHOWN} more terms)" if len(used) > SHOWN else "")


def _rows(rows: Any, limits: Any, name: str, others: Any = None) -> str:
    """Return rows with limits: ``x0 - 2.0 x1 <= 0.5``."""
    lines = []
    for k, (row, limit) in enumerate(zip(rows[:LINES], limits[:LINES], strict=True)):
        parts = [_terms(row, name), "" if others is None else _terms(others[k], "x")]
        lines.append(f"{' + '.join(part for part in parts if part) or '0'} <= {_number(limit)}")
    more = [f"{plural(len(limits) - LINES, 'more row')}"] if len(limits) > LINES else []
    return ", ".join([*lines, *more])


def _place(domain: Domain | CaseSet) -> str:
    return _box(domain.box) + (f" with {_rows(domain.A, domain.b, 'x')}" if len(domain.b) else "")


def _columns(statement: VerifyStatement | HoldsStatement | NearestStatement) -> list[str]:
    """Return what columns of an input must be: whole numbers, one 1 in each group."""
    parts = []
    if statement.integer:
        numbers = ", ".join(map(str, statement.integer[:SHOWN])) + (", ..." if len(statement.integer) > SHOWN else "")
        single = len(statement.integer) == 1
        parts.append(f"input {numbers} is a whole number" if single else f"inputs {numbers} are whole numbers")
    for group in statement.one_hot[:LINES]:
        numbers = ", ".join(map(str, group[:SHOWN])) + (", ..." if len(group) > SHOWN else "")
        parts.append(f"one of inputs {numbers} is 1, the others 0")
    if len(statement.one_hot) > LINES:
        parts.append(f"{len(statement.one_hot) - LINES} more groups")
    return parts


def _whose(statement: VerifyStatement | HoldsStatement) -> str:
    """Return what is asked of columns as a part of a sentence, in parentheses."""
    parts = _columns(statement)
    return f" (only inputs where {'; '.join(parts)})" if parts else ""


# -- statements -------------------------------------------------------------------------------------------------------


def _verify(statement: VerifyStatement) -> str:
    cases = plural(len(statement.cases), "case")
    lines = [
        f"inputs of {_place(case)} with {_rows(case.C, case.d, 'y', case.D) or 'any outputs'}"
        for case in statement.cases[:LINES]
    ]
    if len(statement.cases) > LINES:
        lines.append(f"{len(statement.cases) - LINES} more")
    named = "; or ".join(lines) + _whose(statement)
    if statement.verdict == "holds":
        return f"the property holds: no input is in any of its {cases}" + (f": {named}" if named else "")
    return f"the property is violated: the input {_numbers(statement.point)} is in one of its {cases}: {named}"


def _holds(statement: HoldsStatement) -> str:
    place, rows = _place(statement.domain) + _whose(statement), statement.outputs
    limits = "" if rows is None else _rows(rows.C, rows.d, "y")
    if statement.verdict == "violated":
        if rows is not None:
            what = f"has outputs beyond the limits {limits}"
        elif statement.never is not None:
            what = f"is decided for class {statement.never}"
        else:
            what = f"is not decided for class {statement.always}"
        return f"the input {_numbers(statement.point)} of {place} {what}"
    if rows is not None:
        return f"all inputs of {place} have outputs with {limits or 'no limits'}"
    if statement.never is not None:
        return f"no input of {place} is decided for class {statement.never}"
    return f"every input of {place} is decided for class {statement.always}"


def _monotone(statement: MonotoneStatement) -> str:
    wrong = "falls" if statement.direction == "rising" else "rises"
    subject, place = f"output {statement.output}", _place(statement.domain)
    slack = f" by more than {_number(statement.slack)} per unit" if statement.slack else ""
    if statement.verdict == "violated":
        pair: Any = statement.pair
        ends = f"from {_numbers(pair[0])} to {_numbers(pair[1])}"
        return f"{subject} {wrong}{slack} as input {statement.column} grows in {place}: {ends}"
    return f"{subject} never {wrong}{slack} as input {statement.column} grows in {place}"


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


def _lipschitz(statement: LipschitzStatement) -> str:
    parts = [] if statement.upper is None else [f"is at most {_number(statement.upper)}"]
    if statement.lower is not None:
        parts.append(f"is {_number(statement.lower)} or more at {_numbers(statement.where)}")
    what = f"the {statement.norm} operator norm of the Jacobian in {_box(statement.box)}"
    return f"{what} {' and '.join(parts) or 'is not bounded'}"


def _nearest(statement: NearestStatement) -> str:
    what = "another decision"
    if statement.target is not None:
        what = f"class {statement.target}"
    if statement.target_range is not None:
        ends = ["any" if end is None else _number(end) for end in statement.target_range]
        what = f"an output from {ends[0]} to {ends[1]}"
    x, weights = f"{_numbers(statement.x)}, class {statement.predicted}", ""
    if any(weight != 1 for weight in statement.weights):
        weights = f" with weights {_numbers(statement.weights)}"
    if statement.lower_bound == inf:
        first = f"no allowed input at all has {what}, asked for {x}"
    elif statement.lower_bound:
        distance = f"{statement.norm} distance {_number(statement.lower_bound)}{weights}"
        first = f"no allowed input within {distance} of {x}, has {what} or ties"
    else:
        first = f"the input {x}, has no lower bound but 0"
    if statement.point is not None:
        where = f"{statement.norm} distance {_number(statement.distance)}{'' if statement.lower_bound else weights}"
        first += f"; {_numbers(statement.point)} has {what} or ties, at {where} or less"
    return "; ".join([first, f"allowed are inputs of {_box(statement.box)}", *_columns(statement)])


def _differences(statement: DifferencesStatement) -> str:
    lines = []
    for entry in statement.entries[: 4 * SHOWN]:
        parts = [] if entry.upper is None else [f"by at most {_number(entry.upper)}"]
        parts += [] if entry.lower is None else [f"by {_number(entry.lower)} or more at {_numbers(entry.where)}"]
        lines.append(f"output {entry.index} differs {' and '.join(parts) or 'by an amount not stated'}")
    more = len(statement.entries) - len(lines)
    return f"in {_box(statement.box)} " + "; ".join(lines) + (f"; and {more} more" if more else "")


def _decisions(statement: DecisionsStatement) -> str:
    if statement.verdict == "same":
        return f"both networks decide alike everywhere in {_box(statement.box)}"
    assert statement.classes is not None
    i, j = statement.classes
    place = _box(statement.box)
    return (
        f"at {_numbers(statement.point)} of {place} the first network decides for class {i}, the second for class {j}"
    )


def _units(statement: UnitsStatement) -> str:
    parts = []
    for units, end in ((statement.off, "above"), (statement.on, "below")):
        if units:
            numbers = ", ".join(map(str, units[: 4 * SHOWN])) + (", ..." if len(units) > 4 * SHOWN else "")
            parts.append(f"what enters {'unit' if len(units) == 1 else 'each of units'} {numbers} is never {end} 0")
    return f"in {_box(statement.box)} {' and '.join(parts)}"
