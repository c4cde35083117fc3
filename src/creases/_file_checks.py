"""Checks of values that were read from a file, which may be damaged or forged."""

from __future__ import annotations

from typing import Any


def expect(holds: bool, otherwise: str) -> None:
    """Raise ValueError unless a fact holds."""
    if not holds:
        raise ValueError(otherwise)


def is_number(value: Any) -> bool:
    """Return whether a value is a number, not a truth value."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_count(value: Any) -> bool:
    """Return whether a value is a whole number of at least 0 that fits into an array."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63
