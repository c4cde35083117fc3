"""What became of a fold: the part of its record that is known after training."""

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
    """The explanation of a fold with ``"after"``: what it did by now, on the data it was made for.

    Loss and errors before and now, which instances are fixed and broken, whether the typical one is right, how much
    of its cluster is; how far the crease is from the fold point, and by how many degrees it turned.

    Parameters
    ----------
    explanation
        Of a proposal of :func:`creases.growth.methods.fold` that was applied to the model, which was then trained.
    X, y, weight
        The data that ``fold`` was given, in the same order.
    unit
        Which unit of the place it is now; the one it became when it was added, if not given.
    rows
        The numbers (n,), rising, by which the explanation names the instances; 0 to n - 1 if not given.
    """
    if explanation.get("method") != "fold" or explanation.get("reason"):
        raise InputError("explanation: expected that of a fold with a unit")
    model = unwrap_module(model)
    place = find_place(model, explanation["place"], input_shape)
    unit = explanation["unit"] if unit is None else unit
    if not 0 <= unit < place.width:
        raise InputError(f"unit: {place.name!r} has units 0 to {place.width - 1}, got {unit}; was the fold applied?")
    tail = subnetwork_at(model, place, input_shape)
    _, inputs = layer_inputs(tail, X)
    outputs = tail.outputs(inputs)
    why, x_f = explanation["why"], np.array(explanation["where"]["fold_point"])
    w = tail.weight[unit]
    length = float(np.linalg.norm(w)) or 1.0
    cosine = float(w @ np.array(explanation["crease"]["normal"])) / length
    after: dict[str, Any] = {
        "crease_moved": abs(float(w @ x_f + tail.bias[unit])) / length,
        "crease_turned": float(np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0)))),
        "mean_loss_before": why["mean_loss"],
    }
    if "residual" in why:
        return {**explanation, "after": after | {"mean_loss": residuals(outputs, y, weight).mean_loss}}
    state = decisions(outputs, y, weight)
    numbers = np.arange(len(state.wrong)) if rows is None else np.asarray(rows)
    before = np.zeros(len(state.wrong), bool)
    before[np.searchsorted(numbers, why["mistakes"])] = True
    after |= {
        "mean_loss": state.mean_loss,
        "errors_before": int(before.sum()),
        "errors": int(state.wrong.sum()),
        "fixed": numbers[before & ~state.wrong].tolist(),
        "broken": numbers[~before & state.wrong].tolist(),
        "instance_right": not bool(state.wrong[np.searchsorted(numbers, why["instance"])]),
        "cluster_fixed": int((~state.wrong[np.searchsorted(numbers, why["cluster"]["mistakes"])]).sum()),
    }
    return {**explanation, "after": after}
