"""Sweeps: every job once, whatever happens; the same table, however it was made."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import creases
from creases.errors import FileError, InputError
from creases.lab import Sweep, job
from interrupts import interruptible
from killed_sweeps import sweep

TESTS = Path(__file__).parents[1]
PATHS = os.pathsep.join([str(TESTS), str(Path(creases.__file__).parents[1])])  # the creases that is tested here

#: Seconds that a process may take to end: a busy machine is slow, a broken sweep runs for ever.
PATIENCE = 300


def done(sweep, **options):
    """The sweep, run in this process."""
    sweep.run(engine="serial", **options)
    return sweep


def counted(log):
    return Counter(Path(log).read_text().splitlines())


@pytest.fixture
def environment(tmp_path, monkeypatch):
    """For jobs that log, here and in other processes; its mark is that of no other process."""
    mark = uuid.uuid4().hex
    own = {"SWEEP_LOG": str(tmp_path / "log"), "PYTHONPATH": PATHS, "OMP_NUM_THREADS": "1", "SWEEP_MARK": mark}
    for name, value in own.items():
        monkeypatch.setenv(name, value)
    yield {**os.environ}
    for process in marked(mark):
        os.kill(process, signal.SIGKILL)


def marked(mark):
    """Processes with a mark in their environment."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"SWEEP_MARK={mark}".encode() in path.read_bytes():
                found.append(int(path.parent.name))
        except OSError:
            continue
    return [process for process in found if process != os.getpid()]


@pytest.fixture
def whole(tmp_path, environment, monkeypatch):
    """The table of a sweep that was left alone."""
    monkeypatch.setenv("SWEEP_LOG", str(tmp_path / "whole log"))
    monkeypatch.setenv("SWEEP_SECONDS", "0")
    return done(sweep(tmp_path / "whole")).table()


def start(environment, *words, **more):
    return interruptible([sys.executable, TESTS / "killed_sweeps.py", *map(str, words)], env=environment | more)


def kill_when_parts(process, folder, count):
    """kill -9 as soon as a folder holds so many parts."""
    while len(list((folder / "parts").glob("0*.parquet"))) < count:
        assert process.poll() is None, "it ended too early"
        time.sleep(0.005)
    process.kill()
    process.wait()


def test_a_grid_is_all_combinations_in_order(tmp_path):
    table = done(Sweep("sweep_jobs:square", {"x": range(3)}, tmp_path)).table()
    assert table.columns.tolist() == ["key", "x", "seed", "square"]
    assert table[["x", "square"]].to_numpy().tolist() == [[0, 0], [1, 1], [2, 4]]
    assert [job["y"] for job in sweep(tmp_path).jobs[:3]] == [1, 2, 3]


def test_every_row_of_a_job_is_in_the_table(whole):
    assert len(whole) == 300
    assert (whole["product"].to_numpy().reshape(-1, 2) == np.outer(whole["product"][::2], [1, -1])).all()
    assert whole["half"].isna().sum() == whole["chance"].isna().sum() == 150
    assert (whole["chance"].dropna() == (whole["seed"] % 1000)[1::2]).all()


@pytest.mark.slow
@pytest.mark.thorough
def test_killed_often_it_does_every_job_and_repeats_only_what_was_not_stored(tmp_path, environment, whole):
    found = subprocess.run(
        [sys.executable, TESTS / "killed_sweeps.py", "often", "15", str(tmp_path / "struck")],
        env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    kills, calls = int(found.stdout), counted(tmp_path / "log")
    assert kills > 5
    assert len(calls) == 150
    assert 0 <= calls.total() - 150 <= kills  # a chunk of one job was at work, at most
    pd.testing.assert_frame_equal(sweep(tmp_path / "struck").table(), whole)


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.parametrize("engine", ["local", "ray"])
def test_killed_on_an_engine_it_resumes_and_repeats_nothing_that_was_stored(engine, tmp_path, environment, whole):
    folder = tmp_path / "struck"
    kill_when_parts(start(environment, "run", folder, engine, SWEEP_SECONDS="0.05"), folder, 5)
    stored = {f"{x} {y}" for x, y in sweep(folder).table()[["x", "y"]].to_numpy().tolist()}
    assert sweep(folder).status().running is None
    assert 10 <= len(stored) < 150
    if engine == "local":  # Ray's own processes end within a minute
        until = time.monotonic() + PATIENCE
        while marked(environment["SWEEP_MARK"]) and time.monotonic() < until:
            time.sleep(0.2)
        assert marked(environment["SWEEP_MARK"]) == []  # the workers have ended by themselves
    assert start(environment, "run", folder, engine).wait() == 0
    calls = counted(tmp_path / "log")
    assert len(calls) == 150
    assert {calls[job] for job in stored} == {1}
    assert calls.total() <= 150 + 2 * 2 * 2  # two chunks of two jobs for each of two processes
    pd.testing.assert_frame_equal(sweep(folder).table(), whole)


@pytest.mark.slow
def test_interrupted_it_stops_its_workers_and_goes_on_later(tmp_path, environment, whole):
    folder = tmp_path / "struck"
    process = start(environment, "run", folder, "local", SWEEP_SECONDS="0.2")
    while not list(folder.glob("parts/0*.parquet")):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE) != 0
    assert 0 < sweep(folder).status().done < 150
    pd.testing.assert_frame_equal(done(sweep(folder)).table(), whole)


