"""Deep networks that change sign as often as a power of their width: sawteeth, parity, and the most there can be.

Theorems 3.3.3 and 3.3.4 of source 002, corrected. A layer of w units folds an interval of w^k units of length onto one
of w^(k-1), with slopes 1 and -1 in turn; the last leaves [0, 1]. All weights are whole numbers, for a leak of 0, so
nothing is rounded.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from torch import nn

from creases._validation import check_count
from creases.boolean._functions import check_bits
from creases.boolean.intervals._broken_lines import BrokenLine, check_leak, compose_lines
from creases.boolean.intervals._intervals import Intervals
from creases.boolean.intervals._wide import alternating_line, units_needed
from creases.errors import InputError


def sawtooth_network(width: int, depth: int, *, leak: float = 0.0, project: Any = (1.0,)) -> nn.Sequential:
    """A network whose value at 0, 1, 2, ..., w^l is -1/2 and 1/2 in turn, and straight between (Theorem 3.3.3).

    It changes sign w^l times on [0, w^l], at 1/2, 3/2, ..., so there are w^l + 1 intervals of alternating class.

    Parameters
    ----------
    width, depth
        w units in each of l hidden layers.
    leak
        Slope of the bends on their negative side, in [0, 1).
    project
        Weights (d,) that make of d inputs the number that the network reads.

    Examples
    --------
    >>> import torch
    >>> sawtooth_network(3, 2)(torch.arange(10.0, dtype=torch.float64)[:, None]).ravel().tolist()
    [-0.5, 0.5, -0.5, 0.5, -0.5, 0.5, -0.5, 0.5, -0.5, 0.5]
    """
    w, depth, leak = check_count(width, "width"), check_count(depth, "depth"), check_leak(leak)
    if w**depth > 2**52:
        raise InputError(f"depth: {w}^{depth} changes cannot be told apart in float64; give at most 2^52")
    lines = [_teeth(w, w ** (depth - 1 - k), leak) for k in range(depth)]
    lines[-1] = lines[-1]._replace(offset=lines[-1].offset - 0.5)
    return compose_lines(lines, leak=leak, project=project)


def _teeth(w: int, length: int, leak: float) -> BrokenLine:
    """w pieces, from 0 to ``length`` and back in turn: (A.21), whose odd pieces must be 1 - w (x - i / w)."""
    return BrokenLine.of(length * np.arange(w), (-1.0) ** np.arange(w), through=(0.0, 0.0), leak=leak)


def parity_network(n: int, width: int, depth: int, *, leak: float = 0.0) -> nn.Sequential:
    """A network that is positive where an odd number of n bits, 0 or 1, are 1; n <= w^l (Theorem 3.3.4).

    Its value is -1/2 or 1/2 at all 2^n points.

    Examples
    --------
    >>> import torch
    >>> parity_network(2, 2, 1)(torch.tensor([[0.0, 0], [1, 0], [0, 1], [1, 1]]).double()).ravel().tolist()
    [-0.5, 0.5, 0.5, -0.5]
    """
    n, w, depth = check_bits(n), check_count(width, "width"), check_count(depth, "depth")
    if w**depth < n:
        raise InputError(
            f"width, depth: width {w} and depth {depth} give {w**depth} changes of sign, and parity of {n} bits has "
            f"{n}; take more units or layers"
        )
    return sawtooth_network(w, depth, leak=leak, project=np.ones(n))


def max_changes_network(width: int, depth: int, *, leak: float = 0.0) -> nn.Sequential:
    """A network of one input that changes sign (w + 1)^l times: more than any other of its width and depth can.

    Every piece of every layer crosses all the places where the next one breaks, and comes from within [-1, 1]; so the
    changes lie there, at unequal distances.

    Parameters
    ----------
    width, depth
        w units in each of l hidden layers; w >= 3, or w >= 2 with a leak.
    """
    w, depth, leak = check_count(width, "width"), check_count(depth, "depth"), check_leak(leak)
    if units_needed(w + 1, leak=leak) > w:
        raise InputError(
            f"width: needs 3 units, or 2 with a leak, for one change more than units; got {w} and leak {leak}"
        )
    middle = (np.arange(w + 2) - (w + 1) / 2) / w  # of the intervals between changes at -1/2, ..., 1/2
    line = alternating_line(Intervals.of(np.column_stack([middle, middle])), leak=leak)
    heights, outer = np.abs(line.values(line.breakpoints, leak=leak)), np.abs(line.values([-1.5, 1.5], leak=leak))
    scale = 2 / min(2 * heights.min(), outer.min())  # turns beyond [-1, 1]; crosses it within 1/2 of -1/2 and of 1/2
    steep = line._replace(coefficients=scale * line.coefficients, offset=scale * line.offset)
    return compose_lines([steep] * depth, leak=leak)
