"""Figures of models of tables: what is drawn is what the model adds."""

from itertools import pairwise

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.collections import LineCollection, TriMesh

import creases
from creases.errors import InputError
from creases.show import new_figure, plot_curves, plot_effect, plot_importance
from creases.show._figures._column_axes import date_ticks
from creases.show._figures._table_model import LEVELS, plot_term
from creases.tables import PairGraph, effects, fit_table, importance, model_graphs, parse_table
from readable_models import make_model, random_model
from table_networks import NAMES, random_net, table_rows


def axes_of(graph):
    _, (ax,) = new_figure(4, 3)
    return plot_term(graph, ax=ax)


def test_a_curve_has_a_dot_at_each_knot():
    model, problem = make_model(
        "size,y\n" + "".join(f"{k},{k}.5\n" for k in range(30)), {"size": ([0, 9, 29], [3, 0, 1])}
    )
    (graph,) = model_graphs(model, X=problem.X)
    dots = next(line for line in axes_of(graph).lines if line.get_marker() == "o")
    assert dots.get_xydata().tolist() == [[0, 3], [9, 0], [29, 1]]


def test_a_category_has_at_most_twelve_bars_that_do_not_overlap_and_counts_the_rest():
    towns = [f"town {k:02}" for k in range(19)]
    text = "town,y\n" + "".join(f"{towns[k % 19]},{k % 5}.5\n" for k in range(190))
    curves = {f"town={town}": ([0, 1], [0, k - 9]) for k, town in enumerate(towns)}
    model, problem = make_model(text, curves, kinds={"town": "category"})
    (graph,) = model_graphs(model, X=problem.X)
    ax = axes_of(graph)
    bars = sorted((bar.get_y(), bar.get_y() + bar.get_height()) for bar in ax.patches)
    assert len(bars) == LEVELS
    assert all(end <= start for (_, end), (start, _) in pairwise(bars))
    labels = [text.get_text() for text in ax.get_yticklabels()]
    assert labels[0] == "town 18 (10)"
    assert labels[-1].startswith("and 7 more, at most ±")


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_pairs_of_a_number_and_a_category_have_a_line_for_each_value(n_classes):
    model, problem = random_model(4, n_classes, plane=True)
    pair = model_graphs(model, X=problem.X)[-1]
    lines = [line for line in axes_of(pair).lines if not line.get_label().startswith("_")]
    assert sorted(line.get_label() for line in lines) == sorted(pair.second.levels)


@pytest.fixture(scope="module")
def product():
    """A model of a product of two numbers, one of which is a date, so that their plane matters most."""
    rng = np.random.default_rng(0)
    size, days = rng.uniform(0, 10, 300).round(2), rng.integers(0, 2000, 300)
    when = np.datetime64("2015-01-01") + days
    y = (size - 5) * (days - 1000) / 500 + rng.normal(0, 0.2, 300)
    text = "size,sold,y\n" + "".join(f"{a},{b},{c:.3f}\n" for a, b, c in zip(size, when, y, strict=True))
    return fit_table(parse_table(text, "table.csv"))


def plane_of(model, *names):
    graphs = [graph for graph in model_graphs(model, X=model.data.problem.X) if isinstance(graph, PairGraph)]
    return next(graph for graph in graphs if {graph.first.name, graph.second.name} == set(names))


def test_the_map_of_two_numbers_has_the_values_of_the_model_at_its_corners(product):
    pair = plane_of(product, "size", "sold")
    ax = axes_of(pair)
    (mesh,) = [each for each in ax.collections if isinstance(each, TriMesh)]
    corners = mesh._triangulation
    values = pair(corners.x, corners.y)[:, 0]
    np.testing.assert_allclose(mesh.get_array(), values, rtol=0, atol=1e-9 * np.abs(values).max())
    assert np.ptp(values) > 4, "the plane matters"
    inside = pair(corners.x[corners.triangles].mean(axis=1), corners.y[corners.triangles].mean(axis=1))[:, 0]
    np.testing.assert_allclose(values[corners.triangles].mean(axis=1), inside, rtol=0, atol=1e-9 * np.abs(values).max())


