"""Exact regions: counts and times, beside a forward pass at the vertices and a peer, in one run on one thread.

    python bench/regions.py                  the reference cases, and relucent where it can finish
    python bench/regions.py --device cuda    large planes on a GPU
    python bench/regions.py --threads 1 2    planes and spaces on one and on two threads, results compared bit for bit
    python bench/regions.py --units 500 1600 5300 --tiles 32    memory over regions, in tiles on all cores
    python bench/regions.py --units 5300 --tiles 32 --jobs 2    the same in two processes

Beside each time stands one float64 forward pass of the network at the vertices of the final partition, batched, on one
thread. It is no limit: regions that share what they compute take less. Times are the best of several warm runs; the
first call of all, which compiles the kernels on a fresh machine, is printed apart. SyReNN (C++ core, float32) and edge
subdivision are columns measured elsewhere on a machine of the same kind; they are printed beside ours, not run here.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import resource
import tempfile
import time
from collections.abc import Callable
from dataclasses import fields
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

import creases
from record import note_table

CASES = Path(__file__).parents[1] / "tests" / "data" / "regions"
#: case: (dimension, regions, SyReNN's seconds, edge subdivision's seconds)
REFERENCE = {
    "m2_16x2": (2, 101, 0.0008, 0.045),
    "m2_32x3": (2, 788, 0.0044, 0.185),
    "m2_64x3": (2, 4066, 0.040, 0.55),
    "m2_128x3": (2, 23350, 0.459, 10.9),
    "m3_16x2": (3, 756, None, 0.059),
    "m4_12x2": (4, 1277, None, 0.061),
}


#: case: the network in words
NETWORKS = {
    "m2_16x2": "2-16-16-1",
    "m2_32x3": "2-32-32-32-1",
    "m2_64x3": "2-64-64-64-1",
    "m2_128x3": "2-128-128-128-1",
    "m3_16x2": "3-16-16-1, in space",
    "m4_12x2": "4-12-12-1, in space",
}


#: Networks of more inputs, whose regions in a box are found on several threads too.
SPACES = [[4, 12, 12, 1], [5, 10, 10, 1], [4, 24, 24, 1], [5, 16, 16, 1]]


def layers_of(name: str) -> list[tuple[np.ndarray, np.ndarray]]:
    with np.load(CASES / f"{name}.npz") as data:
        return [(data[f"W{i}"], data[f"b{i}"]) for i in range(len(data["widths"]) - 1)]


def random_network(widths: list[int]) -> creases.Network:
    """nn.Linear's default initialisation, seed 0, float64: as the reference cases."""
    torch.manual_seed(0)
    linears = [torch.nn.Linear(a, b, dtype=torch.float64) for a, b in pairwise(widths)]
    return creases.read([(m.weight.detach().numpy(), m.bias.detach().numpy()) for m in linears])


def best(run: Callable[[], Any], repeats: int) -> float:
    """Seconds of the fastest of some runs: so many, and for half a second at least (short ones vary the most)."""
    times: list[float] = []
    while len(times) < repeats or sum(times) < 0.5:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def partition(net: creases.Network) -> Any:
    if net.n_in == 2:
        return creases.plane(net, box=[(-1, 1)] * 2)
    return creases.space(net, box=[(-1, 1)] * net.n_in)


def relucent_regions(name: str) -> tuple[int, float]:
    """Regions relucent finds in the same box on one process, without its certificates, and its time."""
    import relucent

    net = torch.nn.Sequential()
    layers = layers_of(name)
    for i, (W, b) in enumerate(layers):
        linear = torch.nn.Linear(W.shape[1], W.shape[0], dtype=torch.float64)
        linear.load_state_dict({"weight": torch.from_numpy(W), "bias": torch.from_numpy(b)})
        net.append(linear)
        if i + 1 < len(layers):
            net.append(torch.nn.ReLU())
    start = time.perf_counter()
    cplx = relucent.Complex(net)
    cplx.bfs(cube_radius=1.0, cube_mode="intersect", nworkers=1, verify=False, verbose=0)
    return len(cplx), time.perf_counter() - start


def on_cpu(console: Console, repeats: int, peer: bool) -> None:
    torch.set_num_threads(1)
    start = time.perf_counter()
    partition(creases.read(layers_of("m2_16x2")))
    console.print(
        f"first call of all, plane: {time.perf_counter() - start:.2f} s (compiles the kernels where not cached)"
    )
    start = time.perf_counter()
    partition(creases.read(layers_of("m3_16x2")))
    console.print(f"first call of all, space: {time.perf_counter() - start:.2f} s")
    installed = importlib.util.find_spec("relucent") is not None
    table = Table(
        "case",
        "regions",
        "reference",
        "ms",
        "regions/s",
        "forward ms",
        "x forward",
        "x SyReNN",
        "x edge subdiv.",
        "x relucent",
    )
    rows: list[list[str]] = []
    for name, (_, regions, syrenn, edges) in REFERENCE.items():
        net = creases.read(layers_of(name))
        found = partition(net)
        taken = best(lambda net=net: partition(net), repeats)
        points = torch.from_numpy(found.vertices)
        with torch.no_grad():
            forward = best(lambda net=net, points=points: net(points), repeats)
        against, seconds = "-", None
        if peer and installed and regions < 1500:
            count, seconds = relucent_regions(name)
            against = f"{seconds / taken:,.0f} ({count} in {seconds:.1f} s)"
        table.add_row(
            name, str(found.count), str(regions), f"{1e3 * taken:.2f}", f"{found.count / taken:,.0f}",
            f"{1e3 * forward:.2f}", f"{taken / forward:.1f}", f"{syrenn / taken:.1f}" if syrenn else "-",
            f"{edges / taken:.1f}", against,
        )  # fmt: skip
        peers = f"{seconds:.0f} s" if seconds else ""
        shown = f"{1e3 * taken:.2g} ms" if taken < 0.095 else f"{1e3 * taken:.0f} ms"
        rows.append([NETWORKS[name], f"{found.count:,}", shown, f"{taken / forward:.1f}", peers])
    note_table("planes", ["network", "regions", "time", "time / forward pass at the vertices", "relucent 1.0"], rows)
    console.print(table)
    if peer and not installed:
        console.print("relucent is not installed (pip install relucent): its column is empty")


