"""Engines, chunks, and how long the rest takes."""

import os
import subprocess
import sys
from pathlib import Path

import loky
import numpy as np
import pytest

import creases
from creases import _engines
from creases._engines._serial import Serial
from creases.errors import InputError
from creases.lab import Sweep
from creases.lab._sweeps.chunks import JobQueue
from creases.lab._sweeps.eta import TimeLeft, estimate_time_left, format_duration, format_time_left

PATHS = os.pathsep.join([str(Path(__file__).parents[1]), str(Path(creases.__file__).parents[1])])


@pytest.mark.slow
@pytest.mark.thorough
def test_processes_share_the_cores_and_a_process_that_dies_fails_its_job_alone(tmp_path):
    one = Sweep("sweep_jobs:ends", {"x": range(7)}, tmp_path)
    status = one.run(n_jobs=2, chunk=1, progress=False)
    assert (status.done, status.failed) == (6, 1)
    assert one.failures()["x"].tolist() == [5]
    assert one.failures()["error"][0].startswith("The process running this job ended without an error")
    assert set(one.table()["threads"]) == {str(max(1, loky.cpu_count() // 2))}
    assert os.getpid() not in set(one.table()["process"])


class Fragile(Serial):
    """An engine that loses all that it has when it is given a bad job, as a pool of processes does."""

    workers = 3
    bad = (17, 60)

    def wait(self):
        number = next(iter(self._tasks))
        if not any(job["x"] in self.bad for job in self._tasks[number][0]):
            return super().wait()
        lost, self._tasks = dict.fromkeys(self._tasks), {}
        return lost


def test_jobs_that_end_their_workers_are_found_and_all_others_are_done(tmp_path, monkeypatch):
    monkeypatch.setattr(_engines, "start_engine", lambda name, function, *options: Fragile(function))
    one = Sweep("sweep_jobs:square", {"x": range(100)}, tmp_path)
    status = one.run(chunk=8)
    assert (status.done, status.failed) == (98, 2)
    assert one.failures()["x"].tolist() == [17, 60]


def test_progress_is_shown_at_a_terminal_only(tmp_path, monkeypatch, capsys):
    Sweep("sweep_jobs:square", {"x": range(3)}, tmp_path / "a").run(engine="serial")
    assert capsys.readouterr() == ("", "")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    Sweep("sweep_jobs:fails", {"x": range(3)}, tmp_path / "b").run(engine="serial")
    told = capsys.readouterr()
    assert told.out == ""
    for words in ("3/3", "jobs", "1 failed", "0.0 s left"):
        assert words in told.err
    Sweep("sweep_jobs:square", {"x": range(3)}, tmp_path / "c").run(engine="serial", progress=False)
    assert capsys.readouterr() == ("", "")


def test_without_ray_the_error_says_how_to_install_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match=r"engine must be installed, got 'ray'; run: pip install \"creases\[ray\]\""):
        Sweep("sweep_jobs:square", {"x": 1}, tmp_path).run(engine="ray")


@pytest.mark.parametrize("port", [1, 99999])
def test_an_address_where_nothing_listens_is_refused_at_once(tmp_path, port):
    with pytest.raises(
        InputError, match=f"address must be the address of a running Ray cluster, got '127.0.0.1:{port}': "
    ):
        Sweep("sweep_jobs:square", {"x": 1}, tmp_path / "folder").run(engine="ray", address=f"127.0.0.1:{port}")
    assert not (tmp_path / "folder").exists()


RAY = """
import os, sys, ray
from creases.lab import Sweep
inits = []
init = ray.init
ray.init = lambda *words, **options: inits.append((words, options)) or init(*words, **options)
one = Sweep("sweep_jobs:ends", {"x": [0, 1, 5]}, sys.argv[1])
status = one.run(engine="ray", n_jobs=1)
assert (status.done, status.failed) == (2, 1), status
assert one.failures()["x"].tolist() == [5]
((words, options),) = inits
assert words == ("local",) and options["include_dashboard"] is False, inits
assert os.environ["RAY_USAGE_STATS_ENABLED"] == "0"
assert not ray.is_initialized()
ray.init("local", num_cpus=1, include_dashboard=False, log_to_driver=False)  # the user's own
assert Sweep("sweep_jobs:square", {"x": [1, 2]}, sys.argv[1] + "/again").run(engine="ray").done == 2
assert ray.is_initialized()
ray.shutdown()
"""


@pytest.mark.thorough
def test_a_ray_cluster_of_its_own_is_private_and_ends_and_the_users_own_stays(tmp_path):
    environment = {**os.environ, "PYTHONPATH": PATHS, "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", RAY, tmp_path], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_every_job_is_taken_once_and_a_chunk_has_one_group():
    costs = np.random.default_rng(0).uniform(0.1, 10, 500)
    groups = [str(place % 7) for place in range(500)]
    queue, taken = JobQueue(range(500), groups, costs, None), []
    while queue.count:
        chunk = queue.take(2)
        assert len({groups[place] for place in chunk}) == 1
        queue.measure(chunk, float(costs[chunk].sum()) / 50)
        taken += chunk
    assert sorted(taken) == list(range(500))
    assert queue.cost == 0


def test_chunks_grow_to_a_few_seconds_and_shrink_at_the_end():
    queue, sizes = JobQueue(range(20000), [""] * 20000, np.ones(20000), None), []
    while queue.count:
        chunk = queue.take(4)
        queue.measure(chunk, len(chunk) / 100)
        sizes.append(len(chunk))
    assert sizes[0] == 1
    assert max(sizes) in (500, 501)  # five seconds at a hundred jobs a second
    assert sizes[-1] == 1


def test_a_size_of_chunks_that_is_given_is_kept():
    queue = JobQueue(range(10), [""] * 10, np.ones(10), 4)
    assert [len(queue.take(2)) for _ in range(3)] == [4, 4, 2]


def test_the_time_left_is_right_for_jobs_that_cost_what_they_say():
    left = estimate_time_left([(1.0, 2.0), (3.0, 6.0), (2.0, 4.0)], cost=100, workers=4, largest=3)
    assert left == pytest.approx((50, 50, 50))
    assert estimate_time_left([], 100, 4, 1) is None
    assert estimate_time_left([(1.0, 2.0)], 100, 4, 1) == pytest.approx((50, 50 / 3, 150))
    assert estimate_time_left([(1.0, 2.0)], 10, 100, 10).likely == pytest.approx(20)  # one job that cannot be shared


def test_the_range_of_the_time_left_holds_the_truth_four_times_in_five():
    rng = np.random.default_rng(0)
    held = []
    for _ in range(2000):
        seconds = rng.gamma(4.0, 0.5, 8)  # the mean of a job is 2 s
        left = estimate_time_left([(1.0, s) for s in seconds], cost=1000, workers=1, largest=1)
        held.append(left.low <= 2000 <= left.high)
    assert 0.75 < np.mean(held) < 0.85


def test_the_time_left_is_told_with_its_range_while_that_is_wide():
    assert format_time_left(None) == "measuring"
    assert format_time_left(TimeLeft(300, 150, 900)) == "5.0 min left (2.5 min to 15 min)"
    assert format_time_left(TimeLeft(300, 290, 310), passed=120) == "3.0 min left"
    assert format_time_left(TimeLeft(3, 0, 9)) == "3.0 s left"
    assert [format_duration(s) for s in (0.2, 42, 100, 1000, 7200, 1e6)] == [
        "0.2 s",
        "42 s",
        "1.7 min",
        "17 min",
        "2.0 h",
        "12 days",
    ]
