"""Rounding errors of float64, bounded before anything is computed.

A sum of n products differs from its exact value by at most ``gamma(n + 2)`` times the sum of the terms' magnitudes, in
whatever order it is computed [1]_. All that the search computes for inputs of a ball are sums over paths through the
network, so one pass of magnitudes bounds the errors of all of them.

References
----------
.. [1] Higham, "Accuracy and Stability of Numerical Algorithms", 2nd ed., SIAM 2002, ch. 3.
"""

from __future__ import annotations

import numpy as np

from creases._typing import Floats
from creases.certify._form import Layers
from creases.certify.proofs._rounding import LEAST, TINY, gamma


class Rounding:
    """Bounds of errors for all inputs u of a ball: between the network and what is computed of its layers.

    Let m be a bound of the magnitudes of all terms that make a pre-activation, where a unit's line contributes at most
    three times the magnitude of its own (slope times z, and an intercept of at most twice that). Sums and bounds of
    such terms then have errors of at most ``gamma(K) m``, K the number of roundings along a path. To this the
    differences between the network's own weights and the multiplied-out, recentered ones are added, and the errors of
    the units before, as far as the weights pass them on.
    """

    def __init__(self, net: Layers, reach: Floats) -> None:
        count = net.n_in + net.n_units
        self.share = gamma(4 * count + 40 * (len(net.layers) + 2))
        self._magnitudes = np.concatenate([reach, np.zeros(net.n_units)])  # of all variables
        self._passed = np.zeros(count)  # errors of all variables
        self.units = np.zeros(net.n_units)  #: (units,) errors of bounds of pre-activations
        for k, layer in enumerate(net.layers):
            size, error = self._rows(layer.W, layer.c, layer.W_error, layer.c_error)
            steep = np.maximum(1.0, np.abs(layer.leak))
            part = slice(layer.first, layer.first + len(size))
            self._magnitudes[part], self._passed[part] = 3.0 * steep * size, steep * error
            self.units[net.units(k)] = error
        self._net = net

    def _rows(self, W: Floats, c: Floats, W_error: Floats | None, c_error: Floats) -> tuple[Floats, Floats]:
        """Return magnitudes and errors of ``W v + c``, v the variables before."""
        before = W.shape[1]
        v, weight = self._magnitudes[:before], np.abs(W)
        size = weight @ v + np.abs(c)
        error = self.share * size + weight @ self._passed[:before] + c_error
        if W_error is not None:
            error = error + W_error @ v
        lost = LEAST * (8 + before) * v.sum()  # of coefficients, by underflow: as much as what they belong to is large
        return size, error * (1 + self.share) + lost + TINY

    def outputs(self, rows: Floats, constants: Floats) -> Floats:
        """Return errors (r,) of bounds of combinations (r, n_out) of the outputs, plus constants (r,)."""
        net, weight = self._net, np.abs(rows)
        error = None if net.W_error is None else weight @ net.W_error
        W, c = weight @ np.abs(net.W), weight @ np.abs(net.c) + np.abs(constants)
        return self._rows(W, c, error, weight @ net.c_error)[1]
