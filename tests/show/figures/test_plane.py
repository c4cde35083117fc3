""""""

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.collections import LineCollection, PathCollection, PolyCollection, TriMesh
from mpl_toolkits.mplot3d.art3d import Line3DCollection, Poly3DCollection

import creases
from creases.certify import safety_map
from creases.errors import InputError
from creases.show import plot_plane, plot_safety_map, plot_surface
from creases.show._figures._plane import mark_points
from creases.show._style import class_color, crease_colors, new_figure, tint
from creases.show._themes import active_theme


def drawn(ax, kind):
    return [child for child in ax.collections if type(child) is kind]


@pytest.fixture
def ax():
    return new_figure()[1][0]


def test_every_region_is_one_polygon(fold, ax):
    plot_plane(fold, ax=ax)
    (sheet,) = drawn(ax, PolyCollection)
    assert len(sheet.get_paths()) == 2
    corners = [{tuple(v) for v in path.vertices.tolist()} for path in sheet.get_paths()]
    left, right = {(-1, -1), (0, -1), (0, 1), (-1, 1)}, {(0, -1), (1, -1), (1, 1), (0, 1)}
    assert corners in ([left, right], [right, left])


def test_regions_with_different_slopes_have_different_shades(fold, ax):
    plot_plane(fold, ax=ax)
    (sheet,) = drawn(ax, PolyCollection)
    flat, slope = sheet.get_facecolor()
    assert not np.allclose(flat, slope)


def test_classes_are_coloured_by_part_and_paler_than_the_data(fold, ax):
    plot_plane(fold, ax=ax, color="class", X=[[0.8, 0.0]], y=[1])
    (sheet,) = drawn(ax, PolyCollection)
    colors = sheet.get_facecolor()[:, :3]
    assert len(colors) == 3
    blue, orange = tint(class_color(0), 1.0), tint(class_color(1), 1.0)
    for color, index in zip(colors, fold.boundary().part_class, strict=True):
        full = (blue, orange)[index]
        share = (1 - color) / (1 - full + 1e-12)
        np.testing.assert_allclose(share, share[np.argmin(full)], atol=1e-6)  # a tint: white mixed with the colour
        assert share[np.argmin(full)] <= 0.5


def test_creases_and_boundary_are_drawn_where_they_are(fold, ax):
    plot_plane(fold, ax=ax)
    creases, boundary = drawn(ax, LineCollection)
    for lines, x in ((creases, 0.0), (boundary, 0.5)):
        (segment,) = lines.get_segments()
        np.testing.assert_allclose(sorted(segment.tolist()), [[x, -1], [x, 1]])
    np.testing.assert_array_equal(boundary.get_color()[0][:3], tint(active_theme().boundary, 1.0))


def test_boundary_can_be_left_out(fold, ax):
    plot_plane(fold, ax=ax, boundary=False)
    assert len(drawn(ax, LineCollection)) == 1


def test_creases_are_darker_with_depth():
    brightness = crease_colors(np.arange(4), 4).sum(axis=1)
    assert (np.diff(brightness) < 0).all()
    np.testing.assert_allclose(crease_colors(np.array([3]), 4)[0], tint(active_theme().crease_last, 1.0))


def test_values_are_linear_on_triangles_that_tile_the_box(fold, ax):
    plot_plane(fold, ax=ax, color="value")
    (mesh,) = drawn(ax, TriMesh)
    triangulation = mesh._triangulation
    corners = np.stack([triangulation.x, triangulation.y], axis=1)[triangulation.triangles]  # (k, 3, 2)
    (u, v) = (corners[:, 1] - corners[:, 0]).T, (corners[:, 2] - corners[:, 0]).T
    assert (np.abs(u[0] * v[1] - u[1] * v[0]) / 2).sum() == pytest.approx(4)
    expected = np.maximum(triangulation.x, 0) - 0.5
    np.testing.assert_allclose(mesh.get_array(), expected)
    assert mesh.get_clim() == (-0.5, 0.5)


def test_data_lies_on_top_one_collection_a_class(fold, ax):
    plot_plane(fold, ax=ax, X=np.zeros((3, 2)), y=[0, 1, 1])
    dots = drawn(ax, PathCollection)
    assert [len(d.get_offsets()) for d in dots] == [1, 2]
    below = [c.get_zorder() for c in ax.collections if c not in dots]
    assert min(d.get_zorder() for d in dots) > max(below)


def test_classes_are_named_by_their_colour(fold, ax):
    plot_plane(fold, ax=ax, color="class")
    legend = ax.get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["class 0", "class 1"]
    for index, patch in enumerate(legend.get_patches()):
        np.testing.assert_allclose(patch.get_edgecolor()[:3], tint(class_color(index), 1.0))


def test_the_islands_of_a_class_that_has_several_are_numbered_the_largest_first(ax):
    wells = np.array([[2.0], [-2.0]]), np.array([-1.0, -0.5])  # relu(2x - 1) + relu(-2x - 1/2) > 0
    partition = creases.plane(creases.read([(np.pad(wells[0], ((0, 0), (0, 1))), wells[1]), ([[1.0, 1.0]], [-0.1])]))
    plot_plane(partition, ax=ax, color="class", islands=True)
    assert [(text.get_text(), text.get_position()[0] > 0) for text in ax.texts] == [("1", False), ("2", True)]
    assert (partition.net(np.array([text.get_position() for text in ax.texts])) > 0).all()


