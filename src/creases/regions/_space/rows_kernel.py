"""Compiled step of rows of values through one layer of a perceptron (numba; imported only when first used)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from creases._compiled import jit
from creases.regions._plane.perceptron_kernel import apply_affine, apply_bend, largest_magnitudes, term_sizes

Array = NDArray[Any]


@jit
def advance_layer(rows: Array, weight: Array, offset: Array, leaks: Array) -> tuple[Array, Array]:
    """Return rows (V, units) after a bend, if it has any leaks, and a layer, and the size of their terms (units,).

    ``weight`` is (inputs, units); ``leaks`` (inputs,), or none where no bend comes first.
    """
    values = rows.copy()
    for v in range(len(values)):
        for u in range(len(leaks)):
            values[v, u] = apply_bend(values[v, u], leaks[u])
    out = np.empty((len(values), len(offset)))
    apply_affine(values, len(values), weight, offset, out)
    return out, term_sizes(largest_magnitudes(values), weight, offset)