@pytest.mark.slow
def test_two_processes_cannot_work_on_one_folder(tmp_path, environment):
    one, other = sweep(tmp_path), sweep(tmp_path)
    with one.store.open_for_writing(one.definition):
        one.store.write_progress(jobs=10, seconds=4.0, left=(20.0, 10.0, 40.0))
        with pytest.raises(InputError, match=rf"folder must not be in use, got .*, in which process {os.getpid()} on "):
            other.run(engine="serial")
        status = other.status()
        assert status.running.startswith(f"process {os.getpid()} on ")
        assert (status.rate, status.left) == (2.5, (20, 10, 40))
    assert other.run(engine="serial").running is None


def test_resuming_repeats_nothing(tmp_path, environment):
    done(sweep(tmp_path / "folder"))
    assert sweep(tmp_path / "folder").run(engine="serial").done == 150
    assert set(counted(tmp_path / "log").values()) == {1}


def test_a_folder_can_be_opened_without_its_function(tmp_path):
    def area(width, height):
        return {"area": width * height}

    one = done(Sweep(area, {"width": [1, 2], "height": 3}, tmp_path))
    pd.testing.assert_frame_equal(Sweep.open(tmp_path).table(), one.table())
    assert Sweep.open(tmp_path).status().last["area"] in (3, 6)


def test_seeds_depend_on_the_job_alone(tmp_path):
    jobs = [{"x": x} for x in range(0, 20, 2)]
    first = done(Sweep("sweep_jobs:fails", jobs, tmp_path / "a")).table()
    turned = [{"x": 100}, *jobs[::-1]]
    second = done(Sweep("sweep_jobs:fails", turned, tmp_path / "b")).table()
    other = done(Sweep("sweep_jobs:fails", jobs, tmp_path / "c", seed=1)).table()
    assert first["seed"].tolist() == second["seed"][:0:-1].tolist()
    assert len({*first["seed"], *other["seed"]}) == 20
    assert first["seed"].between(0, 2**63 - 1).all()
    assert first["seed"][0] == 6343250255526645849  # on every machine, for ever


def test_a_job_may_have_a_seed_of_its_own(tmp_path):
    table = done(Sweep("sweep_jobs:fails", {"x": 0, "seed": [5, 6]}, tmp_path)).table()
    assert table["seed"].tolist() == [5, 6]


def test_a_job_that_fails_is_told_and_done_again(tmp_path, monkeypatch):
    monkeypatch.setenv("SWEEP_CURE", str(tmp_path / "cure"))
    one = Sweep("sweep_jobs:fails", {"x": range(5)}, tmp_path / "folder")
    status = one.run(engine="serial")
    assert (status.done, status.failed, status.waiting) == (3, 2, 0)
    failures = one.failures()
    assert failures["x"].tolist() == [1, 3]
    assert failures["error"][0].endswith("ArithmeticError: 1 is odd")
    assert "sweep_jobs.py" in failures["error"][0]
    assert "functions.py" not in failures["error"][0]
    (tmp_path / "cure").touch()
    status = one.run(engine="serial")
    assert (status.done, status.failed) == (5, 0)
    assert one.failures().empty
    assert one.table()["x"].tolist() == [0, 1, 2, 3, 4]


def test_jobs_are_given_in_batches_that_agree(tmp_path):
    grid = {"x": [0, 1, 5], "y": range(40)}
    one = done(Sweep("sweep_jobs:batch", grid, tmp_path / "a"))
    assert one.status().failed == 3  # those with y = 13, and no others of their batches
    assert (one.failures()["y"] == 13).all()
    table = one.table()
    assert len(table) == 117
    assert (table["sum"] == table["x"] + table["y"]).all()
    assert (table["seen"] == table["seed"]).all()
    cut = done(Sweep("sweep_jobs:batch", grid, tmp_path / "b"), chunk=7).table()
    pd.testing.assert_frame_equal(cut, table)


