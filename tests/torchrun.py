"""Two processes under torchrun, started once for all workers of the test run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from filelock import FileLock

import creases

TESTS = Path(__file__).parent
PATHS = os.pathsep.join([str(TESTS), str(Path(creases.__file__).parents[1])])  # the creases that is tested here


def run_ranks(factory: pytest.TempPathFactory, program: str) -> list[Any]:
    """Run a program of this folder in two processes; return what each of them saved as ``<rank>.pt``."""
    base = factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / Path(program).stem
    files = [folder / f"{rank}.pt" for rank in (0, 1)]
    with FileLock(f"{folder}.lock"):  # the second worker of pytest-xdist finds what the first has made
        if not all(file.exists() for file in files):
            folder.mkdir(exist_ok=True)
            command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2"]
            environment = {**os.environ, "PYTHONPATH": PATHS, "OMP_NUM_THREADS": "1"}
            command += [str(TESTS / program), str(folder)]
            done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=400)
            assert not done.returncode, done.stderr[-3000:]
    return [torch.load(file, weights_only=False) for file in files]
