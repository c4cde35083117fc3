"""Models as SQL, Python, Excel and ONNX predict what the model predicts, from the table's own cells."""

import csv
import sqlite3

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import creases
from creases.cli import app
from creases.errors import InputError
from follow_card import PrintedCard
from run_sheet import Book


def make_rows(n=300, seed=0):
    """Rows with a number, one with gaps, a category, yes/no, words in an order, and dates with hours."""
    rng = np.random.default_rng(seed)
    days = np.datetime64("2019-12-20T00:00") + rng.integers(0, 900 * 24, n).astype("m8[h]")
    rows = []
    for i in range(n):
        gone, income = rng.random(2) < 0.12, float(np.exp(rng.normal(10, 1)).round(2))
        rows.append({
            "age": float(rng.integers(18, 80)), "income (EUR)": None if gone[0] else income,
            "town": str(rng.choice(["Ulm", "Bonn", "Köln", "l'Aquila"])), "garden": str(rng.choice(["Yes", "No"])),
            "risk": str(rng.choice(["low", "medium", "high"])),
            "seen": None if gone[1] else str(days[i].astype("M8[s]")).replace("T", " "),
        })  # fmt: skip
    risk = np.array([["low", "medium", "high"].index(row["risk"]) for row in rows])
    age, ulm = np.array([row["age"] for row in rows]), np.array([row["town"] == "Ulm" for row in rows])
    score = 0.05 * (age - 45) + 0.1 * ulm * (age - 45) + risk + 0.2 * (days.astype("M8[h]").astype(int) % 24 > 12)
    return rows, score + 0.3 * rng.normal(size=n)


TARGETS = {
    "two": lambda score: np.where(score > 1, "buys", "leaves"),
    "three": lambda score: np.digitize(score, [0, 2]),
    "number": lambda score: (100 + 10 * score).round(3),
}


