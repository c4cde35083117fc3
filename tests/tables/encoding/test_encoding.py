"""Kinds of columns, and the encoding of a table: what it is fitted to, stored as, and does to new rows."""

import json

import numpy as np
import pandas as pd
import pytest

from creases.errors import FileError, InputError
from creases.tables import TableEncoding, parse_table, read_table

N = 40


def column(name, cells, **options):
    """The problem of a table with one column of text and a target."""
    rows = "".join(f'"{cell}",{i % 2}\n' for i, cell in enumerate(cells))
    return parse_table(f"{name},t\n{rows}", **options)


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["1,5", "2,25", "-3"], [1.5, 2.25, -3]),
        (["1.234,5", "2,5", "12"], [1234.5, 2.5, 12]),
        (["1,234", "2,345,678", "1.5"], [1234, 2345678, 1.5]),
        (["1 234", "2\u00a0345", "5"], [1234, 2345, 5]),
        (["$1,200.50", "$3", "-$2"], [1200.5, 3, -2]),
        (["12 %", "7%", "100 %"], [12, 7, 100]),
        (["0,123", "0,456", "0,5"], [0.123, 0.456, 0.5]),
        (["1e3", "-2E-2", "+4"], [1000, -0.02, 4]),
    ],
)
def test_numbers_are_read_as_people_write_them(cells, numbers):
    problem = column("a", cells)
    assert problem.encoding.kinds["a"] == ("share" if "%" in cells[0] else "number")
    assert problem.X[:, 0].tolist() == numbers


def test_points_between_thousands_are_seen_by_the_decimal_commas_of_other_columns():
    problem = parse_table("a;b;t\n1.234;0,5;x\n2.345;1,5;y\n", "german.csv")
    assert problem.X.tolist() == [[1234, 0.5], [2345, 1.5]]
    assert parse_table("a;b;t\n1.234;5;x\n2.345;6;y\n", "other.csv").X[:, 0].tolist() == [1.234, 2.345]


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        ([f"code{i}" for i in range(N)], "ID"),
        ([f"{i:03}" for i in range(N)], "ID"),
        ([f"Some words, number {i}" for i in range(N)], "text"),
        (["red", "blue"] * 20, "category"),
        ([f"town {i % 25}" for i in range(N * 5)], "category"),
        (["Yes", "no"] * 20, "yes/no"),
        (["0", "1"] * 20, "yes/no"),
        ([f"2024-01-{i + 1:02}" for i in range(30)], "date"),
        ([f"{i + 1}.1.2024 12:30" for i in range(30)], "date"),
        ([f"Jan {i + 1} 2024" for i in range(30)], "date"),
        (["same"] * N, "constant"),
        (["7"] * N, "constant"),
        (["", "NA"] * 20, "empty"),
        ([*map(str, range(100, 130)), "12 km"], "number"),
    ],
)
def test_the_kind_of_a_column_is_detected(cells, kind):
    rows = "".join(f'"{cell}",{i % 3},{i % 2}\n' for i, cell in enumerate(cells))
    assert parse_table(f"a,other,t\n{rows}").encoding.kinds["a"] == kind


def test_ids_are_left_out_with_a_reason_and_used_if_wanted():
    frame = pd.DataFrame({"customerID": np.arange(N) * 7, "n": range(N), "x": np.arange(N) % 5, "t": np.arange(N) / 3})
    problem = read_table(frame, "t")
    assert problem.features == ("x",)
    assert problem.encoding.left_out == {"customerID": "ID: different in every row", "n": "ID: row number"}
    assert read_table(frame, "t", inputs=["n", "x"]).features == ("n", "x")
    assert read_table(frame[["n", "t"]], "t").features == ("n",)


def test_columns_can_be_dropped_and_numbers_be_categories():
    frame = pd.DataFrame({"a": [1, 2, 1, 3], "b": [1.5, 2, 3, 4], "t": list("xyxy")})
    assert read_table(frame, drop=["b"], kinds={"a": "category"}).features == ("a=1", "a=2", "a=3")
    for options, message in [
        ({"drop": ["t"]}, "drop must not hold the target, got 't'"),
        ({"drop": ["a"], "inputs": ["a"]}, "drop must not hold inputs, got 'a'"),
        ({"drop": ["c"]}, "drop must be a column of table, got 'c'"),
        ({"kinds": {"c": "category"}}, "kinds must be a column of table, got 'c'"),
        ({"drop": ["a", "b"]}, "must have a column to predict from, got only 't'"),
    ]:
        with pytest.raises(InputError, match=message):
            read_table(frame, **options)


