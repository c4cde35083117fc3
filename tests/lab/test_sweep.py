"""Sweeps: every job once, whatever happens meanwhile."""

import json
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

import filelock
import loky
import numpy as np
import pandas as pd
import pytest

import creases
from creases import _engines
from creases._engines._local import Serial
from creases.errors import FileError, InputError
from creases.lab import sweep
from interrupts import interruptible
from killed_sweeps import run

TESTS = Path(__file__).parents[1]
PATHS = os.pathsep.join([str(TESTS), str(Path(creases.__file__).parents[1])])  # the creases that is tested here

#: Seconds that a process may take to end: a busy machine is slow, a broken sweep runs for ever.
PATIENCE = 300


def here(function, jobs, folder, **options):
    """The table of a sweep in this process."""
    return sweep(function, jobs, folder, engine="serial", **options)


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
    return run(tmp_path / "whole", engine="serial")


def start(environment, *words, **more):
    return interruptible([sys.executable, TESTS / "killed_sweeps.py", *map(str, words)], env=environment | more)


def wait_for_results(process, folder, count):
    """Wait until a folder holds so many results."""
    log = folder / "log.jsonl"
    while not log.exists() or log.read_bytes().count(b"\n") < count:
        assert process.poll() is None, "it ended too early"
        time.sleep(0.005)


def stored_jobs(folder):
    """The keys of the jobs that a folder has results of."""
    lines = (folder / "log.jsonl").read_text().splitlines(keepends=True)
    return [json.loads(line[9:])["key"] for line in lines if line.endswith("\n")]


def test_a_grid_is_all_combinations_in_order(tmp_path):
    table = here("sweep_jobs:square", {"x": range(3)}, tmp_path)
    assert table.columns.tolist() == ["x", "seed", "square", "error"]
    assert table[["x", "square"]].to_numpy().tolist() == [[0, 0], [1, 1], [2, 4]]
    both = here(lambda x, y: {}, {"x": [1, 2], "y": [3, 4]}, tmp_path / "both")
    assert both[["x", "y"]].to_numpy().tolist() == [[1, 3], [1, 4], [2, 3], [2, 4]]


def test_every_row_of_a_job_is_in_the_table(whole):
    assert len(whole) == 300
    assert (whole["product"].to_numpy().reshape(-1, 2) == np.outer(whole["product"][::2], [1, -1])).all()
    assert whole["half"].isna().sum() == whole["chance"].isna().sum() == 150
    assert (whole["chance"].dropna() == (whole["seed"] % 1000)[1::2]).all()


def test_the_parquet_file_holds_the_table(tmp_path):
    table = here("sweep_jobs:square", {"x": range(3)}, tmp_path)
    stored = pd.read_parquet(tmp_path / "results.parquet")
    assert stored.columns.tolist() == table.columns.tolist()
    assert stored.drop(columns="error").equals(table.drop(columns="error"))


@pytest.mark.thorough
@pytest.mark.parametrize("engine", ["local", "ray"])
def test_killed_on_an_engine_it_resumes_and_repeats_nothing_that_was_stored(engine, tmp_path, environment, whole):
    folder = tmp_path / "struck"
    process = start(environment, "run", folder, engine, SWEEP_SECONDS="0.05")
    wait_for_results(process, folder, 10)
    process.kill()
    process.wait()
    n_stored = len(stored_jobs(folder))
    assert 10 <= n_stored < 150
    if engine == "local":  # Ray's own processes end within a minute
        until = time.monotonic() + PATIENCE
        while marked(environment["SWEEP_MARK"]) and time.monotonic() < until:
            time.sleep(0.2)
        assert marked(environment["SWEEP_MARK"]) == []  # the workers have ended by themselves
    assert start(environment, "run", folder, engine).wait() == 0
    calls = counted(tmp_path / "log")
    assert len(calls) == 150
    assert calls.total() <= 150 + 2 * 2  # two jobs for each of two processes
    assert max(Counter(stored_jobs(folder)).values()) == 1
    pd.testing.assert_frame_equal(run(folder, engine="serial"), whole)


@pytest.mark.slow
def test_interrupted_it_stops_its_workers_and_goes_on_later(tmp_path, environment, whole):
    folder = tmp_path / "struck"
    process = start(environment, "run", folder, "local", SWEEP_SECONDS="0.2")
    wait_for_results(process, folder, 1)
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE) != 0
    assert 0 < len(stored_jobs(folder)) < 150
    pd.testing.assert_frame_equal(run(folder, engine="serial"), whole)


