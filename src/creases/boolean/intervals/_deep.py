"""Narrow and deep networks for s changes of class at any places: layers that lay changes upon each other, then a last.

A hidden layer of w units can leave the line as it is up to a point and run to and fro beyond, across one and the same
change: the last w changes become one, so it takes w - 1 of them away. The last layer makes the rest
(:mod:`creases.boolean.wide_network`). So width 2 suffices for every function, as source 002 says without a construction
(section 3.3.2), at a depth that is linear in s; that a power of w changes is possible (:mod:`creases.boolean.intervals.sawtooth_network`)
needs changes at regular places.
"""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np
from torch import nn

from creases._validation import check_count
from creases.boolean.intervals._broken_lines import BrokenLine, check_leak, compose_lines, constant_network
from creases.boolean.intervals._intervals import Intervals
from creases.boolean.intervals._wide import alternating_line, units_needed
from creases.errors import InputError


def layers_needed(changes: int, width: int, *, leak: float = 0.0) -> int:
    """Hidden layers of at most so many units with which :func:`deep_interval_network` makes so many changes of class."""
    _check_width(width, changes)
    return 0 if changes == 0 else 1 + ceil(max(0, changes - _last(width, leak)) / max(1, width - 1))


def deep_interval_network(ends: Any, width: int, *, first: int = 1, leak: float = 0.0) -> nn.Sequential:
    """A network of hidden layers of at most ``width`` units that is positive on intervals of class 1, else negative.

    From the first interval to the last it changes sign once in each gap and nowhere else.

    Parameters
    ----------
    ends
        (k, 2) intervals from left to right, of alternating class.
    width
        At least 2, unless there is at most one change.
    first
        Class of the first interval, -1 or 1.
    leak
        Slope of the bends on their negative side, in [0, 1); 0 for ReLU.

    Examples
    --------
    >>> import torch
    >>> model = deep_interval_network([(0, 1), (2, 2), (3, 4), (5, 6)], 2)
    >>> [layer.out_features for layer in model if hasattr(layer, "out_features")]
    [2, 2, 1]
    >>> model(torch.tensor([[0.5], [2.0], [4.0], [5.0]], dtype=torch.float64)).sign().ravel().tolist()
    [1.0, -1.0, 1.0, -1.0]
    """
    return build_deep(Intervals.of(ends, first), width, leak=check_leak(leak))


def build_deep(found: Intervals, width: int, *, leak: float, project: Any = (1.0,)) -> nn.Sequential:
    """The network of :func:`deep_interval_network` for the number ``project @ x``; without hidden layers if nothing changes."""
    last = _last(_check_width(width, len(found.changes)), leak)
    lines = []
    while len(found.changes) > last:
        line, found = _merging(found, min(width - 1, len(found.changes) - last), leak)
        lines.append(line)
    if not len(found.changes):
        return constant_network(found.first, len(project))
    return compose_lines([*lines, alternating_line(found, leak=leak)], leak=leak, project=project)


def _check_width(width: int, changes: int) -> int:
    width = check_count(width, "width")
    if changes < 0:
        raise InputError(f"changes: expected at least 0, got {changes}")
    if width == 1 and changes > 1:
        raise InputError(f"width: layers of one unit make one change of class, not {changes}; give 2 or more")
    return width


def _last(width: int, leak: float) -> int:
    """Changes that one layer of so many units makes."""
    return width + (units_needed(width + 1, leak=leak) <= width)


def _merging(found: Intervals, count: int, leak: float) -> tuple[BrokenLine, Intervals]:
    """A layer that maps the last ``count`` changes to the one before them, and the intervals that are left.

    Beyond the first turn the slope is -b and b in turn. Runs into the interval below that change must end within it
    (also where it touches the one before: at its middle); above it there is room. The first unit stands at the outer
    end of all: it only carries the line.
    """
    c, x = found.changes, found.ends
    k = len(c) - count  # intervals 0..k stay, change k - 1 is the one that others are laid upon
    goal, turns = c[k - 1], (c[k:-1] + c[k + 1 :]) / 2
    runs = np.append(turns, x[-1, 1]) - c[k:]  # beyond each change, to the turn or to the last end
    depth = np.inf if k == 1 else goal - max(x[k - 1, 0], (c[k - 2] + goal) / 2)
    b = min(1.0, depth / runs[::2].max())
    y = np.concatenate([x[:1, 0], [(goal + b * c[k]) / (1 + b)], turns])
    line = BrokenLine.of(y, np.append(1.0, -b * (-1.0) ** np.arange(count)), through=(goal, goal), leak=leak)

    below, above = (line.values(x[i::2].ravel(), leak=leak) for i in (k - 1, k))
    corners = line.values(np.append(y[1:], x[-1, 1]), leak=leak)
    lower = x[k - 1, 0] if k > 1 else min(x[0, 0], corners.min()), min(goal, below.max())
    upper = max(goal, above.min()), max(above.max(), corners.max())
    return line, Intervals.of(np.vstack([x[: k - 1], lower, upper]), found.first)
