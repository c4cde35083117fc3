"""Statements: the claims that each needs, and its points, which are checked in fractions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np

from creases.certify.proofs._checker.bounds import Bounds, jacobian_interval
from creases.certify.proofs._checker.claims import (
    Ball,
    Claim,
    GradientClaim,
    Node,
    Region,
    RowClaim,
    read_point,
    read_region,
    read_rows,
    require,
    show,
)
from creases.certify.proofs._checker.program import Affine, Machine, Relu
from creases.certify.proofs._format import (
    ClaimKey,
    DecisionsStatement,
    DifferencesStatement,
    HoldsStatement,
    LipschitzStatement,
    MonotoneStatement,
    NearestStatement,
    RangeStatement,
    Statement,
    UnitsStatement,
    VerifyStatement,
)
from creases.certify.proofs._norms import norm_below
from creases.certify.proofs._spec import Array

Claims = dict[ClaimKey, Claim]


@dataclass(frozen=True, eq=False)
class Subject:
    """What a statement is about: a network, or two side by side, with m outputs each.

    A search that asks what it must show knows no points yet: it has no machine, and says of how many networks it is.
    """

    machine: Machine | None
    n: int
    m: int
    nets: int = 1

    def outputs(self, x: Array) -> Array:
        """Return the outputs at an input, in fractions."""
        assert self.machine is not None
        return self.machine.evaluate(x)[-1]

    def unit_row(self, *entries: tuple[int, int]) -> Array:
        """Return a row with some entries, of all outputs."""
        count = self.nets * self.m if self.machine is None else self.machine.n_out
        row = np.full(count, Fraction(0), dtype=object)
        for i, value in entries:
            row[i] += value
        return row


def derive_claims(subject: Subject, statement: Statement) -> Claims:
    """Return the claims that must be proved; refuse a statement whose points do not show what they should."""
    handlers: dict[type, Any] = {
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
    claims: Claims = handlers[type(statement)](subject, statement)
    return claims


def decision(y: Sequence[Any] | Array) -> int:
    """Return the class decided at outputs: the first of the largest, or whether a single one is positive."""
    return int(y[0] > 0) if len(y) == 1 else max(range(len(y)), key=lambda k: (y[k], -k))


def _index(value: int, count: int, what: str) -> int:
    require(value < count, f"there is no {what} {value}")
    return value


def _limit_columns(region: Region, statement: VerifyStatement | HoldsStatement | NearestStatement) -> Region:
    """Return the inputs of a region with whole numbers and one 1 in each group, as the statement asks for."""
    n = len(region.low)
    integer = {_index(j, n, "input") for j in statement.integer}
    grouped = [j for group in statement.one_hot for j in group]
    require(len(set(grouped)) == len(grouped), "a column is in two groups, or twice in one")
    low, high, A, b = region.low.copy(), region.high.copy(), list(region.A), list(region.b)
    for group in statement.one_hot:
        row = np.full(n, Fraction(0), dtype=object)
        for j in group:
            row[_index(j, n, "input")] = Fraction(1)
            integer.add(j)
            low[j], high[j] = max(low[j], Fraction(0)), min(high[j], Fraction(1))
        A += [row, -row]
        b += [Fraction(1), Fraction(-1)]
    return Region(low, high, A, b, frozenset(integer))


# -- verify and holds -------------------------------------------------------------------------------------------------


def _verify(subject: Subject, statement: VerifyStatement) -> Claims:
    claims: Claims = {}
    x = read_point(statement.point, subject.n, "point") if statement.verdict == "violated" else None
    y = None if x is None else subject.outputs(x)
    for k, case in enumerate(statement.cases):
        region = _limit_columns(read_region(case.box, case.A, case.b, subject.n), statement)
        C, D = (read_rows(rows, size, len(case.d)) for rows, size in ((case.C, subject.m), (case.D, subject.n)))
        d = [Fraction(value) for value in case.d]
        below = {_index(row, len(d), "row of outputs") for row in case.strict}
        if x is None:
            some = any((row != 0).any() for row in D)
            minus = [-row for row in D] if some else None
            claims["case", k] = RowClaim(
                region, [-row for row in C], d, tuple(row not in below for row in range(len(d))), minus
            )
            continue
        room = [limit - c @ y - e @ x for c, e, limit in zip(C, D, d, strict=True)]
        if region.contains(x) and all(value > 0 or (value == 0 and i not in below) for i, value in enumerate(room)):
            return {}
    require(x is None, "the point is in none of the cases")
    return claims


def _holds(subject: Subject, statement: HoldsStatement) -> Claims:
    domain, m = statement.domain, subject.m
    region = _limit_columns(read_region(domain.box, domain.A, domain.b, subject.n), statement)
    parts = (statement.never, statement.always, statement.outputs)
    require(sum(part is not None for part in parts) == 1, "the statement must have one of never, always and outputs")
    if statement.outputs is not None:
        C, d = read_rows(statement.outputs.C, m, len(statement.outputs.d)), statement.outputs.d
        claims: Claims = {
            ("row", k): RowClaim(region, [row], [-Fraction(limit)], (False,))
            for k, (row, limit) in enumerate(zip(C, d, strict=True))
        }
    else:
        chosen = statement.never if statement.never is not None else statement.always
        assert chosen is not None
        _index(chosen, max(m, 2), "class")
        claims = _never(subject, region, chosen) if statement.never is not None else _always(subject, region, chosen)
    if statement.verdict == "holds":
        return claims
    x = read_point(statement.point, subject.n, "point")
    require(region.contains(x), "the point is outside of the domain")
    y = subject.outputs(x)
    if statement.outputs is not None:
        violated = any(row @ y > limit for row, limit in zip(C, d, strict=True))
    else:
        violated = (decision(y) == chosen) == (statement.never is not None)
    require(violated, "the statement holds at the point")
    return {}


def _never(subject: Subject, region: Region, c: int) -> Claims:
    """Return the claim that a class is never decided: another one is before it everywhere."""
    if subject.m == 1:
        return {("never",): _sign_claim(subject, region, c)}
    others = [j for j in range(subject.m) if j != c]
    rows = [subject.unit_row((c, 1), (j, -1)) for j in others]
    return {("never",): RowClaim(region, rows, [Fraction(0)] * len(rows), tuple(j > c for j in others))}


def _always(subject: Subject, region: Region, c: int) -> Claims:
    """Return for each other class the claim that it is never before this one."""
    if subject.m == 1:
        return {("always", 1 - c): _sign_claim(subject, region, 1 - c)}
    return {
        ("always", j): RowClaim(region, [subject.unit_row((j, 1), (c, -1))], [Fraction(0)], (j < c,))
        for j in range(subject.m)
        if j != c
    }


def _sign_claim(subject: Subject, region: Region, c: int) -> RowClaim:
    """Return the claim that a single output never decides for a class: 1 where it is positive, 0 where it is not."""
    row = subject.unit_row((0, 1 if c == 1 else -1))
    return RowClaim(region, [row], [Fraction(0)], (c == 0,))


# -- coefficients and ranges ------------------------------------------------------------------------------------------


def _require_interior(region: Region, interior: Any, column: int, n: int) -> None:
    """Refuse a region whose inputs do not say what the coefficient of a column is."""
    require(
        region.low[column] < region.high[column], f"column {column} is fixed, so its coefficient has no meaning there"
    )
    if region.b:
        require(interior is not None, "rows need an interior point: without one, coefficients have no meaning")
        require(region.contains_inside(read_point(interior, n, "interior point")), "the interior point is not inside")


def _monotone(subject: Subject, statement: MonotoneStatement) -> Claims:
    domain = statement.domain
    region = read_region(domain.box, domain.A, domain.b, subject.n)
    column = _index(statement.column, subject.n, "input")
    output = _index(statement.output, subject.m, "output")
    sign = 1 if statement.direction == "rising" else -1
    slack = Fraction(statement.slack)
    require(slack >= 0, "the slack is negative")
    if statement.verdict == "holds":
        _require_interior(region, statement.interior, column, subject.n)
        row = subject.unit_row((output, -sign))
        return {("coefficient",): GradientClaim(region, [row], (column,), slack)}
    require(statement.pair is not None, "the statement has no pair of inputs")
    assert statement.pair is not None
    first, second = (read_point(x, subject.n, "pair") for x in statement.pair)
    require(region.contains(first) and region.contains(second), "an input of the pair is outside of the domain")
    differ = [j for j in range(subject.n) if first[j] != second[j]]
    require(differ == [column] and first[column] < second[column], f"the pair must differ in column {column} alone")
    step = subject.outputs(second)[output] - subject.outputs(first)[output]
    allowed = -slack * (second[column] - first[column])
    require(sign * step < allowed, f"the output does not go the wrong way by more than the slack: {show(step)}")
    return {}


def _range(subject: Subject, statement: RangeStatement) -> Claims:
    domain, claims = statement.domain, Claims()
    region = read_region(domain.box, domain.A, domain.b, subject.n)
    for entry in statement.entries:
        size = 1 if statement.quantity == "outputs" else 2
        require(len(entry.index) == size, f"an index of {statement.quantity} has {size} entries")
        i, j = (*entry.index, 0)[:2]
        _index(i, subject.m, "output")
        by_column = statement.quantity == "coefficients"
        _index(j, subject.n if by_column else subject.m, "input" if by_column else "output")
        row = subject.unit_row((i, 1), (j, -1)) if statement.quantity == "differences" else subject.unit_row((i, 1))
        for key, sign, limit in (("low", -1, entry.low), ("high", 1, entry.high)):
            if limit is None:
                continue
            name: ClaimKey = (key, *entry.index)
            require(name not in claims, f"the statement bounds {name} twice")
            if by_column:
                _require_interior(region, statement.interior, j, subject.n)
                claims[name] = GradientClaim(region, [row * sign], (j,), sign * Fraction(limit))
            else:
                claims[name] = RowClaim(region, [row * sign], [-sign * Fraction(limit)], (False,))
        reached = (("minimum", -1, entry.minimum, entry.argmin), ("maximum", 1, entry.maximum, entry.argmax))
        for what, sign, value, where in reached:
            if value is None:
                continue
            x = read_point(where, subject.n, f"input of the {what} of {entry.index}")
            require(region.contains(x), f"the input of the {what} of {entry.index} is outside of the domain")
            if by_column:
                low, high = _jacobian_at(subject, x, [row], (j,))
                require(bool(low == high), "the input of a coefficient is on a crease")
            at = Fraction(low[0, 0]) if by_column else row @ subject.outputs(x)
            fits = sign * (at - Fraction(value)) >= 0
            require(bool(fits), f"the {what} of {entry.index} is {show(at)} at its input, not {show(value)}")
    return claims


def _jacobian_at(subject: Subject, x: Array, rows: list[Array], columns: Sequence[int]) -> tuple[Array, Array]:
    """Return bounds of derivatives (k, c) at an input: equal unless they depend on the side of a unit that is 0."""
    machine = subject.machine
    assert machine is not None
    values = machine.evaluate(x)
    here = Bounds(machine, Node(x, x, {}), exact=True)
    for i, step in enumerate(machine.steps):
        if not isinstance(step, Affine):
            z = values[step.inputs[0]]
            tie = np.asarray(z == 0) & isinstance(step, Relu)
            here.entering[i] = np.where(tie, -1, z), np.where(tie, 1, z)
    return jacobian_interval(here, rows, columns)


def _lipschitz(subject: Subject, statement: LipschitzStatement) -> Claims:
    region = read_region(statement.box, (), (), subject.n)
    rows = [subject.unit_row((i, 1)) for i in range(subject.m)]
    columns = tuple(int(j) for j in np.flatnonzero(np.asarray(region.low < region.high, bool)))
    require(bool(columns), "all columns are fixed, so there is no other input")
    if statement.lower is not None:
        x = read_point(statement.where, subject.n, "input where the norm is reached")
        require(region.contains(x), "the input where the norm is reached is outside of the box")
        reached = norm_below(*_jacobian_at(subject, x, rows, columns), statement.norm)
        require(reached >= statement.lower, f"the norm at the input is {show(reached)}")
    if statement.upper is None:
        return {}
    return {("norm",): GradientClaim(region, rows, columns, Fraction(statement.upper), statement.norm)}


# -- nearest ----------------------------------------------------------------------------------------------------------


def _nearest(subject: Subject, statement: NearestStatement) -> Claims:
    n = subject.n
    x = read_point(statement.x, n, "input")
    weights = read_point(statement.weights, n, "list of weights")
    require(bool((weights > 0).all()), "a weight is not positive")
    require(decision(subject.outputs(x)) == statement.predicted, f"the class of the input is not {statement.predicted}")
    region = _limit_columns(read_region(statement.box, (), (), n), statement)
    goals = nearest_goals(subject, statement)
    if statement.point is not None or statement.distance is not None:
        point = read_point(statement.point, n, "point")
        require(region.contains(point), "the point is outside of what is allowed")
        y = subject.outputs(point)
        margins = [min(row @ y + constant for row, constant in zip(*goal, strict=True)) for goal in goals.values()]
        require(max(margins) >= 0, "the point does not reach another decision")
        require(statement.distance is not None and statement.distance >= 0, "the point has no distance")
        size = np.abs(weights * (point - x))
        parts = {"l1": size.sum(), "linf": max(size), "l2": (size * size).sum()}
        limit = Fraction(statement.distance or 0)
        within = parts[statement.norm] <= (limit * limit if statement.norm == "l2" else limit)
        require(within, f"the point is further away than {show(limit)}")
    radius = statement.lower_bound
    require(radius >= 0, "the lower bound is negative")
    if radius == 0:
        return {}
    if radius != np.inf:
        reach = Fraction(radius) / weights
        ball = None if statement.norm == "linf" else Ball(x, weights, statement.norm, Fraction(radius))
        low, high = np.maximum(region.low, x - reach), np.minimum(region.high, x + reach)
        region = replace(region, low=low, high=high, ball=ball)
    return {key: RowClaim(region, C, e, (True,) * len(e)) for key, (C, e) in goals.items()}


def nearest_goals(subject: Subject, statement: NearestStatement) -> dict[ClaimKey, tuple[list[Array], list[Fraction]]]:
    """Return rows C and e for each goal: it is reached where all of ``C y + e`` are at least 0."""
    zero, m = Fraction(0), subject.m
    if statement.target_range is not None:
        require(m == 1 and statement.target is None, "a range is a target for a single output only")
        low, high = statement.target_range
        rows = [] if low is None else [(subject.unit_row((0, 1)), -Fraction(low))]
        rows += [] if high is None else [(subject.unit_row((0, -1)), Fraction(high))]
        require(bool(rows), "the target range has no end")
        return {("goal",): ([row for row, _ in rows], [e for _, e in rows])}
    if statement.target is not None:
        _index(statement.target, max(m, 2), "class")
    if m == 1:
        c = 1 - statement.predicted if statement.target is None else statement.target
        return {("goal", c): ([subject.unit_row((0, 1 if c == 1 else -1))], [zero])}
    if statement.target is not None:
        t = statement.target
        return {("goal", t): ([subject.unit_row((t, 1), (j, -1)) for j in range(m) if j != t], [zero] * (m - 1))}
    p = statement.predicted
    return {("goal", j): ([subject.unit_row((j, 1), (p, -1))], [zero]) for j in range(m) if j != p}


# -- two networks -----------------------------------------------------------------------------------------------------


def _differences(subject: Subject, statement: DifferencesStatement) -> Claims:
    region, claims, m = read_region(statement.box, (), (), subject.n), Claims(), subject.m
    for entry in statement.entries:
        i = _index(entry.index, m, "output")
        row = subject.unit_row((i, 1), (m + i, -1))
        if entry.upper is not None:
            require(("high", i) not in claims, f"the statement bounds output {i} twice")
            for key, sign in (("high", 1), ("low", -1)):
                claims[key, i] = RowClaim(region, [row * sign], [-Fraction(entry.upper)], (False,))
        if entry.lower is not None:
            x = read_point(entry.where, subject.n, f"input of output {i}")
            require(region.contains(x), f"the input of output {i} is outside of the box")
            reached: Any = row @ subject.outputs(x)
            reached = abs(reached)
            require(bool(reached >= entry.lower), f"the difference of output {i} at its input is {show(reached)}")
    return claims


def _decisions(subject: Subject, statement: DecisionsStatement) -> Claims:
    region, m = read_region(statement.box, (), (), subject.n), subject.m
    if statement.verdict == "different":
        x = read_point(statement.point, subject.n, "point")
        require(region.contains(x), "the point is outside of the box")
        y = subject.outputs(x)
        classes = decision(y[:m]), decision(y[m:])
        require(classes[0] != classes[1], "both networks decide alike at the point")
        require(statement.classes == classes, f"the classes at the point are {classes}")
        return {}
    zero, claims = Fraction(0), Claims()
    for i, j in permutations(range(max(m, 2)), 2):
        if m == 1:
            sign = 1 if i == 1 else -1
            rows, strict = [subject.unit_row((0, sign)), subject.unit_row((1, -sign))], (i == 0, j == 0)
        else:
            rows = [subject.unit_row((i, 1), (j, -1)), subject.unit_row((m + j, 1), (m + i, -1))]
            strict = (i < j, j < i)
        claims["pair", i, j] = RowClaim(region, rows, [zero, zero], strict)
    return claims


# -- units ------------------------------------------------------------------------------------------------------------


def _units(subject: Subject, statement: UnitsStatement) -> Claims:
    region, claims, machine = read_region(statement.box, (), (), subject.n), Claims(), subject.machine
    assert machine is not None
    for key, units, sign in (("off", statement.off, 1), ("on", statement.on, -1)):
        for unit in units:
            i, place = machine.unit(_index(unit, machine.n_units, "unit"))
            step = machine.steps[i]
            require(isinstance(step, Relu), f"unit {unit} is a choice, which has no two sides")
            require((key, unit) not in claims, f"the statement names unit {unit} twice")
            row = np.full(step.size, Fraction(0), dtype=object)
            row[place] = Fraction(sign)
            claims[key, unit] = RowClaim(region, [row], [Fraction(0)], (False,), value=step.inputs[0])
    return claims
