"""The largest difference of two networks in a box: exactly in few dimensions, else between two bounds.

In few dimensions all regions are listed; otherwise the bounds and the decisions are those of
:mod:`creases.certify.differences`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from creases._typing import Floats
from creases._validation import check_box
from creases.certify.differences import DecisionComparison, as_pair, compare_decisions, largest_difference
from creases.compare.differences._on_partition import PartitionDifference, difference_in_space
from creases.errors import InputError
from creases.network import Network

#: How many regions of a box are listed at most, by the number of inputs; with more inputs none are.
EXACT_REGIONS = {1: 200_000, 2: 200_000, 3: 200_000, 4: 25_000, 5: 8_000}

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
    decisions: DecisionComparison | None = None  #: whether both decide alike everywhere, where regions were not listed

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
            return "The networks are the same function in the box."
        gap = [
            f"output {j}: {self.lower[j]:.4g}" + ("" if self.exact[j] else f" to {self.upper[j]:.4g}")
            for j in np.argsort(-self.lower, kind="stable")[:3]
        ]
        how = "exact" if self.exact.all() else "between the largest found and a proved upper bound"
        largest = f"Largest |a - b| in the box ({how}): {', '.join(gap)}{', ...' if len(self.lower) > 3 else ''}."
        return largest if self.decisions is None else f"{self.decisions}\n{largest}"


def difference_in_box(
    a: Network,
    b: Network,
    box: Any,
    *,
    start: Any = None,
    seed: int = 0,
    max_regions: int | None = None,
    budget: float | None = None,
) -> BoxDifference:
    """Bound the largest difference of two networks in a box of their inputs.

    With at most five inputs and ``max_regions`` all regions are listed: the answer is exact. Otherwise ``start``,
    ``seed`` and ``budget`` are those of :func:`creases.certify.differences.largest_difference`.
    """
    a, b = as_pair(a, b)
    ends = check_box(box, a.n_in)
    if start is not None and not a.as_batch(start, "start")[0].isfinite().all():
        raise InputError("start", "be finite", "NaN or infinite entries")
    limit = EXACT_REGIONS.get(a.n_in) if max_regions is None else max_regions
    if a.n_in in EXACT_REGIONS:
        regions = difference_in_space(a.to("cpu"), b.to("cpu"), ends, max_regions=limit)
        if regions is not None:
            return BoxDifference(ends, regions.largest, regions.where, regions.largest, regions)
    largest = largest_difference(a, b, ends, start=start, seed=seed, budget=budget)
    decisions = compare_decisions(a, b, ends, start=start, seed=seed, budget=budget) if largest.upper.any() else None
    return BoxDifference(ends, largest.lower, largest.where, largest.upper, None, decisions)
