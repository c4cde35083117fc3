"""Words that depend on numbers."""

from __future__ import annotations


def plural(count: int, noun: str) -> str:
    """Format a count with its noun: ``1 row``, ``2 rows``."""
    return f"{count} {noun}{'' if count == 1 else 's'}"
