"""Pictures of comparisons: what is drawn is what was measured."""

import numpy as np
import pytest
import torch
from matplotlib.collections import LineCollection, PathCollection, PolyCollection

import creases
from creases.compare import active_subspace, coefficients
from creases.compare.differences import difference_on_line, difference_on_plane
from creases.errors import InputError
from creases.show._figures._compare import (
    plot_active_directions,
    plot_disagreement,
    plot_gradients,
    plot_images,
    plot_similarity,
    signed_image,
)
from creases.show._style import class_color, new_figure, tint

#: Networks 0, 2 and 1, 3 are alike.
PAIRS = np.array([[1, 0.1, 0.9, 0.2], [0.1, 1, 0.2, 0.8], [0.9, 0.2, 1, 0.1], [0.2, 0.8, 0.1, 1]])


@pytest.fixture
def ax():
    return new_figure()[1][0]


def texts(ax):
    return {(round(t.get_position()[1]), round(t.get_position()[0])): t.get_text() for t in ax.texts}


def test_similarities_are_written_into_cells_and_accuracies_on_the_diagonal(ax):
    plot_similarity(PAIRS, list("abcd"), ax=ax, accuracy=[0.9, 0.8, 0.7, 0.955], order=[3, 0, 1, 2])
    cells = texts(ax)
    assert [cells[i, i] for i in range(4)] == ["95.5", "90.0", "80.0", "70.0"]
    assert (cells[0, 1], cells[2, 3]) == ("0.20", "0.20")
    assert [t.get_text() for t in ax.get_yticklabels()] == ["d", "a", "b", "c"]
    image = ax.images[0].get_array()
    assert np.isnan(np.ma.filled(image, np.nan).diagonal()).all()


def test_small_distances_are_written_in_units_of_a_power_of_ten(ax):
    plot_similarity(np.array([[0, 0.0021], [0.0021, 0]]), ["a", "b"], ax=ax, distance=True)
    assert texts(ax)[0, 1] == "2.10"
    assert "10^{-3}" in ax.get_title(loc="right")


def test_alike_is_dark_for_similarities_and_for_distances():
    dark = []
    for values, distance in ((PAIRS, False), (1 - PAIRS, True)):
        ax = new_figure()[1][0]
        plot_similarity(values, list("abcd"), ax=ax, accuracy=np.ones(4), distance=distance, order=range(4))
        image = ax.images[0]
        colors = image.to_rgba(image.get_array())[..., :3].sum(axis=2)
        dark.append(colors[0, 2] < colors[0, 1])
    assert dark == [True, True]


def planes():
    a = creases.read([([[1.0, 0.0], [-1.0, 0.0]], [0.0, 0.0])])  # class 0 where x > 0
    b = creases.read([([[1.0, 0.0], [-1.0, 0.0]], [-0.5, 0.5])])
    return a, b


def test_where_networks_disagree_is_hatched_in_the_seconds_colour(ax):
    found = difference_on_plane(*planes(), [(-1, 1), (-1, 1)])
    plot_disagreement(found, ax=ax)
    (sheet,) = (c for c in ax.collections if isinstance(c, PolyCollection))
    (hatched,) = (c for c in ax.collections if isinstance(c, PathCollection))
    assert len(sheet.get_paths()) == found.partition.count
    (path,) = hatched.get_paths()
    assert {tuple(v) for v in path.vertices.tolist()} == {(0, -1), (0.5, -1), (0.5, 1), (0, 1)}
    assert hatched.get_hatch() == "////"
    np.testing.assert_allclose(hatched.get_edgecolor()[0][:3], tint(class_color(1), 1.0))
    lines = [c for c in ax.collections if isinstance(c, LineCollection)]
    assert [line.get_segments()[0][0][0] for line in lines] == [0, 0.5]
    assert "25%" in ax.get_title()


def test_networks_that_agree_have_no_hatching(ax):
    a, _ = planes()
    plot_disagreement(difference_on_plane(a, a, [(-1, 1), (-1, 1)]), ax=ax)
    assert not any(isinstance(c, PathCollection) for c in ax.collections)


def test_signed_numbers_are_white_above_zero_and_black_below():
    assert signed_image([[2.0, 0.0], [-1.0, -2.0]]).tolist() == [[1.0, 0.5], [0.25, 0.0]]
    assert signed_image(np.zeros((2, 2))).tolist() == [[0.5, 0.5]] * 2
    colour = signed_image(np.array([1.0, 0, -1.0]), (3, 1, 1))
    assert colour.tolist() == [[[1.0, 0.5, 0.0]]]
    assert signed_image(np.array([1.0, 1.0, -1.0]), (3, 1, 1), gray=True).tolist() == [[1.0]]


def sensitivities():
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(30, 4, dtype=torch.float64, generator=generator)
    net = creases.read([(np.eye(4)[:2], [0.0, 0.0]), ([[3.0, 0.0], [0.0, 2.0]], [0.0, 0.0])])
    C = coefficients(net, x)
    return x, C, {"net": [active_subspace(C, j) for j in range(2)]}


def test_directions_and_gradients_are_the_images_of_their_numbers():
    x, _, found = sensitivities()
    figure = plot_active_directions(found, (1, 2, 2), columns=["0", "1"])
    shown = [np.asarray(ax.images[0].get_array()) for ax in figure.axes]
    np.testing.assert_allclose(shown, [[[1, 0.5], [0.5, 0.5]], [[0.5, 1], [0.5, 0.5]]], atol=1e-9)
    slopes = np.array([[0.0, -1.0, 0.0, 0.0]])
    figure = plot_gradients({"net": slopes}, [x[0].numpy()], (1, 2, 2))
    top, below = figure.axes
    assert np.ptp(top.images[0].get_array()) == 1
    assert below.images[0].get_array().tolist() == [[0.5, 0.0], [0.5, 0.5]]


def test_names_of_images_are_texts():
    image = np.zeros((2, 2))
    assert plot_images([[image]], ["a"], np.array([], str)).axes[0].get_title() == ""
    with pytest.raises(InputError, match="columns must be names, got 3 among them"):
        plot_images([[image]], ["a"], [3])


def on_line():
    return difference_on_line(*planes(), [0, 0], [1, 0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: plot_similarity(np.ones((2, 3)), ["a", "b"]), r"values must be a matrix \(N, N\)"),
        (lambda: plot_similarity(np.ones((2, 2)), ["a"]), "names must have 2 names"),
        (lambda: plot_similarity(np.ones((2, 2)), ["a", "b"], accuracy=[1.0]), "accuracy must have 2"),
        (lambda: plot_similarity(np.eye(2), ["a", "b"], order=[0, 0]), "order must have each of the numbers 0 to 1"),
        (lambda: plot_disagreement(on_line()), "difference must be on a plane"),
        (lambda: signed_image(np.ones(5), (1, 2, 2)), "values must have 4 numbers"),
        (lambda: signed_image(np.ones((2, 2, 2))), "values must be an image"),
        (lambda: plot_images([[None]], []), "rows must name 1 rows, and columns 1 columns"),
    ],
)  # fmt: skip
def test_what_cannot_be_drawn_is_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()
