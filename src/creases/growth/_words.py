"""Explanations of new units in the sentences a person reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

from creases.growth._naming import Names, Naming
from creases.growth.methods._first_order import spoken as first_order
from creases.growth.methods._fold import spoken as folding


def words(explanation: Mapping[str, Any], **names: Unpack[Names]) -> str:
    """A proposal's explanation in words.

    Parameters
    ----------
    explanation
        Of a proposal or of a growth step's record.
    **names
        ``classes`` and ``features``: names of the classes and of the inputs; without them they go by number.
        ``scaling``: the :class:`creases.growth.Scaling` of the inputs; points are told in the data's own units.
        ``instance``: what to call one sample: "row" of a table.

    Examples
    --------
    >>> words({"method": "fold", "place": "0", "reason": "nothing is mis-predicted"})
    "No unit added to '0': nothing is mis-predicted."
    """
    if explanation.get("reason"):
        return f"No unit added to {explanation['place']!r}: {explanation['reason']}."
    method = explanation["method"]
    if method == "fold":
        return " ".join(filter(None, [folding.spoken(explanation, Naming(**names)), afterwards(explanation, **names)]))
    if method in first_order.SENTENCES:
        return first_order.spoken(explanation)
    return _added(explanation)


def reason(explanation: Mapping[str, Any], **names: Unpack[Names]) -> str:
    """As :func:`words`, in the one sentence that tells why."""
    if not explanation.get("reason"):
        if explanation["method"] == "fold":
            return folding.reason(explanation, Naming(**names))
        if explanation["method"] in first_order.SENTENCES:
            return first_order.reason(explanation)
    return words(explanation, **names)


def afterwards(explanation: Mapping[str, Any], **names: Unpack[Names]) -> str:
    """What became of new units, as far as their own method tells; "" where it does not."""
    return folding.became(explanation, Naming(**names)) if "after" in explanation else ""


def _added(explanation: Mapping[str, Any]) -> str:
    units, place = explanation.get("units", 1), explanation["place"]
    return f"{'1 unit' if units == 1 else f'{units} units'} added to {place!r} by {explanation['method']}."
