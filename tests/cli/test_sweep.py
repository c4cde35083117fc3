import json
import os
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pandas as pd
import pytest

import creases
from creases.cli.sweep._file import EXAMPLE
from interrupts import interruptible

FILE = """
function = "own_jobs:area"
out = "results"

[grid]
width = [1, 2]
height = { from = 3, to = 7, step = 2 }
"""

CODE = """
import time

def area(width, height, seed):
    return {"area": width * height, "odd": float("nan")}

def slow(width, height):
    time.sleep(0.2)
    return {"area": width * height}

def wrong(width, height):
    raise ValueError(f"no [width] {width}")
"""


@pytest.fixture
def file(tmp_path):
    (tmp_path / "own_jobs.py").write_text(CODE)
    (tmp_path / "areas.toml").write_text(FILE)
    sys.modules.pop("own_jobs", None)
    return "areas.toml"


def test_a_file_is_run_and_run_again(run, file):
    first = run("sweep", file, "--engine", "serial")
    assert first.exit_code == 0, first.output
    assert "6 of 6 jobs" in first.stdout
    assert "width  height  area" in first.stdout
    again = run("sweep", "--engine", "serial", "--json", file)
    assert json.loads(again.stdout)["done"] == 6
    assert json.loads(again.stdout)["last"]["odd"] is None


def test_status_and_table_of_a_folder(run, file, tmp_path):
    run("sweep", file, "--engine", "serial", "--out", "other")
    told = run("sweep", "status", "other")
    assert "6 of 6 jobs" in told.stdout
    assert "last" in told.stdout
    assert "2  " in run("sweep", "table", "other").stdout
    for name, read in (("t.csv", pd.read_csv), ("t.parquet", pd.read_parquet)):
        assert run("sweep", "table", "other", "--out", name).exit_code == 0
        assert read(tmp_path / name)["area"].tolist() == [3, 5, 7, 6, 10, 14]
    assert run("sweep", "heat", "other", "--x", "width", "--y", "height", "--value", "area").exit_code == 0
    assert (tmp_path / "heat.png").stat().st_size > 1000


def test_failures_are_told_and_the_exit_code_is_1(run, file, tmp_path):
    (tmp_path / file).write_text(FILE.replace(":area", ":wrong"))
    result = run("sweep", file, "--engine", "serial")
    assert result.exit_code == 1
    assert "6; rerun the sweep to retry them" in result.stdout
    assert "3 failed: ValueError: no [width] 1\nthe first: width 1, height 3\n" in result.stderr
    assert "Traceback" in result.stderr


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (
            FILE.replace("out =", "folder ="),
            "areas.toml must have the settings function, out, seed, grid, jobs, got 'folder'",
        ),
        (FILE.replace('out = "results"', ""), 'must have a setting out = "DIR", the folder for the results'),
        (FILE.replace('function = "own_jobs:area"', ""), 'must have a setting function = "module:function"'),
        (FILE.split("[grid]")[0], "must have either a [grid] or [[jobs]]"),
        (FILE + "[[jobs]]\nwidth = 1", "must have either a [grid] or [[jobs]]"),
        (FILE.replace("from = 3, ", ""), "grid.height must be a list or { from"),
        (FILE.replace("step = 2", "step = 0"), "grid.height.step must be at least 1, got 0"),
        (FILE.replace("to = 7", "to = 1"), "must have at least one value of 'height', got none"),
        ("function = ", "is not TOML"),
        (FILE.replace(":area", ":no"), "function must exist in own_jobs, got 'no'"),
    ],
)
def test_a_file_that_is_wrong_is_refused_in_one_line(run, file, tmp_path, text, error):
    (tmp_path / file).write_text(text)
    result = run("sweep", file, "--engine", "serial")
    assert result.exit_code == 2
    assert error in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["nothing.toml"], "cannot read nothing.toml: No such file"),
        (["status", "nowhere"], "cannot open nowhere: no such folder"),
        (["status", "."], "it has no sweep"),
        (["table", "results", "--out", "t.xls"], "must be a file name ending in .csv, .parquet"),
        (
            ["heat", "results", "--x", "a", "--y", "height", "--value", "area"],
            "must have a column 'a', got key, width, height",
        ),
    ],
)
def test_what_is_not_there_is_told_in_one_line(run, file, words, error):
    run("sweep", file, "--engine", "serial")
    result = run("sweep", *words)
    assert result.exit_code == 2
    assert error in " ".join(result.stderr.split())


def test_jobs_can_be_listed_one_by_one(run, file, tmp_path):
    head = 'function = "own_jobs:area"\nout = "results"\n'
    (tmp_path / file).write_text(head + "[[jobs]]\nwidth = 1\nheight = 2\n[[jobs]]\nwidth = 3\nheight = 4\n")
    assert json.loads(run("sweep", file, "--engine", "serial", "--json").stdout)["done"] == 2


def test_the_example_runs_as_it_is(run, tmp_path):
    text = run("sweep", "example").stdout
    assert text == EXAMPLE
    small = text.replace("trials = 50", "trials = 2").replace("epochs = 500", "epochs = 3")
    assert len(tomllib.loads(small)["grid"]) == 6
    (tmp_path / "sizes.toml").write_text(small)
    result = run("sweep", "sizes.toml", "--engine", "serial")
    assert result.exit_code == 0, result.output
    assert "30 of 30 jobs" in result.stdout
    table = run("sweep", "table", "out/sizes")
    assert "success" in table.stdout


def test_help_shows_the_file_and_every_command(run):
    told = run("sweep", "--help").stdout
    for word in ("run", "status", "table", "heat", "example"):
        assert word in told
    assert "[grid]" in run("sweep", "run", "--help").stdout


@pytest.mark.slow
def test_ctrl_c_stops_and_says_how_to_go_on(file, tmp_path):
    (tmp_path / file).write_text(FILE.replace(":area", ":slow").replace("[1, 2]", "{ from = 1, to = 99 }"))
    paths = str(Path(creases.__file__).parents[1])
    process = interruptible(
        [sys.executable, "-m", "creases.cli", "sweep", file, "--engine", "serial"],
        cwd=tmp_path, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": paths},
    )  # fmt: skip
    while not list(tmp_path.glob("results/parts/0*.parquet")):
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    told = process.communicate(timeout=300)[1]
    assert process.returncode == 130
    assert "Results so far are in results. Resume with: creases sweep" in told
    assert "Traceback" not in told
