"""Whether a statement says anything: some input must be allowed, and something must be claimed of it."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from creases.certify.proofs._checker.claims import Claim, Region, RowClaim
from creases.certify.proofs._checker.parts import to_fractions
from creases.certify.proofs._format import ClaimKey, NearestStatement, Statement, VerifyStatement
from creases.certify.proofs._spec import Array

#: Regions of a statement that are looked at.
MAX_REGIONS = 64

NOTHING_CLAIMED = "the statement says nothing: it has no case, limit or entry"
NOTHING_ALLOWED = "no input is allowed, so the statement says nothing of any"
NOT_KNOWN = "it is not shown that any input satisfies the rows"


def find_vacuity(statement: Statement, claims: dict[ClaimKey, Claim], empty: dict[ClaimKey, bool]) -> tuple[str, bool]:
    """Return a note on a statement that is verified, or "", and whether it says nothing.

    Parameters
    ----------
    empty
        Of each claim whether its tree shows that its region has no inputs.
    """
    if isinstance(statement, NearestStatement):
        return ("", False) if _allows_a_choice(statement) else (NOTHING_ALLOWED, True)
    if not claims:
        return ("", False) if _shows_a_point(statement) else (NOTHING_CLAIMED, True)
    if all(empty.values()):
        return NOTHING_ALLOWED, True
    regions = {id(claim.region): claim.region for claim in claims.values() if isinstance(claim, RowClaim)}
    states = [_state(region) for region in list(regions.values())[:MAX_REGIONS]]
    if states and len(states) == len(regions) and all(state == "empty" for state in states):
        return NOTHING_ALLOWED, True
    if states and all(state != "some" for state in states) and not _shows_a_point(statement):
        return NOT_KNOWN, False
    return "", False


def _shows_a_point(statement: Statement) -> bool:
    """Whether the statement has an input that shows a part of it, which has been checked."""
    names = ("point", "pair", "interior", "lower")
    if any(getattr(statement, name, None) is not None for name in names):
        return True
    if isinstance(statement, VerifyStatement):
        return False
    entries: Iterable[Any] = getattr(statement, "entries", ())
    reached = ("minimum", "maximum", "lower")
    return any(getattr(entry, name, None) is not None for entry in entries for name in reached)


def _allows_a_choice(statement: NearestStatement) -> bool:
    """Whether a box has whole numbers where they must be, and one 1 in each group; groups have no common column."""
    grouped = {j for group in statement.one_hot for j in group}
    for j in set(statement.integer) - grouped:
        low, high = statement.box[j]
        if low != -np.inf and high != np.inf and -(-Fraction(low) // 1) > Fraction(high) // 1:
            return False
    for group in statement.one_hot:
        zero, one = ([statement.box[j][0] <= value <= statement.box[j][1] for j in group] for value in (0, 1))
        if not any(one[k] and all(zero[i] for i in range(len(group)) if i != k) for k in range(len(group))):
            return False
    return True


def _state(region: Region) -> str:
    """Return "some" with an input inside, "empty" where multipliers of the rows show that, or "unknown"."""
    root = region.root
    if bool((root.low > root.high).any()):
        return "empty"
    if not region.b:
        return "some"
    start = np.full(len(root.low), Fraction(0), dtype=object)  # the middle, or what is nearest to 0
    for j, (low, high) in enumerate(zip(root.low, root.high, strict=True)):
        is_bounded = low != -np.inf and high != np.inf
        start[j] = (Fraction(low) + Fraction(high)) / 2 if is_bounded else Fraction(min(max(low, 0), high))
    if region.contains(start):
        return "some"
    try:
        return _solve(region)
    except (OverflowError, ValueError):  # numbers beyond floats: nothing is known
        return "unknown"


def _solve(region: Region) -> str:
    """Decide by a linear program whose answer is checked in fractions: a point inside, or multipliers."""
    from scipy.optimize import linprog

    root = region.root
    A, b = np.array([[float(v) for v in row] for row in region.A]), np.array([float(v) for v in region.b])
    size = np.abs(A).sum(axis=1)
    ends = [(None if a == -np.inf else float(a), None if z == np.inf else float(z))
            for a, z in zip(root.low, root.high, strict=True)]  # fmt: skip
    cost = np.append(np.zeros(A.shape[1]), -1.0)  # the most room t: A x + size t <= b
    answer: Any = linprog(cost, np.column_stack([A, np.where(size > 0, size, 1.0)]), b, bounds=[*ends, (None, 1.0)])
    if answer.status != 0:
        return "unknown"
    whole = np.array([j in region.integer for j in range(A.shape[1])], bool)
    x = to_fractions(np.where(whole, np.round(answer.x[:-1]), answer.x[:-1]).tolist())
    if region.contains(np.minimum(np.maximum(x, root.low), root.high)):
        return "some"
    weights = [Fraction(max(-float(v), 0.0)) for v in answer.ineqlin.marginals]
    return "empty" if _is_separated(region, weights) else "unknown"


def _is_separated(region: Region, weights: list[Fraction]) -> bool:
    """Whether the sum of the rows' room, weighted, is negative all over the box."""
    total = sum((w * limit for w, limit in zip(weights, region.b, strict=True)), Fraction(0))
    slope: Array = -sum((w * row for w, row in zip(weights, region.A, strict=True)), np.zeros(len(region.low), object))
    root = region.root
    for g, low, high in zip(slope, root.low, root.high, strict=True):
        if g:
            end = high if g > 0 else low
            if abs(end) == np.inf:
                return False
            total += g * end
    return total < 0
