"""Explanations of new units as text, with names for classes, features and samples, in the data's units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from creases._text import describe_change, format_number, plural
from creases.growth._samples import Scaling
from creases.growth.methods._fold.explanation import fold_entries

#: Features of a sample that are written, at most: those in which it differs most from the mean.
MAX_FEATURES = 8


class NameOptions(TypedDict, total=False):
    """Names for explanations, see :class:`FeatureNames`."""

    classes: Sequence[str] | None
    features: Sequence[str | tuple[str, str]] | None
    scaling: Scaling | None
    instance: str


@dataclass(frozen=True, eq=False)
class FeatureNames:
    """Names for classes, features and samples; numbers by default."""

    classes: Sequence[str] | None = None
    features: Sequence[str | tuple[str, str]] | None = None  #: one of 0 and 1 for a category's value: column and value
    scaling: Scaling | None = None  #: of the network's inputs and targets
    instance: str = "sample"  #: the word for one sample, such as "row"

    def label(self, number: int) -> str:
        """Return the name of a class: ``'setosa'``, or ``class 0`` without names, or with a number as name."""
        name = str(number if self.classes is None else self.classes[number])
        return f"class {name}" if _is_number(name) else repr(name)

    def sample(self, number: int, x: Sequence[float]) -> str:
        """Return a sample's number and, if they are few or have names, its features (d,).

        A value of a category (``color=red``) is written only if the sample has it.
        """
        values = self._values(x)
        if self.features is None:
            return f"{self.instance} {number}" + (f" {self.point(x)}" if len(x) <= MAX_FEATURES else "")
        texts = [_feature_text(name, value) for name, value in zip(self.features, values, strict=True)]
        present = [k for k, text in enumerate(texts) if text]
        largest = sorted(sorted(present, key=lambda k: -abs(x[k]))[:MAX_FEATURES])
        more = ", ..." if len(present) > MAX_FEATURES else ""
        return f"{self.instance} {number} (" + ", ".join(texts[k] for k in largest) + more + ")"

    def samples(self, count: int) -> str:
        """Return a number of samples with its noun."""
        return plural(count, self.instance)

    def samples_of_class(self, count: int, number: int) -> str:
        """Return a number of samples of a class: ``12 'setosa' rows``, or ``12 rows of class 0`` without names."""
        label = self.label(number)
        if label.startswith("class "):
            return f"{self.samples(count)} of {label}"
        return plural(count, f"{label} {self.instance}")

    def point(self, x: Sequence[float]) -> str:
        """Return a point (d,) of the input space as ``(length 5.1, width 3.2)``; "" if that is too long."""
        values = [format_number(value) for value in self._values(x)]
        if len(values) > MAX_FEATURES:
            return ""
        if self.features is not None:
            names = [name if isinstance(name, str) else "=".join(name) for name in self.features]
            values = [f"{name} {value}" for name, value in zip(names, values, strict=True)]
        return "(" + ", ".join(values) + ")"

    def _values(self, x: Sequence[float]) -> NDArray[np.float64]:
        """Return a point in the data's units, without the rounding of the scaling."""
        values = np.asarray(x, np.float64)
        if self.scaling is None:
            return values
        values = self.scaling.point(values)
        return np.where(np.abs(values) < 1e-6 * self.scaling.spread, 0.0, values)

    def distance(self, distance: float) -> str:
        """Return a distance in the space of the scaled inputs."""
        return f"{format_number(distance)}" + ("" if self.scaling is None else " standard deviations")

    def main_features(self, normal: Sequence[float]) -> str:
        """Return the three features with the largest entries of a direction (d,); "" for few features or no names."""
        if self.features is None or len(normal) <= 3 or len(normal) != len(self.features):
            return ""
        order = np.argsort(-np.abs(np.asarray(normal, np.float64)), kind="stable")
        columns = dict.fromkeys(name if isinstance(name := self.features[k], str) else name[0] for k in order)
        return ", ".join(list(columns)[:3])

    def difference(self, e: Sequence[float]) -> str:
        """Return a difference of outputs (m,) in the target's units."""
        spread = 1.0 if self.scaling is None else self.scaling.target_spread
        values = [format_number(value) for value in np.asarray(e) * spread]
        return values[0] if len(values) == 1 else "(" + ", ".join(values) + ")"


def _is_number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True


def _feature_text(name: str | tuple[str, str], value: float) -> str:
    if isinstance(name, str):
        return f"{name} {format_number(value)}"
    return "=".join(name) if abs(value - 1) < 1e-6 else ""  # between 0 and 1: the value was missing


#: Kinds of mistakes that the explanation of several units lists.
MAX_KINDS = 5


