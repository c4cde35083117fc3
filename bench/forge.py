"""Forge proofs: false statements of every kind, each with several trees, none of which the checker may accept.

    python bench/forge.py [--seed 0] [--cases 400] [--json FILE]

Networks have one or two inputs and one or two layers of a few units, with weights, boxes and distances from 1e-320 to
1e300. What is false is known from an input, evaluated here in rational arithmetic: a statement is made that this input
contradicts, by next to nothing or by much, and comes with trees that ask for little, random trees, and trees of true
statements about a smaller domain. Statements that allow no input must be called vacuous, and a proof must not pass for
another network. The exit status is 1 if anything false is accepted, or the checker fails with an error of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from math import isqrt
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parent))

import numpy as np

import creases
from creases.certify.proofs import check_proof
from creases.certify.proofs._digest import make_proof
from creases.certify.proofs._format import (
    CaseSet,
    ClaimProof,
    DecisionsStatement,
    DifferenceEntry,
    DifferencesStatement,
    Domain,
    HoldsStatement,
    Leaf,
    Lemma,
    LipschitzStatement,
    MonotoneStatement,
    Multipliers,
    NearestStatement,
    OutputRows,
    RangeEntry,
    RangeStatement,
    Split,
    UnitsStatement,
    VerifyStatement,
)
from creases.errors import InputError
from record import note, note_table

INF = float("inf")
Layers = list[tuple[Any, Any]]

#: Scales of weights and of boxes, with those of subnormal and of huge numbers.
SCALES = (1.0, 1.0, 1.0, 1e-8, 1e8, 1e-160, 1e150, 1e-300, 3e-310, 1e300)

#: By how much a statement is false, relative to what it is about; the first is below any float.
STEPS = (Fraction(1, 2**1200), Fraction(1, 2**60), Fraction(1, 2**52), Fraction(1, 10**6), Fraction(1, 4), Fraction(2))


class Case:
    """A random network, a box, and an input of it with its exact outputs."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng, self.n, self.m = rng, int(rng.integers(1, 3)), int(rng.integers(1, 4))
        self.leak = float(rng.choice([0.0, 0.0, 0.1, 2.0]))
        self.layers = self._layers()
        self.net = creases.read(self.layers, leak=self.leak)
        size, self.scale = float(rng.choice(SCALES)), 1.0
        ends = np.sort(rng.choice([-1.0, -0.5, 0.0, 0.25, 1.0, 1.5, rng.normal()], (self.n, 2)) * size, axis=1)
        fixed = rng.random(self.n) < 0.15
        ends[:, 1] = np.where(fixed, ends[:, 0], np.maximum(ends[:, 1], np.nextafter(ends[:, 0], INF)))
        self.box = tuple((float(a), float(b)) for a, b in ends)
        self.x = self.point()
        self.y = evaluate(self.layers, self.leak, self.x)

    def _layers(self) -> Layers:
        rng = self.rng
        sizes = [self.n, *(int(k) for k in rng.integers(1, 4, rng.integers(1, 3))), self.m]
        scale = float(rng.choice(SCALES)) if rng.random() < 0.4 else 1.0
        layers = []
        for a, b in pairwise(sizes):
            W = rng.choice([-1.0, 1.0, 0.5, 0.0, rng.normal(), rng.normal()], (b, a))
            c = rng.choice([0.0, 0.0, 1.0, -0.5, rng.normal()], b)
            layers.append((W * scale, c * scale if rng.random() < 0.5 else c))
            scale = 1.0
        return layers

    def point(self) -> tuple[Fraction, ...]:
        """Return an input of the box: a corner, or any."""
        shares = [Fraction(float(t)) for t in self.rng.choice([0.0, 0.5, 1.0, self.rng.random()], self.n)]
        return tuple(Fraction(a) + t * (Fraction(b) - Fraction(a)) for (a, b), t in zip(self.box, shares, strict=True))

    def below(self, value: Fraction) -> Fraction:
        """Return a number below a value: by next to nothing or by much."""
        step = STEPS[int(self.rng.integers(len(STEPS)))]
        return value - max(step * abs(value), STEPS[0])

    def tree(self, rows: int) -> tuple[Any, ...]:
        """Return a random tree."""
        rng, nodes, missing = self.rng, list[Any](), 1
        while missing and len(nodes) < 9:
            kind = rng.integers(4)
            lemmas = (Lemma(self._unit(), str(rng.choice(["low", "high"])), self._multipliers(0)),)  # type: ignore[arg-type]
            lemmas = lemmas if rng.random() < 0.15 else ()  # type: ignore[assignment]
            cuts = tuple(self._multipliers(rows) for _ in range(rng.integers(0, 3)))
            if kind == 0:
                nodes.append(Split("unit", self._unit(), lemmas=lemmas, cuts=cuts))
            elif kind == 1:
                j = int(rng.integers(self.n))
                nodes.append(Split("input", j, self.point()[j], lemmas, cuts))
            else:
                by = str(rng.choice(["bounds", "multipliers", "empty", "gradient"]))
                nodes.append(Leaf(by, self._multipliers(rows if by == "multipliers" else 0), lemmas, cuts))  # type: ignore[arg-type]
            missing += 1 if kind < 2 else -1
        return (*nodes, *[Leaf("bounds")] * missing)

    def _unit(self) -> int:
        return int(self.rng.integers(max(self.net.n_units, 1)))

    def _multipliers(self, rows: int) -> Multipliers:
        rng = self.rng

        def number() -> Any:
            return rng.choice(
                [0.0, 1.0, 0.5, 5e-324, 1e-300, 1e300, Fraction(1, 3), Fraction(1, 10**330), rng.random()]
            )

        def some(count: int, most: int) -> dict[int, Any]:
            return {int(rng.integers(count)): number() for _ in range(rng.integers(0, most))} if count else {}

        units = self.net.n_units
        slopes = {u: min(max(v, min(self.leak, 1.0)), max(self.leak, 1.0)) for u, v in some(units, 2).items()}
        return Multipliers(tuple(number() for _ in range(rows)), some(2, 2), some(units, 3), slopes, some(self.n, 2))