def test_points_are_marked_by_name_on_top(fold, ax):
    plot_plane(fold, ax=ax)
    mark_points(ax, {"a": [0.1, 0.2], "b": [0.3, 0.4]})
    assert [text.get_text() for text in ax.texts] == ["a", "b"]
    assert [tuple(np.ravel(line.get_data())) for line in ax.lines] == [(0.1, 0.2), (0.3, 0.4)]
    assert min(line.get_zorder() for line in ax.lines) > max(c.get_zorder() for c in ax.collections)


def test_a_point_to_mark_has_two_coordinates(fold, ax):
    for point in ([0.1], [[0.1, 0.2]], [np.nan, 0.0]):
        with pytest.raises(InputError, match="points must have two finite coordinates for 'a'"):
            mark_points(ax, {"a": point})


def test_axes_are_labelled_and_show_the_whole_box(fold, ax):
    plot_plane(fold, ax=ax)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("$x_1$", "$x_2$")
    assert (*ax.get_xlim(), *ax.get_ylim()) == (-1, 1, -1, 1)
    assert ax.get_aspect() == 1


def test_a_slice_is_labelled_by_its_own_coordinates(fold, ax):
    plot_plane(replace(fold, basis=np.array([[1.0, 1.0], [1.0, -1.0]])), ax=ax)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("$t_1$", "$t_2$")


def test_without_axes_new_ones_of_pyplot_are_made(fold):
    ax = plot_plane(fold)
    assert plt.get_fignums() == [ax.figure.number]
    plt.close(ax.figure)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"color": "rainbow"}, "color must be 'regions', 'random', 'value' or 'class', got 'rainbow'"),
        ({"X": np.zeros((4, 3))}, r"X must be points \(n, 2\) in slice coordinates, got shape \(4, 3\)"),
        ({"X": np.zeros((4, 2)), "y": [1]}, "y must have 4 classes, one for each row of X"),
        ({"y": [1]}, "y must come with points X"),
        ({"X": [[0.0, 1.0], [np.nan, 0.0]]}, "X must be finite, got NaN or infinity in row 1"),
        ({"X": np.zeros((2, 2)), "y": ["a", "b"]}, "y must be an array of numbers"),
        ({"X": np.zeros((2, 2)), "y": [0, 0.5]}, "y must be class numbers: integers from 0, got 0.5"),
        ({"X": np.zeros((2, 2)), "y": [0, -1]}, "y must be class numbers: integers from 0, got -1"),
    ],
)
def test_bad_options_are_refused(fold, options, message):
    with pytest.raises(InputError, match=message):
        plot_plane(fold, **options)


def test_every_region_may_have_a_random_colour(fold, ax):
    plot_plane(fold, ax=ax, color="random")
    (sheet,) = drawn(ax, PolyCollection)
    assert len(np.unique(sheet.get_facecolor(), axis=0)) == fold.count


def test_classes_are_called_by_their_names(fold, ax):
    plot_plane(fold, ax=ax, color="class", classes=["no", "yes"])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["no", "yes"]
    with pytest.raises(InputError, match="classes must name each of the 2 classes, got 1"):
        plot_plane(fold, color="class", classes=["no"])


@pytest.mark.slow
@pytest.mark.parametrize("color", ["regions", "random", "value", "class"])
@pytest.mark.parametrize("box", [[(-1, 1), (-1, 1)], [(0, 1e6), (0, 1)], [(0, 1e-6), (0, 1)]])
def test_one_region_one_class_and_any_box_are_drawn(color, box, ax):
    net = creases.read([([[0.0, 0.0]], [0.0])])
    plot_plane(creases.plane(net, box), ax=ax, color=color, X=[[0.0, 0.0]], y=[0])
    ax.figure.draw_without_rendering()
    assert not ax.lines


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


@pytest.mark.slow
def test_two_classes_are_drawn_as_a_signed_distance_with_the_boundary_and_the_flips(ax):
    net = creases.read([([[1.0, 0.0]], [0.0])])
    plot_safety_map(safety_map(net, (-1, 1), resolution=8), ax=ax, X=[[0.5, 0.25]], y=[1], flips=True)
    (image,) = ax.images
    assert image.get_array()[0].tolist() == [-0.875, -0.625, -0.375, -0.125, 0.125, 0.375, 0.625, 0.875]
    lines = [line.get_segments() for line in ax.collections if type(line) is LineCollection]
    assert (np.concatenate(lines[0])[:, 0] == 0).all()  # the boundary
    assert lines[1][0].tolist() == [[0.5, 0.25], [0.0, 0.25]]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["class 0", "class 1"]


def test_three_classes_are_tinted_by_distance(ax):
    net = creases.read([([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]], [0.0, 0.0, 0.0])])
    plot_safety_map(safety_map(net, (-1, 1), resolution=21), ax=ax, names=("a", "b"))
    pixels = ax.images[0].get_array()
    assert pixels.shape == (21, 21, 3)
    assert pixels[0, 0].sum() < pixels[8, 8].sum()  # a corner is farther from the boundary, so darker
    assert ax.get_xlabel() == "a"
