"""Networks of intervals: wide ones with one hidden layer, deep ones with the fewest units."""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np
from torch import nn

from creases._validation import check_count
from creases.boolean.intervals._intervals import BrokenLine, Intervals, check_leak, compose_lines, constant_network
from creases.errors import InputError


def units_needed(changes: int, *, leak: float = 0.0, sharp: bool = True) -> int:
    """Return the number of units of one hidden layer for a number of changes of class at prescribed places.

    As many as changes; if ``sharp``, one less for 4 changes or more, and with a leak for 3. That is the minimum: m
    units make at most m + 1 pieces, and fewer pieces cannot have the required slopes.
    """
    if changes < 0:
        raise InputError("changes", "be at least 0", str(changes))
    return changes - (sharp and changes >= (3 if leak else 4))


def wide_interval_network(
    ends: Any, *, first: int = 1, leak: float = 0.0, sharp: bool = True, project: Any = (1.0,)
) -> nn.Sequential:
    """Return a network with one hidden layer that is positive on intervals of class 1 and negative on the others.

    It changes sign at the midpoint of each gap and nowhere else on the line, and has no hidden layer if the class does
    not change.

    Parameters
    ----------
    ends
        Intervals (k, 2) from left to right, of alternating class.
    first
        Class of the first interval, -1 or 1.
    leak
        Slope of the units on their negative side, in [0, 1); 0 for ReLU.
    sharp
        Whether to use one unit less if possible (:func:`units_needed`).
    project
        Weights (d,) that map the d inputs to the line.

    Examples
    --------
    >>> import torch
    >>> model = wide_interval_network([(0, 1), (2, 2), (3, 4), (5, 6), (7, 9)])
    >>> model[0].out_features
    3
    >>> model(torch.tensor([[0.5], [2.0], [4.0], [5.0], [8.0]], dtype=torch.float64)).sign().ravel().tolist()
    [1.0, -1.0, 1.0, -1.0, 1.0]
    """
    intervals, leak = Intervals.from_ends(ends, first), check_leak(leak)
    if len(intervals.ends) == 1:
        return constant_network(intervals.first, len(project))
    return compose_lines([alternating_line(intervals, leak=leak, sharp=sharp)], leak=leak, project=project)


def alternating_line(intervals: Intervals, *, leak: float, sharp: bool = True) -> BrokenLine:
    """Return the broken line of :func:`wide_interval_network`, for at least one change of class."""
    c = intervals.changes
    if units_needed(len(c), leak=leak, sharp=sharp) == len(c):
        return _with_extra_unit(intervals, leak)
    size = np.ones(len(c))
    if len(c) == 3:  # all active on the right: the condition is s_0 = leak s_2
        size[[0, 2]] = leak**0.5, leak**-0.5
    else:  # the third active on the left
        size[0] = 2 * (1 + leak) - (-1) ** len(c) * leak
    y = (size[:-1] * c[:-1] + size[1:] * c[1:]) / (size[:-1] + size[1:])
    slopes = -intervals.classes[:-1] * size  # down from class 1
    left = () if len(c) == 3 else (2,)
    return BrokenLine.from_slopes(y, slopes[1:], through=(c[0], 0.0), leak=leak, left=left)


def _with_extra_unit(intervals: Intervals, leak: float) -> BrokenLine:
    """Return the broken line with one more breakpoint, at the outer end of the first interval.

    Beyond it the line does not come closer to zero: with all units active on the right the slope there is ``leak``
    times the last, which has the correct sign if the number of changes is odd; else the second unit is active on the
    left.
    """
    c = intervals.changes
    y = np.append(intervals.ends[0, 0], (c[:-1] + c[1:]) / 2)
    left = () if len(c) % 2 else (1,)
    return BrokenLine.from_slopes(y, -intervals.classes[:-1], through=(c[0], 0.0), leak=leak, left=left)


