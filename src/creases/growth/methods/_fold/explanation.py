"""The record of a fold: why a unit was added, where its crease lies, what it did at once, as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

from creases._typing import Floats
from creases.growth.methods._fold.fold_point import FoldPoint
from creases.growth.methods._fold.predictions import Decisions, Residuals, as_logits
from creases.growth.methods._fold.subnetwork import Subnetwork
from creases.growth.methods._fold.typical_mispredictions import TypicalMisprediction
from creases.network.surgery import Place

#: Examples of a cluster's mistakes that a record names.
EXAMPLES = 5


@dataclass(frozen=True, eq=False)
class FoldCandidate:
    """The fold at one typical mistake, before its size is set."""

    typical: TypicalMisprediction
    at: FoldPoint
    u: Floats  #: (d,) of length 1: the unit is relu(u . (x - x_f)), times the rows' usual length
    v: Floats  #: (o,) the contrast that the unit feeds
    h: Floats  #: (n,) values of the unit of length 1
    gain: float  #: predicted fall of the mean loss
    coefficient: float  #: Newton's multiple of the contrast, for the unit of length 1
    statistic: float  #: of the score test, chi-squared with one degree of freedom for a direction fixed in advance
    first_order: float  #: E[q h]: slope of the mean loss by the multiple of the contrast

    @property
    def sign(self) -> float:
        """Which way the contrast counts."""
        return 1.0 if self.coefficient >= 0 else -1.0


@dataclass(frozen=True)
class RejectedCandidate:
    """A typical mistake without a fold, and why."""

    instance: int
    why: str


@dataclass(frozen=True, eq=False)
class FoldContext:
    """What a fold was made for."""

    tail: Subnetwork
    place: Place
    data: Floats  #: (n, n_in) the model's inputs
    X: Floats  #: (n, d) as they enter the layer
    state: Decisions | Residuals
    eps: float


def explain_refusal(place: Place, why: str) -> dict[str, Any]:
    """The record of no fold."""
    return {"method": "fold", "place": place.name, "reason": why}


def explain_fold(
    fold: FoldCandidate, setting: FoldContext, tried: Sequence[FoldCandidate | RejectedCandidate]
) -> dict[str, Any]:
    """Everything about a fold that is known when it is made, JSON-able (spec: why, where, crease, effect at once)."""
    hidden = setting.tail.features(setting.X)[:, : setting.place.width]
    dead = np.flatnonzero(~(hidden > 0).any(axis=0)) if setting.tail.leak == 0 else np.zeros(0, int)
    return {
        "method": "fold",
        "place": setting.place.name,
        "unit": setting.place.width,
        "reason": "",
        "why": _why(fold, setting),
        "where": _where(fold, setting),
        "crease": _crease(fold, setting),
        "effect": _effect(fold, setting),
        "candidates": [_candidate(one) for one in tried],
        "dead_units": dead.tolist(),
    }


def _why(fold: FoldCandidate, setting: FoldContext) -> dict[str, Any]:
    one, state = fold.typical, setting.state
    t = one.index
    out: dict[str, Any] = {
        "instance": t,
        "features": setting.data[t].tolist(),
        "loss": float(state.loss[t]),
        "mean_loss": state.mean_loss,
        "cluster": {
            "size": len(one.members),
            "mispredicted": len(one.mistakes),
            "share_of_loss": one.share,
            "mean_loss": one.mean_loss,
            "centroid": one.centroid.tolist(),
            "examples": one.mistakes[:EXAMPLES].tolist(),  # the most typical first
        },
    }
    if isinstance(state, Residuals):
        return out | {"residual": state.e[t].tolist()}
    i, j = int(state.predicted[t]), int(state.true[t])
    same = (state.predicted[one.mistakes] == i) & (state.true[one.mistakes] == j)
    out["cluster"]["same_mistake"] = int(same.sum())
    out["mistakes"] = np.flatnonzero(state.wrong).tolist()
    out["cluster"]["mistakes"] = one.mistakes.tolist()
    return out | {"true": j, "predicted": i, "probabilities": state.p[t].tolist()}


def _where(fold: FoldCandidate, setting: FoldContext) -> dict[str, Any]:
    net, at = setting.tail.net, fold.at
    return {
        "space": "input" if not setting.tail.head.steps else f"what enters {setting.place.name}",
        "pattern": _bits(net.sides(setting.X[fold.typical.index])),
        "region": _bits(at.sides),
        "boundary": {"normal": at.normal.tolist(), "offset": at.offset},
        "fold_point": at.x.tolist(),
        "distance": at.distance,
        "found": at.found,
        "residual": at.residual,
    }


def _bits(sides: NDArray[np.int16]) -> str:
    return " ".join(map(str, sides.tolist())) if sides.max(initial=0) > 1 else "".join(map(str, sides.tolist()))


def _crease(fold: FoldCandidate, setting: FoldContext) -> dict[str, Any]:
    active = (setting.X - fold.at.x) @ fold.u > 0
    length = float(np.linalg.norm(fold.at.normal))
    cosine = abs(float(fold.u @ fold.at.normal)) / length if length > 0 else None
    out: dict[str, Any] = {
        "normal": fold.u.tolist(),
        "offset": -float(fold.u @ fold.at.x),
        "length": setting.tail.row_norm,
        "angle_to_boundary": None if cosine is None else float(np.degrees(np.arccos(min(cosine, 1.0)))),
        "active_share": float((setting.state.weight * active).mean()),
    }
    if isinstance(setting.state, Decisions):
        classes = range(setting.state.z.shape[1])
        out["active_by_class"] = [int((active & (setting.state.true == c)).sum()) for c in classes]
        out["instances_by_class"] = [int((setting.state.true == c).sum()) for c in classes]
    return out


def _effect(fold: FoldCandidate, setting: FoldContext) -> dict[str, Any]:
    tail, state, rho = setting.tail, setting.state, setting.tail.row_norm
    weight = fold.sign * setting.eps * fold.v
    before = tail.outputs(setting.X)
    after = tail.outputs(setting.X, (rho * fold.h)[:, None] * weight)
    size = rho * float(np.abs(fold.h).max())
    out: dict[str, Any] = {
        "contrast": weight.tolist(),
        "predicted_gain": fold.gain,
        "newton_weight": fold.coefficient / rho,
        "score": fold.statistic,
        "p_value": float(chdtrc(1, fold.statistic)),
        "first_order_change": fold.sign * setting.eps * rho * fold.first_order,
        "bound": size * float(np.abs(weight).max()),
        "bound_on": "outputs" if tail.direct else f"what {setting.place.consumers[0].path} gives",
        "largest_change": float(np.abs(after - before).max()),
    }
    if isinstance(state, Decisions):
        now = as_logits(after).argmax(axis=1)
        out["fixed"] = np.flatnonzero(state.wrong & (now == state.true)).tolist()
        out["broken"] = np.flatnonzero(~state.wrong & (now != state.true)).tolist()
    return out


def _candidate(one: FoldCandidate | RejectedCandidate) -> dict[str, Any]:
    if isinstance(one, RejectedCandidate):
        return {"instance": one.instance, "reason": one.why}
    return {"instance": one.typical.index, "gain": one.gain, "found": one.at.found, "distance": one.at.distance}
