"""Shallow networks of several inputs as sums of hinges on hyperplanes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from creases._text import OneLine
from creases._typing import Floats
from creases._validation import check_points
from creases.errors import InputError
from creases.network import as_network
from creases.splines._coefficients import coefficients


@dataclass(frozen=True, eq=False, repr=False)
class Hyperplanes(OneLine):
    """The function ``f(x) = o0 + o . x + sum_i mu_i (xi_i . x - gamma_i)_+`` of d inputs.

    The crease of unit i is the hyperplane ``xi_i . x = gamma_i``. In one dimension ``gamma = s beta``, and mu is the
    slope change ``|w| v``, which is s times the delta-slope of a ``Spline``.
    """

    o0: float  #: constant of the linear part
    o: Floats  #: (d,) slope of the linear part
    xi: Floats  #: (H, d) unit normals, towards the active side
    gamma: Floats  #: (H,) distance of the crease from 0 along the normal
    mu: Floats  #: (H,) change of the slope along the normal, ``(1 - leak) |w| v``

    def __call__(self, x: ArrayLike) -> Floats:
        """Return the values (n,) at points x (n, d); a single point (d,) is a batch of one."""
        points = check_points(x, len(self.o), "x")
        return np.asarray(self.o0 + points @ self.o + np.maximum(points @ self.xi.T - self.gamma, 0.0) @ self.mu)


def to_hyperplanes(model: Any) -> Hyperplanes:
    """Return the creases of a network with one output and one level of bends, of any number of inputs.

    Parameters
    ----------
    model
        A network, a torch module or a file name, as in :func:`creases.splines.from_module`. Units without a crease
        (zero weights) are added to the linear part.

    Examples
    --------
    >>> from creases.splines import to_hyperplanes
    >>> planes = to_hyperplanes([([[3.0, 4.0]], [10.0]), ([[2.0]], [0.0])])  # 2 relu(3 x + 4 y + 10)
    >>> planes.xi.tolist(), planes.gamma.tolist(), planes.mu.tolist()
    ([[0.6, 0.8]], [-2.0], [10.0])
    """
    W, b, v, c0, c, leak = coefficients(as_network(model))
    length = _lengths(W)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        gamma, mu = -b / length + 0.0, (1 - leak) * length * v
        bent = np.isfinite(gamma)
        slope = v * np.where(bent | (b <= 0), leak, 1.0)
        o0, o = c0 + (slope * b).sum(), c + slope @ W
    if not np.isfinite([o0, *o, *mu[bent]]).all():
        raise InputError("model", "have weights whose products fit into float64", hint="scale the network down")
    return Hyperplanes(float(o0), o, W[bent] / length[bent, None], gamma[bent], mu[bent])


def _lengths(W: Floats) -> Floats:
    """Return the Euclidean lengths (H,) of rows, even if their squares over- or underflow."""
    largest = np.abs(W).max(axis=1, initial=0.0)
    scaled = W / np.where(largest > 0, largest, 1.0)[:, None]
    return np.asarray(largest * np.linalg.norm(scaled, axis=1))