def evaluate(layers: Layers, leak: float, x: Any) -> list[Fraction]:
    """Return the outputs of layers at an input in rational arithmetic."""
    values = [Fraction(v) for v in x]
    for k, (W, c) in enumerate(layers):
        sums = [
            sum((Fraction(float(w)) * v for w, v in zip(row, values, strict=True)), Fraction(float(shift)))
            for row, shift in zip(W, c, strict=True)
        ]
        values = sums if k + 1 == len(layers) else [z if z > 0 else Fraction(leak) * z for z in sums]
    return values


def decide(y: list[Fraction]) -> int:
    """Return the class of outputs."""
    return int(y[0] > 0) if len(y) == 1 else max(range(len(y)), key=lambda k: (y[k], -k))


# -- lies: a statement that an input contradicts, with the rows of each claim -----------------------------------------

Lie = tuple[str, Any, dict[tuple[Any, ...], int]]


def lie_verify(case: Case) -> Iterator[Lie]:
    """The input is in the case that is said to be empty; or a point is said to be in one that it is not in."""
    C = [[Fraction(float(v)) for v in case.rng.choice([-1.0, 1.0, 0.5, 1 / 3], case.m)]]
    D = [[Fraction(float(v)) for v in case.rng.choice([0.0, 1.0, -1e-3], case.n)]]
    value = dot(C[0], case.y) + dot(D[0], case.x)
    limit = 2 * value - case.below(value) if case.rng.random() < 0.7 else value
    A, b = thin_rows(case)
    yield "numbers", VerifyStatement("holds", (CaseSet(case.box, A, b, C, D, (limit,)),)), {("case", 0): 1}  # type: ignore[arg-type]
    wrong = CaseSet(case.box, A, b, C, D, (case.below(value),))  # type: ignore[arg-type]
    yield "points", VerifyStatement("violated", (wrong,), case.x), {}


def thin_rows(case: Case, x: Any = None) -> tuple[Any, Any]:
    """Return no rows, or rows that the input of the case, or another, has, some of them at their limit."""
    if case.rng.random() < 0.5:
        return (), ()
    row = [Fraction(float(v)) for v in case.rng.choice([1.0, -1.0, 0.5], case.n)]
    value = dot(row, case.x if x is None else x)
    rows = [row, [-v for v in row]] if case.rng.random() < 0.5 else [row]
    return tuple(map(tuple, rows)), (value, -value)[: len(rows)]


