"""Files of a table: which a pattern finds, which are refused, and the rows that show the kinds of columns."""

from __future__ import annotations

import io

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from creases._engines._local import Serial
from creases.errors import FileError, InputError
from creases.tables import CurveConfig
from creases.tables._streaming import files
from creases.tables._streaming import table as streamed
from creases.tables._streaming.files import find_files
from creases.tables._streaming.passes import sum_task
from creases.tables._streaming.table import open_table, read_head, spread_rows

from .conftest import make_table, write_parts
from .test_stream import READING


def read_columns(files):
    """Return the columns of some rows, and whether these are all."""
    head = read_head(Serial(sum_task), files)
    return head.columns(files), head.is_all


def write_sorted(folder, y):
    """Write a CSV file and a Parquet file of one row group, sorted by their last column."""
    whole = pa.table({"a": np.arange(len(y)) % 97 / 7, "y": np.sort(y)})
    pyarrow.csv.write_csv(whole, folder / "sorted.csv")
    pq.write_table(whole, folder / "sorted.parquet")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.usefixtures("small_limits")
def test_a_file_sorted_by_its_target_is_a_regression(tmp_path, ending):
    rng = np.random.default_rng(0)
    write_sorted(tmp_path, np.maximum(rng.normal(size=5_000), 0))  # 0 in the first half
    files = find_files(tmp_path / f"sorted.{ending}", always=True)
    with open_table(files, READING, CurveConfig(), engine="serial") as table:
        assert table.n_train + table.n_test == 5_000
        assert table.data.problem.classes is None


