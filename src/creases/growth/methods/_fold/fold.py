"""Growth by folding (XNG): a unit whose crease passes through the boundary beside a typical mis-prediction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import nn

from creases._typing import Floats
from creases.errors import InputError
from creases.growth._proposal import Proposal
from creases.growth.methods._fold.direction import best_direction, unit_values
from creases.growth.methods._fold.efficient_score import EfficientScore
from creases.growth.methods._fold.explanation import (
    FoldCandidate,
    FoldContext,
    RejectedCandidate,
    explain_fold,
    explain_refusal,
)
from creases.growth.methods._fold.fold_point import FoldPoint, fold_point, local_fold_point
from creases.growth.methods._fold.predictions import Decisions, Residuals, as_logits, decisions, residuals
from creases.growth.methods._fold.subnetwork import Subnetwork, layer_inputs, subnetwork_at
from creases.growth.methods._fold.typical_mispredictions import TypicalMisprediction, typical_mispredictions
from creases.network.surgery import Place, find_place, unwrap_module


def fold(
    model: nn.Module,
    place: Place | str,
    X: Any,
    y: Any,
    *,
    loss: Literal["classification", "regression"] = "classification",
    choose: Literal["gain", "mean"] = "gain",
    point: Literal["effective", "foot"] = "effective",
    direction: Literal["score", "alignment"] = "score",
    k: int = 3,
    restarts: int = 2,
    eps: float = 0.05,
    seed: int = 0,
    input_shape: Sequence[int] | None = None,
    weight: Any = None,
) -> Proposal:
    """Propose one unit that folds the network at a typical mis-prediction, and say why.

    Typical mis-predictions are found by loss-weighted clustering; for each, the point of the effective boundary
    nearest to it, and the direction through that point with the largest efficient score
    (:mod:`creases.growth.methods._fold.efficient_score`). The best of them is proposed, with a small output weight on the contrast
    between the two classes it confuses. In regression the fold point is the instance itself.

    The gain is the score: the predicted fall of the mean loss (cross-entropy; half the squared error) once the unit's
    output weight and those of the old units have adapted.

    Parameters
    ----------
    model, place
        A module and a place of it (or its name): a linear layer with bias, a (leaky) relu, one linear layer behind. At
        a deeper layer everything happens in the space of what enters it.
    X, y
        Inputs (n, *shape); classes (n,), or targets (n,) or (n, m). A network with one output and classes 0 and 1
        decides by its sign.
    choose
        "gain": the cluster whose fold has the largest gain. "mean": the one with the largest mean loss, as the slides.
    point
        "effective": on the network's boundary. "foot": on that of the instance's own piece, as the slides.
    direction
        "score", or "alignment": from the fold point to the instance, as the slides.
    k, restarts
        Clusters, and starts of the clustering.
    eps
        Size of the output weight: not zero, or no gradient would reach the unit (Lemma 5), and small (Lemma 4).
    weight
        (n,) above 0: how often each instance counts. Losses, shares and scores are those of instances that come so
        often; instances are counted as they are given.

    Returns
    -------
    Proposal
        With one unit; with none, and the reason in its explanation, where nothing is mis-predicted or no boundary is
        found. ``words(proposal.explanation)`` puts the explanation in words.

    Examples
    --------
    >>> from creases.problems import quadratic
    >>> with torch.random.fork_rng():
    ...     _ = torch.manual_seed(0)
    ...     model = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 2)).double()
    >>> X, y = quadratic()
    >>> proposal = fold(model, "0", X, y)
    >>> proposal.count, proposal.explanation["where"]["found"]
    (1, 'foot')
    """
    _check(loss=(loss, ("classification", "regression")), choose=(choose, ("gain", "mean")))
    _check(point=(point, ("effective", "foot")), direction=(direction, ("score", "alignment")))
    if not 0 < eps < np.inf:
        raise InputError(f"eps: expected a number above 0, got {eps!r}; at 0 no gradient would reach the unit")
    if k < 1 or restarts < 1:
        raise InputError(f"k, restarts: expected at least 1, got {k} and {restarts}")
    if loss == "regression" and direction == "alignment":
        raise InputError("direction: in regression the fold point is the instance, so there is nothing to align with")
    model = unwrap_module(model)
    place = find_place(model, place, input_shape)
    tail = subnetwork_at(model, place, input_shape)
    given, inputs = layer_inputs(tail, X)
    outputs = tail.outputs(inputs)
    state = (decisions if loss == "classification" else residuals)(outputs, y, weight)
    if why := dead_layer_reason(tail, inputs):
        return _none(place, tail, why)
    candidates = typical_mispredictions(
        inputs, state.loss, state.wrong, k=k, restarts=restarts, seed=seed, weight=state.weight
    )
    if not candidates:
        return _none(place, tail, "nothing is mis-predicted")
    attempt = _Attempt(tail, inputs, state, point, direction)
    tried = [attempt.fold(one) for one in (candidates if choose == "gain" else candidates[:1])]
    folds = [one for one in tried if isinstance(one, FoldCandidate)]
    if not folds:
        reasons = [f"instance {one.instance}: {one.why}" for one in tried if isinstance(one, RejectedCandidate)]
        return _none(place, tail, "; ".join(reasons))
    best = max(folds, key=lambda one: one.gain)
    return _proposal(
        place, tail, best, eps, explain_fold(best, FoldContext(tail, place, given, inputs, state, eps), tried)
    )


def _check(**given: tuple[Any, tuple[str, ...]]) -> None:
    for name, (value, allowed) in given.items():
        if value not in allowed:
            raise InputError(f"{name}: expected {' or '.join(map(repr, allowed))}, got {value!r}")


@dataclass(frozen=True, eq=False)
class _Attempt:
    """What all candidates share."""

    tail: Subnetwork
    X: Floats  #: (n, d) as they enter the layer
    state: Decisions | Residuals
    point: str
    direction: str

    def fold(self, one: TypicalMisprediction) -> FoldCandidate | RejectedCandidate:
        """The best fold at a typical mistake, or why there is none."""
        at = self._fold_point(one.index)
        if isinstance(at, str):
            return RejectedCandidate(one.index, at)
        v = self._contrast(one.index, at)
        if v is None:
            return RejectedCandidate(
                one.index, "what the new unit would feed does not move the output at the fold point"
            )
        changes = self.tail.slopes(self.X, v)
        q, r = self.state.along(changes if isinstance(self.state, Residuals) else as_logits(changes))
        score, D = EfficientScore(self.tail.features(self.X), q, r), self.X - at.x
        anchor = self._anchor(one, at)
        u = anchor if self.direction == "alignment" else best_direction(score, D, anchor, self.tail.leak)
        h = unit_values(D, u[None], self.tail.leak)
        found = score.of(h)
        if not found.gain[0] > 0:
            return RejectedCandidate(one.index, "no direction through the fold point lowers the loss")
        noise = float((q**2 / self.state.weight).mean()) if isinstance(self.state, Residuals) else 1.0
        return FoldCandidate(
            typical=one,
            at=at,
            u=u,
            v=v,
            h=h[:, 0],
            gain=float(found.gain[0]),
            coefficient=float(found.coefficient[0]),
            statistic=2 * len(D) * float(found.gain[0]) / noise,
            first_order=float(q @ h[:, 0]) / len(D),
        )

    def _fold_point(self, t: int) -> FoldPoint | str:
        net, x = self.tail.net, self.X[t]
        if isinstance(self.state, Residuals):
            J, y = net.piece(x)
            e = self.state.e[t] / np.linalg.norm(self.state.e[t])
            return FoldPoint(x, net.sides(x), e @ J, float(e @ y), 0.0, "the instance itself", 0.0)
        i, j = int(self.state.predicted[t]), int(self.state.true[t])
        if self.point == "foot":
            return local_fold_point(net, x, i, j)
        return fold_point(net, self.X, self.state.predicted, t, i, j)

    def _contrast(self, t: int, at: FoldPoint) -> Floats | None:
        """The new unit's output weights (o,), to be scaled: what raises the true class over the predicted one.

        Where the unit feeds the logits it is (e_j - e_i) / 2 (for one output 1 or -1): z_j - z_i changes by as much
        as the unit. Where it feeds another layer it is of the same length, along the gradient of z_j - z_i there. In
        regression it is of length 1, along the gradient of the error's size.
        """
        T = self.tail.jacobian(at.x)  # (m, o)
        if isinstance(self.state, Residuals):
            towards = -self.state.e[t] @ T
            scale = 1.0
        else:
            rows = as_logits(T.T).T
            towards = rows[self.state.true[t]] - rows[self.state.predicted[t]]
            scale = 1 / float(np.linalg.norm(towards) or 1.0) if self.tail.direct else 0.5**0.5
        size = float(np.linalg.norm(towards))
        return None if size == 0 else np.asarray(scale * towards / size)

    def _anchor(self, one: TypicalMisprediction, at: FoldPoint) -> Floats:
        """A direction (d,) of length 1 that turns with the data: from the fold point to the instance, the normal."""
        x = self.X[one.index]
        mass = (self.state.weight * self.state.loss) @ (self.X - at.x)
        for direction in (x - at.x, at.normal, mass, np.eye(1, len(x))[0]):
            size = float(np.linalg.norm(direction))
            if size > 1e-12 * float(np.abs(self.X).max()):
                return np.asarray(direction / size)
        return np.asarray(np.eye(1, len(x))[0])


def dead_layer_reason(tail: Subnetwork, X: Floats) -> str:
    """Why nothing can be learned at inputs X (n, d): a layer without any active unit; "" if there is none."""
    if not np.ptp(X, axis=0).any():
        return "all instances enter the layer as the same point"
    net, sides = tail.net, tail.net.sides(X)
    for bend, step in enumerate(net.steps[i] for i in net.bends):
        own = sides[:, net.unit_starts[bend] : net.unit_starts[bend + 1]]
        if step.op == "relu" and step.leak is None and not own.any():
            return f"a dead layer: no unit of {step.path!r} is active on any instance"
    return ""


def _none(place: Place, tail: Subnetwork, why: str) -> Proposal:
    """A proposal of no unit, with the reason."""
    d, path = tail.net.n_in, place.consumers[0].path
    no_columns = {path: torch.zeros(tail.fan_out_size, 0, dtype=torch.float64)}
    nothing = torch.zeros(0, dtype=torch.float64)
    return Proposal("fold", place, nothing.reshape(0, d), nothing, no_columns, 0.0, explain_refusal(place, why))


def _proposal(place: Place, tail: Subnetwork, best: FoldCandidate, eps: float, explanation: dict[str, Any]) -> Proposal:
    rho = tail.row_norm
    out = torch.from_numpy(best.sign * eps * best.v)[:, None]
    w = rho * best.u
    return Proposal(
        method="fold",
        place=place,
        fan_in=torch.from_numpy(w)[None],
        bias=torch.tensor([-(w @ best.at.x)], dtype=torch.float64),
        fan_out={place.consumers[0].path: out},
        gain=best.gain,
        explanation=explanation,
    )
