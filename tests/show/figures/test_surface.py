import numpy as np
import pytest
from mpl_toolkits.mplot3d.art3d import Line3DCollection, Poly3DCollection

import creases
from creases.errors import InputError
from creases.show import plot_surface
from creases.show._style import new_figure


def corners(ax):
    """The corners of every facet (k, 3)."""
    (facets,) = [child for child in ax.collections if isinstance(child, Poly3DCollection)]
    return (
        np.split(facets._vec[:3].T, [s.stop for s in facets._segslices[:-1]])
        if hasattr(facets, "_segslices")
        else facets._faces
    )


def test_facets_are_the_regions_at_the_height_of_the_output(fold):
    ax = plot_surface(fold)
    found = [np.asarray(one) for one in corners(ax)]
    assert len(found) == fold.count
    points = np.concatenate(found)
    points = points[np.isfinite(points).all(axis=1)]
    np.testing.assert_allclose(points[:, 2], np.maximum(points[:, 0], 0) - 0.5, atol=1e-12)


def test_the_boundary_lies_on_the_surface(fold):
    ax = plot_surface(fold)
    (line,) = [child for child in ax.collections if isinstance(child, Line3DCollection)]
    np.testing.assert_allclose(sorted(map(tuple, np.concatenate(line._segments3d))), [(0.5, -1, 0), (0.5, 1, 0)])
    ax = plot_surface(fold, boundary=False)
    assert not [child for child in ax.collections if isinstance(child, Line3DCollection)]


@pytest.mark.parametrize("weights", [[[1.0, -1.0]], [[0.0, 0.0]]], ids=["one region", "all values equal"])
@pytest.mark.parametrize("box", [[(-1, 1), (-1, 1)], [(0, 1e6), (0, 1e-3)], [(0, 1), (0, 5000)]])
def test_any_function_on_any_box_is_drawn(weights, box):
    ax = plot_surface(creases.plane(creases.read([(weights, [0.0])]), box))
    ax.figure.draw_without_rendering()
    assert len(corners(ax)) == 1


def test_of_several_outputs_one_is_drawn():
    net = creases.read([([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [0.0, 0.0, -1.0])])
    ax = plot_surface(creases.plane(net), output=2)
    assert ax.get_zlabel() == "output 2"
    points = np.concatenate([np.asarray(one) for one in corners(ax)])
    np.testing.assert_allclose(points[:, 2], points[:, 0] + points[:, 1] - 1)


def test_what_cannot_be_drawn_is_refused(fold):
    with pytest.raises(InputError, match="output must be an integer from 0 to 0, got 1"):
        plot_surface(fold, output=1)
    with pytest.raises(InputError, match='ax must be created with projection="3d", got Axes'):
        plot_surface(fold, ax=new_figure()[1][0])
