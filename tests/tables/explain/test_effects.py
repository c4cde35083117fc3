"""Effects are exact: they agree with the network on grids that they were not computed on."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.inspection import partial_dependence

import creases
from creases.errors import InputError
from creases.tables import effects, importance, interactions
from table_networks import NAMES, random_net, table_rows


class AsEstimator(RegressorMixin, BaseEstimator):
    def __init__(self, net=None):
        self.net = net
        self.fitted_ = True

    def fit(self, X, y):
        return self

    def predict(self, X):
        return self.net(np.asarray(X))[:, 0]


@pytest.mark.parametrize("sizes", [(5, 6, 1), (5, 4, 4, 1), (5, 1)])
def test_the_mean_is_the_partial_dependence_of_scikit_learn(sizes):
    net, X = random_net(sizes, seed=2), table_rows(80)
    effect = effects(net, X, "age", names=NAMES)
    reference = partial_dependence(AsEstimator(net), X, [0], percentiles=(0, 1), kind="both", grid_resolution=70)
    (grid,) = reference["grid_values"]
    np.testing.assert_allclose(effect(grid)[:, 0], reference["average"][0], atol=1e-11)
    for row in (0, 7, 79):
        knots, heights = effect.curve(row)
        curve = np.interp(grid, knots, heights[:, 0])
        np.testing.assert_allclose(curve, reference["individual"][0, row], atol=1e-11)


def test_a_mirrored_pair_of_units_leaves_no_breakpoint():
    W = np.array([[1.0, 2.0], [-1.0, -2.0]])
    net = creases.read([(W, np.zeros(2)), (np.array([[3.0, -3.0]]), np.zeros(1))])  # 3 x0 + 6 x1
    effect = effects(net, np.random.default_rng(0).normal(size=(30, 2)), 0)
    assert not len(effect.breakpoints)
    np.testing.assert_allclose(np.diff(effect.mean[:, 0]) / np.diff(effect.grid), 3.0)


def test_a_category_has_a_value_for_each_category():
    net, X = random_net((5, 6, 3), seed=3), table_rows(60)
    effect = effects(net, X, "color", names=NAMES, classes=["a", "b", "c"])
    assert effect.categories == ("red", "green", "blue")
    assert effect.counts.sum() == 60
    rows = X.copy()
    rows[:, 2:] = [0, 1, 0]
    scores = net(rows)
    expected = (scores - scores.mean(axis=1, keepdims=True)).mean(axis=0)
    np.testing.assert_allclose(effect.mean[1], expected, atol=1e-12)
    assert effect.to_frame().loc["green"].to_numpy() == pytest.approx(expected)
    same = effects(net, X, 3, names=NAMES, classes=["a", "b", "c"])
    assert same.column == "color"


def test_a_column_that_is_not_there_or_does_not_vary():
    net, X = random_net((5, 6, 1)), table_rows(10)
    with pytest.raises(InputError, match="column must be one of age, dose, color"):
        effects(net, X, "height", names=NAMES)
    X[:, 0] = 1.0
    with pytest.raises(InputError, match="column must vary over the rows"):
        effects(net, X, "age", names=NAMES)


def test_importance_is_the_standard_deviation_of_contributions():
    net, X = random_net((5, 6, 1), seed=5), table_rows(40)
    result = importance(net, X, names=NAMES)
    J = net.piece(X).J[:, 0]
    expected = {
        "age": np.mean([(j[0] * X[:, 0]).std() for j in J]),
        "dose": np.mean([(j[1] * X[:, 1]).std() for j in J]),
        "color": np.mean([(X[:, 2:] @ j[2:]).std() for j in J]),
    }
    assert result["importance"].to_dict() == pytest.approx(expected)
    assert result["importance"].is_monotonic_decreasing


def test_columns_interact_if_they_share_a_crease():
    W = np.array([[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, -1.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
    net = creases.read([(W, np.zeros(4)), (np.array([[1.0, 1.0, -1.0, 1.0]]), np.zeros(1))])
    result = interactions(net, np.random.default_rng(0).normal(size=(30, 4)))
    assert result[["first", "second"]].values.tolist() == [["x0", "x1"]]
    assert result.attrs["pairs of rows"] == 435


def test_interactions_are_mixed_differences_over_pairs_of_rows():
    net, X = random_net((3, 5, 1), seed=7), np.random.default_rng(1).normal(size=(8, 3))
    result = interactions(net, X)
    total, count = 0.0, 0
    for i in range(8):
        for k in range(i + 1, 8):
            x, z = X[i], X[k]
            corners = [x, [z[0], x[1], x[2]], [x[0], x[1], z[2]], [z[0], x[1], z[2]]]
            a, b, c, d = net(np.array(corners))[:, 0]
            total, count = total + abs(a - b - c + d), count + 1
    pairs = ["first", "second"]
    assert result.set_index(pairs).interaction["x0", "x2"] == pytest.approx(total / count)
    named = interactions(net, pd.DataFrame(X, columns=["a", "b", "c"]))
    assert named.set_index(pairs).interaction["a", "c"] == pytest.approx(total / count)
    again = interactions(net, X, max_pairs=5, seed=1)
    assert again.equals(interactions(net, X, max_pairs=5, seed=1))
