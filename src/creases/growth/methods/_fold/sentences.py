"""The explanation of a fold as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from creases.growth._feature_names import FeatureNames, format_number


def fold_sentences(explanation: Mapping[str, Any], names: FeatureNames) -> str:
    """Return the explanation of a fold with a unit as text, without its outcome."""
    return " ".join([fold_reason(explanation, names), _crease(explanation, names), _effect(explanation)])


def fold_reason(explanation: Mapping[str, Any], names: FeatureNames) -> str:
    """Return why the unit was added, in one sentence."""
    why = explanation["why"]
    cluster, sample = why["cluster"], names.sample(why["instance"], why["features"])
    if "true" in why:
        count, true, predicted = cluster["same_mistake"], names.label(why["true"]), names.label(why["predicted"])
        if count == 1:
            because = f"{sample} of class {true} was taken for {predicted}"
        else:
            because = f"{names.samples(count)} of class {true}, such as {sample}, were taken for {predicted}"
    else:
        because = f"{_error(why['residual'], names)} at {sample}"
    around = (
        f"the neighbourhood there, {names.samples(cluster['size'])}, has {cluster['share_of_loss']:.0%} of the loss"
    )
    return f"Unit added to {explanation['place']!r} because {because}; {around}."


def _error(residual: list[float], names: FeatureNames) -> str:
    """Return the error of a prediction ``f = y + residual``."""
    if len(residual) > 1:
        return f"the prediction was off by {names.difference(residual)}"
    return f"the prediction was {names.difference([abs(residual[0])])} too {'high' if residual[0] > 0 else 'low'}"


def _crease(explanation: Mapping[str, Any], names: FeatureNames) -> str:
    """Return where the unit's crease lies."""
    where, crease = explanation["where"], explanation["crease"]
    at_input = where["space"] == "input"
    point = names.point(where["fold_point"]) if at_input else ""
    passes = f"Its crease passes through {point or 'a point'}"
    if where["found"] == "the instance itself":
        passes = f"Its crease passes through that {names.instance}"
    elif "true" in explanation["why"]:
        beside = names.distance(where["distance"]) if at_input else format_number(where["distance"])
        passes += f" of the decision boundary between the two, {beside} from that {names.instance}"
    if not at_input:
        passes += f" (seen as {where['space']})"
    features = names.main_features(crease["normal"]) if at_input else ""
    looks = f" It looks most at {features}." if features else ""
    return f"{passes}; {crease['active_share']:.0%} of the data lie on its active side.{looks}"


def _effect(explanation: Mapping[str, Any]) -> str:
    """Return the predicted and the immediate effect of the unit."""
    effect, (kind, factor) = explanation["effect"], _loss_name(explanation)
    gain = f"Once its output weight is trained, the {kind} is predicted to fall by "
    small = f"to begin with, no output changes by more than {format_number(effect['largest_change'])}"
    return f"{gain}{format_number(factor * effect['predicted_gain'])}; {small}."


def outcome_sentence(explanation: Mapping[str, Any], names: FeatureNames) -> str:
    """Return the outcome of the unit after training."""
    after, (kind, factor) = explanation["after"], _loss_name(explanation)
    before, now = (format_number(factor * after[key]) for key in ("mean_loss_before", "mean_loss"))
    loss = f"After training the {kind} went from {before} to {now}"
    at_input = explanation["where"]["space"] == "input"
    moved = names.distance(after["crease_moved"]) if at_input else format_number(after["crease_moved"])
    turned = f"the crease turned by {after['crease_turned']:.0f} degrees and is {moved} away"
    if "errors" not in after:
        return f"{loss}; {turned} from that point."
    right = "right now" if after["instance_right"] else "still wrong"
    fixed = f"{after['cluster_fixed']} of the neighbourhood's {explanation['why']['cluster']['mispredicted']} mistakes"
    return (
        f"{loss} and the mistakes from {after['errors_before']} to {after['errors']}: that {names.instance} is "
        f"{right}, {fixed} are mended; {turned} from the fold point."
    )


def _loss_name(explanation: Mapping[str, Any]) -> tuple[str, float]:
    """Return the name of the loss, and the factor from half the squared error to its mean over the outputs."""
    residual = explanation["why"].get("residual")
    return ("mean loss", 1.0) if residual is None else ("mean squared error", 2.0 / len(residual))
