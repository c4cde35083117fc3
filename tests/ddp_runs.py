"""A user's loop with DistributedDataParallel that grows: ``torchrun --nproc_per_node=2 ddp_runs.py FOLDER``."""

from __future__ import annotations

import sys
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel

from creases.errors import InputError
from creases.growth import Grower
from growth_runs import classes, mlp, normed, round_robin

STEPS, GROWTH = 40, (12, 24)
X, Y = classes()


def network(kind: str) -> nn.Module:
    return normed() if kind == "buffers" else mlp(3, 4, 4, 2, seed=3, bend=nn.LeakyReLU)


def wrap(model: nn.Module, kind: str) -> nn.Module:
    """The wrappers of a case; without processes the model itself."""
    if not dist.is_initialized():
        return model
    size = 25 if kind == "compiled" else 0.0001  # of buckets, in megabytes: the compiler refuses small ones
    options = {"gradient_as_bucket_view": kind == "views", "static_graph": kind == "static", "bucket_cap_mb": size}
    wrapper = DistributedDataParallel(model, **options)
    if kind == "hook":
        wrapper.register_comm_hook(None, average_gradients)
    return torch.compile(wrapper, backend="aot_eager") if kind == "compiled" else wrapper


def average_gradients(state, bucket):  # torch refuses annotations that are text
    calls.append(bucket.index())
    done = dist.all_reduce(bucket.buffer() / dist.get_world_size(), async_op=True).get_future()
    return done.then(lambda future: future.value()[0])


calls: list[int] = []


def train(kind: str) -> dict:
    """Train on this process's half of the samples; alone, on all."""
    rank, size = (dist.get_rank(), dist.get_world_size()) if dist.is_initialized() else (0, 1)
    model = network(kind)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.02)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.05, total_steps=STEPS)
    forward = wrap(model, kind)
    grower = Grower(forward, optimizer, (X, Y), "classification", how="gradmax", where=round_robin, when=10**6)
    x, y = X[rank::size], Y[rank::size]
    losses, same, used = [], [], 0
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = F.cross_entropy(forward(x), y)
        loss.backward()
        same.append(alike([p.grad for p in model.parameters()]))
        optimizer.step()
        scheduler.step()
        losses.append(float(loss.detach()))
        if step in GROWTH:
            assert grower.grow_now()
            fresh, used = [p.detach().clone() for p in model.parameters()], len(calls)
    state = [value for p in model.parameters() for value in optimizer.state[p].values()]
    return {
        "losses": losses,
        "model": model.state_dict(),
        "gradients alike": same,
        "parameters alike": alike(list(model.parameters())),
        "state alike": alike(state),
        "trained": [bool((p != q).any()) for p, q in zip(model.parameters(), fresh, strict=True)],
        "widths": [record.width for record in grower.history.records],
        "hook called": len(calls) > used,
    }


def alike(tensors: list[torch.Tensor]) -> bool:
    """Whether all processes have the same tensors, bit for bit."""
    if not dist.is_initialized():
        return True
    parts: list = [None] * dist.get_world_size()
    dist.all_gather_object(parts, tensors)
    return all(torch.equal(a, b) for part in parts[1:] for a, b in zip(parts[0], part, strict=True))


def refusal() -> str:
    """What is said of a wrapper whose group of processes is not the default one."""
    wrapper = DistributedDataParallel(network(""), process_group=dist.new_group([0, 1]))
    try:
        Grower(wrapper, None, (X, Y), "classification")
    except InputError as problem:
        return str(problem)
    return ""


CASES = ["plain", "views", "static", "hook", "buffers", "compiled"]

if __name__ == "__main__":
    dist.init_process_group("gloo")
    results = {name: train(name) for name in CASES} | {"other group": refusal()}
    torch.save(results, Path(sys.argv[1]) / f"{dist.get_rank()}.pt")
    dist.destroy_process_group()
