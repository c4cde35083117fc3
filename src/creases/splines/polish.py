"""Moving the knots of a continuous piecewise-linear fit off the grid to a local minimum of its squared error."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

ROUNDS = 20
REACH = 2  # gaps between data on either side of a knot's own
GAIN = 1e-9  # a round that lowers the error by less, relatively, is the last


def polish(knots: Floats, x: Floats, y: Floats, w: Floats, *, steps: int = 40) -> tuple[Floats, float]:
    """Knots near the given ones with a smaller squared error, and that error.

    Joint steps of all knots, which are quick where knots depend on each other, and golden sections of one knot at a
    time over the gaps between data near it, which pass the kinks of the error at data; in turn, until neither gains.

    Parameters
    ----------
    knots
        (k + 1,), increasing; the ends enclose x and stay.
    x, y, w
        (N,) data in increasing x, weights positive.
    steps
        Of a golden section; each leaves 0.618 of its interval.
    """
    from creases.splines.polish_kernel import error_at, golden_round

    knots, best = knots.copy(), error_at(knots, x, y, w)
    for _ in range(ROUNDS):
        before = best
        knots, best = _joint(knots, x, y, w, best)
        best = golden_round(knots, x, y, w, best, REACH, steps)
        if best >= before * (1 - GAIN):
            break
    return knots, best


def _joint(knots: Floats, x: Floats, y: Floats, w: Floats, best: float) -> tuple[Floats, float]:
    """Gauss-Newton steps in all inner knots, halved until the error falls (Muggeo 2003, "segmented" regression).

    ``J (x - beta - d)_+`` is ``J (x - beta)_+ - J d [x > beta]`` for small d, exactly so while no datum is passed:
    the least-squares coefficients of jumps ``[x > beta]`` over those of kinks are the moves of the knots.
    """
    from creases.splines.polish_kernel import error_at

    root = np.sqrt(w)
    for _ in range(ROUNDS):
        beta = knots[1:-1]
        after = x[:, None] > beta
        basis = np.column_stack([np.ones_like(x), x, np.where(after, x[:, None] - beta, 0.0), -1.0 * after])
        found = np.linalg.lstsq(basis * root[:, None], y * root, rcond=None)[0]
        kinks, jumps = found[2 : 2 + len(beta)], found[2 + len(beta) :]
        move = np.divide(jumps, kinks, out=np.zeros_like(jumps), where=kinks != 0)
        move = np.clip(move, knots[0] - beta, knots[-1] - beta)
        for halvings in range(12):
            trial = knots.copy()
            trial[1:-1] += move * 0.5**halvings
            error = error_at(trial, x, y, w) if (np.diff(trial) > 0).all() else np.inf
            if error < best * (1 - GAIN):
                break
        else:
            return knots, best
        knots, best = trial, error
    return knots, best
