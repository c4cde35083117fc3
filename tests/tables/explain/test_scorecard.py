"""A scorecard is its network at every row, and its conditions separate the rows."""

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

import creases
from creases.errors import InputError
from creases.tables import scorecard
from table_networks import NAMES, random_net, table_rows


@pytest.mark.parametrize("sizes", [(5, 6, 1), (5, 4, 4, 2), (5, 5, 3), (5, 1, 1), (5, 2)])
def test_it_reproduces_the_network_at_every_row(sizes):
    net, X = random_net(sizes), table_rows()
    classes = None if sizes[-1] == 1 else [f"c{k}" for k in range(sizes[-1])]
    card = scorecard(net, X, names=NAMES, classes=classes, max_regions=100, min_share=0)
    expected = net(X)
    expected = {1: expected[:, 0], 2: expected[:, -1] - expected[:, 0]}.get(sizes[-1], expected)
    np.testing.assert_allclose(card.predict(X), expected, atol=1e-12)
    assert card.check().holds
    assert all(region.complete for region in card.regions)
    assert sum(len(region.rows) for region in card.regions) == len(X)
    counts = [len(region.rows) for region in card.regions]
    assert counts == sorted(counts, reverse=True)
    fresh = table_rows(seed=9) * 3  # regions without rows before
    values = net(fresh)
    values = {1: values[:, 0], 2: values[:, -1] - values[:, 0]}.get(sizes[-1], values)
    np.testing.assert_allclose(card.predict(fresh), values, atol=1e-11)


def test_conditions_alone_say_which_rows_are_in_a_region():
    card = scorecard(random_net((5, 5, 4, 1), seed=3), table_rows(300), names=NAMES, max_regions=50, min_share=0)
    X = card.table.X
    assert len(card.regions) > 4
    for index, region in enumerate(card.regions):
        met = [np.all([part.normal @ x <= part.bound for part in parts]) for x in X for parts in region.conditions]
        inside = np.array(met).reshape(len(X), -1).any(axis=1)
        np.testing.assert_array_equal(inside, card.region_of == index)


def test_a_wrong_coefficient_fails_the_check():
    card = scorecard(random_net((5, 4, 1)), table_rows(), names=NAMES)
    card.regions[0].coefficients[0, 0] += 1e-6
    assert not card.check().holds


def test_regions_of_the_same_function_are_merged():
    W = np.array([[1.0, 2.0], [-1.0, -2.0], [0.0, 1.0]])
    net = creases.read([(W, np.zeros(3)), (np.array([[1.0, -1.0, 0.0]]), np.array([0.5]))])  # x0 + 2 x1 + 0.5
    card = scorecard(net, np.random.default_rng(0).normal(size=(50, 2)))
    assert len(card.regions) == 1
    assert card.regions[0].n_patterns == 4
    assert "one linear function" in str(card)
    np.testing.assert_allclose(card.regions[0].coefficients, [[1.0, 2.0]])
    np.testing.assert_allclose(card.regions[0].difference, 0, atol=1e-12)


def test_other_bends_dead_units_and_rows_on_creases():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 4), nn.LeakyReLU(0.1), nn.Linear(4, 3), nn.ReLU6(), nn.Linear(3, 1))
    with torch.no_grad():
        model[0].weight[1] = 0.0
        model[0].weight[3], model[0].bias[3] = model[0].weight[2], model[0].bias[2]
        model[0].weight[0], model[0].bias[0] = torch.tensor([1.0, 0.0]), 0.0
    X = np.random.default_rng(1).integers(-3, 4, size=(80, 2)).astype(float)  # many rows with x0 = 0
    card = scorecard(model, X, max_regions=50, min_share=0)
    assert card.check().holds


