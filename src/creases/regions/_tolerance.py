"""The tolerance of the geometry: when a pre-activation counts as zero.

A pre-activation is a sum of products; rounding makes it wrong by a few units in the last place *of its terms*, not of
its value. So a sign is decided relative to the size of the terms: below ``SIGN_TOLERANCE`` times their sum it is zero,
and a vertex there is on the crease. A sign is decided once for every vertex; all that follows is combinatorics, so
partitions tile whatever the rounding. A sliver thinner than that may be lost: ``plane(..., exact=True)`` keeps it.
Linear programs have absolute tolerances of their own, in :mod:`creases.regions._halfspaces`, and are posed in units
where these are small.
"""

from __future__ import annotations

#: Spacing of float64 at 1.
EPS = 2.0**-52

#: A pre-activation smaller than SIGN_TOLERANCE times the sum of the magnitudes of its terms is zero.
SIGN_TOLERANCE = 64 * EPS
