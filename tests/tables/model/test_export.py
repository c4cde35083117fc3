"""Models as SQL, Python, Excel and ONNX predict what the model predicts, from the table's own cells, or nothing."""

import csv
import json
import runpy

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import creases
from creases.cli import app
from creases.errors import InputError, RequestError
from creases.tables._model import export as exports
from creases.tables._model.onnx_export import _Graph
from creases.tables._model.sheet import _Book
from follow_card import PrintedCard
from run_exports import RUNNERS, split_answers


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


SUFFIXES = (".sql", ".py", ".xlsx", ".onnx")


def expected(model, rows):
    """Return the model's numbers (n, k) and decisions (n,)."""
    table = pd.DataFrame(rows)
    decisions = model.predict(table)
    return decisions[:, None] if model.classes is None else model.predict_proba(table), decisions


def assert_same(model, rows, answers):
    for want, got in zip(expected(model, rows), answers, strict=True):
        if want.dtype.kind == "f":
            assert np.abs(got.astype(float) - want).max() < 1e-9
        else:
            assert got.tolist() == want.tolist()


@pytest.fixture(autouse=True)
def no_office(monkeypatch):
    """Let sheets be calculated here: LibreOffice takes seconds, and need not be there."""
    monkeypatch.setenv("PATH", "")


@pytest.mark.parametrize("suffix", [*SUFFIXES[:2], pytest.param(".xlsx", marks=pytest.mark.slow), ".onnx"])
def test_an_export_predicts_rows_of_the_table_and_others(fitted, suffix, tmp_path):
    model, rows, _ = fitted
    rows = rows if suffix != ".xlsx" else rows[-97:]
    rows = [*rows, rows[0] | {"town": "\u2009Ulm\t", "garden": " yes", "risk": "High ", "seen": " 2020-02-29 "},
            rows[0] | {"town": " null", "garden": "N/A", "risk": "None", "seen": "?"}]  # fmt: skip
    export = model.export(tmp_path / f"model{suffix}")
    assert max(export.deviation, export.bound) < 1e-8
    assert export.decided == 0
    ran = {".sql": "SQLite", ".py": "Python", ".onnx": "onnxruntime", ".xlsx": "the built-in calculator"}
    assert export.by == ran[suffix]
    assert_same(model, rows, RUNNERS[suffix](export.path, rows))


def test_one_select_predicts_rows_in_duckdb(fitted, tmp_path):
    duckdb = pytest.importorskip("duckdb")
    model, rows, _ = fitted
    model.export(tmp_path / "model.sql", table="my rows")
    connection = duckdb.connect()
    connection.register("my rows", pd.DataFrame(rows))
    cursor = connection.execute((tmp_path / "model.sql").read_text())
    assert_same(model, rows, split_answers([title for title, *_ in cursor.description], cursor.fetchall()))


def test_one_select_predicts_a_table_that_was_read_as_texts(fitted, tmp_path):
    model, rows, _ = fitted
    texts = [{name: cell if cell is None else str(cell) for name, cell in row.items()} for row in rows]
    assert_same(model, rows, RUNNERS[".sql"](model.export(tmp_path / "model.sql").path, texts))


@pytest.mark.slow
def test_a_sheet_takes_dates_that_are_typed(fitted, tmp_path):
    model, rows, _ = fitted
    rows = [row for row in rows if row["seen"]][-60:]
    days = (np.array([row["seen"] for row in rows], "M8[s]") - np.datetime64("1899-12-30")) / np.timedelta64(1, "D")
    typed = [row | {"seen": day} for row, day in zip(rows, days.tolist(), strict=True)]
    assert_same(model, rows, RUNNERS[".xlsx"](model.export(tmp_path / "model.xlsx").path, typed))


def test_a_sheet_takes_truth_values_that_are_typed(tmp_path):
    table = pd.DataFrame({"a": ["True", "False", "maybe"] * 30, "y": [1.0, 2.0, 5.0] * 30})
    model = creases.fit_table(table, "y")
    numbers, _ = RUNNERS[".xlsx"](model.export(tmp_path / "model.xlsx").path, [{"a": True}, {"a": False}])
    assert numbers[:, 0].tolist() == pytest.approx(model.predict([{"a": "True"}, {"a": "False"}]))