@pytest.mark.parametrize(
    ("returned", "error"),
    [
        (None, "the function returned None"),
        (3, "the function returned 3"),
        ([{"a": 1}, 2], "expected a row"),
        ({"a": object()}, "column 'a' must be None, bool, int, float, str"),
        ({1: 2}, "a column cannot be called 1"),
        ({"key": 2}, "a column cannot be called 'key'"),
        ({"x": 2}, "column 'x' is 2, but the job's parameter 'x' is 1"),
        ({"a": "\ud800"}, "must be valid Unicode text"),
    ],
)
def test_what_is_no_row_is_a_failure(tmp_path, returned, error):
    one = done(Sweep(lambda x: returned, {"x": [1]}, tmp_path))
    assert error in one.failures()["error"][0]
    assert one.table().empty


def test_a_batch_of_wrong_length_is_a_failure(tmp_path):
    one = done(Sweep(job(batched=True)(lambda jobs: [{}] * 3), {"x": [1, 2]}, tmp_path))
    assert (
        "expected a list of 1 results, one for each job; the function returned 3 results" in one.failures()["error"][0]
    )


def test_a_function_that_ends_its_process_by_exit_is_a_failure(tmp_path):
    one = done(Sweep(lambda x: sys.exit("enough"), {"x": [1]}, tmp_path))
    assert one.failures()["error"][0].endswith("SystemExit: enough")


def test_no_rows_and_empty_rows_are_done(tmp_path):
    one = Sweep(lambda x: [{"a": 1}] * x if x else {}, {"x": [0, 1, 2]}, tmp_path)
    assert one.run(engine="serial").done == 3
    assert done(Sweep(lambda x: [], {"x": [0]}, tmp_path / "none")).status().done == 1
    assert one.table()["x"].tolist() == [0, 1, 2, 2]
    assert one.table()["a"].isna().tolist() == [True, False, False, False]


ROWS = {
    "numbers": [1, 2.5, None],
    "mixed": [1, 2.0, "three"],
    "flags": [True, False, 2],
    "lists": [[1, 2], [0.5], []],
    "odd": [math.nan, math.inf, -0.0],
    "large": [2**80, 1, None],
    "numpy": [np.float32(0.5), np.int8(3), np.array([1, 2])],
}


@pytest.mark.parametrize("chunk", [1, 2, 3])
@pytest.mark.parametrize("name", ROWS)
def test_values_of_any_kind_are_kept_however_chunks_are_cut(tmp_path, name, chunk):
    values = ROWS[name]
    expected = {
        "numbers": [1.0, 2.5, math.nan],
        "mixed": ["1", "2", "three"],
        "flags": ["True", "False", "2"],
        "lists": [[1.0, 2.0], [0.5], []],
        "odd": [math.nan, math.inf, -0.0],
        "large": [str(2**80), "1", None],
        "numpy": ["0.5", "3", "[1, 2]"],
    }
    found = done(Sweep(lambda x: {"value": values[x]}, {"x": [0, 1, 2]}, tmp_path), chunk=chunk).table()["value"]
    for a, b in zip(found, expected[name], strict=True):
        assert np.array_equal(a, b) or (pd.isna(a) and pd.isna(b))


@pytest.mark.parametrize("chunk", [1, 2, 5])
def test_columns_come_in_the_order_of_the_rows_however_chunks_are_cut(tmp_path, chunk):
    rows = [{"b": 1, "a": 2}, {"a": 1, "b": 2}, {"c": 1}, {"z": 0, "a": 1}, {"y": 0}]
    one = done(Sweep(lambda x: rows[x], {"x": range(5)}, tmp_path), chunk=chunk)
    assert one.table().columns.tolist() == ["key", "x", "seed", "b", "a", "c", "z", "y"]


def test_a_column_that_is_one_jobs_parameter_and_anothers_result_is_one(tmp_path):
    jobs = [{"x": 1}, {"x": 1, "y": 5}]
    assert done(Sweep(lambda x, y=None: {"y": y or 7}, jobs, tmp_path)).table()["y"].tolist() == [7, 5]


def test_parameters_may_be_anything_plain(tmp_path):
    grid = {"a": [math.nan, None, 1, 1.0, True, "1", [1, [2, "x"]], np.float64(2)]}
    one = done(Sweep(lambda a: {"kind": type(a).__name__}, grid, tmp_path))
    kinds = ["float", "NoneType", "int", "float", "bool", "str", "list", "float"]
    assert one.table()["kind"].tolist() == kinds
    assert done(Sweep(lambda a: {}, grid, tmp_path.parent / "again")).keys == one.keys == Sweep.open(tmp_path).keys


