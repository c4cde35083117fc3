"""The search for the best fold at a typical misprediction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from creases._typing import Floats
from creases.growth.methods._fold.efficient_score import EfficientScore, best_direction, unit_values
from creases.growth.methods._fold.explanation import FoldCandidate, RejectedCandidate
from creases.growth.methods._fold.fold_point import FoldPoint, fold_point, local_fold_point
from creases.growth.methods._fold.predictions import Decisions, Residuals, as_logits
from creases.growth.methods._fold.subnetwork import Subnetwork, SubnetworkView
from creases.growth.methods._fold.typical_mispredictions import TypicalMisprediction, typical_mispredictions
from creases.regions.geometry import UndecidedError

#: Samples times dimensions squared up to which the direction of a crease is searched on all samples. Above it: samples
#: that choose it, at least, and for each dimension; starts and rounds of the search.
EXACT, SAMPLES, PER_DIMENSION, STARTS, ROUNDS = 10_000_000, 4000, 4, 2, 4

#: Scores that are kept for the folds to come.
SCORES = 16


@dataclass(frozen=True, eq=False)
class FoldSearch:
    """The search at the samples of a place."""

    subnet: Subnetwork
    X: Floats  #: (n, d) inputs of the layer
    view: SubnetworkView  #: of them
    state: Decisions | Residuals
    point: str
    direction: str
    seed: int

    def typical(self, k: int, restarts: int, noise: NDArray[np.bool_]) -> list[TypicalMisprediction]:
        """Return the typical mispredictions of about k clusters."""
        state = self.state
        options: dict[str, Any] = {"k": k, "restarts": restarts, "seed": self.seed, "weight": state.weight}
        return typical_mispredictions(self.X, state.loss, state.wrong, noise=noise, **options)

    def points(self, samples: Sequence[TypicalMisprediction], *, at_sample: bool = False) -> list[FoldPoint | str]:
        """Return the fold point of each typical misprediction, or why there is none.

        With ``at_sample`` it is the sample itself, as where no boundary exists.
        """
        point = self._sample_point if at_sample else self._fold_point
        return [point(sample.index) for sample in samples]

    def fold_at(
        self, sample: TypicalMisprediction, at: FoldPoint | str, chosen: Sequence[FoldCandidate], *, at_sample: bool
    ) -> FoldCandidate | RejectedCandidate:
        """Return the best fold through a point beside those chosen so far, or why there is none."""
        if isinstance(at, str):
            return RejectedCandidate(sample.index, at)
        v = self._contrast(sample, at, whole_cluster=at_sample)
        if v is None:
            return RejectedCandidate(
                sample.index, "the layer after the new unit does not affect the output at the fold point"
            )
        return self._best_fold(sample, at, v, chosen)

    def fold_beside(self, fold: FoldCandidate, chosen: Sequence[FoldCandidate]) -> FoldCandidate | RejectedCandidate:
        """Return the fold through the same point that is best beside those chosen."""
        return self._best_fold(fold.typical, fold.at, fold.v, chosen)

    def _best_fold(
        self, sample: TypicalMisprediction, at: FoldPoint, v: Floats, chosen: Sequence[FoldCandidate]
    ) -> FoldCandidate | RejectedCandidate:
        score, D = self._score(v, chosen), self.X - at.x
        u = anchor = self._anchor(sample, at)
        if self.direction == "score":
            u = self._best_direction(score, D, anchor, chosen)
        h = unit_values(D, u[None], self.subnet.leak)
        result = score.evaluate(h)
        if not result.gain[0] > 0:
            return RejectedCandidate(sample.index, "no crease through the fold point lowers the loss")
        return FoldCandidate(
            typical=sample,
            at=at,
            u=u,
            v=v,
            h=h[:, 0],
            gain=float(result.gain[0]),
            coefficient=float(result.coefficient[0]),
            statistic=2 * len(D) * float(result.gain[0]) / self._noise(score.slopes, self.state),
            first_order=float(score.slopes @ h[:, 0]) / len(D),
        )

    def _best_direction(
        self, score: EfficientScore, D: Floats, anchor: Floats, chosen: Sequence[FoldCandidate]
    ) -> Floats:
        """Return the direction (d,) of the largest score; of many samples in many dimensions, some choose it."""
        (n, d), leak = D.shape, self.subnet.leak
        if n * d * d <= EXACT:
            return best_direction(score, D, anchor, leak)
        rows = np.arange(n)
        count = max(SAMPLES, PER_DIMENSION * d)
        if count < n:
            rows = np.sort(np.random.default_rng(self.seed).permutation(n)[:count])
            F = np.column_stack([self.view.features, *(fold.h for fold in chosen)])
            score = EfficientScore(F[rows], score.slopes[rows], score.root[rows] ** 2)
        return best_direction(score, D[rows], anchor, leak, STARTS, ROUNDS)

    def _score(self, v: Floats, chosen: Sequence[FoldCandidate]) -> EfficientScore:
        """Return the score along a contrast v (o,) beside the folds chosen, where it can from the last one along it."""
        key = v.tobytes()
        score, known = self._scores.pop(key, (None, 0))
        if score is None or known > len(chosen):
            score, known = EfficientScore(self.view.features, *self._along(v)), 0
        if known < len(chosen):
            score = score.beside(np.column_stack([other.h for other in chosen[known:]]))
        self._scores[key] = score, len(chosen)
        if len(self._scores) > SCORES:
            del self._scores[next(iter(self._scores))]
        return score

    @cached_property
    def _scores(self) -> dict[bytes, tuple[EfficientScore, int]]:
        """The last scores, by contrast, and how many of the chosen folds each counts as old features."""
        return {}

    def _along(self, v: Floats) -> tuple[Floats, Floats]:
        """Return slopes and curvatures (n,) of the losses along a contrast v (o,)."""
        changes = self.view.slopes(v)
        return self.state.along(changes if isinstance(self.state, Residuals) else as_logits(changes))

    @staticmethod
    def _noise(q: Floats, state: Decisions | Residuals) -> float:
        return float((q**2 / state.weight).mean()) if isinstance(state, Residuals) else 1.0

    def _fold_point(self, t: int) -> FoldPoint | str:
        if isinstance(self.state, Residuals):
            return self._sample_point(t)
        i, j = int(self.state.predicted[t]), int(self.state.true[t])
        if self.point == "foot":
            return local_fold_point(self.subnet.net, self.X[t], i, j)
        try:
            return fold_point(self.subnet.net, self.X, self.state.predicted, t, i, j)
        except UndecidedError:  # creases that are nearly parallel
            return "the boundary next to it cannot be found within rounding"

    def _sample_point(self, t: int) -> FoldPoint:
        """Return the sample itself as the fold point."""
        net, x = self.subnet.net, self.X[t]
        J, y = net.piece(x)
        if isinstance(self.state, Residuals):
            e = self.state.e[t] / np.linalg.norm(self.state.e[t])
            return FoldPoint(x, net.sides(x), e @ J, float(e @ y), 0.0, "the instance itself", 0.0)
        i, j = int(self.state.predicted[t]), int(self.state.true[t])
        rows = as_logits(np.column_stack([J, y]).T).T
        normal, offset = rows[i, :-1] - rows[j, :-1], float(rows[i, -1] - rows[j, -1])
        residual = float(abs(self.state.z[t, i] - self.state.z[t, j]))
        return FoldPoint(x, net.sides(x), normal, offset, 0.0, "the instance itself", residual)

    def _contrast(self, sample: TypicalMisprediction, at: FoldPoint, *, whole_cluster: bool) -> Floats | None:
        """Return the new unit's output weights (o,) up to scale: what raises the true class over the predicted one.

        Where the unit feeds the logits it is (e_j - e_i) / 2 (for one output 1 or -1): z_j - z_i changes by as much
        as the unit. Where it feeds another layer it is of the same length, along the gradient of z_j - z_i there. In
        regression it is of length 1, along the gradient of the error's size. Where nothing moves the output at the
        fold point, it may be against the mean gradient of the losses of the whole cluster.
        """
        t, T = sample.index, self.subnet.jacobian(at.x)  # (m, o)
        if isinstance(self.state, Residuals):
            towards = -self.state.e[t] @ T
            scale = 1.0
        else:
            rows = as_logits(T.T).T
            towards = rows[self.state.true[t]] - rows[self.state.predicted[t]]
            scale = 1 / float(np.linalg.norm(towards) or 1.0) if self.subnet.feeds_output else 0.5**0.5
        if whole_cluster and not towards.any():
            some = sample.members
            towards = -self.view.at(some).gradients(self.state.weight[some, None] * self.state.errors[some]).sum(axis=0)
        size = float(np.linalg.norm(towards))
        return None if size == 0 else np.asarray(scale * towards / size)

    @cached_property
    def _rounding(self) -> float:
        return 1e-12 * max(float(self.X.max()), -float(self.X.min()))

    def _anchor(self, sample: TypicalMisprediction, at: FoldPoint) -> Floats:
        """Return a direction (d,) of length 1 that rotates with the data: towards the sample, or the normal."""
        x = self.X[sample.index]
        for direction in (x - at.x, at.normal):
            size = float(np.linalg.norm(direction))
            if size > self._rounding:
                return np.asarray(direction / size)
        mass = (self.state.weight * self.state.loss) @ (self.X - at.x)
        size = float(np.linalg.norm(mass))
        return np.asarray(mass / size if size > self._rounding else np.eye(1, len(x))[0])
