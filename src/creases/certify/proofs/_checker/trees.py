"""The walk through a tree: every part of the domain is in a leaf, and every leaf shows the claim."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from math import ceil, floor
from typing import Any

import numpy as np

from creases.certify.proofs._checker.bounds import Bounds, exact_or_infinite, gradient_interval, jacobian_interval
from creases.certify.proofs._checker.claims import (
    Claim,
    GradientClaim,
    Node,
    Refusal,
    RowClaim,
    floats_below,
    require,
    show,
)
from creases.certify.proofs._checker.parts import to_fractions
from creases.certify.proofs._checker.program import Machine, Relu
from creases.certify.proofs._format import Leaf, Lemma, Multipliers, Split, Tree
from creases.certify.proofs._norms import norm_above
from creases.certify.proofs._spec import Array

#: Bounds of a node are computed in fractions, where floats do not decide, in networks of at most this many units.
EXACT_UNITS = 64


def check_tree(machine: Machine, claim: Claim, tree: Tree, report: Callable[[], None]) -> bool:
    """Refuse a tree that does not prove a claim; ``report`` is called after each node.

    Returns whether the tree shows that the claim's region has no inputs, so that it says nothing of outputs.
    """
    is_vacuous = isinstance(claim, RowClaim)
    if isinstance(claim, RowClaim) and claim.value is not None:
        machine = machine.up_to(claim.value)
    stack: list[tuple[Node, Bounds | None]] = [(claim.region.root, None)]
    for number, item in enumerate(tree):
        require(bool(stack), f"node {number} belongs to no split")
        node, parent = stack.pop()
        try:
            bounds = Bounds.over(machine, node, parent)
            for i, cut in enumerate(item.cuts):
                node = _cut(claim, bounds, cut)
                if isinstance(item, Leaf) or i < len(item.cuts) - 1:  # the last one is for the children
                    bounds = Bounds.over(machine, node, bounds)
            if item.lemmas:
                above = bounds.parent
                bounds = _with_lemmas(claim, bounds, item.lemmas)
                bounds.parent = above
            if isinstance(item, Split):
                stack += [(child, bounds) for child in reversed(_split(machine, claim, node, item))]
            else:
                is_empty = bounds.is_empty or _check_leaf(claim, bounds, item)
                is_vacuous = is_vacuous and is_empty and node.plane is None
        except Refusal as refusal:
            raise Refusal(f"node {number}: {refusal}") from None
        report()
    require(not stack, f"the tree ends after node {len(tree) - 1}, but {len(stack)} more must follow")
    return is_vacuous


def _split(machine: Machine, claim: Claim, node: Node, split: Split) -> tuple[Node, Node]:
    """Return the children of a node, which cover it."""
    if split.kind == "unit":
        _relu_of(machine, split.index)
        require(split.index not in node.sides, f"the side of unit {split.index} is fixed already")
        off, on = ({**node.sides, split.index: side} for side in (-1, 1))
        return replace(node, sides=off), replace(node, sides=on)
    j, at = split.index, Fraction(split.at)
    require(j < machine.n_in, f"there is no input {j}")
    is_whole = j in claim.region.integer
    may_be_outside = is_whole or claim.region.ball is not None  # a ball that shrinks leaves one of two parts
    inside = may_be_outside or node.low[j] <= at <= node.high[j]
    require(inside, f"input {j} is split at {show(at)}, outside of its range")
    ends = (Fraction(floor(at)), Fraction(ceil(at))) if is_whole else (at, at)
    high, low = node.high.copy(), node.low.copy()
    high[j], low[j] = min(high[j], ends[0]), max(low[j], ends[1])
    return replace(node, high=high), replace(node, low=low)


def _cut(claim: Claim, bounds: Bounds, cut: Multipliers) -> Node:
    """Return the node with the half-space of a cut, in which all its inputs are that the claim is false of."""
    if bounds.is_empty:
        return bounds.node
    combination = _Combination(claim, bounds, cut, {})
    if cut.rows:
        require(isinstance(claim, RowClaim), "a cut of coefficients has no rows")
        assert isinstance(claim, RowClaim)
        combination.add_rows(claim, cut.rows)
    return replace(bounds.node, plane=combination.plane(bounds))


def _relu_of(machine: Machine, unit: int) -> tuple[int, int]:
    """Return the step and the place of a relu's unit."""
    require(unit < machine.n_units, f"there is no unit {unit}")
    i, place = machine.unit(unit)
    require(isinstance(machine.steps[i], Relu), f"unit {unit} is a choice, which has no two sides")
    return i, place


