from dataclasses import replace

import numpy as np
import pytest
from matplotlib.collections import LineCollection

import creases
from creases.errors import InputError
from creases.growth import Scaling
from creases.show import plot_plane
from creases.show._figures._marks import mark_growth_step, new_units
from creases.show._style import new_figure, tint
from creases.show._themes import active_theme
from show.pictures import DEEP, FOLDS, LABELS, POINTS, RECORD, folds


@pytest.fixture
def ax():
    return new_figure()[1][0]


def marked(ax):
    return {line.get_label(): tuple(np.ravel(line.get_data())) for line in ax.lines}


def lit(ax):
    """The segments in the accent's colour."""
    found = [c for c in ax.collections if isinstance(c, LineCollection) and len(c.get_colors())]
    return [
        s
        for c in found
        if np.allclose(c.get_colors()[0][:3], tint(active_theme().accent, 1.0))
        for s in c.get_segments()
    ]


def test_new_creases_lie_where_the_new_unit_is_zero(ax):
    plot_plane(folds(), ax=ax, color="class", X=POINTS, y=LABELS, record=RECORD)
    points = np.concatenate(lit(ax))
    np.testing.assert_allclose(0.8 * points[:, 0] - 0.8 * points[:, 1] - 0.4, 0, atol=1e-12)
    assert marked(ax) == {"typical mistake": (0.35, -0.45), "fold point": (0.55, 0.05)}
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["class 0", "class 1", "newest crease", "typical mistake", "fold point"]


def test_points_are_in_the_data_s_units(ax):
    plot_plane(folds(), ax=ax)
    mark_growth_step(ax, folds(), RECORD, scaling=Scaling(np.array([10.0, 0.0]), np.array([2.0, 1.0])), legend=False)
    assert marked(ax)["typical mistake"] == pytest.approx((10.7, -0.45))
    assert ax.get_legend() is None


def test_a_turned_slice_shows_the_points_in_its_coordinates(ax):
    part = creases.plane(FOLDS, origin=[0.5, 0.0], basis=[[0.0, 1.0], [1.0, 0.0]])
    plot_plane(part, ax=ax, record=RECORD)
    assert marked(ax)["fold point"] == pytest.approx((0.05, 0.05))


def test_other_methods_and_deeper_layers_have_creases_alone(ax):
    later = replace(RECORD, place="layers.1", units=[2], explanation={"method": "tiny"})
    assert new_units(DEEP, later) == [6]
    part = creases.plane(DEEP)
    plot_plane(part, ax=ax, record=later)
    assert len(lit(ax)) == (part.edge_units == 6).sum() > 1
    assert not ax.lines


def test_a_crease_outside_the_box_is_no_error(ax):
    plot_plane(creases.plane(FOLDS, [(5, 6), (-6, -5)]), ax=ax, record=RECORD)
    assert not lit(ax)


def test_a_place_that_is_not_there_is_named():
    message = r"record must be of a layer of this network \('layers\.0'\), got 'hidden9'"
    with pytest.raises(InputError, match=message):
        new_units(FOLDS, replace(RECORD, place="hidden9"))


def test_the_samples_with_the_same_mistake_are_ringed_in_the_data_that_grew_the_network(ax):
    why = {"instance": 2, "features": [*POINTS[2]], "cluster": {"alike": [2, 5, 7]}}
    record = replace(RECORD, explanation={**RECORD.explanation, "why": why})
    plot_plane(folds(), ax=ax, color="class", X=POINTS, y=LABELS, record=record)
    np.testing.assert_array_equal(np.reshape(marked(ax)["same mistake"], (2, 2)).T, POINTS[[5, 7]])
    assert marked(ax)["typical mistake"] == tuple(POINTS[2])
    other = new_figure()[1][0]
    plot_plane(folds(), ax=other, X=POINTS[::-1], y=LABELS, record=record)  # other rows than those of the record
    assert "same mistake" not in marked(other)


def test_before_a_growth_step_its_crease_is_dashed_where_it_is_put(ax):
    crease = {"normal": [0.8, -0.8], "offset": -0.4}
    record = replace(RECORD, units=[5], width=(5, 6), explanation={**RECORD.explanation, "crease": crease})
    plot_plane(folds(), ax=ax, record=record)
    (dashed,) = [line for line in ax.lines if line.get_label() == "where the crease is put"]
    (x0, y0), (x1, y1) = dashed.get_xy1(), dashed.get_xy2()
    np.testing.assert_allclose([0.8 * x0 - 0.8 * y0 - 0.4, 0.8 * x1 - 0.8 * y1 - 0.4], 0, atol=1e-12)
    assert not lit(ax)


def test_a_crease_that_training_moved_has_no_fold_point(ax):
    away = {**RECORD.explanation, "where": {"space": "input", "fold_point": [0.55, 0.4]}}
    plot_plane(folds(), ax=ax, record=replace(RECORD, explanation=away))
    assert "fold point" not in marked(ax)
