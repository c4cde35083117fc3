"""Texts that are read as what they are: times, durations, units, intervals, ordered words, months, shares."""

from __future__ import annotations

import datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import creases
from creases.errors import InputError
from creases.tables import TableEncoding, explain_row, find_changes, read_table
from creases.tables._columns.kinds import detect_kind
from creases.tables._columns.scales import CoordinateFormat
from creases.tables._encoding.encoding import column_note
from creases.tables._reading.columns import from_texts
from creases.tables._reading.options import ReadOptions
from creases.tables._reading.table import with_parts
from creases.tables._words.model_text import describe_model


def read(cells, name="c", **options):
    """Return the problem of a column of texts, and a number to predict."""
    return read_table(pd.DataFrame({name: list(cells), "y": np.arange(len(cells)) % 3 + 0.5}), "y", **options)


def read_numbers(cells, name="c", **options):
    """Return the kind of a column, and its numbers."""
    problem = read(cells, name, **options)
    return problem.encoding.kinds[name], problem.X[:, 0].tolist()


@pytest.mark.parametrize(
    ("cells", "kind", "numbers"),
    [
        (["08:30", "23:45", "00:00"], "time", [8.5, 23.75, 0]),
        (["8:30", "19:15", "24:00"], "time", [8.5, 19.25, 24]),
        (["12:30:00", "08:00:36", "09:00:00"], "time", [12.5, 8.01, 9]),
        (["8:30 pm", "12:15 am", "12:15 PM"], "time", [20.5, 0.25, 12.25]),
        (["8 am", "11 p.m.", "9 am"], "time", [8, 23, 9]),
        (["1:30:00", "0:45:00", "2:00:36"], "duration", [1.5, 0.75, 2.01]),
        (["30:15", "08:00", "100:00"], "duration", [30.25, 8, 100]),
        (["90 min", "45 min", "5 min"], "duration", [1.5, 0.75, 1 / 12]),
        (["1 h 30", "2 h", "45 min"], "duration", [1.5, 2, 0.75]),
        (["2d 4h", "1d", "3h 30m"], "duration", [52, 24, 3.5]),
        (["1 day 02:00:00", "0 days 00:30:00", "2 days, 1:00:00"], "duration", [26, 0.5, 49]),
        (["PT1H30M", "PT45M", "P1DT1H"], "duration", [1.5, 0.75, 25]),
        (["61.5 kg", "70 kg", "58.2kg"], "quantity", [61.5, 70, 58.2]),
        (["2 kg", "500 g", "1.5 kg"], "quantity", [2, 0.5, 1.5]),
        (["2 km", "150 m", "1 km"], "quantity", [2, 0.15, 1]),
        (["12 kWh", "7,5 kWh", "8 kWh"], "quantity", [12, 7.5, 8]),
        (["1 bedroom", "2 bedrooms", "3 bedrooms"], "quantity", [1, 2, 3]),
        (["5 m", "7 m", "12 m"], "quantity", [5, 7, 12]),
        (["300 K", "280 K", "12 K"], "quantity", [300, 280, 12]),
        (["10-20", "20-30", "30-40"], "interval", [15, 25, 35]),
        (["1-2", "3-4", "5-6"], "interval", [1.5, 3.5, 5.5]),
        (["<10", "10-20", "20+"], "interval", [5, 15, 25]),
        (["20 to 30", "30 to 40", "over 40"], "interval", [25, 35, 45]),
        (["0", "1", "2", "3+"], "interval", [0, 1, 2, 3]),
        (["<5", "7", "9"], "interval", [2.5, 7, 9]),
        (["(0, 10]", "(10, 20]", "(0, 10]"], "interval", [5, 15, 5]),
        (["18-24 years", "25-34 years", "65+ years"], "interval", [21, 29.5, 68.75]),
        (["low", "Medium", "HIGH"], "ordinal", [0, 1, 2]),
        (["often", "never", "always"], "ordinal", [1, 0, 2]),
        (["M", "XL", "S"], "ordinal", [1, 2, 0]),
        (["grade B", "grade A", "grade F"], "ordinal", [1, 0, 2]),
        (["level 2", "level 10", "level 1"], "ordinal", [1, 2, 0]),
        (["stage IV", "stage I", "stage II"], "ordinal", [2, 0, 1]),
        (["2nd", "1st", "3rd"], "ordinal", [1, 0, 2]),
        (["3/4", "1/2", "1/8", "2 / 8"], "quantity", [6, 4, 1, 2]),
        (["12 %", "7.5 %", "100 %"], "share", [12, 7.5, 100]),
        (["12.5*", "~12.5", "12 (est.)", "13 [2]"], "number", [12.5, 12.5, 12, 13]),
        (["1.5M", "200k", "3 bn"], "number", [1.5e6, 2e5, 3e9]),
        (["$1.5 million", "($2k)", "$ 3"], "number", [1.5e6, -2000, 3]),
        (["(1,234.50)", "1,000.00", "12"], "number", [-1234.5, 1000, 12]),
        (["1.200,5*", "3,2", "4,1"], "number", [1200.5, 3.2, 4.1]),
        (["48°12'N", "47° 30' S", "0°00'N"], "coordinate", [48.2, -47.5, 0]),
        (["16°22'30\"E", "9°11′W", "180°E"], "coordinate", [16.375, -9 - 11 / 60, 180]),
    ],
)
def test_texts_are_read_as_what_they_are(cells, kind, numbers):
    found, values = read_numbers(cells)
    assert found == kind
    np.testing.assert_allclose(values, numbers, rtol=1e-15)


