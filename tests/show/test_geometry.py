from __future__ import annotations

import numpy as np
import pytest

import creases
from creases.errors import InputError
from creases.regions import decision_polytopes
from creases.regions.enclosures import expanded_simplex, hyperoctahedron
from creases.show import plot_polytope
from creases.show.figures import _geometry as geometry
from creases_reproduction.linearity.sine_sizes import sine_networks
from creases_reproduction.measured import stored


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
    with pytest.raises(InputError, match="polytope: expected a bounded convex one of 2 or 3 dimensions"):
        plot_polytope(polytope(hyperoctahedron, 4))


@pytest.mark.parametrize(
    ("name", "draw", "panels"),
    [
        ("shells_hyperparameters", geometry.hyperparameters_figure, 2),
        ("shells_dimensions", geometry.dimensions_figure, 2),
        ("shells_kinds", geometry.kinds_figure, 1),
        ("shells_orthogonality", geometry.orthogonality_figure, 1),
        ("sine_sizes", geometry.sine_figure, 1),
    ],
)
def test_stored_results_are_drawn_with_labelled_axes(name, draw, panels):
    figure = draw(stored(name))
    assert len(figure.axes) == panels
    assert figure.axes[0].get_ylabel()
    figure.canvas.draw()


@pytest.mark.parametrize("coefficients", [False, True])
def test_sine_is_drawn_for_every_size(coefficients):
    found = sine_networks()
    figure = geometry.sine_networks_figure(found, coefficients=coefficients)
    assert len(figure.axes) == 4
    assert all(ax.texts for ax in figure.axes)
    figure.canvas.draw()
