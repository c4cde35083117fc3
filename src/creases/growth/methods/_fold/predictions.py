"""What a network decides on data and what that costs: the part of the loss that folding looks at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp
from torch import Tensor

from creases._typing import Floats, Ints
from creases.errors import InputError
from creases.regions.geometry import SIGN_TOLERANCE

#: Least curvature of the cross-entropy along a contrast of length 1: where the network is sure, the true one vanishes,
#: and a quadratic model would promise any gain.
CURVATURE = 0.01


@dataclass(frozen=True, eq=False)
class Decisions:
    """Predictions for n instances among C classes, and their cross-entropy."""

    z: Floats  #: (n, C) logits; one output f is the two logits (0, f)
    p: Floats  #: (n, C) probabilities
    true: Ints  #: (n,)
    predicted: Ints  #: (n,) the first largest
    loss: Floats  #: (n,)
    weight: Floats  #: (n,) how much each counts, 1 in the mean

    @property
    def mean_loss(self) -> float:
        """In the weighted mean."""
        return float((self.weight * self.loss).mean())

    @property
    def wrong(self) -> NDArray[np.bool_]:
        """(n,) which are mis-predicted."""
        mask: NDArray[np.bool_] = self.predicted != self.true
        return mask

    def along(self, change: Floats) -> tuple[Floats, Floats]:
        """Slope q (n,) and curvature r (n,) of each loss when its logits change by a multiple of ``change`` (n, C).

        Both are times the instance's weight. For two classes and the contrast (e_j - e_i) / 2 these are, but for that,
        ``p_j - [y = j]`` and ``p_j (1 - p_j)``.
        """
        mean = (self.p * change).sum(axis=1)
        q = mean - np.take_along_axis(change, self.true[:, None], axis=1)[:, 0]
        r = (self.p * (change - mean[:, None]) ** 2).sum(axis=1)
        return self.weight * q, self.weight * np.maximum(r, CURVATURE * np.ptp(change, axis=1) ** 2)


def as_logits(outputs: Floats) -> Floats:
    """Outputs (n, m) as logits (n, C): one output is the sign that decides between class 0 and class 1."""
    return outputs if outputs.shape[1] > 1 else np.column_stack([np.zeros(len(outputs)), outputs])


def decisions(outputs: Floats, y: Any, weight: Any = None) -> Decisions:
    """Decisions and losses of outputs (n, m) for the true classes y (n,), which count by their weights (n,)."""
    z = as_logits(outputs)
    true = _classes(y, *z.shape)
    total = logsumexp(z, axis=1, keepdims=True)
    loss = (total - np.take_along_axis(z, true[:, None], axis=1))[:, 0]
    return Decisions(z, np.exp(z - total), true, z.argmax(axis=1), np.maximum(loss, 0.0), _weights(weight, len(z)))


@dataclass(frozen=True, eq=False)
class Residuals:
    """Errors of a regression: ``e = f - y`` (n, m), loss ``|e|^2 / 2`` (n,)."""

    e: Floats
    loss: Floats
    wrong: NDArray[np.bool_]  #: (n,) which have at least the mean loss, and more than rounding
    weight: Floats  #: (n,) how much each counts, 1 in the mean

    @property
    def mean_loss(self) -> float:
        """In the weighted mean."""
        return float((self.weight * self.loss).mean())

    def along(self, change: Floats) -> tuple[Floats, Floats]:
        """Slope q (n,) and curvature r (n,) of each loss when its outputs change by a multiple of ``change`` (n, m).

        Both are times the instance's weight.
        """
        return self.weight * (self.e * change).sum(axis=1), self.weight * (change**2).sum(axis=1)


def residuals(outputs: Floats, y: Any, weight: Any = None) -> Residuals:
    """Residuals of outputs (n, m) for the targets y, (n,) or (n, m), which count by their weights (n,)."""
    target = _array(y)
    if target.ndim == 1 and outputs.shape[1] == 1:
        target = target[:, None]
    if target.shape != outputs.shape or not np.isfinite(target).all():
        raise InputError(f"y: expected finite targets of shape {outputs.shape}, got shape {target.shape}")
    e = outputs - target
    loss = (e**2).sum(axis=1) / 2
    rounding = SIGN_TOLERANCE * np.abs(np.concatenate([outputs, target])).max(initial=0.0)
    share = _weights(weight, len(e))
    mean = (share * loss).mean()
    return Residuals(e, loss, (loss >= mean) & (np.abs(e).max(axis=1) > rounding), share)


def _weights(given: Any, n: int) -> Floats:
    """Weights (n,) that are 1 in the mean."""
    if given is None:
        return np.ones(n)
    weight = _array(given, "weight")
    if weight.shape != (n,) or not np.isfinite(weight).all() or not (weight > 0).all():
        raise InputError(
            f"weight: expected a number above 0 for each of the {n} instances, got shape {weight.shape}; leave out "
            "those that do not count"
        )
    return np.asarray(weight / weight.mean())


def _classes(y: Any, n: int, C: int) -> Ints:
    given = _array(y)
    if given.shape == (n, 1):
        given = given[:, 0]
    if given.shape != (n,):
        raise InputError(f"y: expected a class for each of the {n} instances, got shape {given.shape}")
    if not (np.isfinite(given).all() and (given == np.round(given)).all() and (given >= 0).all() and (given < C).all()):
        raise InputError(f"y: expected class numbers from 0 to {C - 1}, got {given.min()} to {given.max()}")
    return given.astype(np.int64)


def _array(y: Any, name: str = "y") -> Floats:
    try:
        return np.asarray(y.detach().cpu() if isinstance(y, Tensor) else y, np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name}: expected an array of numbers, got {type(y).__name__}") from None
