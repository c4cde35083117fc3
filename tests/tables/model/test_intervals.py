"""Intervals and sets hold the truth of new rows as often as they say."""

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import creases
from creases.cli import app
from creases.errors import InputError
from creases.tables._model.predictions import conformal_quantile


def make_table(n, seed, *, classes):
    """Rows whose noise is three times as large in one town, and grows with the prediction."""
    rng = np.random.default_rng(seed)
    x, town = rng.uniform(0, 10, n), rng.choice(["Ulm", "Bonn"], n)
    noise = np.where(town == "Ulm", 3.0, 1.0) * (0.5 + x / 10)
    y = 2 * x + noise * rng.normal(size=n)
    label = np.where(y > 10, "high", "low")
    return pd.DataFrame({"x": x, "town": town, "y": label if classes else y})


@pytest.fixture(scope="module")
def numbers():
    return creases.fit_table(make_table(900, 0, classes=False), "y", family="normal")


@pytest.fixture(scope="module")
def classes():
    return creases.fit_table(make_table(900, 0, classes=True), "y")


def hold(model, table, coverage, **options):
    low, high = model.predict_interval(table, coverage, **options).T
    return (low <= table.y) & (table.y <= high)


@pytest.mark.parametrize("coverage", [0.5, 0.9])
def test_intervals_hold_new_values_as_often_as_they_say(numbers, coverage):
    new = make_table(4000, 1, classes=False)
    error = 3 * np.sqrt(coverage * (1 - coverage) / 720)  # of a share in the rows that were held out
    assert hold(numbers, new, coverage).mean() == pytest.approx(coverage, abs=error)


def test_each_group_has_the_coverage_on_request(numbers):
    new = make_table(4000, 2, classes=False)
    alone = hold(numbers, new, 0.9).groupby(new.town).mean()
    grouped = hold(numbers, new, 0.9, by="town").groupby(new.town).mean()
    assert alone["Bonn"] - alone["Ulm"] > 0.1
    assert grouped["Ulm"] == pytest.approx(0.9, abs=0.04)
    assert grouped["Bonn"] == pytest.approx(0.9, abs=0.04)


def test_intervals_are_wider_where_errors_are_larger(numbers):
    low, high = numbers.predict_interval([{"x": 1.0, "town": "Ulm"}, {"x": 9.0, "town": "Ulm"}]).T
    assert (high - low)[1] > 1.3 * (high - low)[0]


def test_sets_hold_new_classes_as_often_as_they_say(classes):
    new = make_table(4000, 3, classes=True)
    for coverage in (0.8, 0.9, 0.97):
        sets = classes.predict_set(new, coverage)
        held = np.mean([label in each for label, each in zip(new.y, sets, strict=True)])
        right = np.mean(classes.predict(new) == new.y)  # the most likely class is in every set
        assert coverage - 0.03 < held < max(coverage, right) + 0.03


def test_a_saved_model_has_the_same_intervals_and_the_command_writes_them(numbers, classes, tmp_path):
    new = make_table(40, 4, classes=False)
    new.to_csv(tmp_path / "new.csv", index=False)
    for name, model in (("numbers", numbers), ("classes", classes)):
        model.save(tmp_path / name)
        words = ["predict", str(tmp_path / name), str(tmp_path / "new.csv"), "--out", str(tmp_path / f"{name}.csv")]
        done = CliRunner().invoke(app, [*words, "--coverage", "0.9", "--by", "town"])
        assert done.exit_code == 0, done.output
        written = pd.read_csv(tmp_path / f"{name}.csv", keep_default_na=False)
        if model is classes:
            expected = ["; ".join(each) for each in model.predict_set(new, by="town")]
            assert written["classes at 90 %"].tolist() == expected
        else:
            columns = ["least y at 90 %", "largest y at 90 %"]
            assert written[columns].to_numpy(float) == pytest.approx(model.predict_interval(new, by="town"), rel=1e-9)


def test_wrong_questions_are_refused(numbers, classes):
    row = [{"x": 1.0, "town": "Ulm"}]
    with pytest.raises(InputError, match="of classes predict sets"):
        classes.predict_interval(row)
    with pytest.raises(InputError, match="of numbers predict intervals"):
        numbers.predict_set(row)
    with pytest.raises(InputError, match="they are: town"):
        numbers.predict_interval(row, by="x")
    with pytest.raises(InputError, match="coverage"):
        numbers.predict_interval(row, 90)


def test_the_bound_of_errors_is_the_one_of_the_definition():
    rng = np.random.default_rng(0)
    for n in (5, 19, 100):
        errors = rng.random(n)
        for coverage in (0.5, 0.8, 0.9):
            rank = min(int(np.ceil(round((n + 1) * coverage, 9))), n)
            assert conformal_quantile(errors, np.ones(n), coverage) == np.sort(errors)[rank - 1]


def draw_voyage(n, rng):
    """Three columns of few values, as on a list of passengers: a dozen different rows."""
    first, adult, woman = rng.random(n) < 0.3, rng.random(n) < 0.9, rng.random(n) < 0.35
    chance = 1 / (1 + np.exp(-(-1.5 + 1.2 * first - 0.7 * adult + 2.4 * woman)))
    flags = {"first": first, "adult": adult, "woman": woman, "y": rng.random(n) < chance}
    return pd.DataFrame({name: np.where(flag, "yes", "no") for name, flag in flags.items()})


def test_sets_hold_the_classes_of_rows_that_many_others_are_equal_to():
    shares = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        model, new = creases.fit_table(draw_voyage(800, rng), "y"), draw_voyage(4000, rng)
        sets = model.predict_set(new.drop(columns="y"), 0.9)
        shares.append(np.mean([truth in names for truth, names in zip(new.y, sets, strict=True)]))
    assert min(shares) > 0.88


def test_sets_by_class_hold_the_rows_of_a_rare_class_too():
    rng = np.random.default_rng(1)
    x = rng.uniform(0, 1, 8000)
    frame = pd.DataFrame({"x": x, "y": np.where(rng.random(8000) < 0.15 * (x > 0.8), "fraud", "fine")})
    model, new = creases.fit_table(frame[:3000], "y"), frame[3000:]
    for by_class, least in ((False, 0.0), (True, 0.8)):
        sets = model.predict_set(new[["x"]], 0.9, by_class=by_class)
        held = np.array([truth in names for truth, names in zip(new.y, sets, strict=True)])
        assert min(map(len, sets)) > 0
        assert held[new.y == "fraud"].mean() >= least
        assert held[new.y == "fine"].mean() > 0.87
    assert {len(names) for names in sets} == {1, 2}
