"""Time the sweep of section 3.4.2 of the dissertation on a CUDA device: 1,998,000 networks, 1.3e9 network-epochs.

    python bench/lab_cuda.py [--trials 100] [--threads 12] [--out table.csv]

Networks of widths 2 to 10 and depths 1 to 5, with ReLU and leaky ReLU, 100 for each of the 222 classes of functions of
four bits: Adam at 0.025 on the binary cross-entropy of all 16 points, until all are right or 4000 epochs are over. The
time is that of everything from the first call on: compilation, first weights, transfers. Each shape and bend is one
call of ``lab.train``; several run at a time, each in a stream of its own, so that they fill the device together. A
call's seconds are those it shares with others.

Beside it stands the same step written with torch.bmm, captured as a CUDA graph so that it is not bound by launches.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from creases import lab

BITS, LR, EPOCHS = 4, 0.025, 4000
POINTS = np.arange(2**BITS)[:, None] >> np.arange(BITS) & 1


def classes() -> NDArray[np.int64]:
    """The least function of each class under permutation and negation of inputs, and negation of the output."""
    functions = np.arange(2 ** len(POINTS))
    values = functions[:, None] >> np.arange(len(POINTS)) & 1
    moved = [POINTS ^ np.eye(BITS, dtype=int)[i] for i in range(BITS)]
    moved += [POINTS[:, [*range(i), i + 1, i, *range(i + 2, BITS)]] for i in range(BITS - 1)]
    images = [values[:, points @ (1 << np.arange(BITS))] @ (1 << np.arange(len(POINTS))) for points in moved]
    images.append(functions[-1] - functions)
    least, before = functions, None
    while before is None or (least != before).any():
        before = least
        for image in images:
            least = np.minimum(least, least[image])
    return np.unique(least)


def job(width: int, depth: int, leak: float, trials: int, functions: NDArray[np.int64]) -> dict[str, float]:
    """Train all networks of one shape and bend."""
    labels = np.repeat(functions[:, None] >> np.arange(len(POINTS)) & 1, trials, axis=0)
    start = time.perf_counter()
    with torch.cuda.stream(torch.cuda.Stream()):
        batch = lab.Batch.initial(
            len(labels), [BITS, *[width] * depth, 1], seed=1000 * width + depth, leak=leak, init="he"
        )
        begun = time.perf_counter()
        done = lab.train(
            batch,
            2 * POINTS - 1,
            labels,
            epochs=EPOCHS,
            loss="binary_cross_entropy",
            lr=LR,
            until_accuracy=1.0,
            device="cuda",
        )
    end = time.perf_counter()
    won = (done.accuracy == 1).reshape(-1, trials).mean(axis=1)
    return {
        "width": width,
        "depth": depth,
        "leak": leak,
        "networks": len(labels),
        "epochs": int(done.epochs.sum()),
        "seconds": end - begun,
        "drawing": begun - start,
        "success": float(won.mean()),
        "least": float(won.min()),
    }


def by_graph(count: int, widths: list[int], steps: int) -> float:
    """Network-epochs per second of batched torch: Adam on bmm, one step captured as a graph."""
    batch = lab.Batch.initial(count, widths, seed=0)
    parts = [
        torch.tensor(part, device="cuda") for pair in zip(batch.weights, batch.biases, strict=True) for part in pair
    ]
    for part in parts:
        part.requires_grad_()
    optimizer = torch.optim.Adam(parts, lr=LR, capturable=True, fused=True)
    X = torch.tensor(2.0 * POINTS - 1, device="cuda", dtype=torch.float32).expand(count, -1, -1)
    y = torch.randint(0, 2, (count, len(POINTS), 1), device="cuda").float()

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        h = X
        for k, (W, b) in enumerate(zip(parts[::2], parts[1::2], strict=True)):
            h = torch.baddbmm(b[:, None], h.relu() if k else h, W.mT)
        (torch.nn.functional.binary_cross_entropy_with_logits(h, y) * count).backward()
        optimizer.step()

    aside = torch.cuda.Stream()
    with torch.cuda.stream(aside):
        for _ in range(3):
            step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    graph.replay()
    return count * steps / _seconds(lambda: [graph.replay() for _ in range(steps)])


def by_lab(count: int, widths: list[int], epochs: int) -> float:
    """Network-epochs per second of the lab, with no network done before the end."""
    batch = lab.Batch.initial(count, widths, seed=0)
    y = np.random.default_rng(0).integers(0, 2, (count, len(POINTS)))
    return (
        count
        * epochs
        / _seconds(
            lambda: lab.train(
                batch, 2 * POINTS - 1, y, epochs=epochs, loss="binary_cross_entropy", lr=LR, device="cuda"
            )
        )
    )


def _seconds(do: Callable[[], object]) -> float:
    torch.cuda.synchronize()
    start = time.perf_counter()
    do()
    torch.cuda.synchronize()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--threads", type=int, default=12)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    print(torch.cuda.get_device_name())
    start = time.perf_counter()
    functions = classes()
    sizes = sorted(product(range(2, 11), range(1, 6)), key=lambda size: -size[1] * size[0] ** 2)
    todo = [(*size, leak) for size in sizes for leak in (0.0, 0.1)]
    job(*todo[-1], 1, functions)  # compiles
    compiled = time.perf_counter() - start
    with ThreadPoolExecutor(options.threads) as pool:
        rows = list(pool.map(lambda each: job(*each, options.trials, functions), todo))
    total = time.perf_counter() - start
    for row in rows:
        print("{width:2d} x {depth} leak {leak:.1f}: {seconds:6.2f} s".format(**row), end="")
        print(f" {row['epochs'] / row['seconds'] / 1e6:7.1f}M network-epochs/s, {row['success']:.3f} succeed")
    epochs, networks = (sum(row[name] for row in rows) for name in ("epochs", "networks"))
    print(f"{networks} networks, {epochs:.3e} network-epochs in {total:.1f} s ({compiled:.1f} s before the first)")
    print(f"{epochs / total / 1e6:.0f}M network-epochs/s, {networks / total:.0f} trainings/s")
    if options.out:
        with options.out.open("w", newline="") as file:
            table = csv.DictWriter(file, list(rows[0]))
            table.writeheader()
            table.writerows(rows)
    for width, depth in ((3, 1), (6, 3), (10, 5)):
        widths = [BITS, *[width] * depth, 1]
        graph, ours = by_graph(22200, widths, 200), by_lab(22200, widths, EPOCHS)
        print(f"{width} x {depth}: lab {ours / 1e6:.1f}M, bmm in a graph {graph / 1e6:.1f}M, {ours / graph:.1f} times")


if __name__ == "__main__":
    main()
