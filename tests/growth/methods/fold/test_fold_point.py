"""Fold points, against the exact map of the plane."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import creases
from creases.growth.methods._fold.fold_point import FoldPoint, fold_point, local_fold_point
from creases.growth.methods._fold.typical_mispredictions import as_logits
from creases.network._reading.arrays import from_arrays


def random_net(seed, widths):
    rng = np.random.default_rng(seed)
    layers = [(rng.normal(size=(b, a)), rng.normal(size=b)) for a, b in pairwise(widths)]
    return from_arrays(layers)


def nearest_on(segments, x):
    """The least distance from x to segments (s, 2, 2)."""
    a, way = segments[:, 0], segments[:, 1] - segments[:, 0]
    length = np.maximum((way**2).sum(axis=1), 1e-300)
    t = np.clip(((x - a) * way).sum(axis=1) / length, 0, 1)
    return np.linalg.norm(a + t[:, None] * way - x, axis=1).min(initial=np.inf)


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([[2, 4, 2], [2, 3, 3], [2, 4, 3, 3], [2, 5, 1]]))
def test_fold_points_are_the_nearest_of_the_map_of_the_plane(seed, widths):
    net = random_net(seed, widths)
    X = np.random.default_rng(seed + 1).normal(size=(40, 2))
    predicted = as_logits(np.asarray(net(X))).argmax(axis=1)
    partition = creases.plane(net, box=[(-60, 60), (-60, 60)])
    boundary, region = partition.boundary(), partition.locate(X)
    for t in range(0, 40, 8):
        i, j = int(predicted[t]), int((predicted[t] + 1) % max(2, widths[-1]))
        found = fold_point(net, X, predicted, t, i, j)
        between = (np.sort(boundary.classes, axis=1) == sorted((i, j))).all(axis=1)
        everywhere = nearest_on(boundary.segments[between], X[t])
        here = nearest_on(boundary.segments[between & (boundary.regions == region[t]).any(axis=1)], X[t])
        if isinstance(found, str):
            assert np.isinf(here) or here > 50
            assert "predicted" in found
            continue
        if found.distance > 50:  # it may lie outside of the map
            continue
        assert found.distance >= everywhere - 1e-7
        assert nearest_on(boundary.segments[between], found.x) <= 1e-7
        if found.how in ("foot", "nearest in the region"):
            assert found.distance == pytest.approx(here, abs=1e-7)
        else:
            assert np.isinf(here)


def test_the_foot_is_taken_where_the_pattern_holds():
    hidden = (np.array([[1.0, 0.0], [-1.0, 0.0]]), np.zeros(2))  # outputs (|x0| - 1, 0), creases at x0 = 0
    wedge = from_arrays([hidden, (np.array([[1.0, 1.0], [0.0, 0.0]]), np.array([-1.0, 0.0]))])
    found = fold_point(wedge, np.array([[0.25, 3.0]]), np.array([1]), 0, 1, 0)
    assert isinstance(found, FoldPoint)
    assert found.how == "foot"
    assert found.x.tolist() == [1.0, 3.0]
    assert found.distance == 0.75


def test_where_a_third_class_is_above_the_foot_the_nearest_point_below_it_is_taken():
    three = from_arrays([(np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]]), np.zeros(3))])  # z = (x0, 0, x1)
    found = fold_point(three, np.array([[2.0, 1.0]]), np.array([0]), 0, 0, 1)
    assert isinstance(found, FoldPoint)
    assert found.how == "nearest in the region"
    assert np.allclose(found.x, [0.0, 0.0], atol=1e-12)


def test_a_flat_piece_is_left_over_the_creases():
    net = from_arrays(
        [(np.eye(2), np.array([-1.0, -5.0])), (np.array([[-1.0, 0.0], [0.0, 0.0]]), np.array([1.0, 0.0]))]
    )
    X = np.array([[0.0, 0.0], [4.0, 1.0], [4.0, -3.0]])  # z0 - z1 = 1 - relu(x0 - 1): the boundary is x0 = 2
    found = fold_point(net, X, np.array([0, 1, 1]), 0, 0, 1)
    assert isinstance(found, FoldPoint)
    assert found.how == "walk"
    assert np.allclose(found.x, [2.0, 0.0], atol=1e-12)
    assert local_fold_point(net, X[0], 0, 1) == "its region does not separate the two classes"
    assert "on the way to a sample predicted as class 1" in str(fold_point(net, X[:1], np.array([0]), 0, 0, 1))


def test_the_walk_crosses_creases_towards_the_instance():
    # z0 - z1 = 1 + relu(x1) - relu(x0): seeds lie far up, the nearest point is on x1 < 0.
    net = from_arrays([(np.eye(2), np.zeros(2)), (np.array([[-1.0, 1.0], [0.0, 0.0]]), np.array([1.0, 0.0]))])
    X = np.array([[-1.0, -0.5], [8.0, 6.0]])
    found = fold_point(net, X, np.array([0, 1]), 0, 0, 1)
    assert isinstance(found, FoldPoint)
    assert found.how == "walk"
    assert np.allclose(found.x, [1.0, -0.5], atol=1e-12)


def test_the_slides_foot_may_lie_beside_the_boundary():
    net = from_arrays([(np.eye(2), np.zeros(2)), (np.array([[1.0, 1.0], [0.0, 0.0]]), np.array([-1.0, 0.0]))])
    X = np.array([[0.1, 5.0]])  # on x0, x1 > 0 the boundary is x0 + x1 = 1; the foot is at (-1.95, 2.95)
    raw, real = local_fold_point(net, X[0], 0, 1), fold_point(net, X, np.array([0]), 0, 0, 1)
    assert isinstance(raw, FoldPoint)
    assert isinstance(real, FoldPoint)
    assert raw.residual > 1
    assert real.residual < 1e-12
    assert real.how == "nearest in the region"
    assert np.allclose(real.x, [0.0, 1.0], atol=1e-12)


@pytest.mark.parametrize("d", [3, 5, 20])
def test_fold_points_lie_on_the_boundary_in_any_dimension(d):
    net = random_net(d, [d, 8, 3])
    X = np.random.default_rng(0).normal(size=(60, d))
    z = np.asarray(net(X))
    predicted = z.argmax(axis=1)
    kinds = set()
    for t in range(20):
        i, j = (int(c) for c in np.argsort(-z[t])[:2])
        found = fold_point(net, X, predicted, t, i, j)
        if isinstance(found, str):
            continue
        kinds.add(found.how)
        at = np.asarray(net(found.x[None]))[0]
        assert abs(at[i] - at[j]) <= 1e-10 * np.abs(at).sum()
        assert at.max() - at[i] <= 1e-9 * np.abs(at).sum()
    assert kinds


def test_on_a_line_the_fold_point_is_where_the_outputs_cross():
    net = from_arrays([(np.array([[1.0], [-1.0]]), np.zeros(2)), (np.array([[1.0, 1.0]]), np.array([-1.0]))])  # |x| - 1
    X = np.array([[3.0], [0.5], [-0.2]])
    found = [fold_point(net, X, np.array([1, 0, 0]), t, *pair) for t, pair in enumerate([(1, 0), (0, 1), (0, 1)])]
    assert [one.x.tolist() for one in found if isinstance(one, FoldPoint)] == [[1.0], [1.0], [-1.0]]