@pytest.mark.usefixtures("small_limits")
def test_sorted_whole_numbers_are_not_taken_for_classes(tmp_path):
    write_sorted(tmp_path, np.arange(5_000) // 50)  # 18 values in the first 900 rows, 100 in all
    with open_table(find_files(tmp_path / "sorted.csv", always=True), READING, CurveConfig(), engine="serial") as table:
        assert table.data.problem.classes is None


@pytest.mark.parametrize("size", [7, 100, 5_000])
def test_rows_are_kept_from_everywhere_in_a_part(size):
    (batch,) = pa.table({"a": np.arange(5_000)}).to_batches()
    kept, is_all = spread_rows((batch.slice(k, size) for k in range(0, 5_000, size)), 900, 4)
    rows = np.concatenate([each.column(0).to_numpy() for each in kept])
    assert not is_all
    assert 450 <= len(rows) <= 900
    assert np.diff(rows).min() == 1
    assert np.diff(np.append(rows, 5_000)).max() < 40
    kept, is_all = spread_rows(iter([batch.slice(0, 600), batch.slice(600, 300)]), 900, 4)
    assert is_all
    assert sum(each.num_rows for each in kept) == 900


def test_of_many_parts_the_first_rows_are_read(tmp_path, monkeypatch):
    monkeypatch.setattr(streamed, "KIND_ROWS", 640)
    pq.write_table(
        pa.table({"a": np.arange(6_400.0), "y": np.zeros(6_400)}), tmp_path / "a.parquet", row_group_size=100
    )
    (a, _), is_whole = read_columns(find_files(tmp_path / "a.parquet", always=True))
    np.testing.assert_array_equal(a.values, (np.arange(64)[:, None] * 100 + np.arange(10)).ravel())
    assert not is_whole
    pq.write_table(pa.table({"a": np.arange(640.0), "y": np.zeros(640)}), tmp_path / "b.parquet", row_group_size=10)
    (a, _), is_whole = read_columns(find_files(tmp_path / "b.parquet", always=True))
    np.testing.assert_array_equal(a.values, np.arange(640))
    assert is_whole


@pytest.mark.parametrize(("ending", "write"), [("parquet", pq.write_table), ("feather", pyarrow.feather.write_feather)])
def test_files_with_other_columns_are_refused_by_name(tmp_path, ending, write):
    first = {"a": [1.0], "b": [2.0], "y": [3.0]}
    write(pa.table(first), tmp_path / f"part-0.{ending}")
    write(pa.table({"y": [3.0], "a": [1.0], "c": [2.0]}), tmp_path / f"part-1.{ending}")
    expected = f"part-1.{ending} must have the same columns as part-0.{ending}, got a file without 'b' and with"
    with pytest.raises(InputError, match=expected + " 'c'; write all files with the same columns"):
        find_files(str(tmp_path / f"part-*.{ending}"))
    write(pa.table({**first, "d": [0.0]}), tmp_path / f"part-1.{ending}")
    with pytest.raises(InputError, match="got a file with 'd'; write"):
        find_files(str(tmp_path / f"part-*.{ending}"))


def test_folders_that_a_pattern_finds_are_read(tmp_path):
    for k in range(2):
        folder = tmp_path / f"out{k}.parquet"
        folder.mkdir()
        write_parts(make_table(30, seed=k), folder)
        (folder / "_SUCCESS").touch()
    files = find_files(str(tmp_path / "out*.parquet"))
    assert len(files.paths) == 6
    assert sum(batch.num_rows for batch in files.read_all(["a"])) == 60
    assert find_files(str(tmp_path / "out*.parquet/")).paths == files.paths
    assert find_files(str(tmp_path / "**" / "*.parquet")).paths == files.paths
    pq.write_table(make_table(5), tmp_path / "out2.parquet")  # a file beside the folders
    (tmp_path / "other").mkdir()
    write_parts(make_table(30), tmp_path / "other")
    assert len(find_files(str(tmp_path / "*")).paths) == 7


def test_names_of_folders_that_a_pattern_finds_are_columns(tmp_path):
    for year in (2020, 2021):
        (tmp_path / f"year={year}").mkdir()
        pq.write_table(make_table(5), tmp_path / f"year={year}" / "part.parquet")
    files = find_files(str(tmp_path / "year=*"))
    assert [batch.column(0).to_pylist() for batch in files.read_all(["year"])] == [[2020] * 5, [2021] * 5]


def test_folders_without_tables_are_refused(tmp_path):
    (tmp_path / "out.parquet").mkdir()
    with pytest.raises(FileError, match=r"there are no tables in .*out\*"):
        find_files(str(tmp_path / "out*"))


@pytest.mark.usefixtures("small_limits")
@pytest.mark.parametrize("n", [300, 2_000])
def test_the_name_of_a_table_is_not_repeated(tmp_path, n):
    (tmp_path / "order").mkdir()
    files = find_files(write_parts(make_table(n), tmp_path / "order"))
    assert files.label == "3 files of order"
    with open_table(files, READING, CurveConfig(), engine="serial") as table:
        problem = table.data.problem if n > 900 else table
        assert problem.name == "order"
        assert problem.description.startswith(f"{n:,} rows of 3 files, predicting 'y'")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf16_text_is_refused_by_name(tmp_path, encoding):
    (tmp_path / "part-0.csv").write_text("a,y\n1,2\n")
    (tmp_path / "part-1.csv").write_text("a,y\n1,2\n", encoding=encoding)
    message = r"cannot read .*part-1\.csv in blocks: it is UTF-16 text; save it as UTF-8 or as Parquet"
    with pytest.raises(FileError, match=message):
        find_files(str(tmp_path / "part-*.csv"))
    with pytest.raises(FileError, match=message):
        find_files(tmp_path / "part-1.csv", always=True)


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_a_file_that_changed_is_read_anew(tmp_path, ending):
    def write(**columns):
        pyarrow.csv.write_csv(pa.table(columns), tmp_path / "a.csv")
        pq.write_table(pa.table(columns), tmp_path / "a.parquet")
        return find_files(tmp_path / f"a.{ending}", always=True)

    before = write(a=[1, 2], y=[3, 4])
    assert before.columns == ["a", "y"]
    after = write(b=[5, 6, 7], y=[7, 8, 9])
    assert after.columns == ["b", "y"]
    assert [int(row["b"]) for batch in after.read_all(["b"]) for row in batch.to_pylist()] == [5, 6, 7]
    with pytest.raises(FileError, match=rf"a\.{ending} changed while it was read; start again"):
        before.check_unchanged()
    after.check_unchanged()


@pytest.mark.usefixtures("small_limits")
def test_a_table_that_changes_while_it_is_fitted_is_refused(tmp_path):
    pattern = write_parts(make_table(2_000), tmp_path)
    with (
        pytest.raises(FileError, match=r"part-1\.parquet changed while it was read"),
        open_table(find_files(pattern), READING, CurveConfig(), engine="serial"),
    ):
        pq.write_table(make_table(500), tmp_path / "part-1.parquet")


@pytest.mark.slow
def test_only_the_first_row_of_further_text_files_is_read_to_compare_it(tmp_path, monkeypatch):
    head = '"a\nb",ü,y\n'
    for k, encoding in enumerate(["utf8", "utf-8-sig", "utf8"]):
        (tmp_path / f"part-{k}.csv").write_text(head + "1,2,3\n" * 200_000, encoding=encoding)
    sizes, read = [], io.TextIOWrapper.__next__

    class Counted(io.TextIOWrapper):
        def __next__(self):
            line = read(self)
            sizes.append(len(line))
            return line

    monkeypatch.setattr(files.io, "TextIOWrapper", Counted)
    found = find_files(str(tmp_path / "part-*.csv"))
    assert found.names == ("a\nb", "ü", "y")
    assert sum(sizes) == 3 * len(head)
    (tmp_path / "part-1.csv").write_text('"a\nc",ü,y\n1,2,3\n')
    with pytest.raises(InputError, match=r"part-1\.csv must have the same first row as part-0\.csv"):
        find_files(str(tmp_path / "part-*.csv"))
    (tmp_path / "part-1.csv").write_text(head + "1,2,3\n", encoding="cp1252")
    with pytest.raises(InputError, match=r"part-1\.csv must have the same first row"):
        find_files(str(tmp_path / "part-*.csv"))
    for k in range(3):
        (tmp_path / f"part-{k}.csv").write_text(head + "1,2,3\n", encoding="cp1252")
    assert find_files(str(tmp_path / "part-*.csv")).encoding == "cp1252"
