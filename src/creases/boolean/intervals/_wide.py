"""Networks with one hidden layer for s changes of class (Theorem 3.3.2 of the dissertation, corrected and sharpened).

Every piece of the broken line has a change of class c_i as its zero, with slope of alternating sign and size sigma_i;
two neighbours meet at y_i = (sigma_(i-1) c_(i-1) + sigma_i c_i) / (sigma_(i-1) + sigma_i). With equal sizes the network
is the signed distance to the nearest change. The sizes are free, so they can be chosen to satisfy the condition on
slopes of a broken line with no piece left over: s changes then need only s - 1 units, for s >= 4, or s >= 3 with a
leak. The printed proof (units at the midpoints of the intervals, all active on the right) gives s units, and with a
leak the class can change again left of the first; here nothing changes outside.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from torch import nn

from creases.boolean.intervals._broken_lines import BrokenLine, check_leak, compose_lines, constant_network
from creases.boolean.intervals._intervals import Intervals
from creases.errors import InputError


def units_needed(changes: int, *, leak: float = 0.0, sharp: bool = True) -> int:
    """Return the number of units of one hidden layer for a number of changes of class at prescribed places.

    As many as changes; if ``sharp``, one less for 4 changes or more, and with a leak for 3. That is the minimum: m
    units make at most m + 1 pieces, and fewer pieces cannot have the required slopes.
    """
    if changes < 0:
        raise InputError("changes", "be at least 0", str(changes))
    return changes - (sharp and changes >= (3 if leak else 4))


def wide_interval_network(ends: Any, *, first: int = 1, leak: float = 0.0, sharp: bool = True) -> nn.Sequential:
    """Return a network with one hidden layer that is positive on intervals of class 1 and negative on the others.

    It changes sign at the midpoint of each gap and nowhere else on the line.

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

    Examples
    --------
    >>> import torch
    >>> model = wide_interval_network([(0, 1), (2, 2), (3, 4), (5, 6), (7, 9)])
    >>> model[0].out_features
    3
    >>> model(torch.tensor([[0.5], [2.0], [4.0], [5.0], [8.0]], dtype=torch.float64)).sign().ravel().tolist()
    [1.0, -1.0, 1.0, -1.0, 1.0]
    """
    return build_wide(Intervals.from_ends(ends, first), leak=check_leak(leak), sharp=sharp)


def build_wide(intervals: Intervals, *, leak: float, sharp: bool = True, project: Any = (1.0,)) -> nn.Sequential:
    """Return the network of :func:`wide_interval_network` for the number ``project @ x``.

    It has no hidden layer if the class does not change.
    """
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
