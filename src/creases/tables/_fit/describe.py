"""Growth steps and stages in a few words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from creases._text import plural

if TYPE_CHECKING:
    from creases.growth import Record
    from creases.tables._stages.model import Step


def describe_step(record: Record) -> str:
    """Say what a growth step did: ``1 unit added``."""
    added, removed = len(record.units), len(record.removed)
    if record.action == "revive":
        return f"{count_units(removed)} reinitialised"
    if record.action == "narrow":
        return f"{count_units(removed)} removed"
    return f"{count_units(added)} added"


def count_units(count: int) -> str:
    """Say how many units: ``1 unit``, ``2 units``."""
    return plural(count, "unit")


def describe_stage(step: Step, family: str) -> str:
    """Say what a stage brought: ``curves: log loss 0.412, 0.031 ± 0.008 lower (kept, 14 bends)``.

    Only the stage that is kept is made simple, so bends of others say nothing.
    """
    known = {"classes": "log loss", "normal": "unexplained variance", "lognormal": "unexplained variance of logarithms"}
    loss = known.get(family, "quantile loss" if family.startswith("quantile") else f"{family} deviance")
    text = f"{step.stage}: {loss} {step.loss:.4f}"
    if step.stage != "linear":
        change = "lower" if step.gain >= 0 else "higher"
        text += f", {abs(step.gain):.4f} ± {step.error:.4f} {change}" if abs(step.gain) >= 0.00005 else ", no lower"
    if not step.is_kept:
        return text
    parts = [plural(step.planes, "plane")] if step.planes else []
    parts += [plural(round(step.bends), "bend")] if round(step.bends) else []
    return f"{text} (kept{', ' if parts else ''}{' with '.join(parts)})"
