"""Initial weights of a shallow network, set by where its breakpoints lie."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from torch import nn

from creases._typing import Floats
from creases._validation import check_choice, check_finite, check_number, check_numbers, check_seed
from creases.errors import InputError
from creases.splines._curvature import curvature_quantiles
from creases.splines._layers import Layers, hidden_layers, parameter_array, write_parameter

#: A method of initialisation.
Method = Literal["uniform", "curvature", "spiky", "torch", "he", "glorot"]
METHODS: tuple[Method, ...] = get_args(Method)  #: all methods of :func:`initialise`


def initialise(
    model: nn.Module, x: Any, method: Method = "uniform", *, y: Any = None, seed: int = 0, kappa: float = 20.0
) -> None:
    """Set the weights of a model with one hidden layer, in place.

    Parameters
    ----------
    model
        A module with a linear layer, a (leaky) ReLU and a linear layer with one output; a linear skip may go around
        them.
    x
        Inputs (n,) or (n, d) of the training samples.
    method
        What to set; the rest is not changed.

        * ``"uniform"``: the biases, so that breakpoints are uniform over the range of the samples. With several inputs,
          the crease of each unit is uniform over their range along its normal.
        * ``"curvature"``: the biases, so that the density of breakpoints is proportional to ``|f''|^(2/5)`` for the
          target y, which is optimal for squared error with many pieces. One input only.
        * ``"spiky"``: the outgoing weights, multiplied by ``kappa``.
        * ``"torch"``, ``"he"``, ``"glorot"``: all weights, by these schemes. For the last two the output's bias is
          zero, and the hidden biases, which must not be zero in one dimension, are as large as ``w . x`` on average.
    y
        Targets (n,), required for ``"curvature"``.
    seed
        Seed of the random numbers; torch's global generator is not used.
    kappa
        Factor for ``"spiky"``.

    Examples
    --------
    >>> import torch
    >>> from creases import splines
    >>> model = torch.nn.Sequential(torch.nn.Linear(1, 40), torch.nn.ReLU(), torch.nn.Linear(40, 1))
    >>> x = torch.linspace(-3, 3, 60)
    >>> splines.initialise(model, x, "uniform")
    >>> beta = splines.to_spline(splines.from_module(model)).beta
    >>> bool(abs(beta).max() <= 3)
    True
    """
    check_choice(method, METHODS, "method")
    layers = hidden_layers(model)
    points = _check_inputs(x, layers.enter.in_features)
    # Each method has its own random numbers, so that breakpoints do not depend on weights drawn with the same seed.
    rng = np.random.default_rng([check_seed(seed), 1 + METHODS.index(method)])
    if method == "spiky":
        write_parameter(layers.leave.weight, parameter_array(layers.leave.weight) * check_number(kappa, "kappa"))
    elif method in ("uniform", "curvature"):
        _set_biases(layers.enter, points, method, y, rng)
    else:
        _draw_weights(layers, points, method, rng)


def _check_inputs(x: Any, d: int) -> Floats:
    """Return inputs as (n, d)."""
    points = check_numbers(x, "x")
    points = points[:, None] if points.ndim == 1 and d == 1 else points
    if points.ndim != 2 or points.shape[1] != d or not len(points):
        raise InputError("x", f"have shape (n, {d}){' or (n,)' if d == 1 else ''} with n >= 1", f"{points.shape}")
    check_finite(points, "x")
    return points


def _set_biases(enter: nn.Linear, points: Floats, method: str, y: Any, rng: np.random.Generator) -> None:
    """Set the position of every unit's crease by its bias; a unit with zero weights first gets random ones."""
    if (points == points[0]).all():
        raise InputError("x", "have at least two different values", "one")
    W = parameter_array(enter.weight)  # (H, d)
    zero = ~W.any(axis=1)
    W[zero] = rng.standard_normal((int(zero.sum()), W.shape[1]))
    along = points @ W.T  # (n, H): b = -along puts the crease through that point
    if method == "uniform":
        low, high = along.min(axis=0), along.max(axis=0)
        offsets = low + (high - low) * rng.random(len(W))
    else:
        if W.shape[1] > 1:
            raise InputError(
                "model", "have one input for 'curvature'", str(W.shape[1]), "use {0}", [("method", "uniform")]
            )
        if y is None:
            raise InputError("y", "be the targets (n,) for 'curvature'", "None")
        strata = (rng.permutation(len(W)) + rng.random(len(W))) / len(W)  # evenly spread, in random order
        offsets = W[:, 0] * curvature_quantiles(points[:, 0], y, strata)
    write_parameter(enter.weight, W)
    write_parameter(enter.bias, -offsets)


def _draw_weights(layers: Layers, points: Floats, method: str, rng: np.random.Generator) -> None:
    """Draw all weights of both layers by a scheme."""
    H, d = layers.enter.weight.shape
    if method == "torch":
        for layer, fan_in in ((layers.enter, d), (layers.leave, H)):
            for parameter in layer.parameters(recurse=False):
                write_parameter(parameter, rng.uniform(-1, 1, tuple(parameter.shape)) / np.sqrt(fan_in))
        return
    sw, sv = (2 / d, 2 / H) if method == "he" else (2 / (d + H), 2 / (H + 1))  # variances
    size = (points**2).sum(axis=1).mean() or 1.0  # makes b as large as w . x, on average over the samples
    write_parameter(layers.enter.weight, rng.standard_normal((H, d)) * np.sqrt(sw))
    write_parameter(layers.enter.bias, rng.standard_normal(H) * np.sqrt(sw * size))
    write_parameter(layers.leave.weight, rng.standard_normal((1, H)) * np.sqrt(sv))
    if layers.leave.bias is not None:
        write_parameter(layers.leave.bias, np.zeros(1))
