"""Shapes of curves that hold by construction: rising, falling, convex."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from scipy.optimize import nnls

from creases._typing import Floats
from creases.tables._stages.basis import CurveBasis

#: Slopes of a rising curve are at least this, relative to the norm of weights: rounding cannot turn them.
MARGIN = 1e-9

Shape = Literal["", "rising", "falling", "straight", "convex"]


def shape_rows(basis: CurveBasis, shapes: Sequence[Shape]) -> Floats:
    """Return the matrix (k, p) whose product with weights (p,), slopes or their changes, must not be negative."""
    rows = []
    for j, shape in enumerate(shapes):
        if shape not in ("rising", "falling", "convex") or j not in basis.lines:
            continue
        knots = basis.all_knots(j)
        slopes = np.zeros((len(knots) - 1, len(basis.penalty)))
        slopes[:, basis.feature == j] = np.diff(basis.functions_of(j, knots), axis=0) / np.diff(knots)[:, None]
        slopes *= basis.span[j]
        rows.append(np.diff(slopes, axis=0) if shape == "convex" else slopes if shape == "rising" else -slopes)
    return np.concatenate(rows) if rows else np.zeros((0, len(basis.penalty)))


def project(weights: Floats, inverse: Floats, rows: Floats) -> Floats:
    """Return the feasible weights (p,) nearest to weights (p,) in the norm of a matrix with this inverse (p, p).

    Its dual is a problem of non-negative least squares in the multipliers of the rows (k, p).
    """
    scale = 1 / np.linalg.norm(rows, axis=1).clip(1e-300)
    rows = rows * scale[:, None]
    step = inverse @ rows.T  # (p, k)
    gram = rows @ step
    gram[np.diag_indices_from(gram)] *= 1 + 1e-12
    L = np.linalg.cholesky(gram)
    multipliers, _ = nnls(L.T, np.linalg.solve(L, MARGIN - rows @ weights))
    return weights + step @ multipliers
