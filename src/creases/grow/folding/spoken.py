"""The record of a fold in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

#: Points of more dimensions than this are named by an instance, not by their coordinates.
SPOKEN = 6


def spoken(explanation: Mapping[str, Any], classes: Sequence[str] | None = None) -> str:
    """The explanation of a fold with a unit in the sentences a person reads; ``classes`` are their names."""
    place = explanation["place"]
    why, where, crease = explanation["why"], explanation["where"], explanation["crease"]
    instance, cluster = f"instance {why['instance']}", why["cluster"]
    near = f"{_point(cluster['centroid'])} ({instance})" if len(cluster["centroid"]) <= SPOKEN else instance
    if where["space"] != "input":
        near += f", seen as {where['space']},"
    share = f"{cluster['share_of_loss']:.0%} of the loss"
    if "true" in why:
        true, taken = (_named(why[key], classes) for key in ("true", "predicted"))
        count = cluster["same_mistake"]
        points = "1 point" if count == 1 else f"{count} points"
        reason = f"{points} near {near} of class {true} {'was' if count == 1 else 'were'} taken for {taken}"
    else:
        reason = f"the fit is off by {_point(why['residual'])} near {near}"
    passes = f" through {_point(where['fold_point'])}" if len(where["fold_point"]) <= SPOKEN else ""
    if where["found"] == "the instance itself":
        at = f"its crease passes{passes}: the instance itself"
    else:
        beside = f"{where['distance']:.3g} from that instance (found: {where['found']})"
        at = f"its crease passes{passes or ' through a point'} of the boundary between them, {beside}"
    effect, after = explanation["effect"], explanation.get("after")
    return (
        f"Unit added to {place!r} because {reason} (their cluster has {cluster['size']} points and {share}); {at}, and "
        f"{crease['active_share']:.0%} of the data lie on its active side. The mean loss is predicted to fall by "
        f"{effect['predicted_gain']:.3g}; at once no output changes by more than {effect['largest_change']:.2g}."
        + ("" if after is None else " " + _became(explanation, after))
    )


def _became(explanation: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """What training made of the unit."""
    loss = f"After training the mean loss went from {after['mean_loss_before']:.3g} to {after['mean_loss']:.3g}"
    turned = f"the crease turned by {after['crease_turned']:.0f} degrees and is {after['crease_moved']:.2g} away"
    if "errors" not in after:
        return f"{loss}; {turned} from that point."
    right = "right now" if after["instance_right"] else "still wrong"
    fixed = f"{after['cluster_fixed']} of its cluster's {explanation['why']['cluster']['mispredicted']} mistakes"
    return (
        f"{loss} and the errors from {after['errors_before']} to {after['errors']}: the instance is {right}, {fixed} "
        f"are mended; {turned} from the fold point."
    )


def _point(x: Sequence[float]) -> str:
    return "(" + ", ".join(f"{value:.2g}" for value in x) + ")"


def _named(label: int, classes: Sequence[str] | None) -> str:
    return str(label) if classes is None else str(classes[label])
