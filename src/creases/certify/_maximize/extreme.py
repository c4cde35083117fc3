"""What a search for a largest value returns, and when it may end."""

from __future__ import annotations

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