def dot(row: Any, values: Any) -> Fraction:
    return sum((a * v for a, v in zip(row, values, strict=True)), Fraction(0))


def lie_holds(case: Case) -> Iterator[Lie]:
    domain, decided = Domain(case.box, *thin_rows(case)), decide(case.y)
    rows = max(case.m - 1, 1)
    yield "numbers", HoldsStatement("holds", domain, never=decided), {("never",): rows}
    wrong = (decided + 1) % max(case.m, 2)
    keys = [("always", j) for j in range(max(case.m, 2)) if j != wrong]
    yield "numbers", HoldsStatement("holds", domain, always=wrong), dict.fromkeys(keys, 1)
    row = [Fraction(int(k == 0)) for k in range(case.m)]
    limits = OutputRows((tuple(row),), (case.below(case.y[0]),))
    yield "numbers", HoldsStatement("holds", domain, outputs=limits), {("row", 0): 1}
    yield "points", HoldsStatement("violated", domain, never=wrong, point=case.x), {}
    yield "points", HoldsStatement("violated", domain, always=decided, point=case.x), {}
    outside = tuple(Fraction(high) + max(abs(Fraction(high)), Fraction(1)) / 2**70 for _, high in case.box)
    there = decide(evaluate(case.layers, case.leak, outside))
    yield "points", HoldsStatement("violated", domain, never=there, point=outside), {}


def lie_columns(case: Case) -> Iterator[Lie]:
    """An allowed input, with whole numbers or one 1 in a group, contradicts the statement, or a point is forbidden."""
    rng, one_hot = case.rng, ((0, 1),) if case.n == 2 and case.rng.random() < 0.5 else ()
    whole = [Fraction(int(v)) for v in rng.integers(-2, 3, case.n)]
    x = (Fraction(1), Fraction(0)) if one_hot else (whole[0], *case.x[1:])
    x = x[::-1] if one_hot and rng.random() < 0.5 else x
    integer = () if one_hot else (0,)
    away = [Fraction(float(v)) for v in rng.choice([0.0, 0.25, 0.5, 1.5, 1e-300], 2)]
    near = (x[0] - away[0], x[0] + away[1])
    box: Any = ((-away[0], 1 + away[1]),) * 2 if one_hot else (near, *case.box[1:])
    y = evaluate(case.layers, case.leak, x)
    columns: Any = {"integer": integer, "one_hot": one_hot}
    decided = decide(y)
    rows = thin_rows(case, x)
    domain = Domain(box, *rows)
    yield "numbers", HoldsStatement("holds", domain, never=decided, **columns), {("never",): max(case.m - 1, 1)}
    wrong = (decided + 1) % max(case.m, 2)
    keys = [("always", j) for j in range(max(case.m, 2)) if j != wrong]
    yield "numbers", HoldsStatement("holds", domain, always=wrong, **columns), dict.fromkeys(keys, 1)
    C, D = ((Fraction(1), *[Fraction(0)] * (case.m - 1)),), ((Fraction(-1, 3),) * case.n,)
    value = y[0] + dot(D[0], x)
    for limit in (value, 2 * value - case.below(value)):
        sets = (CaseSet(box, *rows, C, D, (limit,)),)
        yield "numbers", VerifyStatement("holds", sets, **columns), {("case", 0): 1}
    other = tuple(v + step for v, step in zip(x, (STEPS[int(rng.integers(5))], *[Fraction(0)] * case.n), strict=False))
    wide: Any = ((-INF, INF),) * case.n
    there = decide(evaluate(case.layers, case.leak, other))
    yield "points", HoldsStatement("violated", Domain(wide), never=there, point=other, **columns), {}
    anywhere = CaseSet(wide, (), (), (), (), ())
    yield "points", VerifyStatement("violated", (anywhere,), other, **columns), {}


