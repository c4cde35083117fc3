"""What some options of ``creases grow`` can be."""

from __future__ import annotations

from enum import StrEnum


class Method(StrEnum):
    """Growth methods."""

    auto = "auto"
    fold = "fold"
    tiny = "tiny"
    gradmax = "gradmax"
    random = "random"
    split = "split"  # type: ignore[assignment]  # a member, not str's method