@pytest.mark.parametrize("cells", [["2024-03", "2024-01", "2024-02"], ["Mar 2024", "Jan 2024", "Feb 2024"]])
def test_months_become_days_since_the_first(cells):
    problem = read(cells)
    assert problem.encoding.kinds["c"] == "month"
    assert problem.features[-1] == "c days since 2024-01-01"
    assert problem.X[:, -1].tolist() == [60, 0, 31]


def test_quarters_begin_with_their_first_day():
    assert read(["2024Q2", "2024Q1", "2023Q4"]).X[:, -1].tolist() == [183, 92, 0]
    assert read(["Q2 2024", "Q1 2024", "Q4 2023"]).X[:, -1].tolist() == [183, 92, 0]


@pytest.mark.parametrize(
    "cells",
    [
        ["A", "B", "F"],  # letters may be anything
        ["M", "S", "M"],  # married and single
        ["type 1", "type 2", "type 3"],
        ["120/80", "110/70", "140/90"],  # blood pressure
        ["2-1", "0-3", "1-1"],  # scores of games
        ["5 kg", "3 m", "2 kg"],  # no common unit
        ["007 A", "012 A", "013 A"],  # codes
        ["25:99", "08:30", "09:00"],
        ["low", "red", "high"],
        ["3 (manual)", "4 (auto)", "5 (auto)"],
        ["12a", "12b", "13a"],
        ["(1)", "(2)", "(3)"],
        ["007*", "3", "4"],
    ],
)
def test_texts_that_may_be_anything_remain_categories(cells):
    assert read(cells).encoding.kinds["c"] == "category"


def test_a_clock_is_a_duration_in_a_column_that_is_called_so():
    assert read(["08:30", "09:45"], "lap duration").encoding.kinds["lap duration"] == "duration"


def test_typed_times_and_spans_of_time_are_read_too():
    times = [datetime.time(8, 30), None, datetime.time(20, 15)]
    assert read(times).encoding.kinds["c"] == "time"
    spans = pd.to_timedelta([90, 30, 3000], unit="min")
    assert read_numbers(spans) == ("duration", [1.5, 0.5, 50])
    assert read_numbers([span.to_pytimedelta() for span in spans]) == ("duration", [1.5, 0.5, 50])


