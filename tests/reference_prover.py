"""A simple prover for tests: split units (or inputs) until every side is known, and take duals of linear programs.

It knows nothing of the searches. Its multipliers are those of SciPy, which may be wrong: the checker decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from creases.certify.proofs._checker.claims import Claim, GradientClaim, RowClaim
from creases.certify.proofs._checker.parts import Dense
from creases.certify.proofs._checker.program import Affine, Machine, Relu
from creases.certify.proofs._format import Leaf, Multipliers, Tree
from creases.certify.proofs._record import TreeRecord

Array = NDArray[Any]


def piece(machine: Machine, sides: dict[int, int]) -> tuple[Array, Array, Array, Array]:
    """Return all pre-activations ``Z x + z`` (units) and the outputs ``J x + y`` for sides of all units, in floats."""
    n = machine.n_in
    values = [np.hstack([np.eye(n), np.zeros((n, 1))])]
    Z = np.zeros((machine.n_units, n + 1))
    for step in machine.steps:
        if isinstance(step, Affine):
            total = np.zeros((step.size, n + 1))
            for number, part in zip(step.inputs, step.parts, strict=True):
                if isinstance(part, Dense):
                    total += part.M @ values[number]
                else:
                    picked = np.where(part.index[:, None] >= 0, values[number][part.index], 0)
                    total += picked if part.factor is None else picked * part.factor[:, None]
            if step.offset is not None:
                total[:, n] += step.offset.floats
            values.append(total)
        else:
            assert isinstance(step, Relu)
            z = values[step.inputs[0]]
            units = range(step.first, step.first + step.size)
            Z[units] = z
            on = np.array([sides[u] == 1 for u in units])
            values.append(np.where(on, 1.0, step.leak)[:, None] * z)
    return Z[:, :n], Z[:, n], values[-1][:, :n], values[-1][:, n]


def prove(machine: Machine, claim: Claim, *, halves: int = 0) -> Tree:
    """Return a tree: the longest input is halved so many times, then all units are split."""
    record = TreeRecord()
    root = claim.region.root
    _grow(machine, claim, record, 0, root.low.astype(float), root.high.astype(float), {}, halves)
    return record.tree()


def _grow(
    machine: Machine,
    claim: Claim,
    record: TreeRecord,
    node: int,
    low: Array,
    high: Array,
    sides: dict[int, int],
    halves: int,
) -> None:
    if halves:
        j = int((high - low).argmax())
        at = (low[j] + high[j]) / 2
        below, above = high.copy(), low.copy()
        whole = j in claim.region.integer
        below[j], above[j] = (np.floor(at), np.ceil(at)) if whole else (at, at)
        for child, ends in zip(record.split(node, "input", j, at), ((low, below), (above, high)), strict=True):
            _grow(machine, claim, record, child, *ends, sides, halves - 1)
        return
    if len(sides) == machine.n_units:
        record.close(node, _leaf(machine, claim, low, high, sides))
        return
    u = len(sides)
    for child, side in zip(record.split(node, "unit", u), (-1, 1), strict=True):
        _grow(machine, claim, record, child, low, high, {**sides, u: side}, 0)


def _leaf(machine: Machine, claim: Claim, low: Array, high: Array, sides: dict[int, int]) -> Leaf:
    Z, z, J, y = piece(machine, sides)
    s = np.array([sides[u] for u in range(machine.n_units)])
    region = claim.region
    A = np.array([row.astype(float) for row in region.A]).reshape(-1, machine.n_in)
    b = np.array([float(value) for value in region.b])
    if isinstance(claim, GradientClaim):
        part = np.array([row.astype(float) for row in claim.rows]) @ J[:, list(claim.columns)]
        order = {"l1": 1, "l2": 2, "linf": np.inf, None: None}[claim.norm]
        if (part[0, 0] if order is None else np.linalg.norm(part, order)) <= float(claim.limit):
            return Leaf("gradient")
        _, _, beta, mu = _duals(np.zeros((0, machine.n_in)), np.zeros(0), s[:, None] * Z, s * z, A, b, low, high)
        return Leaf("empty", Multipliers(domain=mu, sides=beta))
    assert isinstance(claim, RowClaim)
    C = np.array([row.astype(float) for row in claim.C]).reshape(-1, machine.n_out)
    e = np.array([float(value) for value in claim.e])
    G, c = C @ J, C @ y + e
    if claim.D is not None:
        G = G + np.array([row.astype(float) for row in claim.D])
    value, lam, beta, mu = _duals(G, c, s[:, None] * Z, s * z, A, b, low, high)
    if value is None:
        _, _, beta, mu = _duals(G[:0], c[:0], s[:, None] * Z, s * z, A, b, low, high)
        return Leaf("empty", Multipliers(domain=mu, sides=beta))
    return Leaf("multipliers", Multipliers(lam, mu, beta))


def _duals(
    G: Array, c: Array, S: Array, s: Array, A: Array, b: Array, low: Array, high: Array
) -> tuple[float | None, tuple[float, ...], dict[int, float], dict[int, float]]:
    """Maximize t below all of ``G x + c``, where ``S x + s >= 0``, ``A x <= b``; without rows below the latter two."""
    n, k = len(low), len(c)
    slack = 0.0 if k else 1.0
    left = np.vstack(
        [
            np.hstack([-G, np.ones((k, 1))]),
            np.hstack([-S, np.full((len(s), 1), slack)]),
            np.hstack([A, np.full((len(b), 1), slack)]),
        ]
    )
    right = np.concatenate([c, s, b])
    bounds = [*zip(low, high, strict=True), (None, 1e6)]
    answer: Any = linprog(np.append(np.zeros(n), -1.0), left, right, bounds=bounds, method="highs")
    if answer.status != 0:
        return None, (), {}, {}
    dual = np.maximum(-answer.ineqlin.marginals, 0.0)
    beta = {u: float(v) for u, v in enumerate(dual[k : k + len(s)]) if v}
    mu = {r: float(v) for r, v in enumerate(dual[k + len(s) :]) if v}
    return float(-answer.fun), tuple(float(v) for v in dual[:k]), beta, mu


def exact_values(layers: Sequence[tuple[Any, Any]], x: Sequence[Any], leak: Any = 0) -> list[Fraction]:
    """Return the outputs of a chain of layers at an input in rational arithmetic, written out again."""
    values = [Fraction(v) for v in x]
    for number, (W, b) in enumerate(layers):
        rows = zip(np.asarray(W, float).tolist(), np.asarray(b, float).tolist(), strict=True)
        values = [sum((Fraction(w) * v for w, v in zip(row, values, strict=True)), Fraction(c)) for row, c in rows]
        if number + 1 < len(layers):
            values = [v if v > 0 else Fraction(leak) * v for v in values]
    return values