def test_a_line_that_was_cut_short_is_run_again(tmp_path, environment):
    folder = tmp_path / "cut"
    whole = run(folder, engine="serial")
    log = folder / "log.jsonl"
    log.write_bytes(log.read_bytes()[:-7])
    pd.testing.assert_frame_equal(run(folder, engine="serial"), whole)
    assert Counter(counted(tmp_path / "log").values()) == {1: 149, 2: 1}


def test_two_processes_cannot_work_on_one_folder(tmp_path):
    with filelock.FileLock(tmp_path / "lock"), pytest.raises(InputError, match="folder must not be in use by another"):
        here("sweep_jobs:square", {"x": 1}, tmp_path)
    assert len(here("sweep_jobs:square", {"x": 1}, tmp_path)) == 1


def test_resuming_repeats_nothing_and_jobs_can_be_added(tmp_path, environment):
    for count in (2, 2, 5):
        table = here("sweep_jobs:logged", {"x": range(count), "y": 1}, tmp_path / "folder")
        assert table["x"].tolist() == np.repeat(range(count), 2).tolist()
    assert set(counted(tmp_path / "log").values()) == {1}


def test_seeds_depend_on_the_job_alone(tmp_path):
    jobs = [{"x": x} for x in range(0, 20, 2)]
    first = here("sweep_jobs:fails", jobs, tmp_path / "a")
    second = here("sweep_jobs:fails", [{"x": 100}, *jobs[::-1]], tmp_path / "b")
    other = here("sweep_jobs:fails", jobs, tmp_path / "c", seed=1)
    assert first["seed"].tolist() == second["seed"][:0:-1].tolist()
    assert len({*first["seed"], *other["seed"]}) == 20
    assert first["seed"].between(0, 2**63 - 1).all()
    assert first["seed"][0] == 6343250255526645849  # on every machine, for ever


def test_a_job_may_have_a_seed_of_its_own(tmp_path):
    assert here("sweep_jobs:fails", {"x": 0, "seed": [5, 6]}, tmp_path)["seed"].tolist() == [5, 6]


def test_a_job_that_fails_is_told_and_done_again(tmp_path, monkeypatch):
    monkeypatch.setenv("SWEEP_CURE", str(tmp_path / "cure"))
    table = here("sweep_jobs:fails", {"x": range(5)}, tmp_path / "folder")
    failed = table[table["error"].notna()]
    assert failed["x"].tolist() == [1, 3]
    assert failed["error"].iloc[0].endswith("ArithmeticError: 1 is odd")
    assert "sweep_jobs.py" in failed["error"].iloc[0]
    assert "_sweep.py" not in failed["error"].iloc[0]
    (tmp_path / "cure").touch()
    table = here("sweep_jobs:fails", {"x": range(5)}, tmp_path / "folder")
    assert table["error"].isna().all()
    assert table["x"].tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("returned", "error"),
    [
        (None, "the function returned None"),
        (3, "the function returned 3"),
        ([{"a": 1}, 2], "expected a row"),
        ({"a": object()}, "column 'a' must be None, bool, int, float, str"),
        ({1: 2}, "a column cannot be called 1"),
        ({"error": 2}, "a column cannot be called 'error'"),
        ({"x": 2}, "column 'x' is 2, but the parameter 'x' is 1"),
        ({"a": "\ud800"}, "must be valid Unicode text"),
    ],
)
def test_what_is_no_row_is_a_failure(tmp_path, returned, error):
    assert error in here(lambda x: returned, {"x": [1]}, tmp_path)["error"][0]


def test_a_function_that_ends_its_process_by_exit_is_a_failure(tmp_path):
    assert here(lambda x: sys.exit("enough"), {"x": [1]}, tmp_path)["error"][0].endswith("SystemExit: enough")


def test_no_rows_and_empty_rows_are_results(tmp_path):
    table = here(lambda x: [{"a": 1}] * x if x else {}, {"x": [0, 1, 2]}, tmp_path)
    assert table["x"].tolist() == [0, 1, 2, 2]
    assert table["a"].isna().tolist() == [True, False, False, False]
    assert here(lambda x: [], {"x": [0]}, tmp_path / "none").empty


@pytest.mark.parametrize(
    "values",
    [[1, 2.5, None], [1, 2.0, "three"], [True, False, 2], [[1, 2], [0.5], []], [math.nan, math.inf, -0.0],
     [2**80, 1, None], [np.float32(0.5), np.int8(3), np.array([1, 2])]],
)  # fmt: skip
def test_values_of_any_kind_are_kept_and_written(tmp_path, values):
    found = here(lambda x: {"value": values[x]}, {"x": [0, 1, 2]}, tmp_path)["value"]
    for a, b in zip(found, values, strict=True):
        assert np.array_equal(a, b) or (b is None or b != b) == bool(pd.isna(a))
    assert len(pd.read_parquet(tmp_path / "results.parquet")) == 3