def test_one_unreadable_cell_of_many_is_missing_and_of_few_makes_categories():
    cells = [f"{k % 24:02d}:{k % 60:02d}" for k in range(60)]
    problem = read([*cells, "late"])
    assert problem.encoding.kinds["c"] == "time"
    assert column_note(problem.encoding.columns[0]) == "hours from 0 to 24; 1 cell read as missing, such as 'late'"
    assert problem.features == ("c", "c is missing")
    assert read([*cells[:5], "late"]).encoding.kinds["c"] == "category"


def test_units_of_one_dimension_agree_with_their_definition():
    grams = [500, 125, 62, 31]
    _, values = read_numbers([f"{g} g" for g in grams] + ["1 kg", "2 t"])
    assert values == [*map(float, grams), 1000, 2_000_000]


def test_a_target_with_few_words_has_classes_and_one_with_units_has_values():
    frame = pd.DataFrame({"a": np.arange(12.0), "y": ["low", "medium", "high"] * 4})
    assert read_table(frame, "y").classes == ("high", "low", "medium")
    frame["y"] = [f"{k * 1.5} kg" for k in range(12)]
    problem = read_table(frame, "y")
    assert problem.classes is None
    assert problem.y.tolist() == [k * 1.5 for k in range(12)]


def test_kinds_overrule_what_a_column_looks_like():
    assert read(["08:30", "09:30", "08:30"], kinds={"c": "category"}).features == ("c=08:30", "c=09:30")
    assert read_numbers(["B", "A", "F"], kinds={"c": "ordinal"}) == ("ordinal", [1, 0, 2])
    assert read_numbers(["tiny", "vast", "wee"], kinds={"c": "wee < tiny < vast"}) == ("ordinal", [1, 2, 0])
    assert read_numbers(["08:30", "09:45"], kinds={"c": "duration"}) == ("duration", [8.5, 9.75])
    assert read_numbers([3.0, 1.0], kinds={0: "number"}) == ("number", [3, 1])
    dates = pd.to_datetime(["2024-01-01", "2024-01-02", "2024-01-01"])
    assert len(read(dates, kinds={"c": "category"}).features) == 2


def test_an_id_that_is_given_a_kind_is_used():
    frame = pd.DataFrame({"row id": np.arange(30), "a": np.arange(30) % 7, "y": np.arange(30) % 4})
    assert read_table(frame, "y").features == ("a",)
    assert read_table(frame, "y", kinds={"row id": "number"}).features == ("row id", "a")


@pytest.mark.parametrize(
    ("kinds", "said"),
    [
        ({"c": "colour"}, "kinds must have for column 'c' one of number, quantity, .* got 'colour'"),
        ({"d": "time"}, "kinds must be a column of table, got 'd'"),
        ({"c": "time"}, "kinds must be what column 'c' can be read as, got 'time', which values such as 'red' are not"),
        ({"c": "ordinal"}, "got 'ordinal', which values such as 'red' are not; kinds are .*'c': 'low<high'"),
        ({"c": "quantity"}, "kinds are number, quantity, share, category, ordinal"),
        ({"c": "a<b"}, "got 'a<b', which values such as 'red' are not"),
        ({"y": "date"}, "column 'y' can be read as, got 'date', which values such as '0.5' are not"),
        ({"c": 3}, "one of number"),
        ("c", "kinds must be a dict"),
    ],
)
def test_a_wrong_kind_is_refused_with_the_kinds_that_exist(kinds, said):
    with pytest.raises((InputError, TypeError), match=said):
        read(["red", "blue", "red"], kinds=kinds)


