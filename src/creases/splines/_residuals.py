"""What data say to each unit of a shallow network: its sides, and the errors it sees.

The loss is ``l = 1/2 sum_n e_n^2`` with ``e = f(x) - y`` throughout. A unit's slope at a datum is ``a = 1`` where
``w x + b > 0`` and the leak elsewhere, as torch's derivative has it, also on the breakpoint itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from creases._typing import Floats
from creases._validation import check_samples
from creases.errors import InputError
from creases.splines._spline import Shallow


@dataclass(frozen=True, eq=False)
class Residuals:
    """Errors of a shallow network on data, as its units see them."""

    x: Floats  #: (N,)
    e: Floats  #: (N,) f(x) - y
    a: Floats  #: (H, N) slope of each unit's bend at each datum: 1 or the leak
    phi: Floats  #: (H, N) what each unit gives
    r1: Floats  #: (H,) sum of e a
    rx: Floats  #: (H,) sum of e a x

    @property
    def loss(self) -> float:
        """1/2 sum of e^2."""
        return float(self.e @ self.e) / 2


def residuals(net: Shallow, x: Any, y: Any) -> Residuals:
    """The errors of a shallow network at x (N,) against y (N,), and their sums over what each unit sees."""
    x, y = check_samples(x, y)
    with np.errstate(over="ignore", invalid="ignore"):
        a, phi = unit_values(net, x)
        e = net.c0 + net.c1 * x + net.v @ phi - y
        found = Residuals(x, e, a, phi, a @ e, a @ (e * x))
        check_overflow("net", found.phi, found.r1, found.rx, found.e @ found.e)
    return found


def unit_values(net: Shallow, x: Floats) -> tuple[Floats, Floats]:
    """Slopes a (H, N) and values phi (H, N) of every unit's bend at x (N,)."""
    with np.errstate(over="ignore", invalid="ignore"):
        z = net.w[:, None] * x + net.b[:, None]
        a = np.where(z > 0, 1.0, net.leak[:, None])
        return a, a * z


def check_overflow(name: str, *arrays: Any) -> None:
    """Refuse what has overflown, in the name of an argument."""
    if not all(np.isfinite(array).all() for array in arrays):
        raise InputError(f"{name}: its products with the data overflow float64; scale it, or the data, down")
