"""The largest difference of two networks in a box: exactly in few dimensions, else between two bounds.

The lower bound is the best of a local search: at sampled points, then up the gradient, then from region to region by
linear programs; it may miss the largest difference. The upper bound is proved by
:func:`creases.certify.output_bounds` of the network a - b; it may be too large.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from creases._typing import Floats
from creases._validation import check_box
from creases.certify import output_bounds
from creases.certify.search import search_largest_outputs, start_points
from creases.compare.differences._joint import as_pair, subtract_networks
from creases.compare.differences._on_partition import PartitionDifference, difference_in_space
from creases.network import Network

#: Up to this many inputs all regions of a box are listed, if they are no more than so many.
EXACT_DIMENSIONS, EXACT_REGIONS = 3, 200_000

#: Bounds that agree to this, relative to the larger, are equal.
EQUAL = 1e-9


@dataclass(frozen=True, eq=False)
class BoxDifference:
    """The largest ``|a - b|`` of each output over a box: at least ``lower``, at most ``upper``."""

    box: Floats  #: (n_in, 2)
    lower: Floats  #: (m,) reached at ``where``
    where: Floats  #: (m, n_in)
    upper: Floats  #: (m,) proved: no point of the box has more, up to rounding
    regions: PartitionDifference | None  #: all regions of the box, where they were listed: the answer is then exact

    @property
    def exact(self) -> NDArray[np.bool_]:
        """Whether the largest difference of each output (m,) is known: both bounds are equal."""
        return np.asarray(self.upper - self.lower <= EQUAL * self.upper)

    @property
    def empty(self) -> bool:
        """Whether it is proved that the networks are the same function in the box."""
        return not self.upper.any()

    def __str__(self) -> str:
        if self.regions is not None:
            return str(self.regions)
        if self.empty:
            return "In the box the networks are the same function."
        gap = [
            f"output {j}: {self.lower[j]:.4g}" + ("" if self.exact[j] else f" to {self.upper[j]:.4g}")
            for j in np.argsort(-self.lower, kind="stable")[:3]
        ]
        how = "exact" if self.exact.all() else "between the largest found and a proved upper bound"
        return f"Largest |a - b| in the box ({how}): {', '.join(gap)}{', ...' if len(self.lower) > 3 else ''}."


def difference_in_box(
    a: Network,
    b: Network,
    box: Any,
    *,
    start: Any = None,
    seed: int = 0,
    max_regions: int = EXACT_REGIONS,
) -> BoxDifference:
    """Bound the largest difference of two networks in a box of their inputs.

    Parameters
    ----------
    a, b
        Networks, torch modules or file names.
    box
        ``(lo, hi)`` for all inputs, or a pair for each.
    start
        PointsLike (k, n_in) to start the search from as well, such as samples; those outside the box are moved to its
        sides.
    seed
        Seed of the random points that the search starts from.
    max_regions
        With at most three inputs and no more regions than this, all regions are listed: the answer is exact.
    """
    a, b = as_pair(a, b)
    net = subtract_networks(a, b).to("cpu").to(torch.float64)
    ends = check_box(box, net.n_in)
    points = start_points(net, ends, start, seed=seed)
    if net.n_in <= EXACT_DIMENSIONS:
        regions = difference_in_space(a.to("cpu"), b.to("cpu"), ends, max_regions=max_regions)
        if regions is not None:
            return BoxDifference(ends, regions.largest, regions.where, regions.largest, regions)
    low, high = output_bounds(net, ends)
    upper = np.maximum(np.abs(low), np.abs(high))
    lower, where = search_largest_outputs(net, ends, points)
    lower, upper = np.where(upper == 0, 0.0, lower), np.maximum(upper, lower)
    return BoxDifference(ends, lower, where, upper, None)
