"""Two columns that can trade their effects at equal loss: said with the range of each."""

import numpy as np
import pandas as pd
import pytest

import creases
from creases.tables._words.model_text import describe_model


def make_table(apart, *, classes=False, n=300):
    """Return rows whose target depends on a; b is a up to a deviation, or independent of it if that is None."""
    rng = np.random.default_rng(0)
    a, other, z = rng.normal(size=(3, n))
    b = other if apart is None else a + apart * other
    score = 2 * a + z + rng.normal(size=n)
    return pd.DataFrame({"a": a, "b": b, "z": z, "y": np.where(score > 0, "yes", "no") if classes else score})


def trade_notes(model):
    return [line for line in describe_model(model) if "can trade their effects" in line]


@pytest.mark.slow
@pytest.mark.parametrize("classes", [False, True])
def test_nearly_equal_columns_can_trade_and_independent_ones_cannot(classes):
    (note,) = trade_notes(creases.fit_table(make_table(0.05, classes=classes), "y"))
    assert note.startswith("'a' and 'b' can trade their effects at nearly the same loss")
    assert "'z'" not in note
    assert trade_notes(creases.fit_table(make_table(None, classes=classes), "y")) == []


def test_the_range_of_an_effect_has_the_true_one_in_it():
    model = creases.fit_table(make_table(0.05), "y")
    (note,) = trade_notes(model)
    part = note.split("from ", 1)[1].split(";")[0]  # -1.29 to 1.23 'a' may bring -2.1 to +7.2
    start, end = (float(each) for each in part.split(" 'a'")[0].split(" to "))
    low, high = (float(each) for each in part.split("may bring ")[1].split(" to "))
    assert low < 2 * (end - start) < high
    assert low < 0 < high  # b could have it all


@pytest.mark.slow
def test_more_rows_tell_columns_apart_and_a_stored_model_says_the_same(tmp_path):
    assert trade_notes(creases.fit_table(make_table(0.5, n=4000), "y")) == []
    model = creases.fit_table(make_table(0.05), "y")
    model.save(tmp_path / "run")
    assert trade_notes(creases.load(tmp_path / "run")) == trade_notes(model) != []


def test_categories_that_follow_each_other_can_trade():
    rng = np.random.default_rng(0)
    town = rng.integers(0, 6, 400)
    region = np.where(rng.random(400) < 0.005, rng.integers(0, 6, 400), town)
    y = np.arange(6)[town] + rng.normal(size=400)
    names = np.array(["Ulm", "Bonn", "Kiel", "Trier", "Jena", "Mainz"])
    table = pd.DataFrame({"town": names[town], "region": [f"r{k}" for k in region], "y": y})
    (note,) = trade_notes(creases.fit_table(table, "y"))
    assert note.startswith("'town' and 'region' can trade")


def test_a_range_of_factors_is_written_in_one_way():
    table = make_table(0.3)
    (note,) = trade_notes(creases.fit_table(table.assign(y=np.exp(table["y"] / 2)), "y"))
    for part in note.split("may bring ")[1:]:  # -23 % to +5.4 %, or x 0.58 to x 0.76
        low, high = part.split(";")[0].split(" to ")
        assert low.startswith("x ") == high.startswith("x ") != low.endswith(" %")
