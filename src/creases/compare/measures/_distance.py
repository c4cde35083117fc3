"""Distances of networks' coefficients, and cross-entropies of their outputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from creases._validation import check_choice
from creases.compare._coefficients import Coefficients
from creases.compare._decisions import log_probabilities
from creases.errors import InputError

Scale = Literal["magnitude", "largest"]


def distances(networks: Sequence[Coefficients], *, scale: Scale = "magnitude") -> NDArray[np.float64]:
    """Return the mean squared distance of the scaled coefficients of all pairs of networks, (N, N).

    The dissertation [1]_, eq. (7.6).

    Parameters
    ----------
    networks
        Coefficients of each network, at the same samples.
    scale
        ``"magnitude"``: each network is divided by its largest coefficient in magnitude, which makes the distance
        independent of a positive or negative factor's size. ``"largest"``: by its largest coefficient, as eq. (7.5) is
        printed; where all are negative or nearly so, that does not measure the scale.

    References
    ----------
    .. [1] Ben Sattelberg, "Local Linearity of ReLU Neural Networks", dissertation, Colorado State University, 2026.
    """
    check_choice(scale, ("magnitude", "largest"), "scale")
    shapes = {(C.n_out, C.count, C.columns) for C in networks}
    if len(shapes) != 1:
        raise InputError(
            "networks",
            "have the same numbers of outputs, samples and inputs",
            f"(outputs, samples, columns) {sorted(shapes)}",
        )
    ((n_out, count, columns),) = shapes
    if not count:
        raise InputError("networks", "have coefficients of at least one sample", "none")
    sizes = [_size(C, scale) for C in networks]
    N = len(networks)
    total = np.zeros((N, N))
    for j in range(n_out):
        for block in networks[0].blocks():
            rows = [C.rows(j, block.start, block.stop).double() / a for C, a in zip(networks, sizes, strict=True)]
            for a in range(N):
                for b in range(a):
                    total[a, b] += float((rows[a] - rows[b]).square().sum())
    return (total + total.T) / (n_out * count * columns)


def _size(C: Coefficients, scale: Scale) -> float:
    """Return the largest coefficient of a network, eq. (7.5); 1 for one that is zero everywhere."""
    parts = (C.rows(j, block.start, block.stop) for j in range(C.n_out) for block in C.blocks())
    ends = [(float(part.min()), float(part.max())) for part in parts]
    lowest, highest = min(low for low, _ in ends), max(high for _, high in ends)
    if scale == "magnitude":
        return max(-lowest, highest) or 1.0
    if highest <= 0 and lowest < 0:
        raise InputError(
            "scale", "suit a network without positive coefficients", repr(scale), "use {0}", [("scale", "magnitude")]
        )
    return highest or 1.0


def cross_entropies(networks: Sequence[Coefficients]) -> NDArray[np.float64]:
    """Return the mean over samples of ``-sum_i p_i log q_i`` of softmax outputs: (N, N), rows p, columns q.

    The dissertation, eq. (7.8). Not symmetric; the diagonal has the entropies. A single output is that of class 1,
    against 0 for class 0.
    """
    logs = [log_probabilities(C.values) for C in networks]
    return np.array([[float(-(p.exp() * q).sum(1).mean()) for q in logs] for p in logs])
