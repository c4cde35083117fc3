"""Users' own tables: what is read, what is refused and what the refusal says."""

import sys

import numpy as np
import pandas as pd
import pytest

from creases.errors import FileError, InputError
from creases.tables import parse_table, read_table
from creases.tables._reading import files as csv_file

FLOWERS = "length,colour,kind\n1.5,red,rose\n0.5,blue,violet\n1.4,white,rose\n0.4,blue,violet\n"


@pytest.fixture
def table(tmp_path):
    """Writes a text to a file and gives its path."""

    def write(text, name="table.csv"):
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return write


def test_numbers_stay_and_text_becomes_columns_of_0_and_1(table):
    problem = read_table(table(FLOWERS), "kind")
    assert problem.features == ("length", "colour=blue", "colour=red", "colour=white")
    assert problem.X.tolist() == [[1.5, 0, 1, 0], [0.5, 1, 0, 0], [1.4, 0, 0, 1], [0.4, 1, 0, 0]]
    assert (problem.y.tolist(), problem.classes) == ([0, 1, 0, 1], ("rose", "violet"))
    assert (problem.name, problem.task) == ("table", "classification")
    assert problem.description == "4 rows of table.csv, predicting 'kind'"


@pytest.mark.parametrize("target", [None, "kind", 2, -1, "2", "-1"])
def test_the_target_is_named_counted_or_the_last(table, target):
    assert read_table(table(FLOWERS), target).classes == ("rose", "violet")


def test_a_name_goes_before_a_number(table):
    assert read_table(table("1,0\n5,3\n6,4\n"), "1", header=True).y.tolist() == [5, 6]


def test_any_column_can_be_the_target(table):
    problem = read_table(table(FLOWERS), "length")
    assert (problem.task, problem.y.tolist()) == ("regression", [1.5, 0.5, 1.4, 0.4])
    assert problem.features == ("colour=blue", "colour=red", "colour=white", "kind=rose", "kind=violet")


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|", ", "])
def test_the_delimiter_is_found(table, delimiter):
    assert read_table(table(FLOWERS.replace(",", delimiter))).X.shape == (4, 4)


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_line_ends_blank_lines_and_a_byte_order_mark_do_not_matter(table, ending):
    text = "\ufeff\n" + FLOWERS.replace("\n", "\n\n")
    assert read_table(table(text.replace("\n", ending))).X.shape == (4, 4)


def test_quoted_cells_may_hold_delimiters_and_line_ends(table):
    problem = read_table(table('"a, b",kind\n1,"x\ny"\n2,"x, y"\n'))
    assert problem.features == ("a, b",)
    assert problem.classes == ("x\ny", "x, y")


def test_without_names_columns_are_numbered(table):
    problem = read_table(table("1,2.5,0\n3,4.5,1\n5,6.5,0\n7,8.5,1\n"))
    assert problem.features == ("column 0", "column 1")
    assert problem.y.tolist() == [0, 1, 0, 1]


def test_a_first_row_of_numbers_and_text_needs_a_word(table):
    path = table("5.1,rose\n4.2,violet\n5.0,rose\n")
    with pytest.raises(
        InputError,
        match=r"with both numbers and text in it: 5.1, rose; say which with header=True or header=False",
    ):
        read_table(path)
    assert read_table(path, header=False).X.tolist() == [[5.1], [4.2], [5.0]]
    assert read_table(path, header=True).features == ("5.1",)


@pytest.mark.parametrize(
    ("values", "task"),
    [
        ("0 1 0 1", "classification"),
        ("-1 1 1 -1", "classification"),
        ("1.0 2.0 1.0 2.0", "classification"),
        ("yes no yes no", "classification"),
        ("True False True True", "classification"),
        ("1 2 3 4", "regression"),
        ("0.5 1 0.5 1", "regression"),
        (" ".join(map(str, list(range(21)) * 3)), "regression"),
        (" ".join(map(str, list(range(20)) * 2)), "regression"),  # counts
        (" ".join(map(str, list(range(-1, 19)) * 2)), "classification"),
    ],
)
def test_the_task_is_told_from_the_target(table, values, task):
    rows = "".join(f"{i},{value}\n" for i, value in enumerate(values.split()))
    assert read_table(table("x,t\n" + rows)).task == task


