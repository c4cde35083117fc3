"""The Hessian of the loss ``l = 1/2 sum e^2`` of a shallow network: a Gram matrix plus residual terms.

Between breakpoints the function is linear in each of (w, b), v and c, so ``H = Z'Z + R``: Z (N, p) are the gradients of
the function at the samples, which the lecture calls generating vectors, and R couples ``w_i`` with ``v_i`` by
``rx_i`` and ``b_i`` with ``v_i`` by ``r1_i``. At a critical point R vanishes for units with ``v_i != 0``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from creases._typing import Floats
from creases._validation import check_column
from creases.errors import InputError
from creases.splines import Shallow
from creases_reproduction.splines.theory.residuals import check_overflow, residuals, unit_values


@dataclass(frozen=True, eq=False)
class Hessian:
    """The Hessian of the loss in two parts; at a breakpoint on a sample, that of its left side.

    The p parameters of a network are w (H), b (H), v (H), c0 and, if there is a skip, c1; those of a spline are
    beta (H), m = w v (H), c0 and c1.
    """

    gram: Floats  #: (p, p) Z'Z, positive semidefinite
    residual: Floats  #: (p, p) R

    @property
    def matrix(self) -> Floats:
        """The Hessian, (p, p)."""
        return self.gram + self.residual


def generating_vectors(net: Shallow, x: Any) -> Floats:
    """Return the gradients Z (N, p) of the function at x (N,) in ``w, b, v, c0[, c1]``: ``v x a, v a, phi, 1[, x]``."""
    x = check_column(x, "x")
    a, phi = unit_values(net, x)
    tail = [np.ones((1, len(x))), x[None]] if net.c1 != 0 else [np.ones((1, len(x)))]
    with np.errstate(over="ignore", invalid="ignore"):
        return np.concatenate([net.v[:, None] * a * x, net.v[:, None] * a, phi, *tail]).T


def hessian(net: Shallow, x: Any, y: Any) -> Hessian:
    """Return the Hessian of the loss in the parameters w, b, v, c0 and, if there is a skip, c1.

    At every critical point H of its eigenvalues are 0, because scaling w and b up and v down does not change the loss.

    Parameters
    ----------
    net
        The network.
    x, y
        Samples (N,).

    Examples
    --------
    >>> H = hessian(Shallow([1.0], [0.0], [1.0]), [1.0, 2.0], [1.0, 2.0])  # a perfect fit
    >>> H.residual.any(), H.gram.tolist()
    (np.False_, [[5.0, 3.0, 5.0, 3.0], [3.0, 2.0, 3.0, 2.0], [5.0, 3.0, 5.0, 3.0], [3.0, 2.0, 3.0, 2.0]])
    """
    errors = residuals(net, x, y)
    Z = generating_vectors(net, errors.x)
    i, H = np.arange(net.width), net.width
    R = np.zeros((Z.shape[1], Z.shape[1]))
    R[i, 2 * H + i] = R[2 * H + i, i] = errors.rx
    R[H + i, 2 * H + i] = R[2 * H + i, H + i] = errors.r1
    return Hessian(_gram(Z), R)


def spline_hessian(net: Shallow, x: Any, y: Any) -> Hessian:
    """Return the Hessian of the loss in each unit's breakpoint and ``m = w v`` and in c0[, c1].

    Without the gauge it can be positive definite. Its generating vectors are ``-m a``, ``(x - beta) a``, 1, x; beta and
    m of a unit are coupled by ``-r1``.
    """
    if (net.w == 0).any():
        raise InputError(
            "net", "have a breakpoint for every unit", f"w = 0 for unit {int(np.argmax(net.w == 0))}", "remove it"
        )
    errors = residuals(net, x, y)
    with np.errstate(over="ignore", invalid="ignore"):
        beta, m = -net.b / net.w, net.w * net.v
    check_overflow("net", beta, m)
    rows = [-m[:, None] * errors.a, (errors.x - beta[:, None]) * errors.a, np.ones((1, len(errors.x)))]
    Z = np.concatenate([*rows, errors.x[None]] if net.c1 != 0 else rows).T
    i, H = np.arange(net.width), net.width
    R = np.zeros((Z.shape[1], Z.shape[1]))
    R[i, H + i] = R[H + i, i] = -errors.r1
    return Hessian(_gram(Z), R)


def _gram(Z: Floats) -> Floats:
    with np.errstate(over="ignore", invalid="ignore"):
        gram = Z.T @ Z
    check_overflow("net", gram)
    return gram
