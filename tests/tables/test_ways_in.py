"""A table gives the same network, bit for bit, by every way in; it is no worse than logistic regression."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from typer.testing import CliRunner

import creases
from creases import GrowingClassifier, TableClassifier, TableRegressor
from creases.cli import app
from creases.tables import GrownModel, grow_table, read_table

OPTIONS: dict[str, Any] = {"budget": 12, "when": 4}


def passengers() -> pd.DataFrame:
    """1,316 rows of twelve different inputs, each with both classes, sorted by class."""
    rng = np.random.default_rng(0)
    cabin, age, sex = rng.integers(0, 3, 1316), rng.random(1316) < 0.1, rng.random(1316) < 0.3
    odds = 2.5 * sex - 0.9 * cabin + age - 0.4
    frame = pd.DataFrame({"cabin": np.array(["1st", "2nd", "3rd"])[cabin], "age": np.where(age, "child", "adult")})
    frame["sex"] = np.where(sex, "woman", "man")
    return frame.assign(survived=np.where(rng.logistic(size=1316) < odds, "yes", "no")).sort_values("survived")


def customers() -> pd.DataFrame:
    """400 rows of numbers, dates and categories with missing values and repeated rows, sorted by their text labels."""
    rng = np.random.default_rng(1)
    income, town = rng.lognormal(3, 0.5, 300), rng.choice(["Ulm", "Bonn", "Rom"], 300)
    since = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, 300), unit="D")
    frame = pd.DataFrame({"income": income.round(1), "town": town, "since": since})
    score = np.log(income) - 3 + (town == "Rom") + 0.6 * rng.normal(size=300)
    frame["kind"] = np.select([score < 0, score < 0.8], ["low", "middle"], "top")
    frame.loc[rng.random(300) < 0.1, "income"] = np.nan
    frame.loc[rng.random(300) < 0.1, "town"] = None
    return pd.concat([frame, frame[:100]], ignore_index=True).sort_values("kind", ignore_index=True)


TABLES = {"passengers": (passengers(), "survived"), "customers": (customers(), "kind")}


@pytest.fixture(scope="module", params=TABLES)
def table(request: pytest.FixtureRequest) -> tuple[pd.DataFrame, str]:
    return TABLES[request.param]


@pytest.fixture(scope="module", params=[pytest.param("network", marks=pytest.mark.slow), "curves"])
def model(request: pytest.FixtureRequest, table: tuple[pd.DataFrame, str]) -> Any:
    frame, target = table
    if request.param == "network":
        return grow_table(frame, target, test_fraction=0.0, **OPTIONS)
    return creases.fit_table(frame, target, test_fraction=0.0)


def is_grown(model: Any) -> bool:
    return isinstance(model, GrownModel)


@pytest.mark.slow
def test_the_estimator_makes_the_network_of_fit_table(table: tuple[pd.DataFrame, str], model: Any) -> None:
    frame, target = table
    rows, labels = frame.drop(columns=target), frame[target]
    estimator = GrowingClassifier(random_state=0, budget=12) if is_grown(model) else TableClassifier(random_state=0)
    if is_grown(model):
        model = grow_table(frame, target, test_fraction=0.0, budget=12)
    estimator.fit(rows, labels)
    X = model.data.problem.X
    assert np.array_equal(estimator.network_(X), model.network(X))
    assert estimator.predict(rows).tolist() == model.predict(frame).tolist()
    assert estimator.classes_.tolist() == sorted(set(labels))


@pytest.mark.slow
def test_the_command_line_makes_the_network_of_fit_table(
    table: tuple[pd.DataFrame, str], model: Any, tmp_path: Path
) -> None:
    frame, target = table
    frame.to_csv(tmp_path / "table.csv", index=False)
    words = ["grow" if is_grown(model) else "fit", tmp_path / "table.csv", "--target", target]
    words += ["--out", tmp_path / "run", "--test-fraction", 0]
    words += [word for name, value in OPTIONS.items() for word in (f"--{name}", value)] if is_grown(model) else []
    result = CliRunner().invoke(app, list(map(str, words)))
    assert result.exit_code == 0, result.output
    X = model.data.problem.X
    assert np.array_equal(creases.load(tmp_path / "run").network(X), model.network(X))
    assert creases.load(tmp_path / "run").predict(frame).tolist() == model.predict(frame).tolist()


@pytest.mark.slow
@pytest.mark.thorough  # ten fits
def test_a_network_predicts_at_least_as_well_as_logistic_regression(table: tuple[pd.DataFrame, str]) -> None:
    frame, target = table
    problem, labels = read_table(frame, target), frame[target].to_numpy()
    ours, theirs = [], []
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(frame, labels):
        rows = frame.drop(columns=target)
        fitted = GrowingClassifier(random_state=0, budget=12).fit(rows.iloc[train], labels[train])
        ours += (fitted.predict(rows.iloc[test]) == labels[test]).tolist()
        linear = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
        theirs += (linear.fit(problem.X[train], labels[train]).predict(problem.X[test]) == labels[test]).tolist()
    assert np.mean(ours) > np.mean(theirs) - np.std(np.subtract(ours, theirs, dtype=float)) / np.sqrt(len(ours)) - 1e-9


@pytest.mark.thorough
def test_curves_have_at_most_the_log_loss_of_logistic_regression(table: tuple[pd.DataFrame, str]) -> None:
    frame, target = table
    problem, labels = read_table(frame, target), frame[target].to_numpy()
    number, rows = np.unique(labels, return_inverse=True)[1], frame.drop(columns=target)
    gaps: list[float] = []
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(frame, labels):
        linear = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(problem.X[train], labels[train])
        ours = TableClassifier(random_state=0).fit(rows.iloc[train], labels[train]).predict_log_proba(rows.iloc[test])
        theirs = linear.predict_log_proba(problem.X[test])
        gaps += (theirs - ours)[np.arange(len(test)), number[test]].tolist()
    assert np.mean(gaps) < np.std(gaps) / np.sqrt(len(gaps))


@pytest.mark.slow
@pytest.mark.parametrize(
    "labels", [np.array([3, 7]), np.array([False, True]), np.array(["no", "yes"]), np.array([0.0, 2.0])]
)
def test_predictions_have_the_type_of_the_labels(labels: np.ndarray, tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = labels[(X[:, 0] > 0).astype(int)]
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(y=y)
    estimator = TableClassifier(random_state=0).fit(frame[["a", "b"]], frame["y"])
    model = creases.fit_table(frame, "y", task="classification")
    loaded = creases.load(model.save(tmp_path / "model"))
    predictions = [model.predict(frame), loaded.predict(frame), estimator.model_.predict(frame[["a", "b"]])]
    for predicted in (estimator.predict(frame[["a", "b"]]), *predictions):
        assert predicted.dtype.kind == labels.dtype.kind
        assert np.mean(predicted == y) > 0.9


def test_integers_in_a_text_file_stay_integers(tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(60, 2))
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(y=(X[:, 0] > 0).astype(int))
    frame.to_csv(tmp_path / "table.csv", index=False)
    words = ["fit", str(tmp_path / "table.csv"), "--out", str(tmp_path / "run")]
    assert CliRunner().invoke(app, words).exit_code == 0
    assert creases.load(tmp_path / "run").predict(frame).dtype.kind == "i"


@pytest.mark.slow
def test_a_regressor_takes_dates_and_missing_values() -> None:
    frame = customers().assign(target=lambda rows: rows["income"].fillna(20.0) * 2)
    rows = frame.drop(columns="target")
    estimator = TableRegressor(random_state=0).fit(rows, frame["target"])
    assert estimator.score(rows, frame["target"]) > 0.9
    with pytest.warns(UserWarning, match="feature names"):  # scikit-learn's
        from_array = estimator.predict(rows[:3].to_numpy(object))
    assert estimator.predict(rows[:3]).tolist() == from_array.tolist()


def test_missing_labels_are_refused_with_what_to_do() -> None:
    rows, labels = customers().drop(columns="kind"), customers()["kind"].where(lambda kind: kind != "top")
    with pytest.raises(creases.errors.InputError, match=r"y must have no missing values.*drop those rows"):
        TableClassifier().fit(rows, labels)