def test_a_python_module_imports_nothing_but_math(fitted, tmp_path):
    text = fitted[0].export(tmp_path / "model.py").path.read_text(encoding="utf-8")
    assert [line for line in text.splitlines() if "import" in line] == ["import math"]


@pytest.mark.slow
@pytest.mark.parametrize("target", [lambda t: np.where(np.abs(t.a) > 0.7, "far", "near"), lambda t: 3 * t.a])
def test_a_grown_network_is_exported_too(target, tmp_path):
    table = pd.DataFrame({"a": np.random.default_rng(0).normal(size=80), "b": ["x", "y"] * 40})
    table["t"] = target(table)
    model = creases.tables.grow_table(table, "t", budget=2)
    for suffix in SUFFIXES:
        export = model.export(tmp_path / f"model{suffix}")
        assert export.deviation < 1e-10
        assert export.decided == 0


def test_the_command_prints_the_largest_deviation_and_what_ran_the_file(fitted, tmp_path):
    model, _, _ = fitted
    model.save(tmp_path / "run")
    for suffix, by in (("sql", "SQLite"), ("xlsx", "the built-in calculator")):
        done = CliRunner().invoke(app, ["export", str(tmp_path / "run"), str(tmp_path / f"model.{suffix}")])
        assert done.exit_code == 0, done.output
        assert "rounding changes a score by at most" in done.output
        assert f"run by {by}" in " ".join(done.output.split())
    again = CliRunner().invoke(app, ["export", str(tmp_path / "run"), str(tmp_path / "model.sql")])
    assert again.exit_code == 2
    assert "--force" in again.output
    with pytest.raises(InputError, match=r"end in .sql, .py, .xlsx, .onnx"):
        model.export(tmp_path / "model.pmml")


# What a cell has to be.


@pytest.fixture(scope="module")
def notations():
    """A model of numbers as tables write them, of times, and of categories that are numbers."""
    rng = np.random.default_rng(0)
    euros, hours, code = rng.uniform(100, 9000, 200).round(2), rng.integers(0, 24, 200), rng.integers(0, 4, 200)
    table = pd.DataFrame({
        "price": [f"{x:,.2f} €".replace(",", "_").replace(".", ",").replace("_", ".") for x in euros],
        "at": [f"{hour}:30" for hour in hours], "weight": [f"{x / 100:.1f} kg" for x in euros[::-1]],
        "took": [f"{x / 10:.0f} min" for x in euros], "code": code,
        "y": euros / 1000 + np.abs(hours - 12) + 2 * (code == 3) + euros[::-1] / 500,
    })  # fmt: skip
    return creases.fit_table(table, "y", kinds={"code": "category"})


def test_a_file_says_what_its_cells_are_to_be(notations, tmp_path):
    about = {
        "price": "a number in €, 4560 for 4560 €", "at": "a time of day HH:MM or HH:MM:SS", "weight": "a number in kg",
        "took": "a number of hours, ", "code": "a number",
    }  # fmt: skip
    read = runpy.run_path(str(notations.export(tmp_path / "m.py").path))["COLUMNS"]
    assert list(read) == list(about)
    assert all(read[name].startswith(about[name][:14]) for name in about)
    select = notations.export(tmp_path / "m.sql").path.read_text()
    assert all(f"('{name}', '{text}')" in select for name, text in read.items())
    onnx = pytest.importorskip("onnx")
    stored = {each.key: each.value for each in onnx.load(notations.export(tmp_path / "m.onnx").path).metadata_props}
    columns = {each["name"]: each["cells"] for each in json.loads(stored["columns"])}
    assert columns == {
        name: f"{text}; {'NaN' if name != 'at' else chr(34) * 2} where it is missing" for name, text in read.items()
    }
    book = exports.run_export.Book(notations.export(tmp_path / "m.xlsx").path)
    assert {book.value("columns", 0, k): book.value("columns", 1, k) for k in range(2, 7)} == read


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_cell_that_cannot_be_read_has_no_prediction_and_never_a_wrong_one(notations, suffix, tmp_path):
    path = notations.export(tmp_path / f"model{suffix}").path
    row = {"price": 1234.5, "at": "7:30", "weight": 20.0, "took": 1.5, "code": 3}
    as_written = row | {"price": "1.234,50 €", "weight": "20 kg", "took": "90 min", "code": "3"}
    assert_same(notations, [row, row | {"at": None}], RUNNERS[suffix](path, [row, row | {"at": ""}]))
    assert notations.predict([row])[0] == pytest.approx(notations.predict([as_written])[0])
    odd = [{"at": "half past"}, {"at": "25:00"}, {"at": "8:30 pm"}]
    if suffix != ".onnx":  # others are no floats
        odd += [{"price": "1.234,50 €"}, {"price": "1234.5"}, {"weight": "20 kg"}, {"took": "90"}, {"code": "x"}]
    for cells in odd:
        if suffix == ".py":
            with pytest.raises(RuntimeError, match=f"column {next(iter(cells))!r} takes a "):
                RUNNERS[suffix](path, [row | cells])
            continue
        (numbers,), _ = RUNNERS[suffix](path, [row | cells])
        assert numbers[0] is None or np.isnan(float(numbers[0])), (cells, numbers)