def make_table(n=400, seed=0):
    """Return a table with a column of every kind of text, and what they do to a number."""
    rng = np.random.default_rng(seed)
    minutes, weight = rng.integers(0, 1440, n), rng.normal(60, 10, n).round(1)
    risk, age, month, score = (rng.integers(0, k, n) for k in (3, 4, 20, 11))
    frame = pd.DataFrame(
        {
            "when": [f"{m // 60:02d}:{m % 60:02d}" for m in minutes],
            "weight": [f"{w} kg" for w in weight],
            "took": [f"{m // 60} h {m % 60}" for m in rng.permutation(minutes)],
            "risk": np.array(["low", "medium", "high"])[risk],
            "age": np.array(["<18", "18-35", "35-65", "65+"])[age],
            "month": [f"{2020 + m // 12}-{m % 12 + 1:02d}" for m in month],
            "score": [f"{s}/10" for s in score],
            "place": [f"{m // 120}°{m % 120 // 2:02d}'{'NS'[m % 2]}" for m in minutes],
            "sales": [f"({s}.50)*" if s < 3 else f"{s}k" if s < 6 else f"{s},000 (est.)" for s in score],
            "box": [f"{m % 70 + 5}x{m % 11} x {m % 13} cm" for m in minutes],
            "tags": [";".join(t for k, t in enumerate(("red", "blue", "cold")) if m >> k & 1) or None for m in minutes],
            "code": [f"{['AB', 'AD', 'BS'][m % 3]}-{m % 7}/{m}" for m in minutes],
        }
    )
    frame["y"] = np.sin(minutes / 240) * 3 + 0.2 * weight + np.array([0, 3, 1])[risk] + np.array([0, 1, 4, 2])[age]
    frame["y"] += 0.1 * month + 0.3 * score + 0.1 * rng.normal(size=n)
    return frame


@pytest.fixture(scope="module")
def frame():
    return make_table()


@pytest.fixture(scope="module")
def model(frame):
    return creases.fit_table(frame, "y")


def test_each_kind_is_printed_and_values_are_in_the_notation_of_their_column(model, frame):
    kinds = dict(zip(*(model.schema.encoding.describe()[name] for name in ("column", "kind")), strict=True))
    assert kinds == {"when": "time", "weight": "quantity", "took": "duration", "risk": "ordinal", "age": "interval",
                     "month": "month", "score": "quantity", "place": "coordinate", "sales": "number",
                     "y": "number", "box": "list", "box 1": "quantity", "box 2": "quantity", "box 3": "quantity",
                     "tags": "tags", "tags: blue": "yes/no", "tags: cold": "yes/no", "tags: red": "yes/no",
                     "code": kinds["code"], "code beginning 1": "category", "code beginning 2": "category"}  # fmt: skip
    assert "when: time, weight: quantity" in repr(model)
    told = {line.split(":")[0]: line for line in describe_model(model)}
    for name, parts in {
        "when (time)": ("at 00:0", "at 06:"),
        "weight (quantity)": ("per kg",),
        "risk (ordinal)": ("at low", "at medium", "at high"),
        "age (interval)": ("at <18", "at 35-65", "at 65+"),
        "score (quantity)": ("per /10",),
        "month (month)": ("per month",),
    }.items():
        assert all(part in told[name] for part in parts), told
    card = str(model.card())
    assert "65+" in card
    assert "medium" in card
    assert "2020-01" in card
    x = model.schema.encoding.transform(frame.iloc[:1]).X[0]
    cells = {effect.name: effect.cell for effect in explain_row(model, x).effects}
    row = frame.iloc[0]
    for name in ("when", "weight", "risk", "age", "month", "score"):
        assert cells[name].removesuffix(" kg").replace(" /", "/") == row[name].removesuffix(".0 kg").removesuffix(" kg")


def test_numbers_that_a_user_calls_codes_are_read_by_their_beginning():
    rng = np.random.default_rng(0)
    area = rng.integers(10, 15, 300)
    frame = pd.DataFrame({"area": area * 10_000 + rng.integers(1000, 9999, 300), "x": rng.normal(size=300)})
    frame["y"] = area + 0.1 * rng.normal(size=300)
    model = creases.fit_table(frame, "y", kinds={"area": "code"})
    assert model.schema.encoding.kinds["area beginning 1"] == "category"
    assert np.abs(model.predict([{"area": 131_111, "x": 0.0}, {"area": "149999", "x": 0.0}]) - [13, 14]).max() < 0.2
    with pytest.raises(InputError, match="column 'x' can be read as, got 'code'"):  # what has no beginnings is none
        creases.fit_table(frame, "y", kinds={"x": "code"})


