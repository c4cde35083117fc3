"""The record of a fold in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from creases.grow.naming import Naming, number


def spoken(explanation: Mapping[str, Any], names: Naming) -> str:
    """The explanation of a fold with a unit in the sentences a person reads."""
    after = explanation.get("after")
    said = [reason(explanation, names), _crease(explanation, names), _effect(explanation)]
    return " ".join(said if after is None else [*said, _became(explanation, after, names)])


def reason(explanation: Mapping[str, Any], names: Naming) -> str:
    """Why the unit was added, in one sentence."""
    why = explanation["why"]
    cluster, one = why["cluster"], names.one(why["instance"], why["features"])
    share = f"{cluster['share_of_loss']:.0%} of the loss"
    if "true" in why:
        true, taken = names.label(why["true"]), names.label(why["predicted"])
        count = cluster["same_mistake"]
        what = one if count == 1 else f"{names.some(count)} like {one}"
        because = f"{what} {'is' if count == 1 else 'are'} of class {true}, and {'was' if count == 1 else 'were'} "
        because += f"taken for {taken} (in a cluster of {cluster['size']} with {share})"
    else:
        because = f"{_off(why['residual'], names)} at {one}, in a cluster of {cluster['size']} with {share}"
    return f"Unit added to {explanation['place']!r} because {because}."


def _off(residual: list[float], names: Naming) -> str:
    """By how much a prediction ``f = y + residual`` is off."""
    if len(residual) > 1:
        return f"the prediction is off by {names.difference(residual)}"
    return f"the prediction is {names.difference([abs(residual[0])])} too {'high' if residual[0] > 0 else 'low'}"


def _crease(explanation: Mapping[str, Any], names: Naming) -> str:
    """Where the unit's crease lies."""
    where, crease = explanation["where"], explanation["crease"]
    at_input = where["space"] == "input"
    there = names.point(where["fold_point"]) if at_input else ""
    passes = f"Its crease passes through {there or 'a point'}"
    if where["found"] == "the instance itself":
        passes = f"Its crease passes through that {names.instance}"
    elif "true" in explanation["why"]:
        passes += f" of the decision boundary between the two, {where['distance']:.2g} from that {names.instance}"
        passes += " in scaled units" if names.scaling is not None else ""
    if not at_input:
        passes += f" (seen as {where['space']})"
    weighed = names.weighed(crease["normal"]) if at_input else ""
    looks = f" It looks most at {weighed}." if weighed else ""
    return f"{passes}; {crease['active_share']:.0%} of the data lie on its active side.{looks}"


def _effect(explanation: Mapping[str, Any]) -> str:
    """What the unit was expected to do, and did at once."""
    effect = explanation["effect"]
    gain = f"With its output weight trained, the mean loss is predicted to fall by {effect['predicted_gain']:.2g}"
    return f"{gain}; at once no output changes by more than {effect['largest_change']:.2g}."


def _became(explanation: Mapping[str, Any], after: Mapping[str, Any], names: Naming) -> str:
    """What training made of the unit."""
    loss = f"After training the mean loss went from {after['mean_loss_before']:.3g} to {after['mean_loss']:.3g}"
    turned = f"the crease turned by {after['crease_turned']:.0f} degrees and is {number(after['crease_moved'])} away"
    if "errors" not in after:
        return f"{loss}; {turned} from that point."
    right = "right now" if after["instance_right"] else "still wrong"
    fixed = f"{after['cluster_fixed']} of its cluster's {explanation['why']['cluster']['mispredicted']} mistakes"
    return (
        f"{loss} and the errors from {after['errors_before']} to {after['errors']}: that {names.instance} is {right}, "
        f"{fixed} are mended; {turned} from the fold point."
    )