def lie_monotone(case: Case) -> Iterator[Lie]:
    """Two inputs show a slope that is said not to be there, or to be there beyond the slack."""
    column, output = int(case.rng.integers(case.n)), int(case.rng.integers(case.m))
    pair = [list(case.x), list(case.x)]
    pair[1][column] = case.point()[column]
    if pair[0][column] == pair[1][column]:
        return
    pair.sort(key=lambda x: x[column])
    ends = [evaluate(case.layers, case.leak, x)[output] for x in pair]
    slope = (ends[1] - ends[0]) / (pair[1][column] - pair[0][column])
    direction, worst = ("rising", -slope) if slope < 0 else ("falling", slope)
    points: Any = tuple(map(tuple, pair))
    if worst > 0:
        slack = max(case.below(worst), Fraction(0))
        statement = MonotoneStatement("holds", Domain(case.box), column, output, direction, slack)  # type: ignore[arg-type]
        yield "numbers", statement, {("coefficient",): 0}
    at_most = worst + max(abs(worst) * STEPS[int(case.rng.integers(len(STEPS)))], Fraction(0))
    beyond = MonotoneStatement("violated", Domain(case.box), column, output, direction, at_most, pair=points)  # type: ignore[arg-type]
    yield "points", beyond, {}
    entry = RangeEntry((output, column), low=None, high=case.below(slope))
    yield "numbers", RangeStatement("coefficients", Domain(case.box), (entry,)), {("high", output, column): 0}
    entry = RangeEntry((output, column), low=2 * slope - case.below(slope))
    yield "numbers", RangeStatement("coefficients", Domain(case.box), (entry,)), {("low", output, column): 0}


def lie_lipschitz(case: Case) -> Iterator[Lie]:
    """Two inputs of the box are farther apart in the outputs than the constant allows; or it is not reached."""
    z = case.point()
    ends = [evaluate(case.layers, case.leak, x) for x in (case.x, z)]
    norm = str(case.rng.choice(["l1", "l2", "linf"]))
    sizes = [[abs(a - b) for a, b in zip(*pair, strict=True)] for pair in (ends, (case.x, z))]
    if not any(sizes[1]):
        return
    if norm == "l2":  # from the squares, rounded down
        value = root_below(sum(v * v for v in sizes[0]) / sum(v * v for v in sizes[1]))
    else:
        measure: Any = sum if norm == "l1" else max
        value = Fraction(measure(sizes[0])) / Fraction(measure(sizes[1]))
    if value > 0:
        yield "numbers", LipschitzStatement(norm, case.box, max(case.below(value), Fraction(0))), {("norm",): 0}  # type: ignore[arg-type]
    weights = [max(abs(Fraction(float(v))) for v in W.flat) * max(W.shape) for W, _ in case.layers]
    beyond = Fraction(2)  # than the product of norms
    for weight in weights:
        beyond *= weight * max(1, abs(Fraction(case.leak)))
    yield "points", LipschitzStatement(norm, case.box, None, beyond + 1, case.x), {}  # type: ignore[arg-type]


def root_below(value: Fraction) -> Fraction:
    """Return a number that is not above a square root."""
    return Fraction(isqrt((value.numerator * value.denominator) << 256), value.denominator << 128)


def lie_degenerate(case: Case) -> Iterator[Lie]:
    """A coefficient where its column is fixed, or rows leave no interior: refused, whatever it says."""
    column = int(case.rng.integers(case.n))
    box = tuple(
        (float(v), float(v)) if j == column else end for j, (v, end) in enumerate(zip(case.x, case.box, strict=True))
    )
    entry = RangeEntry((0, column), low=Fraction(2), high=Fraction(2))
    keys: Any = {("low", 0, column): 0, ("high", 0, column): 0}
    yield "domains", RangeStatement("coefficients", Domain(box), (entry,)), keys
    yield "domains", MonotoneStatement("holds", Domain(box), column, 0, "rising"), {("coefficient",): 0}
    row = tuple(Fraction(int(j == column)) for j in range(case.n))
    limit = case.x[column]
    thin = Domain(case.box, (row, tuple(-v for v in row)), (limit, -limit))
    for interior in (None, case.x):
        yield "domains", RangeStatement("coefficients", thin, (entry,), interior), keys


