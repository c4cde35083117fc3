from __future__ import annotations

import numpy as np
import pytest

import creases
from creases.errors import InputError
from creases.regions import decision_polytopes
from creases.show import plot_polytope
from creases_reproduction.linearity.enclosures import expanded_simplex, hyperoctahedron


def polytope(model, n):
    (found,) = decision_polytopes(creases.read(model(n), (n,)), inside=0)
    return found


def test_a_polygon_is_drawn_with_its_two_circles():
    ax = plot_polytope(polytope(expanded_simplex, 2))
    (patch,) = ax.patches
    assert len(patch.get_xy()) == 7
    radii = [np.hypot(*line.get_data()).max() for line in ax.lines]
    assert radii == pytest.approx([np.sqrt(3) / 2, 1])


def test_a_solid_has_a_face_for_every_facet():
    ax = plot_polytope(polytope(expanded_simplex, 3))
    assert len(ax.collections[0].get_facecolor()) == 14


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(InputError, match="polytope must be bounded, convex and of 2 or 3 dimensions, got"):
        plot_polytope(polytope(hyperoctahedron, 4))
