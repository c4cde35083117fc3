"""Estimate how many regions a map will have, and how long it will take, from a few small samples of the plane."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from creases._typing import Floats

if TYPE_CHECKING:
    from creases.regions import PlanePartition

#: Samples, and their sides as fractions of the side of the plane: larger ones where the smaller hold too little.
SAMPLES, SIDES = 3, (1 / 32, 1 / 16, 1 / 8)

#: Inner vertices that samples must hold together, unless they take too many seconds.
ENOUGH, SLOW = 30, 2.0

#: Seconds from which on an estimate is worth a line.
WORTH = 5.0


class Estimate(NamedTuple):
    """What to expect of a map."""

    regions: int
    seconds: float

    def __str__(self) -> str:
        time = f"{self.seconds:.0f} s" if self.seconds < 120 else f"{self.seconds / 60:.0f} min"
        return f"about {_round(self.regions):,} regions, {time}"


def estimate_plane(find: Callable[[float, Floats], PlanePartition]) -> Estimate:
    """Estimate the regions and seconds of a whole plane.

    Parameters
    ----------
    find
        Returns the regions of a copy of the plane, scaled by the first argument; the second are two numbers from 0 to 1
        that say where it lies.
    """
    rng = np.random.default_rng(0)
    for side in SIDES:
        start = perf_counter()
        samples = [find(side, rng.uniform(size=2)) for _ in range(SAMPLES)]
        seconds = perf_counter() - start
        on_border = [len(np.unique(sample.edges[sample.edge_units < 0])) for sample in samples]
        inner = sum(len(sample.vertices) for sample in samples) - sum(on_border)
        if inner >= ENOUGH or seconds > SLOW:
            break
    # By Euler's formula a plane has one region, one for each inner vertex and one for every two on its border.
    total = 1 + inner / (SAMPLES * side**2) + (sum(on_border) - 4 * SAMPLES) / (2 * SAMPLES * side)
    return Estimate(round(total), seconds * total / sum(sample.count for sample in samples))


def _round(number: int) -> int:
    """Return a number with two digits that count: more would claim too much."""
    return round(number, 2 - len(str(number)))