def lie_range(case: Case) -> Iterator[Lie]:
    domain, i = Domain(case.box, *thin_rows(case)), int(case.rng.integers(case.m))
    value = case.y[i]
    high, low = case.below(value), 2 * value - case.below(value)
    yield "numbers", RangeStatement("outputs", domain, (RangeEntry((i,), high=high),)), {("high", i): 1}
    yield "numbers", RangeStatement("outputs", domain, (RangeEntry((i,), low=low),)), {("low", i): 1}
    for entry in (RangeEntry((i,), maximum=low, argmax=case.x), RangeEntry((i,), minimum=high, argmin=case.x)):
        yield "points", RangeStatement("outputs", domain, (entry,)), {}
    if case.m > 1:
        j = (i + 1) % case.m
        entry = RangeEntry((i, j), high=case.below(value - case.y[j]))
        yield "numbers", RangeStatement("differences", domain, (entry,)), {("high", i, j): 1}


def lie_nearest(case: Case) -> Iterator[Lie]:
    """Another decision is nearer than the lower bound, or the point is not where or what it is said to be."""
    first = decide(case.y)
    for _ in range(40):
        other = tuple(4 * v - 2 * w for v, w in zip(case.point(), case.x, strict=True))
        second = decide(evaluate(case.layers, case.leak, other))
        if first != second:
            break
    else:
        return
    rng = case.rng
    norm, exact = (
        str(rng.choice(["l1", "l2", "linf"])),
        [Fraction(1), Fraction(1, 3), Fraction(1e-300), Fraction(1e300)],
    )
    weights = tuple(exact[int(rng.integers(4))] if rng.random() < 0.4 else Fraction(1) for _ in other)
    sizes = [w * abs(b - a) for w, a, b in zip(weights, case.x, other, strict=True)]
    length = {"l1": sum(sizes), "linf": max(sizes), "l2": sum(sizes)}[norm]  # the sum is at least the Euclidean one
    ends = [sorted((a, b)) for a, b in zip(case.x, other, strict=True)]
    box: Any = tuple(map(tuple, ends)) if rng.random() < 0.5 else ((-INF, INF),) * case.n
    claims = {("goal", j): 1 for j in range(max(case.m, 2)) if j != first} if case.m > 1 else {("goal", 1 - first): 1}
    options: Any = (case.x, first, norm, weights, box)
    for radius in (length, length * (1 + STEPS[int(rng.integers(len(STEPS)))]), INF):
        yield "numbers", NearestStatement(*options, radius), claims
    yield "points", NearestStatement(case.x, second, norm, weights, box, 0), {}  # type: ignore[arg-type]
    nearer = case.below(max(sizes))  # no norm is below the largest change
    if nearer >= 0:
        yield "points", NearestStatement(*options, 0, distance=nearer, point=other), {}
    if (case.y[0] if case.m == 1 else sorted(case.y)[-1] - sorted(case.y)[-2]) != 0:  # no tie, which would be true
        yield "points", NearestStatement(*options, 0, distance=length, point=case.x), {}


def lie_two(case: Case) -> Iterator[Lie]:
    """Two networks differ by more than is said, or decide otherwise at an input."""
    gap = [abs(a - b) for a, b in zip(case.y, case.other_y, strict=True)]  # type: ignore[attr-defined]
    i = max(range(case.m), key=gap.__getitem__)
    if gap[i] > 0:
        upper = max(case.below(gap[i]), Fraction(0))
        claims: Any = {("high", i): 1, ("low", i): 1}
        yield "numbers", DifferencesStatement(case.box, (DifferenceEntry(i, upper),)), claims
        entry = DifferenceEntry(i, lower=2 * gap[i] - case.below(gap[i]), where=case.x)
        yield "points", DifferencesStatement(case.box, (entry,)), {}
    classes = decide(case.y), decide(case.other_y)  # type: ignore[attr-defined]
    pairs = [("pair", a, b) for a in range(max(case.m, 2)) for b in range(max(case.m, 2)) if a != b]
    if classes[0] != classes[1]:
        yield "numbers", DecisionsStatement("same", case.box), dict.fromkeys(pairs, 2)
        yield "points", DecisionsStatement("different", case.box, classes[::-1], case.x), {}
    else:
        yield "points", DecisionsStatement("different", case.box, (0, 1), case.x), {}


