"""Files of a table: which a pattern finds and which are refused."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from creases.errors import FileError, InputError
from creases.tables._streaming.files import find_files

from .conftest import make_table, write_parts


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


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf16_text_is_refused_by_name(tmp_path, encoding):
    (tmp_path / "part-0.csv").write_text("a,y\n1,2\n")
    (tmp_path / "part-1.csv").write_text("a,y\n1,2\n", encoding=encoding)
    message = r"cannot read .*part-1\.csv in blocks: it is UTF-16 text; save it as UTF-8 or as Parquet"
    with pytest.raises(FileError, match=message):
        find_files(str(tmp_path / "part-*.csv"))
    with pytest.raises(FileError, match=message):
        find_files(tmp_path / "part-1.csv", always=True)