def test_the_task_can_be_said(table):
    counts = table("x,t\n1,0\n2,1\n3,0\n4,1\n")
    assert read_table(counts, task="regression").y.dtype == np.float64
    halves = table("x,t\n1,0.5\n2,1\n3,0.5\n4,1\n", "halves.csv")
    assert read_table(halves, task="classification").classes == ("0.5", "1.0")
    with pytest.raises(InputError, match="task must be 'classification' or 'regression', got 'ranking'"):
        read_table(counts, task="ranking")
    with pytest.raises(
        InputError, match=r"target must be numbers for regression, got text in column 'kind' \('rose'\)"
    ):
        read_table(table(FLOWERS), task="regression")


MISSING = "age,town,kind\n1,,a\n2,Ulm,b\n,Ulm,a\n6,Bonn,b\n"


def test_missing_values_are_refused_with_column_count_and_row(table):
    message = r"no missing values, got 'age' 1 \(the first in row 2, .*, 'town' 1 \(the first in row 0.*missing='drop'"
    with pytest.raises(InputError, match=message):
        read_table(table(MISSING), missing="error")


def test_missing_values_have_columns_of_their_own(table):
    problem = read_table(table(MISSING))
    assert problem.features == ("age", "age is missing", "town is missing", "town=Bonn", "town=Ulm")
    assert problem.X.tolist() == [[1, 0, 1, 0, 0], [2, 0, 0, 0, 1], [3, 1, 0, 0, 1], [6, 0, 0, 1, 0]]
    assert problem.description.endswith("; 2 missing values marked by indicator columns")


def test_none_is_a_word_and_None_a_missing_value_as_for_pandas(table):
    problem = read_table(table("reminder,kind\nnone,a\nsms,b\nnone,a\nsms,b\n"))
    assert problem.features == ("reminder=none", "reminder=sms")
    with pytest.raises(
        InputError, match=r"data must have no missing values, got 'reminder' 1 \(the first in row 0, counted from 0\)"
    ):
        read_table(table("reminder,kind\nNone,a\nsms,b\nnone,a\nsms,b\n"), missing="error")


def test_rows_with_missing_values_can_be_dropped(table):
    problem = read_table(table(MISSING + "7,Ulm,a\n"), missing="drop")
    assert problem.X.tolist() == [[2, 0, 1], [6, 1, 0], [7, 0, 1]]
    assert problem.description.endswith("; 2 rows with missing values dropped")
    assert problem.rows.tolist() == [1, 3, 4]
    assert problem.target == "kind"


def test_means_can_be_put_for_missing_values(table):
    problem = read_table(table(MISSING), missing="mean")
    assert problem.description.endswith("; 2 missing values filled with the column mean")
    assert problem.rows is None
    assert problem.features == ("age", "town=Bonn", "town=Ulm")
    assert problem.X.tolist() == [[1, 0, 1], [2, 0, 1], [3, 0, 1], [6, 1, 0]]


@pytest.mark.parametrize("cell", ["", " ", "NA", "n/a", "NaN", "nan", "NULL", "None", "?"])
def test_cells_that_stand_for_missing_values(table, cell):
    problem = read_table(table(f"x,t\n1,a\n{cell},b\n3,a\n"), missing="mean")
    assert problem.X.tolist() == [[1], [2], [3]]


def test_what_to_predict_is_never_made_up(table):
    path = table("x,t\n1,5.5\n2,\n3,6.5\n")
    with pytest.raises(InputError, match=r"data must have no missing values, got 't' 1 \(the first in row 1"):
        read_table(path, missing="error")
    for missing in ("indicate", "mean", "drop"):
        problem = read_table(path, missing=missing)
        assert (problem.y.tolist(), problem.rows.tolist()) == ([5.5, 6.5], [0, 2])
    assert read_table(path).description.endswith("; 1 row with no 't' dropped")


def test_dropping_every_row_is_refused(table):
    with pytest.raises(
        InputError, match=r"missing must leave some rows, got 'drop' with missing values in .*; leave columns out"
    ):
        read_table(table("a,b,t\n1,,0\n,2,1\n"), missing="drop")


