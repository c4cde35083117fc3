"""Growth by folding (XNG): a unit whose crease passes through the boundary next to a typical mis-prediction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import nn

from creases._typing import Floats
from creases._validation import check_choice, check_count, check_number
from creases.errors import InputError
from creases.growth._proposal import Proposal
from creases.growth.methods._evidence import Evidence, drop_unweighted, renumber_proposal, task_of
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
from creases.network.surgery import Place, copy_sharing_parameters, find_place, unwrap_module


@dataclass(frozen=True)
class Fold:
    """Growth by folding at typical mis-predictions; see :func:`fold`."""

    eps: float = 0.05
    k: int = 3
    restarts: int = 2
    max_samples: int = 10_000  #: the same ones in every growth step

    def __call__(self, model: nn.Module, place: Place, evidence: Evidence) -> Proposal:
        """Return the proposal for a place."""
        arrays, task = drop_unweighted(evidence.samples.arrays(self.max_samples)), task_of(evidence, "fold")
        options: dict[str, Any] = {"eps": self.eps, "k": self.k, "restarts": self.restarts, "seed": evidence.seed}
        model = copy_sharing_parameters(model)
        proposal = fold(model, place, arrays.X, arrays.y, loss=task, weight=arrays.weight, **options)
        return renumber_proposal(proposal, arrays)


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
    k: int = Fold.k,
    restarts: int = Fold.restarts,
    eps: float = Fold.eps,
    seed: int = 0,
    input_shape: Sequence[int] | None = None,
    weight: Any = None,
) -> Proposal:
    """Propose one unit that folds the network at a typical mis-prediction, and explain why [1]_.

    Typical mis-predictions come from loss-weighted clustering. For each, the fold point is the point of the effective
    boundary nearest to it, and the crease through that point gets the direction with the largest efficient score. The
    best candidate is proposed, with a small output weight on the contrast between the two classes it confuses. In
    regression the fold point is the sample itself.

    The gain is the score: the predicted decrease of the mean loss (cross-entropy; half the squared error) once the
    unit's output weight and those of the old units have adapted.

    Parameters
    ----------
    model, place
        A module and one of its places, or the place's name: a linear layer with bias, a (leaky) relu, and one linear
        layer behind. At a deeper layer everything happens in the space of its inputs.
    X, y
        Inputs (n, *shape); classes (n,), or targets (n,) or (n, m). A network with one output and classes 0 and 1
        decides by its sign.
    loss
        The task: "classification" or "regression".
    choose
        "gain": the cluster whose fold has the largest gain. "mean": the one with the largest mean loss, as in the
        slides.
    point
        "effective": on the network's boundary. "foot": on the boundary of the piece at the sample, as in the slides.
    direction
        "score", or "alignment": from the fold point to the sample, as in the slides.
    k, restarts
        Number of clusters, and of starts of the clustering.
    eps
        Size of the output weight: above 0, or no gradient would reach the unit (Lemma 5), and small (Lemma 4).
    seed
        Of the clustering.
    input_shape
        Shape of one input, where the model does not determine it.
    weight
        (n,) above 0: how often each sample counts in losses, shares and scores; counts of samples ignore it.

    Returns
    -------
    Proposal
        With one unit; without, and with the reason in its explanation, where nothing is mis-predicted or no boundary
        is found. :func:`creases.growth.explain` renders the explanation as text.

    References
    ----------
    .. [1] Jimmy Kang, "Explainable Network Growth by Folding on Typical Mis-predictions", slides, 2025.

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
    check_choice(loss, ("classification", "regression"), "loss")
    check_choice(choose, ("gain", "mean"), "choose")
    check_choice(point, ("effective", "foot"), "point")
    check_choice(direction, ("score", "alignment"), "direction")
    check_number(eps, "eps", above=0)
    check_count(k, "k")
    check_count(restarts, "restarts")
    if loss == "regression" and direction == "alignment":
        raise InputError(
            "direction", "be 'score' in regression, where the fold point is the sample itself", repr(direction)
        )
    model = unwrap_module(model)
    place = find_place(model, place, input_shape)
    subnet = subnetwork_at(model, place, input_shape)
    data, inputs = layer_inputs(subnet, X)
    outputs = subnet.outputs(inputs)
    state = (decisions if loss == "classification" else residuals)(outputs, y, weight)
    if why := dead_layer_reason(subnet, inputs):
        return _empty_proposal(place, subnet, why)
    candidates = typical_mispredictions(
        inputs, state.loss, state.wrong, k=k, restarts=restarts, seed=seed, weight=state.weight
    )
    if not candidates:
        return _empty_proposal(place, subnet, "nothing is mis-predicted")
    search = _FoldSearch(subnet, inputs, state, point, direction)
    tried = [search.fold_at(sample) for sample in (candidates if choose == "gain" else candidates[:1])]
    folds = [result for result in tried if isinstance(result, FoldCandidate)]
    if not folds:
        reasons = [
            f"instance {result.instance}: {result.why}" for result in tried if isinstance(result, RejectedCandidate)
        ]
        return _empty_proposal(place, subnet, "; ".join(reasons))
    best = max(folds, key=lambda candidate: candidate.gain)
    return _proposal(
        place, subnet, best, eps, explain_fold(best, FoldContext(subnet, place, data, inputs, state, eps), tried)
    )


