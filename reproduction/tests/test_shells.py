"""The experiments of chapter 4 at quick scale, and the stored results at full scale."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
import pytest

from creases.errors import InputError
from creases.lab import Batch
from creases_reproduction.experiment import stored_table
from creases_reproduction.linearity.enclosures import expanded_simplex, hyperoctahedron, intermediate_polytope
from creases_reproduction.linearity.shells_dimensions import THRESHOLDS, shells_dimensions, train_on_shells
from creases_reproduction.linearity.shells_hyperparameters import (
    PRINTED,
    PRINTED_MEANS,
    averages,
    shells_hyperparameters,
)
from creases_reproduction.linearity.shells_kinds import KINDS, enclosed, kind_of, shells_kinds
from creases_reproduction.linearity.shells_orthogonality import expected_cosine, shells_orthogonality


@pytest.fixture(scope="module")
def hyperparameters():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("creases_reproduction.linearity.shells_hyperparameters.QUICK_EPOCHS", {10: 40, 100: 40, 1000: 40})
        return shells_hyperparameters()


def test_every_setting_of_table_4_2_is_tried(hyperparameters):
    table = hyperparameters.table
    assert len(table) == 36 == len(table[["loss", "leak", "batch", "normalise"]].drop_duplicates())
    assert (table["successes"] <= table["ever"]).all()
    assert ((table["low"] <= table["rate"]) & (table["rate"] <= table["high"])).all()


def test_the_printed_means_of_table_4_3_follow_from_table_4_2(hyperparameters):
    table = hyperparameters.table
    assert [one for pair in PRINTED.values() for one in pair] == table["printed"].tolist()
    for name, values in PRINTED_MEANS.items():
        for value, printed in values.items():
            assert table["printed"][table[name] == value].mean() == pytest.approx(printed, abs=0.8)


def test_averages_are_those_of_the_table(hyperparameters):
    found = averages(hyperparameters)
    table = hyperparameters.table
    row = found[(found["parameter"] == "loss") & (found["value"] == "bce")].iloc[0]
    assert row["rate"] == pytest.approx(table["rate"][table["loss"] == "bce"].mean())
    assert row["low"] < row["rate"] < row["high"]


def test_higher_thresholds_are_reached_by_fewer_networks():
    table = shells_dimensions().table
    counts = table.pivot(index=["dimension", "leak"], columns="threshold", values="successes")[list(THRESHOLDS)]
    assert (np.diff(counts, axis=1) <= 0).all()
    assert set(table["dimension"]) == {2, 3, 5}


def test_a_seeds_networks_are_the_same_every_time():
    one, two = (train_on_shells(3, 0.01, 2, 200, 5, seed=4) for _ in range(2))
    assert all((a == b).all() for a, b in zip(one[0].weights, two[0].weights, strict=True))
    assert (one[1] == two[1]).all()


@pytest.mark.parametrize(
    ("model", "kind"),
    [
        (hyperoctahedron, "hyperoctahedron"),
        (partial(intermediate_polytope, small=2), "between"),
        (expanded_simplex, "expanded simplex"),
    ],
)
def test_the_polytope_around_the_origin_is_found_and_named(model, kind):
    batch = Batch.from_modules([model(3)], dtype=np.float64)
    turned = Batch((batch.weights[0], -batch.weights[1]), (batch.biases[0], -batch.biases[1]))  # the ball positive
    assert kind_of(enclosed(turned, 0)) == kind
    assert kind_of(enclosed(batch, 0)) == "none"


@pytest.mark.thorough
def test_kinds_of_all_networks_add_up():
    table = shells_kinds().table
    sums = table.groupby(["dimension", "leak"])["successes"].sum()
    assert (sums == 8).all()
    assert len(table) == 4 * len(KINDS)


def test_mean_cosines_are_as_the_formula_says():
    table = shells_orthogonality().table
    wide = 3 * (table["mean_high"] - table["mean_low"])
    assert ((table["mean"] - table["formula"]).abs() < wide).all()
    assert (table["largest"] >= table["mean"]).all()
    rng = np.random.default_rng(0)
    drawn = rng.normal(size=(10**6, 3))
    assert expected_cosine(3) == pytest.approx(0.5)  # Archimedes: the cosine is uniform
    assert np.abs(drawn[:, 0] / np.linalg.norm(drawn, axis=1)).mean() == pytest.approx(0.5, abs=2e-3)


def test_an_unknown_scale_is_refused():
    for experiment in (shells_hyperparameters, shells_dimensions, shells_kinds, shells_orthogonality):
        with pytest.raises(InputError, match="scale must be 'quick' or 'full', got 'slow'"):
            experiment("slow")


# -- what the stored results show ------------------------------------------------------------------------------------


def test_table_4_3s_trends_hold_at_full_scale():
    found = averages(stored_table("shells_hyperparameters")).set_index(["parameter", "value"])["rate"]
    assert found["leak", "0.01"] > found["leak", "0.0"] + 0.1
    assert found["leak", "0.1"] > found["leak", "0.0"] + 0.1
    assert found["batch", "10"] > found["batch", "1000"] + 0.05
    assert found["normalise", "True"] > found["normalise", "False"]


def test_what_trained_relu_networks_enclose_is_one_of_the_kinds_that_can_be_at_full_scale():
    table = stored_table("shells_kinds").table
    assert set(table["dimension"]) == {2, 3, 4}
    shares = table.pivot(index=["dimension", "leak"], columns="kind", values="rate")
    assert (shares["other"].xs(0.0, level="leak") == 0).all()
    assert (shares["between"].xs(2, level="dimension") == 0).all()
    assert (shares[["hyperoctahedron", "between", "expanded simplex"]].sum(axis=1) > 0.3).all()


def test_near_perfect_networks_become_fewer_with_the_dimension_at_full_scale():
    table = stored_table("shells_dimensions").table
    for leak in (0.0, 0.01):
        own = table[(table["leak"] == leak) & (table["threshold"] == 0.9999)].set_index("dimension")["rate"]
        assert own[8] <= own[2]
    assert isinstance(table, pd.DataFrame)
    assert set(table["dimension"]) == set(range(2, 9))
