"""Pictures of two columns: every number of a table of two categories, and the creases of a map of two numbers."""

import base64
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from creases.show.report._charts import CELLS, SAMPLES, pair_chart
from creases.tables import model_graphs
from creases.tables._stages.model import Plane
from creases.tables._stages.pairs import PairHinges, Variable
from readable_models import make_model


def with_plane(text, hinges, weights):
    """Return the graph of a plane of two columns."""
    model, problem = make_model(text, {})
    plane = Plane(hinges, np.asarray(weights, float)[:, None], {}, np.zeros(1))
    model = replace(model, function=replace(model.function, planes=(plane,)))
    return model_graphs(model, X=problem.X)[-1]


def categories(n, m):
    """Return the graph of two categories of n and m values, with another value for each two."""
    rows = "".join(f"t{k % n:02},s{k // n % m:02},{k + 0.5}\n" for k in range(3 * n * m))
    first, second = list(range(n)), list(range(n, n + m))
    pairs = [(i, j) for i in first for j in second]
    knots = {j: np.zeros(1) for j in first + second}
    variables = Variable("category", 0, np.array(first)), Variable("category", 1, np.array(second))
    places = np.array(pairs)
    hinges = PairHinges(variables, knots, places[:, 0], places[:, 1], np.tile([1.0, 1.0, -1.0], (len(pairs), 1)))
    return with_plane("town,season,y\n" + rows, hinges, 0.1 * np.arange(len(pairs)) - 1)


def test_a_table_of_eight_by_four_shows_every_value_and_every_number():
    graph = categories(8, 4)
    chart = pair_chart(graph)
    towns, seasons = chart["down"]["levels"], chart["across"]["levels"]
    assert (towns, seasons) == ([f"t{k:02}" for k in range(8)], [f"s{k:02}" for k in range(4)])
    numbers = [[float(text) for text in row] for row in chart["texts"]]
    for i, j in np.ndindex(8, 4):
        assert numbers[i][j] == pytest.approx(graph(np.array([i]), np.array([j]))[0, 0], abs=0.05)
    assert np.abs(chart["values"]).max() == pytest.approx(chart["limit"])
    assert chart["note"] == ""


def test_a_table_that_leaves_values_out_says_so():
    note = pair_chart(categories(CELLS[0] + 3, CELLS[1] + 1))["note"]
    assert note.startswith(f"not shown: 3 of {CELLS[0] + 3} town and 1 of {CELLS[1] + 1} season, at most")


def test_a_map_bends_at_its_creases_and_nowhere_else():
    rng = np.random.default_rng(0)
    text = "a,b,y\n" + "".join(f"{k % 9},{k % 7},{k + 0.5}\n" for k in range(63))
    variables = Variable("number", 0, np.array([0])), Variable("number", 1, np.array([1]))
    knots = {0: np.array([0.0, 2.0, 8.0]), 1: np.array([0.0, 5.0, 6.0])}
    weights = np.array([[1.0, 1.0, -0.9], [1.0, -1.0, 0.1], [0.5, 1.0, -0.7]])
    hinges = PairHinges(variables, knots, np.zeros(3, int), np.ones(3, int), weights)
    graph = with_plane(text, hinges, [2.0, -1.0, 1.5])
    lines = graph.creases()
    sides = [rng.uniform(0, (8, 6), (400, 2)) for _ in range(2)]
    ends = np.stack([sides[0], sides[0] + 0.05 * (sides[1] - sides[0])])  # short segments
    middle = ends.mean(axis=0)
    value = [graph(*points.T)[:, 0] for points in (*ends, middle)]
    bends = np.abs(value[0] + value[1] - 2 * value[2]) > 1e-9
    crosses = np.zeros(len(bends), bool)
    for line in lines:
        for p, q in pairwise(line):
            normal = np.array([q[1] - p[1], p[0] - q[0]])
            side = (ends - p) @ normal
            along = (ends - p) @ (q - p)
            near = (along.max(axis=0) >= 0) & (along.min(axis=0) <= (q - p) @ (q - p))
            crosses |= (side[0] * side[1] <= 0) & near
    assert bends.any()
    assert not (bends & ~crosses).any()
    chart = pair_chart(graph)
    assert [np.array(line) for line in chart["creases"]] == [pytest.approx(line, rel=1e-5) for line in lines]
    shades = np.frombuffer(base64.b64decode(chart["shades"]), np.int8).reshape(SAMPLES[::-1])
    (left, right), (low, high) = chart["x"]["range"], chart["y"]["range"]
    corners = [(left, high), (right, high), (left, low), (right, low)]  # the first row of pixels is the upper one
    drawn = shades[[0, 0, -1, -1], [0, -1, 0, -1]] / 127 * chart["limit"]
    step = max((right - left) / SAMPLES[0], (high - low) / SAMPLES[1])
    assert drawn == pytest.approx(graph(*np.array(corners, float).T)[:, 0], abs=chart["limit"] / 127 + 5 * step)
