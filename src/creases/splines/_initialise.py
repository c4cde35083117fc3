"""Initial weights of a shallow network, set by where its breakpoints lie."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from scipy.integrate import cumulative_trapezoid
from scipy.interpolate import make_smoothing_spline
from torch import nn

from creases._typing import Floats
from creases._validation import check_choice, check_finite, check_number, check_numbers, check_seed, check_vector
from creases.errors import InputError
from creases.splines._coefficients import Layers, hidden_layers, parameter_array, write_parameter

#: The best density of many knots for squared error is like ``|f''|^(1 / (2 + 1/2))``.
_POWER = 2 / 5

_GRID = 2001  # points at which the curvature is evaluated

#: Samples closer than the range divided by this are averaged: nearly equal inputs make the fit ill-posed.
_CELLS = 200


def curvature_quantiles(x: Floats, y: Any, q: Floats) -> Floats:
    """Return quantiles q of the density proportional to ``|f''|^(2/5)`` over the range of x (n,).

    f is a cubic smoothing spline through the targets y (n,), smoothed by generalised cross-validation; a straight
    target gives a uniform density. The power is de Boor's for piecewise-linear approximation in the mean square.
    """
    targets = check_numbers(y, "y").reshape(-1)
    check_vector(targets, "y", len(x))
    start, width, height = x.min(), np.ptp(x), np.ptp(targets)
    if height == 0 or width == 0:
        return np.asarray(start + width * q)
    # Scaled to the range, for data of any magnitude, and without the linear part, which may dominate.
    unit, level = (x - start) / width, (targets - targets.min()) / height
    curved = level - np.polyval(np.polyfit(unit, level, 1), unit)
    # The digits that x and y were rounded to, as a share of their ranges: a line is no straighter than these.
    digits = np.finfo(np.float64).eps * (np.abs(x).max() / width + np.abs(targets).max() / height)
    if np.ptp(curved) < max(1e-9, 16 * digits):
        return np.asarray(start + width * q)
    places, means, counts = _average_close(unit, curved / np.ptp(curved))
    if len(places) < 5:
        raise InputError("x", "have at least 5 different values for 'curvature'", str(len(places)))
    grid = np.linspace(0.0, 1.0, _GRID)
    curvature = np.abs(make_smoothing_spline(places, means, w=counts).derivative(2)(grid))
    if curvature.max() < 1e-6:  # smoothed to a line: the curvature is noise
        return np.asarray(start + width * q)
    density: Floats = curvature**_POWER
    mass = cumulative_trapezoid(density, grid, initial=0)
    return np.asarray(start + width * np.interp(q * mass[-1], mass, grid))


def _average_close(x: Floats, y: Floats) -> tuple[Floats, Floats, Floats]:
    """Return inputs in [0, 1], means of y and counts: of equal cells if some x are close, else of distinct x."""
    places, which = np.unique(x, return_inverse=True)
    if (np.diff(places) < 1 / _CELLS).any():
        cells, which = np.unique(np.minimum(np.floor(x * _CELLS), _CELLS - 1), return_inverse=True)
        places = (cells + 0.5) / _CELLS
    counts = np.bincount(which).astype(np.float64)
    return places, np.bincount(which, weights=y) / counts, counts


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
