"""Graphs of a model's parts: the same numbers as its predictions."""

import numpy as np
import pytest

from creases.tables import LevelGraph, NumberGraph, PairGraph, model_graphs
from readable_models import make_model, random_model


def number_graphs(model, X):
    return {graph.name: graph for graph in model_graphs(model, X=X) if isinstance(graph, NumberGraph)}


def test_a_curve_has_the_knots_values_and_rows_of_its_column():
    model, problem = make_model(
        "size,y\n" + "".join(f"{k},{k}.5\n" for k in range(30)), {"size": ([0, 9, 29], [3, 0, 1])}
    )
    (graph,) = model_graphs(model, X=problem.X)
    assert graph.knots.tolist() == [0, 9, 29]
    assert graph.values[:, 0].tolist() == [3, 0, 1]
    assert graph.rows.tolist() == list(range(30))


def test_what_is_constant_has_no_graph():
    text = "size,height,y\n" + "".join(f"{k % 30},{k * k % 31},{k}.5\n" for k in range(90))
    model, problem = make_model(text, {"size": ([0, 29], [3, 0])})
    assert [graph.name for graph in model_graphs(model, X=problem.X)] == ["size"]


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_columns_come_in_the_order_of_importance_before_planes(n_classes):
    model, problem = random_model(3, n_classes, plane=True)
    graphs = model_graphs(model, X=problem.X)
    assert isinstance(graphs[-1], PairGraph)
    sizes = [graph.size for graph in graphs[:-1]]
    assert sizes == sorted(sizes, reverse=True)


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_values_of_a_category_are_what_its_rows_get(n_classes):
    model, problem = random_model(5, n_classes)
    graph = next(graph for graph in model_graphs(model, X=problem.X) if graph.name == "home")
    assert isinstance(graph, LevelGraph)
    terms = model._terms()
    place = [term.name for term in terms.columns].index("home")
    parts = terms.contributions(problem.X)[:, place]
    rows = [np.flatnonzero(problem.X[:, j] == 1)[0] for j in terms.columns[place].inputs]
    assert sorted(graph.values[:, 0]) == pytest.approx(sorted(parts[rows, 0]))
    assert graph.counts.sum() == len(problem.X)


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_a_pair_is_exact_and_straight_between_its_knots(n_classes):
    model, problem = random_model(7, n_classes, plane=True)
    pair = model_graphs(model, X=problem.X)[-1]
    parts = model._terms().contributions(problem.X)[:, -1]
    assert np.allclose(pair(pair.rows[:, 0], pair.rows[:, 1]), parts)
    knots = pair.first.knots
    for level in range(len(pair.second.levels)):
        at_knots = pair(knots, np.full(len(knots), level))
        middle = (knots[:-1] + knots[1:]) / 2
        assert np.allclose(pair(middle, np.full(len(middle), level)), (at_knots[:-1] + at_knots[1:]) / 2)


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_the_network_of_a_pair_is_the_pair(n_classes):
    model, problem = random_model(8, n_classes, plane=True)
    pair = model_graphs(model, X=problem.X)[-1]
    values = pair(pair.rows[:, 0], pair.rows[:, 1])
    for k in range(values.shape[1]):
        assert np.allclose(np.asarray(pair.network(k)(problem.X))[:, 0], values[:, k])
