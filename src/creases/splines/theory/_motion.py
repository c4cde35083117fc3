"""Motion under gradient flow: what each unit sees, how breakpoints and delta-slopes move, and the tangent kernel.

The loss is ``l = 1/2 sum_n e_n^2`` with ``e = f(x) - y``. A unit's slope at a sample is ``a = 1`` where ``w x + b > 0``
and the leak elsewhere, as in torch; on the breakpoint itself it is the leak.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from creases._typing import Floats
from creases._validation import check_column, check_samples
from creases.errors import InputError
from creases.splines._spline import Shallow


class Residuals(NamedTuple):
    """The errors of a shallow network on N samples, and their sums over what each unit sees."""

    x: Floats  #: (N,)
    e: Floats  #: (N,) f(x) - y
    a: Floats  #: (H, N) slope of each unit at each sample: 1 or the leak
    phi: Floats  #: (H, N) value of each unit
    r1: Floats  #: (H,) sum of e a
    rx: Floats  #: (H,) sum of e a x


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
    sees: Residuals  #: the errors that move them


def velocities(net: Shallow, x: Any, y: Any) -> Velocities:
    """Return how a shallow network's breakpoints, delta-slopes, weights and values move under gradient flow.

    With ``r1 = sum e a`` and ``rx = sum e a x`` over the samples that a unit sees (Theorem 5, equations 4 and 5)::

        beta' = (v / w) (r1 + beta rx)        mu' = (1 - leak) (-(v^2 + w^2) rx - w b r1)

    These are not the gradients of l in beta and mu, which the lecture sets equal to them. Gradient descent with steps
    ``lr`` on the *mean* squared error of samples x, y (N,) follows this flow for a time ``2 lr / N`` a step. A skip
    ``c1`` moves if it is not 0.

    Examples
    --------
    >>> from creases.splines import Shallow, theory
    >>> net = Shallow([1.0, -2.0], [0.5, 1.0], [1.0, 0.5])
    >>> theory.velocities(net, [-1.0, 0.0, 2.0], [0.0, 0.0, 0.0]).beta
    array([ 1.    , -0.4375])
    """
    errors = residuals(net, x, y)
    w, b, v, r1, rx = net.w, net.b, net.v, errors.r1, errors.rx
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        d_beta = np.where(w != 0, (v / w) * (r1 + (-b / w) * rx), np.nan)
        d_mu = (1 - net.leak) * (-(v**2 + w**2) * rx - w * b * r1)
        d_w, d_b, d_v = -v * rx, -v * r1, -(errors.phi @ errors.e)
        c0 = -float(errors.e.sum())
        c1 = -float(errors.e @ errors.x) if net.c1 != 0 else 0.0
        f = c0 + c1 * errors.x + d_v @ errors.phi + (v * d_w) @ errors.a * errors.x + (v * d_b) @ errors.a
    check_overflow("net", d_mu, d_w, d_b, d_v, c1, f)
    return Velocities(d_beta, d_mu, d_w, d_b, d_v, c0, c1, f, errors)


def tangent_kernel(net: Shallow, x: Any, other: Any = None) -> Floats:
    """Return the tangent kernel K (n, n') between inputs x (n,) and ``other`` (n',), by default x itself.

    ``K(x, x') = sum_i v_i^2 a_i a_i' (1 + x x') + sum_i phi_i phi_i' + 1``, plus ``x x'`` if there is a skip: the inner
    product of the function's gradients in the weights. The function moves by ``f' = -K e`` ("Dynamical Laws for the
    Function").

    Examples
    --------
    >>> from creases.splines import Shallow, theory
    >>> theory.tangent_kernel(Shallow([1.0], [0.0], [2.0]), [1.0, -1.0])
    array([[10.,  1.],
           [ 1.,  1.]])
    """
    x = check_column(x, "x")
    z = x if other is None else check_column(other, "other")
    (a, phi), (a2, phi2) = unit_values(net, x), unit_values(net, z)
    with np.errstate(over="ignore", invalid="ignore"):
        product = np.multiply.outer(x, z)
        kernel = (a.T @ ((net.v**2)[:, None] * a2)) * (1 + product) + phi.T @ phi2 + 1
        kernel = kernel + product if net.c1 != 0 else kernel
    check_overflow("net", kernel)
    return np.asarray(kernel)
