"""Numbers, counts and shares as a report writes them."""

from __future__ import annotations

from math import isfinite


def number(value: float, digits: int = 4) -> str:
    """A number, short; a dash where there is none."""
    return f"{value:.{digits}g}" if isfinite(value) else "–"


def percent(share: float) -> str:
    """A share in percent, not rounded to nothing."""
    return f"{100 * share:.3g} %" if isfinite(share) else "–"


def whole(value: int) -> str:
    """A count with its thousands apart; one of very many digits as a power of ten."""
    return f"{value:,}" if abs(value) < 10**12 else f"about 10^{len(str(abs(value))) - 1}"


def counted(value: int, thing: str) -> str:
    """``1 region``, ``3 regions``."""
    return f"{whole(value)} {thing}{'' if value == 1 else 's'}"
