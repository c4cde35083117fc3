"""Predictions for files of any size: the same numbers as in memory, in the order of the rows."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import creases
from creases.cli import app
from creases.errors import InputError

from .conftest import make_table, write_parts


@pytest.fixture(scope="module", params=[0, 3])
def model(request):
    return creases.fit_table(make_table(400, classes=request.param).to_pandas(), "y")


@pytest.fixture
def blocks(monkeypatch):
    """Read 300 rows at a time."""
    from creases.tables._streaming import files

    monkeypatch.setattr(files, "BLOCK", 300)


@pytest.mark.usefixtures("blocks")
def test_unusual_cells_are_counted_over_all_blocks(tmp_path, model):
    frame = make_table(1_000, seed=1).to_pandas()
    frame.loc[::100, "town"] = "Oslo"
    frame.loc[::250, "a"] = np.nan
    frame.drop(columns="y").to_csv(tmp_path / "new.csv", index=False)
    summary = model.write_predictions(tmp_path / "new.csv", tmp_path / "out.csv", n_jobs=1)
    assert summary["notes"] == list(model.encode(tmp_path / "new.csv").notes)
    assert "column 'town': 10 rows with unknown values ('Oslo')" in summary["notes"]


@pytest.mark.thorough
@pytest.mark.usefixtures("blocks")
def test_processes_change_nothing(tmp_path, model):
    pattern = write_parts(make_table(2_000, seed=1), tmp_path)
    for n_jobs in (1, 2):
        model.write_predictions(pattern, tmp_path / f"out{n_jobs}.csv", n_jobs=n_jobs)
    assert (tmp_path / "out1.csv").read_bytes() == (tmp_path / "out2.csv").read_bytes()


@pytest.mark.thorough
def test_nearest_changes_of_many_rows_are_shared_by_processes(tmp_path):
    model = creases.fit_table(make_table(400, classes=2).select(["a", "c", "y"]).to_pandas(), "y")
    rows = make_table(40, seed=1)
    pq.write_table(rows, tmp_path / "new.parquet")
    model.write_predictions(tmp_path / "new.parquet", tmp_path / "out.csv", n_jobs=2, budget=5.0)
    expected = model.frame(rows.to_pandas(), budget=5.0)
    distance = pd.read_csv(tmp_path / "out.csv")["boundary distance"]
    np.testing.assert_allclose(distance, expected["boundary distance"], rtol=1e-6)


def test_bad_arguments_are_refused(tmp_path, model):
    pattern = write_parts(make_table(300).drop_columns(["a", "c"]), tmp_path)
    with pytest.raises(InputError, match="rows must have the columns 'a', 'c', got 'row id', 'b', 'town'"):
        model.write_predictions(pattern, tmp_path / "out.csv", n_jobs=1)
    with pytest.raises(InputError, match=r"out must be a file name ending in \.csv or \.parquet"):
        model.write_predictions(pattern, tmp_path / "out.xlsx")
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.slow
def test_the_command_line_predicts_files_that_a_pattern_finds(tmp_path, model):
    def invoke(*words):
        return CliRunner().invoke(app, [str(word) for word in words])

    model.save(tmp_path / "run")
    pattern = write_parts(make_table(300, seed=2), tmp_path)
    result = invoke("predict", tmp_path / "run", pattern, "--out", tmp_path / "p.parquet", "--jobs", 1, "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["rows"] == 300
    assert len(pq.read_table(tmp_path / "p.parquet")) == 300
    result = invoke("predict", tmp_path / "run", pattern)
    assert result.exit_code != 0
    assert "--out must be given for files that are read in blocks" in " ".join(result.output.split())


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_predictions_for_no_rows_have_their_columns(tmp_path, model, ending):
    pq.write_table(make_table(10).slice(0, 0), tmp_path / "none.parquet")
    out = tmp_path / f"out.{ending}"
    assert model.write_predictions(tmp_path / "none.parquet", out, n_jobs=1)["rows"] == 0
    frame = pd.read_csv(out) if ending == "csv" else pd.read_parquet(out)
    assert len(frame) == 0
    assert list(frame) == ["row", *model.frame(make_table(10).to_pandas())]
