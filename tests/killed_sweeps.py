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

from creases.lab import Sweep
from creases.lab._sweeps import parts, store

GRID = {"x": list(range(15)), "y": list(range(1, 11))}


def sweep(folder: str) -> Sweep:
    return Sweep("sweep_jobs:logged", GRID, folder, seed=3)


def killed(folder: str, seconds: float) -> bool:
    """Whether a process that runs the sweep had to be killed after so many seconds."""
    process = os.fork()
    if process == 0:
        store.MAX_LOOSE_PARTS = 4  # parts are merged all the time
        status = sweep(folder).run(engine="serial", chunk=1)
        os._exit(0 if status.done == 150 else 1)
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
        done = sweep(sys.argv[2]).run(engine=sys.argv[3], n_jobs=None if sys.argv[3] == "serial" else 2, chunk=2)
        sys.exit(done.done != 150)
    assert parts  # imported before processes are forked, as all that is late
    moments, count = random.Random(0), 0
    while count < int(sys.argv[2]) and killed(sys.argv[3], moments.uniform(0.02, 0.2)):
        count += 1
    killed(sys.argv[3], 300)
    print(count)