# -- combinations -----------------------------------------------------------------------------------------------------


class _Combination:
    """A combination of rows, limits of the domain and sides, whose maximum over a node is bounded."""

    def __init__(self, claim: Claim, bounds: Bounds, multipliers: Multipliers, start: dict[int, Array]) -> None:
        self.bounds, self.constant = bounds, Fraction(0)
        self.coefficients = start  # (size,) of fractions, by value
        self.has_strict = False  # whether an inequality that is strict has a positive factor
        machine, region = bounds.machine, claim.region
        for row, factor in multipliers.domain.items():
            require(row < len(region.b), f"there is no row {row} of the domain")
            mu = _factor(factor, f"row {row} of the domain")
            self._add(0, region.A[row], -mu)
            self.constant += mu * region.b[row]
        for unit, factor in multipliers.sides.items():
            beta, (i, place) = _factor(factor, f"the side of unit {unit}"), _relu_of(machine, unit)
            low, high = (end[place] for end in bounds.entering[i])
            side = bounds.node.sides.get(unit) or (1 if low >= 0 else -1 if high <= 0 else 0)
            require(side != 0, f"the side of unit {unit} is used but not known")
            row_ = np.full(machine.sizes()[machine.steps[i].inputs[0]], Fraction(0), dtype=object)
            row_[place] = Fraction(side)
            self._add(machine.steps[i].inputs[0], row_, beta)
            if beta > 0 and isinstance(claim, GradientClaim) and unit in bounds.node.sides:
                self.has_strict = self.has_strict or side == 1 or _is_slanted(claim, bounds, i, place)
        self.slopes, self.box = dict(multipliers.slopes), dict(multipliers.box)
        for unit, slope in self.slopes.items():
            i, place = _relu_of(machine, unit)
            step = machine.steps[i]
            assert isinstance(step, Relu)
            ends = sorted([Fraction(step.leak[place]), Fraction(1)])
            require(ends[0] <= slope <= ends[1], f"the slope of unit {unit} is not between its leak and 1")
        require(all(j < machine.n_in for j in self.box), "a box multiplier is for an input that does not exist")

    def _add(self, number: int, row: Array, factor: Fraction) -> None:
        row = row * factor
        self.coefficients[number] = self.coefficients[number] + row if number in self.coefficients else row

    def add_rows(self, claim: RowClaim, factors: Sequence[Any]) -> None:
        """Add rows of the claim."""
        require(len(factors) == len(claim.e), f"there are {len(factors)} factors for {len(claim.e)} rows")
        last = len(self.bounds.machine.steps)
        for k, factor in enumerate(factors):
            value = _factor(factor, f"row {k}")
            if value == 0:
                continue
            self._add(last, claim.C[k], value)
            if claim.D is not None:
                self._add(0, claim.D[k], value)
            self.constant += value * claim.e[k]
            self.has_strict = self.has_strict or not claim.strict[k]

    def plane(self, bounds: Bounds) -> tuple[Array, float] | None:
        """Return an affine function of the input above the combination over the node; None if that fails."""
        parts = self.coefficients or {0: np.full(bounds.machine.n_in, Fraction(0), dtype=object)}
        rows = {number: _floats(row)[None] for number, row in parts.items()}
        try:
            return bounds.plane(rows, _float(self.constant), self.slopes, self.box)
        except OverflowError:  # of a fraction beyond floats
            return None

    def maximum(self, bounds: Bounds, *, by_intervals: bool = False) -> Any:
        """Bound the combination over the node, by bounds in floats or in fractions; infinite if that fails."""
        parts = self.coefficients or {0: np.full(bounds.machine.n_in, Fraction(0), dtype=object)}
        rows = {number: (row if bounds.exact else _floats(row))[None] for number, row in parts.items()}
        constant = self.constant if bounds.exact else _float(self.constant)
        try:
            if by_intervals:
                best = bounds.interval_maximum(rows, constant)
            else:
                best = bounds.maximum(rows, constant, self.slopes, self.box or None)
        except OverflowError:  # of an infinite end and a fraction beyond floats
            return np.inf
        return exact_or_infinite(best)[0] if bounds.exact else best[0]


