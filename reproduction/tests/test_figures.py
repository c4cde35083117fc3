"""Figures of stored results."""

from __future__ import annotations

import pandas as pd
import pytest

from creases.show._style import new_figure
from creases_reproduction.experiment import stored_table
from creases_reproduction.figures import geometry
from creases_reproduction.figures.pruning import plot_sub_networks
from creases_reproduction.linearity.sine_sizes import sine_networks


@pytest.mark.parametrize(
    ("name", "draw", "panels"),
    [
        ("shells_hyperparameters", geometry.plot_hyperparameters, 2),
        ("shells_dimensions", geometry.plot_dimensions, 2),
        ("shells_kinds", geometry.plot_kinds, 1),
        ("shells_orthogonality", geometry.plot_orthogonality, 1),
        ("sine_sizes", geometry.plot_sine, 1),
    ],
)
def test_stored_results_are_drawn_with_labelled_axes(name, draw, panels):
    figure = draw(stored_table(name))
    assert len(figure.axes) == panels
    assert figure.axes[0].get_ylabel()
    figure.canvas.draw()


@pytest.mark.thorough
def test_sine_is_drawn_for_every_size():
    found = sine_networks()
    for coefficients in (False, True):
        figure = geometry.plot_sine_networks(found, coefficients=coefficients)
        assert len(figure.axes) == 4
        assert all(ax.texts for ax in figure.axes)
        figure.canvas.draw()


def test_sub_networks_that_are_right_are_drawn_bold():
    rows = [(k, s, e, 1.0, float(s == 1 and e == 1)) for k in (1, 2) for s in (0, 1) for e in (0, 1)]
    _, (ax,) = new_figure()
    plot_sub_networks(pd.DataFrame(rows, columns=["width", "sub_network", "epoch", "loss", "right"]), ax=ax)
    assert [line.get_linewidth() for line in ax.lines] == [0.5, 1.8, 0.5, 1.8]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["width 1", "width 2"]
