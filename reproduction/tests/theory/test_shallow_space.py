"""Deep networks of several inputs with few hidden layers: the same function, in rational arithmetic and in float64."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import nn

import creases
from creases.certify.differences import subtract_networks
from creases.errors import InputError
from creases_reproduction.splines.theory.shallow_space.convex_parts import point_parts, region_parts
from creases_reproduction.splines.theory.shallow_space.shallow_space import to_shallow_space
from creases_reproduction.splines.theory.shallow_space.triangulation import triangulate
from strategies import Case, cases

DEPTHS = {1: 1, 2: 2, 3: 2, 4: 3}


def network(*widths, bend=nn.ReLU, seed=0):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        layers = [layer for a, b in pairwise(widths) for layer in (nn.Linear(a, b), bend())]
        return nn.Sequential(*layers[:-1]).double()


def exact_values(case, point):
    """Return the outputs of a case's network at a point, in rational arithmetic."""
    values = [Fraction(x) for x in point]
    for number, (weight, bias) in enumerate(case.layers):
        values = [
            sum((Fraction(w) * v for w, v in zip(row, values, strict=True)), Fraction(b))
            for row, b in zip(weight.tolist(), bias.tolist(), strict=True)
        ]
        if number + 1 < len(case.layers):
            values = [max(v, 0) + Fraction(case.leak) * min(v, 0) for v in values]
    return values


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 4), st.integers(1, 12), st.integers(1, 3), st.integers(0, 2**32 - 1))
def test_signed_maxima_of_few_sum_to_the_maximum_of_all(n, count, size, seed):
    rng = np.random.default_rng(seed)
    terms = rng.integers(-size, size + 1, (count, n + 1)).astype(object)  # small integers: many ties
    found = triangulate(terms, max_simplices=10_000)
    assert max(len(simplex) for simplex in found.simplices) <= n + 1
    for point in rng.integers(-9, 10, (20, n)).tolist():
        values, kept = (t[:, :-1] @ np.array(point, dtype=object) + t[:, -1] for t in (terms, found.terms))
        total = sum(sign * max(kept[k] for k in face) for face, sign in found.signed_faces().items())
        assert total == values.max()


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(cases(max_depth=3, max_width=4))
def test_the_convex_parts_are_the_network_in_rational_arithmetic(case: Case):
    box = np.array(case.box)
    points = np.random.default_rng(0).uniform(box[:, 0], box[:, 1], (3, len(box)))
    parts = point_parts(case.net, points)
    for point, above, below in zip(points.tolist(), parts.F[..., 0], parts.G[..., 0], strict=True):
        assert [Fraction(int(d), 2**parts.shift) for d in above - below] == exact_values(case, point)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(cases(max_depth=3, max_width=3))
def test_degenerate_networks_are_the_same_function(case: Case):
    shallow = to_shallow_space(case.net, case.box)
    box = np.array(case.box)
    points = np.random.default_rng(1).uniform(box[:, 0], box[:, 1], (200, len(box)))
    parts = point_parts(case.net, points)
    size = float(np.abs(parts.F).max() + np.abs(parts.G).max()) / 2**parts.shift or 1.0  # of what is subtracted
    values = case.net(points)
    assert shallow.gap <= 1e-12 * size
    assert shallow.deviation <= 1e-12 * size
    assert np.abs(creases.read(shallow.module)(points) - values).max() <= 1e-12 * size
    assert len(shallow.widths) <= DEPTHS[len(box)]


@pytest.mark.parametrize("widths", [(1, 4, 4, 1), (2, 3, 3, 3, 2), (3, 3, 3, 3, 1), (4, 2, 2, 2, 2, 1)])
def test_a_deep_network_of_n_inputs_has_few_hidden_layers(widths):
    model = network(*widths)
    shallow = to_shallow_space(model, (-2, 2))
    x = np.random.default_rng(0).uniform(-2, 2, size=(2000, widths[0]))
    assert np.abs(creases.read(model)(x) - creases.read(shallow.module)(x)).max() < 1e-12
    assert len(shallow.widths) <= DEPTHS[widths[0]]
    assert all(torch.isfinite(p).all() for p in shallow.module.parameters())


def test_the_common_regions_of_both_networks_show_no_difference():
    model = network(3, 2, 2, 2, 1, seed=3)
    shallow = to_shallow_space(model, (-2, 2))
    assert shallow.simplices > 2  # not affine
    both = creases.space(subtract_networks(creases.read(model), creases.read(shallow.module)), (-2, 2))
    assert both.count > shallow.regions
    assert np.abs(both.values).max() < 1e-12


@pytest.mark.parametrize("leak", [0.1, -0.5, 1.5])
def test_leaks_of_every_kind(leak):
    model = network(2, 3, 3, 2, bend=lambda: nn.LeakyReLU(leak), seed=1)
    shallow = to_shallow_space(model, (1, 4))
    x = np.random.default_rng(0).uniform(1, 4, size=(500, 2))
    assert np.abs(creases.read(model)(x) - creases.read(shallow.module)(x)).max() < 1e-12


def test_an_affine_network_and_dead_units_need_no_maximum():
    for layers in (
        [([[1.0, 2.0, 3.0]], [4.0])],
        [([[1.0, 2.0, 3.0]], [-100.0]), ([[5.0]], [6.0])],
        [([[0.0, 0.0, 0.0]], [1.0]), ([[5.0]], [6.0])],
    ):
        shallow = to_shallow_space(layers, (-1, 1))
        assert (shallow.widths, shallow.simplices) == ((3,), 2)
        assert max(shallow.gap, shallow.deviation) < 1e-12


def test_a_gap_shows_a_region_that_is_missing():
    from creases_reproduction.splines.theory.shallow_space import shallow_space

    net = creases.read(network(2, 4, 4, 1)).to(torch.float64)
    partition = creases.space(net, (-2, 2))
    wrong = partition.sides()
    wrong[:] = wrong[0]  # one function for all regions
    assert shallow_space._gap(net, partition, region_parts(net, partition.sides())) < 1e-15
    assert shallow_space._gap(net, partition, region_parts(net, wrong)) > 1e-3


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: to_shallow_space(network(2, 5, 5, 1), (-2, 2), max_regions=3),
            "max_regions must be at least the number of regions in the box, got 3, and there are more",
        ),
        (
            lambda: to_shallow_space(network(2, 5, 5, 1), (-2, 2), max_simplices=3),
            "max_simplices must be at least the number of simplices of a triangulation, got 3, and there are more",
        ),
        (
            lambda: to_shallow_space(nn.Sequential(nn.Linear(2, 3), nn.Hardtanh(), nn.Linear(3, 1)), (-1, 1)),
            "model must be a chain of linear layers and \\(leaky\\) ReLUs, got add with output",
        ),
    ],
)
def test_what_is_too_large_or_no_chain_is_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()
