"""Differences of two networks in a box: bounds hold, copies are proved close, decisions are compared as samples say."""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.neural_network import MLPClassifier
from torch import nn

import creases
from agreement import seeded
from creases.certify import output_bounds
from creases.certify._exact import exact_outputs
from creases.certify.differences import compare_decisions, difference_bounds, largest_difference, subtract_networks
from creases.certify.differences._bounds import DifferenceBounds, has_same_architecture
from creases.certify.proofs import check_proof
from creases.certify.propagation._linear import LinearBounds
from creases.errors import InputError
from strategies import Case, cases


def network(sizes: list[int], seed: int, scale: float = 0.0, leak: float = 0.0) -> creases.Network:
    """Random weights, and noise of a relative scale on them."""
    rng, noise = np.random.default_rng(seed), np.random.default_rng(99)
    layers = []
    for n, m in pairwise(sizes):
        W, c = rng.normal(size=(m, n)) / np.sqrt(n), 0.3 * rng.normal(size=m)
        layers.append((W * (1 + scale * noise.normal(size=W.shape)), c * (1 + scale * noise.normal(size=m))))
    return creases.read(layers, leak=leak)


def check(a: creases.Network, b: creases.Network, box: list[tuple[float, float]]) -> tuple[np.ndarray, np.ndarray]:
    low, high = difference_bounds(a, b, box)
    x = np.random.default_rng(1).uniform(*np.transpose(box), size=(3000, a.n_in))
    d = (a(x) - b(x)).reshape(len(x), -1)
    slack = 1e-12 * (1 + np.abs(a(x)).max())
    assert (low - slack <= d.min(axis=0)).all()
    assert (d.max(axis=0) <= high + slack).all()
    return low, high


@pytest.mark.slow
@pytest.mark.parametrize("leak", [0.0, 0.2, 1.5, -0.5])
@pytest.mark.parametrize("scale", [1e-4, 0.3])
def test_no_point_of_the_box_is_beyond_the_bounds(leak: float, scale: float) -> None:
    a, b = (network([3, 8, 8, 2], 0, noise, leak) for noise in (0.0, scale))
    for radius in (0.01, 1.0):
        check(a, b, [(0.2 - radius, 0.2 + radius)] * 3)


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner, self.slope, self.out = nn.Linear(3, 3), nn.PReLU(3), nn.Linear(3, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(torch.maximum(x - self.slope(self.inner(x)), torch.abs(x)))


def test_residual_sums_maxima_and_other_leaks_are_bounded_too() -> None:
    model = seeded(Residual().double())
    a = creases.read(model, (3,))
    with torch.no_grad():
        for part in model.parameters():
            part += 0.01 * torch.randn(part.shape, generator=torch.Generator().manual_seed(0), dtype=part.dtype)
    b = creases.read(model, (3,))
    assert has_same_architecture(a, b)
    low, high = check(a, b, [(-1.0, 1.0)] * 3)
    apart = output_bounds(subtract_networks(a, b), (-1, 1))
    assert (high - low < apart[1] - apart[0]).all()


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(1, 3).flatmap(lambda n: cases(n, max_depth=2)), st.floats(0, 0.2))
def test_degenerate_networks_are_bounded(case: Case, scale: float) -> None:
    a = case.net.to(torch.float64)
    assume(a.steps)
    rng = torch.Generator().manual_seed(0)
    steps = [
        type(s)(s.op, s.inputs, s.shape, s.options,
                {k: t + scale * torch.randn(t.shape, generator=rng, dtype=t.dtype) if k in ("weight", "offset") else t
                 for k, t in s.tensors.items()}, s.path)
        for s in a.steps
    ]  # fmt: skip
    check(a, creases.Network(steps, a.input_shape), [tuple(pair) for pair in case.box])


