"""Networks built for a function of n bits: its points are put on a line with as few changes of class as possible.

The line is that of the function's swaps (:mod:`creases.boolean.swaps`); the network reads x in {0, 1}^n and is positive
where f(x) = 1, negative elsewhere (Theorem 3.3.2 and section 3.3.2 of source 002).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn

from creases._typing import Floats
from creases._validation import check_numbers
from creases.boolean._functions import all_inputs, check_bits, check_function, truth_table
from creases.boolean._swaps import swaps
from creases.boolean.intervals._broken_lines import check_leak
from creases.boolean.intervals._deep import build_deep
from creases.boolean.intervals._intervals import Intervals
from creases.boolean.intervals._wide import build_wide
from creases.errors import InputError


def wide_network(f: int, n: int, *, leak: float = 0.0, sharp: bool = True, weights: Any = None) -> nn.Sequential:
    """A network of one hidden layer for a function of n bits, as a torch module in float64.

    Its width is the number of changes of class on the line, or one less where that suffices
    (:func:`creases.boolean.intervals.units_needed`); a constant function needs no hidden layer.

    Parameters
    ----------
    f, n
        The function and its number of bits; at most 6 unless ``weights`` are given.
    leak
        Slope of the bends on their negative side, in [0, 1); 0 for ReLU.
    sharp
        Whether to do with one unit less where that is possible.
    weights
        (n,) numbers whose sums over the ones of x put the points on a line; those with the fewest changes unless given.

    Examples
    --------
    >>> model = build_wide(27030, 4)  # parity of 4 bits
    >>> model[0].out_features, margin(model, 27030, 4) > 0
    (3, True)
    """
    line, project = _on_line(f, n, weights)
    return _right(build_wide(line, leak=check_leak(leak), sharp=sharp, project=project), f, n, leak)


def deep_network(f: int, n: int, width: int, *, leak: float = 0.0, weights: Any = None) -> nn.Sequential:
    """A network of hidden layers of at most ``width`` units for a function of n bits, as a torch module in float64.

    Its depth is linear in the number of changes of class (:func:`creases.boolean.intervals.layers_needed`); width 2 suffices for
    every function. Arguments are as in :func:`build_wide`.

    Examples
    --------
    >>> model = build_deep(27030, 4, 2)
    >>> [layer.out_features for layer in model if isinstance(layer, nn.Linear)], margin(model, 27030, 4) > 0
    ([2, 2, 2, 1], True)
    """
    line, project = _on_line(f, n, weights)
    return _right(build_deep(line, width, leak=check_leak(leak), project=project), f, n, leak)


def _right(model: nn.Sequential, f: int, n: int, leak: float) -> nn.Sequential:
    """The model, unless rounding has spoiled it: the nearer the leak to 1, the larger its weights."""
    if margin(model, f, n) <= 0:
        raise InputError(f"leak: {leak} is too near 1 for a network in float64; take a smaller one")
    return model


def margin(model: nn.Module, f: int, n: int) -> float:
    """The least value of a network, taken negative where f(x) = 0, over all x in {0, 1}^n: above 0 if all are right.

    ``model`` takes inputs (2^n, n), in the precision and on the device of its parameters, and gives a number for each.
    """
    like = next(model.parameters(), torch.zeros((), dtype=torch.float64))
    x = torch.from_numpy(all_inputs(n)).to(like)  # its precision and device
    try:
        with torch.no_grad():
            values = model(x).double().cpu().numpy().ravel()
    except RuntimeError as error:
        raise InputError(f"model: cannot read inputs of shape {tuple(x.shape)}: {error}") from None
    if len(values) != len(x):
        raise InputError(f"model: expected one output for each of {len(x)} inputs, got {len(values)} numbers")
    return float((np.where(truth_table(check_function(f, n), n), 1, -1) * values).min())


def _on_line(f: int, n: int, weights: Any) -> tuple[Intervals, Floats]:
    """The points of a function on the line that weights make of them."""
    f = check_function(f, check_bits(n))
    project = check_numbers(swaps(f, n).weights if weights is None else weights, "weights")
    if project.shape != (n,) or not np.isfinite(project).all():
        raise InputError(f"weights: expected {n} finite numbers, one for each bit, got {weights!r}")
    try:
        return Intervals.of_points(all_inputs(n) @ project, truth_table(f, n).astype(bool)), project
    except InputError:
        raise InputError("weights: put points of both classes at one place; give others") from None
