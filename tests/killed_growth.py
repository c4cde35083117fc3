"""A growth run in its folder that is killed at moments of chance and resumed: run as a program, as killed_runs.py.

``python killed_growth.py KILLS FOLDER`` prints, as JSON, how often it was killed and whether its moments are those of
the run that was left alone.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from pathlib import Path

import torch

from creases.growth.experiment import _run as runs
from creases.growth.experiment._settings import Settings
from creases.growth.experiment._split import load_split
from killed_runs import ended

SETTINGS = Settings(data="moons", epochs=60, when="7")


def left_alone(folder: Path) -> None:
    """A run to its end, with a checkpoint after every epoch or so."""
    runs.CHECKPOINT_SECONDS = 0.05
    runs.run(SETTINGS, load_split(SETTINGS), folder)
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


def moments(folder: Path) -> dict[str, bytes]:
    """The moments' files, and whatever else is beside them."""
    return {path.name: path.read_bytes() for path in (folder / "moments").iterdir()}


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
            same &= not struck.exists() or moments(struck) == moments(whole)
            struck = folder / f"struck {killed}"
            struck.mkdir()
        killed += not ended(forked(struck), chance.uniform(0.0, length))
    ended(forked(struck), 100)
    same &= moments(struck) == moments(whole)
    return {"kills": killed, "same": same, "moments": len(moments(whole))}


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(json.dumps(main(int(sys.argv[1]), Path(sys.argv[2]))))
