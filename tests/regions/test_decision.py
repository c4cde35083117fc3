"""Decision polytopes against the explicit networks, scipy's halfspace intersections and hulls, and sampling."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import torch
from scipy.spatial import ConvexHull, HalfspaceIntersection
from scipy.stats import ortho_group

import creases
from creases.errors import InputError
from creases.regions import decision_polytopes
from creases_reproduction.linearity.enclosures import (
    enclosure,
    expanded_simplex,
    face_counts,
    hyperoctahedron,
    intermediate_polytope,
)

MODELS = {"hyperoctahedron": hyperoctahedron, "expanded simplex": expanded_simplex}


def arrays(model: torch.nn.Sequential) -> list[tuple[np.ndarray, np.ndarray]]:
    return [(layer.weight.detach().numpy(), layer.bias.detach().numpy()) for layer in (model[0], model[2])]


def diamonds(shift: float) -> creases.Network:
    """max(1 - |x|_1, 1 - |x - (shift, 0)|_1): positive in the union of two squares on their corners."""
    W = np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1], [1, 0], [-1, 0]])
    b = np.array([0, 0, 0, 0, -shift, shift])
    one, two = np.array([-1.0, -1, -1, -1, 0, 0]), np.array([0.0, 0, -1, -1, -1, -1])
    second = np.stack([one, -one, two - one]), np.array([1.0, -1, 0])
    return creases.read([(W, b), second, (np.array([[1.0, -1, 1]]), np.zeros(1))])


@pytest.mark.slow
@pytest.mark.parametrize("leak", [0.0, 0.01, 0.3])
@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("n", [2, 3, 4])
def test_the_explicit_networks_enclose_their_shapes(n, kind, leak):
    shape = enclosure(kind, n)
    (found,) = decision_polytopes(creases.read(MODELS[kind](n, leak=leak), (n,)), inside=0)
    assert found.kind == kind
    assert found.f_vector == shape.f_vector
    assert found.volume == pytest.approx(shape.volume, rel=1e-12)
    assert found.radii() == pytest.approx((shape.inner_radius, 1.0), rel=1e-12)
    gaps = np.linalg.norm(found.vertices[:, None] - shape.vertices(), axis=2).min(axis=1)
    assert len(found.vertices) == shape.f_vector[0]
    assert gaps.max() < 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("kind", MODELS)
def test_turned_moved_and_scaled_with_two_logits_it_is_the_same_shape(kind, scale):
    n = 3
    turn = ortho_group.rvs(n, random_state=0) * np.array([[1.0], [0.4], [2.5]]) / scale
    center = scale * np.array([0.3, -0.2, 0.1])
    (W, b), (v, c) = arrays(MODELS[kind](n))
    logits = np.vstack([v, -v]), np.append(c, -c)
    (found,) = decision_polytopes(creases.read([(W @ turn, b - W @ turn @ center), logits]), inside=1)
    assert found.kind == kind
    shape = enclosure(kind, n)
    assert found.volume == pytest.approx(shape.volume / abs(np.linalg.det(turn)), rel=1e-9)
    inner, outer = found.radii(center)
    assert outer == pytest.approx(np.linalg.norm(shape.vertices() @ np.linalg.inv(turn).T, axis=1).max(), rel=1e-9)
    hull = ConvexHull(found.vertices)
    assert inner == pytest.approx(-(hull.equations[:, :-1] @ center + hull.equations[:, -1]).max(), rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "width", "seed"), [(2, 3, 0), (2, 6, 1), (3, 4, 2), (3, 6, 3), (4, 5, 4)])
def test_convex_functions_enclose_what_scipy_makes_of_all_their_halfspaces(n, width, seed):
    rng = np.random.default_rng(seed)
    W, b, v = rng.normal(size=(width, n)), rng.normal(size=width) * 0.5, rng.uniform(0.5, 2, width)
    W -= (v @ W) / v.sum()  # the slopes sum to 0: no direction is downhill for ever
    c = -(v * np.maximum(b, 0)).sum() - 1
    halfspaces = [[*(v * on) @ W, (v * on) @ b + c] for on in product((0.0, 1.0), repeat=width)]
    halfspaces = np.array([row for row in halfspaces if np.linalg.norm(row[:-1]) > 1e-9])
    corners = HalfspaceIntersection(halfspaces, np.zeros(n)).intersections
    corners = np.unique(corners.round(9) + 0.0, axis=0)
    hull = ConvexHull(corners)
    (found,) = decision_polytopes(creases.read([(W, b), (v[None], np.array([c]))]), inside=0)
    assert found.convex
    assert len(found.vertices) == len(hull.vertices) == found.f_vector[0]
    gaps = np.linalg.norm(found.vertices[:, None] - corners, axis=2)
    assert gaps.min(axis=1).max() < 1e-8
    tight = np.abs(halfspaces[:, :-1] @ corners.T + halfspaces[:, -1:]) < 1e-7  # (halfspaces, corners)
    facets = [row for row in tight if row.sum() >= n and np.linalg.matrix_rank(np.cov(corners[row].T), 1e-9) == n - 1]
    assert len(found.normals) == len(facets) == found.f_vector[-1]
    assert found.volume == pytest.approx(hull.volume, rel=1e-7)
    assert (found.normals @ found.vertices.T <= found.offsets[:, None] + 1e-9).all()


@pytest.mark.slow
@pytest.mark.parametrize("n", [2, 3, 4])
def test_from_three_dimensions_on_n_plus_1_units_enclose_more_than_two_kinds(n):
    kinds, counts = [], set()
    for small in range(1, n + 2):
        (found,) = decision_polytopes(creases.read(intermediate_polytope(n, small), (n,)), inside=0)
        assert (len(found.vertices), len(found.normals)) == face_counts(n, small)
        assert found.convex
        kinds.append(found.kind)
        counts.add(found.f_vector)
    middle = "expanded simplex" if n == 2 else "other"
    assert kinds == ["hyperoctahedron", *[middle] * (n - 1), "expanded simplex"]
    assert len(counts) == n  # the last two have the same counts; from n = 3 on they are different all the same


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_units_with_weights_of_one_sign_and_a_constant_sum_enclose_what_the_number_of_small_weights_says(seed):
    rng = np.random.default_rng(seed)
    n = 3
    W = np.vstack([np.eye(n), -np.ones(n)])
    b, v, t = np.append(np.zeros(n), 1.0), rng.uniform(0.5, 2, n + 1), 1.1  # the sum is 1: beta
    small = int((v < t).sum())
    turn = rng.normal(size=(n, n))  # nothing changes by affine maps of the input and scales of the units
    scale = rng.uniform(0.5, 2, n + 1)
    layers = [(scale[:, None] * (W @ turn), scale * b), ((v / scale)[None], np.array([-t]))]
    (found,) = decision_polytopes(creases.read(layers), inside=0)
    assert (len(found.vertices), len(found.normals)) == face_counts(n, small)


@pytest.mark.slow
@pytest.mark.parametrize("leak", [0.0, 0.1])
@pytest.mark.parametrize(("n", "width"), [(1, 1), (2, 1), (2, 2), (3, 3), (4, 4)])
def test_n_units_in_one_layer_bound_nothing(n, width, leak):
    rng = np.random.default_rng(0)
    for _ in range(8):
        net = creases.read(
            [(rng.normal(size=(width, n)), rng.normal(size=width)), (rng.normal(size=(1, width)), rng.normal(size=1))],
            leak=leak,
        )
        kinds = {one.kind for inside in (0, 1) for one in decision_polytopes(net, inside=inside)}
        assert kinds == {"unbounded"}


@pytest.mark.slow
def test_units_that_do_not_count_change_nothing():
    (W, b), (v, c) = arrays(hyperoctahedron(3))
    rng = np.random.default_rng(0)
    more = np.vstack([W, rng.normal(size=(3, 3)), np.zeros((1, 3)), W[:1]])  # without weight, dead, twice the same
    bias = np.concatenate([b, rng.normal(size=3) * 0.2, [-1.0], b[:1]])
    out = np.concatenate([v[0], np.zeros(3), [5.0], [1.0]])
    out[0] = 1.0
    (found,) = decision_polytopes(creases.read([(more, bias), (out[None], c)]), inside=0)
    assert found.kind == "hyperoctahedron"
    assert len(found.faces) > len(found.normals) == 8
    assert found.volume == pytest.approx(8 / 6)


def test_two_squares_that_overlap_are_one_polytope_that_is_not_convex():
    (found,) = decision_polytopes(diamonds(1.0), inside=1)
    assert (found.kind, found.convex, found.f_vector) == ("other", False, None)
    assert found.volume == pytest.approx(3.5)
    assert (len(found.vertices), len(found.normals)) == (8, 8)
    assert found.radii([0.5, 0.0]) == pytest.approx((0.5, 1.5))
    assert found.radii([0.5, 0.7]) == pytest.approx((0.0, np.hypot(0.5, 1.7)))  # outside, though in its convex hull


def test_two_squares_apart_are_two_polytopes_and_the_rest_has_two_holes():
    found = decision_polytopes(diamonds(2.5), [(-3, 5), (-3, 3)])
    assert [one.kind for one in found] == ["hyperoctahedron", "hyperoctahedron"]
    assert [one.volume for one in found] == pytest.approx([2.0, 2.0])
    assert sorted(one.radii()[0] for one in found) == pytest.approx([0.0, np.sqrt(0.5)])
    (rest,) = decision_polytopes(diamonds(2.5), [(-3, 5), (-3, 3)], inside=0)
    assert (rest.kind, rest.volume, rest.radii()) == ("unbounded", np.inf, (0.0, np.inf))
    assert (len(rest.vertices), len(rest.normals)) == (8, 8)


def test_a_small_box_cuts_off_what_goes_on():
    net = creases.read(hyperoctahedron(2), (2,))
    (found,) = decision_polytopes(net, [(-0.6, 0.6)] * 2, inside=0)
    assert found.kind == "cut off"
    assert found.volume == pytest.approx(1.44 - 4 * 0.02)
    assert found.radii()[1] == np.inf
    assert decision_polytopes(net, inside=0)[0].kind == "hyperoctahedron"


@pytest.mark.parametrize(("constant", "count"), [(1.0, 1), (0.0, 0), (-1.0, 0)])
def test_a_constant_network_decides_for_one_class_everywhere(constant, count):
    net = creases.read([(np.zeros((2, 2)), np.zeros(2)), (np.ones((1, 2)), np.array([constant]))])
    found = decision_polytopes(net)
    assert len(found) == count
    assert all(one.kind == "unbounded" and not len(one.normals) for one in found)


def test_a_function_that_is_zero_on_a_whole_region_ends_where_it_rises():
    # relu(x - 1) + relu(-x - 1) + relu(y - 1) + relu(-y - 1) is 0 on a square and positive beyond
    W = np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1]])
    (found,) = decision_polytopes(creases.read([(W, -np.ones(4)), (np.ones((1, 4)), np.zeros(1))]), inside=0)
    assert found.kind == "hyperoctahedron"
    np.testing.assert_allclose(np.abs(found.vertices), 1)


def test_three_classes_have_their_own_polytopes():
    # outputs: 1 - |x|_1 at two places, and 0
    W = np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1], [1, 0], [-1, 0]])
    b = np.array([0, 0, 0, 0, -1.0, 1.0])
    out = np.array([[-1.0, -1, -1, -1, 0, 0], [0, 0, -1, -1, -1, -1], [0] * 6])
    net = creases.read([(W, b), (out, np.array([1.0, 1, 0]))])
    areas = [sum(one.volume for one in decision_polytopes(net, [(-3, 3)] * 2, inside=k)) for k in (0, 1)]
    assert areas == pytest.approx([1.75, 1.75])  # two squares of area 2 that share 1/2
    (left,) = decision_polytopes(net, [(-3, 3)] * 2, inside=0)
    assert (left.kind, left.convex, len(left.normals)) == ("other", True, 5)


def test_wrong_arguments_are_named():
    net = creases.read(hyperoctahedron(2), (2,))
    with pytest.raises(InputError, match="inside must be an integer from 0 to 1, got 2"):
        decision_polytopes(net, inside=2)
    with pytest.raises(InputError, match="net must have at most 6 inputs, got 7"):
        decision_polytopes(creases.read(hyperoctahedron(7), (7,)))
    with pytest.raises(InputError, match=r"model must be a torch\.nn\.Module, a file name"):
        decision_polytopes(3)
    with pytest.raises(InputError, match="center must have shape"):
        decision_polytopes(net, inside=0)[0].radii([1.0])