@dataclass(frozen=True, eq=False)
class _FoldSearch:
    """The search for the best fold at a typical mis-prediction."""

    subnet: Subnetwork
    X: Floats  #: (n, d) inputs of the layer
    state: Decisions | Residuals
    point: str
    direction: str

    def fold_at(self, sample: TypicalMisprediction) -> FoldCandidate | RejectedCandidate:
        """Return the best fold at a typical mis-prediction, or why there is none."""
        at = self._fold_point(sample.index)
        if isinstance(at, str):
            return RejectedCandidate(sample.index, at)
        v = self._contrast(sample.index, at)
        if v is None:
            return RejectedCandidate(
                sample.index, "what the new unit would feed does not move the output at the fold point"
            )
        changes = self.subnet.slopes(self.X, v)
        q, r = self.state.along(changes if isinstance(self.state, Residuals) else as_logits(changes))
        score, D = EfficientScore(self.subnet.features(self.X), q, r), self.X - at.x
        anchor = self._anchor(sample, at)
        u = anchor if self.direction == "alignment" else best_direction(score, D, anchor, self.subnet.leak)
        h = unit_values(D, u[None], self.subnet.leak)
        result = score.evaluate(h)
        if not result.gain[0] > 0:
            return RejectedCandidate(sample.index, "no direction through the fold point lowers the loss")
        noise = float((q**2 / self.state.weight).mean()) if isinstance(self.state, Residuals) else 1.0
        return FoldCandidate(
            typical=sample,
            at=at,
            u=u,
            v=v,
            h=h[:, 0],
            gain=float(result.gain[0]),
            coefficient=float(result.coefficient[0]),
            statistic=2 * len(D) * float(result.gain[0]) / noise,
            first_order=float(q @ h[:, 0]) / len(D),
        )

    def _fold_point(self, t: int) -> FoldPoint | str:
        net, x = self.subnet.net, self.X[t]
        if isinstance(self.state, Residuals):
            J, y = net.piece(x)
            e = self.state.e[t] / np.linalg.norm(self.state.e[t])
            return FoldPoint(x, net.sides(x), e @ J, float(e @ y), 0.0, "the instance itself", 0.0)
        i, j = int(self.state.predicted[t]), int(self.state.true[t])
        if self.point == "foot":
            return local_fold_point(net, x, i, j)
        return fold_point(net, self.X, self.state.predicted, t, i, j)

    def _contrast(self, t: int, at: FoldPoint) -> Floats | None:
        """Return the new unit's output weights (o,) up to scale: what raises the true class over the predicted one.

        Where the unit feeds the logits it is (e_j - e_i) / 2 (for one output 1 or -1): z_j - z_i changes by as much
        as the unit. Where it feeds another layer it is of the same length, along the gradient of z_j - z_i there. In
        regression it is of length 1, along the gradient of the error's size.
        """
        T = self.subnet.jacobian(at.x)  # (m, o)
        if isinstance(self.state, Residuals):
            towards = -self.state.e[t] @ T
            scale = 1.0
        else:
            rows = as_logits(T.T).T
            towards = rows[self.state.true[t]] - rows[self.state.predicted[t]]
            scale = 1 / float(np.linalg.norm(towards) or 1.0) if self.subnet.feeds_output else 0.5**0.5
        size = float(np.linalg.norm(towards))
        return None if size == 0 else np.asarray(scale * towards / size)

    def _anchor(self, sample: TypicalMisprediction, at: FoldPoint) -> Floats:
        """Return a direction (d,) of length 1 that rotates with the data: towards the sample, or the normal."""
        x = self.X[sample.index]
        mass = (self.state.weight * self.state.loss) @ (self.X - at.x)
        for direction in (x - at.x, at.normal, mass, np.eye(1, len(x))[0]):
            size = float(np.linalg.norm(direction))
            if size > 1e-12 * float(np.abs(self.X).max()):
                return np.asarray(direction / size)
        return np.asarray(np.eye(1, len(x))[0])


def dead_layer_reason(subnet: Subnetwork, X: Floats) -> str:
    """Return why nothing can be learned at inputs X (n, d): a layer without any active unit; "" if there is none."""
    if not np.ptp(X, axis=0).any():
        return "all instances enter the layer as the same point"
    net, sides = subnet.net, subnet.net.sides(X)
    for bend, step in enumerate(net.steps[i] for i in net.bends):
        active = sides[:, net.unit_starts[bend] : net.unit_starts[bend + 1]]
        if step.op == "relu" and step.leak is None and not active.any():
            return f"a dead layer: no unit of {step.path!r} is active on any instance"
    return ""


def _empty_proposal(place: Place, subnet: Subnetwork, why: str) -> Proposal:
    """Return a proposal without units, with the reason."""
    d, path = subnet.net.n_in, place.consumers[0].path
    no_columns = {path: torch.zeros(subnet.fan_out_size, 0, dtype=torch.float64)}
    nothing = torch.zeros(0, dtype=torch.float64)
    return Proposal("fold", place, nothing.reshape(0, d), nothing, no_columns, 0.0, explain_refusal(place, why))


def _proposal(
    place: Place, subnet: Subnetwork, best: FoldCandidate, eps: float, explanation: dict[str, Any]
) -> Proposal:
    rho = subnet.row_norm
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
