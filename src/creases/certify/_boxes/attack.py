"""A search for violations by gradients: projected ascent of the least row of a case from many points at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from creases._typing import Floats
from creases.certify._boxes.chain import Chain

if TYPE_CHECKING:
    from creases.certify._boxes.kernel import Rows

#: Points and steps of an ascent, and the first and last step, in units of the box's sides.
POINTS, STEPS, REACH = 64, 24, (0.25, 0.002)


def climb(chain: Chain, rows: Rows, box: Floats, seed: int) -> tuple[float, Floats]:
    """Return the largest least row of a case over all points of an ascent in a box, and where (n,).

    Parameters
    ----------
    chain, rows
        The network and the rows of all cases.
    box
        (n, 2)
    seed
        Of the points to start from.
    """
    rng = np.random.default_rng(seed)
    low, high = box.T
    X = low + (high - low) * np.clip(rng.uniform(-0.2, 1.2, size=(POINTS, len(box))), 0.0, 1.0)
    best, where = -np.inf, X[0]
    for share in np.geomspace(*REACH, STEPS):
        value, gradient = _least_row(chain, rows, X)
        top = int(value.argmax())
        if value[top] > best:
            best, where = float(value[top]), X[top]
        if best >= 0:
            break
        X = np.clip(X + share * (high - low) * np.sign(gradient), low, high)
    return best, where


def _least_row(chain: Chain, rows: Rows, X: Floats) -> tuple[Floats, Floats]:
    """Return the largest least row of a case (p,) at points (p, n), and its gradient (p, n)."""
    h, slopes = X, []
    for stage in chain.stages:
        z = h @ stage.W.T + stage.b
        slopes.append(np.where(z > 0, 1.0, stage.leak))
        h = z * slopes[-1]
    values = h @ rows.C.T + X @ rows.D.T + rows.e  # (p, k)
    points = np.arange(len(X))
    best, row = np.full(len(X), -np.inf), np.zeros(len(X), np.int64)
    for first, last in zip(rows.starts[:-1], rows.starts[1:], strict=True):
        least = first + values[:, first:last].argmin(axis=1)
        better = values[points, least] > best
        row = np.where(better, least, row)
        best = np.maximum(best, values[points, least])
    G = rows.C[row]
    for stage, slope in zip(reversed(chain.stages), reversed(slopes), strict=True):
        G = (G * slope) @ stage.W
    return best, G + rows.D[row]
