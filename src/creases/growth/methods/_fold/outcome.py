"""The outcome of a fold: the part of its explanation that is known after training."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from creases.errors import InputError
from creases.growth.methods._fold.explanation import fold_entries
from creases.growth.methods._fold.predictions import Decisions, Residuals, decisions, residuals
from creases.growth.methods._fold.subnetwork import Subnetwork, layer_inputs, subnetwork_at
from creases.network.surgery import find_place, unwrap_module


def fold_outcome(
    explanation: Mapping[str, Any],
    model: nn.Module,
    X: Any,
    y: Any,
    *,
    units: Sequence[int] | None = None,
    rows: NDArray[np.int64] | None = None,
    input_shape: Sequence[int] | None = None,
    weight: Any = None,
) -> dict[str, Any]:
    """Return the explanation of folds with ``"after"``: their effect so far, on the data they were proposed for.

    It has loss and errors before and now, the samples that are fixed and broken, and for each fold whether the typical
    sample is correct and its loss, how many of its cluster are, the distance of the crease from the fold point, and by
    how many degrees it turned. Of several folds each entry has its own part.

    Parameters
    ----------
    explanation
        The explanation of a proposal of :func:`creases.growth.methods.fold` that was applied to the model.
    model
        The model, trained since.
    X, y, weight
        The data of the fold, in the same order.
    units
        Numbers of the units at the place now; by default those that they got when they were added.
    rows
        Numbers (n,) of the samples in the explanation; 0 to n - 1 by default.
    input_shape
        Shape of one input, where the model does not determine it.
    """
    entries = fold_entries(explanation)
    if explanation.get("method") != "fold" or not entries:
        raise InputError("explanation", "be that of a fold with a unit")
    model = unwrap_module(model)
    place = find_place(model, explanation["place"], input_shape)
    numbers = [entry["unit"] for entry in entries] if units is None else list(units[: len(entries)])
    for unit in numbers:
        if not 0 <= unit < place.width:
            expected = f"be units of {place.name!r}, from 0 to {place.width - 1}"
            raise InputError("units", expected, f"{unit}", "apply the proposal first")
    regression = "residual" in entries[0]["why"]
    samples = np.arange(len(X)) if rows is None else np.asarray(rows)
    subnet = subnetwork_at(model, place, input_shape)
    outputs = subnet.outputs(layer_inputs(subnet, X)[1])
    state = (residuals if regression else decisions)(outputs, y, weight)
    after: dict[str, Any] = {"mean_loss_before": entries[0]["why"]["mean_loss"], "mean_loss": state.mean_loss}
    if not regression:
        before = np.isin(samples, explanation.get("mistakes", entries[0]["why"].get("mistakes", [])))
        after |= {
            "errors_before": int(before.sum()),
            "errors": int(state.wrong.sum()),
            "fixed": samples[before & ~state.wrong].tolist(),
            "broken": samples[~before & state.wrong].tolist(),
        }
    parts = [_fold_after(entry, unit, subnet, state, samples) for entry, unit in zip(entries, numbers, strict=True)]
    if "folds" not in explanation:
        return {**explanation, "after": after | parts[0]}
    folds = [{**entry, "after": part} for entry, part in zip(explanation["folds"], parts, strict=True)]
    return {**explanation, "folds": folds, "after": after}


def _fold_after(
    entry: Mapping[str, Any],
    unit: int,
    subnet: Subnetwork,
    state: Decisions | Residuals,
    samples: NDArray[np.int64],
) -> dict[str, Any]:
    """Return the outcome of one fold."""
    why = entry["why"]
    there = samples == why["instance"]
    after: dict[str, Any] = _crease_after(entry, unit, subnet)
    if there.any():
        after["instance_loss"] = float(state.loss[there].max())
    if isinstance(state, Decisions):
        after["instance_right"] = not bool(state.wrong[there].any())
        after["cluster_fixed"] = int((~state.wrong[np.isin(samples, why["cluster"]["mistakes"])]).sum())
    return after


def _crease_after(entry: Mapping[str, Any], unit: int, subnet: Subnetwork) -> dict[str, Any]:
    """Return the distance of a unit's crease from its fold point, and by how many degrees it turned."""
    w = subnet.weight[unit]
    length = float(np.linalg.norm(w)) or 1.0
    cosine = float(w @ np.array(entry["crease"]["normal"])) / length
    return {
        "crease_moved": abs(float(w @ np.array(entry["where"]["fold_point"]) + subnet.bias[unit])) / length,
        "crease_turned": float(np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0)))),
    }


def unrepaired_rows(explanations: Iterable[Mapping[str, Any]]) -> frozenset[int]:
    """Return the numbers of the samples that earlier folds were made for in vain.

    A mispredicted sample must have become right; in regression its loss must have fallen. Folds that were undone were
    all in vain.
    """
    rows = set()
    for explanation in explanations:
        for entry in fold_entries(explanation):
            why, after = entry["why"], entry.get("after", {})
            mended = after.get("instance_right", after.get("instance_loss", 0.0) < why["loss"])
            if not mended or explanation.get("undone"):
                rows.add(int(why["instance"]))
    return frozenset(rows)