def layers_needed(changes: int, width: int, *, leak: float = 0.0) -> int:
    """Return the number of hidden layers of :func:`deep_interval_network` for a number of changes of class."""
    _check_width(width, changes)
    return 0 if changes == 0 else 1 + ceil(max(0, changes - _changes_of_layer(width, leak)) / max(1, width - 1))


def deep_interval_network(
    ends: Any, width: int, *, first: int = 1, leak: float = 0.0, project: Any = (1.0,)
) -> nn.Sequential:
    """Return a network with narrow hidden layers that is positive on intervals of class 1 and negative on the others.

    From the first interval to the last it changes sign once in each gap and nowhere else. A layer has at most ``width``
    units, at least 2 unless there is at most one change; the other parameters are those of
    :func:`wide_interval_network`.

    Examples
    --------
    >>> import torch
    >>> model = deep_interval_network([(0, 1), (2, 2), (3, 4), (5, 6)], 2)
    >>> [layer.out_features for layer in model if hasattr(layer, "out_features")]
    [2, 2, 1]
    >>> model(torch.tensor([[0.5], [2.0], [4.0], [5.0]], dtype=torch.float64)).sign().ravel().tolist()
    [1.0, -1.0, 1.0, -1.0]
    """
    intervals, leak = Intervals.from_ends(ends, first), check_leak(leak)
    last = _changes_of_layer(_check_width(width, len(intervals.changes)), leak)
    lines = []
    while len(intervals.changes) > last:
        line, intervals = _merge_changes(intervals, min(width - 1, len(intervals.changes) - last), leak)
        lines.append(line)
    if not len(intervals.changes):
        return constant_network(intervals.first, len(project))
    return compose_lines([*lines, alternating_line(intervals, leak=leak)], leak=leak, project=project)


def _check_width(width: int, changes: int) -> int:
    width = check_count(width, "width")
    if changes < 0:
        raise InputError("changes", "be at least 0", str(changes))
    if width == 1 and changes > 1:
        raise InputError("width", f"be at least 2 for {changes} changes of class", "1")
    return width


def _changes_of_layer(width: int, leak: float) -> int:
    """Return the number of changes that one layer of ``width`` units can make."""
    return width + (units_needed(width + 1, leak=leak) <= width)


def _merge_changes(intervals: Intervals, count: int, leak: float) -> tuple[BrokenLine, Intervals]:
    """Return a layer that maps the last ``count`` changes to the one before them, and the remaining intervals.

    Beyond the first turn the slope alternates between -b and b. Segments that enter the interval below that change must
    end within it (if it touches the previous interval: at its middle); above it there is no limit. The breakpoint of
    the first unit is the outer end of all intervals: it only keeps the line.
    """
    c, x = intervals.changes, intervals.ends
    k = len(c) - count  # intervals 0..k remain, change k - 1 is the one that others are mapped to
    goal, turns = c[k - 1], (c[k:-1] + c[k + 1 :]) / 2
    runs = np.append(turns, x[-1, 1]) - c[k:]  # from each change to the next turn, or to the last end
    depth = np.inf if k == 1 else goal - max(x[k - 1, 0], (c[k - 2] + goal) / 2)
    b = min(1.0, depth / runs[::2].max())
    y = np.concatenate([x[:1, 0], [(goal + b * c[k]) / (1 + b)], turns])
    line = BrokenLine.from_slopes(y, np.append(1.0, -b * (-1.0) ** np.arange(count)), through=(goal, goal), leak=leak)

    below, above = (line.values(x[i::2].ravel(), leak=leak) for i in (k - 1, k))
    corners = line.values(np.append(y[1:], x[-1, 1]), leak=leak)
    lower = x[k - 1, 0] if k > 1 else min(x[0, 0], corners.min()), min(goal, below.max())
    upper = max(goal, above.min()), max(above.max(), corners.max())
    return line, Intervals.from_ends(np.vstack([x[: k - 1], lower, upper]), intervals.first)