def test_columns_come_in_the_order_of_the_rows(tmp_path):
    rows = [{"b": 1, "a": 2}, {"a": 1, "b": 2}, {"c": 1}, {"z": 0, "a": 1}, {"y": 0}]
    table = here(lambda x: rows[x], {"x": range(5)}, tmp_path)
    assert table.columns.tolist() == ["x", "seed", "b", "a", "c", "z", "y", "error"]


def test_a_column_that_is_one_jobs_parameter_and_anothers_result_is_one(tmp_path):
    jobs = [{"x": 1}, {"x": 1, "y": 5}]
    assert here(lambda x, y=None: {"y": y or 7}, jobs, tmp_path)["y"].tolist() == [7, 5]


def test_parameters_may_be_anything_plain(tmp_path):
    grid = {"a": [math.nan, None, 1, 1.0, True, "1", [1, [2, "x"]], np.float64(2)]}
    kinds = ["float", "NoneType", "int", "float", "bool", "str", "list", "float"]
    assert here(lambda a: {"kind": type(a).__name__}, grid, tmp_path)["kind"].tolist() == kinds


@pytest.mark.parametrize(
    ("jobs", "error"),
    [
        ({}, "jobs must have at least one job, got none"),
        ([], "jobs must have at least one job, got none"),
        ({"x": []}, "jobs must have at least one value of 'x'"),
        ({"x": [1, 1]}, r"jobs must be different, got \{'x': 1\} as jobs 0 and 1; .* such as run = 0, 1, 2"),
        ([{"x": 1}, 2], r"jobs\[1\] must be a mapping of names to values, got 2"),
        ({"x": [threading.Lock()]}, "x must be None, bool, int, float, str, or a list of these, got lock"),
        ({"x": {"a": 1}}, "x must be None, bool, int, float, str, or a list of these, got dict"),
        ({3: [1]}, "jobs must have strings as names of parameters, got 3"),
        ({"error": [1]}, "jobs must have no parameter 'error'"),
        ({"seed": [-1]}, "seed must be an integer from 0 below"),
        ({"x": ["\ud800"]}, "x must be valid Unicode text"),
    ],
)
def test_jobs_that_cannot_be_are_refused(tmp_path, jobs, error):
    with pytest.raises(InputError, match=error):
        here("sweep_jobs:square", jobs, tmp_path)


@pytest.mark.parametrize(
    ("function", "jobs", "error"),
    [
        ("sweep_jobs", {"x": 1}, 'function must be a function or its path as "module:function"'),
        (3, {"x": 1}, "function must be a function or its path"),
        ("no_such_module:f", {"x": 1}, "function must be in a module that can be imported, got 'no_such_module'"),
        ("sweep_jobs:nothing", {"x": 1}, "function must exist in sweep_jobs, got 'nothing'"),
        ("sweep_jobs:square", {"z": 1}, r"jobs must have the parameters of .*square\(x\), got z: missing .* 'x'"),
        ("sweep_jobs:square", {"x": 1, "z": 1}, "got x, z: got an unexpected keyword argument 'z'"),
        ("sweep_jobs:square", {"x": 1, "seed": 1}, "unexpected keyword argument 'seed'"),
    ],
)
def test_a_function_that_does_not_fit_is_refused_before_anything_is_made(tmp_path, function, jobs, error):
    with pytest.raises(InputError, match=error):
        here(function, jobs, tmp_path / "folder")
    assert not (tmp_path / "folder").exists()


def test_a_function_that_cannot_be_sent_is_refused(tmp_path):
    lock = threading.Lock()
    with pytest.raises(InputError, match=r"function must be one that can be sent to .* define it in a module"):
        sweep(lambda x: {"a": lock.locked()}, {"x": 1}, tmp_path)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"engine": "dask"}, "engine must be 'local', 'serial' or 'ray', got 'dask'"),
        ({"n_jobs": 0}, "n_jobs must be a positive integer, got 0"),
        ({"engine": "serial", "n_jobs": 2}, "n_jobs must be 1 for the serial engine, which is this process, got 2"),
        ({"address": "auto"}, "address must be left out without a Ray cluster, got 'auto'"),
        ({"seed": 0.5}, r"seed must be an integer, got 0\.5"),
        ({"engine": "ray", "address": "127.0.0.1:1"}, "address must be the address of a running Ray cluster"),
        ({"engine": "ray", "address": "127.0.0.1:99999"}, "address must be the address of a running Ray cluster"),
    ],
)
def test_options_that_cannot_be_are_refused(tmp_path, options, error):
    with pytest.raises(InputError, match=error):
        sweep("sweep_jobs:square", {"x": 1}, tmp_path / "folder", **options)
    assert not (tmp_path / "folder").exists()