def test_dates_become_days_and_the_parts_that_vary_and_come_again():
    problem = column("day", ["2023-12-31", "2024-01-01", "2025-02-02"])
    assert problem.features == ("day month", "day weekday", "day days since 2023-12-31")
    assert problem.X.tolist() == [[12 + 30 / 31, 6, 0], [1, 0, 1], [2 + 1 / 28, 6, 399]]  # months have fractions
    hours = column("at", ["2024-01-01 06:00", "2024-01-01 12:00"])
    assert hours.features == ("at days since 2024-01-01",)
    assert hours.X.tolist() == [[0.25], [0.5]]
    assert column("at", ["2024-01-01 06:00", "2024-01-03 12:00"]).features == ("at hour", "at days since 2024-01-01")


def test_dates_of_months_have_no_weekdays():
    years = column("made", [f"{year}-01-01" for year in range(1970, 1983)])
    assert years.features == ("made days since 1970-01-01",)
    months = column("made", [f"{year}-{month:02d}-01" for year in range(1970, 1973) for month in range(1, 13)])
    assert months.features == ("made month", "made days since 1970-01-01")
    assert months.X[:12, 0].tolist() == [*range(1, 13)]


def test_a_month_that_may_be_a_day_is_said():
    problem = column("day", ["1/2/2024", "3/4/2024"])
    assert "month before the day" in problem.encoding.describe().note[0]
    assert column("day", ["1/2/2024", "13/4/2024"]).X[:, 0].tolist() == [0, 72]


def test_rare_values_are_pooled():
    cells = ["a"] * 500 + ["b"] * 490 + ["c"] * 9 + ["d"]
    problem = column("town", cells)
    assert problem.features == ("town=a", "town=b", "town=c", "town=other values")
    assert problem.X.sum(axis=0).tolist() == [500, 490, 9, 1]
    assert problem.encoding.transform([{"town": "d"}]).X.tolist() == [[0, 0, 0, 1]]
    assert problem.encoding.transform([{"town": "unheard of"}]).X.tolist() == [[0, 0, 0, 0]]


def test_categories_of_very_many_values_share_what_a_fit_can_take():
    n = 3_000
    table = {f"code {k}": [f"c{(7 * row + k) % (250 + k)}" for row in range(n)] for k in range(4)}
    problem = read_table(pd.DataFrame({**table, "y": np.arange(n) % 2}), "y")
    assert [column.n_frequent for column in problem.encoding.inputs] == [188, 188, 36, 188]  # 600 in all


@pytest.mark.parametrize(
    ("content", "options"),
    [
        ("größe,t\n1,a\n2,b\n".encode("latin-1"), {}),
        ("größe,t\n1,a\n2,b\n".encode("utf-16"), {}),
        ("größe,t\n1,a\n2,b\n".encode("utf-16-le"), {}),
        ("größe,t\n1,a\n2,b\n".encode("utf-8-sig"), {}),
        ("größe\tt\n1\ta\n2\tb\n".encode(), {}),
        ("größe,t,\n1,a,\n2,b,\n".encode(), {"target": "t"}),
        ("größe,t\n1,a,\n2,b,\n".encode(), {}),
    ],
)
def test_encodings_and_trailing_separators_do_not_matter(tmp_path, content, options):
    (tmp_path / "a.csv").write_bytes(content)
    problem = read_table(tmp_path / "a.csv", **options)
    assert (problem.features, problem.X.tolist(), problem.classes) == (("größe",), [[1], [2]], ("a", "b"))


def test_names_that_are_missing_are_made_and_repeated_ones_refused():
    problem = parse_table(",a,b,t\n1,2,3,x\n1.5,3,4,y\n")
    assert problem.features == ("column 0", "a", "b")
    with pytest.raises(InputError, match="got 'a' more than once"):
        parse_table(",a,a,t\n1,2,3,x\n1.5,3,4,y\n")
    rows = parse_table("a,t\nr1,1,x\nr2,2,y\n", inputs=["a"])  # as R writes row names
    assert (rows.features, rows.X.tolist()) == (("a",), [[1], [2]])


