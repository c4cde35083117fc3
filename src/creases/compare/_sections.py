"""Cross-sections of networks through three inputs: all regions, beside those that a grid of points finds.

The dissertation, section 6.3, samples the plane at p x p points and assigns neighbours to one region when their
coefficients differ by less than a tolerance, or their patterns are the same. A point is compared with the one to its
left and, in the row above, with those from the one above its left neighbour to the end of the row (Fig. 6.12). A region
that falls between the points is missed; one whose points are not compared with each other is counted twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from creases._schema import NUMBER, instance
from creases._text import OneLine
from creases._typing import Floats, Ints
from creases._validation import check_arguments, check_choice, check_count, check_number
from creases.compare._decisions import percent
from creases.errors import InputError
from creases.network import Network, as_network
from creases.regions import PlanePartition, plane
from creases.regions.geometry import slice_through


@dataclass(frozen=True, eq=False, repr=False)
class Section(OneLine):
    """Regions of a network on a plane through three inputs: all of them, and those that a grid distinguishes.

    The grid's rows go from the top of the box (largest second coordinate) to its bottom, as printed.
    """

    partition: PlanePartition  #: exact
    points: Floats  #: (3, 2) the three inputs in slice coordinates
    grid: Floats  #: (p, p, 2) points of the grid in slice coordinates
    regions: Ints  #: (p, p) the region that each point of the grid lies in
    by_pattern: Ints  #: (p, p) the region that the grid assigns to it, comparing patterns
    by_coefficients: Ints  #: (p, p) the same, comparing coefficients
    tolerance: float

    @property
    def counts(self) -> dict[str, int]:
        """The number of regions: exact, those that contain a grid point, and as the grid counts them in either way."""
        return {
            "exact": self.partition.count,
            "seen": len(np.unique(self.regions)),
            "by pattern": int(self.by_pattern.max()) + 1,
            "by coefficients": int(self.by_coefficients.max()) + 1,
        }

    @property
    def missed(self) -> float:
        """The fraction of the plane's area in regions without a grid point."""
        areas = self.partition.areas()
        return float(1 - areas[np.unique(self.regions)].sum() / areas.sum())

    def __str__(self) -> str:
        n, p = self.counts, len(self.grid)
        return (
            f"{n['exact']} regions; a grid of {p} x {p} points lies in {n['seen']} of them and misses "
            f"{percent(self.missed)} of the area. By comparing neighbours it counts {n['by pattern']} patterns and "
            f"{n['by coefficients']} affine functions (tolerance {self.tolerance:g})."
        )


@check_arguments(part=NUMBER)
def section(
    net: Network,
    a: Any,
    b: Any,
    c: Any,
    *,
    grid: int = 64,
    margin: float = 0.25,
    part: float = 1.0,
    about: Literal["a", "middle"] = "middle",
    tolerance: float = 1e-6,
) -> Section:
    """Find the regions of a network on the plane through three inputs, exactly and by a grid (section 6.3).

    Parameters
    ----------
    net
        A network, a torch module or a file name.
    a, b, c
        Three inputs.
    grid
        Number of points on each side of the grid, p.
    margin
        Margin around the three points, relative to their extent.
    part
        Fraction of the box's width and height to use: the full box of a network with many units can have more regions
        than can be drawn.
    about
        Centre of that part: the input ``a``, or the mean of the three. An image is not a generic point: where its
        neighbouring pixels are equal, candidates of max-pooling tie, and all those creases pass through it.
    tolerance
        Coefficients are equal if their distance is at most this times the length of the longer.

    Examples
    --------
    >>> import creases
    >>> net = creases.read([([[1.0, 0.0], [0.0, 1.0], [1.0, -0.999]], [0.0, 0.0, 0.0]), ([[1.0, 1.0, 1.0]], [0.0])])
    >>> section(net, [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0], grid=8).counts
    {'exact': 6, 'seen': 6, 'by pattern': 6, 'by coefficients': 6}
    """
    net = as_network(net)
    origin, basis, corners = slice_through(net, [a, b, c])
    check_choice(about, ("a", "middle"), "about")
    if not 0 < part <= 1:
        raise InputError("part", "be a number above 0 and at most 1", repr(part))
    check_number(margin, "margin", least=0)
    low, high = corners.min(axis=0), corners.max(axis=0)
    half = part * (1 + 2 * margin) * (high - low) / 2
    middle = (low + high) / 2 if part == 1 else corners[0] if about == "a" else corners.mean(axis=0)
    partition = plane(net, np.stack([middle - half, middle + half], axis=1), origin, basis)
    return section_of_partition(partition, corners, grid=grid, tolerance=tolerance)


@check_arguments(partition=instance("PlanePartition"))
def section_of_partition(partition: PlanePartition, points: Floats, *, grid: int, tolerance: float) -> Section:
    """Compare a plane partition with what a grid finds; ``points`` (3, 2) are the inputs that define the plane."""
    p, within = check_count(grid, "grid"), check_number(tolerance, "tolerance", least=0)
    net = partition.net
    x, y = (low + (np.arange(p) + 0.5) / p * (high - low) for low, high in partition.box)
    nodes = np.stack(np.meshgrid(x, y[::-1]), axis=-1)  # (p, p, 2)
    work = net.to(torch.float64)
    rows = [torch.from_numpy(partition.points(row)).to(net.device) for row in nodes]

    def coefficients(x: Tensor) -> Tensor:
        J, y = work.piece(x)
        return torch.cat([J.flatten(1), y], dim=1)

    def have_same_pattern(a: Tensor, b: Tensor) -> Tensor:
        return torch.stack([(b == row).all(dim=1) for row in a])

    def are_close(a: Tensor, b: Tensor) -> Tensor:
        size = torch.maximum(a.norm(dim=1)[:, None], b.norm(dim=1)[None])
        distance = torch.stack([(b - row).norm(dim=1) for row in a])  # products would lose half of the digits
        return distance <= within * size

    return Section(
        partition=partition,
        points=points,
        grid=nodes,
        regions=partition.locate(nodes.reshape(-1, 2)).reshape(p, p),
        by_pattern=_group((torch.from_numpy(work.pattern(x)) for x in rows), have_same_pattern),
        by_coefficients=_group(map(coefficients, rows), are_close),
        tolerance=within,
    )


def _group(rows: Iterable[Tensor], alike: Callable[[Tensor, Tensor], Tensor]) -> Ints:
    """Return the region (p, p) assigned to each point: that of the first point it is like, else a new one.

    ``alike(a, b)`` says which rows of a (p, n) are like which of b (q, n): (p, q). Two rows of the grid are held at a
    time.
    """
    assigned: list[Ints] = []
    count, above = 0, None
    for row in rows:
        up = None if above is None else alike(row, above).cpu().numpy()
        regions = np.empty(len(row), np.int64)
        for i in range(len(row)):
            start = max(0, i - 1)
            like = np.flatnonzero(up[i, start:]) if up is not None else np.zeros(0, np.int64)
            if i and bool(alike(row[i : i + 1], row[i - 1 : i])):
                regions[i] = regions[i - 1]
            elif len(like):
                regions[i] = assigned[-1][start + like[0]]
            else:
                regions[i], count = count, count + 1
        assigned.append(regions)
        above = row
    return np.stack(assigned)