def test_a_folder_of_another_sweep_or_a_file_is_refused(tmp_path):
    here("sweep_jobs:square", {"x": 1}, tmp_path / "a")
    with pytest.raises(InputError, match=r"function must be sweep_jobs:square, as in the sweep in .*/a"):
        here("sweep_jobs:fails", {"x": 1}, tmp_path / "a")
    with pytest.raises(InputError, match=r"seed must be 0, as in the sweep in .*, got 1; give another folder"):
        here("sweep_jobs:square", {"x": 1}, tmp_path / "a", seed=1)
    (tmp_path / "file").touch()
    with pytest.raises(FileError, match="it is a file; give the name of a folder"):
        here("sweep_jobs:square", {"x": 1}, tmp_path / "file")


@pytest.mark.parametrize("content", ["", "{", "[]", '{"function": "f"}'])
def test_a_damaged_definition_is_told(tmp_path, content):
    (tmp_path / "sweep.json").write_text(content)
    with pytest.raises(FileError, match=r"sweep\.json: it is damaged"):
        here("sweep_jobs:square", {"x": 1}, tmp_path)


def test_a_changed_letter_of_the_log_is_noticed(tmp_path):
    here("sweep_jobs:square", {"x": range(5)}, tmp_path)
    log = tmp_path / "log.jsonl"
    log.write_bytes(log.read_bytes().replace(b'"square": 9', b'"square": 8'))
    with pytest.raises(FileError, match=r"log\.jsonl: line 4 is damaged .* remove the line to run its job again"):
        here("sweep_jobs:square", {"x": range(5)}, tmp_path)


def test_progress_is_told_after_each_job(tmp_path):
    calls = []
    here("sweep_jobs:square", {"x": range(3)}, tmp_path, progress=lambda *words: calls.append(words))
    assert calls == [("jobs", 1, 3), ("jobs", 2, 3), ("jobs", 3, 3)]


@pytest.mark.thorough
def test_processes_share_the_cores_and_a_process_that_dies_fails_its_job_alone(tmp_path):
    table = sweep("sweep_jobs:ends", {"x": range(7)}, tmp_path, n_jobs=2)
    failed, done = table[table["error"].notna()], table[table["error"].isna()]
    assert failed["x"].tolist() == [5]
    assert failed["error"].iloc[0].startswith("The process running this job ended without an error")
    assert set(done["threads"]) == {str(max(1, loky.cpu_count() // 2))}
    assert os.getpid() not in set(done["process"])


class Fragile(Serial):
    """An engine that loses all that it has when it is given a bad job, as a pool of processes does."""

    workers = 3
    bad = (17, 60)

    def wait(self):
        number = next(iter(self._tasks))
        if self._tasks[number][0]["x"] not in self.bad:
            return super().wait()
        lost, self._tasks = dict.fromkeys(self._tasks), {}
        return lost


def test_jobs_that_end_their_workers_are_found_and_all_others_are_done(tmp_path, monkeypatch):
    monkeypatch.setattr(_engines, "start_engine", lambda name, function, *options: Fragile(function))
    table = sweep("sweep_jobs:square", {"x": range(100)}, tmp_path)
    assert table["x"][table["error"].notna()].tolist() == [17, 60]
    assert table["square"].notna().sum() == 98


def test_without_ray_the_error_says_how_to_install_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match=r"engine must be installed, got 'ray'; run: pip install \"creases\[ray\]\""):
        sweep("sweep_jobs:square", {"x": 1}, tmp_path, engine="ray")


RAY = """
import os, sys, ray
from creases.lab import sweep
inits = []
init = ray.init
ray.init = lambda *words, **options: inits.append((words, options)) or init(*words, **options)
table = sweep("sweep_jobs:ends", {"x": [0, 1, 5]}, sys.argv[1], engine="ray", n_jobs=1)
assert table["x"][table["error"].notna()].tolist() == [5]
((words, options),) = inits
assert words == ("local",) and options["include_dashboard"] is False, inits
assert os.environ["RAY_USAGE_STATS_ENABLED"] == "0"
assert not ray.is_initialized()
ray.init("local", num_cpus=1, include_dashboard=False, log_to_driver=False)  # the user's own
assert len(sweep("sweep_jobs:square", {"x": [1, 2]}, sys.argv[1] + "/again", engine="ray")) == 2
assert ray.is_initialized()
ray.shutdown()
"""


@pytest.mark.thorough
def test_a_ray_cluster_of_its_own_is_private_and_ends_and_the_users_own_stays(tmp_path):
    environment = {**os.environ, "PYTHONPATH": PATHS, "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", RAY, tmp_path], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