def lie_vacuous(case: Case) -> Iterator[Lie]:
    """No input is allowed: what is accepted must be called vacuous."""
    x, ones = case.x, (Fraction(1),) * case.n
    first, free = decide(case.y), ((-INF, INF),) * case.n
    goals = {("goal", j): 1 for j in range(max(case.m, 2)) if j != first} if case.m > 1 else {("goal", 1 - first): 1}
    gap = ((0.25, 0.75),) * case.n
    yield "vacuous", NearestStatement(x, first, "l2", ones, gap, INF, integer=(0,)), goals  # type: ignore[arg-type]
    yield "vacuous", NearestStatement(x, first, "l1", ones, free, INF, one_hot=((),)), goals  # type: ignore[arg-type]
    row = (tuple(ones),)
    empty = Domain(((0.0, 1.0),) * case.n, row, (-1.0,))
    yield "vacuous", HoldsStatement("holds", empty, never=0), {("never",): max(case.m - 1, 1)}
    limits = OutputRows((tuple(Fraction(0) for _ in range(case.m)),), (Fraction(5),))
    yield "vacuous", HoldsStatement("holds", empty, outputs=limits), {("row", 0): 1}
    yield "vacuous", HoldsStatement("holds", Domain(gap), never=0, integer=(0,)), {("never",): max(case.m - 1, 1)}
    nothing = CaseSet(gap, (), (), (), (), ())
    yield "vacuous", VerifyStatement("holds", (nothing,), one_hot=(tuple(range(case.n)),)), {("case", 0): 0}
    yield "vacuous", VerifyStatement("holds", (nothing,), one_hot=((),)), {("case", 0): 0}
    yield "vacuous", VerifyStatement("holds", ()), {}
    yield "vacuous", RangeStatement("outputs", Domain(case.box), ()), {}


def lie_units(case: Case) -> Iterator[Lie]:
    """A unit is said to be on one side all over the box, but the input is on the other one."""
    first = 0
    for k in range(len(case.layers) - 1):
        entering = evaluate(case.layers[: k + 1], case.leak, case.x)
        for unit, value in enumerate(entering, first):
            if value:
                sides = {"off" if value > 0 else "on": (unit,)}
                yield "numbers", UnitsStatement(case.box, **sides), {(*sides, unit): 1}  # type: ignore[arg-type]
        first += len(entering)


KINDS: dict[str, Callable[[Case], Iterator[Lie]]] = {
    "verify": lie_verify,
    "holds": lie_holds,
    "whole numbers and groups": lie_columns,
    "monotone and coefficients": lie_monotone,
    "coefficients without meaning": lie_degenerate,
    "ranges": lie_range,
    "lipschitz": lie_lipschitz,
    "nearest": lie_nearest,
    "two networks": lie_two,
    "nothing allowed": lie_vacuous,
    "units": lie_units,
}


# -- forgeries --------------------------------------------------------------------------------------------------------


def trees(case: Case, rows: int) -> list[tuple[Any, ...]]:
    """Return trees for a claim: those that ask for little, sides of a unit, and random ones."""
    once = Leaf("multipliers", Multipliers((1.0,) * rows))
    sides = Leaf("empty", Multipliers(domain={0: 1.0})), Leaf("empty", Multipliers(sides={case._unit(): 1.0}))
    halves = (Split("unit", case._unit()), Leaf("bounds"), Leaf("bounds"))
    slopes = (Split("unit", case._unit()), Leaf("gradient"), Leaf("gradient"))
    listed: list[tuple[Any, ...]] = [(Leaf("bounds"),), (Leaf("gradient"),), (once,), *((leaf,) for leaf in sides)]
    cut = Multipliers((1.0,) * rows)
    twice = (Split("input", 0, case.x[0], cuts=(cut,)), *(Leaf("bounds", cuts=(cut, cut)) for _ in range(2)))
    for at in (case.x[0] + Fraction(1, 2), Fraction(1, 2)):
        listed.append((Split("input", 0, at), Leaf("bounds"), Leaf("bounds")))
    listed.append((Split("input", 0, Fraction(1, 2)), *(Leaf("empty", Multipliers(domain={k: 1.0})) for k in (0, 1))))
    listed += [(Leaf("bounds", cuts=(cut,)),), (Leaf("multipliers", cut, cuts=(cut,)),), twice]
    return [*listed, halves, slopes, *(case.tree(rows) for _ in range(3))]