@pytest.fixture(scope="module")
def iris() -> tuple[creases.Network, np.ndarray]:
    X, y = load_iris(return_X_y=True)
    model = MLPClassifier((20, 20), solver="lbfgs", max_iter=2000, random_state=0, alpha=1.0).fit(X, y)
    layers = [(W.T, c) for W, c in zip(model.coefs_, model.intercepts_, strict=True)]
    return creases.read(layers), np.stack([X.min(axis=0), X.max(axis=0)], axis=1)


@pytest.mark.slow
def test_a_copy_in_float16_is_proved_close(iris) -> None:
    a, box = iris
    b = a.to(torch.float16).to(torch.float64)
    found = largest_difference(a, b, box)
    x = np.random.default_rng(0).uniform(*box.T, size=(20_000, 4))
    assert (np.abs(a(x) - b(x)).max(axis=0) <= found.lower * (1 + 1e-9)).all()
    np.testing.assert_allclose(np.diag(np.abs(a(found.where) - b(found.where))), found.lower, rtol=1e-9)
    assert (found.upper <= 8 * found.lower).all()
    apart = np.abs(output_bounds(subtract_networks(a, b), box)).max(axis=0)
    assert (apart > 200 * found.upper).all()
    tighter = largest_difference(a, b, box, budget=3.0)
    assert (tighter.upper <= found.upper * (1 + 1e-9)).all()
    assert (tighter.lower >= found.lower * (1 - 1e-9)).all()
    assert (tighter.lower <= tighter.upper).all()


def test_bounds_of_many_boxes_are_those_of_each() -> None:
    a, b = network([3, 6, 6, 2], 0), network([3, 6, 6, 2], 0, 0.05)
    boxes = torch.tensor([[[-1.0, 1.0]] * 3, [[0.0, 0.5]] * 3, [[0.2, 0.9]] * 3], dtype=torch.float64)
    together = DifferenceBounds(LinearBounds(a, boxes), LinearBounds(b, boxes)).output
    for i in range(3):
        alone = DifferenceBounds(LinearBounds(a, boxes[i : i + 1]), LinearBounds(b, boxes[i : i + 1])).output
        torch.testing.assert_close(together.low[i], alone.low[0])
        torch.testing.assert_close(together.high[i], alone.high[0])


def test_other_architectures_are_not_taken_for_copies() -> None:
    a = network([3, 6, 2], 0)
    assert has_same_architecture(a, network([3, 6, 2], 1))
    assert not has_same_architecture(a, network([3, 7, 2], 0))
    assert not has_same_architecture(a, network([3, 6, 6, 2], 0))
    check(a, network([3, 7, 2], 0), [(-1.0, 1.0)] * 3)


@pytest.mark.parametrize("outputs", [1, 3])
def test_decisions_that_differ_have_a_witness_and_those_that_do_not_a_proof(outputs: int) -> None:
    a, b = network([6, 12, outputs], 0), network([6, 12, outputs], 0, 1e-4)
    center = a(np.zeros(6))
    a, b = (shift_output(net, -center) for net in (a, b))
    found = compare_decisions(a, b, [(-1.0, 1.0)] * 6)  # the boundary passes through 0
    assert found.verdict == "different"
    classes = [int(net(found.witness).argmax()) if outputs > 1 else int(net(found.witness)[0] > 0) for net in (a, b)]
    assert classes[0] != classes[1]
    assert found.classes == tuple(classes)
    x = next(x for x in np.random.default_rng(0).uniform(-1, 1, size=(100, 6)) if margin(a, x) > 0.1)
    near = compare_decisions(a, b, [(v - 0.01, v + 0.01) for v in x])
    assert near.verdict == "same"
    assert "proved" in str(near)


