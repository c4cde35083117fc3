"""Networks of one hidden layer for s changes of class (Theorem 3.3.2 of source 002, corrected and sharpened).

Every piece of the broken line has a change of class c_i as its zero, with slope of alternating sign and size sigma_i;
two neighbours meet at y_i = (sigma_(i-1) c_(i-1) + sigma_i c_i) / (sigma_(i-1) + sigma_i). With equal sizes the network
is the signed distance to the nearest change. The sizes are free, so they can be made to meet the condition on slopes
(:mod:`creases.boolean.intervals._broken_lines`) with no piece left over: s changes then need only s - 1 units, for s >= 4, or
s >= 3 with a leak. The printed proof (units at the middles of the intervals, all active on the right) gives s units,
and with a leak it can change class again left of the first; here nothing changes outside.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from torch import nn

from creases.boolean.intervals._broken_lines import BrokenLine, check_leak, compose_lines, constant_network
from creases.boolean.intervals._intervals import Intervals
from creases.errors import InputError


def units_needed(changes: int, *, leak: float = 0.0, sharp: bool = True) -> int:
    """Units of one hidden layer that give so many changes of class at prescribed places, on the whole line.

    As many as changes; if ``sharp`` one less for 4 changes or more, and with a leak for 3. That is the least: m units
    make at most m + 1 pieces, and fewer pieces cannot have the slopes they need.
    """
    if changes < 0:
        raise InputError(f"changes: expected at least 0, got {changes}")
    return changes - (sharp and changes >= (3 if leak else 4))


def wide_interval_network(ends: Any, *, first: int = 1, leak: float = 0.0, sharp: bool = True) -> nn.Sequential:
    """A network of one hidden layer that is positive on intervals of class 1 and negative on those of class -1.

    It changes sign in the middle of each gap and nowhere else on the whole line.

    Parameters
    ----------
    ends
        (k, 2) intervals from left to right, of alternating class.
    first
        Class of the first interval, -1 or 1.
    leak
        Slope of the bends on their negative side, in [0, 1); 0 for ReLU.
    sharp
        Whether to do with one unit less where that is possible (:func:`units_needed`).

    Examples
    --------
    >>> import torch
    >>> model = wide_interval_network([(0, 1), (2, 2), (3, 4), (5, 6), (7, 9)])
    >>> model[0].out_features
    3
    >>> model(torch.tensor([[0.5], [2.0], [4.0], [5.0], [8.0]], dtype=torch.float64)).sign().ravel().tolist()
    [1.0, -1.0, 1.0, -1.0, 1.0]
    """
    found = Intervals.of(ends, first)
    return build_wide(found, leak=check_leak(leak), sharp=sharp)


def build_wide(found: Intervals, *, leak: float, sharp: bool = True, project: Any = (1.0,)) -> nn.Sequential:
    """The network of :func:`wide_interval_network` for the number ``project @ x``; without hidden layer if nothing changes."""
    if len(found.ends) == 1:
        return constant_network(found.first, len(project))
    return compose_lines([alternating_line(found, leak=leak, sharp=sharp)], leak=leak, project=project)


def alternating_line(found: Intervals, *, leak: float, sharp: bool = True) -> BrokenLine:
    """The broken line of :func:`wide_interval_network`, for at least one change of class."""
    c = found.changes
    if units_needed(len(c), leak=leak, sharp=sharp) == len(c):
        return _with_a_unit_to_spare(found, leak)
    size = np.ones(len(c))
    if len(c) == 3:  # all active on the right: the condition is s_0 = leak s_2
        size[[0, 2]] = leak**0.5, leak**-0.5
    else:  # the third active on the left
        size[0] = 2 * (1 + leak) - (-1) ** len(c) * leak
    y = (size[:-1] * c[:-1] + size[1:] * c[1:]) / (size[:-1] + size[1:])
    slopes = -found.classes[:-1] * size  # down from class 1
    left = () if len(c) == 3 else (2,)
    return BrokenLine.of(y, slopes[1:], through=(c[0], 0.0), leak=leak, left=left)


def _with_a_unit_to_spare(found: Intervals, leak: float) -> BrokenLine:
    """One more breakpoint, at the outer end of the first interval: beyond it the line goes on away from zero.

    With all units active on the right the slope there is ``leak`` times the last, of the right sign if the number of
    changes is odd; else the second unit turns.
    """
    c = found.changes
    y = np.append(found.ends[0, 0], (c[:-1] + c[1:]) / 2)
    left = () if len(c) % 2 else (1,)
    return BrokenLine.of(y, -found.classes[:-1], through=(c[0], 0.0), leak=leak, left=left)
