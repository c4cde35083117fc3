"""``creases grow`` on many files: the run folder knows them, and a changed file is noticed."""

from __future__ import annotations

import json

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from creases.cli import app

from .conftest import make_table, write_parts


def invoke(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.mark.slow
@pytest.mark.usefixtures("small_limits")
def test_a_run_on_files_is_fitted_explained_and_kept(tmp_path):
    pattern, run = write_parts(make_table(9_000, classes=2), tmp_path), tmp_path / "run"
    words = ("fit", pattern, "--target", "y", "--out", run, "--max-memory", 2)
    result = invoke(*words)
    assert result.exit_code == 0, result.output
    text = " ".join(result.stdout.split())
    assert "9,000 rows of 3 files" in text
    assert "stages chosen and scored on a sample of 4,200 and 1,000 rows" in text
    settings = json.loads((run / "run.json").read_text())
    assert settings["data"] == pattern
    assert settings["max_memory"] == 2e9
    assert json.loads((run / "model.json").read_text())["rows"]["train"] > 7_000
    again = invoke(*words)
    assert "nothing to do" in " ".join(again.output.split())
    pq.write_table(make_table(10), tmp_path / "part-9.parquet")
    changed = invoke(*words)
    assert changed.exit_code != 0
    assert "has changed since the run" in " ".join(changed.output.split())


def test_options_for_files_are_refused_where_they_do_nothing(tmp_path):
    result = invoke("fit", tmp_path / "nothing-*.csv", "--out", tmp_path / "run")
    assert result.exit_code != 0
    assert "no file matches" in result.output
