"""Reading weight arrays, and scikit-learn's multilayer perceptrons with the scaling before them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from creases._files import open_npz
from creases._program._step import Step
from creases._text import plural
from creases._typing import Floats
from creases._validation import check_number
from creases.errors import FileError, InputError, ReadError
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
    pairs = [_layer(layer, i) for i, layer in enumerate(layers)]
    for i, ((before, _), (weight, _)) in enumerate(pairwise(pairs)):
        if weight.shape[1] != before.shape[0]:
            inputs, outputs = plural(weight.shape[1], "input"), plural(before.shape[0], "output")
            got = f"layer {i + 1} with {inputs} after layer {i} with {outputs}"
            raise InputError("model", "have layers that fit together", got, "W is (out, in)")
    return _network(pairs, "bend", {} if leak == 0 else {"leak": torch.tensor(leak, dtype=torch.float64)})


def _network(layers: list[tuple[Floats, Floats]], bend: str, leak: dict[str, Tensor], link: str = "") -> Network:
    """Return the network of layers (W, b) with bends called ``bend`` between them; none if that is empty."""
    steps: list[Step] = []
    for i, (weight, bias) in enumerate(layers):
        if i and bend:
            steps.append(Step("relu", (len(steps),), (weight.shape[1],), tensors=leak, path=f"layers.{i - 1}.{bend}"))
        tensors = {"weight": torch.from_numpy(weight), "offset": torch.from_numpy(bias)}
        steps.append(Step("linear", (len(steps),), (len(bias),), tensors=tensors, path=f"layers.{i}"))
    return Network(steps, (layers[0][0].shape[1],), link)


def _layer(layer: Any, i: int) -> tuple[np.ndarray, np.ndarray]:
    try:
        pair = [part.detach().cpu().numpy() if isinstance(part, Tensor) else np.asarray(part) for part in layer]
        if wrong := [part.dtype for part in pair if part.dtype.kind not in "biuf"]:
            raise TypeError(f"entries of type {wrong[0]}")
        weight, bias = (part.astype(np.float64) for part in pair)
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


# Reading scikit-learn's multilayer perceptrons, with the scaling before them.

#: Functions after the last layer that are left out: the network's outputs are what they are applied to.
LINKS = {"identity": "", "logistic": "sigmoid", "softmax": "softmax"}


def is_sklearn(model: Any) -> bool:
    """Return whether an object is an estimator of scikit-learn, without importing it."""
    return any(kind.__module__.partition(".")[0] == "sklearn" for kind in type(model).__mro__)


def read_sklearn(model: Any) -> Network:
    """Read a fitted MLPClassifier or MLPRegressor, alone or at the end of a Pipeline of scalers.

    An estimator with an attribute ``network_``, as creases' own have it, is read as that network, after its scalers.

    Outputs are the values before the logistic function or softmax: a logit for each class, for two classes the
    log-odds of the second.
    """
    estimators = [step for _, step in model.steps] if type(model).__name__ == "Pipeline" else [model]
    *others, last = estimators
    scalers = [step for step in others if step is not None and not isinstance(step, str)]  # "passthrough"
    if hasattr(type(last), "network_"):
        try:
            net: Network = last.network_
        except AttributeError:  # scikit-learn's NotFittedError is one
            raise ReadError(f"cannot read {type(last).__name__}: it is not fitted; call fit first") from None
        if not scalers:
            return net
        factor, offset = _compose(scalers, net.n_in)
        tensors = {"weight": torch.from_numpy(np.diag(factor)), "offset": torch.from_numpy(offset)}
        first = Step("linear", (0,), (net.n_in,), tensors=tensors, path="scaler")
        steps = [first, *(replace(step, inputs=tuple(k + 1 for k in step.inputs)) for step in net.steps)]
        return Network(steps, (net.n_in,), net.link)
    layers = _layers(last)
    weight, bias = layers[0]
    factor, offset = _compose(scalers, weight.shape[1])
    layers[0] = (weight * factor, bias + weight @ offset)
    return _network(layers, "relu" if last.activation == "relu" else "", {}, LINKS[last.out_activation_])


def _compose(scalers: list[Any], d: int) -> tuple[Floats, Floats]:
    """Return factors (d,) and offsets (d,) of scalers one after another."""
    factor, offset = np.ones(d), np.zeros(d)
    for scaler in scalers:
        a, c = _scaling(scaler, d)
        if len(a) != d:
            name = type(scaler).__name__
            raise ReadError(f"cannot read a Pipeline whose {name} has {len(a)} columns, as the network has {d} inputs")
        factor, offset = a * factor, a * offset + c
    return factor, offset


def _layers(model: Any) -> list[tuple[Floats, Floats]]:
    name = type(model).__name__
    if name not in ("MLPClassifier", "MLPRegressor"):
        raise ReadError(
            f"cannot read {name}: of scikit-learn's estimators only MLPClassifier and MLPRegressor can be read, alone "
            "or at the end of a Pipeline of scalers"
        )
    if not hasattr(model, "coefs_"):
        raise ReadError(f"cannot read {name}: it is not fitted; call fit first")
    if model.activation not in ("relu", "identity"):
        raise ReadError(
            f"cannot read {name}: its activation {model.activation!r} is not piecewise linear; train it with "
            "activation='relu'"
        )
    if model.out_activation_ not in LINKS:
        raise ReadError(f"cannot read {name}: its outputs go through {model.out_activation_!r}, which is not linear")
    layers = [
        (np.array(weight.T, np.float64), np.array(bias, np.float64))
        for weight, bias in zip(model.coefs_, model.intercepts_, strict=True)
    ]
    if not all(np.isfinite(part).all() for layer in layers for part in layer):
        raise ReadError(f"cannot read {name}: it has weights that are NaN or infinite")
    return layers


def _scaling(scaler: Any, d: int) -> tuple[Floats, Floats]:
    """Return factors (d,) and offsets (d,) of a scaler ``a x + c``."""
    name, one, zero = type(scaler).__name__, np.ones(d), np.zeros(d)
    if name not in ("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler"):
        raise ReadError(
            f"cannot read a Pipeline with {name}: only StandardScaler, MinMaxScaler, MaxAbsScaler and RobustScaler can "
            "be folded into the network; transform the rows first and read the network alone"
        )
    if not hasattr(scaler, "n_features_in_"):
        raise ReadError(f"cannot read a Pipeline whose {name} is not fitted")
    if getattr(scaler, "clip", False):
        raise ReadError(f"cannot read a Pipeline whose {name} clips; set clip=False")
    if name == "MinMaxScaler":
        return np.asarray(scaler.scale_, np.float64), np.asarray(scaler.min_, np.float64)
    scale = one if scaler.scale_ is None else np.asarray(scaler.scale_, np.float64)
    center = getattr(scaler, "mean_" if name == "StandardScaler" else "center_", None)
    shifts = center is not None and (name != "StandardScaler" or scaler.with_mean)
    return one / scale, -np.asarray(center, np.float64) / scale if shifts else zero
