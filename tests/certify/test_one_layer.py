"""Networks of one layer are decided as an enumeration of all patterns decides, and formulas as all assignments do."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

import creases
from creases.certify.properties import Case, Property, parse_vnnlib, verify


def largest(W: np.ndarray, b: np.ndarray, V: np.ndarray, c: np.ndarray, leak: float, box: np.ndarray) -> float:
    """The largest of the smallest output over a box: a linear program for each pattern."""
    best, n = -np.inf, W.shape[1]
    for pattern in product((0, 1), repeat=len(b)):
        on = np.array(pattern, bool)
        slope = np.where(on, 1.0, leak)
        J, y = V @ (slope[:, None] * W), V @ (slope * b) + c
        sign = np.where(on, -1.0, 1.0)  # z >= 0 where it is on
        A = np.vstack([np.hstack([-J, np.ones((len(y), 1))]), np.hstack([sign[:, None] * W, np.zeros((len(b), 1))])])
        limits = np.concatenate([y, -sign * b])
        found = linprog(np.append(np.zeros(n), -1.0), A, limits, bounds=[*box.tolist(), (None, None)])
        best = max(best, -found.fun) if found.status == 0 else best
    return best


@pytest.mark.parametrize("seed", range(6))
def test_one_layer_is_decided_as_all_its_patterns_are(seed: int) -> None:
    rng = np.random.default_rng(seed)
    leak, k = (0.0, 0.1)[seed % 2], 1 + seed % 3
    W, b, V, c = rng.normal(size=(7, 4)), rng.normal(size=7), rng.normal(size=(k, 7)), rng.normal(size=k)
    box = np.array([[-1.0, 1.0], [-0.5, 2.0], [0.0, 1.0], [-1.0, 0.0]])
    net = creases.read([(W, b), (V, c)], leak=leak)
    top = largest(W, b, V, c, leak, box)
    zeros = np.zeros((0, 4)), np.zeros(0), -np.eye(k), np.zeros((k, 4))
    for away, status in ((1e-3, "holds"), (1e-6, "holds"), (-1e-6, "violated"), (-0.1, "violated")):
        prop = Property(4, k, (Case(box, *zeros, np.full(k, -(top + away))),))
        verdict = verify(net, prop, budget=60)
        assert verdict.status == status
        if verdict.counterexample is not None:
            assert net(verdict.counterexample).min() >= top + away - 1e-12


def formula_network(clauses: list[list[int]], n: int) -> creases.Network:
    """Outputs: minus the clauses that are not satisfied, and how far inputs are from 0 and 1."""
    W, b = np.zeros((len(clauses), n)), np.zeros(len(clauses))
    for j, clause in enumerate(clauses):
        for literal in clause:
            W[j, abs(literal) - 1] -= np.sign(literal)
        b[j] = 1 - sum(literal < 0 for literal in clause)
    hidden = np.vstack([W, np.eye(n), 2 * np.eye(n)])
    offsets = np.concatenate([b, np.zeros(n), -np.ones(n)])
    out = np.zeros((2, len(offsets)))
    out[0, : len(clauses)] = -1.0
    out[1, len(clauses) : len(clauses) + n], out[1, len(clauses) + n :] = 1.0, -1.0
    return creases.read([(hidden, offsets), (out, np.array([1.0, 0.0]))])


@pytest.mark.parametrize("seed", range(8))
def test_a_formula_holds_exactly_if_no_assignment_satisfies_it(seed: int) -> None:
    rng, n = np.random.default_rng(seed), 6
    clauses = [
        ((1 + rng.choice(n, 3, replace=False)) * rng.choice([-1, 1], 3)).tolist() for _ in range(24 + 3 * (seed % 4))
    ]
    is_satisfiable = any(
        all(any((literal > 0) == bool(x[abs(literal) - 1]) for literal in clause) for clause in clauses)
        for x in product((0, 1), repeat=n)
    )
    text = "".join(f"(declare-const X_{i} Real)" for i in range(n)) + "(declare-const Y_0 Real)(declare-const Y_1 Real)"
    text += "".join(f"(assert (>= X_{i} 0))(assert (<= X_{i} 1))" for i in range(n))
    text += "(assert (>= Y_0 1))(assert (<= Y_1 0))"
    verdict = verify(formula_network(clauses, n), parse_vnnlib(text), budget=60)
    assert verdict.status == ("violated" if is_satisfiable else "holds")
    if verdict.counterexample is not None:
        assert set(verdict.counterexample.tolist()) <= {0.0, 1.0}
