"""Networks from plain weight arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from creases.errors import InputError
from creases.network._network import Network
from creases.network.program._step import Step


def from_arrays(layers: Sequence[tuple[Any, Any]], *, leak: float = 0.0) -> Network:
    """A multilayer perceptron from ``[(W, b), ...]``, W (out, in) and b (out,), a (leaky) ReLU between layers.

    Parameters
    ----------
    layers
        Weights of each layer, first to last; no bend follows the last.
    leak
        Slope of the bends on their negative side; 0 is ReLU.
    """
    if not len(layers):
        raise InputError("model: expected at least one (W, b) pair, got an empty list")
    if not isinstance(leak, int | float | np.number) or not np.isfinite(leak):
        raise InputError(f"leak: expected a finite number, got {leak!r}")
    steps: list[Step] = []
    width = None
    for i, layer in enumerate(layers):
        weight, bias = _layer(layer, i)
        if width is not None and weight.shape[1] != width:
            raise InputError(
                f"model: layer {i} takes {weight.shape[1]} inputs but layer {i - 1} gives {width}; W must be (out, in)"
            )
        width = weight.shape[0]
        if i:
            tensors = {} if leak == 0 else {"leak": torch.tensor(float(leak), dtype=torch.float64)}
            steps.append(Step("relu", (len(steps),), (weight.shape[1],), tensors=tensors, path=f"layers.{i - 1}.bend"))
        tensors = {"weight": torch.from_numpy(weight), "offset": torch.from_numpy(bias)}
        steps.append(Step("linear", (len(steps),), (width,), tensors=tensors, path=f"layers.{i}"))
    return Network(steps, (np.shape(layers[0][0])[1],))


def _layer(layer: Any, i: int) -> tuple[np.ndarray, np.ndarray]:
    try:
        weight, bias = (_numbers(part) for part in layer)
    except (TypeError, ValueError) as error:
        raise InputError(f"model: layer {i} must be a pair (W, b) of numeric arrays: {error}") from None
    if weight.ndim != 2 or bias.shape != (weight.shape[0],):
        raise InputError(f"model: layer {i} must be W (out, in) and b (out,), got W {weight.shape} and b {bias.shape}")
    if not weight.shape[1]:
        raise InputError(f"model: layer {i} has no inputs: W is {weight.shape}")
    if not (np.isfinite(weight).all() and np.isfinite(bias).all()):
        raise InputError(f"model: layer {i} has NaN or infinite weights; a partition needs finite numbers")
    return weight, bias


def _numbers(part: Any) -> np.ndarray:
    array = part.detach().cpu().numpy() if isinstance(part, torch.Tensor) else np.asarray(part)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"entries are {array.dtype}")
    return array.astype(np.float64)
