"""Islands, holes and Betti numbers beside an exact count, a flood fill, known spaces and a peer, in one run.

    python bench/topology.py                   all of it; relucent where it is installed
    python bench/topology.py --networks 20     fewer planar networks
    python bench/topology.py --torus FILE      also relucent's own torus: in its repository
                                               tests/data/torus_boundary_model_seed2.pt

*Planar networks*: the exact count clips polygons by every unit in fractions, with no shared vertex and no tolerance,
and joins those that share a part of a side; it says how many islands each class has, the area of each, its holes and in
how many islands it lies. The flood fill counts on a grid and on one twice as fine; both miss what is narrower.

*Known spaces*: tori and nested shells of given thickness, whose Betti numbers are those of the spaces that they shrink
to.

*The torus*: where the boundary stays inside the box, those of the boundary follow from both sides (Mayer and Vietoris):
they add up, but for the one part of the box.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import time
from collections import defaultdict
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from scipy import ndimage

import creases
from record import note, note_table

Point = tuple[Fraction, Fraction]
Affine = tuple[Fraction, Fraction, Fraction]

BOX = [
    (Fraction(-1), Fraction(-1)),
    (Fraction(1), Fraction(-1)),
    (Fraction(1), Fraction(1)),
    (Fraction(-1), Fraction(1)),
]


def random_layers(seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(seed)
    outputs, width = int(rng.integers(1, 4)), int(rng.integers(5, 10))
    hidden = [(2 * rng.normal(size=(width, 2)), rng.normal(size=width))]
    hidden += [(rng.normal(size=(width, width)) / width**0.5, rng.normal(size=width))]
    last = rng.normal(size=(outputs, width)), 0.2 * rng.normal(size=outputs)
    if outputs > 1:
        return [*hidden, last]
    both = np.concatenate([last[0], -last[0]]), np.concatenate([last[1], -last[1]])
    return [*hidden, both, (-np.ones((1, 2)), np.zeros(1))]  # minus its magnitude: bands, with holes


# The exact count: polygons in fractions.


def sides(corners: list[Any]) -> list[tuple[Any, Any]]:
    return list(zip(corners, corners[1:] + corners[:1], strict=True))


def value(f: Affine, p: Point) -> Fraction:
    return f[0] * p[0] + f[1] * p[1] + f[2]


def halves(polygon: list[Point], f: Affine) -> list[tuple[bool, list[Point]]]:
    """The parts of a convex polygon where f is positive and where it is not, those that have an area."""
    values = [value(f, p) for p in polygon]
    if not any(v > 0 for v in values) or not any(v < 0 for v in values):
        return [(any(v > 0 for v in values), polygon)]
    parts: tuple[list[Point], list[Point]] = ([], [])
    for (p, u), (q, v) in sides(list(zip(polygon, values, strict=True))):
        for part, inside in zip(parts, (u >= 0, u <= 0), strict=True):
            if inside:
                part.append(p)
        if u * v < 0:
            t = u / (u - v)
            crossing = (p[0] + t * (q[0] - p[0]), p[1] + t * (q[1] - p[1]))
            for part in parts:
                part.append(crossing)
    return [(True, parts[0]), (False, parts[1])]


def exact_cells(layers: list[Any], level: float) -> list[tuple[int, list[Point]]]:
    """The convex cells of the box with the class of each."""
    exact = [([[Fraction(w) for w in row] for row in W.tolist()], [Fraction(v) for v in b.tolist()]) for W, b in layers]
    identity: list[Affine] = [(Fraction(1), Fraction(0), Fraction(0)), (Fraction(0), Fraction(1), Fraction(0))]
    cells: list[tuple[list[Point], list[Affine]]] = [(BOX, identity)]
    zero = (Fraction(0),) * 3
    for number, (W, b) in enumerate(exact):
        split: list[tuple[list[Point], list[Affine]]] = []
        for polygon, below in cells:
            rows: list[Affine] = []
            for weights, offset in zip(W, b, strict=True):
                x, y, c = (sum((w * f[k] for w, f in zip(weights, below, strict=True)), Fraction(0)) for k in range(3))
                rows.append((x, y, c + offset))
            if number == len(exact) - 1:
                split.append((polygon, rows))
                continue
            parts: list[tuple[list[Point], list[Affine]]] = [(polygon, [])]
            for row in rows:
                parts = [
                    (half, [*active, row if positive else zero])
                    for part, active in parts
                    for positive, half in halves(part, row)
                ]
            split += parts
        cells = split
    out: list[tuple[int, list[Point]]] = []
    for polygon, rows in cells:
        if len(rows) == 1:
            above = (*rows[0][:2], rows[0][2] - Fraction(level))
            out += [(int(positive), half) for positive, half in halves(polygon, above)]
            continue
        parts = [(polygon, [0])]
        for k in range(1, len(rows)):  # the largest so far against the next
            new = []
            for part, best in parts:
                lead = tuple(a - c for a, c in zip(rows[k], rows[best[0]], strict=True))
                new += [(half, [k] if wins else best) for wins, half in halves(part, lead)]
            parts = new
        out += [(best[0], part) for part, best in parts]
    return out


class Sets:
    """Disjoint sets of numbers."""

    def __init__(self, count: int) -> None:
        self.above = list(range(count))

    def find(self, i: int) -> int:
        while self.above[i] != i:
            self.above[i] = self.above[self.above[i]]
            i = self.above[i]
        return i

    def join(self, i: int, j: int) -> None:
        self.above[self.find(i)] = self.find(j)


def area(polygon: list[Point]) -> Fraction:
    return sum((p[0] * q[1] - p[1] * q[0] for p, q in sides(polygon)), Fraction(0)) / 2


def exact_islands(cells: list[tuple[int, list[Point]]]) -> list[tuple[int, float, int, int]]:
    """The class, area and holes of each island, and in how many islands it lies."""
    lines: dict[Any, list[tuple[Fraction, Fraction, int]]] = defaultdict(list)
    for i, (_, polygon) in enumerate(cells):
        for p, q in sides(polygon):
            if p[0] == q[0]:
                key, ends = ("x", p[0]), (p[1], q[1])
            else:
                slope = (q[1] - p[1]) / (q[0] - p[0])
                key, ends = (slope, p[1] - slope * p[0]), (p[0], q[0])
            lines[key].append((min(ends), max(ends), i))
    joined = Sets(len(cells))
    for parts in lines.values():
        for (a, b, i), (c, d, j) in combinations(parts, 2):
            if max(a, c) < min(b, d) and cells[i][0] == cells[j][0]:
                joined.join(i, j)
    island = [joined.find(i) for i in range(len(cells))]
    meeting = cells_at_vertices(cells)
    out = []
    inside: dict[int, int] = defaultdict(int)  # of each island, in how many it lies
    for own in set(island):
        rest = Sets(len(cells) + 1)  # what is not the island, the last: outside the box
        for vertex, around in meeting.items():
            outside = [len(cells)] if max(map(abs, vertex)) == 1 else []
            others = [i for i in around if island[i] != own] + outside
            for other in others[1:]:
                rest.join(others[0], other)
        parts = {rest.find(i) for i in range(len(cells)) if island[i] != own} | {rest.find(len(cells))}
        enclosed = {island[i] for i in range(len(cells)) if island[i] != own and rest.find(i) != rest.find(len(cells))}
        for other in enclosed:
            inside[other] += 1
        out.append((own, len(parts) - 1))
    size: dict[int, Fraction] = defaultdict(Fraction)
    for i, (_, polygon) in enumerate(cells):
        size[island[i]] += area(polygon)
    return sorted((cells[own][0], round(float(size[own]), 9), holes, inside[own]) for own, holes in out)


def cells_at_vertices(cells: list[tuple[int, list[Point]]]) -> dict[Point, list[int]]:
    """Every vertex with the closed cells that it lies in: candidates by rounded boxes, decided in fractions."""
    boxes = np.array([[[float(min(c)), float(max(c))] for c in zip(*polygon, strict=True)] for _, polygon in cells])
    out = {}
    for vertex in {p for _, polygon in cells for p in polygon}:
        at = np.array([float(c) for c in vertex])
        near = ((boxes[:, :, 0] <= at + 1e-9) & (at - 1e-9 <= boxes[:, :, 1])).all(axis=1)
        out[vertex] = [i for i in np.flatnonzero(near).tolist() if contains(cells[i][1], vertex)]
    return out


def contains(polygon: list[Point], x: Point) -> bool:
    return all((q[0] - p[0]) * (x[1] - p[1]) >= (q[1] - p[1]) * (x[0] - p[0]) for p, q in sides(polygon))


# Islands as creases counts them, and the flood fill.


def our_islands(found: creases.regions.Topology) -> list[tuple[int, float, int, int]]:
    def depth(island: int) -> int:
        hole = int(found.inside[island])
        return 0 if hole < 0 else 1 + depth(int(found.holes[hole]))

    numbers = range(len(found.classes))
    holes = np.bincount(found.holes, minlength=len(found.classes))
    return sorted((int(found.classes[i]), round(float(found.sizes[i]), 9), int(holes[i]), depth(i)) for i in numbers)


def flood_fill(net: creases.Network, level: float, size: int) -> list[tuple[int, int]]:
    """The islands and holes of each class on a grid: pixels of an island share sides, those of a hole corners, too."""
    at = (np.arange(size) + 0.5) / size * 2 - 1
    values = net(np.stack(np.meshgrid(at, at, indexing="ij"), -1).reshape(-1, 2)).reshape(size, size, -1)
    classes = (values[..., 0] > level).astype(int) if net.n_out == 1 else values.argmax(-1)
    masks = [classes == label for label in range(max(2, net.n_out))]
    outside = [np.pad(~mask, 1, constant_values=True) for mask in masks]
    holes = [ndimage.label(mask, np.ones((3, 3)))[1] - 1 for mask in outside]
    return [(ndimage.label(mask)[1], count) for mask, count in zip(masks, holes, strict=True)]


def planar(console: Console, networks: int, size: int) -> None:
    exact = filled = differ = open_grids = islands = holes = 0
    seconds = {"creases": 0.0, "exact": 0.0, "grid": 0.0}
    for seed in range(networks):
        layers = random_layers(seed)
        net = creases.read(layers)
        start = time.process_time()
        partition = creases.plane(net)
        level = float(np.median(partition.values)) if net.n_out == 1 else 0.0
        found = partition.topology(level=level)
        seconds["creases"] += time.process_time() - start
        ours = our_islands(found)
        start = time.process_time()
        same = ours == exact_islands(exact_cells(layers, level))
        seconds["exact"] += time.process_time() - start
        exact += same
        if not same:
            console.print(f"network {seed}: {ours}, exactly {exact_islands(exact_cells(layers, level))}")
        start = time.process_time()
        coarse, fine = (flood_fill(net, level, pixels) for pixels in (size, 2 * size))
        seconds["grid"] += time.process_time() - start
        counts = [(sum(i[0] == k for i in ours), sum(i[2] for i in ours if i[0] == k)) for k in range(len(fine))]
        open_grids += coarse != fine
        filled += coarse == fine == counts
        differ += coarse == fine != counts
        if coarse == fine != counts:
            console.print(
                f"network {seed}: {counts}, both grids {fine}; smallest islands {sorted(i[1] for i in ours)[:3]}"
            )
        islands, holes = islands + len(ours), holes + sum(i[2] for i in ours)
    rows = [
        [
            "exact count in fractions",
            f"{exact} of {networks}",
            "0" if exact == networks else str(networks - exact),
            "0",
        ],
        [f"flood fill, {size}² and {2 * size}²", f"{filled} of {networks}", str(differ), str(open_grids)],
    ]
    columns = ["judge", "equal", "different", "grids disagree"]
    table = Table(*columns, title=f"{networks} planar networks: {islands} islands, {holes} holes")
    for row in rows:
        table.add_row(*row)
    console.print(table)
    console.print("CPU-seconds: " + ", ".join(f"{name} {taken:.1f}" for name, taken in seconds.items()))
    note_table("planar", columns, rows)
    note("exact", f"{exact} of {networks}")


# Known spaces.


class Function(torch.nn.Module):
    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.function(x)


def shell(x: torch.Tensor, radius: float, width: float = 0.15) -> torch.Tensor:
    return width - (x.abs().amax(1, keepdim=True) - radius).abs()


def ring(x: torch.Tensor, radius: float = 1.0) -> torch.Tensor:
    return 0.3 - (x[:, :2].abs().amax(1, keepdim=True) - radius).abs() - x[:, 2:].abs().sum(1, keepdim=True)


def hollow_ring(x: torch.Tensor) -> torch.Tensor:
    """Positive near the surface of a torus."""
    return 0.08 - (ring(x) - 0.1).abs()


SPACES = {
    "ball": (lambda x: 0.7 - x.abs().amax(1, keepdim=True), 3, (1, 0, 0), (1, 0, 1)),
    "solid torus": (ring, 3, (1, 1, 0), (1, 1, 1)),
    "surface of a torus, thickened": (hollow_ring, 3, (1, 2, 1), (2, 2, 1)),
    "shell": (lambda x: shell(x, 1.0), 3, (1, 0, 1), (2, 0, 1)),
    "two nested shells": (lambda x: torch.maximum(shell(x, 0.3), shell(x, 1.0)), 3, (2, 0, 2), (3, 0, 2)),
    "torus in a shell": (lambda x: torch.maximum(0.5 * ring(2 * x), shell(x, 1.3)), 3, (2, 1, 1), (2, 1, 2)),
    "solid ring in 4-D": (ring, 4, (1, 1, 0, 0), (1, 0, 1, 1)),
    "thick torus in 4-D": (
        lambda x: torch.minimum(shell(x[:, :2], 1.0), shell(x[:, 2:], 1.0)), 4, (1, 2, 1, 0), (1, 1, 2, 1),
    ),
}  # fmt: skip


def known(console: Console) -> None:
    columns = ["space", "regions", "Betti numbers inside", "outside", "known"]
    rows = []
    for name, (function, n, inside, outside) in SPACES.items():
        partition = creases.space(creases.read(Function(function), (n,)), (-1.6, 1.6))
        found = partition.topology()
        numbers = found.betti_numbers(1), found.betti_numbers(0)
        texts = [", ".join(map(str, each)) for each in numbers]
        rows.append(
            [name, str(partition.count), *texts, "equal" if numbers == (inside, outside) else f"{inside}, {outside}"]
        )
    table = Table(*columns)
    for row in rows:
        table.add_row(*row)
    console.print(table)
    note_table("known", columns, rows)


def torus(console: Console, file: str) -> None:
    """The boundary of relucent's classifier of points on a torus, by creases and by relucent."""
    weights = [w.double() for w in torch.load(file, map_location="cpu", weights_only=True).values()]
    layers = list(zip(weights[0::2], weights[1::2], strict=True))
    start = time.process_time()
    partition = creases.space(creases.read([(W.numpy(), b.numpy()) for W, b in layers]), (-4, 4))
    found = partition.topology()
    inside, outside = found.betti_numbers(1), found.betti_numbers(0)
    both = [a + b - (k == 0) for k, (a, b) in enumerate(zip(inside, outside, strict=True))]
    rows = [["creases", str(partition.count), ", ".join(map(str, both)), f"{time.process_time() - start:.2f}"]]
    if importlib.util.find_spec("relucent") is not None:
        import relucent

        net = torch.nn.Sequential()
        for W, b in layers:
            linear = torch.nn.Linear(W.shape[1], W.shape[0], dtype=torch.float64)
            linear.load_state_dict({"weight": W, "bias": b})
            net.append(linear).append(torch.nn.ReLU())  # the last: its crease is the boundary
        start = sum(os.times()[:4])
        torch.manual_seed(2)
        cells = relucent.Complex(net)
        cells.bfs(start=torch.randn((1, 3), dtype=torch.float64), nworkers=1, verbose=0)
        numbers = cells.boundary_complex(cells.n - 1, verbose=0).betti_numbers(verbose=0)
        taken = sum(os.times()[:4]) - start  # with that of its processes that have ended
        rows.append(["relucent", str(len(cells)), ", ".join(str(numbers.get(k, 0)) for k in range(3)), f"{taken:.2f}"])
    columns = ["torus", "regions", "Betti numbers of the boundary", "CPU-seconds"]
    table = Table(*columns)
    for row in rows:
        table.add_row(*row)
    console.print(table)
    note_table("torus", columns, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", type=int, default=200)
    parser.add_argument("--grid", type=int, default=500)
    parser.add_argument("--torus", metavar="FILE")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    console = Console(width=120)
    known(console)
    if arguments.torus:
        torus(console, arguments.torus)
    if arguments.networks:
        planar(console, arguments.networks, arguments.grid)


if __name__ == "__main__":
    main()
