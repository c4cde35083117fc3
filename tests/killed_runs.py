"""Growth runs that are killed at moments of chance and resumed: run as a program, which forks one process a run.

``python killed_runs.py VARIANT KILLS SEED FOLDER`` prints, as JSON, how often the run was killed, from which epochs it
went on, and whether it ended as the one that was left alone.
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
from torch.utils.data import DataLoader, TensorDataset

from creases.growth._checkpoint import load_checkpoint
from creases.growth._records import History
from growth_runs import classes, grow_and_save, mlp, round_robin, timeless


def groups(model):
    """AdamW with settings of their own for biases."""
    biases = [value for name, value in model.named_parameters() if "bias" in name]
    weights = [value for name, value in model.named_parameters() if "bias" not in name]
    return torch.optim.AdamW([{"params": weights, "weight_decay": 0.1}, {"params": biases, "lr": 0.005}], lr=0.02)


def fold(checkpoint, **options):
    """Folds, Adam, the best of the validation losses."""
    model = mlp(3, 2, 2, seed=3, dtype=torch.float32)
    given = {"how": "fold", "when": 4, "budget": 40, "lr": 0.02, "validation": 0.3, "batch_size": 40}
    return grow_and_save(model, classes(), "classification", checkpoint=checkpoint, **given, **options)


def tiny(checkpoint, **options):
    """TINY, dropout, SGD with momentum, every epoch written."""
    model = mlp(3, 2, 2, 2, seed=3, dropout=0.1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    given = {"how": "tiny", "when": 5, "budget": 50, "optimizer": optimizer, "batch_size": 40}
    given |= {"max_parameters": 150}
    return grow_and_save(model, classes(), "classification", checkpoint=checkpoint, **given, **options)


def loader(checkpoint, **options):
    """A shuffling DataLoader, AdamW with two groups, units of chance at every place in its turn."""
    model = mlp(3, 2, 2, 2, seed=3)
    data = DataLoader(TensorDataset(*classes()), batch_size=25, shuffle=True)
    given = {"how": "random", "where": round_robin, "when": 3, "budget": 40, "optimizer": groups(model)}
    return grow_and_save(
        model, data, "classification", checkpoint=checkpoint, checkpoint_seconds=0.2, **given, **options
    )


def stages(checkpoint, **options):
    """Stages against training on, the learning rate annealed, every epoch written."""
    model = mlp(3, 2, 2, seed=3, dropout=0.1)
    given = {"how": "fold", "budget": 150, "growth_share": 0.8, "validation": 0.3, "batch_size": 30}
    given |= {"growth_patience": None}
    return grow_and_save(model, classes(), "classification", checkpoint=checkpoint, **given, **options)


VARIANTS = {"fold": fold, "tiny": tiny, "loader": loader, "stages": stages}


def left_alone(variant: str, folder: Path) -> None:
    """A run to its end; its network and history are written as it ends."""
    model, history = VARIANTS[variant](folder / "run.pt")
    torch.save(model.state_dict(), folder / "model.pt")
    history.save(folder / "history.json")


def forked(variant: str, folder: Path) -> int:
    """The process of a run."""
    process = os.fork()
    if process == 0:
        try:
            left_alone(variant, folder)
        finally:
            os._exit(0 if (folder / "history.json").exists() else 1)
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


def result(folder: Path):
    return torch.load(folder / "model.pt", weights_only=True), timeless(History.load(folder / "history.json"))


def main(variant: str, kills: int, seed: int, folder: Path) -> dict:
    whole, struck, warm = folder / "whole", folder / "struck", folder / "warm"
    whole.mkdir()
    warm.mkdir()
    left_alone(variant, warm)  # so that what is imported late is there in every fork
    start = time.monotonic()
    if not ended(forked(variant, whole), 300):
        raise RuntimeError("the run is too long")
    length = time.monotonic() - start
    moments, killed, resumed = random.Random(seed), 0, []
    while killed < kills:
        if not struck.exists() or (struck / "history.json").exists():
            struck = folder / f"struck {killed}"
            struck.mkdir()
        epoch = (
            len(History.from_json(load_checkpoint(struck / "run.pt")["history"]).epochs)
            if (struck / "run.pt").exists()
            else 0
        )
        if not ended(forked(variant, struck), moments.uniform(0.0, length / 4)):
            killed += 1
            resumed.append(epoch)
    ended(forked(variant, struck), 300)
    (one, told), (two, also) = result(whole), result(struck)
    same = one.keys() == two.keys() and all(torch.equal(one[name], two[name]) for name in one)
    found = {"kills": killed, "from": resumed, "same network": same, "same history": told == also}
    return {**found, "steps": len(told["records"]), "epochs": len(told["epochs"])}


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(json.dumps(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))))
