"""Radii of a ball and of the shell around it, as the dissertation prints them."""

from __future__ import annotations

from math import sqrt

#: Radius of the disc, inner and outer radius of the ring as section 4.2.1 prints them, r3 = sqrt(2) r2: there the ring
#: has twice the area of the disc.
PRINTED_RADII = (0.5, 0.5 * sqrt(2), 1.0)


def printed_radii(d: int, r1: float = 0.5) -> tuple[float, float, float]:
    """Return (r1, r2, r3) in d dimensions with r2 = sqrt(d) r1 and r3 = sqrt(2) r2, the ratio of section 4.2.1.

    Examples
    --------
    >>> [round(r, 3) for r in printed_radii(4)]
    [0.5, 1.0, 1.414]
    """
    r2 = sqrt(d) * r1
    return r1, r2, sqrt(2) * r2
