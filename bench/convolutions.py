"""Planes and regions of convolutional networks of 3 x 32 x 32 inputs: CPU seconds on one thread.

    python bench/convolutions.py

Random networks (nn.Conv2d's default initialisation, strides of 2 from the second layer on), in the plane through three
random images close to each other. Beside it stands one float64 forward pass at the vertices of the final partition.
Seconds are CPU time of the process, which other work on the machine changes less than the time on the clock. A region
is that of one image (``creases.cell``), with its nearest crease and its nearest decision boundary.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch
from rich.console import Console
from rich.table import Table
from torch import nn

import creases
from record import note, note_table

SHAPE = (3, 32, 32)
FORWARD = "forward pass at the vertices"
#: channels of each convolution, and the distance between the images as a fraction of that of random ones
CASES = {(2, 4, 8): 0.1, (4, 8, 16): 0.05, (8, 16, 32): 0.05}


def network(channels: tuple[int, ...]) -> creases.Network:
    torch.manual_seed(0)
    layers: list[nn.Module] = []
    for i, (before, after) in enumerate(zip((3, *channels), channels, strict=False)):
        layers += [nn.Conv2d(before, after, 3, stride=1 if i == 0 else 2, padding=1), nn.ReLU()]
    side = 32 // 2 ** (len(channels) - 1)
    return creases.read(nn.Sequential(*layers, nn.Flatten(), nn.Linear(channels[-1] * side**2, 10)), SHAPE)


def seconds(run: Callable[[], Any]) -> tuple[Any, float]:
    start = time.process_time()
    result = run()
    return result, time.process_time() - start


def forward_pass(net: creases.Network, points: Any) -> None:
    for first in range(0, len(points), 256):  # batches that fit in the cache
        net.to(torch.float64)(points[first : first + 256])


def main() -> None:
    torch.set_num_threads(1)
    times_of = ("plane", FORWARD, f"plane / {FORWARD}", "`cell` of an image", "nearest crease", "nearest boundary")
    table = Table(*(columns := ["units", "regions", *times_of]))
    rows = []
    a, b, c = torch.rand(3, *SHAPE, generator=torch.Generator().manual_seed(1))
    creases.plane_through(network((2, 2)), a, a + (b - a) / 100, a + (c - a) / 100)  # compiles the kernels
    for channels, near in CASES.items():
        net = network(channels)
        points = a, torch.lerp(a, b, near), torch.lerp(a, c, near)
        plane, time_plane = seconds(lambda net=net, points=points: creases.plane_through(net, *points))
        _, forward = seconds(lambda net=net, plane=plane: forward_pass(net, plane.points(plane.vertices)))
        cell, time_cell = seconds(lambda net=net: creases.cell(net, a))
        _, crease = seconds(lambda cell=cell: cell.nearest_crease)
        _, boundary = seconds(lambda cell=cell: cell.nearest_boundary)
        times = [time_plane, forward, time_plane / forward, time_cell, crease, boundary]
        rows.append([f"{net.n_units:,}", f"{plane.count:,}", *(f"{t:.2g}" for t in times)])
        table.add_row(*rows[-1])
    note("inputs", " x ".join(map(str, SHAPE)))
    note_table("planes", columns, rows)
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
