"""What a search for a largest value returns, and when it may end."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from creases._typing import Floats
from creases.certify.proofs._format import Leaf, Split


class Extreme(NamedTuple):
    """The largest value of an objective: at least ``lower``, reached at ``where`` (n,), and at most ``upper``."""

    lower: float
    where: Floats
    upper: float
    tree: tuple[Split | Leaf, ...] | None = None  #: shows that nothing is above ``upper``


@dataclass(frozen=True, eq=False)
class Limits:
    """When a search may end."""

    deadline: float  #: as of ``time.monotonic()``
    tolerance: float = 1e-9  #: relative to the value
    stop_above: float = np.inf  #: a value above it is enough
    stop_below: float = -np.inf  #: an upper bound of at most this is enough

    def enough(self, lower: float) -> float:
        """Return the bound below which a node needs no further search, where a value ``lower`` is reached."""
        return max(lower + self.tolerance * abs(lower), self.stop_below) if np.isfinite(lower) else self.stop_below

    def is_over(self, lower: float, upper: float) -> bool:
        """Return whether a search may end that reached a value and whose largest open bound is ``upper``."""
        return time.monotonic() >= self.deadline or lower > self.stop_above or upper <= self.enough(lower)
