"""First weights of a shallow network, chosen by where its breakpoints lie."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from torch import nn

from creases._typing import Floats
from creases._validation import check_number, check_numbers
from creases.errors import InputError
from creases.splines._layers import Layers, hidden_layers, parameter_array, write_parameter
from creases.splines.initialisation._curvature import curvature_quantiles

Method = Literal["uniform", "curvature", "spiky", "torch", "he", "glorot"]
METHODS = ("uniform", "curvature", "spiky", "torch", "he", "glorot")


def initialise(
    model: nn.Module, x: Any, how: Method = "uniform", *, y: Any = None, seed: int = 0, kappa: float = 20.0
) -> None:
    """Set the weights of a model with one hidden layer, in place.

    Parameters
    ----------
    model
        Linear, a (leaky) ReLU, linear, one output; a linear skip may go around them. Any code may hold them together.
    x
        Data (n,) or (n, d) that the model will be trained on.
    how
        What is set; the rest stays as it is.

        * ``"uniform"``: biases, so that breakpoints are uniform over the range of the data. With several inputs the
          crease of each unit is, over the range of the data along its own normal.
        * ``"curvature"``: biases, so that breakpoints have a density like ``|f''|^(2/5)`` of the target y, the best one
          for squared error with many pieces. One input only.
        * ``"spiky"``: outgoing weights are multiplied by ``kappa``.
        * ``"torch"``, ``"he"``, ``"glorot"``: all weights, drawn as these schemes do; the output's bias is zero for the
          last two. Their hidden biases, which must not be zero in one dimension, are as large as ``w . x`` usually is.
    y
        Targets (n,), for ``"curvature"``.
    seed
        Of the numbers that are drawn; the state of torch's own generator is left alone.
    kappa
        For ``"spiky"``.

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
    if how not in METHODS:
        raise InputError(f"how: expected one of {', '.join(map(repr, METHODS))}, got {how!r}")
    layers = hidden_layers(model)
    points = _points(x, layers.enter.in_features)
    # Each way draws its own numbers: else breakpoints would depend on weights that were drawn by the same seed before.
    rng = np.random.default_rng([seed, 1 + METHODS.index(how)])
    if how == "spiky":
        write_parameter(layers.leave.weight, parameter_array(layers.leave.weight) * check_number(kappa, "kappa"))
    elif how in ("uniform", "curvature"):
        _place(layers.enter, points, how, y, rng)
    else:
        _draw(layers, points, how, rng)


def _points(x: Any, d: int) -> Floats:
    """Data (n, d), checked."""
    points = check_numbers(x, "x")
    points = points[:, None] if points.ndim == 1 and d == 1 else points
    if points.ndim != 2 or points.shape[1] != d or not len(points):
        raise InputError(f"x: expected shape (n, {d}){' or (n,)' if d == 1 else ''} with n >= 1, got {points.shape}")
    if not np.isfinite(points).all():
        raise InputError("x: expected finite numbers, got NaN or infinity")
    return points


def _place(enter: nn.Linear, points: Floats, how: str, y: Any, rng: np.random.Generator) -> None:
    """Move every unit's crease, by its bias; a unit without weights first gets some."""
    if (points == points[0]).all():
        raise InputError("x: expected at least two different points, all are equal")
    W = parameter_array(enter.weight)  # (H, d)
    none = ~W.any(axis=1)
    W[none] = rng.standard_normal((int(none.sum()), W.shape[1]))
    along = points @ W.T  # (n, H): b = -along puts the crease through that point
    if how == "uniform":
        low, high = along.min(axis=0), along.max(axis=0)
        offsets = low + (high - low) * rng.random(len(W))
    else:
        if W.shape[1] > 1:
            raise InputError(f"how: 'curvature' is for one input, the model has {W.shape[1]}; take 'uniform'")
        if y is None:
            raise InputError("y: 'curvature' needs the targets (n,)")
        strata = (rng.permutation(len(W)) + rng.random(len(W))) / len(W)  # evenly spread, in no order
        offsets = W[:, 0] * curvature_quantiles(points[:, 0], y, strata)
    write_parameter(enter.weight, W)
    write_parameter(enter.bias, -offsets)


def _draw(layers: Layers, points: Floats, how: str, rng: np.random.Generator) -> None:
    """New weights of a scheme for all of both layers."""
    H, d = layers.enter.weight.shape
    if how == "torch":
        for layer, fan_in in ((layers.enter, d), (layers.leave, H)):
            for parameter in layer.parameters(recurse=False):
                write_parameter(parameter, rng.uniform(-1, 1, tuple(parameter.shape)) / np.sqrt(fan_in))
        return
    sw, sv = (2 / d, 2 / H) if how == "he" else (2 / (d + H), 2 / (H + 1))  # variances
    usual = (points**2).sum(axis=1).mean() or 1.0  # so b is as large as w . x is, on average over the data
    write_parameter(layers.enter.weight, rng.standard_normal((H, d)) * np.sqrt(sw))
    write_parameter(layers.enter.bias, rng.standard_normal(H) * np.sqrt(sw * usual))
    write_parameter(layers.leave.weight, rng.standard_normal((1, H)) * np.sqrt(sv))
    if layers.leave.bias is not None:
        write_parameter(layers.leave.bias, np.zeros(1))
