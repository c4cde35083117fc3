"""Growth runs for one process or for each of several: ``torchrun --nproc_per_node=2 torchrun_runs.py FOLDER``."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from creases.errors import InputError
from creases.growth._integrations import _ranks as ranks
from creases.growth._loop import GrowthResult
from growth_runs import Residual, classes, conv, grow_and_save, mlp, round_robin, timeless, values


def dead():
    model = mlp(3, 1, 1, 2)
    with torch.no_grad():
        for layer in (model[0], model[2]):
            layer.weight.copy_(-layer.weight.abs())
            layer.bias.fill_(-50.0)
    return model


def dead_line():
    model = mlp(1, 2, 1)
    with torch.no_grad():
        model[0].bias.fill_(-50.0)
    return model


def duplicates():
    model = mlp(3, 6, 2)
    with torch.no_grad():
        model[0].weight[4], model[0].bias[4] = model[0].weight[1], model[0].bias[1]
        model[0].bias[2] = -100.0
    return model


def unused():
    """A parameter that no sample reaches, which weight decay must leave alone."""
    model = mlp(3, 2, 2, seed=3)
    model.idle = nn.Parameter(torch.ones(3, dtype=torch.float64))
    return model


def run(model, data=None, loss="classification", **options) -> GrowthResult:
    given = {"when": 3, "where": round_robin, "budget": 10, "lr": 0.02, "schedule": "constant", "batch_size": 30}
    return grow_and_save(model, classes(101) if data is None else data, loss, **{**given, **options})


#: Growth in stages, within one budget, and the learning rate annealed.
STAGES = {"when": "stages", "where": "all", "growth_share": 0.7, "schedule": "cosine", "validation": 0.2}


def adamw(parameters):
    return torch.optim.AdamW(parameters, lr=0.02, weight_decay=0.2)


x, y = classes(101)

#: Runs that one process and several must end alike; 101 samples in batches of 26 and less.
CASES = {
    "tiny": lambda: run(mlp(3, 2, 2, 2, seed=3), how="tiny"),
    "tiny, long": lambda: run(mlp(3, 2, 2, 2, seed=5), how="tiny", budget=30, validation=0.2),
    "tiny conv": lambda: run(conv(), classes(61, (1, 6, 6)), how="tiny", budget=7),
    "fold": lambda: run(mlp(3, 2, 2, seed=3), how="fold", budget=20, validation=0.2),
    "fold, regression": lambda: run(mlp(1, 2, 1), values(53), "regression", how="fold", budget=15),
    "gradmax": lambda: run(Residual(), how="gradmax", budget=15),
    "random": lambda: run(mlp(3, 2, 2, 2, seed=3), how="random", where=round_robin),
    "split": lambda: run(mlp(3, 2, 2, 2, seed=3), how="split", where=round_robin),
    "dead": lambda: run(dead(), how="random"),
    "duplicates": lambda: run(duplicates(), how="random", budget=7),
    "weights": lambda: run(mlp(3, 2, 2, seed=3), (x, y, torch.arange(101) % 4), how="gradmax"),
    "unused": lambda: run(unused(), how="random", optimizer=adamw),
    "few": lambda: run(mlp(3, 2, 2, seed=3), classes(7), how="fold", batch_size=3, budget=7),
    "one sample": lambda: run(dead_line(), values(1), "regression", how="fold", budget=7),
    # Each fold is placed by what those before it left of the loss. After 25 on 80 samples little but noise is left, and
    # the rounding of sums over ranks decides where the next ones go: hence more samples and fewer units.
    "stages": lambda: run(mlp(3, 2, 2, seed=3), classes(201), how="fold", budget=90, max_units=12, **STAGES),
    # GradMax has one unit where a stage asks for six: the others are random.
    "filled": lambda: run(mlp(3, 2, 2, seed=3), classes(201), how="gradmax", budget=90, max_units=8, **STAGES),
    "fewer than ranks in a batch": lambda: run(mlp(3, 2, 2, seed=3), classes(31), how="gradmax", batch_size=1),
}


def own_share(n: int = 60, uneven: bool = False) -> GrowthResult:
    """A loader of each rank's own."""
    data = TensorDataset(*classes(n))
    if uneven:  # the first rank has 5 batches, the others 3
        share = torch.utils.data.Subset(data, range(50) if ranks.rank() == 0 else range(50, 80))
        return run(mlp(3, 2, 2, seed=3), DataLoader(share, batch_size=10), how="tiny")
    sampler = DistributedSampler(data, ranks.world_size(), ranks.rank(), shuffle=True)
    return run(mlp(3, 2, 2, seed=3), DataLoader(data, batch_size=10, sampler=sampler), how="tiny")


def outcome(result: GrowthResult) -> dict:
    """What a run ended with, but for how long it took."""
    history = result.history
    steps = [(record.action, record.place, record.units, record.removed, record.epoch) for record in history.records]
    return {"model": result.model.state_dict(), "history": {**timeless(history), "records": None}, "records": steps}


def refused(work) -> str:
    try:
        work()
    except InputError as problem:
        return str(problem)
    return ""


def interrupted(path: Path) -> GrowthResult:
    """A run that is stopped on every rank after its fifth epoch, and resumed from the file that the first has."""
    mine = path if ranks.rank() == 0 else path.with_name("not here.pt")

    def strike(state):
        if len(state.history.epochs) == 6:
            raise InterruptedError

    options = {"how": "tiny", "checkpoint": mine}
    with suppress(InterruptedError):
        run(mlp(3, 2, 2, 2, seed=3), callbacks=[strike], **options)
    assert mine.exists() == (ranks.rank() == 0)
    return run(mlp(3, 2, 2, 2, seed=3), **options)


def within(budget: str) -> GrowthResult:
    """A run in stages within time, which no two processes measure alike, or within compute, which they share."""
    return run(mlp(3, 2, 2, seed=3), how="fold", budget=budget, **STAGES)


def other_data() -> GrowthResult:
    return run(mlp(3, 2, 2), classes(100, seed=ranks.rank()), how="random")


def other_start() -> GrowthResult:
    return run(mlp(3, 2, 2, 2, seed=3 + ranks.rank()), how="tiny")


def main(folder: Path) -> None:
    dist.init_process_group("gloo")
    torch.set_num_threads(1)
    outcomes = {name: outcome(work()) for name, work in CASES.items()}
    outcomes["own share"] = outcome(own_share())
    outcomes["uneven share"] = outcome(own_share(80, uneven=True))
    outcomes["interrupted"] = outcome(interrupted(folder / "run.pt"))
    outcomes["seconds"] = outcome(within("4 s"))
    outcomes["multiply-adds"] = outcome(within("6e6 multiply-adds"))
    outcomes["other start"] = outcome(other_start())
    outcomes["other data"] = refused(other_data)
    outcomes["bad checkpoint"] = refused(lambda: run(mlp(3, 2, 2), how="random", seed=9, checkpoint=folder / "run.pt"))
    torch.save(outcomes, folder / f"{ranks.rank()}.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
