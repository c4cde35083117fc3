"""The search for the best fold at a typical misprediction: on all samples, or on some in leading directions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from creases._typing import Floats, Ints
from creases.growth._budget import charge
from creases.growth.methods._fold.efficient_score import RIDGE, EfficientScore, best_direction, unit_values
from creases.growth.methods._fold.explanation import FoldCandidate, RejectedCandidate
from creases.growth.methods._fold.fold_point import FoldPoint, fold_point, local_fold_point, near_fold_points
from creases.growth.methods._fold.predictions import Decisions, Residuals, as_logits
from creases.growth.methods._fold.subnetwork import Subnetwork, SubnetworkView
from creases.growth.methods._fold.typical_mispredictions import TypicalMisprediction, typical_mispredictions
from creases.regions.geometry import UndecidedError


def importance_sample(mass: Floats, size: int, seed: int) -> tuple[Ints, Floats]:
    """Return the rising numbers (m,) of about ``size`` samples, and what each stands for: (m,), with mean 1.

    Half of the chance to be drawn is even, half is proportional to ``mass`` (n,), such as the losses. Weighted means
    over the sample estimate the means over all, for any function of the samples (Horvitz and Thompson, 1952).

    Examples
    --------
    >>> rows, weight = importance_sample(np.array([8.0, 0.0, 0.0, 0.0]), 2, seed=0)
    >>> len(rows), bool(0 in rows), round(float(weight.mean()), 12)
    (2, True, 1.0)
    """
    n = len(mass)
    if size >= n:
        return np.arange(n), np.ones(n)
    total = float(mass.sum())
    share = 0.5 / n + 0.5 * (mass / total if total > 0 else np.full(n, 1 / n))
    chance = np.minimum(size * share, 1.0)
    for _ in range(20):  # samples that are certain leave more chances to the others
        free = chance < 1
        if size - chance.sum() <= 1e-9 * size or not free.any():
            break
        chance[free] = np.minimum(chance[free] * (size - (~free).sum()) / chance[free].sum(), 1.0)
    rng = np.random.default_rng(seed)
    order = rng.permutation(n)
    ticks = np.floor(np.cumsum(chance[order]) + rng.random()).astype(np.int64)  # systematic: one sample for each tick
    rows = np.sort(order[np.diff(ticks, prepend=0) > 0])
    weight = 1 / chance[rows]
    return rows, np.asarray(weight / weight.mean())


#: Directions drawn beyond those wanted, and power iterations (Halko, Martinsson and Tropp, 2011, algorithm 4.4).
OVERSAMPLE, POWER = 8, 2


def leading_directions(A: Floats, k: int, seed: int = 0) -> Floats:
    """Return an orthonormal basis (d, min(k, rank)) of about the leading right singular directions of A (n, d)."""
    n, d = A.shape
    k = min(k, n, d)
    width = min(k + OVERSAMPLE, n, d)
    Y = A @ np.random.default_rng(seed).normal(size=(d, width))
    for _ in range(POWER):
        Y = A @ (A.T @ np.linalg.qr(Y)[0])
    Q = np.linalg.qr(Y)[0]
    charge((2 + 2 * POWER) * n * d * width)
    _, size, directions = np.linalg.svd(Q.T @ A, full_matrices=False)
    return np.ascontiguousarray(directions[:k][size[:k] > 1e-9 * size.max(initial=0.0)].T)


def extend_basis(basis: Floats, vectors: Floats) -> Floats:
    """Return the orthonormal columns (d, e) that vectors (v, d) add to an orthonormal basis (d, k)."""
    out: list[Floats] = []
    for vector in vectors:
        rest, size = vector, float(np.linalg.norm(vector))
        for _ in range(2):  # once more against rounding
            rest = rest - basis @ (basis.T @ rest)
            for other in out:
                rest = rest - (other @ rest) * other
        length = float(np.linalg.norm(rest))
        if length > 1e-6 * size:
            out.append(rest / length)
    return np.array(out).reshape(len(out), len(basis)).T


#: The whole data and the whole space are searched up to this many samples times dimensions squared.
EXACT = 10_000_000

#: Above it: samples for the choice of creases, leading directions of the layer's inputs, and of its units' values.
SAMPLES, DIRECTIONS, FEATURES = 2048, 16, 32

#: Above it: other samples that estimate the gains, and starts and rounds of the iteration for a crease's direction.
OTHERS, STARTS, ROUNDS = 2048, 1, 2

#: Scores that are kept for the folds to come.
SCORES = 16


@dataclass(frozen=True, eq=False)
class FoldSearch:
    """The search on all samples, in all dimensions."""

    subnet: Subnetwork
    X: Floats  #: (n, d) inputs of the layer
    view: SubnetworkView  #: of them
    state: Decisions | Residuals
    point: str
    direction: str
    seed: int

    #: Whether folds that are all wanted are searched once, each beside the earlier ones, and not sorted by gain first.
    in_turn: ClassVar[bool] = False

    @property
    def sizes(self) -> dict[str, int]:
        """Return how many samples choose creases and estimate gains, where they are not all."""
        return {}

    def typical(self, k: int, restarts: int, noise: NDArray[np.bool_]) -> list[TypicalMisprediction]:
        """Return the typical mispredictions of about k clusters."""
        state = self.state
        options: dict[str, Any] = {"k": k, "restarts": restarts, "seed": self.seed, "weight": state.weight}
        return typical_mispredictions(self.X, state.loss, state.wrong, noise=noise, **options)

    def points(self, samples: Sequence[TypicalMisprediction], *, at_sample: bool = False) -> Sequence[FoldPoint | str]:
        """Return the fold point of each typical misprediction, or why there is none.

        With ``at_sample`` it is the sample itself, as where no boundary exists.
        """
        numbers = np.array([sample.index for sample in samples], dtype=np.int64)
        return [self._sample_point(int(t)) for t in numbers] if at_sample else self._fold_points(numbers)

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
        anchor = self._anchor(sample, at)
        u = anchor if self.direction == "alignment" else best_direction(score, D, anchor, self.subnet.leak)
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

    def _score(self, v: Floats, chosen: Sequence[FoldCandidate]) -> EfficientScore:
        """Return the score along a contrast v (o,) beside the folds chosen, where it can from the last one along it."""
        key = v.tobytes()
        score, known = self._scores.pop(key, (None, 0))
        if score is None or known > len(chosen):
            score, known = EfficientScore(self._features, *self._along(*self._part, v)), 0
        if known < len(chosen):
            score = score.beside(np.column_stack([self._values(other) for other in chosen[known:]]))
        self._scores[key] = score, len(chosen)
        if len(self._scores) > SCORES:
            del self._scores[next(iter(self._scores))]
        return score

    @cached_property
    def _scores(self) -> dict[bytes, tuple[EfficientScore, int]]:
        """The last scores, by contrast, and how many of the chosen folds each counts as old features."""
        return {}

    @property
    def _features(self) -> Floats:
        """The old features (n, f) at the samples that choose creases."""
        return self.view.features

    @property
    def _part(self) -> tuple[SubnetworkView, Decisions | Residuals]:
        """The samples that choose creases."""
        return self.view, self.state

    def _values(self, fold: FoldCandidate) -> Floats:
        """Return the values (n,) of a fold's unit at the samples that choose creases."""
        return fold.h

    @staticmethod
    def _along(view: SubnetworkView, state: Decisions | Residuals, v: Floats) -> tuple[Floats, Floats]:
        """Return slopes and curvatures (n,) of the losses along a contrast v (o,)."""
        changes = view.slopes(v)
        return state.along(changes if isinstance(state, Residuals) else as_logits(changes))

    @staticmethod
    def _noise(q: Floats, state: Decisions | Residuals) -> float:
        return float((q**2 / state.weight).mean()) if isinstance(state, Residuals) else 1.0

    def _fold_points(self, samples: Ints) -> Sequence[FoldPoint | str]:
        """Return the fold point of each sample, or why there is none."""
        return [self._fold_point(int(t)) for t in samples]

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


