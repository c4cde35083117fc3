"""Columns that look like IDs: used where held-out rows are better predicted with them, and said in every voice."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import creases
from creases.errors import ColumnWarning
from creases.tables import TableRegressor, count_rows, parse_table, read_table
from creases.tables._words.model_text import describe_model


def make_rows(n=300, *, trend=0.0, seed=0):
    """Return rows with a row number, a random number and a text that are different in each, and a curve of x."""
    rng = np.random.default_rng(seed)
    x, t = rng.uniform(-2, 2, n), np.arange(1, n + 1)
    frame = pd.DataFrame({"t": t, "record_id": rng.permutation(10 * n)[:n], "serial": [f"S{k:05d}" for k in t]})
    return frame.assign(x=x, y=x**2 + trend * t / n + 0.2 * rng.normal(size=n))


def fit(table, target="y", **options):
    """Return a model with the warnings of its fit."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model = creases.fit_table(table, target, **options)
    assert {each.category for each in said} <= {ColumnWarning}
    return model, [str(each.message) for each in said]


@pytest.mark.slow
def test_a_trend_over_the_row_number_is_used_with_both_readings():
    model, said = fit(make_rows(trend=3.0))
    assert model.schema.features == ("t", "x")
    assert model.scores["test"].iloc[0] > 0.9
    used = next(text for text in said if text.startswith("'t'"))
    assert "row number; held-out rows are better predicted with it" in used
    assert "trend over the rows" in used
    assert "(a leak)" in used
    assert used.endswith("leave it out with drop=['t']")
    assert any(line.startswith("caution: 't' looks like an ID (row number") for line in describe_model(model))


def test_numbers_and_texts_that_only_name_rows_are_left_out_and_named():
    model, said = fit(make_rows())
    assert model.schema.features == ("x",)
    reasons = (
        "'t' (ID: row number; held-out rows are not better predicted with it)",
        "'record_id' (ID: different in every row; held-out rows are not better predicted with it)",
        "'serial' (ID: 300 different values in 300 rows)",
    )
    assert len(said) == 1
    for voice in (said[0], repr(model), describe_model(model)[-1]):
        assert all(reason in voice for reason in reasons)


def test_columns_that_the_user_leaves_out_are_not_tried_and_not_warned_of():
    model, said = fit(make_rows(trend=3.0), drop=["t", "record_id", "serial"])
    assert model.schema.features == ("x",)
    assert said == []
    assert set(model.schema.encoding.left_out.values()) == {"not chosen"}
    model, said = fit(make_rows(trend=3.0), inputs=["x"])
    assert (model.schema.features, said) == (("x",), [])


def test_without_its_ids_a_table_has_the_same_model():
    frame = make_rows()
    model, _ = fit(frame)
    plain, said = fit(frame[["x", "y"]])
    assert said == []
    np.testing.assert_array_equal(model.predict(frame), plain.predict(frame))


def test_a_trend_that_multiplies_is_judged_by_the_family_of_the_targets():
    rng = np.random.default_rng(0)
    x, t = rng.uniform(-2, 2, 400), np.arange(1, 401)
    frame = pd.DataFrame({"t": t, "x": x, "y": np.exp(2 * x + t / 400) * rng.gamma(2, 0.5, 400)})
    model, _ = fit(frame)
    assert (model.function.family, model.schema.features) == ("gamma", ("t", "x"))
    assert fit(frame, family="normal")[0].schema.features == ("x",)  # the noise of few large targets hides it


def test_text_that_is_missing_in_rows_of_another_kind_is_used():
    rng = np.random.default_rng(0)
    has_cabin = rng.random(400) < 0.4
    cabin = [f"C{k}" if has else None for k, has in enumerate(has_cabin)]
    frame = pd.DataFrame({"cabin": cabin, "x": rng.normal(size=400), "y": has_cabin + 0.1 * rng.normal(size=400)})
    model, said = fit(frame)
    assert "cabin is missing" in model.schema.features
    assert said == []
    assert model.scores["test"].iloc[0] > 0.9


@pytest.mark.slow
def test_estimators_and_problems_try_the_same_columns():
    frame = make_rows(trend=3.0)
    with pytest.warns(ColumnWarning) as said:
        model = TableRegressor().fit(frame.drop(columns="y"), frame["y"])
    assert model.model_.schema.features == ("t", "x")
    assert any("'t' looks like an ID" in str(each.message) for each in said)
    assert model.score(frame.drop(columns="y"), frame["y"]) > 0.9
    parsed = parse_table(frame.to_csv(index=False), "rows.csv", "y")
    assert parsed.features == read_table(frame, "y").features == ("x",)
    assert fit(parsed, None)[0].schema.features == ("t", "x")


@pytest.mark.slow
def test_several_targets_share_what_is_used():
    frame = make_rows(trend=3.0)
    frame["z"] = frame["y"] - 2 * frame["x"]
    model, said = fit(frame, ["y", "z"])
    assert model.schema.features == ("t", "x")
    assert len(said) == 2


@pytest.mark.slow
@pytest.mark.parametrize(("target", "drop"), [("y", ["z"]), (["y", "z"], [])])
def test_columns_are_judged_on_folds_of_whole_groups(target, drop):
    rng = np.random.default_rng(0)
    who = np.concatenate([np.repeat(np.arange(140), 2), np.arange(140, 260)])
    frame = pd.DataFrame({"who": who, "address": [f"Main Street {k}" for k in who], "x": rng.normal(size=400)})
    frame["y"] = frame["x"] + 2 * rng.normal(size=260)[who]
    frame["z"] = 2 * frame["y"]
    assert fit(frame, target, drop=["who", *drop])[0].schema.features == ("address", "x")
    assert fit(frame, target, groups="who", drop=drop)[0].schema.features == ("x",)


@pytest.mark.thorough
@pytest.mark.parametrize("trend", [0.0, 3.0])
def test_a_streamed_table_uses_the_same_columns(tmp_path, trend):
    frame = make_rows(60_000, trend=trend).assign(serial="S" + pd.Series(range(60_000)).astype(str))
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.Table.from_pandas(frame), path, row_group_size=10_000)
    memory, said = fit(frame)
    streamed, also_said = fit(str(tmp_path / "*.parquet"), engine="serial")
    assert count_rows(streamed)["train"] + count_rows(streamed)["test"] == 60_000
    assert streamed.schema.features == memory.schema.features == (("t", "x") if trend else ("x",))
    assert streamed.schema.encoding.kinds == memory.schema.encoding.kinds
    assert [text.partition(" (")[0] for text in also_said] == [text.partition(" (")[0] for text in said]
    np.testing.assert_allclose(streamed.predict(frame[:100]), memory.predict(frame[:100]), atol=1e-6)