@pytest.fixture(scope="module", params=TARGETS)
def fitted(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("export")
    rows, score = make_rows()
    target = TARGETS[request.param](score)
    with (folder / "table.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [*rows[0], "y"])
        writer.writeheader()
        writer.writerows({**row, "y": y} for row, y in zip(rows, target, strict=True))
    task = "regression" if request.param == "number" else "classification"
    threshold = {"threshold": 0.3} if request.param == "two" else {}
    model = creases.fit_table(folder / "table.csv", "y", task=task, **threshold)
    new = [{"age": None, "income (EUR)": None, "town": "Rom", "garden": None, "risk": None, "seen": None},
           {"age": 150.0, "income (EUR)": -5.0, "town": None, "garden": "no", "risk": "HIGH", "seen": "2020-02-29"},
           {"age": 17.5, "income (EUR)": 9e9, "town": "Köln", "garden": "YES", "risk": "low",
            "seen": "2024-12-31 23:00:00"}]  # fmt: skip
    return model, rows + new, folder


def expected(model, rows):
    table = pd.DataFrame(rows)
    return model.predict(table)[:, None] if model.classes is None else model.predict_proba(table)


def test_one_select_predicts_rows_in_sqlite(fitted, tmp_path):
    model, rows, _ = fitted
    export = model.export(tmp_path / "model.sql", table="my rows")
    database = sqlite3.connect(":memory:")
    pd.DataFrame(rows).to_sql("my rows", database, index=False)
    found = pd.read_sql_query((tmp_path / "model.sql").read_text(), database)
    database.close()
    numbers = found[[name for name in found if model.classes is None or name.startswith("probability")]].to_numpy()
    assert np.abs(numbers - expected(model, rows)).max() < 1e-10
    if model.classes is not None:
        assert found["predicted y"].tolist() == model.predict(pd.DataFrame(rows)).tolist()
    assert export.deviation < 1e-8
    assert export.bound < 1e-8


def test_one_select_predicts_rows_in_duckdb(fitted, tmp_path):
    duckdb = pytest.importorskip("duckdb")
    model, rows, _ = fitted
    model.export(tmp_path / "model.sql", table="frame")
    connection = duckdb.connect()
    connection.register("frame", pd.DataFrame(rows))
    found = connection.execute((tmp_path / "model.sql").read_text()).fetchdf()
    numbers = found[[name for name in found if model.classes is None or name.startswith("probability")]].to_numpy()
    assert np.abs(numbers - expected(model, rows)).max() < 1e-10


def test_a_python_function_predicts_rows(fitted, tmp_path):
    model, rows, _ = fitted
    export = model.export(tmp_path / "model.py")
    text = (tmp_path / "model.py").read_text(encoding="utf-8")
    assert [line for line in text.splitlines() if "import" in line] == ["import math"]
    names = {}
    exec(text, names)
    numbers = np.array([list(names["outputs"](row).values()) for row in rows])
    assert np.abs(numbers - expected(model, rows)).max() < 1e-10
    decisions = [names["predict"](row) for row in rows]
    if model.classes is None:
        assert decisions == numbers[:, 0].tolist()
    else:
        assert decisions == model.predict(pd.DataFrame(rows)).tolist()
    assert export.deviation < 1e-8
    assert export.decided == 0


@pytest.mark.slow
def test_an_excel_sheet_calculates_the_predictions_of_its_rows(fitted, tmp_path):
    model, rows, _ = fitted
    model.export(tmp_path / "model.xlsx")
    table = Book(tmp_path / "model.xlsx").table("rows")
    assert len(table) == 100
    cells = [{name: row[name] for name in rows[0]} for row in table]
    names = [name for name in table[0] if name.startswith("probability " if model.classes else "predicted ")]
    numbers = np.array([[row[name] for name in names] for row in table])
    assert np.abs(numbers - expected(model, cells)).max() < 1e-9
    if model.classes is not None:
        assert [row["predicted y"] for row in table] == model.predict(pd.DataFrame(cells)).tolist()


def test_onnx_takes_the_columns_of_the_table_with_dates_as_text(fitted, tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    model, rows, _ = fitted
    export = model.export(tmp_path / "model.onnx")
    session = runtime.InferenceSession(str(export.path))
    feed = {}
    for name in rows[0]:
        values = [row[name] for row in rows]
        is_number = name in ("age", "income (EUR)")
        empty = np.nan if is_number else ""
        feed[name] = np.array([empty if v is None else v for v in values], float if is_number else object)[:, None]
    assert {each.name for each in session.get_inputs()} == set(rows[0])
    output = session.run(["prediction" if model.classes is None else "probabilities"], feed)[0]
    assert np.abs(output - expected(model, rows)).max() < 1e-10
    again = feed | {"seen": np.array([[text[0].replace(" ", "T")] for text in feed["seen"]], object)}
    assert np.array_equal(session.run(None, feed)[0], session.run(None, again)[0])
    assert export.deviation < 1e-8


def test_a_grown_network_is_exported_too(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(size=80), "b": rng.choice(["x", "y"], 80)})
    table["t"] = np.where(np.abs(table.a) > 0.7, "far", "near")
    model = creases.tables.grow_table(table, "t", budget=2)
    for suffix in ("sql", "py", "onnx"):
        export = model.export(tmp_path / f"model.{suffix}")
        assert export.deviation < 1e-10
        assert export.decided == 0


def test_the_command_prints_the_largest_deviation(fitted, tmp_path):
    model, _, _ = fitted
    model.save(tmp_path / "run")
    for suffix in ("sql", "xlsx"):
        done = CliRunner().invoke(app, ["export", str(tmp_path / "run"), str(tmp_path / f"model.{suffix}")])
        assert done.exit_code == 0, done.output
        assert "rounding changes a score by at most" in done.output
    again = CliRunner().invoke(app, ["export", str(tmp_path / "run"), str(tmp_path / "model.sql")])
    assert again.exit_code == 2
    assert "--force" in again.output
    with pytest.raises(InputError, match=r"end in .sql, .py, .xlsx, .onnx"):
        model.export(tmp_path / "model.pmml")


@pytest.mark.slow
def test_special_codes_and_missing_values_are_exported_and_on_the_card(tmp_path):
    rng = np.random.default_rng(0)
    a = rng.uniform(0, 10, 300).round(2)
    a[rng.random(300) < 0.2], a[:20] = -999, np.nan
    b = rng.choice(["u", "v"], 300)
    table = pd.DataFrame({"a": a, "b": b, "y": np.where(a < 0, 3, a) * (1 + (b == "u")) + rng.normal(size=300)}).fillna(
        {"y": 5.0}
    )
    model = creases.fit_table(table, "y", codes={"a": [-999]})
    for suffix in ("sql", "py", "onnx"):
        assert model.export(tmp_path / f"model.{suffix}").deviation < 1e-9
    card = model.card()
    printed = PrintedCard(str(card))
    rows = [{"a": None if np.isnan(x) else f"{x:g}", "b": level} for x, level in zip(a, b, strict=True)]
    sums = np.array([[printed.sums(row)["points"]] for row in rows]) * card.worth
    assert np.abs(sums - model.function.scores(model.encode(table).X)).max() <= card.reach
