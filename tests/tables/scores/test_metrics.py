"""Measures agree with their definitions; class weights, thresholds and warnings do what they say."""

import json

import numpy as np
import pytest

import creases
from creases.errors import InputError
from creases.growth import GrowthConfig
from creases.problems import Problem
from creases.tables import Experiment, TableSplit, baseline_warnings, baselines, metrics_summary
from creases.tables._model.schema import decide
from creases.tables._scores.baselines import choose_threshold, classification_metrics, regression_metrics


def rare_problem(n=400, seed=0):
    """A table where about 6 % of the rows are of the second class, which a linear model ranks well."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    y = (X[:, 0] + 0.5 * rng.normal(size=n) > 1.8).astype(np.int64)
    return Problem("rare", X, y, ("a", "b"), ("no", "yes"), target="t")


@pytest.fixture(scope="module")
def split():
    return TableSplit.from_problem(rare_problem())


def test_classification_measures_by_their_definitions():
    rng = np.random.default_rng(0)
    y, scores = rng.integers(3, size=60), rng.random((60, 3))
    p = scores / scores.sum(axis=1, keepdims=True)
    predictions = p.argmax(axis=1)
    part = classification_metrics(y, predictions, p, 3)
    confusion = np.array(part.confusion)
    assert confusion.sum() == 60
    assert part.accuracy == pytest.approx(np.trace(confusion) / 60)
    assert part.recall == pytest.approx(np.diag(confusion) / confusion.sum(axis=1))
    assert part.precision == pytest.approx(np.diag(confusion) / confusion.sum(axis=0))
    assert part.log_loss == pytest.approx(-np.log(p[np.arange(60), y]).mean())
    pairs = [(p[i, c] > p[j, c]) for c in range(3) for i in np.flatnonzero(y == c) for j in np.flatnonzero(y != c)]
    counts = [(y == c).sum() * (y != c).sum() for c in range(3)]
    by_class = [np.mean(part_) for part_ in np.split(np.array(pairs), np.cumsum(counts)[:-1])]
    assert part.roc_auc == pytest.approx(np.mean(by_class))
    assert sum(count for _, _, count in part.reliability) == 60
    json.dumps(part.to_dict())


def test_measures_that_are_not_defined_are_none():
    part = classification_metrics(np.zeros(3, int), np.zeros(3, int), np.tile([0.8, 0.2], (3, 1)), 2)
    assert part.roc_auc is None
    assert part.pr_auc is None
    assert part.log_loss == pytest.approx(-np.log(0.8))
    assert part.calibration_error == pytest.approx(0.2)
    assert regression_metrics(np.array([1.0]), np.array([3.0])).r2 is None
    assert regression_metrics(np.array([1.0]), np.array([3.0])).rmse == 2.0


def test_balanced_weights_make_classes_weigh_the_same(split):
    balanced = TableSplit.from_problem(rare_problem(), GrowthConfig(class_weight="balanced"))
    used = np.concatenate(balanced.parts[:2])
    weight, y = balanced.rows.weight[used], balanced.rows.y[used, 0]
    assert weight[y == 0].sum() == pytest.approx(weight[y == 1].sum())
    assert weight.sum() == pytest.approx(split.rows.weight[used].sum())
    named = TableSplit.from_problem(rare_problem(), GrowthConfig(class_weight={"yes": 5.0}))
    assert named.class_weights.tolist() == [1.0, 5.0]


def test_wrong_weights_and_thresholds_are_refused():
    with pytest.raises(InputError, match="class_weight must name classes among no, yes, got 'maybe'"):
        TableSplit.from_problem(rare_problem(), GrowthConfig(class_weight={"maybe": 5.0}))
    with pytest.raises(InputError, match="class_weight must be None, 'balanced'"):
        GrowthConfig(class_weight="even")
    with pytest.raises(InputError, match=r"class_weight\['yes'\] must be a finite number above 0"):
        GrowthConfig(class_weight={"yes": 0})
    with pytest.raises(InputError, match="threshold must be 'f1'"):
        GrowthConfig(threshold="best")
    with pytest.raises(InputError, match="threshold must be a finite number above 0 and below 1"):
        GrowthConfig(threshold=1.5)
    with pytest.raises(InputError, match=r"threshold must be 0\.5 unless there are two classes"):
        Experiment.from_problem(creases.problems.get("iris"), GrowthConfig(threshold="f1"))
    numbers = np.random.default_rng(0).normal(size=(30, 2))
    problem = Problem("r", numbers[:, :1], numbers[:, 1], ("a",))
    with pytest.raises(InputError, match="class_weight must be None for a regression"):
        TableSplit.from_problem(problem, GrowthConfig(class_weight="balanced"))


def test_the_configuration_keeps_weights_and_threshold():
    config = GrowthConfig(class_weight={"yes": 5.0}, threshold="f1")
    assert GrowthConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config


@pytest.mark.parametrize("rule", ["f1", "balanced_accuracy", "accuracy"])
def test_the_threshold_is_the_best_of_all_on_validation_rows(split, rule):
    from sklearn.metrics import accuracy_score, balanced_accuracy_score, f1_score

    score = {"f1": f1_score, "balanced_accuracy": balanced_accuracy_score, "accuracy": accuracy_score}[rule]
    net = creases.read([([[1.0, 0.3], [-1.0, -0.3]], [0.0, 0.0]), ([[-0.5, 0.5], [0.5, -0.5]], [2.0, -2.0])])
    threshold = choose_threshold(net, split, rule)
    X, y = split.rows.X[split.parts[1]], split.rows.y[split.parts[1], 0].astype(int)
    outputs = net(X)
    best = score(y, decide(outputs, threshold), **({"zero_division": 0} if rule == "f1" else {}))
    for other in np.linspace(0.01, 0.99, 40):
        assert score(y, decide(outputs, other)) <= best + 1e-12
    assert choose_threshold(net, split, 0.3) == 0.3
    odds = np.exp(outputs[:, 1] - outputs[:, 0])
    np.testing.assert_array_equal(decide(outputs, 0.3), odds / (1 + odds) > 0.3)


def test_a_network_that_loses_to_the_majority_is_warned_of(split):
    silly = creases.read([([[0.0, 0.0]], [0.0]), ([[0.0], [0.0]], [0.0, 1.0])])  # always "yes"
    scores = baselines(silly, split)
    assert [model.name for model in scores] == [
        "grown network",
        "LogisticRegression",
        "HistGradientBoosting",
        "most frequent class",
    ]
    warnings = baseline_warnings(scores, split)
    text = warnings["most frequent class"]
    assert text.startswith("The majority class (no) alone has accuracy 0.9")
    assert "Try --class-weight balanced or --threshold f1 (in Python class_weight='balanced')" in text
    assert "LogisticRegression" in warnings
    summary = metrics_summary(scores, split)
    assert json.loads(json.dumps(summary))["network"]["test"]["recall"] == [0.0, 1.0]
    assert summary["warnings"]


def test_a_good_network_is_not_warned_of(split):
    good = creases.read([([[1.0, 0.0]], [-1.2]), ([[0.0], [8.0]], [4.0, -0.5])])
    assert "LogisticRegression" not in baseline_warnings(baselines(good, split), split)


@pytest.mark.slow
def test_a_run_with_weights_and_threshold_finds_the_rare_class():
    config = GrowthConfig(class_weight="balanced", threshold="f1", budget=3)
    experiment = Experiment.from_problem(rare_problem(), config)
    experiment.run()
    assert 0 < experiment.threshold < 1
    assert experiment.threshold != 0.5
    (net, *_) = baselines(experiment.network, experiment.data, threshold=experiment.threshold)
    assert net.metrics.recall[1] > 0.5


@pytest.mark.slow
def test_a_classifier_with_class_weight_and_threshold():
    problem = rare_problem(300)
    labels = np.array(["no", "yes"])[problem.y]
    options = {"budget": 400, "random_state": 0}
    plain = creases.GrowingClassifier(**options).fit(problem.X, labels)
    weighted = creases.GrowingClassifier(class_weight={"yes": 10}, **options).fit(problem.X, labels)
    assert plain.threshold_ == 0.5
    assert (weighted.predict(problem.X) == "yes").sum() > (plain.predict(problem.X) == "yes").sum()
    tuned = creases.GrowingClassifier(threshold="f1", **options).fit(problem.X, labels)
    expected = tuned.predict_proba(problem.X)[:, 1] > tuned.threshold_
    np.testing.assert_array_equal(tuned.predict(problem.X) == "yes", expected)


def test_the_most_frequent_class_has_the_log_loss_of_the_base_rates(split):
    y = split.problem.y
    constant = baselines(lambda X: np.zeros((len(X), 2)), split)[-1]
    shares = np.bincount(y[np.concatenate([split.train, split.validation])])
    expected = -np.log((shares / shares.sum())[y[split.test]]).mean()
    assert constant.metrics.log_loss == pytest.approx(expected, rel=1e-6)
