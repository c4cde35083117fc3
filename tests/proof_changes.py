"""Nearest changes of decision and differences of two networks, judged."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from creases.certify import nearest
from creases.certify.differences import compare_decisions, largest_difference
from proof_cases import Case, build
from proof_judge import ROUNDING, Judge, Record, apply, decision, lead
from rational_answers import complete, largest, nearest_distance
from rational_regions import Layer, exact_outputs, regions


def judge_nearest(asked: Judge, rng: np.random.Generator, norm: str, kind: str = "") -> Iterator[Record]:
    case = asked.case
    low, high = case.box.T
    for _ in range(2):
        x = rng.uniform(low, high)
        weights = 2.0 / (high - low) if rng.random() < 0.8 else None
        answer = asked.call(nearest, asked.net, x, norm=norm, box=case.box, weights=weights, budget=asked.budget)
        yield _judge_change(asked, kind or f"nearest {norm}", answer, x, weights, norm, [asked.whole], case.box, ())


def judge_integer(asked: Judge, rng: np.random.Generator) -> Iterator[Record]:
    """Columns that are whole numbers: the box is stretched so that they have a few values, one network each."""
    case, n = asked.case, asked.case.n_in
    column = int(rng.integers(n))
    low, high = (float(end) for end in case.box[column])
    if not 1 <= high - low <= 100:
        start = float(np.round(low))
        factor = (high - low) / 3.0
        first = case.layers[0]
        W, b = first.W.copy(), first.b + first.W[:, column] * (low - factor * start)
        W[:, column] *= factor
        layers = [Layer(W, b, first.bend), *case.layers[1:]]
        low, high = start, start + 3.0
    else:
        layers = case.layers
    box = case.box.copy()
    box[column] = low, high
    changed = Case(case.seed, case.scale, layers, layers, box, None, None)
    other = Judge(changed, asked.budget, asked.limit)
    x = rng.uniform(*box.T)
    x[column] = np.clip(np.round(x[column]), np.ceil(low), np.floor(high))
    norm = str(rng.choice(["l1", "l2", "linf"]))
    weights = 2.0 / np.ptp(box, axis=1)
    answer = asked.call(
        nearest, other.net, x, norm=norm, box=box, weights=weights, integer=[column], budget=asked.budget
    )
    parts = []
    for value in np.arange(np.ceil(low), np.floor(high) + 1):
        part = box.copy()
        part[column] = value
        parts.append(regions([layers], part, limit=asked.limit))
    yield _judge_change(other, "nearest integer", answer, x, weights, norm, parts, box, (column,))


def judge_unbounded(asked: Judge, rng: np.random.Generator) -> Iterator[Record]:
    """No box: the regions in the ball of the answer; where none is said to exist, those of a large box."""
    case = asked.case
    low, high = case.box.T
    x, norm, weights = rng.uniform(low, high), str(rng.choice(["l1", "l2", "linf"])), 2.0 / (high - low)
    answer = asked.call(nearest, asked.net, x, norm=norm, weights=weights, budget=asked.budget)
    radius = max(1.001 * answer.distance, 0.01) if answer.point is not None else 1000.0
    box = np.stack([x - radius / weights, x + radius / weights], axis=1)
    found = regions([case.layers], box, limit=asked.limit)
    yield _judge_change(asked, "nearest unbounded", answer, x, weights, norm, [found], None, ())


def _judge_change(
    asked: Judge, kind: str, answer: Any, x: Any, weights: Any, norm: str, parts: Any, box: Any, integer: Any
) -> Record:
    """Judge the nearest change; ``parts`` are the regions of all inputs that may be looked at."""
    n = len(x)
    scale = np.ones(n) if weights is None else weights
    exact = asked.outputs(x)
    wrong = None
    decided = decision(exact)
    goals = _goals(len(exact), answer.predicted)
    if decided != answer.predicted:
        wrong = f"the input is decided for {decided}, not {answer.predicted}", 1e-16
    found = [nearest_distance(part, x, scale, norm, goals) for part in parts]
    bounds = [(part.lower, part.upper) for part in found if part is not None]
    lower = min((part[0] for part in bounds), default=None)
    upper = min((part[1] for part in bounds), default=None)
    power = 2 if norm == "l2" else 1
    root = None if upper is None else float(upper) ** (1 / power)
    detail = f"true distance {root!r}, claims {answer.lower_bound!r} to {answer.distance!r}, x={x.tolist()}, {norm}"
    if wrong is None and upper is not None:
        if np.isinf(answer.lower_bound):
            wrong = "there is an input with another decision", 1.0
        elif Fraction(float(answer.lower_bound)) ** power > upper:
            wrong = (
                f"nearer than the lower bound {answer.lower_bound!r}: {root!r}",
                answer.lower_bound / max(root, 1e-300) - 1,
            )
    if wrong is None and lower is not None and np.isfinite(answer.distance):
        least = float(lower) ** (1 / power)
        if answer.distance < least * (1 - ROUNDING):
            wrong = f"distance {answer.distance!r} below the least, {least!r}", 1 - answer.distance / least
    if wrong is None and answer.point is not None:
        wrong = _point_error(asked, answer, x, scale, norm, goals, box, integer)
    status = "proved" if answer.proved else "unknown"
    return asked.record(kind, status, wrong, detail=detail, proof=getattr(answer, "proof", None))


def _goals(m: int, predicted: int) -> list[Any]:
    if m == 1:
        return [np.array([[-1.0 if predicted else 1.0]])]
    eye = np.eye(m)
    return [(eye[k] - eye[predicted])[None] for k in range(m) if k != predicted]


def _point_error(
    asked: Judge, answer: Any, x: Any, scale: Any, norm: str, goals: Any, box: Any, integer: Any
) -> tuple[str, Any] | None:
    point = np.asarray(answer.point, float)
    y = asked.outputs(point)
    margin = max(min(apply(goal, y)) for goal in goals)
    if margin < 0:
        return "the point has the same decision", -margin / max(max(map(abs, y)), Fraction(1, 10**300))
    if box is not None and ((point < box[:, 0]) | (point > box[:, 1])).any():
        return "the point is outside the box", 1.0
    if any(point[j] != np.round(point[j]) for j in integer):
        return "a column of the point is no whole number", 1.0
    v = [
        Fraction(float(s)) * (Fraction(float(p)) - Fraction(float(a))) for s, p, a in zip(scale, point, x, strict=True)
    ]
    sizes = [abs(value) for value in v]
    length = {"l1": float(sum(sizes)), "linf": float(max(sizes)), "l2": float(sum(s * s for s in sizes)) ** 0.5}[norm]
    if abs(length - answer.distance) > ROUNDING * length:
        return f"the point is at distance {length!r}, not {answer.distance!r}", abs(length - answer.distance) / length
    return None


# -- two networks -----------------------------------------------------------------------------------------------------


def judge_largest_difference(asked: Judge, rng: np.random.Generator) -> Iterator[Record]:
    case, m = asked.case, asked.case.n_out
    other = build(case.other)
    answer = asked.call(largest_difference, asked.net, other, case.box, budget=asked.budget)
    for j in range(m):
        row = np.zeros(2 * m)
        row[j], row[m + j] = 1.0, -1.0
        most = max(largest(asked.joint, np.array([sign * row])).value for sign in (1.0, -1.0))
        ends = [largest(asked.joint, sign * np.eye(2 * m)[j][None]).value for sign in (1.0, -1.0)]
        size = max(*map(abs, ends), Fraction(1, 10**300))
        lower, upper = float(answer.lower[j]), float(answer.upper[j])
        wrong = None
        if Fraction(upper) < most:
            wrong = f"upper {upper!r} and {float(most)!r} is reached", (most - Fraction(upper)) / size
        elif (Fraction(lower) - most) / size > ROUNDING:
            wrong = f"lower {lower!r} and no more than {float(most)!r} exists", (Fraction(lower) - most) / size
        status = "proved" if upper - lower <= 1e-5 * upper or upper == 0 else "unknown"
        detail = f"output {j}, true {float(most):.9g}, claims {lower:.9g} to {upper:.9g}"
        yield asked.record(
            "largest difference",
            status,
            wrong,
            detail=detail,
            nets=(asked.net, other),
            proof=getattr(answer, "proof", None),
        )


def judge_compare_decisions(asked: Judge, rng: np.random.Generator) -> Iterator[Record]:
    case, m = asked.case, asked.case.n_out
    other = build(case.other)
    answer = asked.call(compare_decisions, asked.net, other, case.box, budget=asked.budget)
    status = {"same": "proved", "different": "refuted", "unknown": "unknown"}[answer.verdict]
    wrong = None
    if answer.verdict == "different":
        x = np.asarray(answer.witness, float).tolist()
        classes = tuple(decision(exact_outputs(layers, x)) for layers in (case.layers, case.other))
        if classes[0] == classes[1] or classes != tuple(answer.classes):
            wrong = f"at the witness both decide for {classes}, not {answer.classes}", 1e-16
    elif answer.verdict == "same":
        wrong = _disagreement(asked, m)
    yield asked.record("decisions", status, wrong, nets=(asked.net, other), proof=getattr(answer, "proof", None))


def _disagreement(asked: Judge, m: int) -> tuple[str, Any] | None:
    """Return what is wrong with "same": an input that the networks decide differently."""
    for i in range(max(m, 2)):
        for j in range(max(m, 2)):
            if i == j:
                continue
            first, second = lead(m, i), lead(m, j)
            rows = np.vstack([np.hstack([first, 0 * first]), np.hstack([0 * second, second])])
            best = largest(asked.joint, complete(asked.joint, rows))
            decided = tuple(decision(exact_outputs(layers, best.x)) for layers in (asked.case.layers, asked.case.other))
            if best.value > 0 or (best.value == 0 and decided[0] != decided[1]):
                return f"they differ at {[float(v) for v in best.x]}: {decided}", max(float(best.value), 1e-16)
    return None
