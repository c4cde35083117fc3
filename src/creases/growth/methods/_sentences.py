"""Explanations of the growth methods other than fold, and of new layers, as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from creases._text import plural


def unit_sentences(explanation: Mapping[str, Any]) -> str:
    """Return the explanation of new units as text."""
    text = unit_reason(explanation)
    details = DETAILS.get(explanation["method"])
    return f"{text} {details(explanation)}" if details else text


def unit_reason(explanation: Mapping[str, Any]) -> str:
    """Return why the units, or the layer, were added, in one sentence."""
    if explanation["method"] == "depth":
        return _depth(explanation)
    if "instead" in explanation:
        return _random_instead(explanation)
    units = plural(explanation.get("units", 1), "unit")
    because = SENTENCES[explanation["method"]](explanation)
    return f"{units} added to {explanation['place']!r} because {because}."


def filler_sentence(explanation: Mapping[str, Any]) -> str:
    """Return how many units a method supplied of those it was asked for; "" where it supplied all."""
    if not (filled := explanation.get("filled")):
        return ""
    supplied = explanation["supplied"]
    others = "the other one is random" if filled == 1 else f"the other {filled} are random"
    units = f"{supplied} of {supplied + filled} units"
    return f"{_method_name(explanation)} supplied {units}; {others} and initially without effect."


def _random_instead(e: Mapping[str, Any]) -> str:
    units = plural(e["units"], "random unit")
    reason = f" ({e['instead']})" if e["instead"] else ""
    return (
        f"{units} added to {e['place']!r}, initially without effect, because {_method_name(e)} supplied none{reason}."
    )


def _method_name(e: Mapping[str, Any]) -> str:
    name = str(e.get("asked", e["method"]))
    return _NAMES.get(name, name)


def _tiny(e: Mapping[str, Any]) -> str:
    start = f"updates of the existing weights cannot reach {e['share_of_goal']:.0%} of the desired output change"
    if "fallback" not in e:
        return start
    kind = {"second": "quadratic correlations were used", "random": "the best random units were taken"}[e["fallback"]]
    return f"{start}; no linear correlation helps, so {kind}"


def _tiny_details(e: Mapping[str, Any]) -> str:
    search = e["line_search"]
    share = e["bottleneck_after"] / e["bottleneck"] if e["bottleneck"] else 1.0
    where = "held-out samples" if search["held_out"] else "the same samples"
    moved = e.get("move", {"amplitude": 0})
    also = f" The existing weights moved too, by {moved['amplitude']:.3g} times their best update." * bool(
        moved["amplitude"]
    )
    left = "" if "fallback" in e else f"; to first order the new units reduce it to {share:.0%} of that"
    return (
        f"This expressivity bottleneck is {e['bottleneck']:.3g}, {e['share_of_loss']:.0%} of the loss{left}. The mean "
        f"loss was predicted to fall by {e['gain']:.3g} (first order) and fell by {search['gain']:.3g} on "
        f"{search['samples']} {where}.{also}"
    )


def _depth(e: Mapping[str, Any]) -> str:
    share = f"{e['share_of_goal']:.1%} of the desired output change that the layers after it cannot reach"
    layer = f"A layer of {plural(e['units'], 'unit')}"
    return f"{layer} was inserted after {e['previous']!r} because its weights can reach {share}."


def _depth_details(e: Mapping[str, Any]) -> str:
    search = e["line_search"]
    where = "held-out samples" if search["held_out"] else "the same samples"
    text = "It starts as the identity, so the function is unchanged. Its best update lowers the mean loss by "
    text += f"{e['gain']:.3g} on {search['samples']} {where}"
    if "width" not in e:
        return f"{text}."
    units = f"new units at {e['width']['place']!r} for the same multiply-adds"
    gain = e["width"]["gain"]
    return f"{text}; {units} lower it by {gain:.3g}." if gain else f"{text}; {units} do not lower it."


def _gradmax(e: Mapping[str, Any]) -> str:
    how = {
        "zero": "incoming weights start at zero, so the function is unchanged",
        "small": "incoming weights start near zero and only set which samples activate the unit",
        "zero out": "outgoing weights start at zero because of the batch norm, so the function is unchanged",
    }[e["start"]]
    size = f" (squared norm {e['gradient']:.3g})" if "gradient" in e else ""
    return f"new weights have the largest gradient there{size}; {how}"


def _random(e: Mapping[str, Any]) -> str:
    effect = "at first they have no effect" if not e.get("fan_out") else "their weights are as in an untrained network"
    return f"random units were requested (seed {e['seed']}); {_predicted(e['gain']) if e['gain'] != 0 else effect}"


def _split(e: Mapping[str, Any]) -> str:
    noise = f"with noise of {e['noise']:.3g}" if e["noise"] else "exactly (without noise, training keeps copies equal)"
    if len(e["split"]) == 1:
        return f"unit {e['split'][0]} was copied {noise}; each copy gets half of the outgoing weights"
    return f"units {_numbers(e['split'])} were copied {noise}; each copy gets half of the outgoing weights"


def _linear(e: Mapping[str, Any]) -> str:
    pairs = "one mirrored pair of units" if e["pairs"] == 1 else f"{e['pairs']} mirrored pairs of units"
    return f"growth starts as the linear model, which {pairs} can be"


def _predicted(gain: float) -> str:
    return f"the mean loss is predicted to {'rise' if gain < 0 else 'fall'} by {abs(gain):.3g}"


def _numbers(units: list[int]) -> str:
    return ", ".join(map(str, units[:10])) + (", ..." if len(units) > 10 else "")


SENTENCES = {
    "tiny": _tiny,
    "gradmax": _gradmax,
    "random": _random,
    "split": _split,
    "depth": _depth,
    "linear": _linear,
}
_NAMES = {"tiny": "TINY", "fold": "Fold", "gradmax": "GradMax", "split": "Split"}
DETAILS = {"tiny": _tiny_details, "depth": _depth_details}
