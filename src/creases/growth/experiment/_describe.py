"""Growth steps in a few words."""

from __future__ import annotations

from creases.growth._records import Record


def describe_step(record: Record) -> str:
    """Say what a growth step did: ``1 unit added``."""
    new, gone = len(record.units), len(record.removed)
    if record.action == "revive":
        return f"{count_units(gone)} drawn anew"
    if record.action == "recycle":
        return f"{count_units(gone)} replaced" + (f", {count_units(new - gone)} added" if new > gone else "")
    return f"{count_units(new)} added"


def count_units(count: int) -> str:
    """Say how many units: ``1 unit``, ``2 units``."""
    return "1 unit" if count == 1 else f"{count} units"
