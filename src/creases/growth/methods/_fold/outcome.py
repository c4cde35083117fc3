"""The outcome of a fold: the part of its explanation that is known after training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from creases.errors import InputError
from creases.growth.methods._fold.predictions import decisions, residuals
from creases.growth.methods._fold.subnetwork import layer_inputs, subnetwork_at
from creases.network.surgery import find_place, unwrap_module


def fold_outcome(
    explanation: Mapping[str, Any],
    model: nn.Module,
    X: Any,
    y: Any,
    *,
    unit: int | None = None,
    rows: NDArray[np.int64] | None = None,
    input_shape: Sequence[int] | None = None,
    weight: Any = None,
) -> dict[str, Any]:
    """Return the explanation of a fold with ``"after"``: its effect so far, on the data it was proposed for.

    It has loss and errors before and now, the samples that are fixed and broken, whether the typical one is correct,
    how many of its cluster are, the distance of the crease from the fold point, and by how many degrees it turned.

    Parameters
    ----------
    explanation
        Of a proposal of :func:`creases.growth.methods.fold` that was applied to the model.
    model
        The model, trained since.
    X, y, weight
        The data of the fold, in the same order.
    unit
        Number of the unit at the place now; by default the number it got when it was added.
    rows
        Numbers (n,) of the samples in the explanation; 0 to n - 1 by default.
    input_shape
        Shape of one input, where the model does not determine it.
    """
    if explanation.get("method") != "fold" or explanation.get("reason"):
        raise InputError("explanation", "be that of a fold with a unit")
    model = unwrap_module(model)
    place = find_place(model, explanation["place"], input_shape)
    unit = explanation["unit"] if unit is None else unit
    if not 0 <= unit < place.width:
        raise InputError(
            "unit", f"be a unit of {place.name!r}, from 0 to {place.width - 1}", f"{unit}", "apply the proposal first"
        )
    subnet = subnetwork_at(model, place, input_shape)
    _, inputs = layer_inputs(subnet, X)
    outputs = subnet.outputs(inputs)
    why, x_f = explanation["why"], np.array(explanation["where"]["fold_point"])
    w = subnet.weight[unit]
    length = float(np.linalg.norm(w)) or 1.0
    cosine = float(w @ np.array(explanation["crease"]["normal"])) / length
    after: dict[str, Any] = {
        "crease_moved": abs(float(w @ x_f + subnet.bias[unit])) / length,
        "crease_turned": float(np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0)))),
        "mean_loss_before": why["mean_loss"],
    }
    if "residual" in why:
        return {**explanation, "after": after | {"mean_loss": residuals(outputs, y, weight).mean_loss}}
    state = decisions(outputs, y, weight)
    numbers = np.arange(len(state.wrong)) if rows is None else np.asarray(rows)
    before = np.isin(numbers, why["mistakes"])
    after |= {
        "mean_loss": state.mean_loss,
        "errors_before": int(before.sum()),
        "errors": int(state.wrong.sum()),
        "fixed": numbers[before & ~state.wrong].tolist(),
        "broken": numbers[~before & state.wrong].tolist(),
        "instance_right": not bool(state.wrong[numbers == why["instance"]].any()),
        "cluster_fixed": int((~state.wrong[np.isin(numbers, why["cluster"]["mistakes"])]).sum()),
    }
    return {**explanation, "after": after}
