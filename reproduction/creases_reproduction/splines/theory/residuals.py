"""The errors of a shallow network, as each of its units sees them.

The loss is ``l = 1/2 sum_n e_n^2`` with ``e = f(x) - y`` throughout. A unit's slope at a sample is ``a = 1`` where
``w x + b > 0`` and the leak elsewhere, as in torch; on the breakpoint itself it is the leak.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from creases._typing import Floats
from creases._validation import check_samples
from creases.errors import InputError
from creases.splines import Shallow


@dataclass(frozen=True, eq=False)
class Residuals:
    """The errors of a shallow network on N samples, and their sums over what each unit sees."""

    x: Floats  #: (N,)
    e: Floats  #: (N,) f(x) - y
    a: Floats  #: (H, N) slope of each unit at each sample: 1 or the leak
    phi: Floats  #: (H, N) value of each unit
    r1: Floats  #: (H,) sum of e a
    rx: Floats  #: (H,) sum of e a x

    @property
    def loss(self) -> float:
        """The loss, 1/2 sum of e^2."""
        return float(self.e @ self.e) / 2


def residuals(net: Shallow, x: Any, y: Any) -> Residuals:
    """Return the errors of a shallow network at x (N,) against y (N,), and their sums over what each unit sees."""
    x, y = check_samples(x, y)
    with np.errstate(over="ignore", invalid="ignore"):
        a, phi = unit_values(net, x)
        e = net.c0 + net.c1 * x + net.v @ phi - y
        errors = Residuals(x, e, a, phi, a @ e, a @ (e * x))
        check_overflow("net", errors.phi, errors.r1, errors.rx, errors.e @ errors.e)
    return errors


def unit_values(net: Shallow, x: Floats) -> tuple[Floats, Floats]:
    """Return the slopes a (H, N) and values phi (H, N) of every unit at x (N,)."""
    with np.errstate(over="ignore", invalid="ignore"):
        z = net.w[:, None] * x + net.b[:, None]
        a = np.where(z > 0, 1.0, net.leak[:, None])
        return a, a * z


def check_overflow(name: str, *arrays: Any) -> None:
    """Refuse arrays that have overflown, naming an argument."""
    if not all(np.isfinite(array).all() for array in arrays):
        raise InputError(name, "have products with the data that fit into float64", hint="scale it or the data down")
