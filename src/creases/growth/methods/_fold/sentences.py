"""The explanation of a fold as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from creases._text import format_number
from creases.growth._feature_names import FeatureNames
from creases.growth.methods._fold.explanation import fold_entries

#: Kinds of mistakes that the explanation of several units lists.
MAX_KINDS = 5


def fold_sentences(explanation: Mapping[str, Any], names: FeatureNames) -> str:
    """Return the explanation of folds as text, without their outcome."""
    reason, effect = fold_reason(explanation, names), _effect(explanation)
    if "kind" in explanation:
        crease = [_patches(explanation, names)]
    else:
        crease = [] if "folds" in explanation else [_crease(explanation, names)]
    return " ".join([reason, *crease, effect, *_sample_sentences(explanation, names)])


def fold_reason(explanation: Mapping[str, Any], names: FeatureNames) -> str:
    """Return why the units were added, in one sentence."""
    entries = fold_entries(explanation)
    if len(entries) > 1:
        kinds = list(dict.fromkeys(_because(entry, names) for entry in entries))
        more = f"; and {len(kinds) - MAX_KINDS} more" if len(kinds) > MAX_KINDS else ""
        units = f"{len(entries)} {explanation.get('kind', 'unit')}s added to {explanation['place']!r}"
        return f"{units} because {'; '.join(kinds[:MAX_KINDS])}{more}."
    (entry,) = entries
    cluster = entry["why"]["cluster"]
    around = (
        f"the neighbourhood there, {names.samples(cluster['size'])}, has {cluster['share_of_loss']:.0%} of the loss"
    )
    unit = explanation.get("kind", "unit").capitalize()
    return f"{unit} added to {explanation['place']!r} because {_because(entry, names)}; {around}."


def _because(entry: Mapping[str, Any], names: FeatureNames) -> str:
    """Return the mistake that a unit was added for."""
    why = entry["why"]
    known = "features" in why
    sample = names.sample(why["instance"], why["features"]) if known else f"{names.instance} {why['instance']}"
    if "true" not in why:
        return f"{_error(why['residual'], names)} at {sample}"
    count, true, predicted = why["cluster"]["same_mistake"], names.label(why["true"]), names.label(why["predicted"])
    if count == 1:
        return f"{sample} of class {true} was taken for {predicted}"
    return f"{names.samples(count)} of class {true}, such as {sample}, were taken for {predicted}"


def _sample_sentences(explanation: Mapping[str, Any], names: FeatureNames) -> list[str]:
    """Return which samples the folds were computed from, and which were left out."""
    out, sizes, noise = [], explanation.get("samples"), explanation.get("noise")
    if sizes:
        error = sum(entry["effect"].get("gain_error", 0.0) ** 2 for entry in fold_entries(explanation)) ** 0.5
        spread = f", with a standard error of {format_number(_loss_name(explanation)[1] * error)}" * bool(error)
        some = f"{names.samples(sizes['scored'])} of {sizes.get('of', sizes['seen'])}"
        out.append(f"The gain is estimated from {some}{spread}.")
    if noise:
        were = "was" if len(noise) == 1 else "were"
        out.append(f"{names.samples(len(noise))} {were} folded at before without success: treated as noise.")
    return out


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


def _patches(explanation: Mapping[str, Any], names: FeatureNames) -> str:
    """Return at which patches the units fold."""
    entries, kind = fold_entries(explanation), explanation["kind"]
    at = [
        f"{kind} {entry['unit']} at {_patch(entry['where']['patch'])}{names.instance} {entry['why']['instance']}"
        for entry in entries
    ]
    first = at[0].replace(" at ", " folds at ", 1).capitalize()
    if len(at) == 1:
        return f"{first}; {entries[0]['crease']['active_share']:.0%} of the patches lie on its active side."
    more = f", and {len(at) - MAX_KINDS} more" if len(at) > MAX_KINDS else ""
    return f"{', '.join([first, *at[1:MAX_KINDS]])}{more}."


def _patch(center: list[int]) -> str:
    """Return the name of a patch, up to the sample's."""
    if len(center) == 2:
        return f"the patch at row {center[0]}, column {center[1]} of "
    return f"position {center[0]} of " if center else ""


def _effect(explanation: Mapping[str, Any]) -> str:
    """Return the predicted and the immediate effect of the unit."""
    effect, (kind, factor) = explanation["effect"], _loss_name(explanation)
    weights = "their output weights are" if "folds" in explanation else "its output weight is"
    gain = f"Once {weights} trained, the {kind} is predicted to fall by "
    small = f"to begin with, no output changes by more than {format_number(effect['largest_change'])}"
    return f"{gain}{format_number(factor * effect['predicted_gain'])}; {small}."


def outcome_sentence(explanation: Mapping[str, Any], names: FeatureNames) -> str:
    """Return the outcome of the units after training."""
    after, (kind, factor) = explanation["after"], _loss_name(explanation)
    before, now = (format_number(factor * after[key]) for key in ("mean_loss_before", "mean_loss"))
    loss = f"After training the {kind} went from {before} to {now}"
    errors = f" and the mistakes from {after['errors_before']} to {after['errors']}" if "errors" in after else ""
    if "folds" in explanation:
        rights = [entry["after"].get("instance_right") for entry in explanation["folds"]]
        right = f": {sum(map(bool, rights))} of the {names.samples(len(rights))} are right now" if errors else ""
        return f"{loss}{errors}{right}."
    if "kind" in explanation:
        right = "right now" if after.get("instance_right") else "still wrong"
        return f"{loss}{errors}: that {names.instance} is {right}." if errors else f"{loss}."
    at_input = explanation["where"]["space"] == "input"
    moved = names.distance(after["crease_moved"]) if at_input else format_number(after["crease_moved"])
    turned = f"the crease turned by {after['crease_turned']:.0f} degrees and is {moved} away"
    if not errors:
        return f"{loss}; {turned} from that point."
    right = "right now" if after["instance_right"] else "still wrong"
    fixed = f"{after['cluster_fixed']} of the neighbourhood's {explanation['why']['cluster']['mispredicted']} mistakes"
    return f"{loss}{errors}: that {names.instance} is {right}, {fixed} are mended; {turned} from the fold point."


def _loss_name(explanation: Mapping[str, Any]) -> tuple[str, float]:
    """Return the name of the loss, and the factor from half the squared error to its mean over the outputs."""
    residual = fold_entries(explanation)[0]["why"].get("residual")
    return ("mean loss", 1.0) if residual is None else ("mean squared error", 2.0 / len(residual))
