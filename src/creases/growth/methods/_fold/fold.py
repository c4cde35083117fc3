"""Growth by folding (XNG): a unit whose crease passes through the boundary next to a typical misprediction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from creases._typing import Floats
from creases._validation import check_choice, check_count, check_number
from creases.errors import InputError
from creases.growth._proposal import Proposal
from creases.growth._samples import SampleArrays
from creases.growth.methods._evidence import (
    Evidence,
    check_printed,
    drop_unweighted,
    message_of,
    renumber_proposal,
    task_of,
)
from creases.growth.methods._first_order.route import UnitPath
from creases.growth.methods._first_order.units import pass_norm
from creases.growth.methods._fold.efficient_score import EfficientScore, best_direction, unit_values
from creases.growth.methods._fold.explanation import (
    FoldCandidate,
    FoldContext,
    RejectedCandidate,
    explain_folds,
    fold_entries,
    fold_outcome,
    same_mistakes,
    unrepaired_rows,
)
from creases.growth.methods._fold.fold_point import FoldPoint, fold_point, local_fold_point
from creases.growth.methods._fold.subnetwork import Subnetwork, check_place, layer_inputs, subnetwork_at
from creases.growth.methods._fold.typical_mispredictions import (
    Decisions,
    Residuals,
    TypicalMisprediction,
    as_logits,
    decisions,
    other_mispredictions,
    residuals,
    typical_mispredictions,
)
from creases.network import Place
from creases.network.surgery import copy_sharing_parameters, find_place, unwrap_module
from creases.regions.geometry import UndecidedError

# The search for the best fold at a typical misprediction.

#: Samples times dimensions squared up to which the direction of a crease is searched on all samples. Above it: samples
#: that choose it, at least, and for each dimension; starts and rounds of the search.
EXACT, SAMPLES, PER_DIMENSION, STARTS, ROUNDS = 10_000_000, 4000, 4, 2, 4

#: Scores that are kept for the folds to come.
SCORES = 16


@dataclass(frozen=True, eq=False)
class FoldSearch(FoldContext):
    """The search at the samples of a place."""

    point: str
    direction: str
    seed: int

    def typical(
        self, k: int, restarts: int, noise: NDArray[np.bool_], wrong: NDArray[np.bool_] | None = None
    ) -> list[TypicalMisprediction]:
        """Return the typical mispredictions of about k clusters; ``wrong`` (n,) if other rows than those count."""
        state, wrong = self.state, self.state.wrong if wrong is None else wrong
        options: dict[str, Any] = {"k": k, "restarts": restarts, "seed": self.seed, "weight": state.weight}
        return typical_mispredictions(self.X, state.loss, wrong, noise=noise, **options)

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
        fold = self._candidate(sample, at, u, v, score)
        if not fold.gain > 0:
            return RejectedCandidate(sample.index, "no crease through the fold point lowers the loss")
        return fold

    def printed_fold(self, k: int, restarts: int) -> FoldCandidate | str:
        """Return the fold of slides 27 to 29, or why there is none: see ``as_printed`` of :func:`fold`."""
        state, everything = self.state, np.ones(len(self.X), dtype=bool)
        assert isinstance(state, Decisions)
        sample = self.typical(k, restarts, ~everything, everything)[0]
        t, mistakes = sample.index, sample.mistakes[state.wrong[sample.mistakes]]
        first, second = np.argsort(-state.z[t], kind="stable")[:2]
        other = state.true[t] if state.wrong[t] else second
        at = local_fold_point(self.subnet.net, self.X[t], int(first), int(other))
        if isinstance(at, str):
            return f"sample {t}: {at}"
        slopes = self.view.gradients(state.weight[:, None] * state.errors)
        unit = printed_unit(self.X, slopes, self.X[t], at.x, leak=self.subnet.leak, seed=self.seed)
        if unit is None:
            return f"sample {t}: no unit whose crease passes through the origin and the fold point gets a gradient"
        u, v = unit
        fold = self._candidate(replace(sample, mistakes=mistakes), at, u, v, self._score(v, []))
        return replace(fold, sign=1.0)

    def _candidate(
        self, sample: TypicalMisprediction, at: FoldPoint, u: Floats, v: Floats, score: EfficientScore
    ) -> FoldCandidate:
        """Return a fold in a direction u (d,) with its score along a contrast v (o,)."""
        h = unit_values(self.X - at.x, u[None], self.subnet.leak)
        result, state = score.evaluate(h), self.state
        noise = float((score.slopes**2 / state.weight).mean()) if isinstance(state, Residuals) else 1.0
        return FoldCandidate(
            typical=sample,
            at=at,
            u=u,
            v=v,
            h=h[:, 0],
            gain=float(result.gain[0]),
            coefficient=float(result.coefficient[0]),
            statistic=2 * len(h) * float(result.gain[0]) / noise,
            first_order=float(score.slopes @ h[:, 0]) / len(h),
            sign=1.0 if result.coefficient[0] >= 0 else -1.0,
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


#: Directions that are tried for the largest gradient as printed, where there are more than two inputs.
DRAWS = 200


def printed_unit(
    X: Floats, slopes: Floats, x_t: Floats, x_f: Floats, *, leak: float = 0.0, seed: int = 0
) -> tuple[Floats, Floats] | None:
    """Return weights w (d,) and v (o,) in and out of the unit of slide 29, of length 1; None if none gets a gradient.

    Of weights with ``w . x_f = 0``, both directions in the plane and random ones elsewhere, GradMax takes those with
    the largest gradient, for the outgoing weights v that make it so. The alignment is the sign of v: descent raises
    the unit at x_t where ``w . (x_t - x_f) > 0``. ``slopes`` (n, o) are those of the losses at what the unit feeds.
    """
    d, best = len(x_f), None
    drawn = np.array([[-x_f[1], x_f[0]]]) if d == 2 else np.random.default_rng(seed).normal(size=(DRAWS, d))
    W = drawn - np.outer(drawn @ x_f, x_f) / (float(x_f @ x_f) or 1.0)
    length = np.linalg.norm(W, axis=1, keepdims=True)
    W = (W / np.where(length > 0, length, 1.0)) if d > 1 or not x_f.any() else W[:0]
    for w in (*W, *-W):
        pairs = (slopes * np.where(X @ w > 0, 1.0, leak)[:, None]).T @ X / len(X)  # (o, d): the gradient is v' pairs
        left, values, _ = np.linalg.svd(pairs, full_matrices=False)
        if values[0] > (0.0 if best is None else best[0]) and w.any():
            best = values[0], w, left[:, 0], pairs
    if best is None:
        return None
    _, w, v, pairs = best
    return w, v * (np.sign((-v @ pairs @ x_t) * (w @ (x_t - x_f))) or 1.0)


#: Samples that a check for dead layers looks at first.
FEW = 256

#: Units of a growth step, at most: more would answer the same mistakes.
MAX_FOLDS = 8

#: Reasons that a refusal lists.
MAX_REASONS = 3

ADVICE = "reinitialise its units, as a growth run does, or remove the layer"


@dataclass(frozen=True)
class Fold:
    """Growth by folding at typical mispredictions; see :func:`fold`."""

    count: int = 1
    eps: float = 0.05
    k: int = 3
    restarts: int = 2
    as_printed: bool = False
    max_samples: int = 10_000  #: the same ones in every growth step

    def check(self, model: nn.Module, place: Place) -> str:
        """Return why no unit can be folded into a place; "" where it can."""
        return message_of(lambda: check_place(unwrap_module(model), place))

    def __call__(self, model: nn.Module, place: Place, evidence: Evidence) -> Proposal:
        """Return the proposal for a place."""
        arrays, options = self._options(evidence)
        count = min(self.count, max(self.k, MAX_FOLDS))
        options |= {"count": count, "k": self.k, "as_printed": self.as_printed}
        options["point"] = "effective" if self.as_printed else "effective or sample"
        proposal = fold(copy_sharing_parameters(model), place, arrays.X, arrays.y, **options)
        return renumber_proposal(proposal, arrays)

    def alternatives(self, model: nn.Module, place: Place, evidence: Evidence, count: int) -> list[Proposal]:
        """Return folds at up to ``count`` typical mispredictions, the largest gain first; as printed the only one."""
        if self.as_printed:
            proposal = self(model, place, evidence)
            return [proposal] if proposal.count else []
        arrays, options = self._options(evidence)
        folds = fold_each(copy_sharing_parameters(model), place, arrays.X, arrays.y, count=count, **options)
        return [renumber_proposal(proposal, arrays) for proposal in folds]

    def _options(self, evidence: Evidence) -> tuple[SampleArrays, dict[str, Any]]:
        """Return the samples, and the options of :func:`fold` that do not depend on how many folds are wanted."""
        arrays, task = drop_unweighted(evidence.samples.arrays(self.max_samples)), task_of(evidence, "fold")
        rows = torch.arange(len(arrays.X)) if arrays.rows is None else arrays.rows
        known = unrepaired_rows(known for known in evidence.earlier if known.get("method") == "fold")
        tried = np.flatnonzero(np.isin(rows.numpy(), sorted(known)))
        options: dict[str, Any] = {"loss": task, "weight": arrays.weight, "seed": evidence.seed, "tried": tried}
        return arrays, options | {"eps": self.eps, "restarts": self.restarts}

    def check_evidence(self, evidence: Evidence) -> None:
        """Refuse losses other than the cross-entropy and the squared error."""
        task = task_of(evidence, "fold")
        if self.as_printed:
            check_printed(loss=(task, "classification"))

    def review(
        self, explanation: Mapping[str, Any], units: Sequence[int], model: nn.Module, evidence: Evidence
    ) -> Mapping[str, Any]:
        """Return the explanation of folds with their outcome so far, on the samples they were made for."""
        if not fold_entries(explanation):
            return explanation
        example = evidence.samples.example()
        sample = drop_unweighted(evidence.samples.arrays(self.max_samples))
        rows = None if sample.rows is None else sample.rows.numpy()
        options: dict[str, Any] = {"units": units, "rows": rows, "input_shape": example.shape[1:]}
        return fold_outcome(explanation, model, sample.X, sample.y, weight=sample.weight, **options)


def fold(
    model: nn.Module,
    place: Place | str,
    X: Any,
    y: Any,
    *,
    loss: Literal["classification", "regression"] = "classification",
    choose: Literal["gain", "mean"] = "gain",
    point: Literal["effective", "effective or sample", "foot"] = "effective",
    direction: Literal["score", "alignment"] = "score",
    count: int = Fold.count,
    k: int = Fold.k,
    restarts: int = Fold.restarts,
    eps: float = Fold.eps,
    as_printed: bool = Fold.as_printed,
    seed: int = 0,
    input_shape: Sequence[int] | None = None,
    weight: Any = None,
    tried: Sequence[int] = (),
) -> Proposal:
    """Propose units that fold the network at typical mispredictions, and explain why [1]_.

    Typical mispredictions come from loss-weighted clustering. For each, the fold point is the point of the effective
    boundary nearest to it, and the crease through that point gets the direction with the largest efficient score. The
    best candidate is proposed, with a small output weight on the contrast between the two classes it confuses. In
    regression the fold point is the sample itself.

    The gain is the score: the predicted decrease of the mean loss (cross-entropy; half the squared error) once the
    unit's output weight and those of the old units have adapted. With several units, each is scored on what the old
    units and the stronger new units leave, so that no two do the same work.

    Where samples times dimensions squared exceed 10 million, at most 4000 samples, or four for each dimension, choose
    the directions of creases; all of them give the gains.

    This applies where one point determines a unit's crease: at a linear layer with bias, a (leaky) relu, and one linear
    layer after it. Elsewhere (in convolutions, where a later layer also reads what comes before this one) folds are
    refused; :class:`Random` units do as well there. A batch norm before the bend or behind it passes the unit on as it
    is in evaluation mode. In training, batches have means and variances of their own: before the bend the crease moves
    by what a batch's mean differs along its normal, and is held by the norm's bias instead of the layer's; behind the
    bend it stays, and only the unit's size and level change.

    Parameters
    ----------
    model, place
        A module and one of its places, or the place's name. At a deeper layer, folds are in the space of its inputs.
    X, y
        Inputs (n, *shape); classes (n,), or targets (n,) or (n, m). A network with one output and classes 0 and 1
        decides by its sign.
    loss
        The task: "classification" or "regression".
    choose
        "gain": the cluster whose fold has the largest gain. "mean": the one with the largest mean loss, as in the
        slides.
    point
        "effective": on the network's boundary. "effective or sample": where there is no boundary, the sample itself
        (what :class:`Fold` does). "foot": on the boundary of the piece at the sample, as in the slides.
    direction
        "score", or "alignment": from the fold point to the sample, as in the slides.
    count
        Maximum number of units.
    k, restarts
        Number of clusters (at least ``count``), and of restarts of the clustering.
    eps
        Size of the output weight: above 0, or no gradient would reach the unit (Lemma 5), and small (Lemma 4). Of
        several units each gets an equal share of it.
    as_printed
        Whether to keep to slides 27 to 29: of the cluster of the highest mean loss the row nearest to the centroid,
        mispredicted or not (of a row that is right, the boundary is to the class second to it); the foot on the
        boundary of its piece, whether or not that is the network's; and one unit without bias, with weights orthogonal
        to the fold point, the largest gradient (GradMax) and its sign by the alignment (:func:`printed_unit`). The
        slides' outgoing weights 0 are ``eps`` long, as there would be no gradient (Lemma 5). Only ``k``, ``restarts``,
        ``eps`` and ``seed`` count beside it.
    seed
        Seed of the clustering, and of random directions.
    input_shape
        Shape of one input, if the model does not determine it.
    weight
        (n,) positive weights of the samples in losses, shares and scores; counts of samples ignore them.
    tried
        Numbers of samples that earlier folds did not help: they count as noise, and are not folded at again.

    Returns
    -------
    Proposal
        Has no units, and the reason in its explanation, if no sample is mispredicted or no fold lowers the loss.
        :func:`creases.growth.explain` renders the explanation as text.

    References
    ----------
    .. [1] Jimmy Kang, "Explainable Network Growth by Folding on Typical Mis-predictions", slides, 2025.

    Examples
    --------
    >>> from creases import problems
    >>> with torch.random.fork_rng():
    ...     _ = torch.manual_seed(0)
    ...     model = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 2)).double()
    >>> X, y = problems.get("quadratic")
    >>> proposal = fold(model, "0", X, y)
    >>> proposal.count, proposal.explanation["where"]["found"]
    (1, 'foot')
    """
    check_choice(loss, ("classification", "regression"), "loss")
    check_choice(choose, ("gain", "mean"), "choose")
    check_choice(point, ("effective", "effective or sample", "foot"), "point")
    check_choice(direction, ("score", "alignment"), "direction")
    check_number(eps, "eps", above=0)
    check_count(count, "count")
    check_count(k, "k")
    check_count(restarts, "restarts")
    if as_printed:
        check_printed(loss=(loss, "classification"), choose=(choose, "gain"), direction=(direction, "score"))
        check_printed(point=(point, "effective"))
    if loss == "regression" and direction == "alignment":
        raise InputError(
            "direction", "be 'score' in regression, where the fold point is the sample itself", repr(direction)
        )
    shape = tuple(np.shape(X)[1:]) if input_shape is None and np.ndim(X) > 2 else input_shape
    options: dict[str, Any] = {"point": point, "direction": direction, "eps": eps, "weight": weight, "seed": seed}
    search = _open_search(model, place, X, y, loss, shape, **options)
    if why := dead_layer_reason(search.subnet, search.X):
        return _refusal(search, why)
    noise = np.isin(np.arange(len(search.X)), tried) & search.state.wrong
    if as_printed and search.state.wrong.any():
        printed = search.printed_fold(k, restarts)
        if isinstance(printed, str):
            return _refusal(search, printed)
        found = explain_folds([printed], search, [printed], noise & False) | {"as_printed": True}
        proposal = _proposal(search, [printed], found)
        return replace(proposal, bias=0 * proposal.bias) if not search.place.norm else proposal
    candidates = search.typical(max(k, count), restarts, noise)
    if not candidates:
        tired = "earlier folds at all mispredicted samples did not help, so these are treated as noise"
        return _refusal(search, tired if noise.any() else "no sample is mispredicted")
    results, folds = _choose(search, candidates if choose == "gain" else candidates[:count], noise, count)
    if not folds:
        reasons = [
            f"sample {result.instance}: {result.why}" for result in results if isinstance(result, RejectedCandidate)
        ]
        return _refusal(search, "; ".join(reasons[:MAX_REASONS]))
    search = replace(search, eps=eps / len(folds))
    return _proposal(search, folds, explain_folds(folds, search, results, noise))


def fold_each(
    model: nn.Module,
    place: Place | str,
    X: Any,
    y: Any,
    *,
    loss: Literal["classification", "regression"],
    count: int,
    seed: int,
    weight: Any = None,
    tried: Sequence[int] = (),
    offset: Floats | None = None,
    eps: float = Fold.eps,
    restarts: int = Fold.restarts,
) -> list[Proposal]:
    """Propose one unit for each of up to ``count`` typical mispredictions, the largest gain first.

    Arguments are those of :func:`fold`; ``offset`` (n, m) is added to the outputs, such as what another model predicts:
    as the boundary is not known then, creases pass through the samples themselves, and explanations list the samples
    that are mispredicted alike.
    """
    options: dict[str, Any] = {"point": "effective or sample", "direction": "score", "eps": eps, "seed": seed}
    search = _open_search(model, place, X, y, loss, None, weight=weight, offset=offset, **options)
    if dead_layer_reason(search.subnet, search.X):
        return []
    state = search.state
    noise = np.isin(np.arange(len(search.X)), tried) & state.wrong
    typical = search.typical(count, restarts, noise)
    typical += other_mispredictions(typical, state.kind, state.wrong & ~noise, count - len(typical))
    results, _ = _extend(search, typical, [], 0, at_sample=offset is not None)
    refused = {result.instance for result in results if isinstance(result, RejectedCandidate)}
    if refused and offset is None:
        lone = [sample for sample in typical if sample.index in refused]
        again, _ = _extend(search, lone, [], 0, at_sample=True)
        results = [*(result for result in results if isinstance(result, FoldCandidate)), *again]
    folds = sorted((result for result in results if isinstance(result, FoldCandidate)), key=lambda fold: -fold.gain)
    explanations = [explain_folds([one], search, results, noise) for one in folds]
    if offset is not None:
        for one, explanation in zip(folds, explanations, strict=True):
            explanation["why"]["cluster"]["alike"] = same_mistakes(one.typical, state).tolist()
    return [_proposal(search, [one], explanation) for one, explanation in zip(folds, explanations, strict=True)]


def _open_search(
    model: nn.Module,
    place: Place | str,
    X: Any,
    y: Any,
    loss: str,
    input_shape: Sequence[int] | None,
    *,
    weight: Any,
    offset: Floats | None = None,
    **options: Any,
) -> FoldSearch:
    """Return the search for folds in a place of a model."""
    model = unwrap_module(model)
    place = find_place(model, place, input_shape)
    subnet = subnetwork_at(model, place, input_shape)
    data, inputs = layer_inputs(subnet, X)
    view, beside = subnet.view(inputs), 0.0 if offset is None else offset
    outputs = beside + view.outputs()
    state = (decisions if loss == "classification" else residuals)(outputs, y, weight)
    return FoldSearch(model, subnet, view, place, data, inputs, state, outputs, beside, **options)


def _choose(
    search: FoldSearch, candidates: Sequence[TypicalMisprediction], noise: NDArray[np.bool_], count: int
) -> tuple[list[FoldCandidate | RejectedCandidate], list[FoldCandidate]]:
    """Return the results for all candidates, and the best folds, each for what the stronger ones leave."""
    results, folds = _extend(search, candidates, [], count)
    if len(folds) < count and search.point != "foot":
        if count > 1:
            available = search.state.wrong & ~noise
            more = other_mispredictions(candidates, search.state.kind, available, count - len(folds))
            _, folds = _extend(search, more, folds, count)
        refused = {result.instance for result in results if isinstance(result, RejectedCandidate)}
        if len(folds) < count and refused and search.point == "effective or sample":
            lone = [sample for sample in candidates if sample.index in refused]
            _, folds = _extend(search, lone, folds, count, at_sample=True)
    return results, folds


def _extend(
    search: FoldSearch,
    samples: Sequence[TypicalMisprediction],
    chosen: Sequence[FoldCandidate],
    count: int,
    *,
    at_sample: bool = False,
) -> tuple[list[FoldCandidate | RejectedCandidate], list[FoldCandidate]]:
    """Return the results for samples, and the chosen folds with further ones, up to ``count``.

    The largest gain comes first, and each is scored beside the others.
    """
    points, chosen = search.points(samples, at_sample=at_sample), list(chosen)
    results = [search.fold_at(sample, at, [], at_sample=at_sample) for sample, at in zip(samples, points, strict=True)]
    folds = [result for result in results if isinstance(result, FoldCandidate)]
    for fold_ in sorted(folds, key=lambda candidate: -candidate.gain):
        if len(chosen) == count:
            break
        result = search.fold_beside(fold_, chosen) if chosen else fold_
        if isinstance(result, FoldCandidate):
            chosen.append(result)
    return results, chosen


def dead_layer_reason(subnet: Subnetwork, X: Floats) -> str:
    """Return why nothing can be learned at inputs X (n, d): a layer without any active unit; "" if there is none."""
    if not np.ptp(X, axis=0).any():
        return "all samples have the same value at the input of the layer"
    net, reason = subnet.net, ""
    for some in (X[:FEW], X):  # most often a few samples show that all layers are alive
        sides, reason = net.sides(some), ""
        for bend, step in enumerate(net.steps[i] for i in net.bends):
            active = sides[:, net.unit_starts[bend] : net.unit_starts[bend + 1]]
            if step.op == "relu" and step.leak is None and not active.any():
                reason = f"dead layer: no unit of {step.path!r} is active on any sample; {ADVICE}"
                break
        if not reason:
            break
    return reason


def _refusal(search: FoldSearch, why: str) -> Proposal:
    """Return a proposal without units, with the reason."""
    return _proposal(search, [], {"method": "fold", "place": search.place.name, "reason": why})


def _proposal(context: FoldContext, folds: Sequence[FoldCandidate], explanation: dict[str, Any]) -> Proposal:
    subnet = context.subnet
    W = subnet.row_norm * np.array([best.u for best in folds]).reshape(-1, subnet.net.n_in)
    V = np.array([best.sign * context.eps * best.v for best in folds]).reshape(-1, subnet.fan_out_size)
    proposal = Proposal(
        method="fold",
        place=context.place,
        fan_in=torch.from_numpy(W),
        bias=torch.tensor([-(w @ best.at.x) for w, best in zip(W, folds, strict=True)], dtype=torch.float64),
        fan_out={context.place.consumers[0].path: torch.from_numpy(np.ascontiguousarray(V.T))},
        gain=sum((best.gain for best in folds), 0.0),
        explanation=explanation,
    )
    if not folds or not context.place.norm:
        return proposal
    weight = next(context.model.parameters())
    x = torch.from_numpy(context.data).reshape(-1, *context.subnet.head.input_shape).to(weight)
    return pass_norm(context.model, UnitPath(context.model, context.place), proposal, [(x, x)], resize=False)
