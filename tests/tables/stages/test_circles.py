"""Months, weekdays and hours are circles: what ends joins what begins, in curves, planes and the network."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import torch

import creases
from creases.errors import ColumnWarning, InputError
from creases.tables import PairGraph, model_graphs
from creases.tables._words.model_text import describe_model


@pytest.fixture(scope="module")
def sales():
    """Sales that are highest at the turn of the year and at midnight, in shops that differ in summer."""
    rng = np.random.default_rng(3)
    n = 3000
    moments = pd.Timestamp("2019-01-01") + pd.to_timedelta(rng.integers(0, 4 * 365 * 24 * 60, n), unit="min")
    year = 2 * np.pi * (moments.day_of_year + moments.hour / 24) / 365.25
    shop = rng.choice(["beach", "town"], n)
    day = 2 * np.pi * (moments.hour + moments.minute / 60) / 24
    y = 5 * np.cos(year) + 2 * np.cos(day) - 6 * (shop == "beach") * np.cos(year) + rng.normal(0, 0.3, n)
    return pd.DataFrame({"sold": moments, "shop": shop, "sales": y})


@pytest.fixture(scope="module")
def model(sales):
    return creases.fit_table(sales, "sales")


def beside(model, moments):
    """Return the predictions of both shops at moments."""
    rows = [{"sold": moment, "shop": shop} for shop in ("beach", "town") for moment in moments]
    return model.predict(rows).reshape(2, len(moments))


def test_the_last_minute_of_a_year_joins_the_first_of_the_next(model):
    """Sales would jump by the size of a month's effect if December and January were the ends of a line."""
    steps = [names for names in model.planes if "sold weekday" in names]  # at midnight: another day of the week
    model = model.edit(forbid=steps).model
    before, after = beside(model, ["2020-12-31 23:59:59", "2021-01-01 00:00:00"]).T
    assert any("sold month" in names for names in model.planes)
    assert after == pytest.approx(before, abs=0.001)


def test_midnight_joins_the_day_before_within_a_month(model):
    """The weekday does not matter here, so that nothing else steps at midnight."""
    curve = model.curves["sold hour"]
    assert (curve.knots[0], curve.knots[-1]) == (0.0, 24.0)
    assert curve.values[0] == pytest.approx(curve.values[-1], abs=1e-9)
    before, after = beside(model, ["2021-03-09 23:59:59", "2021-03-10 00:00:00"]).T
    assert after == pytest.approx(before, abs=0.05)


def test_the_network_and_a_stored_model_join_the_ends_too(model, tmp_path):
    """Both have the folds of planes."""
    model.save(tmp_path / "run")
    loaded = creases.load(tmp_path / "run")
    rows = [{"sold": f"2021-{m:02d}-{d:02d} {h:02d}:30", "shop": s} for m, d, h, s in zip(
        [1, 12, 6, 7, 3], [1, 31, 15, 2, 30], [0, 23, 12, 5, 18], ["town", "town", "beach", "beach", "town"],
        strict=True,
    )]  # fmt: skip
    X = model.encode(rows).X
    assert loaded.predict(rows) == pytest.approx(model.predict(rows), abs=1e-12)
    outputs = model.function.network(torch.from_numpy(X)).detach().numpy()[:, 0]
    assert outputs == pytest.approx(model.predict(rows), abs=1e-9)


def test_the_month_that_is_highest_is_named(model):
    """January and December are level; a summer month is lowest."""
    text = str(describe_model(model))
    assert "lowest in July" in text or "lowest in June" in text
    assert "highest in December" in text or "highest in January" in text


def test_december_is_named_where_it_is_highest():
    """A peak in the middle of December alone: January must not get it."""
    days = pd.date_range("2018-01-01", "2021-12-31")
    y = np.where((days.month == 12), 10.0, 0.0) + np.random.default_rng(0).normal(0, 0.5, len(days))
    model = creases.fit_table(pd.DataFrame({"day": days.strftime("%Y-%m-%d"), "y": y}), "y")
    assert "highest in December" in str(describe_model(model))


def test_a_time_of_day_is_a_circle():
    """A column of times has no date, and joins at midnight too."""
    rng = np.random.default_rng(0)
    minutes = rng.integers(0, 24 * 60, 600)
    y = np.cos(2 * np.pi * minutes / 1440) + rng.normal(0, 0.1, 600)
    table = pd.DataFrame({"at": [f"{m // 60}:{m % 60:02d}" for m in minutes], "y": y})
    model = creases.fit_table(table, "y")
    late, early = model.predict([{"at": "23:59"}, {"at": "0:00"}])
    assert late == pytest.approx(early, abs=0.01)
    assert early > 0.7
    with pytest.raises(InputError, match="begins where it ends"):
        creases.fit_table(table, "y", shapes={"at": "rising"})


def test_iso_and_day_first_dates_are_both_read(model):
    """A cell is read in any way that leaves one meaning."""
    rows = [{"sold": text, "shop": "town"} for text in ("2021-12-25", "25.12.2021", "25/12/2021", "12/25/2021")]
    assert len(set(model.predict(rows).tolist())) == 1


def test_predict_warns_of_cells_that_it_cannot_read(model):
    """3/4 may be March or April; "soon" is no date."""
    with pytest.warns(ColumnWarning, match=r"column 'sold': 2 cells read as missing, not dates \('3/4/2021'\)"):
        model.predict([{"sold": text, "shop": "town"} for text in ("3/4/2021", "soon", "2021-01-01")])


def cross(u, v):
    return u[..., 0] * v[..., 1] - u[..., 1] * v[..., 0]


def test_a_map_of_two_parts_of_a_date_bends_only_at_its_creases(model):
    maps = [graph for graph in model_graphs(model) if isinstance(graph, PairGraph)]
    graph = next(each for each in maps if len(each.first.knots) and len(each.second.knots))
    segments = [pair for line in graph.creases() for pair in pairwise(line)]
    a, b = np.moveaxis(np.array(segments), 1, 0)
    rng, n_bends = np.random.default_rng(0), 0
    for p, d in zip(rng.uniform(0.5, [23.5, 6.5], (300, 2)), rng.normal(0, [0.2, 0.1], (300, 2)), strict=True):
        values = graph(*(p + np.linspace(0, 1, 5)[:, None] * d).T)[:, 0]
        if np.abs(np.diff(values, 2)).max() > 1e-9:
            n_bends += 1
            sides = [cross(d, a - p) * cross(d, b - p), cross(b - a, p - a) * cross(b - a, p + d - a)]
            assert ((sides[0] <= 0) & (sides[1] <= 0)).any()  # a crease lies between
    assert n_bends > 10
