"""Format numbers, counts and shares for reports."""

from __future__ import annotations

from math import isfinite
from typing import Any

#: A section of a report: title, text, table, picture and the like, as JSON for the viewer.
Section = dict[str, Any]


def format_float(value: float, digits: int = 4) -> str:
    """Format a number briefly; a dash if it is not finite."""
    return f"{value:.{digits}g}" if isfinite(value) else "–"


def format_percent(share: float) -> str:
    """Format a share in percent, with three significant digits."""
    return f"{100 * share:.3g}%" if isfinite(share) else "–"


def format_integer(value: int) -> str:
    """Format an integer with thousands separators; a very large one as a power of ten."""
    return f"{value:,}" if abs(value) < 10**12 else f"about 10^{len(str(abs(value))) - 1}"


def pluralize(value: int, thing: str) -> str:
    """Format a count with its noun: ``1 region``, ``3 regions``."""
    return f"{format_integer(value)} {thing}{'' if value == 1 else 's'}"
