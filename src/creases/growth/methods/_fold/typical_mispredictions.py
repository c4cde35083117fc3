"""Typical mispredictions: the kinds of mistakes a network makes (XNG, "Find Typical Mis-Predicted Instance")."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from creases._typing import Floats, Ints
from creases._validation import check_numbers
from creases.errors import InputError
from creases.growth._budget import charge
from creases.regions.geometry import SIGN_TOLERANCE


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


# The predictions of a network on data and their losses, with slopes and curvatures.

#: Smallest curvature of the cross-entropy along a contrast of length 1: where the network is certain, the true one
#: vanishes, and a quadratic model would predict any gain.
CURVATURE = 0.01


@dataclass(frozen=True, eq=False)
class Losses:
    """The losses of n samples."""

    loss: Floats  #: (n,)
    weight: Floats  #: (n,) how much each counts, 1 in the mean

    @property
    def mean_loss(self) -> float:
        """Return the weighted mean loss."""
        return float((self.weight * self.loss).mean())


@dataclass(frozen=True, eq=False)
class Decisions(Losses):
    """Predictions for n samples among C classes, and their cross-entropy."""

    z: Floats  #: (n, C) logits; one output f is the two logits (0, f)
    p: Floats  #: (n, C) probabilities
    true: Ints  #: (n,)
    predicted: Ints  #: (n,) class of the largest logit, the first of equals

    @property
    def wrong(self) -> NDArray[np.bool_]:
        """Return which samples are mispredicted, (n,)."""
        mask: NDArray[np.bool_] = self.predicted != self.true
        return mask

    def along(self, change: Floats) -> tuple[Floats, Floats]:
        """Return slope q (n,) and curvature r (n,) of each loss along a change (n, C) of its logits.

        Both are multiplied by the sample's weight. Without it they are ``p_j - [y = j]`` and ``p_j (1 - p_j)`` for two
        classes and the contrast (e_j - e_i) / 2.
        """
        mean = (self.p * change).sum(axis=1)
        q = mean - np.take_along_axis(change, self.true[:, None], axis=1)[:, 0]
        r = (self.p * (change - mean[:, None]) ** 2).sum(axis=1)
        return self.weight * q, self.weight * np.maximum(r, CURVATURE * np.ptp(change, axis=1) ** 2)

    @property
    def errors(self) -> Floats:
        """Return the derivative (n, C) of each loss by its logits."""
        errors = self.p.copy()
        errors[np.arange(len(errors)), self.true] -= 1
        return errors

    @property
    def kind(self) -> Ints:
        """Return a number (n,) for each pair of predicted and true class."""
        return np.asarray(self.predicted * self.z.shape[1] + self.true)


def as_logits(outputs: Floats) -> Floats:
    """Return outputs (n, m) as logits (n, C); one output decides by its sign between class 0 and class 1."""
    return outputs if outputs.shape[1] > 1 else np.column_stack([np.zeros(len(outputs)), outputs])


def decisions(outputs: Floats, y: Any, weight: Any = None) -> Decisions:
    """Return the decisions and losses of outputs (n, m) for true classes y (n,), with sample weights (n,)."""
    z = as_logits(outputs)
    true = _classes(y, *z.shape)
    total = logsumexp(z, axis=1, keepdims=True)
    loss = (total - np.take_along_axis(z, true[:, None], axis=1))[:, 0]
    share = _normalised_weights(weight, len(z))
    return Decisions(np.maximum(loss, 0.0), share, z, np.exp(z - total), true, z.argmax(axis=1))


@dataclass(frozen=True, eq=False)
class Residuals(Losses):
    """Errors of a regression: ``e = f - y`` (n, m), loss ``|e|^2 / 2`` (n,)."""

    e: Floats
    wrong: NDArray[np.bool_]  #: (n,) which have at least the mean loss, and more than rounding

    def along(self, change: Floats) -> tuple[Floats, Floats]:
        """Return slope q (n,) and curvature r (n,) of each loss along a change (n, m) of its outputs.

        Both are multiplied by the sample's weight.
        """
        return self.weight * (self.e * change).sum(axis=1), self.weight * (change**2).sum(axis=1)

    @property
    def errors(self) -> Floats:
        """Return the derivative (n, m) of each loss by its outputs."""
        return self.e

    @property
    def kind(self) -> Ints:
        """Return the same number (n,) for every sample: errors are of one kind."""
        return np.zeros(len(self.e), np.int64)


def residuals(outputs: Floats, y: Any, weight: Any = None) -> Residuals:
    """Return the residuals of outputs (n, m) for targets y, (n,) or (n, m), with sample weights (n,)."""
    target = check_numbers(y, "y")
    if target.ndim == 1 and outputs.shape[1] == 1:
        target = target[:, None]
    if target.shape != outputs.shape or not np.isfinite(target).all():
        raise InputError(
            "y", f"be finite and of shape {outputs.shape}, as the model's outputs", f"shape {target.shape}"
        )
    e = outputs - target
    loss = (e**2).sum(axis=1) / 2
    rounding = SIGN_TOLERANCE * np.abs(np.concatenate([outputs, target])).max(initial=0.0)
    share = _normalised_weights(weight, len(e))
    mean = (share * loss).mean()
    return Residuals(loss, share, e, (loss >= mean) & (np.abs(e).max(axis=1) > rounding))


def _normalised_weights(values: Any, n: int) -> Floats:
    """Return weights (n,) with mean 1."""
    if values is None:
        return np.ones(n)
    weight = check_numbers(values, "weight")
    if weight.shape != (n,) or not np.isfinite(weight).all() or not (weight > 0).all():
        raise InputError(
            "weight",
            f"be a positive number for each of the {n} samples",
            f"shape {weight.shape}",
            "leave out samples that do not count",
        )
    return np.asarray(weight / weight.mean())


def _classes(y: Any, n: int, C: int) -> Ints:
    classes = check_numbers(y, "y")
    if classes.shape == (n, 1):
        classes = classes[:, 0]
    if classes.shape != (n,):
        raise InputError("y", f"have a class for each of the {n} samples", f"shape {classes.shape}")
    if not (np.isin(classes, np.arange(C))).all():
        raise InputError("y", f"have classes from 0 to {C - 1}", f"{classes.min()} to {classes.max()}")
    return classes.astype(np.int64)
