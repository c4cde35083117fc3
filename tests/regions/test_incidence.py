from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from creases.regions._decision import f_vector, minimal_kind
from creases_reproduction.linearity.enclosures import enclosure

KINDS = ("hyperoctahedron", "expanded simplex")


def incidence_of(points: np.ndarray) -> np.ndarray:
    """(F, V) from scipy's hull; triangles in one plane are one facet."""
    planes = np.unique(ConvexHull(points).equations.round(9), axis=0)
    return np.abs(points @ planes[:, :-1].T + planes[:, -1]).T < 1e-7


def shuffled(incidence: np.ndarray, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return incidence[rng.permutation(len(incidence))][:, rng.permutation(incidence.shape[1])]


def orthobicupola() -> np.ndarray:
    """Johnson's solid 27: a cuboctahedron with one half turned by 60 degrees."""
    angle = np.arange(6) * np.pi / 3
    middle = np.column_stack([np.cos(angle), np.sin(angle), np.zeros(6)])
    cap = np.column_stack([np.cos(angle[::2] + np.pi / 6), np.sin(angle[::2] + np.pi / 6), np.zeros(3)]) / np.sqrt(3)
    height = np.array([0, 0, np.sqrt(2 / 3)])
    return np.vstack([middle, cap + height, cap - height])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_both_shapes_are_known_whatever_the_order_of_their_vertices_and_facets(kind, n):
    shape = enclosure(kind, n)
    incidence = shuffled(incidence_of(shape.vertices()))
    assert f_vector(incidence) == shape.f_vector
    assert minimal_kind(incidence, n) == kind


def test_a_cuboctahedron_with_one_half_turned_is_no_expanded_simplex_though_it_has_the_same_counts():
    turned = incidence_of(orthobicupola())
    assert f_vector(turned) == enclosure("expanded simplex", 3).f_vector
    assert minimal_kind(shuffled(turned), 3) is None


def test_six_vertices_and_eight_triangles_are_not_always_an_octahedron():
    base = np.array([[1.0, 0, 0], [-0.5, 0.9, 0], [-0.5, -0.9, 0], [0, 0, 1], [0, 0, -1]])
    stacked = incidence_of(np.vstack([base, [0.4, 0.7, 0.6]]))
    assert f_vector(stacked) == (6, 12, 8)
    assert minimal_kind(stacked, 3) is None


@pytest.mark.parametrize("points", [7, 9, 14])
def test_faces_of_random_polytopes_satisfy_eulers_relation(points):
    drawn = np.random.default_rng(points).normal(size=(points, 4))
    incidence = incidence_of(drawn)
    incidence = incidence[:, incidence.any(axis=0)]
    counts = f_vector(incidence)
    assert counts[0] - counts[1] + counts[2] - counts[3] == 0
    assert (counts[0], counts[3]) == incidence.shape[::-1]
    assert 2 * counts[2] == 4 * counts[3]  # facets are tetrahedra, two at every triangle


@pytest.mark.parametrize("n", [2, 3, 4])
def test_cubes_are_neither(n):
    corners = np.array(np.meshgrid(*[[-1.0, 1.0]] * n)).reshape(n, -1).T
    kind = minimal_kind(incidence_of(corners), n)
    assert kind == ("hyperoctahedron" if n == 2 else None)
