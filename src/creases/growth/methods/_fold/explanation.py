"""The explanation of a fold as plain data: why a unit is added, where its crease lies, and what became of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc
from torch import nn

from creases._typing import Floats, Ints
from creases.errors import InputError
from creases.growth.methods._fold.fold_point import FoldPoint
from creases.growth.methods._fold.subnetwork import Subnetwork, SubnetworkView, layer_inputs, subnetwork_at
from creases.growth.methods._fold.typical_mispredictions import (
    Decisions,
    Residuals,
    TypicalMisprediction,
    as_logits,
    decisions,
    residuals,
)
from creases.network import Place
from creases.network.surgery import find_place, unwrap_module

#: Examples of a cluster's mistakes in an explanation.
EXAMPLES = 5

#: Numbers of samples with the same mistake that are listed at most, for pictures; the most typical first.
MARKED = 500


@dataclass(frozen=True, eq=False)
class FoldCandidate:
    """A fold at a typical misprediction, before its size is set."""

    typical: TypicalMisprediction
    at: FoldPoint
    u: Floats  #: (d,) of length 1: the unit is relu(u . (x - x_f)), times the rows' usual length
    v: Floats  #: (o,) the contrast that the unit feeds
    h: Floats  #: (n,) values of the unit of length 1
    gain: float  #: predicted decrease of the mean loss
    coefficient: float  #: Newton's multiple of the contrast, for the unit of length 1
    statistic: float  #: of the score test, chi-squared with one degree of freedom for a direction fixed in advance
    first_order: float  #: E[q h]: slope of the mean loss by the multiple of the contrast
    sign: float  #: of the contrast


@dataclass(frozen=True)
class RejectedCandidate:
    """A typical misprediction without a fold, and why."""

    instance: int
    why: str


@dataclass(frozen=True, eq=False)
class FoldContext:
    """The network, place and data of a fold."""

    model: nn.Module
    subnet: Subnetwork
    view: SubnetworkView  #: at X
    place: Place
    data: Floats  #: (n, n_in) the model's inputs
    X: Floats  #: (n, d) inputs of the layer
    state: Decisions | Residuals
    outputs: Floats  #: (n, m)
    offset: Floats | float  #: (n, m) in the outputs beside what the network gives, or 0
    eps: float  #: of each unit


def explain_folds(
    folds: Sequence[FoldCandidate],
    context: FoldContext,
    results: Sequence[FoldCandidate | RejectedCandidate],
    noise: NDArray[np.bool_],
) -> dict[str, Any]:
    """Return all that is known about folds when they are proposed, as JSON-able data.

    Several folds are entries of ``"folds"``; what they share stands beside them, as :func:`fold_entries` reads it.
    """
    hidden = context.view.hidden
    dead = np.flatnonzero(~(hidden > 0).any(axis=0)) if context.subnet.leak == 0 else np.zeros(0, int)
    shared: dict[str, Any] = {"method": "fold", "place": context.place.name, "reason": ""}
    more: dict[str, Any] = {
        "candidates": [_candidate(result) for result in results],
        "dead_units": dead.tolist(),
        **({"noise": np.flatnonzero(noise).tolist()} if noise.any() else {}),
    }
    entries = [_entry(context.place.width + i, fold, context) for i, fold in enumerate(folds)]
    total = _total_effect(folds, context)
    mistakes = {"mistakes": np.flatnonzero(context.state.wrong).tolist()}
    mistakes = mistakes if isinstance(context.state, Decisions) else {}
    if len(entries) == 1:
        (entry,) = entries
        entry["why"] |= mistakes
        entry["effect"] |= {name: value for name, value in total.items() if name not in entry["effect"]}
        return {**shared, **entry, **more}
    shared["units"] = len(entries)
    return {**shared, **mistakes, "folds": entries, "effect": total, **more}


def fold_entries(explanation: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the explanation of each fold of a proposal, in the layout of a single one; none for a refusal."""
    if "folds" not in explanation:
        return [dict(explanation)] if "why" in explanation else []
    shared = {name: explanation[name] for name in ("method", "place", "reason")}
    return [{**shared, **entry} for entry in explanation["folds"]]


def _entry(unit: int, fold: FoldCandidate, context: FoldContext) -> dict[str, Any]:
    return {
        "unit": unit,
        "why": _why(fold, context),
        "where": _where(fold, context),
        "crease": _crease(fold, context),
        "effect": _effect(fold, context),
    }


def _why(fold: FoldCandidate, context: FoldContext) -> dict[str, Any]:
    out = explain_mistake(fold.typical, context.state)
    out["cluster"]["centroid"] = fold.typical.centroid.tolist()
    return {"instance": out.pop("instance"), "features": context.data[fold.typical.index].tolist(), **out}


