"""Networks that compute a Boolean function, by mapping its inputs to a line with as few changes of class as possible.

The line is that of the function's swaps; the network reads x in {0, 1}^n and is positive where f(x) = 1, negative
elsewhere (Theorem 3.3.2 and section 3.3.2 of the dissertation).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn

from creases._schema import BOOL, instance
from creases._typing import Floats
from creases._validation import check_arguments, check_numbers
from creases.boolean._functions import all_inputs, check_bits, check_function, truth_table
from creases.boolean._swaps import swaps
from creases.boolean.intervals._constructions import deep_interval_network, wide_interval_network
from creases.boolean.intervals._intervals import Intervals
from creases.errors import InputError


@check_arguments(sharp=BOOL)
def wide_network(f: int, n: int, *, leak: float = 0.0, sharp: bool = True, weights: Any = None) -> nn.Sequential:
    """Return a network with one hidden layer that computes a function of n bits, as a torch module in float64.

    Its width is the number of changes of class on the line, or one less if that suffices
    (:func:`creases.boolean.intervals.units_needed`); a constant function needs no hidden layer. The construction is
    that of Theorem 3.3.2 of the dissertation, with fewer units.

    Parameters
    ----------
    f, n
        The function and its number of bits; at most 6 unless ``weights`` are given.
    leak
        Slope of the units on their negative side, in [0, 1); 0 for ReLU.
    sharp
        Whether to use one unit less if possible.
    weights
        Weights (n,) that map the inputs to a line; by default those with the fewest changes of class.

    Examples
    --------
    >>> model = wide_network(27030, 4)  # parity of 4 bits
    >>> model[0].out_features, margin(model, 27030, 4) > 0
    (3, True)
    """
    line, project = _map_to_line(f, n, weights)
    model = wide_interval_network(line.ends, first=line.first, leak=leak, sharp=sharp, project=project)
    return _check_model(model, f, n, leak)


def deep_network(f: int, n: int, width: int, *, leak: float = 0.0, weights: Any = None) -> nn.Sequential:
    """Return a network with hidden layers of at most ``width`` units that computes a function of n bits.

    Its depth is linear in the number of changes of class (:func:`creases.boolean.intervals.layers_needed`); width 2
    suffices for every function. The other parameters are those of :func:`wide_network`.

    Examples
    --------
    >>> model = deep_network(27030, 4, 2)
    >>> [layer.out_features for layer in model if isinstance(layer, nn.Linear)], margin(model, 27030, 4) > 0
    ([2, 2, 2, 1], True)
    """
    line, project = _map_to_line(f, n, weights)
    model = deep_interval_network(line.ends, width, first=line.first, leak=leak, project=project)
    return _check_model(model, f, n, leak)


def _check_model(model: nn.Sequential, f: int, n: int, leak: float) -> nn.Sequential:
    """Refuse a model that rounding has spoiled: the closer the leak is to 1, the larger its weights."""
    if margin(model, f, n) <= 0:
        raise InputError("leak", "be far enough below 1 for a network in float64", repr(leak), "use a smaller one")
    return model


@check_arguments(model=instance("Module"))
def margin(model: nn.Module, f: int, n: int) -> float:
    """Return the least margin of a network over all inputs, positive if it computes f.

    The margin at x is the value of the network, with the opposite sign where f(x) = 0.

    Parameters
    ----------
    model
        A torch module that maps inputs (2^n, n), in the dtype and on the device of its parameters, to one number each.
    f, n
        The function and its number of bits.
    """
    like = next(model.parameters(), torch.zeros((), dtype=torch.float64))
    x = torch.from_numpy(all_inputs(n)).to(like)  # its dtype and device
    try:
        with torch.no_grad():
            values = model(x).double().cpu().numpy().ravel()
    except RuntimeError as error:
        raise InputError(
            "model", f"accept inputs of shape {tuple(x.shape)}", f"{type(error).__name__}: {error}"
        ) from None
    if len(values) != len(x):
        raise InputError("model", f"have one output for each of {len(x)} inputs", f"{len(values)} numbers")
    return float((np.where(truth_table(check_function(f, n), n), 1, -1) * values).min())


def _map_to_line(f: int, n: int, weights: Any) -> tuple[Intervals, Floats]:
    """Return the intervals of a function on the line to which weights map its inputs, and the weights."""
    f = check_function(f, check_bits(n))
    project = check_numbers(swaps(f, n).weights if weights is None else weights, "weights")
    if project.shape != (n,) or not np.isfinite(project).all():
        raise InputError("weights", f"be {n} finite numbers, one per bit", repr(weights))
    try:
        return Intervals.from_points(all_inputs(n) @ project, truth_table(f, n).astype(bool)), project
    except InputError:
        raise InputError("weights", "map inputs of different classes to different places", repr(weights)) from None
