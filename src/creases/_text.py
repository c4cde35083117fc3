"""Words that depend on numbers, and numbers as text."""

from __future__ import annotations


def plural(count: int, noun: str) -> str:
    """Format a count with its noun: ``1 row``, ``2 rows``."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def format_number(value: float) -> str:
    """Return a number with three digits and all digits before the point: 0.123, 12.3, 2015, 1.2e-07."""
    return f"{value:.0f}" if 999.5 <= abs(value) < 1e9 else f"{value:.3g}"
