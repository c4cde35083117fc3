"""Rounding in nearest changes: points and bounds hold for the network itself, at every scale."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

import creases
from creases.certify import nearest
from creases.certify._exact import exact_outputs
from creases.certify._form import read_form
from creases.certify._nearest.best import distance_above, exact_margin
from creases.certify._nearest.projection import bound_distance, project
from creases.certify._nodes import root_node
from nearest_cases import NORMS


def scaled_network(seed: int, power: float) -> tuple[creases.Network, Any, dict[str, Any]]:
    """A network whose columns have units of their own, an input, and a box around an offset."""
    rng = np.random.default_rng(seed)
    n, leak = int(rng.integers(1, 4)), float(rng.choice([0.0, 0.1, -0.5, 1.5]))
    scale = 10.0 ** rng.uniform(-power, power, size=n)
    offset = float(rng.choice([0.0, 1.0, 1e3])) * rng.normal(size=n) * scale
    W, c = rng.normal(size=(5, n)) / scale, rng.normal(size=5)
    if seed % 3 == 0:
        W[1], c[1] = W[0], c[0]
    layers = [(W, c - W @ offset), (rng.normal(size=(2, 5)), rng.normal(size=2))]
    x = offset + scale * rng.normal(size=n)
    box = np.column_stack([np.minimum(offset - 3 * scale, x), np.maximum(offset + 3 * scale, x)])
    return creases.read(layers, leak=leak), x, {"weights": 1 / scale, "box": [tuple(pair) for pair in box]}


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 3.0, 8.0]), st.sampled_from(NORMS))
def test_no_sample_is_nearer_than_the_bound_and_the_point_holds_exactly(seed: int, power: float, norm: Any) -> None:
    net, x, options = scaled_network(seed, power)
    change = nearest(net, x, norm=norm, budget=5, **options)
    question = change.question
    if change.point is not None:
        margin = exact_margin(question, change.point)
        assert margin is not None
        assert margin >= 0
        assert question.allows(change.point)
        assert change.distance == distance_above(question, change.point)
    rng = np.random.default_rng(seed)
    radius = min(change.lower_bound, 10.0)
    ways = rng.normal(size=(2000, len(x)))
    ways /= np.array([question.length(row) for row in ways])[:, None]
    points = np.clip(x + radius * rng.random((2000, 1)) * ways / question.weights, question.low, question.high)
    values = question.form.values(points)[0]
    hits = points[np.max([goal.margins(values) for goal in question.goals], axis=0) >= 0]
    for point in hits[:5]:
        inside = distance_above(question, point) < change.lower_bound
        assert not (inside and exact_margin(question, point) >= 0)  # type: ignore[operator]


@pytest.mark.parametrize("norm", NORMS)
def test_a_point_found_while_the_whole_box_is_searched_bounds_the_distance(norm: Any) -> None:
    # The only change lies in the outer quarter of the box, where the search for "nothing at all" finds it.
    net, x, options = scaled_network(701601, 0.0)
    change = nearest(net, x, norm=norm, budget=5, **options)
    assert change.point is not None
    assert change.lower_bound <= change.distance
    assert change.proved


def test_outputs_are_exact_for_convolutions_clamps_and_maxima() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(1, 2, 2), nn.ReLU6(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(2, 2), nn.LeakyReLU(0.1)
    ).double()
    net = creases.read(model, (1, 3, 3))
    x = np.random.default_rng(0).normal(size=9)
    outputs = exact_outputs(net, x)
    assert outputs is not None
    np.testing.assert_allclose([float(z) for z in outputs], net(x.reshape(1, 3, 3)), rtol=1e-13)
    small = creases.read([([[0.1, 0.2]], [0.3])])
    assert exact_outputs(small, np.array([0.7, 1e-30])) == [
        Fraction(0.1) * Fraction(0.7) + Fraction(0.2) * Fraction(1e-30) + Fraction(0.3)
    ]


def test_an_average_of_nine_is_a_ninth_of_the_sum() -> None:
    net, x = creases.read(nn.Sequential(nn.AvgPool2d(3), nn.Flatten()).double(), (1, 3, 3)), np.linspace(0.1, 0.7, 9)
    assert exact_outputs(net, x) == [sum(map(Fraction, x.tolist()), Fraction(0)) / 9]


def test_an_exact_evaluation_of_too_many_products_is_refused() -> None:
    net = creases.read([(np.ones((3, 1)), np.zeros(3)), (np.ones((1, 3)), [0.0])])
    assert [exact_outputs(net, np.ones(1), most) for most in (5, 6)] == [None, [3]]
    assert exact_outputs(net, np.array([np.inf])) is None


def test_products_that_are_rounded_carry_their_error() -> None:
    rng = np.random.default_rng(0)
    A, b = rng.normal(size=(4, 3)), rng.normal(size=4)
    model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1)).double()
    layers = read_form(creases.read(model, (3,)))
    assert not layers.is_known
    assert read_form(creases.read([(A, b), (rng.normal(size=(1, 4)), [0.5])])).is_known
    first, second = (model[i].weight.detach().numpy() for i in (0, 1))
    product = [
        [sum(Fraction(a) * Fraction(c) for a, c in zip(row, col, strict=True)) for col in first.T] for row in second
    ]
    rounded, error = layers.layers[0].W, layers.layers[0].W_error
    assert error is not None
    for i, row in enumerate(product):
        for j, exact in enumerate(row):
            assert abs(exact - Fraction(rounded[i, j])) <= Fraction(error[i, j])


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6))
def test_bounds_at_a_point_contain_the_exact_value_and_that_in_floats(seed: int) -> None:
    net, x, _ = scaled_network(seed, 6.0)
    layers = read_form(net)
    outputs = exact_outputs(net, x)
    assert outputs is not None
    nodes, eye = root_node(layers, x[None], x[None]), np.eye(2)
    ends = -nodes.upper(-eye)[0][0], layers.values(x[None])[0][0], nodes.upper(eye)[0][0]
    for low, value, high, exact in zip(*ends, outputs, strict=True):
        assert low <= value <= high
        assert Fraction(low) <= exact <= Fraction(high)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(NORMS))
def test_multipliers_bound_the_distance_exactly(seed: int, norm: str) -> None:
    rng = np.random.default_rng(seed)
    N, s = np.round(4 * rng.normal(size=(5, 3))) / 4, np.round(4 * rng.normal(size=5)) / 4
    low, high = -rng.random(3), rng.random(3) + 0.5
    near = project(N, s, low, high, norm)
    bound = bound_distance(near.y, near.limits, (N, s, low, high), norm).bound
    if near.u is not None:
        assert (N @ near.u <= s + 1e-9).all()
        length = {"l1": np.abs(near.u).sum(), "l2": np.linalg.norm(near.u), "linf": np.abs(near.u).max()}[norm]
        assert bound == pytest.approx(length, abs=1e-8)
        assert bound <= length + 1e-9
    else:
        assert bound > 1e6


@pytest.mark.parametrize("norm", NORMS)
def test_an_empty_polytope_is_noticed(norm: str) -> None:
    N, free = np.array([[1.0, 0.0], [-1.0, 0.0]]), np.full(2, np.inf)
    found = project(N, np.array([-1.0, -1.0]), -free, free, norm)
    assert bound_distance(found.y, found.limits, (N, np.array([-1.0, -1.0]), -free, free), norm).bound > 1e6
    assert project(N, np.array([1.0, -1.0]), -free, free, norm).u == pytest.approx([1.0, 0.0])
