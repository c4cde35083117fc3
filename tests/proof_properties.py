"""Ranges and properties: what creases says about one network on a polytope, judged."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from creases.certify import holds, monotone, output_bounds, output_range
from creases.certify.properties import Case as PropertyCase
from creases.certify.properties import Property, verify
from proof_judge import ROUNDING, Judge, Record, apply, decision, lead
from rational_answers import largest
from rational_regions import exact_outputs

#: A limit as near as this to what is reached, relative to the size of the quantity, is a question of rounding.
EDGE = 1e-8

#: Where limits are put, beside the true extreme, relative to the size of the quantity.
OFFSETS = (0.0, 0.0, 1e-15, -1e-15, 1e-12, -1e-12, 1e-9, -1e-9, 1e-6, -1e-6, 1e-3, -1e-3, 0.1, -0.1)


def judge_outputs(asked: Judge, rng: np.random.Generator) -> Iterator[Record]:
    eye = np.eye(asked.case.n_out)
    answer = asked.call(
        output_range, asked.net, asked.case.box, **asked.case.polytope, quantity="outputs", budget=asked.budget
    )
    for i in range(asked.case.n_out):
        yield _judge_range(asked, "range outputs", answer, (i,), eye[i])


def judge_differences(asked: Judge, rng: np.random.Generator) -> Iterator[Record]:
    m = asked.case.n_out
    if m == 1:
        return
    eye = np.eye(m)
    answer = asked.call(
        output_range, asked.net, asked.case.box, **asked.case.polytope, quantity="differences", budget=asked.budget
    )
    for i, j in combinations(range(m), 2):
        yield _judge_range(asked, "range differences", answer, (i, j), eye[i] - eye[j])


def _judge_range(asked: Judge, kind: str, answer: Any, index: tuple[int, ...], row: Any) -> Record:
    least, most, size = -asked.largest(-row), asked.largest(row), asked.size(row)

    def value(x: Any) -> Fraction:
        return sum((Fraction(a) * y for a, y in zip(row.tolist(), asked.outputs(x), strict=True)), Fraction(0))

    wrong = _range_error(answer, index, least, most, size)
    for name, reached, where in (
        ("minimum", answer.minimum, answer.argmin),
        ("maximum", answer.maximum, answer.argmax),
    ):
        if not np.isfinite(reached[index]):  # there was no time to try an input
            continue
        error = abs(Fraction(float(reached[index])) - value(where[index])) / size
        if wrong is None and error > ROUNDING:
            wrong = f"{name} {reached[index]:.17g} is not the value at its input", error
        if wrong is None and asked.contains(where[index]) > ROUNDING:
            wrong = f"the input of the {name} is outside", asked.contains(where[index])
    return _range_record(asked, kind, answer, index, least, most, wrong)


def _range_error(answer: Any, index: Any, least: Fraction, most: Fraction, size: Fraction) -> tuple[str, Any] | None:
    low, high = (float(part[index]) for part in (answer.low, answer.high))
    if np.isfinite(low) and Fraction(low) > least:
        return f"low {low:.17g} and {float(least):.17g} is reached", (Fraction(low) - least) / size
    if np.isfinite(high) and Fraction(high) < most:
        return f"high {high:.17g} and {float(most):.17g} is reached", (most - Fraction(high)) / size
    return None


def _range_record(asked: Judge, kind: str, answer: Any, index: Any, least: Any, most: Any, wrong: Any) -> Record:
    status = "proved" if bool(answer.exact[index]) else "unknown"
    gap = f"{index} true {float(least):.9g} to {float(most):.9g}, {answer.method}"
    return asked.record(kind, status, wrong, detail=gap, proof=getattr(answer, "proof", None))


def judge_coefficients(asked: Judge, rng: np.random.Generator) -> Iterator[Record]:
    case = asked.case
    answer = asked.call(
        output_range, asked.net, case.box, **case.polytope, quantity="coefficients", budget=2 * asked.budget
    )
    values = asked.regions.coefficients(np.eye(case.n_out))  # (R, m, n)
    for index in np.ndindex(case.n_out, case.n_in):
        column = values[(slice(None), *index)]
        least, most = min(column), max(column)
        size = max(abs(least), abs(most), Fraction(1, 10**300))
        wrong = _range_error(answer, index, least, most, size)
        for reached in (answer.minimum, answer.maximum):
            if not np.isfinite(reached[index]):
                continue  # no region was reached, which claims nothing
            value = Fraction(float(reached[index]))
            error = min(abs(value - known) for known in set(column.tolist())) / size
            if wrong is None and error > ROUNDING:
                wrong = f"no region has the coefficient {float(value):.17g}", error
        yield _range_record(asked, "range coefficients", answer, index, least, most, wrong)


def judge_bounds(asked: Judge, rng: np.random.Generator) -> Iterator[Record]:
    low, high = output_bounds(asked.net, asked.case.box)
    if asked.case.A is not None:
        return
    for i, row in enumerate(np.eye(asked.case.n_out)):
        least, most, size = -asked.largest(-row), asked.largest(row), asked.size(row)
        wrong = None
        if Fraction(float(low[i])) > least or Fraction(float(high[i])) < most:
            error = max(Fraction(float(low[i])) - least, most - Fraction(float(high[i]))) / size
            wrong = f"{low[i]:.17g} to {high[i]:.17g}, reached {float(least):.17g} and {float(most):.17g}", error
        yield asked.record("bounds", "proved", wrong)


# -- properties -------------------------------------------------------------------------------------------------------


def _near(rng: np.random.Generator, value: Fraction, size: Fraction) -> float:
    """Return a limit near a value."""
    return float(value + Fraction(float(rng.choice(OFFSETS))) * size)


def _verdict(
    asked: Judge, kind: str, answer: Any, is_bad: Callable[[Any], bool], wrong_if_holds: Any, margin: Any, detail: str
) -> Record:
    """Judge a verdict: a counterexample must be one; "holds" is false by what ``wrong_if_holds`` says."""
    status = {"holds": "proved", "violated": "refuted", "unknown": "unknown"}[answer.status]
    wrong = wrong_if_holds if answer.status == "holds" else None
    if answer.status == "violated":
        outside = asked.contains(answer.counterexample)
        if outside > 0:
            wrong = "the counterexample is outside", outside
        elif not is_bad(answer.counterexample):
            wrong = f"the counterexample {np.asarray(answer.counterexample).tolist()} is none", 1e-16
    proof, is_edge = getattr(answer, "proof", None), abs(margin) <= EDGE
    return asked.record(kind, status, wrong, detail=detail, is_edge=is_edge, proof=proof)


def judge_holds_outputs(asked: Judge, rng: np.random.Generator) -> Iterator[Record]:
    case, m = asked.case, asked.case.n_out
    for _ in range(4):
        k = int(rng.integers(1, 3))
        C = np.array([_row(rng, m) for _ in range(k)])
        d = np.array([_near(rng, asked.largest(row), asked.size(row)) for row in C])
        excess = max(
            (asked.largest(row) - Fraction(limit)) / asked.size(row) for row, limit in zip(C, d.tolist(), strict=True)
        )
        answer = asked.call(holds, asked.net, case.box, **case.polytope, outputs=(C, d), budget=asked.budget)
        wrong = ("an input is beyond the limits", excess) if excess > 0 else None

        def is_bad(x: Any, C: Any = C, d: Any = d) -> bool:
            return any(
                value > limit
                for value, limit in zip(apply(C, asked.outputs(x)), map(Fraction, d.tolist()), strict=True)
            )

        yield _verdict(
            asked,
            "holds outputs",
            answer,
            is_bad,
            wrong,
            excess,
            f"C={C.tolist()}, d={d.tolist()}, excess {float(excess):.3g}",
        )


def _row(rng: np.random.Generator, m: int) -> Any:
    eye = np.eye(m)
    if m > 1 and rng.random() < 0.5:
        i, j = rng.choice(m, 2, replace=False)
        return eye[i] - eye[j]
    return eye[rng.integers(m)] * rng.choice([-1.0, 1.0])


def judge_never(asked: Judge, rng: np.random.Generator) -> Iterator[Record]:
    case, m = asked.case, asked.case.n_out
    for c in range(max(m, 2)):
        rows = lead(m, c)
        best = largest(asked.regions, rows)
        occurs = best.value > 0 or decision(exact_outputs(case.layers, best.x)) == c
        margin = best.value / max(map(asked.size, rows))
        wrong = ("an input is decided for the class", margin) if occurs else None
        answer = asked.call(holds, asked.net, case.box, **case.polytope, never=c, budget=asked.budget)
        detail = f"never={c}, lead {float(best.value):.6g}"
        yield _verdict(
            asked, "holds never", answer, lambda x, c=c: decision(asked.outputs(x)) == c, wrong, margin, detail
        )


def judge_always(asked: Judge, rng: np.random.Generator) -> Iterator[Record]:
    case, m = asked.case, asked.case.n_out
    eye = np.eye(m)
    for c in range(max(m, 2)):
        if m == 1:
            excess = asked.largest(eye[0]) if c == 0 else asked.largest(-eye[0])
            fails, size = excess > 0 or (c == 1 and excess == 0), asked.size(eye[0])
        else:
            leads = {k: asked.largest(eye[k] - eye[c]) for k in range(m) if k != c}
            fails = any(lead > 0 or (lead == 0 and k < c) for k, lead in leads.items())
            excess, size = max(leads.values()), max(asked.size(eye[k] - eye[c]) for k in leads)
        wrong = ("an input is decided for another class", excess / size) if fails else None
        answer = asked.call(holds, asked.net, case.box, **case.polytope, always=c, budget=asked.budget)
        detail = f"always={c}, excess {float(excess):.6g}"
        yield _verdict(
            asked, "holds always", answer, lambda x, c=c: decision(asked.outputs(x)) != c, wrong, excess / size, detail
        )


def judge_verify(asked: Judge, rng: np.random.Generator) -> Iterator[Record]:
    case, m, n = asked.case, asked.case.n_out, asked.case.n_in
    radius = np.ptp(case.box, axis=1) / 2
    for _ in range(3):
        k = int(rng.integers(1, 4))
        C = np.array([_row(rng, m) for _ in range(k)])
        D = (rng.standard_normal((k, n)) / radius) if rng.random() < 0.3 else np.zeros((k, n))
        rows = np.hstack([-C, -D, np.zeros((k, 1))])
        best = largest(asked.regions, rows).value
        size = max(map(asked.size, C))
        d = _near(rng, -best, size)
        margin = best + Fraction(d)  # the case occurs if it is at least 0
        A, b = (np.zeros((0, n)), np.zeros(0)) if case.A is None else (case.A, case.b)
        prop = Property(n, m, (PropertyCase(case.box, A, b, C, D, np.full(k, d)),))
        answer = asked.call(verify, asked.net, prop, budget=asked.budget)
        wrong = ("the case occurs", margin / size) if margin >= 0 else None

        def is_bad(x: Any, rows: Any = rows, d: float = d) -> bool:
            values = [*asked.outputs(x), *(Fraction(float(v)) for v in x), Fraction(1)]
            return all(value + Fraction(d) >= 0 for value in apply(rows, values))

        detail = (
            f"C={C.tolist()}, D={'zeros' if not D.any() else D.tolist()}, d={d!r}, margin {float(margin / size):.3g}"
        )
        yield _verdict(asked, "verify", answer, is_bad, wrong, margin / size, detail)


def judge_monotone(asked: Judge, rng: np.random.Generator) -> Iterator[Record]:
    case = asked.case
    output = int(rng.integers(case.n_out))
    values = asked.regions.coefficients(np.eye(case.n_out)[output : output + 1])[:, 0]  # (R, n)
    for column in range(case.n_in):
        size = max(max(map(abs, values[:, column])), Fraction(1, 10**300))
        for direction, sign in (("rising", 1), ("falling", -1)):
            worst = min(sign * value for value in values[:, column])
            answer = asked.call(
                monotone,
                asked.net,
                column,
                case.box,
                output=output,
                direction=direction,
                **case.polytope,
                budget=asked.budget,
            )
            wrong = (f"a coefficient is {float(sign * worst):.6g}", -worst / size) if worst < 0 else None
            if answer.status == "violated":
                wrong = _pair_error(asked, answer.counterexample, column, output, sign)
            status = {"holds": "proved", "violated": "refuted", "unknown": "unknown"}[answer.status]
            if status == "unknown":
                wrong = None
            ends = f"worst {float(sign * worst):.6g}, size {float(size):.3g}"
            detail = f"column {column}, output {output}, {direction}, {ends}"
            yield asked.record("monotone", status, wrong, detail=detail, proof=getattr(answer, "proof", None))


def _pair_error(asked: Judge, pair: Any, column: int, output: int, sign: int) -> tuple[str, Any] | None:
    first, second = np.asarray(pair)
    outside = max(asked.contains(first), asked.contains(second))
    if outside > 0:
        return "the counterexample is outside", outside
    others = np.arange(len(first)) != column
    change = asked.outputs(second)[output] - asked.outputs(first)[output]
    if (first[others] != second[others]).any() or first[column] >= second[column] or sign * change >= 0:
        return f"the counterexample {first.tolist()}, {second.tolist()} is none", 1e-16
    return None
