import numpy as np
import pytest
from matplotlib.collections import LineCollection

import creases
from creases.certify import safety_map
from creases.show import plot_safety_map
from creases.show._style import new_figure


@pytest.fixture
def ax():
    return new_figure()[1][0]


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
