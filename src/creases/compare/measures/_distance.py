"""How far apart two networks' coefficients are, and how their outputs differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from creases.compare._coefficients import Coefficients
from creases.compare._decisions import log_probabilities
from creases.errors import InputError

Scale = Literal["magnitude", "largest"]


def distances(networks: Sequence[Coefficients], *, scale: Scale = "magnitude") -> NDArray[np.float64]:
    """Mean squared distance of the coefficients of all pairs of networks, each scaled: (N, N), eq. (7.6).

    Parameters
    ----------
    scale
        ``"magnitude"``: each network is divided by its largest coefficient in magnitude, which makes the distance
        independent of a positive or negative factor's size. ``"largest"``: by its largest coefficient, as eq. (7.5) is
        printed; where all are negative or nearly so, that is no measure of scale.
    """
    if scale not in ("magnitude", "largest"):
        raise InputError(f'scale: expected "magnitude" or "largest", got {scale!r}')
    shapes = {(C.n_out, C.count, C.columns) for C in networks}
    if len(shapes) != 1:
        raise InputError(
            f"networks: expected the same outputs, samples and inputs of each, got (outputs, samples, columns) "
            f"{sorted(shapes)}"
        )
    ((n_out, count, columns),) = shapes
    if not count:
        raise InputError("networks: expected coefficients of at least one sample")
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
    """Eq. (7.5): the largest coefficient of a network; 1 for one that is zero everywhere."""
    parts = (C.rows(j, block.start, block.stop) for j in range(C.n_out) for block in C.blocks())
    ends = [(float(part.min()), float(part.max())) for part in parts]
    least, most = min(low for low, _ in ends), max(high for _, high in ends)
    if scale == "magnitude":
        return max(-least, most) or 1.0
    if most <= 0 and least < 0:
        raise InputError('scale: a network has no positive coefficient to scale by; use scale="magnitude"')
    return most or 1.0


def cross_entropies(networks: Sequence[Coefficients]) -> NDArray[np.float64]:
    """Mean over samples of ``-sum_i p_i log q_i`` of softmax outputs: (N, N), rows p, columns q, eq. (7.8).

    Not symmetric; the diagonal is a network's own entropy. A single output is that of class 1, against 0.
    """
    logs = [log_probabilities(C.values) for C in networks]
    return np.array([[float(-(p.exp() * q).sum(1).mean()) for q in logs] for p in logs])
