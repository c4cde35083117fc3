"""Pictures of claims: rows with their intervals, curves, heat maps."""

from __future__ import annotations

import numpy as np
import pytest

from creases.errors import InputError
from creases.show._style import new_figure
from creases_reproduction.claim import Curve, Picture, Row
from creases_reproduction.figures.claims import claim_figure, plot_claim


def test_rows_are_drawn_from_the_top_with_printed_numbers_beside():
    _, (ax,) = new_figure()
    rows = [Row("a", 1.0, 1.2, 1.1, 1.3), Row("b", None, 0.5), Row("c" * 60, 2.0, None)]
    plot_claim(Picture(rows=rows, x="loss"), ax)
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names[:2] == ["a", "b"]
    assert len(names[2]) == 44
    assert ax.get_yticks()[0] > ax.get_yticks()[2]
    assert ax.get_legend() is not None
    assert ax.get_xlabel() == "loss"


def test_without_printed_numbers_there_is_no_legend():
    _, (ax,) = new_figure()
    plot_claim(Picture(rows=[Row("a", None, 1.0)]), ax)
    assert ax.get_legend() is None


def test_curves_have_bands_and_wide_ranges_a_logarithmic_axis():
    _, (near, far) = new_figure(panels=2)
    plot_claim(Picture(curves=[Curve("a", [1, 2], [1, None], [0, 1], [2, 3])]), near)
    plot_claim(Picture(curves=[Curve("a", [1, 100], [1, 2])], log=True), far)
    assert len(near.collections) == 1
    assert (near.get_xscale(), far.get_xscale(), far.get_yscale()) == ("linear", "log", "log")


def test_a_heat_map_says_its_cells():
    figure = claim_figure(Picture(heat=[[1.0, 2.0], [3.0, None]], x_names=["p", "q"], x="x"), "title")
    ax = figure.axes[0]
    assert sorted(text.get_text() for text in ax.texts) == ["1", "2", "3"]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["p", "q"]
    assert figure.get_suptitle() == "title"


@pytest.mark.parametrize("rows", [1, 40])
def test_more_rows_make_a_taller_figure(rows):
    figure = claim_figure(Picture(rows=[Row(str(k), None, float(k)) for k in range(rows)]), "")
    assert np.isclose(figure.get_figheight(), 1.3 + 0.24 * rows)


def test_an_empty_picture_is_refused():
    with pytest.raises(InputError, match="picture must have rows, curves or a heat map, got none of them"):
        plot_claim(Picture(), new_figure()[1][0])
