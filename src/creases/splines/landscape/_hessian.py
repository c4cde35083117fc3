"""The Hessian of the loss of a shallow network, ``l = 1/2 sum e^2``: a Gram matrix, and terms of the residuals.

Between breakpoints the function is linear in each of (w, b), v and c alone, so ``H = Z'Z + R``: Z (N, p) are the
function's gradients at the data, the lecture's generating vectors, and R couples ``w_i`` with ``v_i`` by ``rx_i`` and
``b_i`` with ``v_i`` by ``r1_i``. At a critical point R vanishes for units with ``v_i != 0``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from creases._typing import Floats
from creases._validation import check_column
from creases.errors import InputError
from creases.splines._residuals import check_overflow, residuals, unit_values
from creases.splines._spline import Shallow


@dataclass(frozen=True, eq=False)
class Hessian:
    """Second derivatives of the loss, p x p, in two parts; at a breakpoint on a datum those of its left side.

    Rows in the network's form: w (H), b (H), v (H), c0 and, where there is a skip, c1. In the spline's form: beta (H),
    m = w v (H), c0, c1.
    """

    gram: Floats  #: (p, p) Z'Z, positive semidefinite
    residual: Floats  #: (p, p) R

    @property
    def matrix(self) -> Floats:
        """The Hessian itself, (p, p)."""
        return self.gram + self.residual


def generating_vectors(net: Shallow, x: Any) -> Floats:
    """Z (N, p): gradients of the function at x (N,) in ``w, b, v, c0[, c1]``: ``v x a``, ``v a``, ``phi``, 1, x."""
    x = check_column(x, "x")
    a, phi = unit_values(net, x)
    tail = [np.ones((1, len(x))), x[None]] if net.c1 != 0 else [np.ones((1, len(x)))]
    with np.errstate(over="ignore", invalid="ignore"):
        return np.concatenate([net.v[:, None] * a * x, net.v[:, None] * a, phi, *tail]).T


def hessian(net: Shallow, x: Any, y: Any) -> Hessian:
    """The Hessian in the network's parameters, w, b, v, c0 and, where there is a skip, c1.

    At every critical point H of its eigenvalues are 0: the loss does not see w and b scaled up and v down.

    >>> found = hessian(Shallow([1.0], [0.0], [1.0]), [1.0, 2.0], [1.0, 2.0])  # a perfect fit
    >>> found.residual.any(), found.gram.tolist()
    (np.False_, [[5.0, 3.0, 5.0, 3.0], [3.0, 2.0, 3.0, 2.0], [5.0, 3.0, 5.0, 3.0], [3.0, 2.0, 3.0, 2.0]])
    """
    found = residuals(net, x, y)
    Z = generating_vectors(net, found.x)
    i, H = np.arange(net.width), net.width
    R = np.zeros((Z.shape[1], Z.shape[1]))
    R[i, 2 * H + i] = R[2 * H + i, i] = found.rx
    R[H + i, 2 * H + i] = R[2 * H + i, H + i] = found.r1
    return Hessian(_gram(Z), R)


def spline_hessian(net: Shallow, x: Any, y: Any) -> Hessian:
    """The Hessian in each unit's breakpoint and ``m = w v`` and in c0[, c1]: the same loss without the gauge.

    This one can be positive definite. Its generating vectors are ``-m a``, ``(x - beta) a``, 1, x; beta and m of a
    unit are coupled by ``-r1``.
    """
    if (net.w == 0).any():
        raise InputError(f"net: unit {int(np.argmax(net.w == 0))} has w = 0 and no breakpoint; remove it")
    found = residuals(net, x, y)
    with np.errstate(over="ignore", invalid="ignore"):
        beta, m = -net.b / net.w, net.w * net.v
    check_overflow("net", beta, m)
    rows = [-m[:, None] * found.a, (found.x - beta[:, None]) * found.a, np.ones((1, len(found.x)))]
    Z = np.concatenate([*rows, found.x[None]] if net.c1 != 0 else rows).T
    i, H = np.arange(net.width), net.width
    R = np.zeros((Z.shape[1], Z.shape[1]))
    R[i, H + i] = R[H + i, i] = -found.r1
    return Hessian(_gram(Z), R)


def _gram(Z: Floats) -> Floats:
    with np.errstate(over="ignore", invalid="ignore"):
        gram = Z.T @ Z
    check_overflow("net", gram)
    return gram