def _fold(explanation: Mapping[str, Any], names: FeatureNames) -> str:
    """Return the mistakes that units were added for."""
    entries = fold_entries(explanation)
    kinds = list(dict.fromkeys(_because(entry, names, "fitted_without" in explanation) for entry in entries))
    because = "; ".join(kinds[:MAX_KINDS]) + (f"; and {len(kinds) - MAX_KINDS} more" if len(kinds) > MAX_KINDS else "")
    if len(entries) == 1:
        why = entries[0]["why"]
        size, share = why["cluster"]["size"], f"{why['cluster']['share_of_loss']:.0%} of the loss"
        them = "them" if why["cluster"]["same_mistake"] > 1 else "it"
        share += " of that network" if "fitted_without" in explanation else ""
        because += f"; the {names.samples(size)} around {them} carry {share}" if size > 1 else f"; it carries {share}"
    return because


def _fold_details(explanation: Mapping[str, Any], names: FeatureNames) -> str:
    """Return where the crease lies, what it does at first, and which samples were skipped."""
    sentences = [*([] if "folds" in explanation else [_crease(explanation, names)]), _effect(explanation)]
    if noise := explanation.get("noise"):
        why = "because an earlier crease there did not help"
        sentences.append(f"Skipped {names.samples(len(noise))} as noise, {why}.")
    return " ".join(sentences)


def _because(entry: Mapping[str, Any], names: FeatureNames, fitted_without: bool) -> str:
    """Return the mistake that a unit was added for; ``fitted_without``: of a network not fitted to its samples."""
    why = entry["why"]
    sample = names.sample(why["instance"], why["features"])
    if "true" not in why:
        return _regression_error(why, sample, names)
    if why["true"] == why["predicted"]:
        return f"of the losses around {sample}"
    count, predicted = why["cluster"]["same_mistake"], names.label(why["predicted"])
    samples, them = names.samples_of_class(count, why["true"]), "it" if count == 1 else "them"
    predicted += f" by a network fitted without {them}" if fitted_without else ""
    if count == 1:
        return f"{samples} was misclassified as {predicted}: {sample}"
    return f"{samples} were misclassified as {predicted}, such as {sample}"


def _regression_error(why: Mapping[str, Any], sample: str, names: FeatureNames) -> str:
    """Return the errors that a unit of a regression was added for."""
    count, mean = why["cluster"]["same_mistake"], why["cluster"]["mean_residual"]
    if count == 1 or len(mean) > 1:
        return f"{_error(why['residual'], names)} at {sample}"
    high = "high" if mean[0] > 0 else "low"
    return f"{names.samples(count)} like {sample} were predicted {names.difference([abs(mean[0])])} too {high}"


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
        of = " of that network" if "fitted_without" in explanation else ""
        meets = f"meets the boundary{of} between the two classes{point}"
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


def explain_outcome(explanation: Mapping[str, Any], **options: Unpack[NameOptions]) -> str:
    """Return the outcome of new units after training; "" where the method does not provide it."""
    if explanation.get("method") != "fold" or "after" not in explanation:
        return ""
    names = FeatureNames(**options)
    after, (kind, factor) = explanation["after"], _loss_name(explanation)
    before, now = (format_number(factor * after[key]) for key in ("mean_loss_before", "mean_loss"))
    of = " of that network" if "fitted_without" in explanation else ""
    text = f"After training, {describe_change(f'the {kind}{of}', before, now)}"
    if "errors" in after:
        text += f" and {describe_change('the number of errors', str(after['errors_before']), str(after['errors']))}"
        text += f"; {_corrected(explanation, names)}"
    if "folds" in explanation:
        return f"{text}."
    at_input = explanation["where"]["space"] == "input"
    moved = names.distance(after["crease_moved"]) if at_input else format_number(after["crease_moved"])
    return f"{text}. The crease turned by {plural(round(after['crease_turned']), 'degree')} and moved by {moved}."


def _corrected(explanation: Mapping[str, Any], names: FeatureNames) -> str:
    """Return whether the samples that the units were added for are now classified correctly."""
    if "folds" in explanation:
        rights = [bool(entry["after"].get("instance_right")) for entry in explanation["folds"]]
        return (
            f"{sum(rights)} of the {names.samples(len(rights))} above {'is' if sum(rights) == 1 else 'are'} now correct"
        )
    text = f"that {names.instance} is {'now correct' if explanation['after'].get('instance_right') else 'still wrong'}"
    fixed, wrong = explanation["after"]["cluster_fixed"], explanation["why"]["cluster"]["mispredicted"]
    return f"{text}, and {fixed} of the {plural(wrong, 'error')} around it {'is' if fixed == 1 else 'are'} corrected"


def _loss_name(explanation: Mapping[str, Any]) -> tuple[str, float]:
    """Return the name of the loss, and the factor from half the squared error to its mean over the outputs."""
    residual = fold_entries(explanation)[0]["why"].get("residual")
    return ("mean loss", 1.0) if residual is None else ("mean squared error", 2.0 / len(residual))


