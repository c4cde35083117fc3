"""The gradient flow of breakpoints and delta-slopes (Theorem 5 of the lecture, with signs corrected).

For a shallow network and ``l = 1/2 sum e^2``, with ``r1 = sum e a``, ``rx = sum e a x`` over the samples a unit sees,
and ``m = w v``, the delta-slope of a unit without leak (with one it is ``mu = (1 - leak) m``)::

    beta' = (v / w) (r1 + beta rx)        m' = -(v^2 + w^2) rx - w b r1

These are not the gradients of l in (beta, m), which are ``-m r1`` and ``rx - beta r1``: gradient flow of the weights
is a flow of the spline in the metric ``P``, ``(beta', m') = -P grad l``. Each unit preserves ``d = w^2 + b^2 - v^2``,
and ``w^2`` follows from (beta, m, d): the flow is closed in these variables.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from creases._typing import Floats
from creases.errors import InputError
from creases.splines import Shallow
from creases_reproduction.splines.theory.residuals import check_overflow, residuals


@dataclass(frozen=True, eq=False)
class Velocities:
    """Time derivatives under gradient flow; NaN for the breakpoint of a unit with w = 0, which has none."""

    beta: Floats  #: (H,) of the breakpoints
    mu: Floats  #: (H,) of the delta-slopes
    w: Floats  #: (H,)
    b: Floats  #: (H,)
    v: Floats  #: (H,)
    c0: float
    c1: float  #: 0 if there is no skip
    f: Floats  #: (N,) of the function at the samples: ``-K e``, with the tangent kernel K


def velocities(net: Shallow, x: Any, y: Any) -> Velocities:
    """Return the time derivatives of a shallow network's spline, weights and values under gradient flow.

    The weights move by ``-grad l``, ``l = 1/2 sum (f(x) - y)^2``; a skip ``c1`` moves if it is not 0. The spline moves
    as in Theorem 5 of the lecture, with signs corrected.

    Parameters
    ----------
    net
        The network.
    x, y
        Samples (N,).

    Examples
    --------
    >>> net = Shallow([1.0, -2.0], [0.5, 1.0], [1.0, 0.5])
    >>> velocities(net, [-1.0, 0.0, 2.0], [0.0, 0.0, 0.0]).beta
    array([ 1.    , -0.4375])
    """
    errors = residuals(net, x, y)
    w, b, v, r1, rx = net.w, net.b, net.v, errors.r1, errors.rx
    beta, ratio = _breakpoints(net)
    with np.errstate(invalid="ignore", over="ignore"):
        d_beta = ratio * (r1 + beta * rx)
        d_mu = (1 - net.leak) * (-(v**2 + w**2) * rx - w * b * r1)
        d_w, d_b, d_v = -v * rx, -v * r1, -(errors.phi @ errors.e)
        c0 = -float(errors.e.sum())
        c1 = -float(errors.e @ errors.x) if net.c1 != 0 else 0.0
        f = c0 + c1 * errors.x + d_v @ errors.phi + (v * d_w) @ errors.a * errors.x + (v * d_b) @ errors.a
    check_overflow("net", d_mu, d_w, d_b, d_v, c1, f)
    return Velocities(d_beta, d_mu, d_w, d_b, d_v, c0, c1, f)


def spline_gradient(net: Shallow, x: Any, y: Any) -> tuple[Floats, Floats]:
    """Return the gradients (H,) of l in each breakpoint, ``-m r1``, and in each ``m = w v``, ``rx - beta r1``.

    The other coordinates are fixed, with the function written as ``c0 + c1 x + sum m (x - beta) a``.
    """
    errors = residuals(net, x, y)
    beta, _ = _breakpoints(net)
    with np.errstate(invalid="ignore"):
        return -net.w * net.v * errors.r1, errors.rx - beta * errors.r1


def metric(net: Shallow) -> Floats:
    """Return the metric P (H, 2, 2) of the flow ``(beta', m') = -P grad l`` of the spline.

    ``P = [[(1 + beta^2) / w^2, -v beta / w], [-v beta / w, v^2 + w^2]]`` is positive definite if w != 0; its
    determinant is ``1 + beta^2 + v^2 / w^2``.
    """
    beta, ratio = _breakpoints(net)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        corner = (1 + beta**2) / net.w**2
        mixed = -ratio * beta
        last = net.v**2 + net.w**2
    check_overflow("net", last)
    return np.stack([np.stack([corner, mixed], -1), np.stack([mixed, last], -1)], -2)


def invariants(net: Shallow) -> Floats:
    """Return what each unit preserves under gradient flow: ``d = w^2 + b^2 - v^2`` (H,)."""
    with np.errstate(over="ignore", invalid="ignore"):
        d = net.w**2 + net.b**2 - net.v**2
    check_overflow("net", d)
    return np.asarray(d)


def squared_weights(beta: Floats, m: Floats, d: Floats) -> tuple[Floats, Floats]:
    """Return ``w^2`` and ``v^2`` (H,) from breakpoints, ``m = w v`` and invariants.

    ``w^2 = (d + sqrt(d^2 + 4 m^2 (1 + beta^2))) / (2 (1 + beta^2))``, and ``v^2 = w^2 (1 + beta^2) - d``; each is
    computed in the form that does not cancel.
    """
    spread = 1 + beta**2
    root = np.sqrt(d**2 + 4 * m**2 * spread)
    large = (np.abs(d) + root) / 2  # the larger of w^2 + b^2 and v^2; their product is m^2 (1 + beta^2)
    small = np.divide(m**2 * spread, large, out=np.zeros(np.shape(large)), where=large > 0)
    norm, v2 = np.where(d >= 0, large, small), np.where(d >= 0, small, large)
    return norm / spread, v2


def closed_velocities(beta: Floats, m: Floats, d: Floats, r1: Floats, rx: Floats) -> tuple[Floats, Floats]:
    """Return ``beta'`` and ``m'`` (H,) from each unit's (beta, m = w v, d) and the errors it sees, without weights."""
    w2, v2 = squared_weights(beta, m, d)
    if (w2 == 0).any():
        raise InputError(
            "m", "belong to units that have a breakpoint", f"w = 0 for unit {int(np.argmin(w2))}", "remove it"
        )
    return m / w2 * (r1 + beta * rx), -(v2 + w2) * rx + w2 * beta * r1


def _breakpoints(net: Shallow) -> tuple[Floats, Floats]:
    """Return ``-b / w`` and ``v / w`` (H,), NaN where w = 0."""
    missing = np.full(net.width, np.nan)
    with np.errstate(over="ignore"):
        return (
            np.divide(-net.b, net.w, out=missing.copy(), where=net.w != 0),
            np.divide(net.v, net.w, out=missing, where=net.w != 0),
        )
