"""Theorem 5 in the spline's own coordinates: the metric of the flow, and the flow without weights.

The velocities ``(beta', m')`` of ``creases.splines.theory.velocities``, with ``m = w v``, are not the gradients of l in
(beta, m), which are ``-m r1`` and ``rx - beta r1``: gradient flow of the weights is a flow of the spline in the
metric ``P``, ``(beta', m') = -P grad l``. Each unit preserves ``d = w^2 + b^2 - v^2``, and ``w^2`` follows from
(beta, m, d): the flow is closed in these variables.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from creases._typing import Floats
from creases.errors import InputError
from creases.splines import Shallow
from creases.splines.theory import velocities


def spline_gradient(net: Shallow, x: Any, y: Any) -> tuple[Floats, Floats]:
    """Return the gradients (H,) of l in each breakpoint, ``-m r1``, and in each ``m = w v``, ``rx - beta r1``.

    The other coordinates are fixed, with the function written as ``c0 + c1 x + sum m (x - beta) a``.
    """
    errors = velocities(net, x, y).sees
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
    return np.stack([np.stack([corner, mixed], -1), np.stack([mixed, last], -1)], -2)


def invariants(net: Shallow) -> Floats:
    """Return what each unit preserves under gradient flow: ``d = w^2 + b^2 - v^2`` (H,)."""
    return np.asarray(net.w**2 + net.b**2 - net.v**2)


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
