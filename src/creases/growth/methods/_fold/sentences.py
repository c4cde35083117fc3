"""The explanation of a fold as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from creases._text import describe_change, format_number, is_or_are, plural
from creases.growth._feature_names import FeatureNames
from creases.growth.methods._fold.explanation import fold_entries

#: Kinds of mistakes that the explanation of several units lists.
MAX_KINDS = 5


def fold_sentences(explanation: Mapping[str, Any], names: FeatureNames) -> str:
    """Return the explanation of folds as text, without their outcome."""
    reason, effect = fold_reason(explanation, names), _effect(explanation)
    known = "folds" not in explanation and "found" in explanation["where"]  # not in histories of folds at patches
    crease = [_crease(explanation, names)] if known else []
    return " ".join([reason, *crease, effect, *_sample_sentences(explanation, names)])


def fold_reason(explanation: Mapping[str, Any], names: FeatureNames) -> str:
    """Return why the units were added, in one sentence."""
    entries = fold_entries(explanation)
    units = plural(len(entries), "unit")
    kinds = list(dict.fromkeys(_because(entry, names) for entry in entries))
    because = "; ".join(kinds[:MAX_KINDS]) + (f"; and {len(kinds) - MAX_KINDS} more" if len(kinds) > MAX_KINDS else "")
    if len(entries) == 1:
        why = entries[0]["why"]
        size, share = why["cluster"]["size"], f"{why['cluster']['share_of_loss']:.0%} of the loss"
        them = "them" if why["cluster"].get("same_mistake", 1) > 1 else "it"
        because += f"; the {names.samples(size)} around {them} carry {share}" if size > 1 else f"; it carries {share}"
    return f"{units} added to {explanation['place']!r} because {because}."


def _because(entry: Mapping[str, Any], names: FeatureNames) -> str:
    """Return the mistake that a unit was added for."""
    why = entry["why"]
    known = "features" in why
    sample = names.sample(why["instance"], why["features"]) if known else f"{names.instance} {why['instance']}"
    if "true" not in why:
        return _regression_error(why, sample, names)
    count, predicted = why["cluster"]["same_mistake"], names.label(why["predicted"])
    samples = names.samples_of_class(count, why["true"])
    if count == 1:
        return f"{samples} was misclassified as {predicted}: {sample}"
    return f"{samples} were misclassified as {predicted}, such as {sample}"


def _regression_error(why: Mapping[str, Any], sample: str, names: FeatureNames) -> str:
    """Return the errors that a unit of a regression was added for."""
    count, mean = why["cluster"].get("same_mistake", 1), why["cluster"].get("mean_residual", why["residual"])
    if count == 1 or len(mean) > 1:
        return f"{_error(why['residual'], names)} at {sample}"
    high = "high" if mean[0] > 0 else "low"
    return f"{names.samples(count)} like {sample} were predicted {names.difference([abs(mean[0])])} too {high}"


def _sample_sentences(explanation: Mapping[str, Any], names: FeatureNames) -> list[str]:
    """Return which samples the folds were computed from, and which were left out."""
    out, sizes, noise = [], explanation.get("samples"), explanation.get("noise")
    if sizes:
        error = sum(entry["effect"].get("gain_error", 0.0) ** 2 for entry in fold_entries(explanation)) ** 0.5
        spread = f", with a standard error of {format_number(_loss_name(explanation)[1] * error)}" * bool(error)
        some = f"{sizes['scored']} of {names.samples(sizes.get('of', sizes['seen']))}"
        out.append(f"This prediction uses {some}{spread}.")
    if noise:
        out.append(f"Skipped {names.samples(len(noise))} as noise, because an earlier crease there did not help.")
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
    point = f" at {names.point(where['fold_point'])}" if at_input and names.point(where["fold_point"]) else ""
    space = "" if at_input else f", in the input space of layer {explanation['place']!r},"
    if where["found"] == "the instance itself" or "true" not in explanation["why"]:
        passes = f"Its crease{space} passes through that {names.instance}"
    else:
        away = names.distance(where["distance"]) if at_input else format_number(where["distance"])
        meets = f"meets the boundary between the two classes{point}"
        passes = f"Its crease{space} {meets}, {away} from that {names.instance}"
    features = names.main_features(crease["normal"]) if at_input else ""
    depends = f" It depends most on {features}." if features else ""
    return f"{passes}; the unit is active on {crease['active_share']:.0%} of the data.{depends}"


def _effect(explanation: Mapping[str, Any]) -> str:
    """Return the predicted and the immediate effect of the unit."""
    effect, (kind, factor) = explanation["effect"], _loss_name(explanation)
    weights = "their output weights" if "folds" in explanation else "its output weight"
    gain = f"Training {weights} is predicted to lower the {kind} by {format_number(factor * effect['predicted_gain'])}"
    return f"{gain}; at first, outputs change by at most {format_number(effect['largest_change'])}."


def outcome_sentence(explanation: Mapping[str, Any], names: FeatureNames) -> str:
    """Return the outcome of the units after training."""
    after, (kind, factor) = explanation["after"], _loss_name(explanation)
    before, now = (format_number(factor * after[key]) for key in ("mean_loss_before", "mean_loss"))
    text = f"After training, {describe_change(f'the {kind}', before, now)}"
    if "errors" in after:
        text += f" and {describe_change('the number of errors', str(after['errors_before']), str(after['errors']))}"
        text += f"; {_corrected(explanation, names)}"
    if "folds" in explanation or "crease_moved" not in after:
        return f"{text}."
    at_input = explanation["where"]["space"] == "input"
    moved = names.distance(after["crease_moved"]) if at_input else format_number(after["crease_moved"])
    return f"{text}. The crease turned by {plural(round(after['crease_turned']), 'degree')} and moved by {moved}."


def _corrected(explanation: Mapping[str, Any], names: FeatureNames) -> str:
    """Return whether the samples that the units were added for are now classified correctly."""
    if "folds" in explanation:
        rights = [bool(entry["after"].get("instance_right")) for entry in explanation["folds"]]
        return f"{sum(rights)} of the {names.samples(len(rights))} above {is_or_are(sum(rights))} now correct"
    text = f"that {names.instance} is {'now correct' if explanation['after'].get('instance_right') else 'still wrong'}"
    fixed, wrong = explanation["after"]["cluster_fixed"], explanation["why"]["cluster"]["mispredicted"]
    return f"{text}, and {fixed} of the {plural(wrong, 'error')} around it {is_or_are(fixed)} corrected"


def _loss_name(explanation: Mapping[str, Any]) -> tuple[str, float]:
    """Return the name of the loss, and the factor from half the squared error to its mean over the outputs."""
    residual = fold_entries(explanation)[0]["why"].get("residual")
    return ("mean loss", 1.0) if residual is None else ("mean squared error", 2.0 / len(residual))