def test_names_classes_and_units_are_those_of_the_table():
    X = table_rows()
    net = random_net((5, 4, 2), seed=4)
    y = net(X).argmax(axis=1)
    y[:3] = 1 - y[:3]
    frame = pd.DataFrame(X, columns=NAMES)
    card = scorecard(net, frame, np.array(["no", "yes"])[y], classes=["no", "yes"])
    text = str(card)
    assert "log-odds of yes = " in text
    assert "[color = " in text
    assert "color=" not in text
    total = sum(region.counts for region in card.regions)
    assert total.tolist() == np.bincount(y).tolist()
    wrong = sum(round((1 - region.score) * len(region.rows)) for region in card.regions)
    assert wrong == 3
    assert "predicted" in str(scorecard(net, frame, classes=["no", "yes"]))


def test_a_scaled_network_is_written_in_own_units():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 2)) * [10.0, 0.1] + [100.0, 1.0]
    scaling = SimpleNamespace(center=X.mean(axis=0), spread=X.std(axis=0), target_center=50.0, target_spread=20.0)
    net = random_net((2, 5, 1), seed=6)
    card = scorecard(net, X, scaling=scaling, max_regions=20, min_share=0)
    expected = 50 + 20 * net((X - scaling.center) / scaling.spread)[:, 0]
    np.testing.assert_allclose(card.predict(X), expected, rtol=1e-12)
    assert card.check().holds


def test_functions_as_text_can_be_computed_by_hand():
    net = random_net((3, 4, 1), seed=8)
    X = np.random.default_rng(2).normal(size=(40, 3)) + np.array([0, 0, 2000.0])
    X[:, 2] /= 10
    card = scorecard(net, X, names=["a", "b", "year"])
    for region in card.listed:
        text = card.function_text(region)
        value = float(text.offset) + sum(
            float(c) * X[region.rows, ["a", "b", "year"].index(name)] for c, name in text.terms
        )
        spread = card.predict(X[region.rows]).std()
        assert np.abs(value - card.predict(X[region.rows])).max() <= 0.05 * spread + 1e-9


def test_the_rest_of_many_terms_is_summed_and_small_regions_too():
    net, X = random_net((12, 6, 1), seed=2), np.random.default_rng(0).normal(size=(400, 12))
    card = scorecard(net, X, max_terms=3, max_regions=2)
    text = card.function_text(card.regions[0])
    assert len(text.terms) == 3
    assert text.n_rest == 9
    assert "(9 smaller terms)" in str(card)
    assert len(card.listed) == 2
    text = " ".join(str(card).split())
    assert f"{len(card.regions) - 2} more regions hold the other" in text
    assert "That is too many to read" in text
    assert card.check().holds


def test_frame_json_and_html_have_every_region():
    card = scorecard(random_net((5, 4, 3), seed=1), table_rows(), names=NAMES, classes=["a", "b", "<c>"])
    frame, data = card.to_frame(), json.loads(card.to_json())
    assert len(frame) == 3 * len(card.regions) == 3 * len(data["regions"])
    np.testing.assert_allclose(frame["age"].to_numpy()[:3], card.regions[0].coefficients[:, 0])
    assert data["error"] < 1e-9
    html = card._repr_html_()
    assert "&lt;c&gt;" in html
    assert "<c>" not in html


def test_wrong_arguments_are_named():
    net, X = random_net((5, 4, 2)), table_rows()
    with pytest.raises(InputError, match="names must be 5"):
        scorecard(net, X, names=["a"])
    with pytest.raises(InputError, match="classes must be 2"):
        scorecard(net, X, classes=["a"])
    with pytest.raises(InputError, match="y must have classes among"):
        scorecard(net, X, ["maybe"] * len(X), classes=["no", "yes"])
    with pytest.raises(InputError, match="y must have 120 entries"):
        scorecard(net, X, [0], classes=["no", "yes"])
    with pytest.raises(InputError, match="X must have at least one row"):
        scorecard(net, np.zeros((0, 5)))
    with pytest.raises(InputError, match="X must be finite"):
        scorecard(net, np.full((1, 5), np.nan))
