"""Figures of models of tables: what is drawn is what the model adds."""

from itertools import pairwise

import numpy as np
import pytest

from creases.show import new_figure, plot_curves, plot_term
from creases.show._figures._term_graphs import LEVELS, date_ticks
from creases.tables import fit_table, model_graphs, parse_table
from readable_models import make_model, random_model


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
    model, problem = make_model(text, curves, categorical=["town"])
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


def test_every_column_that_matters_has_a_panel():
    rows = "".join(f"{k % 30},{k * 7 % 31},{k % 30 + k % 2}.5\n" for k in range(90))
    model = fit_table(parse_table("size,noise,y\n" + rows, "table.csv"))
    figure = plot_curves(model)
    titles = [ax.get_title(loc="left") for ax in figure.axes if ax.get_title(loc="left")]
    assert titles == [graph.name for graph in model_graphs(model, X=model.data.problem.X)]
    assert titles[0] == "size"


def test_dates_are_labeled_by_months_or_years():
    assert date_ticks("2020-01-15", 0, 120)[1] == ["Feb 2020", "Mar 2020", "Apr 2020", "May 2020"]
    days, names = date_ticks("1970-01-01", 0, 4383)
    assert names[0] == "1970"
    assert np.diff(days).min() > 1000
