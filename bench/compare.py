"""Coefficients and CKA: time against other exact ways, in one run. One thread.

    python bench/compare.py [--images 200] [--samples 2000] [--networks 14]

Coefficients of the experiment's complex network (three 3 x 3 convolutions of 32 channels with max-pooling, 10 outputs)
at images of 3 x 32 x 32: creases, a backward pass for each output, vmap(jacrev), and a forward pass alone. All-pairs
CKA of matrices (samples, columns): creases, the formula by columns for each pair, and the textbook formula with
centred Gram matrices of samples. Peak memory of each is that of a process of its own.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import time
from collections.abc import Callable
from itertools import combinations

import numpy as np
import torch

import creases
from creases.compare import coefficients
from creases.compare.measures._cka import cka_matrix
from creases_reproduction.linearity.image_networks import network
from record import note


def measured(work: Callable[..., object], *arguments: object) -> tuple[float, float]:
    """Processor seconds and MiB at the peak above the start, of work in a process of its own; best time of three."""
    with multiprocessing.get_context("fork").Pool(1) as pool:
        return pool.apply(_measured, (work, *arguments))


def _measured(work: Callable[..., object], *arguments: object) -> tuple[float, float]:
    torch.set_num_threads(1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    times = []
    for _ in range(3):
        start = time.process_time()
        work(*arguments)
        times.append(time.process_time() - start)
    return min(times), (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024


def by_creases(count: int) -> None:
    net = creases.read(network("complex", 0), (3, 32, 32)).to(torch.float32)
    coefficients(net, images(count))


def forward(count: int) -> None:
    model = network("complex", 0)
    with torch.no_grad():
        for part in images(count).split(100):
            model(part)


def by_backward(count: int) -> None:
    model = network("complex", 0).requires_grad_(False)
    for part in images(count).split(100):
        part.requires_grad_()
        out = model(part)
        [torch.autograd.grad(out[:, j].sum(), part, retain_graph=j < 9)[0] for j in range(10)]


def by_jacrev(count: int) -> None:
    model = network("complex", 0).requires_grad_(False)
    jacobian = torch.func.vmap(torch.func.jacrev(lambda one: model(one[None])[0]), chunk_size=25)
    for part in images(count).split(100):
        jacobian(part)


def images(count: int) -> torch.Tensor:
    return torch.randn(count, 3, 32, 32, generator=torch.Generator().manual_seed(0))


def matrices(networks: int, samples: int, columns: int) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.normal(size=(samples, columns)) for _ in range(networks)]


def cka_by_creases(*sizes: int) -> None:
    cka_matrix(matrices(*sizes))


def cka_by_columns(*sizes: int) -> None:
    """Eq. (7.7) for each pair."""
    centred = [torch.from_numpy(X - X.mean(0)) for X in matrices(*sizes)]
    own = [torch.linalg.matrix_norm(X.T @ X) for X in centred]
    [(centred[a].T @ centred[b]).square().sum() / own[a] / own[b] for a, b in combinations(range(len(own)), 2)]


def cka_by_samples(*sizes: int) -> None:
    """``<HKH, HLH>`` with the centring matrix H, Gram matrices kept."""
    H = torch.eye(sizes[1], dtype=torch.float64) - 1 / sizes[1]
    grams = [H @ (X @ X.T) @ H for X in map(torch.from_numpy, matrices(*sizes))]
    own = [gram.norm() for gram in grams]
    [(grams[a] * grams[b]).sum() / own[a] / own[b] for a, b in combinations(range(len(own)), 2)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=200)
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--columns", type=int, default=1000)
    parser.add_argument("--networks", type=int, default=14)
    asked = parser.parse_args()
    print(f"coefficients of {asked.images} images, 10 outputs")
    alone, _ = measured(forward, asked.images)
    for name, work in {"creases": by_creases, "a backward pass each": by_backward, "vmap(jacrev)": by_jacrev}.items():
        seconds, memory = measured(work, asked.images)
        print(f"  {name:22s} {seconds:7.2f} s  {seconds / alone:5.1f} forward passes  {memory:7.0f} MiB")
    sizes = (asked.networks, asked.samples, asked.columns)
    print(f"CKA of all pairs of {sizes[0]} matrices {sizes[1]} x {sizes[2]}")
    ways = {"creases": cka_by_creases, "by columns": cka_by_columns, "by samples": cka_by_samples}
    note("matrices", str(sizes[0]))
    note("shape", f"{sizes[1]:,} by {sizes[2]:,}")
    for name, way in ways.items():
        seconds, memory = measured(way, *sizes)
        note({"creases": "cka"}.get(name, name.removeprefix("by ")), f"{seconds:.1f} s")
        print(f"  {name:22s} {seconds:7.2f} s  {memory:7.0f} MiB")


if __name__ == "__main__":
    main()