def explain_mistake(sample: TypicalMisprediction, state: Decisions | Residuals) -> dict[str, Any]:
    """Return what is known about a typical misprediction and its cluster."""
    t = sample.index
    out: dict[str, Any] = {
        "instance": t,
        "loss": float(state.loss[t]),
        "mean_loss": state.mean_loss,
        "cluster": {
            "size": len(sample.members),
            "mispredicted": len(sample.mistakes),
            "share_of_loss": sample.share,
            "mean_loss": sample.mean_loss,
            "examples": sample.mistakes[:EXAMPLES].tolist(),  # the most typical first
        },
    }
    alike = same_mistakes(sample, state)
    out["cluster"] |= {"same_mistake": len(alike), "alike": alike[:MARKED].tolist()}
    if isinstance(state, Residuals):
        out["cluster"]["mean_residual"] = state.e[alike].mean(axis=0).tolist()
        return out | {"residual": state.e[t].tolist()}
    out["cluster"]["mistakes"] = sample.mistakes.tolist()
    classes = {"true": int(state.true[t]), "predicted": int(state.predicted[t])}
    return out | classes | {"probabilities": state.p[t].tolist()}


def same_mistakes(sample: TypicalMisprediction, state: Decisions | Residuals) -> Ints:
    """Return the mispredictions of a cluster like its typical one: all too high or too low, or of the same classes."""
    t, others = sample.index, sample.mistakes
    if isinstance(state, Residuals):
        return np.asarray(others[state.e[others] @ state.e[t] > 0])
    is_same = (state.predicted[others] == state.predicted[t]) & (state.true[others] == state.true[t])
    return np.asarray(others[is_same])


def _where(fold: FoldCandidate, context: FoldContext) -> dict[str, Any]:
    net, at = context.subnet.net, fold.at
    return {
        "space": "input" if not context.subnet.head.steps else f"what enters {context.place.name}",
        "pattern": _bits(net.sides(context.X[fold.typical.index])),
        "region": _bits(at.sides),
        "boundary": {"normal": at.normal.tolist(), "offset": at.offset},
        "fold_point": at.x.tolist(),
        "distance": at.distance,
        "found": at.how,
        "residual": at.residual,
    }


def _bits(sides: NDArray[np.int16]) -> str:
    return " ".join(map(str, sides.tolist())) if sides.max(initial=0) > 1 else "".join(map(str, sides.tolist()))


def _crease(fold: FoldCandidate, context: FoldContext) -> dict[str, Any]:
    active = fold.h > 0
    length = float(np.linalg.norm(fold.at.normal))
    cosine = abs(float(fold.u @ fold.at.normal)) / length if length > 0 else None
    out: dict[str, Any] = {
        "normal": fold.u.tolist(),
        "offset": -float(fold.u @ fold.at.x),
        "length": context.subnet.row_norm,
        "angle_to_boundary": None if cosine is None else float(np.degrees(np.arccos(min(cosine, 1.0)))),
        "active_share": float((context.state.weight * active).mean()),
    }
    if isinstance(context.state, Decisions):
        classes = range(context.state.z.shape[1])
        out["active_by_class"] = [int((active & (context.state.true == c)).sum()) for c in classes]
        out["instances_by_class"] = [int((context.state.true == c).sum()) for c in classes]
    return out


def _effect(fold: FoldCandidate, context: FoldContext) -> dict[str, Any]:
    rho = context.subnet.row_norm
    weight = fold.sign * context.eps * fold.v
    return {
        "contrast": weight.tolist(),
        "predicted_gain": fold.gain,
        "newton_weight": fold.coefficient / rho,
        "score": fold.statistic,
        "p_value": float(chdtrc(1, fold.statistic)),
        "first_order_change": fold.sign * context.eps * rho * fold.first_order,
        "bound": _bound([fold], context),
    }


def _total_effect(folds: Sequence[FoldCandidate], context: FoldContext) -> dict[str, Any]:
    """Return the effect at once of all units together."""
    subnet, state, rho = context.subnet, context.state, context.subnet.row_norm
    weights = np.array([fold.sign * context.eps * fold.v for fold in folds])
    after = context.offset + context.view.outputs(rho * np.column_stack([fold.h for fold in folds]) @ weights)
    out: dict[str, Any] = {
        "predicted_gain": sum(fold.gain for fold in folds),
        "bound": _bound(folds, context),
        "bound_on": "outputs" if subnet.feeds_output else f"what {context.place.consumers[0].path} gives",
        "largest_change": float(np.abs(after - context.outputs).max()),
    }
    if isinstance(state, Decisions):
        now = as_logits(after).argmax(axis=1)
        out["fixed"] = np.flatnonzero(state.wrong & (now == state.true)).tolist()
        out["broken"] = np.flatnonzero(~state.wrong & (now != state.true)).tolist()
    return out


def _bound(folds: Sequence[FoldCandidate], context: FoldContext) -> float:
    """Return a bound on the change of any value that the units feed."""
    rho = context.subnet.row_norm
    sizes = [rho * float(np.abs(fold.h).max()) * np.abs(fold.sign * context.eps * fold.v) for fold in folds]
    return float(np.sum(sizes, axis=0).max())


