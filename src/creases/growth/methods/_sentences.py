"""Explanations of the growth methods other than fold, and of new layers, as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


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
    count = explanation.get("units", 1)
    units = "1 unit" if count == 1 else f"{count} units"
    because = SENTENCES[explanation["method"]](explanation)
    return f"{units} added to {explanation['place']!r} because {because}."


def filler_sentence(explanation: Mapping[str, Any]) -> str:
    """Return how many units a method supplied of those it was asked for; "" where it supplied all."""
    if not (filled := explanation.get("filled")):
        return ""
    supplied = explanation["supplied"]
    others = "the other one is random and starts" if filled == 1 else f"the other {filled} are random and start"
    return f"{_method_name(explanation)} supplied {supplied} of {supplied + filled} units; {others} without effect."


def _random_instead(e: Mapping[str, Any]) -> str:
    count = e["units"]
    units = "1 random unit, which starts" if count == 1 else f"{count} random units, which start"
    reason = f": {e['instead']}" if e["instead"] else ""
    return f"{units} without effect, added to {e['place']!r} because {_method_name(e)} supplied none{reason}."


def _method_name(e: Mapping[str, Any]) -> str:
    name = str(e.get("asked", e["method"]))
    return _NAMES.get(name, name)


def _tiny(e: Mapping[str, Any]) -> str:
    start = f"the present weights behind it cannot give {e['share_of_goal']:.0%} of the change that the loss asks for"
    if "fallback" not in e:
        return start
    kind = {"second": "quadratic correlations", "random": "the best of random units"}[e["fallback"]]
    return f"{start}, and no linear correlation gives anything: {kind}"


def _tiny_details(e: Mapping[str, Any]) -> str:
    search = e["line_search"]
    share = e["bottleneck_after"] / e["bottleneck"] if e["bottleneck"] else 1.0
    where = "held-out samples" if search["held_out"] else "the same samples"
    moved = e.get("move", {"amplitude": 0})
    also = f" The present weights behind it moved too, by {moved['amplitude']:.3g} times their best move." * bool(
        moved["amplitude"]
    )
    left = "" if "fallback" in e else f"; to first order the new units leave {share:.0%} of it"
    return (
        f"This bottleneck is {e['bottleneck']:.3g}, {e['share_of_loss']:.0%} of the loss{left}. The mean loss is "
        f"predicted to fall by {e['gain']:.3g}, to first order, and fell by {search['gain']:.3g} on "
        f"{search['samples']} {where}.{also}"
    )


def _depth(e: Mapping[str, Any]) -> str:
    units = "1 unit" if e["units"] == 1 else f"{e['units']} units"
    share = f"{e['share_of_goal']:.1%} of the change that the loss asks for and the layers behind it cannot give"
    return f"A layer of {units} was inserted after {e['previous']!r} because its weights can give {share}."


def _depth_details(e: Mapping[str, Any]) -> str:
    search = e["line_search"]
    where = "held-out samples" if search["held_out"] else "the same samples"
    text = "It starts as the identity, so the function is unchanged. Along its best move the mean loss falls by "
    text += f"{e['gain']:.3g} on {search['samples']} {where}"
    if "width" not in e:
        return f"{text}."
    units = f"new units at {e['width']['place']!r}, for as many multiply-adds"
    gain = e["width"]["gain"]
    return f"{text}; {units}, lower it by {gain:.3g}." if gain else f"{text}; {units}, do not lower it."


def _gradmax(e: Mapping[str, Any]) -> str:
    how = {
        "zero": "incoming weights are zero, so the function is unchanged",
        "small": "incoming weights are next to zero, so that they only choose the side of the bend",
        "zero out": "outgoing weights are zero because of the batch norm, so the function is unchanged",
    }[e["start"]]
    size = f", of squared norm {e['gradient']:.3g}" if "gradient" in e else ""
    return f"there the new weights get the largest gradient{size}; {how}"


def _random(e: Mapping[str, Any]) -> str:
    return f"units drawn at random (seed {e['seed']}) were asked for; {_predicted(e['gain'])}"


def _split(e: Mapping[str, Any]) -> str:
    noise = f"with noise of {e['noise']:.3g}" if e["noise"] else "exactly, so they need noise to part"
    if len(e["split"]) == 1:
        return f"unit {e['split'][0]} was copied {noise}, and shares its outgoing weights in halves"
    return f"units {_numbers(e['split'])} were copied {noise}, and share their outgoing weights in halves"


def _steepest(e: Mapping[str, Any]) -> str:
    are = f"unit {e['split'][0]} is" if len(e["split"]) == 1 else f"units {_numbers(e['split'])} are"
    down = f"eigenvalues down to {min(e['eigenvalues']):.3g}"
    return f"{are} at a saddle that splitting leaves ({down}); {_predicted(e['gain'])}, to second order"


def _search(e: Mapping[str, Any]) -> str:
    return f"of {e['tried']} creases through the data that were tried it gets the largest gradient, {e['gradient']:.3g}"


def _predicted(gain: float) -> str:
    return f"the mean loss is predicted to {'rise' if gain < 0 else 'fall'} by {abs(gain):.3g}"


def _numbers(units: list[int]) -> str:
    return ", ".join(map(str, units[:10])) + (", ..." if len(units) > 10 else "")


SENTENCES = {
    "tiny": _tiny,
    "gradmax": _gradmax,
    "random": _random,
    "split": _split,
    "steepest_split": _steepest,
    "search": _search,
    "depth": _depth,
}
_NAMES = {
    "tiny": "TINY",
    "fold": "Fold",
    "gradmax": "GradMax",
    "split": "Split",
    "steepest_split": "Steepest split",
    "search": "Search",
}
DETAILS = {"tiny": _tiny_details, "depth": _depth_details}
