import numpy as np
import pytest

import creases
from creases.compare import coefficients
from creases.errors import InputError
from creases.show import plot_dual
from creases.show._style import new_figure


@pytest.fixture
def ax():
    return new_figure()[1][0]


@pytest.fixture
def cross():
    """relu(x1) + 2 relu(x2) - 0.5 on four quadrants, the right half three times as wide."""
    net = creases.read([(np.eye(2), np.zeros(2)), ([[1.0, 2.0]], [-0.5])])
    return creases.plane(net, [(-1, 3), (-1, 1)])


def by_place(dots):
    return dict(zip(map(tuple, dots.get_offsets().tolist()), dots.get_sizes().tolist(), strict=True))


def test_every_region_is_a_dot_at_its_slopes_as_large_as_its_area(cross, ax):
    plot_dual(cross, ax=ax)
    lines, dots = ax.collections
    sizes = by_place(dots)
    assert set(sizes) == {(0, 0), (1, 0), (0, 2), (1, 2)}
    assert sizes[1, 0] / sizes[0, 0] == pytest.approx(3)
    pairs = {frozenset(map(tuple, segment.tolist())) for segment in lines.get_segments()}
    assert pairs == {frozenset(p) for p in [((0, 0), (1, 0)), ((0, 0), (0, 2)), ((1, 2), (1, 0)), ((1, 2), (0, 2))]}
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("$J_1$", "$J_2$")


def test_constants_are_coloured_about_zero(cross, ax):
    plot_dual(cross, ax=ax)
    dots = ax.collections[1]
    assert dots.get_clim() == (-0.5, 0.5)
    np.testing.assert_allclose(dots.get_array(), -0.5)


def test_classes_are_those_decided_in_the_middle(cross, ax):
    plot_dual(cross, ax=ax, color="class")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["class 0", "class 1"]
    colors = {
        tuple(at): tuple(face)
        for at, face in zip(ax.collections[1].get_offsets().tolist(), ax.collections[1].get_facecolor(), strict=True)
    }
    assert colors[0, 0] != colors[1, 2] == colors[1, 0]


def test_pieces_that_data_use_are_ringed(cross, ax):
    plot_dual(cross, ax=ax, X=[[0.5, 0.5], [0.7, 0.2], [9.0, 9.0], [-0.5, -0.5]])
    rings = ax.collections[-1]
    assert sorted(map(tuple, rings.get_offsets().tolist())) == [(0, 0), (1, 2)]


def test_coefficients_of_many_inputs_are_shown_where_they_vary_most(ax):
    net = creases.read([(np.eye(4)[:2], np.zeros(2)), ([[3.0, 1.0]], [0.0])])
    x = np.array([[1.0, 1, 5, 5], [1, -1, 5, 5], [-1, 1, 5, 5], [-1, -1, 5, 5], [1, 1, 6, 6]])
    plot_dual(coefficients(net, x), ax=ax)
    dots = ax.collections[1]
    sizes = by_place(dots)
    assert len(sizes) == 4  # the first and the last sample are in one region
    at = np.array(list(sizes))
    largest = at[np.argmax(list(sizes.values()))]
    apart = sorted(np.linalg.norm(at - largest, axis=1))
    np.testing.assert_allclose(apart, [0, 1, 3, np.sqrt(10)])  # a projection that keeps these distances
    assert ax.get_xlabel() == "first direction of $J$"


@pytest.mark.parametrize("weights", [[[1.0, -1.0]], [[0.0, 0.0]]])
def test_one_region_is_one_dot(weights, ax):
    plot_dual(creases.plane(creases.read([(weights, [0.0])]), [(0, 1e6), (0, 1)]), ax=ax)
    ax.figure.draw_without_rendering()
    assert ax.collections[1].get_offsets().tolist() == weights


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"color": "value"}, "color must be 'bias' or 'class', got 'value'"),
        ({"output": 1}, "output must be an integer from 0 to 0, got 1"),
        ({"X": [[0.0, np.nan]]}, "X must be finite, got NaN or infinity in row 0"),
        ({"X": [0.0]}, r"X must be points \(n, 2\)"),
    ],
)
def test_bad_options_are_refused(cross, options, message):
    with pytest.raises(InputError, match=message):
        plot_dual(cross, **options)


def test_samples_have_no_classes_to_colour_by():
    net = creases.read([(np.eye(2), np.zeros(2)), ([[3.0, 1.0]], [0.0])])
    with pytest.raises(
        InputError, match=r"pieces must be a result of creases\.plane for X or color='class', got Coefficients"
    ):
        plot_dual(coefficients(net, np.eye(2)), color="class")