def _tiny(e: Mapping[str, Any], names: FeatureNames) -> str:
    start = f"updates of the existing weights cannot reach {e['share_of_goal']:.0%} of the desired output change"
    if "fallback" not in e:
        return start
    kind = {"second": "quadratic correlations were used", "random": "the best random units were taken"}[e["fallback"]]
    return f"{start}; no linear correlation helps, so {kind}"


def _tiny_details(e: Mapping[str, Any], names: FeatureNames) -> str:
    search = e["line_search"]
    share = e["bottleneck_after"] / e["bottleneck"] if e["bottleneck"] else 1.0
    where = "held-out samples" if search["held_out"] else "the same samples"
    left = "" if "fallback" in e else f"; to first order the new units reduce it to {share:.0%} of that"
    return (
        f"This expressivity bottleneck is {e['bottleneck']:.3g}, {e['share_of_loss']:.0%} of the loss{left}. The mean "
        f"loss was predicted to fall by {e['gain']:.3g} (first order) and fell by {search['gain']:.3g} on "
        f"{search['samples']} {where}.{_moved_sentence(e)}"
    )


def _moved_sentence(e: Mapping[str, Any]) -> str:
    """Return how far the existing weights moved, after a space; "" where they did not."""
    factor = e.get("move", {"amplitude": 0})["amplitude"]
    return f" The existing weights moved, by {factor:.3g} times their best update." if factor else ""


def _gradmax(e: Mapping[str, Any], names: FeatureNames) -> str:
    how = {
        "zero": "incoming weights start at zero, so the function is unchanged",
        "small": "incoming weights start near zero and only set which samples activate the unit",
        "zero out": "outgoing weights start at zero because of the batch norm, so the function is unchanged",
    }[e["start"]]
    size = f" (squared norm {e['gradient']:.3g})" if "gradient" in e else ""
    return f"new weights have the largest gradient there{size}; {how}"


def _random(e: Mapping[str, Any], names: FeatureNames) -> str:
    effect = "at first they have no effect" if not e.get("fan_out") else "their weights are as in an untrained network"
    if e["gain"] != 0:
        effect = f"the mean loss is predicted to {'rise' if e['gain'] < 0 else 'fall'} by {abs(e['gain']):.3g}"
    return f"the method draws units at random (seed {e['seed']}); {effect}"


def _split(e: Mapping[str, Any], names: FeatureNames) -> str:
    noise = f"with noise of {e['noise']:.3g}" if e["noise"] else "exactly (without noise, training keeps copies equal)"
    if len(e["split"]) == 1:
        return f"unit {e['split'][0]} was copied {noise}; each copy gets half of the outgoing weights"
    units = ", ".join(map(str, e["split"][:10])) + (", ..." if len(e["split"]) > 10 else "")
    return f"units {units} were copied {noise}; each copy gets half of the outgoing weights"


def _linear(e: Mapping[str, Any], names: FeatureNames) -> str:
    pairs = "one mirrored pair of units" if e["pairs"] == 1 else f"{e['pairs']} mirrored pairs of units"
    return f"growth starts as the linear model, which {pairs} can be"


#: The method of a first growth step that only writes the linear model as units.
LINEAR = "linear"

#: What follows "because", and what is said after it, by method.
REASONS = {"fold": _fold, "tiny": _tiny, "gradmax": _gradmax, "random": _random, "split": _split, LINEAR: _linear}
DETAILS = {"fold": _fold_details, "tiny": _tiny_details}


def explain(explanation: Mapping[str, Any], **names: Unpack[NameOptions]) -> str:
    """Return an explanation of new units as text.

    Parameters
    ----------
    explanation
        The explanation of a proposal or of a growth step's record.
    **names
        ``classes`` and ``features``: names of the classes and of the inputs, numbers by default. ``scaling``: the
        :class:`creases.growth.Scaling` of the inputs, to give points in the data's units. ``instance``: the word for
        one sample, such as "row".

    Examples
    --------
    >>> explain({"method": "fold", "place": "0", "reason": "no sample is mispredicted"})
    "No unit added to '0': no sample is mispredicted."
    """
    details = None if explanation.get("reason") else DETAILS.get(explanation["method"])
    more = "" if details is None else details(explanation, FeatureNames(**names))
    return " ".join(filter(None, (explain_reason(explanation, **names), more, explain_outcome(explanation, **names))))


def explain_reason(explanation: Mapping[str, Any], **names: Unpack[NameOptions]) -> str:
    """Return the reason for new units, or for none, in one sentence."""
    place = repr(explanation["place"])
    if explanation.get("reason"):
        return f"No unit added to {place}: {explanation['reason']}.{_moved_sentence(explanation)}"
    units = plural(len(explanation["folds"]) if "folds" in explanation else explanation.get("units", 1), "unit")
    reason = REASONS.get(explanation["method"])
    if reason is None:
        return f"{units} added to {place} by {explanation['method']}."
    return f"{units} added to {place} because {reason(explanation, FeatureNames(**names))}."
