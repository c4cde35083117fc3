"""Explanations in people's words: classes, features, the data's own units."""

import numpy as np
import pytest
import torch
from torch import nn

from creases.errors import InputError
from creases.growth import Scaling, explain
from creases.growth._explanation import FeatureNames, explain_reason, format_number
from creases.growth.methods import fold
from fold_models import perceptron, train_briefly

CENTER, SPREAD = np.array([40.0, 0.5]), np.array([10.0, 0.5])
SCALING = Scaling(CENTER, SPREAD, target_center=100.0, target_spread=20.0)


def test_a_point_is_told_in_the_datas_own_units_with_the_names_of_the_features():
    names = FeatureNames(features=("age", ("plan", "basic")), scaling=SCALING)
    assert names.point([1.0, 0.0]) == "(age 50, plan=basic 0.5)"
    assert names.point([-4.0, 0.0]) == "(age 0, plan=basic 0.5)"
    assert names.distance(0.25) == "0.25 standard deviations"
    assert FeatureNames().point([0.123456, -2.0]) == "(0.123, -2)"


def test_of_a_text_column_an_instance_has_the_value_that_it_has():
    names = FeatureNames(features=("age", ("plan", "basic")), scaling=SCALING, instance="row")
    assert names.sample(3, [1.0, 1.0]) == "row 3 (age 50, plan=basic)"
    assert names.sample(3, [-0.55, -1.0]) == "row 3 (age 34.5)"
    assert names.sample(3, [0.0, -0.2]) == "row 3 (age 40)"  # filled with the mean
    assert FeatureNames().sample(3, [0.5, 1.0]) == "sample 3 (0.5, 1)"


def test_of_many_features_those_are_told_that_stand_out():
    names = FeatureNames(features=[f"f{k}" for k in range(9)])
    told = "f1 0.5, f2 9, f3 1, f4 2, f5 3, f6 4, f7 5, f8 0.1"
    assert names.sample(0, [0, 0.5, 9, 1, 2, 3, 4, 5, 0.1]) == f"sample 0 ({told}, ...)"
    assert names.point([0.0] * 9) == ""
    assert FeatureNames().sample(4, [0.0] * 9) == "sample 4"
    assert names.main_features([0, 0, -9, 1, 2, 0, 0, 5, 0]) == "f2, f7, f4"
    assert FeatureNames(features=(("a", "1"), ("a", "2"), "b", "c")).main_features([4, 3, 2, 1]) == "a, b, c"


def test_numbers_have_three_digits_and_all_before_the_point():
    assert [format_number(x) for x in (0.1234, 12.34, 2015.0, 1.23456e-7, -45678.9)] == [
        "0.123", "12.3", "2015", "1.23e-07", "-45679",
    ]  # fmt: skip


def test_the_reason_of_a_fold_names_classes_features_and_the_row():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = (np.abs(X[:, 0]) < 0.7).astype(int)
    model = train_briefly(perceptron([2, 2, 2], rng), X, y, 50)
    explanation = fold(model, "0", X, y).explanation
    names = {"classes": ("out", "in"), "features": ("age", "height"), "scaling": SCALING, "instance": "row"}
    said = explain_reason(explanation, **names)
    t = explanation["why"]["instance"]
    age, height = SCALING.point(X[t])
    assert f"row {t} (age {format_number(age)}, height {format_number(height)})" in said
    assert "rows were misclassified as" in said
    assert said.endswith("of the loss.")
    assert explain(explanation, **names).startswith(said)
    assert "0.05" not in said


def test_a_regressions_error_is_told_in_the_targets_own_units():
    X = np.linspace(-1, 1, 50)[:, None]
    with torch.random.fork_rng():
        torch.manual_seed(1)
        model = nn.Sequential(nn.Linear(1, 2), nn.ReLU(), nn.Linear(2, 1)).double()
    explanation = fold(model, "0", X, np.abs(X[:, 0]) + 5, loss="regression").explanation
    why = explanation["why"]
    one = Scaling(np.zeros(1), np.ones(1), 0.0, 20.0)
    said = explain_reason(explanation, scaling=one)
    mean = format_number(20 * abs(why["cluster"]["mean_residual"][0]))
    assert f"samples like sample {why['instance']}" in said
    assert f"were predicted {mean} too low" in said


def test_a_network_with_the_scaling_undone_takes_the_datas_own_units():
    rng = np.random.default_rng(1)
    X, y = rng.normal([1000, 0, 7], [50, 0.001, 0], (80, 3)), rng.normal(3e4, 2e3, 80)
    scaling = Scaling.from_data(X, y)
    assert np.allclose(scaling.inputs(X).std(axis=0), [1, 1, 0])
    with torch.random.fork_rng():
        model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1)).double()
    expected = 2e3 * model(torch.from_numpy(scaling.inputs(X)))
    found = scaling.fold_into(model)(torch.from_numpy(X))
    expected = scaling.target_center + scaling.target_spread * expected / 2e3
    assert torch.allclose(found, expected, rtol=1e-9)
    assert np.allclose(scaling.targets(scaling.target_center + 0 * y), 0)
    with pytest.raises(InputError, match="must begin and end with a linear layer with bias"):
        scaling.fold_into(nn.Sequential(nn.Linear(3, 1), nn.ReLU()))


def test_classes_are_quoted_unless_their_names_are_numbers():
    named, numbered = FeatureNames(classes=("no", "yes"), instance="row"), FeatureNames(classes=("0", "1.5"))
    assert (named.label(1), numbered.label(1), FeatureNames().label(1)) == ("'yes'", "class 1.5", "class 1")
    assert named.samples_of_class(1, 0) == "1 'no' row"
    assert named.samples_of_class(12, 1) == "12 'yes' rows"
    assert numbered.samples_of_class(2, 0) == FeatureNames().samples_of_class(2, 0) == "2 samples of class 0"
