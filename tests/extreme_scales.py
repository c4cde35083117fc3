"""Networks whose weights, offsets and boxes are of any scale from 1e-320 to 1e300, and answers about them judged.

What is true is found along segments through the box, in fractions: where units change side, and what the network and
its slopes are between these points. With one input a segment is the whole box, so extremes are known exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Any

import numpy as np

import creases
from creases.certify import holds, lipschitz, monotone, nearest, output_bounds, output_range, unit_bounds
from creases.certify.differences import compare_decisions, difference_bounds, largest_difference
from creases.certify.proofs import check_proof
from creases.certify.properties import Case, Property, verify

Vector = list[Fraction]


@dataclass(frozen=True, eq=False)
class ExtremeCase:
    """A plain network of ReLUs, or of leaky ones, and a box."""

    layers: tuple[tuple[Any, Any], ...]  #: W (m, n) and b (m,) of each
    leak: float
    box: Any  #: (n, 2)

    def net(self) -> Any:
        return creases.read(list(self.layers), leak=self.leak)


def chain_case(seed: int) -> ExtremeCase:
    """Return a chain of single units on one input, whose product of weights is of an ordinary size half of the time."""
    rng = np.random.default_rng([seed, 1])
    depth = int(rng.integers(2, 7))
    powers = rng.uniform(-200, 200, depth)
    if rng.random() < 0.7:
        powers[-1] = np.clip(rng.uniform(-10, 10) - powers[:-1].sum(), -320, 300)
    layers = []
    for power in powers:
        weight = _scaled(rng, power) * (1.0 if rng.random() < 0.8 else -1.0)
        offset = 0.0 if rng.random() < 0.6 else _scaled(rng, rng.uniform(-320, 300)) * rng.choice([-1.0, 1.0])
        layers.append((np.array([[weight]]), np.array([offset])))
    return ExtremeCase(tuple(layers), _leak(rng), _box(rng, 1))


def network_case(seed: int) -> ExtremeCase:
    """Return a small network with units in units of any scale, which the next layer mostly takes back."""
    rng = np.random.default_rng([seed, 2])
    n, depth, m = int(rng.integers(1, 4)), int(rng.integers(1, 4)), int(rng.integers(1, 4))
    widths = [n, *(int(rng.integers(1, 5)) for _ in range(depth)), m]
    box = _box(rng, n)
    reach = float(rng.choice([10.0, 100.0, 160.0, 300.0]))
    before = np.log10(np.maximum(np.abs(box).max(axis=1), 1e-320))
    layers = []
    for k in range(depth + 1):
        after = rng.uniform(-reach, reach, widths[k + 1]) if k < depth else rng.uniform(-2, 2, m)
        power = (
            np.clip(after[:, None] - before[None], -320, 300)
            if rng.random() < 0.85
            else rng.uniform(-reach, reach, (widths[k + 1], widths[k]))
        )
        W = rng.standard_normal(power.shape) * 10.0 ** np.clip(power, -323, 300)
        W[rng.random(W.shape) < 0.2] = 0.0
        b = rng.standard_normal(len(W)) * 10.0 ** np.clip(after, -323, 300) * (rng.random(len(W)) < 0.5)
        layers.append((W, b))
        before = after
    return ExtremeCase(tuple(layers), _leak(rng), box)


def _scaled(rng: np.random.Generator, power: float) -> float:
    return float(rng.uniform(0.1, 1.0) * 10.0 ** np.clip(power, -323, 300))


def _leak(rng: np.random.Generator) -> float:
    return float(rng.choice([0.0, 0.0, 0.0, 0.01, 1e-200, 3.0, -0.5]))


def _box(rng: np.random.Generator, n: int) -> Any:
    power = rng.choice([0.0, rng.uniform(-10, 10), rng.uniform(-320, 300)], n)
    ends = np.sort(rng.uniform(-1, 1, (n, 2)) * 10.0 ** power[:, None], axis=1)
    ends[:, 1] = np.where(ends[:, 1] > ends[:, 0], ends[:, 1], np.nextafter(ends[:, 0], np.inf))
    return ends


# -- what is true -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Truth:
    """Points of segments through the box, with all values there."""

    points: list[Vector]
    entering: list[list[Vector]]  #: at each point, for each layer what enters its units; the last one is the output
    slopes: list[list[Vector]]  #: (m, n) coefficients of regions that meet a segment in more than a point

    def outputs(self) -> list[Vector]:
        return [values[-1] for values in self.entering]


def find_truth(case: ExtremeCase, seed: int = 0, segments: int = 6) -> Truth:
    """Return what is known of a network; with one input its extremes are among the points."""
    rng = np.random.default_rng([seed, 3])
    low, high = ([Fraction(v) for v in end.tolist()] for end in case.box.T)
    layers = [_as_fractions(W, b) for W, b in case.layers]
    truth = Truth([], [], [])
    for k in range(1 if len(low) == 1 else segments):
        ends = [low, high]
        if len(low) > 1 and k:
            shares = [[Fraction(float(v)) for v in rng.choice([0.0, 1.0, rng.random()], len(low))] for _ in range(2)]
            ends = [[a + s * (b - a) for a, b, s in zip(low, high, share, strict=True)] for share in shares]
        start, way = ends[0], [b - a for a, b in zip(*ends, strict=True)]
        stops = _stops(layers, Fraction(case.leak), start, way)
        for at in stops:
            x = [a + at * w for a, w in zip(start, way, strict=True)]
            truth.points.append(x)
            truth.entering.append(_values(layers, Fraction(case.leak), x))
        for left, right in pairwise(stops):
            x = [a + (left + right) / 2 * w for a, w in zip(start, way, strict=True)]
            slopes = _slopes(layers, Fraction(case.leak), x)
            if slopes is not None:
                truth.slopes.append(slopes)
    return truth


def _as_fractions(W: Any, b: Any) -> tuple[list[Vector], Vector]:
    return [[Fraction(v) for v in row] for row in W.tolist()], [Fraction(v) for v in b.tolist()]


def _stops(layers: Any, leak: Fraction, start: Vector, way: Vector) -> Vector:
    """Return the numbers from 0 to 1 at which units change side along a segment, and both ends."""
    stops = [Fraction(0), Fraction(1)]
    for depth in range(len(layers) - 1):
        found = set(stops)
        for left, right in pairwise(stops):
            ends = [_values(layers, leak, [a + t * w for a, w in zip(start, way, strict=True)])[depth]
                    for t in (left, right)]  # fmt: skip
            for a, b in zip(*ends, strict=True):
                if a * b < 0:
                    found.add(left + (right - left) * a / (a - b))
        stops = sorted(found)
    return stops


def _values(layers: Any, leak: Fraction, x: Vector) -> list[Vector]:
    values, h = [], x
    for W, b in layers:
        z = [sum((w * v for w, v in zip(row, h, strict=True) if w and v), c) for row, c in zip(W, b, strict=True)]
        values.append(z)
        h = [v if v > 0 else leak * v for v in z]
    return values


def _slopes(layers: Any, leak: Fraction, x: Vector) -> list[Vector] | None:
    """Return the coefficients of the region of x; None on a crease."""
    n = len(x)
    values = _values(layers, leak, x)
    rows = [[Fraction(int(i == j)) for j in range(n)] for i in range(n)]
    for k, (W, _) in enumerate(layers):
        rows = [[sum((w * row[j] for w, row in zip(weights, rows, strict=True) if w), Fraction(0)) for j in range(n)]
                for weights in W]  # fmt: skip
        if k < len(layers) - 1:
            if any(z == 0 and any(row) for z, row in zip(values[k], rows, strict=True)):
                return None
            rows = [[v if z > 0 else leak * v for v in row] for z, row in zip(values[k], rows, strict=True)]
    return rows


# -- answers ----------------------------------------------------------------------------------------------------------


def judge(case: ExtremeCase, seed: int, budget: float, questions: Sequence[str] = ()) -> Iterator[tuple[str, str]]:
    """Yield (question, what is wrong) of every answer that is false, refused, or an exception; by default of all."""
    truth, net = find_truth(case, seed), case.net()
    for name in questions or QUESTIONS:
        question = QUESTIONS[name]
        rng = np.random.default_rng([seed, 4])
        try:
            problems = list(question(case, net, truth, budget, rng))
        except Exception as problem:
            problems = [f"{type(problem).__name__}: {problem}"]
        yield from ((name, problem) for problem in problems)


def _outside(low: float, high: float, values: Vector, what: str) -> Iterator[str]:
    if not all((low == -np.inf or Fraction(low) <= v) and (high == np.inf or v <= Fraction(high)) for v in values):
        yield f"{what}: {low:.17g} to {high:.17g}, reached {_show(min(values))} to {_show(max(values))}"


def _show(value: Fraction) -> str:
    try:
        return f"{float(value):.17g}"
    except OverflowError:
        return "beyond 1e308"


def _refused(proof: Any, *nets: Any) -> Iterator[str]:
    if proof is not None:
        answer = check_proof(proof, *nets)
        if not answer:
            yield f"own proof {answer}"


def _bounds(case: ExtremeCase, net: Any, truth: Truth, budget: float, rng: Any) -> Iterator[str]:
    for method in ("interval", "linear"):
        low, high = output_bounds(net, case.box, method=method)
        for i in range(net.n_out):
            yield from _outside(float(low[i]), float(high[i]), [y[i] for y in truth.outputs()], f"{method} {i}")
        for k, (low, high) in enumerate(unit_bounds(net, case.box, method=method)):
            for i in range(len(low)):
                values = [entering[k][i] for entering in truth.entering]
                yield from _outside(float(low[i]), float(high[i]), values, f"{method} unit {k} {i}")


def _ranges(case: ExtremeCase, net: Any, truth: Truth, budget: float, rng: Any) -> Iterator[str]:
    outputs, differences = (output_range(net, case.box, quantity=q, budget=budget) for q in ("outputs", "differences"))
    asked = [(outputs, (i,), lambda y, i=i: y[i]) for i in range(net.n_out)]
    pairs = combinations(range(net.n_out), 2)
    asked += [(differences, (i, j), lambda y, i=i, j=j: y[i] - y[j]) for i, j in pairs]
    for answer, index, value in asked:
        values = [value(y) for y in truth.outputs()]
        yield from _outside(float(answer.low[index]), float(answer.high[index]), values, f"range {index}")
        yield from _reaches(case, answer, index, value)
    yield from _refused(outputs.proof, net)
    yield from _refused(differences.proof, net)


def _reaches(case: ExtremeCase, answer: Any, index: Any, value: Callable[[Vector], Fraction]) -> Iterator[str]:
    layers = [_as_fractions(W, b) for W, b in case.layers]
    for sign, reached, where in ((-1, answer.minimum, answer.argmin), (1, answer.maximum, answer.argmax)):
        if np.isfinite(reached[index]):
            y = _values(layers, Fraction(case.leak), [Fraction(v) for v in where[index].tolist()])[-1]
            if sign * (value(y) - Fraction(float(reached[index]))) < 0:
                yield f"{index} {reached[index]:.17g} is not reached, {_show(value(y))}"


def _coefficients(case: ExtremeCase, net: Any, truth: Truth, budget: float, rng: Any) -> Iterator[str]:
    answer = output_range(net, case.box, quantity="coefficients", budget=budget)
    for i in range(net.n_out):
        for j in range(net.n_in):
            values = [slopes[i][j] for slopes in truth.slopes]
            if values:
                yield from _outside(float(answer.low[i, j]), float(answer.high[i, j]), values, f"coefficient {i} {j}")
            if net.n_in == 1 and values:
                for sign, reached in ((-1, answer.minimum[i, j]), (1, answer.maximum[i, j])):
                    if np.isfinite(reached) and max(sign * v for v in values) < sign * Fraction(float(reached)):
                        yield f"coefficient {i} {j}: {reached:.17g} is not reached"
    yield from _refused(answer.proof, net)


def _norms(case: ExtremeCase, net: Any, truth: Truth, budget: float, rng: Any) -> Iterator[str]:
    for norm in ("l1", "l2", "linf"):
        answer = lipschitz(net, case.box, norm, budget=budget)  # type: ignore[arg-type]
        for slopes in truth.slopes:
            columns = [sum(abs(row[j]) for row in slopes) for j in range(net.n_in)]
            sums = columns if norm == "l1" else [sum(map(abs, row)) for row in slopes]
            least: Any = max(sums)
            if norm == "l2":  # no entry is larger than the norm
                least = max(abs(value) for row in slopes for value in row)
            if answer.upper < least:
                yield f"{norm} of the Jacobian at most {answer.upper:.17g}, reached {_show(Fraction(least))}"
        if net.n_in == 1 and truth.slopes:
            each = [[abs(row[0]) for row in slopes] for slopes in truth.slopes]
            sizes = {"l1": map(sum, each), "linf": map(max, each), "l2": (sum(v * v for v in row) for row in each)}
            lower = Fraction(answer.lower) ** (2 if norm == "l2" else 1)
            if lower > max(sizes[norm]):
                yield f"{norm} of the Jacobian {answer.lower:.17g} is not reached"
        yield from _refused(answer.proof, net)


def _holds(case: ExtremeCase, net: Any, truth: Truth, budget: float, rng: Any) -> Iterator[str]:
    values, row = [y[0] for y in truth.outputs()], np.eye(1, net.n_out)
    for d in _limits(values):
        answer = holds(net, case.box, outputs=(row, [d]), budget=budget)
        if answer.status == "holds" and max(values) > Fraction(d):
            yield f"outputs at most {d:.17g} holds, reached {_show(max(values))}"
        yield from _refused(answer.proof, net)
    decisions = {_decision(y) for y in truth.outputs()}
    for c in range(max(net.n_out, 2)):
        answer = holds(net, case.box, never=c, budget=budget)
        if answer.status == "holds" and c in decisions:
            yield f"never {c} holds, but is decided"
        yield from _refused(answer.proof, net)
        answer = holds(net, case.box, always=c, budget=budget)
        if answer.status == "holds" and decisions - {c}:
            yield f"always {c} holds, but others are decided"
        yield from _refused(answer.proof, net)


def _limits(values: Vector) -> list[float]:
    """Return limits to ask about: what is reached, and half-way."""
    limits = max(values), (max(values) + min(values)) / 2
    return [float(limit) for limit in limits if abs(limit) < Fraction(np.finfo(float).max)]


def _decision(y: Vector) -> int:
    return int(y[0] > 0) if len(y) == 1 else y.index(max(y))


def _verify(case: ExtremeCase, net: Any, truth: Truth, budget: float, rng: Any) -> Iterator[str]:
    values = [y[0] for y in truth.outputs()]
    n, m = net.n_in, net.n_out
    for d in _limits(values):
        part = Case(case.box, np.zeros((0, n)), np.zeros(0), -np.eye(1, m), np.zeros((1, n)), np.array([-d]))
        answer = verify(net, Property(n, m, (part,)), budget=budget, proof=True)
        if answer.status == "holds" and max(values) >= Fraction(d):
            yield f"outputs below {d:.17g} holds, reached {_show(max(values))}"
        yield from _refused(answer.proof, net)


def _monotone(case: ExtremeCase, net: Any, truth: Truth, budget: float, rng: Any) -> Iterator[str]:
    for column in range(net.n_in):
        for direction, sign in (("rising", 1), ("falling", -1)):
            answer = monotone(net, column, case.box, direction=direction, budget=budget)  # type: ignore[arg-type]
            if answer.status == "holds" and any(sign * slopes[0][column] < 0 for slopes in truth.slopes):
                yield f"{direction} in {column} holds"
            yield from _refused(answer.proof, net)


def _nearest(case: ExtremeCase, net: Any, truth: Truth, budget: float, rng: Any) -> Iterator[str]:
    x = np.clip(case.box.mean(axis=1), *case.box.T)
    layers = [_as_fractions(W, b) for W, b in case.layers]
    start = [Fraction(v) for v in x.tolist()]
    before = _decision(_values(layers, Fraction(case.leak), start)[-1])
    for norm in ("l1", "l2", "linf"):
        answer = nearest(net, x, norm=norm, box=case.box, budget=budget)
        if answer.predicted != before:
            yield f"{norm}: predicted {answer.predicted}, not {before}"
        for point, y in zip(truth.points, truth.outputs(), strict=True):
            if _decision(y) == before:
                continue
            away = [abs(a - b) for a, b in zip(point, start, strict=True)]
            length = {"l1": sum(away), "linf": max(away), "l2": sum(v * v for v in away)}[norm]
            bound = answer.lower_bound
            if bound == np.inf or length < (Fraction(bound) ** 2 if norm == "l2" else Fraction(bound)):
                yield f"{norm}: lower bound {bound:.17g}, another decision is nearer"
                break
        yield from _refused(answer.proof, net)


def _two_networks(case: ExtremeCase, net: Any, truth: Truth, budget: float, rng: Any) -> Iterator[str]:
    changed = [(W * (1 + 1e-3 * rng.standard_normal(W.shape)), b) for W, b in case.layers]
    copy = ExtremeCase((*case.layers[:-1], (0 * case.layers[-1][0], case.layers[-1][1])), case.leak, case.box)
    for twin in (copy, ExtremeCase(tuple(changed), case.leak, case.box)):
        other = [_as_fractions(W, b) for W, b in twin.layers]
        outputs = [(y, _values(other, Fraction(case.leak), x)[-1]) for x, y in zip(truth.points, truth.outputs(),
                                                                                 strict=True)]  # fmt: skip
        second = twin.net()
        low, high = difference_bounds(net, second, case.box)
        answer = largest_difference(net, second, case.box, budget=budget)
        for i in range(net.n_out):
            values = [a[i] - b[i] for a, b in outputs]
            yield from _outside(float(low[i]), float(high[i]), values, f"difference of networks {i}")
            yield from _outside(-np.inf, float(answer.upper[i]), [abs(v) for v in values], f"largest difference {i}")
        yield from _refused(answer.proof, net, second)
        compared = compare_decisions(net, second, case.box, budget=budget)
        if compared.verdict == "same" and any(_decision(a) != _decision(b) for a, b in outputs):
            yield "both decide alike, but do not"
        yield from _refused(compared.proof, net, second)


QUESTIONS: dict[str, Callable[..., Iterator[str]]] = {
    "bounds": _bounds,
    "ranges": _ranges,
    "range of coefficients": _coefficients,
    "lipschitz": _norms,
    "holds": _holds,
    "verify": _verify,
    "monotone": _monotone,
    "nearest": _nearest,
    "two networks": _two_networks,
}
