"""Sweeps that are killed at moments of chance and resumed: run as a program.

``python killed_sweeps.py run FOLDER ENGINE`` runs a sweep. ``python killed_sweeps.py often KILLS FOLDER`` runs it in
forked processes, each killed after a moment, and prints how often it was killed.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from typing import Any

import pyarrow.parquet  # before processes are forked, as all that is late
from filelock import FileLock

from creases.lab import sweep

GRID = {"x": list(range(15)), "y": list(range(1, 11))}
assert pyarrow.parquet
assert FileLock


def run(folder: str, **options: Any) -> Any:
    return sweep("sweep_jobs:logged", GRID, folder, seed=3, **options)


def killed(folder: str, seconds: float) -> bool:
    """Whether a process that runs the sweep had to be killed after so many seconds."""
    process = os.fork()
    if process == 0:
        os._exit(0 if run(folder, engine="serial")["error"].isna().all() else 1)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if os.waitpid(process, os.WNOHANG)[0]:
            return False
        time.sleep(0.001)
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return True


if __name__ == "__main__":
    if sys.argv[1] == "run":
        table = run(sys.argv[2], engine=sys.argv[3], n_jobs=None if sys.argv[3] == "serial" else 2)
        sys.exit(len(table) != 300)
    moments, count = random.Random(0), 0
    while count < int(sys.argv[2]) and killed(sys.argv[3], moments.uniform(0.02, 0.2)):
        count += 1
    killed(sys.argv[3], 300)
    print(count)