def test_the_map_has_creases_and_rows_and_fills_its_box(product):
    pair = plane_of(product, "size", "sold")
    ax = axes_of(pair)
    (creases,) = [each for each in ax.collections if isinstance(each, LineCollection)]
    assert len(creases.get_segments()) > 4
    assert any(len(each.get_offsets()) > 200 for each in ax.collections if not isinstance(each, LineCollection))
    assert ax.get_xlim() == (pair.first.knots[0], pair.first.knots[-1])
    assert ax.get_ylim() == (pair.second.knots[0], pair.second.knots[-1])


def test_an_axis_of_dates_has_years_in_a_map(product):
    pair = plane_of(product, "size", "sold")
    ax = axes_of(pair)
    axis = ax.xaxis if pair.first.name == "sold" else ax.yaxis
    names = [text.get_text() for text in axis.get_ticklabels()]
    assert len(names) > 2
    assert set(names) <= {"2015", "2016", "2017", "2018", "2019", "2020"}


def test_every_column_that_matters_has_a_panel():
    rows = "".join(f"{k % 30},{k * 7 % 31},{k % 30 + k % 2}.5\n" for k in range(90))
    model = fit_table(parse_table("si$_$ze,noise,y\n" + rows, "table.csv"))
    figure = plot_curves(model)
    figure.canvas.draw()  # a name is no formula
    titles = [ax.get_title(loc="left") for ax in figure.axes if ax.get_title(loc="left")]
    assert titles == [graph.name.replace("$", r"\$") for graph in model_graphs(model, X=model.data.problem.X)]
    assert titles[0] == r"si\$_\$ze"


def test_dates_are_labeled_by_months_or_years():
    assert date_ticks("2020-01-15", 0, 120)[1] == ["Feb 2020", "Mar 2020", "Apr 2020", "May 2020"]
    days, names = date_ticks("1970-01-01", 0, 4383)
    assert names[0] == "1970"
    assert np.diff(days).min() > 1000


def test_times_and_words_in_order_have_labels_as_the_table_writes_them():
    text = "when,risk,y\n" + "".join(f"{k % 24:02}:30,{('low', 'medium', 'high')[k % 3]},{k}.5\n" for k in range(48))
    model, problem = make_model(text, {"when": ([0.5, 12, 23.5], [3, 0, 1]), "risk": ([0, 1, 2], [5, 0, 9])})
    labels = {
        graph.column: [label.get_text() for label in axes_of(graph).get_xticklabels()]
        for graph in model_graphs(model, X=problem.X)
    }
    assert labels == {"when": ["06:00", "12:00", "18:00"], "risk": ["low", "medium", "high"]}


# Effects are drawn where they are, with marks where the mean bends.


@pytest.fixture
def ax():
    figure, axes = plt.subplots()
    yield axes
    plt.close(figure)


def test_the_mean_is_drawn_with_its_bends(ax):
    net = creases.read([([[1.0, 0.0], [1.0, 0.0]], [-1.0, 1.0]), ([[1.0, 2.0]], [0.0])])  # bends at 1 and at -1
    effect = effects(net, np.array([[-3.0, 0.0], [0.0, 1.0], [3.0, 2.0]]), "x0")
    plot_effect(effect, ax=ax)
    mean, marks = ax.lines[:2]
    np.testing.assert_allclose(mean.get_xdata(), [-3, -1, 1, 3])
    np.testing.assert_allclose(mean.get_ydata(), [0, 0, 4, 10], atol=1e-12)
    assert sorted(marks.get_xdata()) == pytest.approx([-1, 1])
    assert len(ax.collections[0].get_segments()) == 3
    with pytest.raises(InputError, match="output must be an integer from 0 to 0"):
        plot_effect(effect, output=1, ax=ax)


def test_categories_have_a_point_each(ax):
    effect = effects(random_net((5, 4, 3)), table_rows(30), "color", names=NAMES, classes=["a", "b", "c"])
    plot_effect(effect, output=2, ax=ax)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), effect.mean[:, 2])
    assert ax.get_xticklabels()[0].get_text().startswith("red\n")
    assert ax.get_ylabel() == "score of c"


def test_importance_has_the_largest_bar_on_top(ax):
    result = importance(random_net((5, 4, 1)), table_rows(30), names=NAMES)
    plot_importance(result, max_columns=2, ax=ax)
    assert [bar.get_width() for bar in ax.patches] == result["importance"].head(2).tolist()
    assert ax.yaxis_inverted()