@dataclass(frozen=True, eq=False)
class ReducedSearch(FoldSearch):
    """The search on some samples, in the span of leading directions: for many samples in many dimensions.

    Creases are chosen on an importance sample, and their gains are estimated on the other samples.
    """

    in_turn: ClassVar[bool] = True

    @cached_property
    def sample(self) -> tuple[Ints, Floats]:
        """Return the samples that choose the creases, and their weights."""
        rows, _ = self._halves
        chosen, weight = importance_sample((self.state.weight * self.state.loss)[rows], SAMPLES, self.seed)
        return rows[chosen], weight

    @cached_property
    def _halves(self) -> tuple[Ints, Ints]:
        """Return the samples of which some choose the creases, and those that estimate the gains: disjoint."""
        n = len(self.X)
        order = np.random.default_rng(self.seed).permutation(n)
        if n < 512:
            return np.arange(n), np.arange(n)
        held = min(OTHERS, n // 2)
        return np.sort(order[held:]), np.sort(order[:held])

    @cached_property
    def basis(self) -> Floats:
        """Return the leading directions (d, k) of the layer's inputs."""
        rows, weight = self.sample
        X = self.X[rows]
        mean = weight @ X / len(X)
        return leading_directions(np.sqrt(weight)[:, None] * (X - mean), DIRECTIONS, self.seed)

    @cached_property
    def coordinates(self) -> Floats:
        """Return the layer's inputs in the basis, (n, k)."""
        charge(self.X.size * self.basis.shape[1])
        return self.X @ self.basis

    @cached_property
    def features(self) -> Floats:
        """Return leading combinations (n, f) of the consumer's features, the constant first."""
        rows, weight = self.sample
        F = self.view.hidden
        mean = weight @ F[rows] / len(rows)
        directions = leading_directions(np.sqrt(weight)[:, None] * (F[rows] - mean), FEATURES, self.seed)
        charge(F.size * directions.shape[1])
        return np.column_stack([np.ones(len(F)), (F - mean) @ directions])

    @property
    def sizes(self) -> dict[str, int]:
        """Return how many samples there are, choose creases, and estimate gains."""
        return {"seen": len(self.X), "searched": len(self.sample[0]), "scored": len(self._others)}

    def typical(self, k: int, restarts: int, noise: NDArray[np.bool_]) -> list[TypicalMisprediction]:
        """Return the typical mispredictions of about k clusters, in the leading directions."""
        state, mass = self.state, self.state.weight * self.state.loss
        options: dict[str, Any] = {"k": k, "restarts": restarts, "seed": self.seed, "weight": state.weight}
        clusters = typical_mispredictions(
            self.coordinates, state.loss, state.wrong, noise=noise, fit=self.sample, **options
        )
        return [
            replace(sample, centroid=mass[sample.members] @ self.X[sample.members] / mass[sample.members].sum())
            for sample in clusters
        ]

    @cached_property
    def _part(self) -> tuple[SubnetworkView, Decisions | Residuals]:
        rows, weight = self.sample
        return self.view.at(rows), self.state.part(rows, weight)

    @cached_property
    def _others(self) -> Ints:
        """Return the samples that estimate the gains."""
        return self._halves[1]

    @cached_property
    def _other_part(self) -> tuple[SubnetworkView, Decisions | Residuals]:
        return self.view.at(self._others), self.state.part(self._others, np.ones(len(self._others)))

    @cached_property
    def _search_inputs(self) -> Floats:
        return self.X[self.sample[0]]

    def _best_fold(
        self, sample: TypicalMisprediction, at: FoldPoint, v: Floats, chosen: Sequence[FoldCandidate]
    ) -> FoldCandidate | RejectedCandidate:
        rows, _ = self.sample
        score = self._score(v, chosen)
        X, anchor = self._search_inputs, self._anchor(sample, at)
        more = extend_basis(self.basis, np.array([anchor, score.q @ X - score.q.sum() * at.x]))
        Z = np.column_stack([self.coordinates[rows] - at.x @ self.basis, X @ more - at.x @ more])
        B = np.column_stack([self.basis, more])
        charge(4 * X.size)
        u = anchor @ B
        if self.direction == "score":
            u = best_direction(score, Z, u, self.subnet.leak, STARTS, ROUNDS)
        return self._estimate(sample, at, v, B @ u / np.linalg.norm(B @ u), score, chosen)

    def fold_beside(self, fold: FoldCandidate, chosen: Sequence[FoldCandidate]) -> FoldCandidate | RejectedCandidate:
        """Return the fold as it is if most of its gain is left beside those chosen, else with another direction."""
        score = self._score(fold.v, chosen)
        same = self._estimate(fold.typical, fold.at, fold.v, fold.u, score, chosen)
        if isinstance(same, FoldCandidate) and same.gain > 0.5 * fold.gain:
            return same
        return super().fold_beside(fold, chosen)

    @cached_property
    def _features(self) -> Floats:
        return self.features[self.sample[0]]

    def _values(self, fold: FoldCandidate) -> Floats:
        return np.asarray(fold.h[self.sample[0]])

    def _fold_points(self, samples: Ints) -> Sequence[FoldPoint | str]:
        if isinstance(self.state, Residuals) or self.point == "foot":
            return super()._fold_points(samples)
        return near_fold_points(self.subnet.net, self.X, self.state.predicted, self.state.true, samples)

    def _estimate(
        self,
        sample: TypicalMisprediction,
        at: FoldPoint,
        v: Floats,
        u: Floats,
        score: EfficientScore,
        chosen: Sequence[FoldCandidate],
    ) -> FoldCandidate | RejectedCandidate:
        """Return a fold with the gain that samples give which did not choose it, and its standard error."""
        (rows, _), others = self.sample, self._others
        t = self.X @ u - at.x @ u
        unit = np.where(t > 0, t, self.subnet.leak * t)
        charge(self.X.size)
        old, newton = score.imitate(unit[rows]), float(score.evaluate(unit[rows, None]).coefficient[0])
        view, state = self._other_part
        q, r = self._along(view, state, v)
        h = unit[others]
        h_perp = h - self.features[others] @ old[: self.features.shape[1]]
        for other, coefficient in zip(chosen, old[self.features.shape[1] :], strict=True):
            h_perp -= coefficient * other.h[others]
        slopes = q * h_perp
        slope, curvature = float(slopes.mean()), float((r * (h_perp**2 + RIDGE * h**2)).mean())
        if not curvature > 0 or slope * newton >= 0:
            return RejectedCandidate(sample.index, "no crease through the fold point lowers the loss of other samples")
        gain = slope**2 / (2 * curvature)
        return FoldCandidate(
            typical=sample,
            at=at,
            u=u,
            v=v,
            h=unit,
            gain=gain,
            coefficient=-slope / curvature,
            statistic=2 * len(others) * gain / self._noise(q, state),
            first_order=float((q * h).mean()),
            error=abs(slope) / curvature * float(slopes.std()) / len(others) ** 0.5,
        )
