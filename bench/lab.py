"""Count trainings per second: lab.train against three ways of doing it with torch, on functions of 4 bits.

    OMP_NUM_THREADS=1 python bench/lab.py

A training is 4000 epochs of full-batch Adam (learning rate 0.025) on the binary cross-entropy of a Boolean function at
its 16 points; what is timed is some epochs of several networks, on one thread, in processor time; the shortest of
several rounds counts, all in turn. Shapes are width x depth. The three ways:

- loop: one ``nn.Module`` after another, with ``torch.optim.Adam``;
- vmap: all networks as one by ``torch.func`` (``functional_call``, ``grad``, ``vmap``), Adam on stacked parameters;
- bmm: stacked weights, batched matrix products and autograd, Adam on stacked parameters.

Beside them stands what the machine could do: the time that the multiplications and additions of the gradients alone
(3 for each weight and sample) would take at the rate of fused multiply-adds that one core reaches in a loop of them.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, stack_module_state, vmap

from creases.lab import Batch, train
from record import note_table

SHAPES = {"3x1": (4, 3, 1), "2x2": (4, 2, 2, 1), "6x3": (4, 6, 6, 6, 1), "10x5": (4, 10, 10, 10, 10, 10, 1)}
POINTS = np.array([[x >> i & 1 for i in range(4)] for x in range(16)], np.float32)
EPOCHS, LR = 4000, 0.025

#: For each way: networks and epochs of a round.
ROUNDS = {"creases": (1024, 200), "loop": (1, 60), "vmap": (1024, 8), "bmm": (1024, 8)}

binary = nn.functional.binary_cross_entropy_with_logits

Run = Callable[[int], object]  # some epochs more


def creases(batch: Batch, y: Tensor) -> Run:
    return lambda epochs: train(batch, POINTS, y.numpy(), epochs=epochs, loss="binary_cross_entropy", lr=LR)


def loop(batch: Batch, y: Tensor) -> Run:
    points, models = torch.from_numpy(POINTS), [batch.module(n).float() for n in range(batch.count)]
    optimizers = [torch.optim.Adam(model.parameters(), lr=LR) for model in models]

    def run(epochs: int) -> None:
        for model, optimizer, bits in zip(models, optimizers, y, strict=True):
            for _ in range(epochs):
                optimizer.zero_grad()
                binary(model(points)[:, 0], bits).backward()
                optimizer.step()

    return run


def vmapped(batch: Batch, y: Tensor) -> Run:
    points, base = torch.from_numpy(POINTS), batch.module(0).float()
    state, _ = stack_module_state([batch.module(n).float() for n in range(batch.count)])
    gradients = vmap(grad(lambda own, bits: binary(functional_call(base, own, points)[:, 0], bits)))
    optimizer = torch.optim.Adam(list(state.values()), lr=LR)

    def run(epochs: int) -> None:
        for _ in range(epochs):
            for name, found in gradients({name: part.detach() for name, part in state.items()}, y).items():
                state[name].grad = found
            optimizer.step()

    return run


def multiplied(batch: Batch, y: Tensor) -> Run:
    weights, biases = (
        [torch.from_numpy(part.copy()).requires_grad_() for part in stack] for stack in (batch.weights, batch.biases)
    )
    optimizer = torch.optim.Adam([*weights, *biases], lr=LR)
    points = torch.from_numpy(POINTS).expand(batch.count, -1, -1)

    def run(epochs: int) -> None:
        for _ in range(epochs):
            optimizer.zero_grad()
            h = points
            for k, (W, b) in enumerate(zip(weights, biases, strict=True)):
                h = torch.baddbmm(b[:, None], h.relu() if k else h, W.transpose(1, 2))  # (B, 16, units)
            (binary(h[..., 0], y) * batch.count).backward()
            optimizer.step()

    return run


WAYS: dict[str, Callable[[Batch, Tensor], Run]] = {
    "creases": creases,
    "loop": loop,
    "vmap": vmapped,
    "bmm": multiplied,
}


def peak(seconds: float = 0.3) -> float:
    """Fused multiply-adds of float32 numbers per second on this core: 16 chains of vectors in registers."""
    import numba

    from creases.lab._simd import fma, load_wide, store_wide, vectors

    @numba.njit
    def chains(memory, steps):  # type: ignore[no-untyped-def]
        rows = vectors(memory, 0)
        one, other, factor = load_wide(rows, 0), load_wide(rows, 1), load_wide(rows, 2)
        for _ in range(steps):
            one, other = fma(one, factor, factor), fma(other, factor, factor)
        store_wide(rows, 0, one)
        store_wide(rows, 1, other)

    memory = np.zeros(3 * 128 + 16, np.float32)
    memory = memory[-memory.ctypes.data % 64 // 4 :]
    chains(memory, 1)
    steps, best, end = 20_000, float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        chains(memory, steps)
        best = min(best, time.perf_counter() - start)
    return steps * 2 * 128 / best


def rates(shape: tuple[int, ...], rounds: int) -> dict[str, float]:
    """Network-epochs per second of each way."""
    runs, shortest = {}, dict.fromkeys(WAYS, float("inf"))
    for name, way in WAYS.items():
        count, _ = ROUNDS[name]
        y = torch.from_numpy(np.random.default_rng(0).integers(0, 2, (count, 16)).astype(np.float32))
        runs[name] = way(Batch.initial(count, shape, seed=0, init="he"), y)
        runs[name](1)  # compilers and caches
    for _ in range(rounds):
        for name, run in runs.items():
            start = time.process_time()
            run(ROUNDS[name][1])
            shortest[name] = min(shortest[name], time.process_time() - start)
    return {name: np.prod(ROUNDS[name]) / seconds for name, seconds in shortest.items()}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rounds", type=int, default=5)
    given = arguments.parse_args()
    torch.set_num_threads(1)
    top = peak()
    print(f"one core: {top / 1e9:.0f} G fused multiply-adds a second")
    rows = []
    for name, shape in SHAPES.items():
        found = rates(shape, given.rounds)
        ours = found.pop("creases")
        rows.append([name, f"{ours / 1e6:.2g} M", *(f"{ours / rate:.0f}" for rate in found.values())])
        limit = top / (3 * 16 * sum((m + 1) * o for m, o in pairwise(shape)))
        print(
            f"{name:5} creases {ours / 1e6:6.2f} M network-epochs/s, {ours / EPOCHS:5.0f} trainings/s "
            f"({ours / limit:.0%} of the core's multiply-adds);  "
            + ", ".join(f"{way} {rate / 1e6:.4f} M, {ours / rate:.0f} x slower" for way, rate in found.items())
        )
    note_table("trainings", ["shape", "network-epochs/s", "plain loop", "vmap", "bmm"], rows)


if __name__ == "__main__":
    main()
