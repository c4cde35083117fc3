"""Families of targets: counts, amounts, quantiles; weights and exposures; links in every way out of a model."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import GammaRegressor, PoissonRegressor
from typer.testing import CliRunner

import creases
from creases import TableRegressor
from creases.cli import app
from creases.errors import InputError
from creases.problems import Problem
from creases.tables import certify_model, read_table
from creases.tables._stages.families import LOGNORMAL, NORMAL, Classes, Family, Power, Quantile
from creases.tables._stages.rows import Rows
from creases.tables._words.model_text import describe_model
from run_exports import RUNNERS, run_onnx


@pytest.fixture(scope="module")
def visits() -> pd.DataFrame:
    """Visits of towns: effects multiply, and targets are counts."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "warmth": rng.uniform(-5, 35, 400).round(1),
            "rooms": rng.integers(1, 7, 400),
            "town": rng.choice(["Bonn", "Kiel", "Ulm"], 400),
        }
    )
    mean = np.exp(1 + 0.03 * frame["warmth"] + 0.15 * frame["rooms"] + 0.6 * (frame["town"] == "Ulm"))
    return frame.assign(visits=rng.poisson(mean))


@pytest.fixture(scope="module")
def counted(visits):
    return creases.fit_table(visits, "visits")


def make_problem(y: np.ndarray, X: np.ndarray) -> Problem:
    return Problem("made", X, y, features=tuple("abc"[: X.shape[1]]), target="y")


FAMILIES = [NORMAL, LOGNORMAL, Power(1.0), Power(1.5), Power(2.0), Quantile(0.8), Classes(2), Classes(3)]


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_pulls_are_the_slopes_of_the_losses(family: Family) -> None:
    rng = np.random.default_rng(1)
    m = max(family.n_classes, 1) if family.n_classes != 2 else 1
    s = rng.normal(size=(20, m))
    y = rng.integers(0, family.n_classes, (20, 1)).astype(float) if family.n_classes else rng.gamma(2, 0.5, (20, 1))
    rows = Rows(s, y, np.ones(20), np.ones(20), family)
    for c in range(m):
        step = np.zeros(m)
        step[c] = 1e-6
        slope = (rows.potentials(s + step) - rows.potentials(s - step)) / 2e-6
        np.testing.assert_allclose(-slope, rows.pulls(s)[:, c], atol=1e-7)
    assert (rows.curvatures(s) > 0).all()


@pytest.mark.parametrize(("family", "plain"), [("poisson", PoissonRegressor), ("gamma", GammaRegressor)])
def test_a_straight_fit_is_that_of_a_plain_generalized_linear_model(family, plain):
    rng = np.random.default_rng(2)
    X = rng.uniform(-1, 1, size=(1500, 2))
    mean = np.exp(1.5 + X @ [0.8, -0.5])
    y = rng.poisson(mean).astype(float) if family == "poisson" else mean * rng.gamma(4, 1 / 4, 1500)
    straight = {"a": "straight", "b": "straight"}
    model = creases.fit_table(make_problem(y, X), family=family, shapes=straight, test_fraction=0.0)
    expected = plain(alpha=0, tol=1e-10, max_iter=1000).fit(X, y).predict(X)
    assert model.function.family == family
    np.testing.assert_allclose(model.predict(X), expected, rtol=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("family", ["auto", "gamma", "tweedie", "lognormal", "quantile:0.7"])
def test_the_unit_of_the_target_changes_nothing_else(family):
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, size=(200, 2))
    y = np.exp(X[:, 0]) * rng.gamma(5, 0.2, 200)
    models = [
        creases.fit_table(make_problem(scale * y, X), family=family, test_fraction=0.0) for scale in (1.0, 1000.0)
    ]
    assert models[0].function.family == models[1].function.family
    np.testing.assert_allclose(1000 * models[0].predict(X), models[1].predict(X), rtol=1e-6)


@pytest.mark.slow
def test_held_out_rows_choose_the_family(counted):
    rng = np.random.default_rng(4)
    X = rng.uniform(-1, 1, size=(300, 2))
    added = creases.fit_table(make_problem(10 + X @ [3.0, 2.0] + rng.normal(size=300), X), test_fraction=0.0)
    assert (counted.function.family, added.function.family) == ("poisson", "normal")
    below = creases.fit_table(make_problem(X @ [3.0, 2.0], X), test_fraction=0.0)
    assert below.function.family == "normal"  # some targets are negative
    assert any("for effects that add set family to normal" in line for line in describe_model(counted))


