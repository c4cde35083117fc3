"""Reading weight arrays."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from creases._files import open_npz
from creases._program._step import Step
from creases._text import plural
from creases._validation import check_number
from creases.errors import FileError, InputError
from creases.network._network import Network


def from_arrays(layers: Sequence[tuple[Any, Any]], *, leak: float = 0.0) -> Network:
    """Read a multilayer perceptron ``[(W, b), ...]``, W (out, in) and b (out,), with (leaky) ReLUs between layers.

    Parameters
    ----------
    layers
        Weights of each layer, first to last; no bend follows the last.
    leak
        Slope of the bends on their negative side; 0 is ReLU.
    """
    if not len(layers):
        raise InputError("model", "have at least one (W, b) pair", "an empty list")
    leak = check_number(leak, "leak")
    steps: list[Step] = []
    width = None
    for i, layer in enumerate(layers):
        weight, bias = _layer(layer, i)
        if width is not None and weight.shape[1] != width:
            raise InputError(
                "model",
                "have layers that fit together",
                f"layer {i} with {plural(weight.shape[1], 'input')} after layer {i - 1} with {plural(width, 'output')}",
                "W is (out, in)",
            )
        width = weight.shape[0]
        if i:
            tensors = {} if leak == 0 else {"leak": torch.tensor(leak, dtype=torch.float64)}
            steps.append(Step("relu", (len(steps),), (weight.shape[1],), tensors=tensors, path=f"layers.{i - 1}.bend"))
        tensors = {"weight": torch.from_numpy(weight), "offset": torch.from_numpy(bias)}
        steps.append(Step("linear", (len(steps),), (width,), tensors=tensors, path=f"layers.{i}"))
    return Network(steps, (np.shape(layers[0][0])[1],))


def _layer(layer: Any, i: int) -> tuple[np.ndarray, np.ndarray]:
    try:
        weight, bias = (_numbers(part) for part in layer)
    except (TypeError, ValueError) as error:
        raise InputError("model", "be a list of pairs (W, b) of numeric arrays", f"{error} (layer {i})") from None
    if weight.ndim != 2 or bias.shape != (weight.shape[0],):
        got = f"W {weight.shape} and b {bias.shape} in layer {i}"
        raise InputError("model", "have W (out, in) and b (out,) in each layer", got)
    if not weight.shape[1]:
        raise InputError("model", "have inputs in each layer", f"W {weight.shape} in layer {i}")
    if not (np.isfinite(weight).all() and np.isfinite(bias).all()):
        raise InputError("model", "have finite weights", f"NaN or infinity in layer {i}")
    return weight, bias


def _numbers(part: Any) -> np.ndarray:
    array = part.detach().cpu().numpy() if isinstance(part, torch.Tensor) else np.asarray(part)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"entries of type {array.dtype}")
    return array.astype(np.float64)


def read_npz(path: Path) -> Network:
    """Read a network of the layers ``(W0, b0), (W1, b1), ...``, with bends between them."""
    try:
        with open_npz(path) as arrays:
            content = dict(arrays)
    except (OSError, ValueError) as error:
        raise FileError(f"cannot read {path} as an .npz file of weights: {error}") from None
    layers: list[tuple[Any, Any]] = []
    while f"W{len(layers)}" in content:
        bias = f"b{len(layers)}"
        if bias not in content:
            raise FileError(f"cannot read {path}: it has W{len(layers)} but no {bias}")
        layers.append((content[f"W{len(layers)}"], content[bias]))
    if not layers:
        raise FileError(
            f"cannot read {path}: it must hold W0, b0, W1, b1, ...; it holds {', '.join(content) or 'nothing'}"
        )
    leak = content.get("leak", np.zeros(()))
    if leak.ndim or leak.dtype.kind not in "biuf":
        raise FileError(f"cannot read {path}: its leak must be one number, got shape {leak.shape} of {leak.dtype}")
    return from_arrays(layers, leak=float(leak))
