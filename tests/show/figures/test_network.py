""""""

import numpy as np
import pytest
import torch
from matplotlib.collections import LineCollection, PathCollection
from torch import nn

import creases
from creases.compare import coefficients
from creases.errors import InputError
from creases.show import plot_dual, plot_network
from creases.show._style import class_color, new_figure, tint
from creases.show._themes import active_theme
from show.pictures import FOLDS, RECORD


@pytest.fixture
def ax():
    return new_figure()[1][0]


def nodes(ax, color=None):
    found = [c for c in ax.collections if isinstance(c, PathCollection) and c.get_sizes()[0] > 50]
    if color is not None:
        found = [c for c in found if np.allclose(c.get_facecolor()[0][:3], tint(color, 1.0))]
    return [tuple(at) for c in found for at in c.get_offsets().tolist()]


def lines(ax):
    return [c for c in ax.collections if isinstance(c, LineCollection)]


def test_there_is_a_node_for_everything_and_a_line_for_every_weight(ax):
    plot_network(FOLDS, ax=ax)
    assert [sum(x == k for x, _ in nodes(ax)) for k in range(3)] == [2, 5, 2]
    assert [len(c.get_segments()) for c in lines(ax)] == [10, 10]
    assert [text.get_text() for text in ax.texts] == ["2 inputs", "5 units", "2 outputs"]


def test_lines_are_as_wide_as_weights_and_coloured_by_sign(ax):
    plot_network(creases.read([([[2.0], [-1.0], [0.0]], [0.0] * 3)]), ax=ax)
    (drawn,) = lines(ax)
    width = dict(zip([s[1][1] for s in drawn.get_segments()], drawn.get_linewidths(), strict=True))
    assert len(width) == 2  # a weight of zero is no line
    assert width[1.0] > 1.5 * width[0.0]
    colors = [c[:3] for c in drawn.get_colors()]
    np.testing.assert_allclose(colors[-1], tint(class_color(1), 1.0))
    assert colors[0][2] > colors[0][0]  # blue


def test_the_newest_units_are_marked(ax):
    plot_network(FOLDS, record=RECORD, ax=ax)
    assert nodes(ax, active_theme().accent) == [(1.0, -2.0)]
    assert [text.get_text() for text in ax.get_legend().get_texts()][-1] == "newest"


def test_of_wide_layers_some_are_drawn_and_always_the_newest(ax):
    model = nn.Sequential(nn.Linear(200, 300), nn.ReLU(), nn.Linear(300, 1))
    plot_network(model, newest=[150], ax=ax, max_nodes=8)
    assert [sum(x == k for x, _ in nodes(ax)) for k in range(3)] == [8, 8, 1]
    assert len(nodes(ax, active_theme().accent)) == 1
    dots = [c for c in ax.collections if isinstance(c, PathCollection) and c.get_sizes()[0] < 50]
    assert len(dots) == 2
    assert "300 units" in [text.get_text() for text in ax.texts]


def test_weights_are_those_of_all_that_lies_between_two_bends(ax):
    model = nn.Sequential(nn.Conv1d(1, 2, 2), nn.BatchNorm1d(2), nn.ReLU(), nn.Flatten(), nn.Linear(4, 1)).eval()
    nn.init.ones_(model[0].weight)
    net = creases.read(model, (1, 3))
    plot_network(net, ax=ax)
    assert [sum(x == k for x, _ in nodes(ax)) for k in range(3)] == [3, 4, 1]
    assert len(lines(ax)[0].get_segments()) == 8  # each unit of a convolution sees two of three inputs


@pytest.mark.parametrize("layers", [[([[1.0, -1.0]], [0.0])], [([[0.0, 0.0]], [0.0]), ([[0.0]], [0.0])]])
def test_networks_without_units_or_weights_are_drawn(layers, ax):
    plot_network(creases.read(layers), ax=ax)
    ax.figure.draw_without_rendering()
    assert len(nodes(ax)) == 1 + sum(len(W) + (W is layers[0][0]) for W, _ in layers)


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(2, 2)

    def forward(self, x):
        return x + torch.relu(self.inner(x))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: plot_network(creases.read(Residual(), (2,))), "model must be a chain of steps to be drawn"),
        (lambda: plot_network(FOLDS, newest=[5]), "newest must be an integer from 0 to 4, got 5"),
        (lambda: plot_network(FOLDS, features=["a"]), "features must have 2 names, got 1"),
        (lambda: plot_network(FOLDS, max_nodes=0), "max_nodes must be a positive integer, got 0"),
        (
            lambda: plot_network(nn.Linear(3000, 3000)),
            "model must have layers of at most 4,000,000 weights to be drawn, got a map from 3000 to 3000",
        ),
    ],
)
def test_what_cannot_be_drawn_is_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()


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
