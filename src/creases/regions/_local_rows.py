"""The rows ``Q x <= p`` of a region in coordinates around its point, scaled for linear programs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from creases._typing import Floats, Ints


@dataclass(frozen=True, eq=False)
class LocalRows:
    """The nonzero rows as ``N w <= s``, ``x' = x + unit basis w``: normals of length 1, in their span.

    Only linear programs need ``N`` and ``basis``, which take an SVD where there are fewer rows than inputs: they are
    computed on first access.
    """

    normals: Floats  #: (c, d) of length 1
    s: Floats  #: (c,)
    rows: Ints  #: (c,) rows of Q
    unit: float
    x: Floats

    @classmethod
    def from_rows(cls, Q: Floats, p: Floats, x: Floats, *, is_crease: NDArray[np.bool_]) -> LocalRows:
        """Normalize rows (c, d) around a point of the region; rows that are not creases are sides of a box."""
        length = np.linalg.norm(Q, axis=1)
        rows = np.flatnonzero(length > 0)
        rows = rows[np.argsort(is_crease[rows], kind="stable")]  # the box first: a crease along its side is no facet
        s = np.maximum((p[rows] - Q[rows] @ x) / length[rows], 0.0)
        clear = s[s > 1e-12 * (np.abs(x).max(initial=0) + s.max(initial=0))]
        unit = float(clear.min(initial=np.inf))
        unit = unit if np.isfinite(unit) else 1.0
        return cls(Q[rows] / length[rows, None], s / unit, rows, unit, x)

    @cached_property
    def basis(self) -> Floats:
        """Orthonormal coordinates (d, r) of the normals' span: linear programs are quicker there."""
        if len(self.rows) >= len(self.x):
            return np.eye(len(self.x))
        _, size, directions = np.linalg.svd(self.normals, full_matrices=False)
        basis: Floats = directions[size > 1e-12 * size.max(initial=0)].T
        return basis

    @cached_property
    def N(self) -> Floats:
        """The normals (c, r) in the basis."""
        return self.normals if len(self.rows) >= len(self.x) else self.normals @ self.basis

    def lift(self, w: Floats) -> Floats:
        """Return the input at local coordinates w."""
        return self.x + self.unit * (self.basis @ w)
