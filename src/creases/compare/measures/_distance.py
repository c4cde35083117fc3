"""Distances of networks' coefficients, and cross-entropies of their outputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform
from torch import Tensor

from creases._program import propagate
from creases._validation import check_choice
from creases.compare._coefficients import Coefficients, check_alike
from creases.compare._decisions import log_probabilities
from creases.compare.measures._cka import cka_matrix
from creases.errors import InputError
from creases.network import Network, PointsLike, as_network

Scale = Literal["magnitude", "largest"]


def distances(networks: Sequence[Coefficients], *, scale: Scale = "magnitude") -> NDArray[np.float64]:
    """Return the mean squared distance of the scaled coefficients of all pairs of networks, (N, N).

    The dissertation, eq. (7.6).

    Parameters
    ----------
    networks
        Coefficients of each network, at the same samples.
    scale
        ``"magnitude"``: each network is divided by its largest coefficient in magnitude, which makes the distance
        independent of a positive or negative factor's size. ``"largest"``: by its largest coefficient, as eq. (7.5) is
        printed; where all are negative or nearly so, that does not measure the scale.
    """
    check_choice(scale, ("magnitude", "largest"), "scale")
    check_alike(networks)
    n_out, count, columns = networks[0].n_out, networks[0].count, networks[0].columns
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


def similarity_order(values: ArrayLike, *, distance: bool = False) -> list[int]:
    """Return N networks in an order that puts similar ones next to each other.

    The leaves of a hierarchical clustering (average linkage), ordered so that neighbours are as similar as possible.

    Parameters
    ----------
    values
        (N, N) similarities, or distances. A matrix that is not symmetric is replaced by its symmetric part. If some
        values are not finite, the networks stay in their order.
    distance
        Whether small values mean that networks are similar.
    """
    S = np.array(values, np.float64)
    if S.ndim != 2 or S.shape[0] != S.shape[1]:
        raise InputError("values", "be a matrix (N, N), a row and a column for each network", f"shape {S.shape}")
    if len(S) < 3 or not np.isfinite(S).all():
        return [*range(len(S))]
    S = (S + S.T) / 2
    apart = S if distance else S[~np.eye(len(S), dtype=bool)].max() - S
    apart = np.maximum(apart - np.diag(np.diag(apart)), 0.0)
    tree = linkage(squareform(apart, checks=False), method="average", optimal_ordering=True)
    return [int(i) for i in leaves_list(tree)]


def hidden_activations(net: Network, X: PointsLike) -> dict[str, Tensor]:
    """Return the values (p, units) of every bend at samples, by its name in the model, and the ``"output"``."""
    net = as_network(net)
    samples, _ = net.as_batch(X, "X")
    activations: dict[str, Tensor] = {}

    def apply(i: int, inputs: list[Tensor]) -> Tensor:
        step = net.steps[i]
        value = step.apply(inputs)
        if step.is_bend:
            name = step.path if step.path not in activations else f"{step.path} (step {i})"
            activations[name] = value.flatten(1)
        return value

    with torch.no_grad():
        activations["output"] = propagate(net, {0: samples}, apply)[len(net.steps)].flatten(1)
    return activations


def hidden_cka(
    a: Network, b: Network, X: PointsLike, *, unbiased: bool = False
) -> tuple[list[str], list[str], NDArray[np.float64]]:
    """Return the CKA of every bend of one network with every bend of the other.

    Returns
    -------
    names of a's bends, names of b's bends, CKA (bends of a, bends of b)
    """
    first, second = hidden_activations(a, X), hidden_activations(b, X)
    if len(first["output"]) != len(second["output"]):
        raise InputError("X", "be the same samples for both networks")
    every = cka_matrix([*first.values(), *second.values()], unbiased=unbiased)
    return [*first], [*second], every[: len(first), len(first) :]
