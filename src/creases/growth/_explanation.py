"""Explanations of new units as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

from creases._text import plural
from creases.growth._feature_names import FeatureNames, NameOptions
from creases.growth.methods import _sentences as unit_text
from creases.growth.methods._fold import sentences as fold_text


def explain(explanation: Mapping[str, Any], **names: Unpack[NameOptions]) -> str:
    """Return an explanation of new units as text.

    Parameters
    ----------
    explanation
        The explanation of a proposal or of a growth step's record.
    **names
        ``classes`` and ``features``: names of the classes and of the inputs, numbers by default. ``scaling``: the
        :class:`creases.growth.Scaling` of the inputs, to give points in the data's units. ``instance``: the word for
        one sample, such as "row".

    Examples
    --------
    >>> explain({"method": "fold", "place": "0", "reason": "no sample is mispredicted"})
    "No unit added to '0': no sample is mispredicted."
    """
    if explanation.get("reason"):
        return f"No unit added to {explanation['place']!r}: {explanation['reason']}."
    method = explanation["method"]
    if method == "fold":
        return _join(
            fold_text.fold_sentences(explanation, FeatureNames(**names)),
            unit_text.filler_sentence(explanation),
            explain_outcome(explanation, **names),
        )
    if method in unit_text.SENTENCES:
        return _join(unit_text.unit_sentences(explanation), unit_text.filler_sentence(explanation))
    return _join(_generic_sentence(explanation), unit_text.filler_sentence(explanation))


def explain_reason(explanation: Mapping[str, Any], **names: Unpack[NameOptions]) -> str:
    """Return the reason for new units in one sentence, and in another how many the method did not supply."""
    if not explanation.get("reason"):
        filler = unit_text.filler_sentence(explanation)
        if explanation["method"] == "fold":
            return _join(fold_text.fold_reason(explanation, FeatureNames(**names)), filler)
        if explanation["method"] in unit_text.SENTENCES:
            return _join(unit_text.unit_reason(explanation), filler)
    return explain(explanation, **names)


def explain_outcome(explanation: Mapping[str, Any], **names: Unpack[NameOptions]) -> str:
    """Return the outcome of new units after training; "" where the method does not provide it."""
    if explanation.get("method") != "fold" or "after" not in explanation:
        return ""
    return fold_text.outcome_sentence(explanation, FeatureNames(**names))


def _join(*sentences: str) -> str:
    return " ".join(sentence for sentence in sentences if sentence)


def _generic_sentence(explanation: Mapping[str, Any]) -> str:
    units = plural(explanation.get("units", 1), "unit")
    return f"{units} added to {explanation['place']!r} by {explanation['method']}."