def _factor(value: Any, what: str) -> Fraction:
    require(value >= 0, f"the multiplier of {what} is negative")
    return Fraction(value)


def _float(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("nan")


def _floats(row: Array) -> Array:
    return np.array([_float(value) for value in row], dtype=float)


def _is_slanted(claim: GradientClaim, bounds: Bounds, i: int, place: int) -> bool:
    """Whether what enters a unit is constant on no open part of the node: then it is 0 on none."""
    number = bounds.machine.steps[i].inputs[0]
    row = np.zeros(bounds.machine.sizes()[number])
    row[place] = 1.0
    low, high = gradient_interval(bounds, number, row)
    free = np.asarray(claim.region.low < claim.region.high, dtype=bool)
    return bool((((low > 0) | (high < 0)) & free).any())


# -- leaves -----------------------------------------------------------------------------------------------------------


def _ladder(claim: Claim, bounds: Bounds, lemmas: Sequence[Lemma] = ()) -> Iterator[Bounds]:
    """Yield bounds of a node in more and more exact arithmetic."""
    yield bounds
    lifted = {i: (to_fractions(low), to_fractions(high)) for i, (low, high) in bounds.entering.items()}
    fractions = Bounds(bounds.machine, bounds.node, exact=True, entering=lifted)
    yield fractions
    if bounds.machine.n_units <= EXACT_UNITS:
        with suppress(OverflowError):  # of an infinite end and a fraction beyond floats
            exact = Bounds.over(bounds.machine, bounds.node, fractions, exact=True)
            yield _with_lemmas(claim, exact, lemmas) if lemmas else exact
            whole = _in_fractions(bounds)
            yield _with_lemmas(claim, whole, lemmas) if lemmas else whole


def _in_fractions(bounds: Bounds) -> Bounds:
    """Return bounds of a node in exact arithmetic, none of them wider than those of all nodes above it are there."""
    path, node = list[Bounds](), bounds
    while node.in_fractions is None:
        path.append(node)
        if node.parent is None:
            break
        node = node.parent
    for node in reversed(path):
        known = {i: (to_fractions(low), to_fractions(high)) for i, (low, high) in node.entering.items()}
        above = None if node.parent is None else node.parent.in_fractions
        for i, (low, high) in (above.entering if above is not None else {}).items():
            if i in known:
                known[i] = np.maximum(known[i][0], low), np.minimum(known[i][1], high)
        is_empty = above is not None and above.is_empty
        start = Bounds(node.machine, node.node, exact=True, entering=known, is_empty=is_empty)
        node.in_fractions = Bounds.over(node.machine, node.node, start, exact=True)
    assert bounds.in_fractions is not None
    return bounds.in_fractions


def _check_leaf(claim: Claim, bounds: Bounds, leaf: Leaf) -> bool:
    """Refuse a leaf that does not show the claim; return whether it shows that the node has no inputs."""
    if leaf.by == "gradient":
        require(isinstance(claim, GradientClaim), "a gradient shows nothing about outputs")
        assert isinstance(claim, GradientClaim)
        return _check_gradient(claim, bounds, leaf.lemmas)
    if leaf.by in ("multipliers", "bounds"):
        require(isinstance(claim, RowClaim), "bounds of outputs show nothing about coefficients")
    if leaf.by == "bounds":
        assert isinstance(claim, RowClaim)
        return _check_rows(claim, bounds, leaf.lemmas)
    combination = _Combination(claim, bounds, leaf.multipliers, {})
    if leaf.by == "multipliers":
        assert isinstance(claim, RowClaim)
        combination.add_rows(claim, leaf.multipliers.rows)
    else:
        require(not leaf.multipliers.rows, "an empty node has no rows")
    best: Any = np.inf
    for each in _ladder(claim, bounds, leaf.lemmas):
        if each.is_empty:
            return True
        best = combination.maximum(each)
        if best < 0 or (combination.has_strict and best <= 0):
            return leaf.by == "empty"
    wanted = "at most 0" if combination.has_strict else "below 0"
    raise Refusal(f"the multipliers give a bound of {show(best)}, which is not {wanted}")


def _check_rows(claim: RowClaim, bounds: Bounds, lemmas: Sequence[Lemma]) -> bool:
    """Check that a row is small enough by the plain bounds; return whether the node has no inputs."""
    best: list[Any] = []
    for each in _ladder(claim, bounds, lemmas):
        if each.is_empty:
            return True
        best = []
        for k in range(len(claim.e)):
            combination = _Combination(claim, bounds, Multipliers(), {})
            combination.add_rows(claim, [int(j == k) for j in range(len(claim.e))])
            best.append(combination.maximum(each))
            plain = combination.maximum(each, by_intervals=True) if each.values else np.inf
            if plain < best[-1] or best[-1] != best[-1]:
                best[-1] = plain
        if any(b < 0 or (b <= 0 and not s) for b, s in zip(best, claim.strict, strict=True)):
            return False
    closest = min((value for value in best if value == value), default=np.inf)
    raise Refusal(f"by its bounds the claim can be missed by {show(closest)}")


def _check_gradient(claim: GradientClaim, bounds: Bounds, lemmas: Sequence[Lemma]) -> bool:
    best: Any = np.inf
    for each in _ladder(claim, bounds, lemmas):
        if each.is_empty:
            return True
        rows = claim.rows if each.exact else [_floats(row) for row in claim.rows]
        if not each.exact and not all(
            (to_fractions(row) == of).all() for row, of in zip(rows, claim.rows, strict=True)
        ):
            continue
        low, high = jacobian_interval(each, rows, claim.columns)
        if each.exact and claim.norm is not None:
            ends = floats_below(low.ravel()), -floats_below(-high.ravel())
            low, high = (end.reshape(low.shape) for end in ends)
        best = norm_above(low, high, claim.norm)[()]
        if best <= claim.limit:
            return False
    what = "the coefficient" if claim.norm is None else "the norm"
    raise Refusal(f"{what} may be {show(best)}, beyond {show(claim.limit)}")


def _with_lemmas(claim: Claim, bounds: Bounds, lemmas: Sequence[Lemma]) -> Bounds:
    """Return bounds that lemmas tighten, one after the other."""
    for lemma in lemmas:
        _apply_lemma(claim, bounds, lemma)
    return Bounds.over(bounds.machine, bounds.node, bounds, exact=bounds.exact)


def _apply_lemma(claim: Claim, bounds: Bounds, lemma: Lemma) -> None:
    """Tighten a bound of what enters a unit by the multipliers of a lemma."""
    if bounds.is_empty:
        return
    i, place = _relu_of(bounds.machine, lemma.unit)
    number = bounds.machine.steps[i].inputs[0]
    row = np.full(bounds.machine.sizes()[number], Fraction(0), dtype=object)
    row[place] = Fraction(1 if lemma.end == "high" else -1)
    combination = _Combination(claim, bounds, lemma.multipliers, {number: row})
    best = combination.maximum(bounds)
    best = best if bounds.exact else float(best)
    low, high = (end.copy() for end in bounds.entering[i])
    if lemma.end == "high" and best < high[place]:
        high[place] = best
    elif lemma.end == "low" and -best > low[place]:
        low[place] = -best
    bounds.set_entering(i, low, high)