def forge(case: Case, kind: str) -> Iterator[tuple[str, Any, tuple[Any, ...], bool]]:
    """Yield for each forgery how it lies, the proof, the networks, and whether it may pass if it is called vacuous."""
    pair = kind == "two networks"
    nets = (case.net, case.other) if pair else (case.net,)  # type: ignore[attr-defined]
    for way, statement, claims in KINDS[kind](case):
        choices = [trees(case, rows) for rows in claims.values()]
        for number in range(len(choices[0]) if choices else 1):
            proofs = tuple(ClaimProof(key, part[number]) for key, part in zip(claims, choices, strict=True))
            made = make_proof(statement, proofs, net=nets[0], other=nets[1] if pair else None)
            yield way, made, nets, way == "vacuous"


def forge_digest(case: Case) -> Iterator[tuple[str, Any, tuple[Any, ...], bool]]:
    """Yield true proofs about a network, shown for one with a weight that differs in its last bit."""
    layers = [(W.copy(), c.copy()) for W, c in case.layers]
    k = int(case.rng.integers(len(layers)))
    layers[k][1][0] = np.nextafter(layers[k][1][0], INF)
    near = creases.read(layers, leak=case.leak)
    entry = RangeEntry((0,), maximum=case.y[0], argmax=case.x)
    made = make_proof(RangeStatement("outputs", Domain(case.box), (entry,)), (), net=case.net)
    yield "digests", made, (near,), False
    yield "digests", replace(made, model=replace(made.model, digest="0" * 64)), (case.net,), False


def run(seed: int, cases: int) -> dict[str, Any]:
    counts: dict[tuple[str, str], Counter[str]] = {}
    for number in range(seed, seed + cases):
        case = Case(np.random.default_rng(number))
        other = [(W * (1 + case.rng.choice([0.0, 2.0**-40, 0.5], W.shape)), c + case.rng.choice([0.0, 0.25], c.shape))
                 for W, c in case.layers]  # fmt: skip
        case.other, case.other_y = creases.read(other, leak=case.leak), evaluate(other, case.leak, case.x)  # type: ignore[attr-defined]
        made = [(kind, each) for kind in KINDS for each in forge(case, kind)]
        for kind, (way, proof, nets, is_vacuous) in [*made, *(("digest", each) for each in forge_digest(case))]:
            count = counts.setdefault((kind, way), Counter())
            count["forged"] += 1
            try:
                answer = check_proof(proof, *nets)
            except InputError:  # no valid proof, or no valid weights
                continue
            except Exception as error:
                count["errors"] += 1
                print(f"ERROR {kind}, {way}, seed {number}: {type(error).__name__}: {error}; {proof.statement}")
                continue
            if answer and not (is_vacuous and answer.vacuous):
                count["accepted"] += 1
                print(f"ACCEPTED {kind}, {way}, seed {number}: {proof}\n   {answer}")
    return {
        f"{kind}: {way}": {name: count[name] for name in ("forged", "accepted", "errors")}
        for (kind, way), count in counts.items()
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cases", type=int, default=400)
    parser.add_argument("--json", help="file for the report")
    options = parser.parse_args()
    report = run(options.seed, options.cases)
    if options.json:
        Path(options.json).write_text(json.dumps(report, indent=1))
    columns = ["statement and lie", "forged", "accepted", "errors"]
    rows = [[name, f"{row['forged']:,}", str(row["accepted"]), str(row["errors"])] for name, row in report.items()]
    for row in rows:
        print(f"{row[0]:45s} {row[1]:>8s} {row[2]:>8s} {row[3]:>6s}")
    total = {name: sum(row[name] for row in report.values()) for name in columns[1:]}
    print(f"{total['forged']:,} forgeries, {total['accepted']} accepted, {total['errors']} errors")
    for name in columns[1:]:
        note(name, f"{total[name]:,}")
    note_table("by_kind", columns, rows)
    return int(total["accepted"] > 0 or total["errors"] > 0)


if __name__ == "__main__" and main():
    raise SystemExit(1)
