"""Whether a network is good, what it does and how sure it is, in the report of a table."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.metrics import precision_recall_fscore_support

import creases
from creases.growth import GrowthConfig
from creases.show.report._growth_sections import _chart
from creases.show.report._quality import confidence_sections, error_sections, quality_sections, scores_section
from creases.tables import Baseline, TableSplit, baselines, effects, parse_table
from creases.tables._scores.baselines import score_outputs


class Run:
    """What sections need of a run."""

    def __init__(self, net, data):
        self.net, self.data = net, data


@pytest.fixture(scope="module")
def birds():
    """A table of 60 rows in two classes, and a network that decides at a size of 0."""
    rng = np.random.default_rng(0)
    sizes = rng.normal(size=60)
    kinds = ["big" if size + 0.5 * rng.normal() > 0 else "small" for size in sizes]
    lines = [
        f"{size:.4f},{('x', 'y', 'z')[k % 3]},{kind}" for k, (size, kind) in enumerate(zip(sizes, kinds, strict=True))
    ]
    data = TableSplit.from_problem(parse_table("\n".join(["size,place,kind", *lines]), "birds.csv", "kind"))
    weights = np.zeros((2, data.problem.X.shape[1]))
    weights[:, data.problem.features.index("size")] = [2.0, -2.0]
    return Run(creases.read([(weights, np.zeros(2))]), data)


def test_the_confusion_matrix_counts_the_test_rows(birds):
    models = baselines(birds.net, birds.data)
    matrix = next(s for s in quality_sections(birds.data, models) if s["title"] == "Confusion matrix")["matrix"]
    problem, rows = birds.data.problem, birds.data.test
    expected = np.zeros((2, 2), int)
    for row in rows:
        expected[problem.y[row], int(np.argmax(birds.net(problem.X[row])))] += 1
    assert matrix["values"] == expected.tolist()
    assert matrix["rows"] == list(problem.classes) == ["big", "small"]


def test_the_scores_of_a_class_are_its_precision_recall_and_their_mean(birds):
    problem, rows = birds.data.problem, birds.data.test
    for found in (birds.net(problem.X).argmax(axis=1), np.zeros(len(problem.y), int)):
        models = [Baseline(name, found, 1.0, 1.0, 1.0, None) for name in ("net", "line")]
        sections = quality_sections(birds.data, models)
        table = next(s for s in sections if s["title"] == "Scores by class")["table"]["rows"]
        expected = precision_recall_fscore_support(problem.y[rows], found[rows], zero_division=0.0)
        for k, row in enumerate(table):
            assert [float(cell) for cell in row[1:]] == pytest.approx([part[k] for part in expected], abs=5e-4)


def test_a_network_is_better_worse_or_level_by_the_standard_error_of_the_difference(birds):
    right = birds.data.problem.y
    models = [Baseline(name, y, 1.0, 1.0, 0.5, None) for name, y in (("net", 1 - right), ("line", right))]
    assert "Worse than line on the test rows" in scores_section(birds.data, models)["text"]
    assert "To try: more rows; the better one of the other models." in scores_section(birds.data, models)["text"]
    assert "Better than net on the test rows" in scores_section(birds.data, models[::-1])["text"]
    level = scores_section(birds.data, [models[1], models[1]])["text"]
    assert "Level with line on the test rows (difference 0.000 ± 0.000 in accuracy)." in level
    assert "instead" not in level


def test_calibration_has_the_frequency_of_the_second_class_in_each_bin(birds):
    problem, none = birds.data.problem, birds.data.parts[0][:0]
    tested = replace(birds.data, parts=(none, none, np.arange(len(birds.data.rows))))
    calibration, confidence = confidence_sections(tested, score_outputs(birds.net, tested))
    line, points = calibration["charts"][0]["series"]
    small = softmax(birds.net(problem.X), axis=1)[:, 1]
    bins = [np.flatnonzero((small * 10).astype(int) == k) for k in range(10)]
    bins = [part for part in bins if len(part)]
    assert line["x"] == pytest.approx([small[part].mean() for part in bins], rel=1e-4)
    assert line["y"] == pytest.approx([problem.y[part].mean() for part in bins], rel=1e-4, abs=1e-9)
    assert (points["x"], points["y"]) == (line["x"], line["y"])
    right = np.argmax(birds.net(problem.X), axis=1) == problem.y
    bars = [sum(series["y"]) for series in confidence["charts"][0]["series"]]
    assert bars == [right.sum(), (~right).sum()]


def test_charts_of_effects_end_at_the_limits_of_the_column_and_have_a_place_for_every_category(birds):
    problem = birds.data.problem
    names = {"names": problem.encoding.input_names, "classes": problem.classes}
    chart = _chart(effects(birds.net, problem.X, "size", **names))
    line = chart["series"][-1]
    assert [line["x"][0], line["x"][-1]] == pytest.approx([problem.X[:, 0].min(), problem.X[:, 0].max()], rel=1e-4)
    fall = 4 * (line["x"][-1] - line["x"][0])  # of the log-odds of small
    assert line["y"][0] - line["y"][-1] == pytest.approx(fall, rel=1e-3)
    chart = _chart(effects(birds.net, problem.X, "place", **names))
    assert chart["x"]["labels"] == ["x", "y", "z"]
    assert len(set(chart["series"][0]["y"])) == 1  # it has no effect


def test_the_effect_of_a_column_of_two_values_is_shown_at_these_values_only():
    net = creases.read([([[1.0, 1.0]], [0.0]), ([[1.0]], [0.0])])  # relu(x0 + x1)
    X = np.array([[0.0, -0.5], [1.0, 2.0], [1.0, -3.0]])
    chart = _chart(effects(net, X, "x0"))
    assert chart["x"]["labels"] == ["0", "1"]
    (bars,) = chart["series"]
    assert bars["kind"] == "bars"
    expected = [float(net(np.column_stack([np.full(3, value), X[:, 1]])).mean()) for value in (0.0, 1.0)]
    assert np.allclose(bars["y"], expected, rtol=1e-3)
    assert _chart(effects(net, [[0.0, 0.0], [0.5, 1.0], [1.0, 0.0]], "x0"))["series"][-1]["kind"] == "line"


def test_axes_of_errors_have_the_unit_of_the_target():
    rows = "".join(f"{x},{10 * x:.2f} €\n" for x in np.random.default_rng(0).uniform(30, 90, 60).round(1))
    data = TableSplit.from_problem(parse_table(f"area,rent\n{rows}"), GrowthConfig())
    (residuals,) = error_sections(data, data.problem.y)
    assert [chart["y"]["name"] for chart in residuals["charts"]] == ["predicted rent (€)", "predicted − true rent (€)"]
