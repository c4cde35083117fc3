"""The choices of ``--missing``."""

from __future__ import annotations

from enum import StrEnum


class Missing(StrEnum):
    """What to do about missing values."""

    indicate = "indicate"
    mean = "mean"
    drop = "drop"
    error = "error"
