"""A growth run in its folder that is killed at random moments and resumed: run as a program.

``python killed_growth.py KILLS FOLDER`` prints, as JSON, how often it was killed and whether its snapshots are those of
the run that was left alone.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

import torch

from creases.growth import GrowthConfig
from creases.tables import Experiment, RunSettings
from creases.tables._fit import experiment as experiments

SETTINGS = RunSettings("moons", config=GrowthConfig(budget=60, when=7))


def left_alone(folder: Path) -> None:
    """A run to its end, with a checkpoint after every epoch or so."""
    experiments.CHECKPOINT_SECONDS = 0.05
    Experiment.from_problem(SETTINGS.load_problem(), SETTINGS.config, folder=folder).run(progress=False)
    (folder / "done").touch()


def forked(folder: Path) -> int:
    """The process of a run."""
    process = os.fork()
    if process == 0:
        try:
            left_alone(folder)
        finally:
            os._exit(0 if (folder / "done").exists() else 1)
    return process


def ended(process: int, seconds: float) -> bool:
    """Wait; kill a process that has not ended by then, as kill -9 does."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        done, status = os.waitpid(process, os.WNOHANG)
        if done:
            if status:
                raise RuntimeError("the run failed")
            return True
        time.sleep(0.002)
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return False


def snapshots(folder: Path) -> dict[str, bytes]:
    """The files of the snapshots, and whatever else is beside them."""
    return {path.name: path.read_bytes() for path in (folder / "snapshots").iterdir()}


def main(kills: int, folder: Path) -> dict:
    whole, struck = folder / "whole", folder / "struck"
    whole.mkdir()
    left_alone(whole)  # also so that what is imported late is there in every fork
    (whole / "done").unlink()
    start = time.monotonic()
    left_alone(whole)
    length = max(0.5, time.monotonic() - start)
    chance, killed, same = random.Random(0), 0, True
    while killed < kills:
        if not struck.exists() or (struck / "done").exists():
            same &= not struck.exists() or snapshots(struck) == snapshots(whole)
            struck = folder / f"struck {killed}"
            struck.mkdir()
        killed += not ended(forked(struck), chance.uniform(0.0, length))
    ended(forked(struck), 100)
    same &= snapshots(struck) == snapshots(whole)
    return {"kills": killed, "same": same, "snapshots": len(snapshots(whole))}


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(json.dumps(main(int(sys.argv[1]), Path(sys.argv[2]))))
