"""The two smallest networks around a ball against their formulas, scipy's hulls and section 4.1 of the dissertation."""

from __future__ import annotations

from math import e, log, log1p, sqrt

import numpy as np
import pytest
import torch
from scipy.spatial import ConvexHull, HalfspaceIntersection

from creases.errors import InputError
from creases_reproduction.linearity.enclosures import (
    enclosure,
    expanded_simplex,
    face_counts,
    facet_distance,
    hyperoctahedron,
    intermediate_polytope,
    shell_volume,
    simplex_directions,
)

KINDS = ("hyperoctahedron", "expanded simplex")
LEAKS = (0.0, 0.01, 0.1, 0.9)


def values(model: torch.nn.Module, x: np.ndarray) -> np.ndarray:
    with torch.no_grad():
        return model(torch.from_numpy(x)).numpy()[:, 0]


@pytest.mark.parametrize("leak", LEAKS)
@pytest.mark.parametrize("C", [1.001, 2.0, 30.0])
@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_the_hyperoctahedrons_sign_is_that_of_the_1_norm_less_1(n, C, leak):
    x = np.random.default_rng(0).normal(size=(20_000, n)) * 2
    norm = np.abs(x).sum(axis=1)
    f = values(hyperoctahedron(n, C=C, leak=leak), x)
    assert (np.sign(f) == np.sign(norm - 1)).all()
    near = x.sum(axis=1) < C
    np.testing.assert_allclose(f[near], norm[near] - 1, atol=1e-12 * C / (1 - leak))


@pytest.mark.parametrize("leak", LEAKS)
@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_the_expanded_simplex_is_a_section_of_the_hyperoctahedron_one_dimension_up(n, leak):
    x = np.random.default_rng(0).normal(size=(20_000, n))
    y = x @ simplex_directions(n).T
    np.testing.assert_allclose(y.sum(axis=1), 0, atol=1e-12)
    expected = np.abs(y).sum(axis=1) / 2 - sqrt((n + 1) / (2 * n))
    np.testing.assert_allclose(values(expanded_simplex(n, leak=leak), x), expected, atol=1e-11)


@pytest.mark.parametrize("n", [1, 2, 5, 40])
def test_simplex_directions_are_as_far_from_each_other_as_can_be(n):
    u = simplex_directions(n)
    np.testing.assert_allclose(u @ u.T, np.eye(n + 1) * (n + 1) / n - 1 / n, atol=1e-13)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_vertices_facets_radii_and_volumes_are_those_of_scipys_hull(kind, n):
    shape = enclosure(kind, n)
    corners, (normals, distances) = shape.vertices(), shape.facets()
    hull = ConvexHull(corners)
    assert len(hull.vertices) == len(corners) == shape.f_vector[0]
    assert len(np.unique(hull.equations.round(9), axis=0)) == len(normals) == shape.f_vector[-1]
    assert hull.volume == pytest.approx(shape.volume, rel=1e-12)
    np.testing.assert_allclose(np.linalg.norm(corners, axis=1), 1, rtol=1e-12)
    assert distances.min() == pytest.approx(shape.inner_radius, rel=1e-12)
    cut = HalfspaceIntersection(np.column_stack([normals, -distances]), np.zeros(n)).intersections
    assert len(np.unique(cut.round(9) + 0.0, axis=0)) == len(corners)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
def test_the_networks_are_zero_at_the_vertices_and_on_the_facets(n):
    for kind, model in ((KINDS[0], hyperoctahedron(n)), (KINDS[1], expanded_simplex(n))):
        shape = enclosure(kind, n)
        np.testing.assert_allclose(values(model, shape.vertices()), 0, atol=1e-12)
        normals, distances = shape.facets()
        np.testing.assert_allclose(values(model, normals * distances[:, None]), 0, atol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 3, 6, 11])
@pytest.mark.parametrize("kind", KINDS)
def test_faces_satisfy_eulers_relation(kind, n):
    assert sum((-1) ** k * count for k, count in enumerate(enclosure(kind, n).f_vector)) == 1 - (-1) ** n


def test_counts_of_vertices_and_facets():
    for n in range(2, 30):
        octahedron, simplex = (enclosure(kind, n) for kind in KINDS)
        assert (octahedron.f_vector[0], octahedron.f_vector[-1]) == (2 * n, 2**n)
        assert (simplex.f_vector[0], simplex.f_vector[-1]) == (n * (n + 1), 2 ** (n + 1) - 2)


