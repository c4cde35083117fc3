"""Typical mispredictions: the kinds of mistakes a network makes (XNG, "Find Typical Mis-Predicted Instance")."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from creases._typing import Floats, Ints
from creases.growth._budget import charge


@dataclass(frozen=True, eq=False)
class TypicalMisprediction:
    """A sample that represents a kind of mistake: the mispredicted one nearest to the centroid of its cluster."""

    index: int  #: among all samples
    members: Ints  #: samples of its cluster
    mistakes: Ints  #: mispredicted samples of its cluster, the nearest to the centroid first
    centroid: Floats  #: (d,) loss-weighted
    mean_loss: float  #: of the cluster
    share: float  #: of the cluster in the total loss


def typical_mispredictions(
    X: Floats,
    loss: Floats,
    wrong: NDArray[np.bool_],
    *,
    k: int,
    restarts: int,
    seed: int,
    weight: Floats | None = None,
    noise: NDArray[np.bool_] | None = None,
) -> list[TypicalMisprediction]:
    """Return a typical misprediction for every cluster with mistakes, the cluster of highest mean loss first [1]_.

    Parameters
    ----------
    X
        (n, d) samples.
    loss
        (n,) at least 0: weights of the clustering (k-means, k-means++ start), so that clusters gather losses.
    wrong
        (n,) which samples count as mistakes.
    k, restarts
        Number of clusters (fewer where there are fewer different samples with a loss), and of starts.
    weight
        (n,) above 0: how often each sample counts; once by default.
    noise
        (n,) which mistakes represent nothing; they count in the clusters all the same. None by default.

    References
    ----------
    .. [1] Jimmy Kang, "Explainable Network Growth by Folding on Typical Mis-predictions", slides, 2025.

    Examples
    --------
    >>> X = np.array([[0.0], [0.1], [5.0], [5.2], [5.4]])
    >>> samples = typical_mispredictions(X, np.array([0.1, 0.1, 2.0, 2.0, 2.0]), X[:, 0] > 1, k=2, restarts=2, seed=0)
    >>> [(sample.index, sample.members.tolist()) for sample in samples]
    [(3, [2, 3, 4])]
    """
    typical = wrong if noise is None else wrong & ~noise
    if not (typical & (loss > 0)).any():
        return []
    weight = np.ones(len(X)) if weight is None else weight
    mass = weight * loss
    labels, centroids = _clusters(X, mass, k, restarts, seed)
    out = []
    for label, centroid in enumerate(centroids):
        members = np.flatnonzero(labels == label)
        mistakes = members[wrong[members]]
        if typical[mistakes].any():
            near = np.argsort(((X[mistakes] - centroid) ** 2).sum(axis=1), kind="stable")
            first = mistakes[near][typical[mistakes[near]]][0]
            held = float(mass[members].sum())
            mean, share = held / float(weight[members].sum()), held / float(mass.sum())
            out.append(TypicalMisprediction(int(first), members, mistakes[near], centroid, mean, share))
    return sorted(out, key=lambda sample: -sample.mean_loss)


def other_mispredictions(
    typical: Sequence[TypicalMisprediction], kind: Ints, available: NDArray[np.bool_], count: int
) -> list[TypicalMisprediction]:
    """Return up to ``count`` further typical mispredictions, from each cluster in turn.

    Of each cluster first the most frequent other kinds of mistakes (``kind`` (n,), such as the pair of classes), each
    by its sample nearest to the centroid, then the nearest samples of any kind. Only ``available`` (n,) ones count.
    """
    queues = [_queue(sample, kind, available) for sample in typical]
    turns = (
        replace(sample, index=int(queue[turn]))
        for turn in range(max(map(len, queues), default=0))
        for sample, queue in zip(typical, queues, strict=True)
        if turn < len(queue)
    )
    return list(islice(turns, count))


def _queue(sample: TypicalMisprediction, kind: Ints, available: NDArray[np.bool_]) -> Ints:
    rows = sample.mistakes[available[sample.mistakes] & (sample.mistakes != sample.index)]
    _, first, inverse, size = np.unique(kind[rows], return_index=True, return_inverse=True, return_counts=True)
    leads = np.zeros(len(rows), dtype=bool)
    leads[first] = kind[rows[first]] != kind[sample.index]
    return np.asarray(rows[np.lexsort((np.arange(len(rows)), -np.where(leads, size[inverse], 0)))])


def _clusters(X: Floats, mass: Floats, k: int, restarts: int, seed: int) -> tuple[Ints, Floats]:
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    different = len(np.unique(X[mass > 0], axis=0))
    scale = np.abs(X - X.mean(axis=0)).max() or 1.0  # k-means++ squares distances: keep them near 1
    clustering = KMeans(min(k, different), n_init=restarts, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer clusters than requested are fine
        labels = clustering.fit(X / scale, sample_weight=mass).labels_
    charge(2 * restarts * X.size * k * clustering.n_iter_)
    return labels.astype(np.int64), clustering.cluster_centers_ * scale