@pytest.mark.slow
def test_all_ways_to_a_prediction_are_bounded_by_the_largest_target_seen(tmp_path):
    rng = np.random.default_rng(0)
    a, b = rng.uniform(0, 1, (2, 400)).round(2)
    seen = pd.DataFrame({"a": a, "b": b, "y": np.exp(4 * a + 4 * b)})[(a < 0.6) | (b < 0.6)]
    model = creases.fit_table(seen, "y", family="poisson")
    rows = [{"a": 1.0, "b": 1.0}, {"a": 1e9, "b": 1e9}, {"a": 0.5, "b": 0.5}, {"a": -1e9, "b": 0.0}]
    found = model.predict(rows)
    assert found[:2].tolist() == [seen["y"].max()] * 2
    assert ((found > 0) & (found <= seen["y"].max())).all()
    np.testing.assert_allclose(np.exp(model.network(model.encode(rows).X))[:, 0], found, rtol=1e-12)
    for suffix, run in RUNNERS.items():
        numbers, _ = run(model.export(tmp_path / f"model{suffix}").path, rows)
        np.testing.assert_allclose(numbers[:, 0].astype(float), found, rtol=1e-9)


@pytest.mark.slow
def test_a_double_exposure_halves_the_rate_as_an_offset_does(visits):
    years = np.random.default_rng(5).uniform(0.5, 2.0, len(visits))
    models = [
        creases.fit_table(visits.assign(years=factor * years), "visits", exposure="years", test_fraction=0.0)
        for factor in (1.0, 2.0)
    ]
    assert models[0].function.family == "poisson"
    scores = [model.function.scores(model.data.problem.X)[:, 0] for model in models]
    np.testing.assert_allclose(scores[0] - scores[1], np.log(2.0), atol=1e-9)
    assert "years" not in models[0].schema.features
    estimator = TableRegressor(random_state=0).fit(visits.drop(columns="visits"), visits["visits"], exposure=years)
    np.testing.assert_allclose(estimator.predict(visits.drop(columns="visits")), models[0].predict(visits), rtol=1e-9)


@pytest.mark.parametrize(("family", "plain"), [("poisson", PoissonRegressor), ("gamma", GammaRegressor)])
def test_exposures_weigh_as_an_offset_does(family, plain):
    rng = np.random.default_rng(6)
    X, size = rng.uniform(-1, 1, size=(1500, 1)), rng.uniform(0.2, 3.0, 1500)
    mean = size * np.exp(1 + 0.7 * X[:, 0])
    y = rng.poisson(mean) + 0.0 if family == "poisson" else mean * rng.gamma(3, 1 / 3, 1500)
    weight = size if family == "poisson" else np.ones(1500)  # the known equivalents of an offset
    expected = plain(alpha=0, tol=1e-10).fit(X, y / size, sample_weight=weight).predict(X)
    model = TableRegressor(family=family, shapes={"x0": "straight"}, random_state=0).fit(X, y, exposure=size)
    np.testing.assert_allclose(model.predict(X), expected, rtol=0.02)


@pytest.mark.slow
def test_a_weight_is_a_number_of_copies(visits):
    times = np.random.default_rng(7).integers(1, 4, len(visits))
    options = {"family": "poisson", "test_fraction": 0.0}
    weighed = creases.fit_table(visits.assign(times=times), "visits", weight="times", **options)
    copied = creases.fit_table(visits.loc[visits.index.repeat(times)], "visits", **options)
    np.testing.assert_allclose(weighed.predict(visits), copied.predict(visits), rtol=1e-9)


def test_a_quantile_is_above_its_share_of_the_rows():
    rng = np.random.default_rng(8)
    X = rng.uniform(0, 1, size=(800, 1))
    y = 2 * X[:, 0] + (0.2 + X[:, 0]) * rng.normal(size=800)
    for level in (0.1, 0.9):
        model = creases.fit_table(make_problem(y, X), family=f"quantile:{level}", test_fraction=0.0)
        assert abs((y <= model.predict(X)).mean() - level) < 0.03
        z = {0.1: -1.2816, 0.9: 1.2816}[level]
        assert np.abs(model.predict(X) - (2 * X[:, 0] + (0.2 + X[:, 0]) * z)).mean() < 0.15


def test_a_low_quantile_of_skewed_noise_is_above_its_share_of_new_rows():
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(2, 1500, 1))
    y, later = (2 * each[:, 0] + rng.exponential(size=1500) * (1 + np.abs(each[:, 0]) / 2) for each in (X, new))
    for level in (0.05, 0.9):  # the noise begins at its most frequent value: a smooth loss missed it
        model = creases.fit_table(make_problem(y, X), family=f"quantile:{level}")
        assert abs((later <= model.predict(new)).mean() - level) < 0.03