def on_threads(console: Console, threads: list[int], widths: list[int], repeats: int) -> None:
    table = Table("network", "regions", *(f"{n} threads, ms" for n in threads), "x first", "bit-equal")
    shapes = [[2, width, width, width, 1] for width in widths]
    for shape in [*shapes, *SPACES]:
        net = random_network(shape)
        times, found = [], []
        for count in threads:
            torch.set_num_threads(count)
            found.append(partition(net))
            times.append(best(lambda net=net: partition(net), repeats))
        arrays = [field.name for field in fields(found[0]) if isinstance(getattr(found[0], field.name), np.ndarray)]
        equal = all(np.array_equal(getattr(p, a), getattr(found[0], a)) for p in found for a in arrays)
        table.add_row(
            "-".join(map(str, shape)), f"{found[0].count:,}", *(f"{1e3 * seconds:.2f}" for seconds in times),
            f"{times[0] / times[-1]:.2f}", "yes" if equal else "NO",
        )  # fmt: skip
    console.print(table)


def in_tiles(console: Console, units: list[int], tiles: int, jobs: int | None) -> None:
    """Planes of one layer of random lines, whose number of regions is about a third of the square of the units."""
    console.print(f"{jobs or os.cpu_count()} processes")
    table = Table("units", "tiles", "regions", "s", "regions/s", "largest process, GB", "files, GB")
    for count in units:
        rng = np.random.default_rng(0)
        layers = [(rng.normal(size=(count, 2)), 0.3 * rng.normal(size=count)), (np.ones((1, count)), np.zeros(1))]
        with tempfile.TemporaryDirectory() as folder:
            start = time.perf_counter()
            found = creases.regions.plane_tiles(creases.read(layers), folder, tiles=tiles, n_jobs=jobs)
            seconds = time.perf_counter() - start
            size = sum(path.stat().st_size for path in Path(folder).glob("tile-*.npz"))
            largest = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
            table.add_row(
                f"{count:,}", f"{len(found):,}", f"{found.count:,}", f"{seconds:.1f}", f"{found.count / seconds:,.0f}",
                f"{largest / 2**20:.2f}", f"{size / 1e9:.2f}",
            )  # fmt: skip
    console.print(table)


def on_gpu(console: Console, device: str, widths: list[int], repeats: int) -> None:
    table = Table("network", "regions", "vertices", "edges", "s", "regions/s", "areas - box", "largest |f - piece|")
    for width in widths:
        net = random_network([2, width, width, width, 1]).to(device)
        partition(net)
        torch.cuda.synchronize()
        taken = best(lambda net=net: partition(net), repeats)
        found = partition(net)
        rng = np.random.default_rng(0)
        t = rng.uniform(-1, 1, (10_000, 2))
        region = found.locate(t)
        J, y = found.pieces()
        error = np.abs(np.einsum("nmk,nk->nm", J[region], t) + y[region] - net(t)).max()
        table.add_row(
            f"2-{width}-{width}-{width}-1", f"{found.count:,}", f"{len(found.vertices):,}", f"{len(found.edges):,}",
            f"{taken:.3f}", f"{found.count / taken:,.0f}", f"{found.areas().sum() - 4:.1e}", f"{error:.1e}",
        )  # fmt: skip
    console.print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}")
    console.print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--widths", type=int, nargs="+", help="units in each of three layers")
    parser.add_argument("--threads", type=int, nargs="+", help="measure planes on so many threads")
    parser.add_argument("--units", type=int, nargs="+", help="measure planes of one layer of so many units, in tiles")
    parser.add_argument("--tiles", type=int, default=16, help="tiles along each side")
    parser.add_argument("--jobs", type=int, help="processes that compute tiles; one for each core by default")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--no-peer", action="store_true", help="leave relucent out (it takes minutes)")
    options = parser.parse_args()
    console = Console(width=160)
    if options.threads:
        on_threads(console, options.threads, options.widths or [8, 16, 32, 64, 128, 256], options.repeats)
    elif options.units:
        in_tiles(console, options.units, options.tiles, options.jobs)
    elif options.device == "cpu":
        on_cpu(console, options.repeats, not options.no_peer)
    else:
        on_gpu(console, options.device, options.widths or [128, 256, 512, 640], min(options.repeats, 3))


if __name__ == "__main__":
    main()