# An export that is wrong is not handed out.

WRONG = {
    "padding counts": (".py", "str(cell).strip()", "str(cell)", "would predict otherwise"),
    "None is a text": (".py", "'None'", "'nil'", "would predict otherwise"),
    "a billionth more": (".py", "constant + sum", "constant + 1e-09 + sum", "would predict otherwise"),
    "another class": (".py", "return (decision", "return ('other'", "would predict otherwise"),
    "an error": (".py", "return (", "return 1 / 0, (", r"does not run \(ZeroDivisionError"),
    "null is a text": (".sql", "'NULL'", "'nil'", "would predict otherwise"),
    "rows are lost": (".sql", "$", "\nLIMIT 7", r": 7 predictions for 4\d\d rows"),
    "unread cells count": (".sql", "THEN CAST(", "THEN 1 + CAST(", "would predict otherwise"),
    "no SQL": (".sql", "SELECT", "SELEKT", r"does not run \(sqlite3.OperationalError"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_file_that_predicts_otherwise_is_not_written(fitted, name, tmp_path, monkeypatch):
    model, _, _ = fitted
    suffix, old, new, message = WRONG[name]
    if "decision" in old and model.classes is None:
        pytest.skip("values are not decided")
    writer = {".py": "write_python", ".sql": "write_sql"}[suffix]
    write, path = getattr(exports, writer), tmp_path / f"model{suffix}"
    spoil = lambda text: text + new if old == "$" else text.replace(old, new)  # noqa: E731
    monkeypatch.setattr(exports, writer, lambda *arguments: spoil(write(*arguments)))
    path.write_text("before")
    with pytest.raises(RequestError, match=message) as error:
        model.export(path)
    assert "\n" not in str(error.value)
    assert path.read_text() == "before"
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize(("suffix", "kind", "method"), [(".xlsx", _Book, "store"), (".onnx", _Graph, "constant")])
def test_numbers_that_are_a_millionth_off_are_noticed(fitted, suffix, kind, method, tmp_path, monkeypatch):
    store = getattr(kind, method)

    def spoil(self, values):
        if isinstance(values, str | tuple) or not np.issubdtype(np.asarray(values).dtype, np.floating):
            return store(self, values)
        return store(
            self, np.asarray(values) * (1 + 1e-6) if method == "constant" else [x * (1 + 1e-6) for x in values]
        )

    monkeypatch.setattr(kind, method, spoil)
    with pytest.raises(RequestError, match="would predict otherwise"):
        fitted[0].export(tmp_path / f"model{suffix}")
    assert not list(tmp_path.iterdir())


# Names of a table that are code, or names of ours; the whole series is in test_hostile_names.

INJECTION = '"""+str(__import__("os").system("touch PWNED"))+"""'
ATTACH = "a\nATTACH 'PWNED' AS q /*"


def make_hostile(names, n=90):
    """Return a table of two numbers and a category of these names, to predict by the sum."""
    rng = np.random.default_rng(0)
    first, second, third, target = names
    table = pd.DataFrame({first: rng.normal(size=n).round(2), second: rng.normal(size=n).round(2),
                          third: rng.choice(["p", "q r", "r"], n)})  # fmt: skip
    return table.assign(**{target: 3 * table[first] + np.abs(table[second]) + 2 * (table[third] == "p")})


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize(
    "names",
    [
        (INJECTION, ATTACH, "*/ --", f"{INJECTION} = y"),
        ("x1", "x2", "x0", "score0"),
        ("x1", "decision", "model!A1", "x2"),
        ("area\n(m2)", "A", "a", "\\xprice"),
        ("prediction", "column1", "label", "X"),
        ("creases x0", "\x01", "a\u2028b", "creases stage 1"),
    ],
)
def test_a_name_is_a_text_and_nothing_else(suffix, names, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = make_hostile(names)
    model = creases.fit_table(table, names[-1])
    export = model.export(tmp_path / f"model{suffix}")
    rows = table[list(names[:-1])].to_dict("records")[:50]
    rows += [rows[0] | {names[2]: cell} for cell in (" q r", "q r\t", "NULL", "", "none", "s")]
    assert_same(model, rows, RUNNERS[suffix](export.path, rows, export.names))
    assert {each.name for each in tmp_path.iterdir()} == {f"model{suffix}"}


def test_columns_that_sql_cannot_tell_apart_get_another_name_and_it_says_so(tmp_path):
    table = make_hostile(("A", "a", "b", "y"))
    model = creases.fit_table(table, "y")
    export = model.export(tmp_path / "model.sql")
    assert export.names == {"a": "a (2)"}
    assert "column 'a' is called 'a (2)' there" in str(export)
    assert "('a (2)', 'a number')" in export.path.read_text()
    with pytest.raises(InputError, match=r"whose names are text in SQL, got 'b.x00b'; export Python"):
        creases.fit_table(make_hostile(("A", "b\0b", "c", "y")), "y").export(tmp_path / "other.sql")
    assert not (tmp_path / "other.sql").exists()


def test_the_folder_of_a_stranger_runs_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    creases.fit_table(make_hostile(("one", "two", "three", "four")), "four").save(tmp_path / "run")
    for file in (tmp_path / "run").glob("*.json"):
        text = file.read_text()
        payloads = {"one": INJECTION, "two": ATTACH, "three": "'); ATTACH 'PWNED' AS p; --", "four": f"{INJECTION} = y"}
        for name, payload in payloads.items():
            text = text.replace(f'"{name}', json.dumps(payload)[:-1])
        file.write_text(text)
    for suffix in ("py", "sql", "xlsx", "onnx"):
        done = CliRunner().invoke(app, ["export", "run", f"model.{suffix}"])
        assert done.exit_code == 0, done.output
        assert sorted(each.name for each in tmp_path.iterdir()) == sorted(["run", f"model.{suffix}"])
        (tmp_path / f"model.{suffix}").unlink()


@pytest.mark.slow
def test_special_codes_and_missing_values_are_exported_and_on_the_card(tmp_path):
    rng = np.random.default_rng(1)  # of which pairs with codes and gaps are learned, and no units
    a = rng.uniform(0, 10, 300).round(2)
    a[rng.random(300) < 0.2], a[:20] = -999, np.nan
    b = rng.choice(["u", "v"], 300)
    y = np.where(a < 0, 3, a) * (1 + (b == "u")) + rng.normal(size=300)
    table = pd.DataFrame({"a": a, "b": b, "y": np.nan_to_num(y, nan=5.0)})
    model = creases.fit_table(table, "y", codes={"a": [-999]})
    for suffix in ("sql", "py", "onnx"):
        assert model.export(tmp_path / f"model.{suffix}").deviation < 1e-9
    card = model.card()
    printed = PrintedCard(str(card))
    rows = [{"a": None if np.isnan(x) else f"{x:g}", "b": level} for x, level in zip(a, b, strict=True)]
    sums = np.array([[printed.sums(row)["points"]] for row in rows]) * card.worth
    assert np.abs(sums - model.function.scores(model.encode(table).X)).max() <= card.reach