@pytest.mark.parametrize(
    ("jobs", "error"),
    [
        ({}, "jobs must have at least one parameter with its values, got an empty grid"),
        ([], "jobs must have at least one job, got an empty list"),
        ({"x": []}, "jobs must have at least one value of 'x'"),
        ({"x": [1, 1]}, r"jobs must be different, got \{'x': 1\} as jobs 0 and 1; .* such as run = 0, 1, 2"),
        ([{"x": 1}, 2], r"jobs\[1\] must be a mapping of names to values, got 2"),
        ({"x": [threading.Lock()]}, "x must be None, bool, int, float, str, or a list of these, got lock"),
        ({"x": [lambda: 1]}, "x must be None, bool, int, float, str, or a list of these, got function"),
        ({"x": {"a": 1}}, "x must be None, bool, int, float, str, or a list of these, got dict"),
        ({3: [1]}, "jobs must have strings as names of parameters, got 3"),
        ({"key": [1]}, "jobs must have no parameter 'key'"),
        ({"error": [1]}, "jobs must have no parameter 'error'"),
        ({"seed": [-1]}, "seed must be an integer from 0 below"),
        ({"x": ["\ud800"]}, "x must be valid Unicode text"),
    ],
)
def test_jobs_that_cannot_be_are_refused(tmp_path, jobs, error):
    with pytest.raises(InputError, match=error):
        Sweep("sweep_jobs:square", jobs, tmp_path)


@pytest.mark.parametrize(
    ("function", "jobs", "error"),
    [
        ("sweep_jobs", {"x": 1}, 'function must be a function or its path as "module:function"'),
        (3, {"x": 1}, "function must be a function or its path"),
        ("no_such_module:f", {"x": 1}, "function must be in a module that can be imported, got 'no_such_module'"),
        ("sweep_jobs:nothing", {"x": 1}, "function must exist in sweep_jobs, got 'nothing'"),
        (
            "sweep_jobs:square",
            {"z": 1},
            r"jobs must have the parameters of sweep_jobs:square\(x\), got z: missing .* 'x'",
        ),
        (
            "sweep_jobs:square",
            {"x": 1, "z": 1},
            "jobs must have the parameters of .*, got x, z: got an unexpected keyword argument 'z'",
        ),
        ("sweep_jobs:square", {"x": 1, "seed": 1}, "unexpected keyword argument 'seed'"),
        (
            "sweep_jobs:batch",
            {"x": 1, "widht": 1},
            "jobs must have only the parameters x, y of sweep_jobs:batch, got 'widht'",
        ),
        ("sweep_jobs:batch", {"x": -1, "y": 1}, "cost must return a number above 0 for each job, got 0.0"),
    ],
)
def test_a_function_that_does_not_fit_is_refused_before_anything_is_made(tmp_path, function, jobs, error):
    with pytest.raises(InputError, match=error):
        Sweep(function, jobs, tmp_path / "folder").run(engine="serial")
    assert not (tmp_path / "folder").exists()


def test_a_function_that_cannot_be_sent_is_refused(tmp_path):
    lock = threading.Lock()
    with pytest.raises(
        InputError, match=r"function must be one that can be sent to other processes, got .* define it in a module"
    ):
        Sweep(lambda x: {"a": lock.locked()}, {"x": 1}, tmp_path).run()


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"engine": "dask"}, "engine must be 'local', 'serial' or 'ray', got 'dask'"),
        ({"n_jobs": 0}, "n_jobs must be a positive integer, got 0"),
        ({"engine": "serial", "n_jobs": 2}, "n_jobs must be 1 for the serial engine, which is this process, got 2"),
        ({"address": "auto"}, "address must be left out without a Ray cluster, got 'auto'"),
        ({"chunk": 0}, "chunk must be a positive integer, got 0"),
    ],
)
def test_options_that_cannot_be_are_refused(tmp_path, options, error):
    with pytest.raises(InputError, match=error):
        Sweep("sweep_jobs:square", {"x": 1}, tmp_path / "folder").run(**options)
    assert not (tmp_path / "folder").exists()


def test_a_seed_that_is_no_whole_number_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"seed must be an integer, got 0\.5"):
        Sweep("sweep_jobs:square", {"x": 1}, tmp_path, seed=0.5)


def test_a_sweep_that_was_not_run_has_a_status_and_no_table(tmp_path):
    one = Sweep("sweep_jobs:square", {"x": [1, 2]}, tmp_path / "folder")
    assert (one.status().jobs, one.status().done, one.status().waiting) == (2, 0, 2)
    with pytest.raises(FileError, match=r"cannot open .*: it has no sweep \(no file sweep.json\)"):
        one.table()
