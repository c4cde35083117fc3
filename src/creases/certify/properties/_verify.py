"""Prove a property, or find an input that violates it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache, partial
from typing import Any

import numpy as np
import torch

from creases._engines import MANY, choose_engine, open_engine
from creases._schema import INTEGER, sequence
from creases._typing import Floats, Progress
from creases._validation import check_arguments, check_number
from creases.certify._case import Case
from creases.certify._exact import exact_outputs
from creases.certify._whole_numbers import Columns, check_columns
from creases.certify.proofs._digest import make_proof
from creases.certify.proofs._format import ClaimProof, VerifyStatement
from creases.certify.proofs._rounding import round_down, round_up
from creases.certify.propagation._linear import linear_value_bounds
from creases.certify.properties._property import (
    Property,
    Verdict,
    as_numbers,
    case_sets,
    enclose_case,
    put_side_by_side,
)
from creases.certify.properties._subtrees import decide_cases
from creases.errors import InputError
from creases.network import Network, NetworkLike

#: Share of the time limit that a search has at least, however long it took to prepare.
LEAST_TIME = 0.1

#: By how much more than a strict limit is looked for, relative to it, once an input only reaches it.
STRICT = Fraction(1, 10**9)


@check_arguments(integer=sequence(INTEGER), one_hot=sequence(sequence(INTEGER)))
def verify(
    net: NetworkLike | tuple[NetworkLike, ...],
    prop: Property,
    *,
    integer: Sequence[int] = (),
    one_hot: Sequence[Sequence[int]] = (),
    budget: float = 60.0,
    proof: bool = False,
    engine: str | None = None,
    n_jobs: int | None = None,
    address: str | None = None,
    progress: Progress | None = None,
) -> Verdict:
    """Decide whether a property holds: no input and its outputs are in any of its cases.

    Parameters
    ----------
    net
        A :class:`creases.Network`, a torch module or a file name; computed in float64. For a property about several
        networks a tuple of them, in the order of their declarations.
    prop
        What must not occur, such as :func:`read_vnnlib` returns.
    integer
        Columns that are whole numbers: other inputs may be in a case.
    one_hot
        Groups of columns of which exactly one is 1 and the others are 0: other inputs may be in a case. With whole
        numbers cases are searched in this process alone.
    budget
        Seconds for all cases together; compilation of the search, in its first call on a machine, does not count.
    proof
        Whether to keep a proof of the answer, ``verdict.proof``: the counterexample, or a tree for each case. There is
        none where a network with choices holds for inputs with further rows ``A x <= b``.
    engine, n_jobs, address
        Where cases are searched: in this process (``"serial"``), the default without ``n_jobs``; by that many
        ``"local"`` processes; or on a ``"ray"`` cluster, by its address or started here. Whoever is idle takes the next
        open subtree of the search; processes, which take seconds to start, start where a few subtrees do not decide it.
        The answer does not depend on it unless time runs out; the counterexample may be another one than in serial.
    progress
        Called with the number of cases done.

    Examples
    --------
    >>> import creases
    >>> net = creases.read([([[1.0], [-1.0]], [0.0, 0.0]), ([[1.0, 1.0]], [0.0])])  # |x|
    >>> text = '''
    ... (declare-const X_0 Real)
    ... (declare-const Y_0 Real)
    ... (assert (>= X_0 -1.0)) (assert (<= X_0 2.0))
    ... (assert (>= Y_0 2.5)) ; unsafe
    ... '''
    >>> from creases.certify.properties import parse_vnnlib
    >>> verify(net, parse_vnnlib(text)).status
    'holds'
    >>> print(verify(net, parse_vnnlib(text.replace("2.5", "1.75"))))
    violated
    input (2), outputs (2)
    """
    seconds = check_number(budget, "budget", above=0)
    begin = time.monotonic()
    work = put_side_by_side(net, prop)
    name = choose_engine(engine, n_jobs, address)
    columns = check_columns(integer, one_hot, work.n_in)
    if columns and name != "serial":
        raise InputError("engine", "be left out with integer or one_hot: they are searched in this process", name)

    def decide(cases: Sequence[Case]) -> tuple[Verdict, tuple[ClaimProof, ...] | None]:
        floats = [enclose_case(work, case) for case in cases]
        left = max(begin + seconds - time.monotonic(), LEAST_TIME * seconds)
        is_alone = name == "serial" or (name == "local" and n_jobs == 1)
        start = None if is_alone else partial(open_engine, name, n_tasks=MANY, n_jobs=n_jobs, address=address)
        return decide_cases(work, floats, left, progress, start, keep_trees=proof, columns=columns)

    verdict, trees = decide(prop.cases)
    point: tuple[Any, ...] | None = None
    if verdict.counterexample is not None:
        verdict, point = _settle(work, prop.cases, verdict, columns)
    if point is not None and any(prop.strict) and not _is_strict(work, prop, point):
        cases = []  # with limits of strict rows a little lower
        for case, rows in zip(prop.cases, prop.strict, strict=True):
            ahead = [STRICT * (1 + abs(Fraction(d))) * (k in rows) for k, d in enumerate(case.d)]
            limits = [Fraction(d) - more for d, more in zip(case.d, ahead, strict=True)]
            cases.append(replace(case, d=as_numbers(limits, (-1,))))
        verdict, _ = decide(cases)
        point = None
        if verdict.counterexample is not None:
            verdict, point = _settle(work, prop.cases, verdict, columns)
        if point is None or not _is_strict(work, prop, point):
            return Verdict("unknown", seconds=verdict.seconds, detail="a limit is reached, and may not be passed")
    if not proof or verdict.status == "unknown" or trees is None:
        return verdict
    answer = "holds" if point is None else "violated"
    statement = VerifyStatement(answer, case_sets(prop), point, columns.integer, columns.one_hot)  # type: ignore[arg-type]
    return replace(verdict, proof=make_proof(statement, trees, net=work))


def _is_strict(net: Network, prop: Property, point: Sequence[Any]) -> bool:
    """Whether an input is in a case with its strict rows below their limits."""
    low, high = _output_ends(net, [Fraction(value) for value in point])
    return any(
        case.contains(point, low, high) and case.is_below(rows, point, low, high)
        for case, rows in zip(prop.cases, prop.strict, strict=True)
    )


def _settle(
    net: Network, exact: Sequence[Case], verdict: Verdict, columns: Columns
) -> tuple[Verdict, tuple[Any, ...] | None]:
    """Return a verdict whose counterexample, found in cases of floats, is in a case as it is written; and that input.

    It is moved into the box of a case, to fractions where no float is in it; unknown if it is in none then.
    """
    found = verdict.counterexample
    assert found is not None
    if all(case.is_float for case in exact):
        return verdict, tuple(found.tolist())
    output_ends = cache(lambda point: _output_ends(net, list(point)))  # cases mostly have the same box
    for case in exact:
        point = _move_inside(found, case)
        if columns.allows(point) and case.contains(point, *output_ends(tuple(point))):
            shown = np.array([float(value) for value in point])
            outputs = np.asarray(net(shown), np.float64).reshape(-1)
            is_float = all(Fraction(a) == b for a, b in zip(shown.tolist(), point, strict=True))
            detail = verdict.detail if is_float else "the input is a fraction, which is rounded here"
            return replace(verdict, counterexample=shown, outputs=outputs, detail=detail), tuple(point)
    detail = "an input was found within rounding of a case, but in none as the property states them"
    return Verdict("unknown", seconds=verdict.seconds, detail=detail), None


def _output_ends(net: Network, point: list[Fraction]) -> tuple[list[Any], list[Any]]:
    """Return bounds of the outputs at an input: equal ones in fractions, unless the network is too large for that."""
    y = exact_outputs(net, point)
    if y is not None:
        return y, y
    ends = np.array([(round_down(value), round_up(value)) for value in point])  # equal where it is a float
    low, high = linear_value_bounds(net, torch.from_numpy(ends))[len(net.steps)]
    return low.reshape(-1).tolist(), high.reshape(-1).tolist()


def _move_inside(x: Floats, case: Case) -> list[Fraction]:
    """Return the floats nearest to a point within the box of a case; fractions where no float is inside."""
    point = []
    for value, (low, high) in zip(x.tolist(), case.box.tolist(), strict=True):
        near = min(max(value, round_up(low)), round_down(high))
        point.append(Fraction(near) if low <= near <= high else (Fraction(low) + Fraction(high)) / 2)
    return point
