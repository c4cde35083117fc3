"""The search over boxes of dense networks: its verdicts are true in real arithmetic."""

from __future__ import annotations

import time
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import creases
from creases.certify._boxes import search as search_module
from creases.certify._boxes.chain import read_chain
from creases.certify._boxes.exact import exact_outputs
from creases.certify._boxes.search import is_inside, search_cases
from creases.certify.proofs import check_proof
from creases.certify.properties import Case, Property, verify
from creases.network import Network


def random_network(rng: np.random.Generator, sizes: list[int], scale: np.ndarray, leak: float = 0.0) -> Network:
    layers = [(rng.normal(size=(m, n)), rng.normal(size=m)) for n, m in pairwise(sizes)]
    layers[0] = (layers[0][0] / scale, layers[0][1])
    return creases.read(layers, leak=leak).to(torch.float64)


def limit_case(box: np.ndarray, limit: float) -> Case:
    """The first output is at least a limit."""
    n = len(box)
    return Case(box, np.zeros((0, n)), np.zeros(0), np.array([[-1.0]]), np.zeros((1, n)), np.array([-limit]))


def exact_value(net: Network, x: np.ndarray) -> Fraction:
    """The output in fractions, step by step."""
    h = [Fraction(v) for v in x.tolist()]
    for step in net.steps:
        if step.is_bend:
            leak = Fraction(0) if step.leak is None else Fraction(float(step.leak.flatten()[0]))
            h = [v if v > 0 else leak * v for v in h]
        else:
            W, b = step.tensors["weight"].tolist(), step.offset.tolist()
            h = [
                sum((Fraction(w) * v for w, v in zip(row, h, strict=True)), Fraction(c))
                for row, c in zip(W, b, strict=True)
            ]
    return h[0]


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.1, -0.5, 1.5]))
def test_limits_at_and_next_to_the_largest_value_are_decided_truly_at_any_scale(seed: int, leak: float) -> None:
    rng = np.random.default_rng(seed)
    scale = 10.0 ** rng.integers(-8, 9, size=2)
    net = random_network(rng, [2, 5, 4, 1], scale, leak)
    center = scale * rng.normal(size=2) * rng.choice([1, 100])
    box = np.stack([center - scale, center + scale], axis=1)
    vertices = creases.space(net, box, method="vertices").vertices
    largest = max(exact_value(net, np.clip(x, *box.T)) for x in vertices)
    size = abs(float(largest)) + 1e-3
    for limit in (float(largest) + 1e-6 * size, float(largest) - 1e-6 * size):
        verdict = verify(net, Property(2, 1, (limit_case(box, limit),)), budget=20)
        if verdict.status == "holds":
            assert largest < Fraction(limit)
        if verdict.status == "violated":
            assert exact_value(net, verdict.counterexample) >= Fraction(limit)
        assert verdict.status != "unknown"


def test_exact_outputs_are_those_of_fractions() -> None:
    rng = np.random.default_rng(0)
    for leak in (0.0, 0.3):
        net = random_network(rng, [3, 7, 5, 1], np.array([1e-8, 1.0, 1e8]), leak)
        chain = read_chain(net)
        assert chain is not None
        x = rng.normal(size=3) * np.array([1e-8, 1.0, 1e8])
        assert exact_outputs(chain, x) == [exact_value(net, x)]
        np.testing.assert_allclose(chain.values(x[None])[0], float(exact_value(net, x)), rtol=1e-12)


def test_affine_steps_are_not_multiplied_out_and_other_networks_are_no_chains() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 5), torch.nn.ReLU(), torch.nn.Linear(5, 2))
    chain = read_chain(creases.read(model.double(), (3,)))
    assert chain is not None
    assert [stage.W.shape for stage in chain.stages] == [(4, 3), (5, 4), (2, 5)]
    assert chain.stages[0].leak.tolist() == [1.0] * 4
    conv = torch.nn.Sequential(torch.nn.Conv2d(1, 1, 2), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(4, 1))
    assert read_chain(creases.read(conv.double(), (1, 3, 3))) is None


@pytest.mark.slow
@pytest.mark.parametrize("keep_tree", [False, True])
def test_answers_and_trees_do_not_depend_on_the_number_of_threads(
    keep_tree: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_module, "FIRST", 4)  # several rounds
    net = random_network(np.random.default_rng(3), [4, 20, 20, 1], np.ones(4))
    chain = read_chain(net)
    assert chain is not None
    box = np.array([[-1.0, 1.0]] * 4)
    best = float(np.asarray(net(np.random.default_rng(0).uniform(-1, 1, (5000, 4)))).max())
    answers = [
        search_cases(chain, [limit_case(box, 1.5 * best)], time.monotonic() + 60, threads=n, keep_tree=keep_tree)
        for n in (1, 3)
    ]
    assert answers[0].boxes == answers[1].boxes > 8
    assert answers[0].trees.splits == answers[1].trees.splits
    assert bool(answers[0].trees.splits) == keep_tree
    assert answers[0].is_open == answers[1].is_open


def test_rows_of_inputs_belong_to_a_case() -> None:
    net = creases.read([([[1.0, 1.0]], [0.0]), ([[1.0]], [0.0])])  # relu(x0 + x1)
    box = np.array([[0.0, 1.0]] * 2)
    case = Case(box, np.array([[1.0, 1.0]]), np.array([0.5]), np.array([[-1.0]]), np.zeros((1, 2)), np.array([-0.75]))
    assert verify(net, Property(2, 1, (case,))).status == "holds"
    wide = Case(box, case.A, np.array([1.0]), case.C, case.D, case.d)
    verdict = verify(net, Property(2, 1, (wide,)))
    assert verdict.status == "violated"
    chain = read_chain(net.to(torch.float64))
    assert chain is not None
    assert is_inside(chain, wide, verdict.counterexample)
    assert not is_inside(chain, case, verdict.counterexample)


@pytest.mark.slow
def test_the_budget_ends_a_search_that_cannot_end() -> None:
    net = creases.read([([[1.0, 1.0], [-1.0, -1.0]], [0.0, 0.0]), ([[-1.0, -1.0]], [0.1])])  # 0.1 - |x0 + x1|
    third = float(np.nextafter(0.1, 1.0))  # just above the largest value, by less than rounding
    verdict = verify(net, Property(2, 1, (limit_case(np.array([[-1.0, 1.0]] * 2), third),)), budget=1.0)
    assert verdict.status in ("unknown", "holds")
    assert verdict.seconds < 30


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_trees_of_random_networks_pass_the_check(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scale = 10.0 ** rng.integers(-6, 7, size=3)
    net = random_network(rng, [3, 6, 5, 1], scale, float(rng.choice([0.0, 0.2])))
    box = np.stack([-scale, scale], axis=1)
    best = float(np.asarray(net(rng.uniform(*box.T, (2000, 3)))).max())
    rows = np.array([[1.0, 0.0, 0.0]]) / scale  # the upper half of the first column is left out
    case = limit_case(box, best + 0.2 * abs(best))
    cases = (Case(box, rows, np.zeros(1), case.C, case.D, case.d), case)
    verdict = verify(net, Property(3, 1, cases), proof=True)
    assert verdict.status != "unknown"
    assert verdict.proof is not None
    result = check_proof(verdict.proof, net)
    assert result, str(result)