def test_one_small_weight_is_a_hyperoctahedron_and_all_small_weights_an_expanded_simplex():
    for n in range(1, 12):
        for small, kind in ((1, KINDS[0]), (n + 1, KINDS[1])):
            faces = enclosure(kind, n).f_vector
            assert face_counts(n, small) == (faces[0], faces[-1])
    x = np.random.default_rng(0).normal(size=(100, 3))
    np.testing.assert_array_equal(values(intermediate_polytope(3, 1), x), values(hyperoctahedron(3), x))


# -- what section 4.1 prints -------------------------------------------------------------------------------------------

TABLE_4_1 = {
    2: (3, 4),
    3: (4, 8),
    4: (5, 12),
    5: (6, 18),
    6: (7, 24),
    7: (8, 32),
    8: (9, 40),
    9: (10, 50),
    10: (11, 60),
}
APPROXIMATE = (0.87, 0.71, 0.64, 0.58, 0.54, 0.5, 0.47, 0.45, 0.43)


def test_table_4_1_is_right_but_for_the_rounding_at_dimension_4():
    for (n, (over, under)), printed in zip(TABLE_4_1.items(), APPROXIMATE, strict=True):
        radius = enclosure("expanded simplex", n).inner_radius
        assert radius == pytest.approx(sqrt(over / under), rel=1e-14)
        assert round(radius, 2) == (0.65 if n == 4 else printed)


def test_equation_4_6_is_the_distance_of_facets_with_k_units_on():
    for n in (2, 3, 4, 5):
        _, distances = enclosure("expanded simplex", n).facets()
        expected = {round(facet_distance(k, n), 12) for k in range(1, n + 1)}
        assert set(distances.round(12)) == expected
        assert min(expected) == pytest.approx(facet_distance((n + 1) // 2, n))


def test_equation_4_10_gives_the_inner_radius():
    for n in range(1, 60):
        expected = sqrt(2 / (n + 1)) if n % 2 else sqrt(2 * (n + 1) / (n * (n + 2)))
        assert enclosure("expanded simplex", n).inner_radius == pytest.approx(expected, rel=1e-14)


def test_equation_4_13_has_the_root_of_two_on_the_wrong_side():
    n = 10**4
    simplex, octahedron = facet_distance((n + 1) // 2, n), 1 / sqrt(n)
    assert simplex == pytest.approx(sqrt(2) * octahedron, rel=1e-4)


@pytest.mark.parametrize("n", [2, 3, 6])
def test_equation_4_16_needs_the_power_n(n):
    x = np.random.default_rng(0).uniform(-1, 1, (10**6, n))
    ratio = enclosure("expanded simplex", n).ratio
    length = np.linalg.norm(x, axis=1)
    drawn = ((length > 1 / ratio) & (length < 1)).mean() * (2 * ratio) ** n  # between spheres of radius 1 and ratio
    assert shell_volume(n, ratio) == pytest.approx(drawn, rel=0.02)


@pytest.mark.parametrize("n", [1000, 1001])
def test_equation_4_17_tends_to_the_power_of_two_over_the_root_of_e(n):
    def log_volume(ratio):  # of the shell, over that of the unit ball
        return n * log(ratio) + log1p(-(ratio**-n))

    quotient = log_volume(sqrt(n)) - log_volume(1 / facet_distance((n + 1) // 2, n))
    assert quotient == pytest.approx(n / 2 * log(2) - 0.5, abs=2e-3)
    assert np.exp(quotient - n / 2 * log(2)) == pytest.approx(1 / sqrt(e), rel=2e-3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: hyperoctahedron(0), "n must be a positive integer, got 0"),
        (lambda: expanded_simplex(2.5), "n must be a positive integer, got 2.5"),
        (lambda: hyperoctahedron(2, C=1.0), "C must be a finite number above 1"),
        (lambda: hyperoctahedron(2, C=float("nan")), "C must be a finite number above 1"),
        (lambda: expanded_simplex(2, leak=1.0), "leak must be a finite number at least 0 and below 1, got 1.0"),
        (lambda: enclosure("cube", 3), "kind must be 'hyperoctahedron' or 'expanded simplex', got 'cube'"),
        (
            lambda: intermediate_polytope(3, 5),
            r"small must be a number of units with small weights, from 1 to n \+ 1 = 4, got 5",
        ),
        (lambda: facet_distance(0, 3), "k must be a number of active units, from 1 to n = 3, got 0"),
    ],
)
def test_wrong_arguments_are_named(call, message):
    with pytest.raises(InputError, match=message):
        call()
