"""Intervals of alternating class on a line."""

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
    """The k intervals [x_i1, x_i2] of alternating class, from left to right; where neighbours touch, they are open.

    Examples
    --------
    >>> Intervals.from_ends([(0, 10), (16, 17), (18, 19)]).changes
    array([13. , 17.5])
    """

    ends: Floats  #: (k, 2)
    first: int  #: class of the first interval, -1 or 1

    @classmethod
    def from_ends(cls, ends: Any, first: int = 1) -> Intervals:
        """Return intervals with given ends (k, 2), in order and without a common point."""
        x = check_numbers(ends, "ends")
        if x.ndim != 2 or x.shape[1] != 2 or not len(x) or not np.isfinite(x).all():
            raise InputError("ends", "be finite numbers of shape (k, 2), k >= 1", f"shape {x.shape}")
        if first not in (-1, 1):
            raise InputError("first", "be -1 or 1", repr(first))
        intervals = cls(x, int(first))
        c = intervals.changes
        if (np.diff(x.ravel()) < 0).any() or (x[1:, 1] <= c).any() or (x[:-1, 0] >= c).any():
            raise InputError(
                "ends",
                "be intervals from left to right that do not overlap; a single point must not touch another interval",
                f"{x.tolist()}",
            )
        return intervals

    @classmethod
    def from_points(cls, t: Any, positive: Any) -> Intervals:
        """Return the fewest intervals that contain points t (n,) of two classes; ``positive`` (n,) marks class 1."""
        values, where = np.unique(np.asarray(t, np.float64), return_inverse=True)
        label = np.zeros(len(values), bool)
        label[where] = positive
        if (label[where] != positive).any():
            raise InputError("t", "be different for points of different classes")
        starts = np.flatnonzero(np.append(True, label[1:] != label[:-1]))
        lasts = np.append(starts[1:], len(values)) - 1
        return cls.from_ends(np.column_stack([values[starts], values[lasts]]), 1 if label[0] else -1)

    @property
    def changes(self) -> Floats:
        """Midpoints (k - 1,) of the gaps between neighbours."""
        return np.asarray((self.ends[:-1, 1] + self.ends[1:, 0]) / 2)

    @property
    def classes(self) -> NDArray[np.int64]:
        """Classes (k,), -1 or 1."""
        return self.first * (-1) ** np.arange(len(self.ends))
