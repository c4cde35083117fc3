"""What each of two processes does in the tests of growth over ranks: the same calls, each with its own samples."""

from __future__ import annotations

from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn

from creases.errors import InputError
from creases.growth._integrations import _ranks as ranks
from creases.growth.methods._first_order.statistics import statistics
from creases.growth.methods._gradmax import gradmax
from creases.growth.methods._random import random_units
from creases.growth.methods._tiny.tiny import tiny
from first_order import conv, data, loss, mlp, place_of

WORLD = 2
SHAPE = (2, 7, 7)


def cases(rank, world):
    """Proposals by name, from this process's share: all samples where it is alone."""
    done = {}
    for name, model, shape, method, options in [
        ("tiny", mlp(nn.SELU, (3, 3, 3, 2)), (3,), tiny, {"tau": 0, "count": 3}),
        ("tiny relu", mlp(nn.ReLU), (3,), tiny, {"tau": 0, "project": False}),
        ("tiny conv", conv(nn.ReLU, bias=True), SHAPE, tiny, {"tau": 0, "project": False, "count": 2}),
        ("tiny second", mlp(nn.SELU), (3,), tiny, {"tau": 1e-9, "fallback": "second", "count": 2}),
        ("gradmax", mlp(nn.ReLU), (3,), gradmax, {"count": 2}),
        ("random", mlp(nn.ReLU), (3,), random_units, {"count": 2, "fan_out": 1.0}),
        ("tiny float32", mlp(nn.SELU, (3, 3, 3, 2)).float(), (3,), tiny, {"tau": 0, "count": 3}),
    ]:
        x, y = data(shape, 90)
        if name == "tiny second":
            y = torch.zeros_like(y)
        x = x.to(next(model.parameters()).dtype)
        held = data(shape, 40, seed=5 if name == "tiny second" else 1)
        if method is tiny:
            options = {"fallback": None, "above_noise": False, **options}
            whole = (held[0].to(x), held[1])
            options["validation"] = whole if rank == 0 else []  # the second has none
        place = place_of(model, "0", shape)
        done[name] = method(model, place, _share(x, y, rank, world), loss, **options)
    sums = statistics(mlp(), "0", _share(*data(), rank, world), loss)
    done["sums"] = sums.tensors()
    return done


def _share(x, y, rank, world):
    """Unequal shares in unequal numbers of batches: 2 of 3 samples for the first."""
    if world == 1:
        return [(x, y)]
    mine = torch.arange(len(x))[torch.arange(len(x)) % 3 != 2] if rank == 0 else torch.arange(2, len(x), 3)
    return [(x[part], y[part]) for part in mine.split(25 if rank == 0 else 100)]


def refusals(rank):
    """The messages where the second process has no samples, or gets a loss that is not finite."""
    found = []
    x, y = data()
    for batches in ([] if rank else [(x, y)], [(x * float("nan") if rank else x, y)]):
        for method in (tiny, gradmax, statistics):
            try:
                method(mlp(), "0", batches, loss)
            except InputError as problem:
                found.append(str(problem))
    return found


def work(rank, folder):
    """One process: its results go to a file."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=WORLD)
    try:
        shared = [torch.tensor([1.0 + rank, 2.0])[:1], torch.ones(2, 3).T]
        ranks.sum_over_ranks(shared)
        sent = torch.full((2,), float(rank))
        ranks.broadcast([sent])
        found = {"rank": ranks.rank(), "world": ranks.world_size(), "total": shared, "same": sent}
        found |= {"cases": _plain(cases(rank, WORLD)), "refusals": refusals(rank)}
        torch.save(found, Path(folder) / f"{rank}.pt")
    finally:
        dist.destroy_process_group()


def _plain(done):
    """Proposals as tensors and numbers, which torch loads without running code."""
    return {
        name: one if isinstance(one, list) else (one.fan_in, one.bias, dict(one.fan_out), one.gain, one.explanation)
        for name, one in done.items()
    }


def alone():
    """The same from one process with all samples."""
    return _plain(cases(0, 1))