def _candidate(result: FoldCandidate | RejectedCandidate) -> dict[str, Any]:
    if isinstance(result, RejectedCandidate):
        return {"instance": result.instance, "reason": result.why}
    at = result.at
    return {"instance": result.typical.index, "gain": result.gain, "found": at.how, "distance": at.distance}


def fold_outcome(
    explanation: Mapping[str, Any],
    model: nn.Module,
    X: Any,
    y: Any,
    *,
    units: Sequence[int] | None = None,
    rows: NDArray[np.int64] | None = None,
    input_shape: Sequence[int] | None = None,
    weight: Any = None,
) -> dict[str, Any]:
    """Return the explanation of folds with ``"after"``: their effect so far, on the data they were proposed for.

    It has loss and errors before and now, the samples that are fixed and broken, and for each fold whether the typical
    sample is correct and its loss, how many of its cluster are, the distance of the crease from the fold point, and by
    how many degrees it turned. Of several folds each entry has its own part.

    Parameters
    ----------
    explanation
        The explanation of a proposal of :func:`creases.growth.methods.fold` that was applied to the model.
    model
        The model, trained since.
    X, y, weight
        The data of the fold, in the same order.
    units
        Numbers of the units at the place now; by default those that they got when they were added.
    rows
        Numbers (n,) of the samples in the explanation; 0 to n - 1 by default.
    input_shape
        Shape of one input, where the model does not determine it.
    """
    entries = fold_entries(explanation)
    if explanation.get("method") != "fold" or not entries:
        raise InputError("explanation", "be that of a fold with a unit")
    model = unwrap_module(model)
    place = find_place(model, explanation["place"], input_shape)
    numbers = [entry["unit"] for entry in entries] if units is None else list(units[: len(entries)])
    for unit in numbers:
        if not 0 <= unit < place.width:
            expected = f"be units of {place.name!r}, from 0 to {place.width - 1}"
            raise InputError("units", expected, f"{unit}", "apply the proposal first")
    regression = "residual" in entries[0]["why"]
    samples = np.arange(len(X)) if rows is None else np.asarray(rows)
    subnet = subnetwork_at(model, place, input_shape)
    outputs = subnet.outputs(layer_inputs(subnet, X)[1])
    state = (residuals if regression else decisions)(outputs, y, weight)
    after: dict[str, Any] = {"mean_loss_before": entries[0]["why"]["mean_loss"], "mean_loss": state.mean_loss}
    if not regression:
        before = np.isin(samples, explanation.get("mistakes", entries[0]["why"].get("mistakes", [])))
        after |= {
            "errors_before": int(before.sum()),
            "errors": int(state.wrong.sum()),
            "fixed": samples[before & ~state.wrong].tolist(),
            "broken": samples[~before & state.wrong].tolist(),
        }
    parts = [_fold_after(entry, unit, subnet, state, samples) for entry, unit in zip(entries, numbers, strict=True)]
    if "folds" not in explanation:
        return {**explanation, "after": after | parts[0]}
    folds = [{**entry, "after": part} for entry, part in zip(explanation["folds"], parts, strict=True)]
    return {**explanation, "folds": folds, "after": after}


def _fold_after(
    entry: Mapping[str, Any],
    unit: int,
    subnet: Subnetwork,
    state: Decisions | Residuals,
    samples: NDArray[np.int64],
) -> dict[str, Any]:
    """Return the outcome of one fold."""
    why = entry["why"]
    there = samples == why["instance"]
    after: dict[str, Any] = _crease_after(entry, unit, subnet)
    if there.any():
        after["instance_loss"] = float(state.loss[there].max())
    if isinstance(state, Decisions):
        after["instance_right"] = not bool(state.wrong[there].any())
        after["cluster_fixed"] = int((~state.wrong[np.isin(samples, why["cluster"]["mistakes"])]).sum())
    return after


def _crease_after(entry: Mapping[str, Any], unit: int, subnet: Subnetwork) -> dict[str, Any]:
    """Return the distance of a unit's crease from its fold point, and by how many degrees it turned."""
    w = subnet.weight[unit]
    length = float(np.linalg.norm(w)) or 1.0
    cosine = float(w @ np.array(entry["crease"]["normal"])) / length
    return {
        "crease_moved": abs(float(w @ np.array(entry["where"]["fold_point"]) + subnet.bias[unit])) / length,
        "crease_turned": float(np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0)))),
    }


def unrepaired_rows(explanations: Iterable[Mapping[str, Any]]) -> frozenset[int]:
    """Return the numbers of the samples that earlier folds were made for in vain.

    A mispredicted sample must have become right; in regression its loss must have fallen. Folds that were undone were
    all in vain.
    """
    rows = set()
    for explanation in explanations:
        for entry in fold_entries(explanation):
            why, after = entry["why"], entry.get("after", {})
            mended = after.get("instance_right", after.get("instance_loss", 0.0) < why["loss"])
            if not mended or explanation.get("undone"):
                rows.add(int(why["instance"]))
    return frozenset(rows)
