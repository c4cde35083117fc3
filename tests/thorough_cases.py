"""Parameters of which some are left to ``make thorough``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def keep(cases: Iterable[str], *kept: str) -> list[Any]:
    """Return cases as they are where ``kept`` names them, the others marked as thorough."""
    names = list(cases)
    assert set(kept) <= set(names)
    return [name if name in kept else pytest.param(name, marks=pytest.mark.thorough) for name in names]
