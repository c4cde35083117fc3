"""Streams of rows that are not in files: a query of DuckDB, a reader that can be read once."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import creases
from creases.errors import InputError
from creases.tables import CurveConfig, TableSplit, count_rows, read_table
from creases.tables._streaming import passes as spooled
from creases.tables._streaming.passes import spool
from creases.tables._streaming.table import open_table

from .conftest import make_table, write_parts
from .test_stream import READING


class Once:
    """A stream of rows that can be read once, in small batches, with text as views where pyarrow has them."""

    def __init__(self, whole):
        if hasattr(pa, "string_view"):
            whole = whole.set_column(4, "town", whole["town"].cast(pa.string_view()))
        self.reader = pa.RecordBatchReader.from_batches(whole.schema, whole.to_batches(max_chunksize=70))

    def __arrow_c_stream__(self, requested_schema=None):
        return self.reader.__arrow_c_stream__(requested_schema)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where temporary files are."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("form", [Once, lambda whole: whole, lambda whole: whole.to_reader()])
@pytest.mark.usefixtures("small_limits")
def test_rows_of_a_stream_are_those_in_memory_bit_for_bit(folder, monkeypatch, form):
    monkeypatch.setattr(spooled, "GROUP", 600)
    whole, config = make_table(2_000), CurveConfig(test_fraction=0)
    expected = TableSplit.from_problem(read_table(whole.to_pandas(), "y"), config)
    with spool(form(whole)) as files:
        assert files.n_tasks >= 3
        with open_table(files, READING, config, engine="serial") as table:
            np.testing.assert_array_equal(table.data.rows.X, expected.rows.X)
            np.testing.assert_array_equal(table.data.rows.y, expected.rows.y)
            assert table.data.problem.name == "table"
            assert table.data.problem.description.startswith("2,000 rows of table, predicting 'y'")
    assert not list(folder.iterdir())


@pytest.mark.slow
def test_a_small_stream_is_fitted_and_predicted_as_a_data_frame(folder):
    whole = make_table(300)
    memory, stream = creases.fit_table(whole.to_pandas(), "y"), creases.fit_table(Once(whole), "y")
    assert stream.function.to_dict() == memory.function.to_dict()
    stream.write_predictions(Once(whole), folder / "stream.csv", n_jobs=1)
    stream.write_predictions(write_parts(whole, folder), folder / "files.csv", n_jobs=1)
    assert Path(folder, "stream.csv").read_text() == Path(folder, "files.csv").read_text()
    assert not list(folder.glob("creases-*"))


@pytest.mark.slow
def test_a_data_frame_of_pandas_is_no_stream():
    frame = make_table(300).to_pandas()
    assert count_rows(creases.fit_table(frame, "y")) == {"train": 240, "test": 60}
    assert isinstance(frame, pd.DataFrame)


@pytest.mark.slow
def test_streams_are_refused_where_files_are_needed(folder):
    pytest.importorskip("ray")
    with pytest.raises(InputError, match="engine must be 'local' or 'serial' for a table that is not in files"):
        creases.fit_table(Once(make_table(300)), "y", engine="ray")
    with pytest.raises(InputError, match="table must fit in memory"):
        creases.tables.grow_table(Once(make_table(300)), "y")
    assert not list(folder.iterdir())


@pytest.mark.usefixtures("small_limits")
def test_a_query_of_duckdb_is_fitted_as_its_rows_in_memory(folder):
    duckdb = pytest.importorskip("duckdb")
    whole = make_table(2_000)
    with duckdb.connect() as database:
        database.register("homes", whole)
        query = database.sql("select * from homes where c > 9")
        expected = TableSplit.from_problem(
            read_table(whole.filter(pa.compute.greater(whole["c"], 9)).to_pandas(), "y"), CurveConfig(test_fraction=0)
        )
        with (
            spool(query) as files,
            open_table(files, READING, CurveConfig(test_fraction=0), engine="serial") as table,
        ):
            np.testing.assert_array_equal(table.data.rows.X, expected.rows.X)
            np.testing.assert_array_equal(table.data.rows.y, expected.rows.y)
    assert not list(folder.iterdir())
