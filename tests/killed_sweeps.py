"""A sweep that can be killed: ``python killed_sweeps.py run FOLDER ENGINE``."""

from __future__ import annotations

import sys
from typing import Any

import pyarrow.parquet  # before processes are forked, as all that is late
from filelock import FileLock

from creases.lab import sweep

GRID = {"x": list(range(15)), "y": list(range(1, 11))}
assert pyarrow.parquet
assert FileLock


def run(folder: str, **options: Any) -> Any:
    return sweep("sweep_jobs:logged", GRID, folder, seed=3, **options)


if __name__ == "__main__":
    table = run(sys.argv[2], engine=sys.argv[3], n_jobs=None if sys.argv[3] == "serial" else 2)
    sys.exit(len(table) != 300)
