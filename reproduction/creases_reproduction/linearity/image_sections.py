"""Cross-sections of image networks through three images: Figures 6.8 to 6.13 of the dissertation, exact and by grid.

The images are test images of the classes that the dissertation's planes have: three zeros of MNIST, two airplanes and a
deer of CIFAR-10; of those, the three with the least sum of distances.

The dissertation tells neighbouring points of a grid apart by their coefficients, with a tolerance that it does not
print, or by their patterns, and finds "hundreds or thousands of regions". Here all regions of the same piece of the
plane are counted exactly beside. Convolutional networks have so many that only a small piece is
looked at, as in the dissertation: about the first image, or between the three.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from creases.compare import Section, section, section_of_partition
from creases.errors import InputError
from creases.network import read
from creases_reproduction.experiment import Scale
from creases_reproduction.linearity.image_networks import Plan

#: Share of the plane's width and height that is looked at: for dense networks, and for those with convolutions.
PARTS: dict[Scale, tuple[float, float]] = {"quick": (1.0, 0.1), "full": (1.0, 1.5e-3)}

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


def sections(
    models: Sequence[nn.Module],
    own: Sequence[Plan],
    samples: tuple[Tensor, Tensor],
    scale: Scale,
) -> pd.DataFrame:
    """Return regions of networks of one data set on a plane through three of its images (n, c, h, w).

    Returns
    -------
    DataFrame
        A row for each network, grid and tolerance: ``regions``, those ``seen`` by the grid, the share ``missed`` of
        the area, and the counts ``by_pattern`` and ``by_coefficients`` of the dissertation's way.
    """
    x, y = samples
    three, rows = x[list(nearest_three(x, y, CLASSES[own[0].data]))], []
    for model, plan in zip(models, own, strict=True):
        net, about = read(model, x.shape[1:]), ABOUT[plan.data]
        part = PARTS[scale][plan.kind != "dense"]
        (grid, tolerance), *others = GRIDS[scale]
        results = [section(net, *three, grid=grid, part=part, about=about, tolerance=tolerance)]
        results += [
            section_of_partition(results[0].partition, results[0].points, grid=p, tolerance=t) for p, t in others
        ]
        rows += [(plan.data, plan.kind, plan.optimizer, about, part, *_row(item)) for item in results]
    names = ["data", "network", "optimizer", "about", "part", "grid", "tolerance", "regions", "seen", "missed"]
    return pd.DataFrame(rows, columns=[*names, "by_pattern", "by_coefficients"])


def _row(found: Section) -> tuple[float, ...]:
    n = found.counts
    size = len(found.grid), found.tolerance
    return *size, n["exact"], n["seen"], found.missed, n["by pattern"], n["by coefficients"]
