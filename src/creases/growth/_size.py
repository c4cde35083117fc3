"""Why a network has the size it has: the held-out losses of the sizes next to it, and what finding it took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def explain_size(stages: Sequence[Mapping[str, Any]], widths: Mapping[str, int], spent: float | None) -> str:
    """Return in sentences why these widths are enough; "" where no stage of growth was judged.

    ``spent``: the fraction of the budget until growth ended.
    """
    if not stages:
        return ""
    sentences = [f"The network has {_text(widths)} hidden units."]
    chosen = stages[-1]["widths" if stages[-1]["pays"] else "widths_before"]
    if all(width <= chosen.get(name, 0) for name, width in widths.items()) and widths != chosen:
        sentences = [
            f"The network has {_text(widths)} hidden units: {_text(chosen)} were chosen, and dead ones removed."
        ]
        widths = chosen
    smaller = [stage for stage in stages if beats_smaller(stage, widths)]
    larger = [stage for stage in stages if _beats_larger(stage, widths)]
    if smaller:
        stage = smaller[-1]
        wide, narrow = ("loss_grown", "loss_training_on") if stage["pays"] else ("loss_training_on", "loss_grown")
        other = stage["widths_before"] if stage["pays"] else stage["widths"]
        losses = f"the held-out loss was {stage[narrow]:.4g}, with these {stage[wide]:.4g}"
        if stage[narrow] <= stage[wide]:
            losses += f" (± {stage['error']:.2g}: no difference, where wider networks had been better before)"
        sentences.append(f"With {_text(other)} {losses}{_when(stage)}.")
    if larger:
        stage = larger[-1]
        wide, narrow = ("loss_grown", "loss_training_on") if not stage["pays"] else ("loss_training_on", "loss_grown")
        other = stage["widths"] if not stage["pays"] else stage["widths_before"]
        losses = f"{stage[wide]:.4g}, with these {stage[narrow]:.4g}{_when(stage)}"
        was = "it was" if smaller else "the held-out loss was"
        sentences.append(f"With {_text(other)} {was} {losses}: too little gained for a larger network.")
    if spent is not None:
        sentences.append(f"Finding the size took {spent:.0%} of the budget.")
    return " ".join(sentences)


def beats_smaller(stage: Mapping[str, Any], widths: Mapping[str, int]) -> bool:
    """Return whether a stage chose these widths over smaller ones."""
    if stage["factor"] > 1:
        return bool(stage["pays"]) and stage["widths"] == widths
    return not stage["pays"] and stage["widths_before"] == widths


def _beats_larger(stage: Mapping[str, Any], widths: Mapping[str, int]) -> bool:
    """Return whether a stage chose these widths over larger ones."""
    if stage["factor"] > 1:
        return not stage["pays"] and stage["widths_before"] == widths
    return bool(stage["pays"]) and stage["widths"] == widths


def _when(stage: Mapping[str, Any]) -> str:
    """Return until when both networks were looked at, where the stage says it."""
    steps = stage.get("compared_steps")
    return f", at best within {steps} steps" if steps else ""


def _text(widths: Mapping[str, int]) -> str:
    return "-".join(map(str, widths.values()))