def test_changes_of_a_row_are_cells_of_the_table(model, frame):
    x = model.schema.encoding.transform(frame.iloc[:1]).X[0]
    answer = find_changes(model, x, to=f">= {model.predict(frame.iloc[:1])[0] + 6}").answers[0]
    np.testing.assert_array_equal(model.schema.encoding.transform([answer.cells]).X[0], answer.x)
    assert answer.cells["risk"] in ("low", "medium", "high")
    assert answer.cells["age"] in ("<18", "18-35", "35-65", "65+")
    assert len(answer.cells["when"]) == 5


def test_a_stored_model_predicts_the_same_and_reports_the_same_cells(model, frame, tmp_path):
    model.save(tmp_path / "m")
    loaded = creases.load(tmp_path / "m")
    assert loaded.predict(frame).tolist() == model.predict(frame).tolist()
    rows = frame.iloc[:3].assign(
        when=["25:99", None, "7:15 pm"], risk=["lo", "LOW", "high"], weight=["9", "1 m", "70 kg"]
    )
    encoded = loaded.schema.encoding.transform(rows)
    assert encoded.notes == (
        "column 'when': 1 cell read as missing, not times ('25:99')",
        "column 'when': 1 missing value, where the training table had none",
        "column 'weight': 1 cell read as missing, not numbers ('1 m')",
        "column 'risk': 1 cell read as missing, not values of the scale ('lo')",
    )
    assert encoded.X[2, 0] == 19.25
    assert encoded.X[0, 1] == 9


def test_the_words_of_a_text_are_read_as_tags_if_it_is_said():
    rng = np.random.default_rng(0)
    words = np.array(["old", "new", "house", "garden", "quiet", "street", "with", "station", "roof"])
    has = np.array([rng.permutation(9) < 4 for _ in range(300)])
    texts = [f"{' '.join(rng.permutation(words[row])).capitalize()}, no. {k}." for k, row in enumerate(has)]
    table = pd.DataFrame({"remarks": texts})
    table = table.assign(x=rng.uniform(size=300), y=2.0 * has[:, 3] + rng.normal(0, 0.2, 300))
    with pytest.warns(creases.errors.ColumnWarning, match="kinds={'remarks': 'tags'}"):
        creases.fit_table(table, "y")
    model = creases.fit_table(table, "y", kinds={"remarks": "tags"})
    assert model.predict([{"remarks": "A garden!", "x": 0.5}, {"remarks": "No.", "x": 0.5}]).round() == pytest.approx(
        [2, 0]
    )


def test_new_codes_are_predicted_by_their_beginning():
    """Beside effects of whole codes, those of their beginnings could have the other sign."""
    rng = np.random.default_rng(0)
    major, minor, patch = rng.integers(1, 6, 2000), rng.integers(8, size=2000), rng.integers(30, size=2000)
    effect = rng.normal(0, 1, 6)[:, None] + rng.normal(0, 0.5, (6, 8))
    version = [f"{a}.{b}.{c}" for a, b, c in zip(major, minor, patch, strict=True)]
    table = pd.DataFrame({"version": version, "x": rng.uniform(size=2000)})
    table = table.assign(y=effect[major, minor] + table["x"] + rng.normal(0, 0.3, 2000))
    new = pd.DataFrame({"version": [f"{a}.{b}.99" for a in range(1, 6) for b in range(8)], "x": 0.5})
    assert np.abs(creases.fit_table(table, "y").predict(new) - effect[1:].ravel() - 0.5).max() < 0.3


