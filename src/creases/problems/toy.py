"""Toy problems in the plane (source 002, chapters 4 and 6): each gives points X (n, 2) and classes y (n,)."""

from __future__ import annotations

from math import pi, sqrt

import numpy as np
from numpy.typing import NDArray

from creases.errors import InputError

Sample = tuple[NDArray[np.float64], NDArray[np.int64]]

#: Circle's radius, inner and outer radius of the annulus (r1, r2, r3), such that the circle, the gap and the annulus
#: have the same area: r2 = sqrt(2) r1, r3 = sqrt(3) r1.
EQUAL_AREA_RADII = (0.5, 0.5 * sqrt(2), 0.5 * sqrt(3))

#: The radii as section 4.2.1 prints them, r3 = sqrt(2) r2: there the annulus has twice the area of the circle.
PRINTED_RADII = (0.5, 0.5 * sqrt(2), 1.0)


def circle_annulus(
    n: int = 1000,
    *,
    seed: int | np.random.Generator,
    radii: tuple[float, float, float] = EQUAL_AREA_RADII,
) -> Sample:
    """Circle against annulus (section 4.2.1): half of the points uniform in a disc, half in the ring around it.

    Parameters
    ----------
    n
        Number of points; the disc has the odd one.
    seed
        A seed, or a generator to draw from.
    radii
        ``(r1, r2, r3)``: the disc is ``|x| <= r1``, the ring ``r2 <= |x| <= r3``.

    Returns
    -------
    X, y
        (n, 2) points and (n,) classes, 1 in the disc and 0 in the ring, in random order.
    """
    if n < 1:
        raise InputError(f"n: expected at least 1 point, got {n}")
    r1, r2, r3 = radii
    if not 0 < r1 <= r2 < r3:
        raise InputError(f"radii: expected 0 < r1 <= r2 < r3, got {radii}")
    rng = np.random.default_rng(seed)
    y = np.zeros(n, np.int64)
    y[: (n + 1) // 2] = 1
    rng.shuffle(y)
    disc = y == 1
    low, high = np.where(disc, 0.0, r2), np.where(disc, r1, r3)
    radius = np.sqrt(rng.uniform(low**2, high**2))  # uniform in area
    angle = rng.uniform(0, 2 * pi, n)
    return radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1), y