def table():
    """A table of every kind, with missing values."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=N).round(9),  # pandas 2 reads longer numbers of text with an error
            "town": rng.choice(["Ulm", "Bonn", "Köln", None], N),
            "member": rng.choice(["yes", "no", None], N),
            "floor": rng.integers(0, 4, N),
            "when": pd.date_range("2023-11-30", periods=N, freq="11D"),
            "price": rng.normal(size=N) / 7,
        }
    )
    frame.loc[[3, 5], "size"] = np.nan
    frame.loc[7, "when"] = pd.NaT
    return frame


@pytest.mark.parametrize("missing", ["indicate", "mean", "drop"])
def test_the_encoding_is_restored_from_json_bit_for_bit(tmp_path, missing):
    frame = table()
    problem = read_table(frame, "price", missing=missing, kinds={"floor": "category"})
    stored = json.dumps(problem.encoding.to_dict())
    restored = TableEncoding.from_dict(json.loads(stored))
    assert json.dumps(restored.to_dict()) == stored
    assert tuple(feature.name for feature in restored.features) == problem.features
    kept = frame if problem.rows is None else frame.iloc[problem.rows]
    np.testing.assert_array_equal(restored.transform(kept).X, problem.X)
    frame.to_csv(tmp_path / "a.csv", index=False)  # the same rows as text
    np.testing.assert_array_equal(restored.transform(pd.read_csv(tmp_path / "a.csv").loc[kept.index]).X, problem.X)
    assert restored.transform(kept.iloc[:0]).X.shape == (0, problem.X.shape[1])


def test_the_restored_transformers_do_what_those_fitted_to_the_table_do():
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import OneHotEncoder

    frame = table()
    problem = read_table(frame, "price")
    places = [k for k, feature in enumerate(problem.encoding.features) if feature.column == "size"]
    expected = SimpleImputer(add_indicator=True).fit_transform(frame[["size"]])
    np.testing.assert_array_equal(problem.X[:, places], expected)
    places = [k for k, feature in enumerate(problem.encoding.features) if feature.column == "town"]
    expected = OneHotEncoder(sparse_output=False).fit_transform(frame[["town"]].fillna("").astype(object))
    np.testing.assert_array_equal(problem.X[:, places], expected)


@pytest.mark.parametrize(
    ("text", "like"),
    [("berlin", "Berlin"), ("Muenchen", "München"), ("Ulm-Süd", "Ulm Süd"), ("Rom", ""), ("zip 10117", ""), ("A2", "")],
)
def test_a_value_that_is_likely_misspelled_is_told_with_what_it_may_be(text, like):
    towns = ["Berlin", "München", "Ulm Süd", "zip 10115", "A1"]
    encoding = read_table(pd.DataFrame({"town": towns * 4, "y": range(20)}), "y").encoding
    rows = encoding.transform([{"town": text}])
    assert rows.notes == (
        f"column 'town': 1 row with an unknown value ({text!r})"
        + (f"; it may be {like!r}, written otherwise" if like else ""),
    )
    assert rows.unread == (rows.notes if like else ())  # what Python warns of


def test_what_is_new_in_new_rows_is_encoded_and_said():
    encoding = read_table(table(), "price").encoding
    row = {"size": "big", "town": "Rom", "member": "no", "floor": None, "when": "2024-05-01", "more": 1}
    rows = encoding.transform([row, row | {"when": "soon", "size": "1.5"}])
    assert rows.notes == (
        "column 'size': 1 cell read as missing, not numbers ('big')",
        "column 'town': 2 rows with unknown values ('Rom')",
        "column 'floor': 2 missing values, where the training table had none",
        "column 'when': 1 cell read as missing, not dates ('soon')",
    )
    assert np.isfinite(rows.X).all()
    named = dict(zip([feature.name for feature in encoding.features], rows.X[0], strict=True))
    days = named["when days since 2023-11-30"]
    assert (named["size is missing"], named["town=Ulm"], named["member=yes"], days) == (1, 0, 0, 153)
    with pytest.raises(InputError, match=r"rows must have the columns 'town', 'when', got 'size', 'member', 'floor'"):
        encoding.transform([{"size": 1, "member": "no", "floor": 1}])
    with pytest.raises(InputError, match="got column 'size' with 1 infinite value"):
        encoding.transform([row | {"size": np.inf}])


def test_a_damaged_encoding_is_refused():
    stored = read_table(table(), "price").encoding.to_dict()
    for damage in ({"creases-encoding": 9}, {"columns": [{}]}, {"classes": 5}):
        with pytest.raises(FileError, match="the encoding of the table is damaged"):
            TableEncoding.from_dict(stored | damage)


def test_an_encoding_whose_columns_cannot_be_encoded_is_refused():
    stored = read_table(table(), "price", kinds={"floor": "category"}).encoding.to_dict()
    at = next(k for k, column in enumerate(stored["columns"]) if column["levels"])
    for levels in ([], stored["columns"][at]["levels"][:1] * 3, [1, "a"]):
        columns = [column | ({"levels": levels} if k == at else {}) for k, column in enumerate(stored["columns"])]
        with pytest.raises(FileError, match="the encoding of the table is damaged"):
            TableEncoding.from_dict(stored | {"columns": columns})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "part", "value", "said"),
    [
        ("town", "means", [1.0], "column 'town' has 1 means where 0 belong"),
        ("town", "levels", "Ulm", "the levels of column 'town' is 'Ulm', not a list"),
        ("town", "levels", ["Ulm", "Bonn", ""], "the values of column 'town' are not in order"),
        ("town", "rare", ["Rom"], "column 'town' has rare values that it does not have"),
        ("town", "common", "Rom", "'Rom', the most frequent value of column 'town', is not one"),
        ("town", "kind", "text", "column 'town' is an input of the kind 'text'"),
        ("town", "use", "target", "column 'town' has values of a category"),
        ("price", "use", "left out", "there is no column to predict"),
        ("size", "means", [1.0, 2.0], "column 'size' has 2 means where 1 belong"),
        ("size", "means", [float("nan")], "column 'size' has a mean that is not a number"),
        ("size", "means", [10**400], "int too large"),
        ("size", "n_missing", True, "the n_missing of column 'size' must be a count, got True"),
        ("size", "n_missing", 0, "its features are not those of its columns"),
        ("size", "name", "town", "two columns have one name"),
        ("member", "codec", {"kind": "yes/no", "words": ["yes", "yes"]}, "a damaged format of numbers"),
        ("when", "codec", {"kind": "number"}, "has the kind 'date' and the format 'number'"),
        ("when", "codec", {"kind": "date", "first": "2023-11-30", "parts": ["age"]}, "a damaged format of dates"),
        ("price", "codec", {"kind": "number", "decimal": "x"}, "a damaged format of numbers"),
    ],
)
def test_a_column_whose_parts_do_not_match_is_refused(name, part, value, said):
    stored = json.loads(json.dumps(read_table(table(), "price").encoding.to_dict()))
    column = next(column for column in stored["columns"] if column["name"] == name)
    column[part] = value
    with pytest.raises(FileError, match=f"the encoding of the table is damaged .*{said}"):
        TableEncoding.from_dict(stored)


def test_units_are_those_of_signs_and_brackets():
    problem = parse_table('length (cm),price,t\n1,"$5",a\n2,"$6",b\n')
    assert [(feature.name, feature.unit) for feature in problem.encoding.features] == [
        ("length (cm)", "cm"),
        ("price", "$"),
    ]


@pytest.mark.parametrize("as_text", [False, True])
def test_no_other_number_than_0_and_1_is_yes_or_no(as_text):
    table = pd.DataFrame({"flag": [0, 1, 1, 0] * 5, "y": np.arange(20.0)})
    encoding = read_table(table, "y").encoding
    new = pd.DataFrame({"flag": np.array([1.0, 0.0, 12.0])})
    rows = encoding.transform(new.astype(str) if as_text else new)
    assert encoding.kinds["flag"] == "yes/no"
    assert rows.X[:, 0].tolist() == [1.0, 0.0, 0.5]
    assert len(rows.unread) == 1
