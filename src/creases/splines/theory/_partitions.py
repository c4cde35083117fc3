"""Where breakpoints begin, and which samples they separate."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from creases._typing import Bools, Floats
from creases._validation import check_column, check_number, check_numbers
from creases.errors import InputError


def breakpoint_density(
    beta: ArrayLike, mu: ArrayLike | None = None, *, sw: float, sb: float, sv: float = 1.0, uniform: bool = False
) -> Floats:
    """Return the density of breakpoints at initialisation, or that of breakpoints and delta-slopes (Theorem 1).

    Weights w, b and v are independent with mean 0. For normal ones ``beta`` is ``Cauchy(0, sb / sw)``, and mu given
    beta is ``Laplace(0, sb sv sw / sqrt(sb^2 + sw^2 beta^2))``: far breakpoints bend less. For uniform ones beta is a
    ratio of uniforms, and mu given beta triangular up to the largest ``|w v|`` with ``|w| <= min(sw, sb / |beta|)
    sqrt(3)``. With zero biases all breakpoints would be at 0.

    Parameters
    ----------
    beta, mu
        Breakpoints and, for the joint density, delta-slopes, broadcast together.
    sw, sb, sv
        Standard deviations. ``nn.Linear``: ``3**-0.5`` for w and b, ``(3 H)**-0.5`` for v, uniform. He: ``2**0.5`` for
        w, ``(2 / H)**0.5`` for v, normal. Glorot: ``(2 / (1 + H))**0.5`` for both, normal.
    uniform
        Whether the weights are uniform rather than normal.

    Examples
    --------
    >>> from creases.splines import theory
    >>> theory.breakpoint_density([0.0, 2.0], sw=3**-0.5, sb=3**-0.5, uniform=True)
    array([0.25  , 0.0625])
    """
    sw, sb, sv = (check_number(value, name, above=0) for value, name in ((sw, "sw"), (sb, "sb"), (sv, "sv")))
    ratio = np.abs(check_numbers(beta, "beta")) * (sw / sb)
    density = (0.25 / np.maximum(1.0, ratio) ** 2 if uniform else 1 / (np.pi * (1 + ratio**2))) * (sw / sb)
    if mu is None:
        return np.asarray(density)
    size = np.abs(check_numbers(mu, "mu"))
    if uniform:
        largest = 3 * sv * sw / np.maximum(1.0, ratio)
        return np.asarray(density * np.maximum(1 - size / largest, 0) / largest)
    scale = sv * sw / np.hypot(1.0, ratio)
    return np.asarray(density * np.exp(-size / scale) / (2 * scale))


def lonely_samples(x: Any, breakpoints: Any) -> Bools:
    """Return which samples x (N,) share their piece between breakpoints (H,) with no other sample.

    If all are lonely, the fit through all of them is a global minimum of the loss (Theorem 4). A sample on a breakpoint
    belongs to the piece on its left. Breakpoints at infinity (of units with zero weight) cut nothing.

    Examples
    --------
    >>> from creases.splines import theory
    >>> theory.lonely_samples([0.0, 1.0, 2.0, 3.0], [0.5, 1.5]).tolist()
    [True, True, False, False]
    """
    cuts = check_numbers(breakpoints, "breakpoints").reshape(-1)
    if np.isnan(cuts).any():
        raise InputError("breakpoints", "have no NaN", f"{int(np.isnan(cuts).sum())} of them")
    piece = np.searchsorted(np.sort(cuts), check_column(x, "x"))
    return np.asarray(np.bincount(piece, minlength=1)[piece] == 1)
