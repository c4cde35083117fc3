"""Explanations of new units in the sentences a person reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from creases.grow.first_order import spoken as first_order
from creases.grow.folding import spoken as folding


def words(explanation: Mapping[str, Any], *, classes: Sequence[str] | None = None) -> str:
    """A proposal's explanation in words; ``classes`` are their names, for folds.

    Examples
    --------
    >>> words({"method": "fold", "place": "0", "reason": "nothing is mis-predicted"})
    "No unit added to '0': nothing is mis-predicted."
    """
    if explanation.get("reason"):
        return f"No unit added to {explanation['place']!r}: {explanation['reason']}."
    method = explanation["method"]
    if method == "fold":
        return folding.spoken(explanation, classes)
    if method in first_order.SENTENCES:
        return first_order.spoken(explanation)
    units = explanation.get("units", 1)
    return f"{'1 unit' if units == 1 else f'{units} units'} added to {explanation['place']!r} by {method}."
