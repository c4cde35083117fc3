"""Pictures of where gradient descent on XOR ends."""

from __future__ import annotations

import pytest
from matplotlib import pyplot

from creases.show._style import save_figure
from creases_reproduction.figures.optima import optima_figure, plot_loss_shares, plot_solutions
from creases_reproduction.linearity.boolean_optima import table_3_2


@pytest.fixture(scope="module")
def result():
    return table_3_2("quick")


def test_the_figure_has_a_bar_for_each_loss_and_rule_and_a_panel_for_each_loss(result, tmp_path):
    figure = optima_figure(result)
    shares, *solutions = figure.axes
    assert len(shares.patches) == 6
    assert [ax.get_title().split(":")[0] for ax in solutions] == ["loss 0", "loss 8/3", "loss 4"]
    assert save_figure(figure, tmp_path / "optima.png").stat().st_size > 10_000


def test_parts_draw_on_axes_of_their_own(result):
    assert plot_loss_shares(result).get_ylabel() == "share of networks"
    (lines,) = plot_solutions(result.runs["sum"], 1, functions=7).collections
    assert len(lines.get_segments()) == 7
    pyplot.close("all")