def test_lists_tags_and_codes_are_read_in_parts():
    n = 60
    cells = {
        "box": [f"{k}x{k % 7} x {-k}.5 mm" for k in range(n)],
        "tags": [("a|b", "b", "", "c|a", "a", "c")[k % 6] for k in range(n)],
        "phone": [f"+43 {('664', '1')[k % 2]} {k}55" for k in range(n)],
        "plz": [f"{k % 3}01{k:02d}" for k in range(n)],
    }
    encoding = read_table(pd.DataFrame(cells | {"y": np.arange(n) % 5 + 0.5}), "y").encoding
    rows = pd.DataFrame({name: [texts[1], texts[2], "odd"] for name, texts in cells.items()})
    named = {each.name.rstrip(" 123") for each in encoding.inputs}
    assert named == {"box", "tags: a", "tags: b", "tags: c", "phone beginning", "plz beginning"}
    numbers = dict(zip([each.name for each in encoding.features], encoding.transform(rows).X.T.tolist(), strict=True))
    assert [numbers[f"box {k}"][:2] for k in (1, 2, 3)] == [[1, 2], [1, 2], [-1.5, -2.5]]
    assert [numbers[f"tags: {tag}"] for tag in "abc"] == [[0, 0, 0], [1, 0, 0], [0, 0, 0]]
    assert numbers["phone beginning=+43 1"] == [1, 0, 0]


ORDINARY = st.one_of(
    st.lists(st.floats(-1e9, 1e9).map(lambda x: f"{x:.6g}"), min_size=25, max_size=60),
    st.lists(st.dates().map(str), min_size=25, max_size=60),
    st.lists(st.from_regex(r"[A-Z][a-z]{2,8}( [a-z]{3,8})?", fullmatch=True), min_size=25, max_size=60),
    st.lists(st.integers(0, 10**7).map(lambda k: f"{k:,}"), min_size=25, max_size=60),
)


@settings(max_examples=40, deadline=None)
@given(ORDINARY)
def test_ordinary_numbers_dates_and_names_are_of_no_new_kind(cells):
    columns = with_parts(Path(), [from_texts("c", cells), from_texts("y", cells)], ReadOptions())
    assert len(columns) == 2
    assert not getattr(detect_kind(columns[0]).codec, "is_marked", False)


@pytest.mark.slow
def test_estimators_read_frames_in_the_same_way(frame):
    X, y = frame.drop(columns="y"), frame["y"]
    model = creases.TableRegressor(random_state=0, kinds={"risk": "category"}).fit(X, y)
    assert model.model_.schema.encoding.kinds["when"] == "time"
    assert model.model_.schema.encoding.kinds["risk"] == "category"
    with pytest.raises(InputError, match="kinds must be given for a DataFrame only"):
        creases.TableRegressor(kinds={"a": "category"}).fit(np.eye(9), np.arange(9.0))


UGLY = st.one_of(
    st.text(max_size=12),
    st.sampled_from(["", " ", "-", "+", "<", ">5", "65+", "5-", "-5", "1-2-3", "1:2", "::", "08:30", "24:01", "1 h",
                     "h", "m", "1 m", "1e999 kg", "9" * 400 + " kg", "1/0", "0/1", "2024Q5", "2024Q1", "١٢:٣٠",
                     "１２:30", "low", "LOW ", "\u00a05\u00a0kg", "1_000 kg", "nan kg", "٣ kg", "²", "5 ²", "<-5",
                     "1.5.5-2"]),
    st.from_regex(r"\d{1,3}[-:/ ]\d{1,3}( ?(kg|g|h|min|pm|%))?", fullmatch=True),
)  # fmt: skip


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(st.lists(UGLY, min_size=1, max_size=30), st.data())
def test_any_texts_are_read_and_stored_or_refused_in_a_sentence(cells, data):
    try:
        problem = read(cells)
    except InputError:
        return
    assert np.isfinite(problem.X).all()
    encoding = TableEncoding.from_dict(problem.encoding.to_dict())
    others = data.draw(st.lists(UGLY, min_size=1, max_size=5))
    first, second = (each.transform(pd.DataFrame({"c": others})) for each in (problem.encoding, encoding))
    assert first.X.tolist() == second.X.tolist()
    assert first.notes == second.notes


@given(value=st.floats(-90, 90), digits=st.integers(1, 3))
def test_a_coordinate_that_is_written_is_read_as_the_nearest_one(value, digits):
    codec = CoordinateFormat(("N", "S"), digits)
    (again,) = codec.parse([codec.write(value)])
    assert abs(again - value) <= 0.5000001 / 60 ** (digits - 1)