def test_an_unknown_treatment_is_refused(table):
    with pytest.raises(InputError, match="missing must be 'indicate', 'mean', 'drop' or 'error', got 'median'"):
        read_table(table(MISSING), missing="median")


REFUSED = {
    "empty": ("", {}, r"must have a row of column names and rows of values, got an empty file"),
    "blank": ("\n \n", {}, r"got an empty file"),
    "names only": ("a,b\n", {}, r"must have rows of values, got none"),
    "one column": ("a\n1\n2\n", {}, r"must have at least two columns, an input and a target, got only 'a'"),
    "ragged": (
        "a,b\n1,2\n3\n4,5\n6,7,8\n",
        {},
        r"every line of .* must have 2 cells, as the first, got lines 3 with 1, 5 with 3; correct those lines",
    ),
    "wrong name": (
        FLOWERS,
        {"target": "kinds"},
        r"target must be a column of .*, got 'kinds'; did you mean 'kind'\? it has: length, colour",
    ),
    "no such name": (
        FLOWERS,
        {"target": "zzz"},
        r"target must be a column of .*, got 'zzz'; it has: length, colour, kind",
    ),
    "wrong number": (FLOWERS, {"target": 3}, r"target must be a column of .*, from 0 to 2, got 3"),
    "not a number": (FLOWERS, {"target": 1.5}, r"target must be a column of .*, got 1.5"),
    "one class": (
        "a,t\n1,x\n2,x\n",
        {},
        r"target must have different values, got 'x' in all 2 rows of column 't'",
    ),
    "one value": ("a,t\n1,3.5\n2,3.5\n", {}, r"target must have different values, got 3.5"),
    "infinite": (
        "a,b,t\n1,1,x\ninf,2,y\n-inf,inf,y\n",
        {},
        r"data must have finite numbers, got column 'a' with 2 infinite values \(the first in row 1, counted from 0\), "
        r"column 'b' with 1 infinite value \(the first in row 2",
    ),
    "too large": (
        "a,t\n1,x\n1e999,y\n",
        {},
        r"data must have finite numbers, got column 'a' with 1 infinite value \(the first in row 1, counted from 0\)",
    ),
    "infinite target": ("a,t\n1,2\n2,inf\n", {}, r"got column 't' with 1 infinite value"),
    "no values": (
        "a,b,t\n,,x\n,NA,y\n",
        {},
        r"have a column to predict from, got column 'a' \(empty: no values\), column 'b' \(empty: no values\)",
    ),
    "empty input": ("a,b,t\n1,,x\n2,NA,y\n", {"inputs": ["b"]}, r"inputs must be columns with values, got column 'b'"),
    "date": (
        "a,t\n1,2020-01-01\n2,2020-01-02\n",
        {},
        r"target must be a column of numbers or classes, got 't' with dates",
    ),
    "all different": (
        "a,t\n1,x\n2,y\n3,z\n",
        {},
        r"target must be classes, got 3 different values in 3 rows of column 't'; predict an",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_tables_that_cannot_be_a_problem_are_refused_by_name(table, case):
    text, options, message = REFUSED[case]
    with pytest.raises(InputError, match=message):
        read_table(table(text), **options)


def column_of(cells):
    return "a,t\n" + "".join(f"{cell},{i % 2}\n" for i, cell in enumerate(cells))


def test_twenty_values_of_text_are_taken(table):
    assert read_table(table(column_of([f"name {i}" for i in range(20)] * 2))).X.shape == (40, 20)


def test_numbers_that_are_no_classes_point_to_regression(table):
    rows = "".join(f"{i},{i / 7 % 3}\n" for i in range(60))
    with pytest.raises(InputError, match="different values in 60 rows of column 't'; use task='regression'"):
        read_table(table("x,t\n" + rows), task="classification")


def test_files_that_are_none_are_named(table, tmp_path):
    with pytest.raises(FileError, match=r"cannot read .*nothing\.csv: there is no such file"):
        read_table(tmp_path / "nothing.csv")
    with pytest.raises(FileError, match="it is a folder; give the name of a file"):
        read_table(tmp_path)
    with pytest.raises(
        FileError,
        match=r"cannot read .*table\.xlsx: its format is unknown; the name must end in \.csv, \.parquet or \.npz",
    ):
        read_table(table("x", "table.xlsx"))
    with pytest.raises(FileError, match="it is not text; save the table as CSV"):
        read_table(table(b"a,b\n1,\x002\n"))
    with pytest.raises(FileError, match="it is not in CSV format"):
        read_table(table('a,b\n"1"2,3\n'))


def test_npz_columns_are_x_and_y(tmp_path):
    X, y = np.arange(8.0).reshape(4, 2), np.array([0, 1, 0, 1])
    np.savez(tmp_path / "a.npz", y=y, X=X)
    problem = read_table(tmp_path / "a.npz")
    np.testing.assert_array_equal(problem.X, X)
    assert (problem.features, problem.y.tolist()) == (("X0", "X1"), [0, 1, 0, 1])
    np.savez(tmp_path / "b.npz", X=X, features=["long", "wide"], y=np.array(["p", "q", "q", "p"])[:, None])
    problem = read_table(tmp_path / "b.npz")
    assert (problem.features, problem.classes) == (("long", "wide"), ("p", "q"))


def test_npz_arrays_may_each_be_a_column(tmp_path):
    np.savez(tmp_path / "a.npz", a=[1, 2, 3], b=[True, False, True], c=np.array(["x", "y", "x"]), d=[0.5, np.nan, 1])
    problem = read_table(tmp_path / "a.npz", "a", missing="drop")
    assert problem.features == ("b=True", "c=x", "d")
    assert problem.X.tolist() == [[1, 1, 0.5], [1, 1, 1]]


def test_npz_files_that_do_not_fit_are_refused(tmp_path, table):
    np.savez(tmp_path / "a.npz", X=np.ones((3, 2)), y=[1, 2])
    with pytest.raises(InputError, match="must have arrays with the same number of rows, got X0 3, X1 3, y 2"):
        read_table(tmp_path / "a.npz")
    np.savez(tmp_path / "a.npz", X=np.ones((3, 2, 2)), y=[1, 2, 3])
    with pytest.raises(InputError, match=r"X in .* must have shape \(n,\) or \(n, d\), got \(3, 2, 2\)"):
        read_table(tmp_path / "a.npz")
    np.savez(tmp_path / "a.npz", X=np.ones((3, 2)), features=["a"], y=[1, 2, 3])
    with pytest.raises(InputError, match=r"features in .* must be 2 names, one for each column of X, got 1"):
        read_table(tmp_path / "a.npz")
    np.savez(tmp_path / "a.npz", X=np.ones((2, 2), complex), y=[1, 2])
    with pytest.raises(
        InputError, match=r"predict from, got column 'X0' \(other: values of type complex128\), column 'X1'"
    ):
        read_table(tmp_path / "a.npz")
    np.savez(tmp_path / "a.npz", X=np.array([{}, {}]), y=[1, 2])  # objects would be unpickled
    with pytest.raises(FileError, match=r"cannot read .*a\.npz as \.npz arrays"):
        read_table(tmp_path / "a.npz")
    for content in (b"", b"no zip", (tmp_path / "a.npz").read_bytes()[:100]):
        with pytest.raises(FileError, match=r"cannot read .*b\.npz as \.npz arrays"):
            read_table(table(content, "b.npz"))
    np.savez(tmp_path / "a.npz")
    with pytest.raises(InputError, match="must have rows of values, got none"):
        read_table(tmp_path / "a.npz")


def test_what_is_no_parquet_is_refused(table):
    with pytest.raises(
        FileError, match=r"a\.parquet: it is not a Parquet file \(it does not start with PAR1\), or damaged"
    ):
        read_table(table("a,b", "a.parquet"))


def write_parquet(path, columns):
    parquet = pytest.importorskip("pyarrow.parquet", exc_type=ImportError)
    parquet.write_table(sys.modules["pyarrow"].table(columns), path)


def test_parquet_gives_what_csv_gives(tmp_path, table):
    columns = {
        "length": [1.5, 0.5, 1.4, 0.4],
        "colour": ["red", "blue", "white", "blue"],
        "kind": ["rose", "violet", "rose", "violet"],
    }
    write_parquet(tmp_path / "a.parquet", columns)
    one, other = read_table(tmp_path / "a.parquet"), read_table(table(FLOWERS))
    np.testing.assert_array_equal(one.X, other.X)
    np.testing.assert_array_equal(one.y, other.y)
    assert (one.features, one.classes) == (other.features, other.classes)


def test_parquet_keeps_types_and_missing_values(tmp_path):
    import datetime

    columns = {
        "i": [1, None, 3],
        "b": [True, False, None],
        "s": ["x", None, "y"],
        "t": [0.5, 1.5, 2.5],
        "__index_level_0__": [7, 8, 9],
    }
    write_parquet(tmp_path / "a.parquet", columns)
    problem = read_table(tmp_path / "a.parquet", "t", missing="mean")
    assert problem.features == ("i", "b=True", "s=x", "s=y")
    assert problem.X.tolist() == [[1, 1, 1, 0], [2, 0, 1, 0], [3, 0.5, 0, 1]]
    days = [datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)]
    write_parquet(tmp_path / "a.parquet", {"d": days, "l": [[1], [2]], "t": [1, 2]})
    problem = read_table(tmp_path / "a.parquet")
    assert problem.features == ("d days since 2020-01-01",)
    assert problem.encoding.left_out == {"l": "other: values of type list"}
    (tmp_path / "b.parquet").write_bytes((tmp_path / "a.parquet").read_bytes()[:-20])
    with pytest.raises(FileError, match=r"cannot read .*b\.parquet as Parquet"):
        read_table(tmp_path / "b.parquet")


def test_inputs_choose_columns_and_what_others_hold_does_not_matter(table):
    path = table("name,a,b,t\nx,1,,5.5\n,2,7,6.5\n")
    problem = read_table(path, "t", inputs=["a"])
    assert problem.features == ("a",)
    assert problem.X.tolist() == [[1], [2]]
    assert problem.y.tolist() == [5.5, 6.5]
    assert read_table(path, "a", inputs=[-1]).features == ("t",)
    with pytest.raises(InputError, match=r"inputs must be a column of .*, got 'aa'; did you mean 'a'"):
        read_table(path, "t", inputs=["aa"])
    for inputs in (["t"], ["a", 1], []):
        with pytest.raises(InputError, match="inputs must be different columns without the target"):
            read_table(path, "t", inputs=inputs)


def test_the_text_of_a_table_is_parsed_as_its_file_is_read(tmp_path):
    text = "length,colour,kind\n1.5,red,rose\n0.5,blue,violet\n1.4,white,rose\n"
    file = tmp_path / "flowers.csv"
    file.write_text(text)
    parsed, read = parse_table(text, "flowers.csv", "kind"), read_table(file, "kind")
    assert (parsed.X == read.X).all()
    assert (parsed.y == read.y).all()
    for name in ("name", "features", "classes", "description", "target"):
        assert getattr(parsed, name) == getattr(read, name)


def test_text_that_is_no_table_is_refused_by_the_name_it_was_given():
    with pytest.raises(InputError, match=r"^mine\.csv must have .* got an empty file"):
        parse_table("", "mine.csv")


@pytest.mark.parametrize("ending", ["csv", "npz", "parquet"])
def test_a_table_of_too_many_columns_is_refused_before_it_is_parsed(ending, tmp_path, monkeypatch):
    monkeypatch.setattr(csv_file, "MAX_COLUMNS", 3)
    path = tmp_path / f"wide.{ending}"
    frame = pd.DataFrame(np.eye(4), columns=list("abcd"))
    if ending == "csv":
        frame.to_csv(path, index=False)
    elif ending == "parquet":
        pytest.importorskip("pyarrow")
        frame.to_parquet(path)
    else:
        np.savez(path, X=frame.to_numpy())
    with pytest.raises(InputError, match=r"at most 3 columns, got 4; write the columns that matter"):
        read_table(path, "a")
