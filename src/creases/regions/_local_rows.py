"""The rows ``Q x <= p`` of a region in coordinates around its point, scaled for linear programs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from creases._typing import Floats, Ints


class LocalRows(NamedTuple):
    """The nonzero rows as ``N w <= s``, ``x' = x + unit basis w``: normals of length 1, in their span."""

    N: Floats  #: (c, r)
    s: Floats  #: (c,)
    rows: Ints  #: (c,) rows of Q
    basis: Floats  #: (d, r) orthonormal
    unit: float
    x: Floats

    @classmethod
    def from_rows(cls, Q: Floats, p: Floats, x: Floats, *, is_crease: NDArray[np.bool_]) -> LocalRows:
        """Normalize rows (c, d) around a point of the region; rows that are not creases are sides of a box."""
        length = np.linalg.norm(Q, axis=1)
        rows = np.flatnonzero(length > 0)
        rows = rows[np.argsort(is_crease[rows], kind="stable")]  # the box first: a crease along its side is no facet
        N = Q[rows] / length[rows, None]
        s = np.maximum((p[rows] - Q[rows] @ x) / length[rows], 0.0)
        clear = s[s > 1e-12 * (np.abs(x).max(initial=0) + s.max(initial=0))]
        unit = float(clear.min(initial=np.inf))
        unit = unit if np.isfinite(unit) else 1.0
        basis = np.eye(len(x))
        if len(rows) < len(x):  # linear programs are quicker in the span of the normals
            _, size, directions = np.linalg.svd(N, full_matrices=False)
            basis = directions[size > 1e-12 * size.max(initial=0)].T
        return cls(N @ basis, s / unit, rows, basis, unit, x)

    def lift(self, w: Floats) -> Floats:
        """Return the input at local coordinates w."""
        return self.x + self.unit * (self.basis @ w)
