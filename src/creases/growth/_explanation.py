"""Explanations of new units in the sentences a person reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

from creases.growth._feature_names import FeatureNames, NameOptions
from creases.growth.methods import _sentences as first_order
from creases.growth.methods._fold import sentences as folding


def explain(explanation: Mapping[str, Any], **names: Unpack[NameOptions]) -> str:
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
        return " ".join(
            filter(
                None,
                [folding.fold_sentences(explanation, FeatureNames(**names)), explain_outcome(explanation, **names)],
            )
        )
    if method in first_order.SENTENCES:
        return first_order.unit_sentences(explanation)
    return _added(explanation)


def explain_reason(explanation: Mapping[str, Any], **names: Unpack[NameOptions]) -> str:
    """As :func:`words`, in the one sentence that tells why."""
    if not explanation.get("reason"):
        if explanation["method"] == "fold":
            return folding.fold_reason(explanation, FeatureNames(**names))
        if explanation["method"] in first_order.SENTENCES:
            return first_order.unit_reason(explanation)
    return explain(explanation, **names)


def explain_outcome(explanation: Mapping[str, Any], **names: Unpack[NameOptions]) -> str:
    """What became of new units, as far as their own method tells; "" where it does not."""
    return folding.outcome_sentence(explanation, FeatureNames(**names)) if "after" in explanation else ""


def _added(explanation: Mapping[str, Any]) -> str:
    units, place = explanation.get("units", 1), explanation["place"]
    return f"{'1 unit' if units == 1 else f'{units} units'} added to {place!r} by {explanation['method']}."
