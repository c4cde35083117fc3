"""Two classes on a line: intervals of alternating class, and where a classifier may change its mind between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from creases._typing import Floats
from creases._validation import check_numbers
from creases.errors import InputError


@dataclass(frozen=True, eq=False)
class Intervals:
    """k intervals [x_i1, x_i2] from left to right, of alternating class; neighbours may touch, and are then open there.

    Examples
    --------
    >>> Intervals.of([(0, 10), (16, 17), (18, 19)]).changes
    array([13. , 17.5])
    """

    ends: Floats  #: (k, 2)
    first: int  #: class of the first, -1 or 1

    @classmethod
    def of(cls, ends: Any, first: int = 1) -> Intervals:
        """Intervals (k, 2), checked: in order, and no two share a point that both contain."""
        x = check_numbers(ends, "ends")
        if x.ndim != 2 or x.shape[1] != 2 or not len(x) or not np.isfinite(x).all():
            raise InputError(f"ends: expected finite numbers (k, 2), at least one interval, got shape {x.shape}")
        if first not in (-1, 1):
            raise InputError(f"first: the class of the first interval is -1 or 1, got {first!r}")
        found = cls(x, int(first))
        c = found.changes
        if (np.diff(x.ravel()) < 0).any() or (x[1:, 1] <= c).any() or (x[:-1, 0] >= c).any():
            raise InputError(
                "ends: expected intervals from left to right that do not overlap; a single point must not touch "
                f"another interval, got {x.tolist()}"
            )
        return found

    @classmethod
    def of_points(cls, t: Any, positive: Any) -> Intervals:
        """The fewest intervals that hold points (n,) of two classes; ``positive`` (n,) tells which are of class 1."""
        values, where = np.unique(np.asarray(t, np.float64), return_inverse=True)
        label = np.zeros(len(values), bool)
        label[where] = positive
        if (label[where] != positive).any():
            raise InputError("t: points of both classes lie at one place")
        starts = np.flatnonzero(np.append(True, label[1:] != label[:-1]))
        lasts = np.append(starts[1:], len(values)) - 1
        return cls.of(np.column_stack([values[starts], values[lasts]]), 1 if label[0] else -1)

    @property
    def changes(self) -> Floats:
        """(k - 1,) middles of the gaps between neighbours."""
        return np.asarray((self.ends[:-1, 1] + self.ends[1:, 0]) / 2)

    @property
    def classes(self) -> NDArray[np.int64]:
        """(k,) -1 or 1."""
        return self.first * (-1) ** np.arange(len(self.ends))
