"""The explanation of folds at patches, as plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from creases.growth.methods._fold.explanation import explain_mistake
from creases.growth.methods._fold.patches import Patch
from creases.growth.methods._fold.predictions import Decisions, Residuals
from creases.growth.methods._fold.typical_mispredictions import TypicalMisprediction
from creases.network import Place


@dataclass(frozen=True, eq=False)
class PatchFold:
    """A fold at a patch of a typical misprediction."""

    typical: TypicalMisprediction
    patch: Patch
    unit: int = 0  #: its number at the place
    first_order: float = 0.0  #: fall of the mean loss to first order, beyond what the biases behind it can do
    active: float = 0.0  #: share of patches on its active side


def explain_patch_folds(
    place: Place,
    kind: str,
    folds: Sequence[PatchFold],
    state: Decisions | Residuals,
    effect: Mapping[str, Any],
    sizes: Mapping[str, int],
    noise: NDArray[np.bool_],
) -> dict[str, Any]:
    """Return all that is known about folds at patches when they are proposed, as JSON-able data.

    It has the layout of :func:`explain_folds`; ``kind`` is "filter" or "unit". The predicted gain of each fold is its
    share by first-order gains.
    """
    total = sum(fold.first_order for fold in folds)
    shared: dict[str, Any] = {"method": "fold", "place": place.name, "reason": "", "kind": kind}
    more: dict[str, Any] = {
        "samples": dict(sizes),
        **({"noise": np.flatnonzero(noise).tolist()} if noise.any() else {}),
    }
    mistakes = {"mistakes": np.flatnonzero(state.wrong).tolist()} if isinstance(state, Decisions) else {}
    entries: list[dict[str, Any]] = [
        {
            "unit": fold.unit,
            "why": explain_mistake(fold.typical, state),
            "where": {"space": f"patches of what enters {place.name}", "patch": list(fold.patch.center)},
            "crease": {"active_share": fold.active},
            "effect": {"predicted_gain": effect["predicted_gain"] * fold.first_order / total},
        }
        for fold in folds
    ]
    if len(entries) == 1:
        (entry,) = entries
        entry["why"] |= mistakes
        entry["effect"] |= effect
        return {**shared, **entry, **more}
    return {**shared, "units": len(entries), **mistakes, "folds": entries, "effect": dict(effect), **more}
