"""Growth steps in a few words."""

from __future__ import annotations

from creases._text import plural
from creases.growth import Record


def describe_step(record: Record) -> str:
    """Say what a growth step did: ``1 unit added``."""
    added, removed = len(record.units), len(record.removed)
    if record.action == "revive":
        return f"{count_units(removed)} reinitialised"
    if record.action == "recycle":
        more = f", {count_units(added - removed)} added" if added > removed else ""
        return f"{count_units(removed)} replaced{more}"
    if record.action == "deepen":
        return f"a layer of {count_units(added)} inserted"
    return f"{count_units(added)} added"


def count_units(count: int) -> str:
    """Say how many units: ``1 unit``, ``2 units``."""
    return plural(count, "unit")
