"""A limit of memory: fewer processes, the same model, and an error where it cannot be kept."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import creases
from creases._engines import map_in_order
from creases.errors import InputError
from creases.tables._streaming import passes
from creases.tables._streaming.files import BLOCK, LEAST_BLOCK, find_files
from creases.tables._streaming.passes import LimitedEngine, MemoryLimit, held_memory, peak_memory

from .conftest import make_table, write_parts

PATHS = str(Path(creases.__file__).parents[1])


def family(process: int) -> list[int]:
    """Return a process and all that it started, by number."""
    try:
        tasks = Path(f"/proc/{process}/task").iterdir()
        children = [int(child) for task in tasks for child in (task / "children").read_text().split()]
    except OSError:  # it has ended
        return []
    return [process, *(each for child in children for each in family(child))]


def resident(process: int) -> int:
    """Return the bytes of memory that a process holds."""
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def take(size: float, number: int) -> tuple[int, int]:
    """Hold some memory for a moment; return a number with that of the process."""
    held = np.ones(int(size) // 8)
    time.sleep(0.2)
    return int(held[0]) * number, os.getpid()


def test_the_largest_memory_of_a_process_is_measured():
    before = peak_memory()
    grown = before - held_memory() + 50_000_000
    taken = np.ones(grown // 8)
    assert peak_memory() >= before + 40_000_000
    assert held_memory() <= peak_memory()
    del taken


def test_as_many_processes_are_planned_as_fit():
    limit = MemoryLimit(4e9, held=0, peak=0)
    share = passes.WORKER + 1e8
    fit = int((4e9 - limit.own() - passes.SAMPLE) // share)
    assert limit.plan(2, 1e8) == 2
    assert fit - 1 <= limit.plan(100, 1e8) <= fit
    assert MemoryLimit(limit.own() + passes.SAMPLE + 1.9 * share, held=0, peak=0).plan(8, 1e8) == 1
    low = MemoryLimit(3e8)
    with pytest.raises(InputError, match=r"max_memory must be larger than \d\.\d\d GB, .* takes, got 0\.3 GB; fewer"):
        low.plan(1, 1e8)


def test_what_a_process_held_before_counts_as_libraries_at_most():
    table = np.ones(100_000_000 // 8)
    limit = MemoryLimit(4e9)
    assert limit.held > 100_000_000
    assert limit.own() <= passes.LIBRARIES + 10_000_000
    more = np.ones((peak_memory() - held_memory() + 100_000_000) // 8)
    assert limit.own() > min(limit.held, passes.LIBRARIES) + 90_000_000
    del table, more


@pytest.mark.thorough
def test_fewer_processes_go_on_where_all_might_take_too_much():
    def run(limit: float) -> tuple[list[int], set[int], int]:
        engine = LimitedEngine(take, 3, MemoryLimit(limit))
        try:
            results = list(map_in_order(engine, ((4e8, number) for number in range(9))))
        finally:
            workers = engine.workers
            engine.close()
        return [number for number, _ in results], {process for _, process in results}, workers

    own = MemoryLimit().own()
    order, processes, workers = run(own + 1e10)
    assert (order, workers) == (list(range(9)), 3)
    assert os.getpid() not in processes
    order, _, workers = run(own + 1.3e9)  # a process takes 0.4 GB and its libraries
    assert (order, workers) == (list(range(9)), 2)
    order, processes, workers = run(own + 7e8)
    assert (order, workers) == (list(range(9)), 1)
    assert os.getpid() in processes


def test_this_process_alone_is_refused_where_it_takes_too_much():
    limit = MemoryLimit(MemoryLimit().own() + 1e8)
    engine = LimitedEngine(take, 1, limit)
    engine.submit(0, peak_memory() - held_memory() + 2e8, 0)
    with pytest.raises(InputError, match="max_memory must be larger than"):
        engine.wait()


def test_blocks_depend_on_the_columns_only(tmp_path):
    pattern = write_parts(make_table(300), tmp_path)
    assert find_files(pattern).block == BLOCK
    assert find_files(pattern, max_memory=1e8) == find_files(pattern)
    wide = ",".join(f"c{k}" for k in range(9_000))
    (tmp_path / "wide.csv").write_text(f"{wide}\n{','.join(['1'] * 9_000)}\n")
    assert find_files(tmp_path / "wide.csv", always=True).block == LEAST_BLOCK


@pytest.mark.thorough
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the memory of other processes is read from /proc")
def test_all_processes_of_a_command_stay_below_the_limit(tmp_path):
    pattern = write_parts(make_table(300_000), tmp_path)
    environment = {**os.environ, "PYTHONPATH": PATHS, "OMP_NUM_THREADS": "1"}
    most, models = {}, {}
    for limit in (2.5, 1.2):
        run = tmp_path / f"run-{limit}"
        words = ["fit", pattern, "--target", "y", "--out", run, "--max-memory", limit]
        command = [sys.executable, "-m", "creases", *map(str, words)]
        largest, processes = 0, set()
        with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as started:
            while started.poll() is None:
                members = family(started.pid)
                largest = max(largest, sum(map(resident, members)))
                processes.update(members)
                time.sleep(0.02)
            assert started.returncode == 0, started.stderr.read().decode()
        most[limit], models[limit] = (largest, len(processes)), creases.load(run).function.to_dict()
        assert largest < limit * 1e9, most
    assert most[1.2][1] == 1 < most[2.5][1]
    assert models[1.2] == models[2.5]