def test_a_network_decides_as_its_multiple_by_proof_or_not_at_all() -> None:
    a = network([5, 6, 2], 3)
    W, c = (a.steps[-1].tensors[key].numpy() for key in ("weight", "offset"))
    b = creases.read([(a.steps[0].tensors["weight"].numpy(), a.steps[0].tensors["offset"].numpy()), (2 * W, 2 * c)])
    assert compare_decisions(a, b, (-1, 1)).witness is None
    assert compare_decisions(a, b, (-1, 1), budget=1).verdict in ("same", "unknown")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_bounds_by_branch_and_bound_have_a_proof(seed: int) -> None:
    a, b = network([3, 4, 2], seed), network([3, 4, 2], seed + 50)
    found = largest_difference(a, b, (-1, 1), budget=10)
    assert found.proof is not None
    assert check_proof(found.proof, a, b)
    np.testing.assert_allclose(found.lower, found.upper, rtol=1e-9)
    assert not check_proof(replace(found.proof, proofs=found.proof.proofs[1:]), a, b)


@pytest.mark.parametrize("seed", range(3))
def test_no_sample_differs_by_more_than_what_the_search_reaches(seed: int) -> None:
    a, b = network([4, 8, 8, 2], seed), network([4, 8, 8, 2], seed + 50)
    found = largest_difference(a, b, (-1, 1))
    x = np.random.default_rng(9).uniform(-1, 1, size=(20_000, 4))
    assert (np.abs(a(x) - b(x)).max(axis=0) <= found.lower).all()
    for j, where in enumerate(found.where):
        values = [exact_outputs(net, where) for net in (a, b)]
        assert abs(values[0][j] - values[1][j]) >= found.lower[j]  # type: ignore[index]


@pytest.mark.slow
def test_a_budget_ends_the_search_of_large_networks() -> None:
    a, b = network([100, 256, 256, 10], 0), network([100, 256, 256, 10], 1)
    began = time.process_time()
    largest_difference(a, b, (-1, 1), budget=1.0)
    assert time.process_time() - began < 2.2


def test_points_to_start_from_are_used_and_checked() -> None:
    a, b = network([6, 12, 2], 0), network([6, 12, 2], 1)
    corner = np.where(np.random.default_rng(3).random(6) < 0.5, -5.0, 5.0)
    found = largest_difference(a, b, (-1, 1), start=[corner])
    moved = np.clip(corner, -1, 1)
    assert (found.lower >= np.abs(a(moved) - b(moved)) * (1 - 1e-12)).all()
    assert (np.abs(found.where) <= 1).all()
    with pytest.raises(InputError, match="start must be finite"):
        largest_difference(a, b, (-1, 1), start=[[np.nan] * 6])


def test_answers_without_a_proof_say_why() -> None:
    a, b = network([3, 4, 2], 0), network([3, 4, 2], 50)
    found = largest_difference(a, b, (-1, 1))
    assert found.proof is None
    assert "give a budget" in found.proof_note
    assert not largest_difference(a, b, (-1, 1), budget=2).proof_note
    first, last = (
        tuple(step.tensors[key].numpy() for key in ("weight", "offset")) for step in (a.steps[0], a.steps[-1])
    )
    double = creases.read([first, (2 * last[0], 2 * last[1])])  # decides alike, which no bound shows
    unknown = compare_decisions(a, double, (-1, 1))
    assert unknown.verdict == "unknown"
    assert unknown.proof_note == "nothing was decided"


def test_verdicts_on_decisions_have_a_proof() -> None:
    a, b = network([6, 12, 3], 0), network([6, 12, 3], 0, 1e-4)
    for box in ((-1, 1), [(v - 0.01, v + 0.01) for v in np.full(6, 0.3)]):
        found = compare_decisions(a, b, box)
        assert found.proof is not None
        assert not found.proof_note
        assert check_proof(found.proof, a, b)
        assert not check_proof(found.proof, b, a)


def shift_output(net: creases.Network, shift: np.ndarray) -> creases.Network:
    last = net.steps[-1]
    moved = last.tensors | {"offset": last.tensors["offset"] + torch.from_numpy(shift)}
    step = type(last)(last.op, last.inputs, last.shape, last.options, moved, last.path)
    return creases.Network([*net.steps[:-1], step], net.input_shape)


def margin(net: creases.Network, x: np.ndarray) -> float:
    y = np.sort(net(x))
    return float(y[-1] - y[-2]) if len(y) > 1 else float(abs(y[0]))