def test_a_link_is_kept_in_folders_and_onnx(counted, visits, tmp_path):
    pytest.importorskip("onnxruntime")
    counted.save(tmp_path / "model")
    loaded = creases.load(tmp_path / "model")
    assert loaded.function.family == "poisson"
    assert loaded.predict(visits).tolist() == counted.predict(visits).tolist()
    rows = visits[["warmth", "rooms", "town"]].to_dict("records")
    numbers, _ = run_onnx(counted.export(tmp_path / "model.onnx").path, rows)
    np.testing.assert_allclose(numbers[:, 0], counted.predict(visits), rtol=1e-9)


def test_changes_reach_goals_in_the_units_of_the_target(counted, visits):
    row = visits[visits["town"] == "Bonn"].iloc[:1]
    before = float(counted.predict(row)[0])
    for goal, reached in ((f">= {2 * before:.6g}", 1.0), (f"<= {before / 1.5:.6g}", -1.0)):
        (answer,) = counted.changes(row, to=goal)[0].answers
        after = float(counted.predict(pd.DataFrame([answer.cells]))[0])
        assert reached * after >= reached * float(goal[3:])
    assert not counted.changes(row, to=">= 1e6")[0].answers
    assert not counted.changes(row, to="<= -1")[0].answers
    assert not counted.changes(row, to=">= -1")[0].answers[0].changes  # it holds already


def test_facts_and_words_are_in_the_units_of_the_target(counted, visits):
    facts = certify_model(counted)
    found = counted.predict(visits)
    assert 0 < facts.low <= found.min() <= found.max() <= facts.high
    assert {"warmth", "rooms"} == {each.column for each in facts.monotone if each.status == "holds"}
    opening, *lines = describe_model(counted)
    assert "for the average row; each column multiplies it" in opening
    assert any(line.startswith("rooms: +") and "% per 1" in line for line in lines)
    explanation = counted.explain(visits.iloc[:1])[0]
    parts = sum(effect.amount for effect in explanation.effects)
    assert np.isclose(np.exp(explanation.start + parts), counted.predict(visits.iloc[:1])[0])
    assert "%" in str(explanation) or " x " in str(explanation)


@pytest.mark.parametrize(
    ("cells", "task", "is_class"),
    [
        ([0, 1, 2, 3] * 10, None, False),
        ([0, 1] * 20, None, True),
        ([-1, 0, 1, 2] * 10, None, True),
        ([0, 1, 2, 3] * 10, "classification", True),
        (["0", "a"] * 20, None, True),
    ],
)
def test_whole_numbers_are_counts_unless_two_or_told_otherwise(cells, task, is_class):
    frame = pd.DataFrame({"a": np.random.default_rng(0).normal(size=40), "y": cells})
    problem = read_table(frame, "y", task=task)
    assert (problem.classes is not None) == is_class
    assert ("are counts, not classes" in problem.description) == (not is_class)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"family": "normall"}, "family must be 'auto'"),
        ({"family": "quantile:2"}, "a level P between 0 and 1"),
        ({"family": "normal", "exposure": "rooms"}, "a logarithmic link"),
        ({"family": "poisson", "target": "warmth"}, "target must be 0 or more"),
        ({"family": "poisson", "target": "town"}, "family must be 'auto' for classes"),
        ({"exposure": "rooms", "target": "town"}, "exposure must be given for a target of numbers"),
        ({"weight": "town"}, "weight must be a column of numbers"),
        ({"weight": "warmth"}, "weight must be a column of numbers from 0 on"),
        ({"exposure": "floor"}, "exposure must be a column of"),
    ],
)
def test_what_cannot_be_is_refused_by_name(visits, options, said):
    with pytest.raises(InputError, match=said):
        creases.fit_table(visits, **{"target": "visits", **options})


@pytest.mark.slow
def test_the_command_fits_a_family_with_weights_and_an_exposure(visits, tmp_path):
    rng = np.random.default_rng(9)
    frame = visits.assign(years=rng.uniform(0.5, 2, len(visits)).round(3), times=rng.integers(1, 3, len(visits)))
    frame.to_csv(tmp_path / "visits.csv", index=False)
    words = ["fit", tmp_path / "visits.csv", "--target", "visits", "--exposure", "years", "--weight", "times"]
    result = CliRunner().invoke(app, [str(word) for word in (*words, "--out", tmp_path / "out")])
    assert result.exit_code == 0, result.output
    assert "predictions are for one unit of exposure" in result.output
    model = creases.load(tmp_path / "out")
    same = creases.fit_table(frame, "visits", exposure="years", weight="times")
    assert model.predict(frame).tolist() == same.predict(frame).tolist()
    new = tmp_path / "new.csv"
    done = CliRunner().invoke(app, ["predict", str(tmp_path / "out"), str(tmp_path / "visits.csv"), "--out", str(new)])
    assert done.exit_code == 0, done.output
    np.testing.assert_allclose(pd.read_csv(new)["predicted visits"], model.predict(frame))
