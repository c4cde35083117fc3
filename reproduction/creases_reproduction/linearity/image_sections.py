"""Cross-sections of image networks through three images: Figures 6.8 to 6.13 of the dissertation, exact and by grid.

    python -m creases_reproduction.linearity.image_networks cifar10 --device cuda --out networks
    python -m creases_reproduction.linearity.image_sections --networks networks --scale full --out image_sections.csv

The images are test images of the classes that the dissertation's planes have: three zeros of MNIST, two airplanes and a
deer of CIFAR-10; of those, the three with the least sum of distances. The stored table is older: its images are the
nearest three of any class.

The dissertation tells neighbouring points of a grid apart by their coefficients, with a tolerance that it does not
print, or by their patterns, and finds "hundreds or thousands of regions". Here all regions of the same piece of the
plane are counted exactly beside. Convolutional networks have so many that only a small piece is
looked at, as in the dissertation: about the first image, or between the three.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Literal

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from creases.compare import Section, section, section_of_partition
from creases.errors import InputError
from creases.network import read
from creases_reproduction.experiment import ResultTable, Scale, check_scale, describe_run, write_table
from creases_reproduction.linearity.image_networks import DataName, Plan, images, plans
from creases_reproduction.linearity.image_similarity import load

#: Share of the plane's width and height that is looked at: for dense networks, and for those with convolutions.
PARTS: dict[Scale, tuple[float, float]] = {"quick": (0.2, 3e-4), "full": (1.0, 1.5e-3)}

#: What the part has in its middle. The first CIFAR-10 image has so much plain sky that thousands of ties of max-pooling
#: meet in it; through the first MNIST image go only a few hundred.
ABOUT: dict[str, Literal["a", "middle"]] = {"mnist": "a", "cifar10": "middle"}

#: Classes of the three images: zeros (Figure 6.9); two airplanes and a deer (Figure 6.8).
CLASSES: dict[str, tuple[int, int, int]] = {"mnist": (0, 0, 0), "cifar10": (0, 0, 4)}

#: Points on a side of the grid with relative tolerances of coefficients.
GRIDS: dict[Scale, tuple[tuple[int, float], ...]] = {
    "quick": ((8, 1e-6),),
    "full": ((16, 1e-6), (24, 1e-2), (24, 1e-6)),
}

#: Images nearer than this, relative to their length, are the same: distances in float32 tell no smaller ones.
SAME = 0.01

#: Images that the three are chosen among: the first so many test images.
CHOICE: dict[Scale, int] = {"quick": 500, "full": 10_000}


def nearest_three(
    x: Tensor, y: Tensor, classes: tuple[int, int, int] | None, *, neighbours: int = 64
) -> tuple[int, int, int]:
    """Return three different images of three classes, in any order, with the least sum of distances.

    Two of them are among the third's nearest. Images that are equal are not taken: three points must span a plane.

    Parameters
    ----------
    x, y
        Images (n, ...) and their classes (n,).
    classes
        Of the three; any if None.
    """
    rows = (torch.isin(y, torch.tensor(classes)) if classes else torch.ones(len(y), dtype=torch.bool)).nonzero()[:, 0]
    flat, y = x[rows.to(x.device)].flatten(1), y[rows]
    if len(flat) < 3:
        raise InputError("x", "have at least three images of the classes", str(len(flat)))
    best, results = np.inf, (0, 1, 2)
    for start in range(0, len(flat), 1000):
        distance = torch.cdist(flat[start : start + 1000], flat)
        distance[distance <= SAME * flat.norm(dim=1).mean()] = torch.inf  # itself, and copies of it
        near = distance.topk(min(neighbours, len(flat) - 1), largest=False)
        for i, (lengths, which) in enumerate(zip(near.values, near.indices, strict=True)):
            if 2 * float(lengths[0]) >= best:
                continue
            sides = lengths[:, None] + lengths[None] + _apart(flat[which])
            if classes:
                sides[~_has_classes(int(y[start + i]), y[which.cpu()], classes).to(sides.device)] = torch.inf
            j, k = np.unravel_index(int(sides.argmin()), sides.shape)
            if float(sides[j, k]) < best:
                best, results = float(sides[j, k]), (start + i, int(which[j]), int(which[k]))
    if not np.isfinite(best):
        raise InputError("x", "have three different images", hint="add images that are not copies of each other")
    a, b, c = rows[list(results)].tolist()
    return a, b, c


def _has_classes(first: int, others: Tensor, classes: tuple[int, int, int]) -> Tensor:
    """Return whether a class and two of the others (k,) are the three classes, as (k, k)."""
    k = len(others)
    each = torch.stack([torch.full((k, k), first), others[:, None].expand(k, k), others[None].expand(k, k)])
    return (each.sort(dim=0).values == torch.tensor(sorted(classes))[:, None, None]).all(dim=0)


def _apart(x: Tensor) -> Tensor:
    """Return distances (k, k) of points (k, n), infinite between equal ones."""
    distance = torch.cdist(x, x)
    return torch.where(distance <= SAME * x.norm(dim=1).mean(), torch.inf, distance)


def image_sections(
    networks: Path,
    scale: Scale = "quick",
    *,
    data: Sequence[DataName] = ("mnist", "cifar10"),
    follow: Callable[[str, Section], None] = lambda name, results: None,
) -> ResultTable:
    """Return regions on planes through three images: exact, and as grids of the dissertation count them.

    Parameters
    ----------
    networks
        A folder with the weights of the networks; needs the image files too.
    scale
        "quick": small pieces of the planes and coarse grids; "full": the whole plane for dense networks.
    follow
        Called with the name of each network and its section on the last grid.

    Returns
    -------
    Measured
        A row for each network, grid and tolerance: ``regions``, those ``seen`` by the grid, the share ``missed`` of
        the area, and the counts ``by_pattern`` and ``by_coefficients`` of the dissertation's way.
    """
    check_scale(scale)
    rows: list[pd.DataFrame] = []
    for name in data:
        part = [plan for plan in plans(name) if not plan.seed and plan.kind != "linear"]
        samples = images(name, "test", CHOICE[scale])
        rows.append(sections([load(networks, plan) for plan in part], part, samples, scale, follow=follow))
    return ResultTable(pd.concat(rows, ignore_index=True), {"scale": scale})


def sections(
    models: Sequence[nn.Module],
    own: Sequence[Plan],
    samples: tuple[Tensor, Tensor],
    scale: Scale,
    *,
    parts: tuple[float, float] | None = None,
    follow: Callable[[str, Section], None] = lambda name, results: None,
) -> pd.DataFrame:
    """Return the rows of :func:`image_sections` for networks of one data set, through three of its images.

    Parameters
    ----------
    samples
        Images (n, c, h, w) and their classes.
    parts
        Of the plane that is looked at, for dense networks and those with convolutions; PARTS unless given.
    """
    x, y = samples
    three, rows = x[list(nearest_three(x, y, CLASSES[own[0].data]))], []
    for model, plan in zip(models, own, strict=True):
        net, about = read(model, x.shape[1:]), ABOUT[plan.data]
        part = (parts or PARTS[scale])[plan.kind != "dense"]
        (grid, tolerance), *others = GRIDS[scale]
        results = [section(net, *three, grid=grid, part=part, about=about, tolerance=tolerance)]
        results += [
            section_of_partition(results[0].partition, results[0].points, grid=p, tolerance=t) for p, t in others
        ]
        rows += [(plan.data, plan.kind, plan.optimizer, about, part, *_row(item)) for item in results]
        follow(f"{plan.data}-{plan.kind}-{plan.optimizer}", results[-1])
    names = ["data", "network", "optimizer", "about", "part", "grid", "tolerance", "regions", "seen", "missed"]
    return pd.DataFrame(rows, columns=[*names, "by_pattern", "by_coefficients"])


def _row(found: Section) -> tuple[float, ...]:
    n = found.counts
    size = len(found.grid), found.tolerance
    return *size, n["exact"], n["seen"], found.missed, n["by pattern"], n["by coefficients"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Count the regions on planes through three images and write the table."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--networks", type=Path, required=True)
    parser.add_argument("--scale", choices=("quick", "full"), default="quick")
    parser.add_argument("--out", type=Path, default=Path("image_sections.csv"))
    options = parser.parse_args(arguments)
    began = perf_counter()
    result = image_sections(options.networks, options.scale)
    flags = f"--networks networks --scale {options.scale} --out {options.out.name}"
    command = f"python -m creases_reproduction.linearity.image_sections {flags}"
    about = {**result.about, **describe_run(command, perf_counter() - began)}
    write_table(ResultTable(result.table, about), options.out)


if __name__ == "__main__":
    main()
