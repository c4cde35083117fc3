"""Deep networks that change sign as often as a power of their width: sawteeth and parity.

Theorems 3.3.3 and 3.3.4 of the dissertation, corrected. A layer of w units folds an interval of length w^k onto one of
length w^(k-1), with alternating slopes 1 and -1; the last gives [0, 1]. Without a leak all weights are integers, so
nothing is rounded.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from torch import nn

from creases._validation import check_count
from creases.boolean._functions import check_bits
from creases.boolean.intervals._constructions import alternating_line, units_needed
from creases.boolean.intervals._intervals import BrokenLine, Intervals, check_leak, compose_lines
from creases.errors import InputError


def sawtooth_network(width: int, depth: int, *, leak: float = 0.0, project: Any = (1.0,)) -> nn.Sequential:
    """Return a network that alternates between -1/2 and 1/2 at 0, 1, 2, ..., w^l, linear in between.

    It changes sign w^l times on [0, w^l], at 1/2, 3/2, ..., so there are w^l + 1 intervals of alternating class
    (Theorem 3.3.3 of the dissertation).

    Parameters
    ----------
    width, depth
        w units in each of l hidden layers.
    leak
        Slope of the units on their negative side, in [0, 1).
    project
        Weights (d,) that map the d inputs to one number.

    Examples
    --------
    >>> import torch
    >>> sawtooth_network(3, 2)(torch.arange(10.0, dtype=torch.float64)[:, None]).ravel().tolist()
    [-0.5, 0.5, -0.5, 0.5, -0.5, 0.5, -0.5, 0.5, -0.5, 0.5]
    """
    w, depth, leak = check_count(width, "width"), check_count(depth, "depth"), check_leak(leak)
    if w**depth > 2**52:
        raise InputError("depth", "give at most 2^52 changes, which float64 can represent", f"{w}^{depth} changes")
    lines = []
    for length in (w ** (depth - 1 - k) for k in range(depth)):  # w pieces between 0 and ``length``: (A.21), whose odd
        slopes = (-1.0) ** np.arange(w)  # pieces must be 1 - w (x - i / w)
        lines.append(BrokenLine.from_slopes(length * np.arange(w), slopes, through=(0.0, 0.0), leak=leak))
    lines[-1] = lines[-1]._replace(offset=lines[-1].offset - 0.5)
    return compose_lines(lines, leak=leak, project=project)


def parity_network(n: int, width: int, depth: int, *, leak: float = 0.0) -> nn.Sequential:
    """Return a network that computes the parity of n <= w^l bits (Theorem 3.3.4 of the dissertation).

    Its value is 1/2 where an odd number of bits are 1, and -1/2 elsewhere.

    The parameters w, l and leak are those of :func:`creases.boolean.intervals.sawtooth_network`.

    Examples
    --------
    >>> import torch
    >>> parity_network(2, 2, 1)(torch.tensor([[0.0, 0], [1, 0], [0, 1], [1, 1]]).double()).ravel().tolist()
    [-0.5, 0.5, 0.5, -0.5]
    """
    n, w, depth = check_bits(n), check_count(width, "width"), check_count(depth, "depth")
    if w**depth < n:
        raise InputError(
            "depth",
            f"be large enough for {n} changes of sign, which the parity of {n} bits needs",
            f"width {w} and depth {depth}, which give {w**depth}",
            "use more units or layers",
        )
    return sawtooth_network(w, depth, leak=leak, project=np.ones(n))


def max_changes_network(width: int, depth: int, *, leak: float = 0.0) -> nn.Sequential:
    """Return a network of one input that changes sign (w + 1)^l times, the largest possible number.

    Every piece of every layer crosses all breakpoints of the next one, and comes from within [-1, 1]; so the changes
    lie there, at unequal distances. The parameters are those of :func:`sawtooth_network`; w is at least 3, or 2 with a
    leak.
    """
    w, depth, leak = check_count(width, "width"), check_count(depth, "depth"), check_leak(leak)
    if units_needed(w + 1, leak=leak) > w:
        raise InputError("width", "be at least 3, or 2 with a leak", f"{w} with leak {leak}")
    middle = (np.arange(w + 2) - (w + 1) / 2) / w  # midpoints of the intervals between changes at -1/2, ..., 1/2
    line = alternating_line(Intervals.from_ends(np.column_stack([middle, middle])), leak=leak)
    heights, outer = np.abs(line.values(line.breakpoints, leak=leak)), np.abs(line.values([-1.5, 1.5], leak=leak))
    scale = 2 / min(2 * heights.min(), outer.min())  # turns beyond [-1, 1]; crosses it within 1/2 of -1/2 and of 1/2
    steep = line._replace(coefficients=scale * line.coefficients, offset=scale * line.offset)
    return compose_lines([steep] * depth, leak=leak)
