"""Intervals of alternating class on a line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from creases._typing import Floats
from creases._validation import check_numbers
from creases.errors import InputError


@dataclass(frozen=True, eq=False)
class Intervals:
    """The k intervals [x_i1, x_i2] of alternating class, from left to right; where neighbours touch, they are open.

    Examples
    --------
    >>> Intervals.from_ends([(0, 10), (16, 17), (18, 19)]).changes
    array([13. , 17.5])
    """

    ends: Floats  #: (k, 2)
    first: int  #: class of the first interval, -1 or 1

    @classmethod
    def from_ends(cls, ends: Any, first: int = 1) -> Intervals:
        """Return intervals with given ends (k, 2), in order and without a common point."""
        x = check_numbers(ends, "ends")
        if x.ndim != 2 or x.shape[1] != 2 or not len(x) or not np.isfinite(x).all():
            raise InputError("ends", "be finite numbers of shape (k, 2), k >= 1", f"shape {x.shape}")
        if first not in (-1, 1):
            raise InputError("first", "be -1 or 1", repr(first))
        intervals = cls(x, int(first))
        c = intervals.changes
        if (np.diff(x.ravel()) < 0).any() or (x[1:, 1] <= c).any() or (x[:-1, 0] >= c).any():
            raise InputError(
                "ends",
                "be intervals from left to right that do not overlap; a single point must not touch another interval",
                f"{x.tolist()}",
            )
        return intervals

    @classmethod
    def from_points(cls, t: Any, positive: Any) -> Intervals:
        """Return the fewest intervals that contain points t (n,) of two classes; ``positive`` (n,) marks class 1."""
        values, where = np.unique(np.asarray(t, np.float64), return_inverse=True)
        label = np.zeros(len(values), bool)
        label[where] = positive
        if (label[where] != positive).any():
            raise InputError("t", "be different for points of different classes")
        starts = np.flatnonzero(np.append(True, label[1:] != label[:-1]))
        lasts = np.append(starts[1:], len(values)) - 1
        return cls.from_ends(np.column_stack([values[starts], values[lasts]]), 1 if label[0] else -1)

    @property
    def changes(self) -> Floats:
        """Midpoints (k - 1,) of the gaps between neighbours."""
        return np.asarray((self.ends[:-1, 1] + self.ends[1:, 0]) / 2)

    @property
    def classes(self) -> NDArray[np.int64]:
        """Classes (k,), -1 or 1."""
        return self.first * (-1) ** np.arange(len(self.ends))


class BrokenLine(NamedTuple):
    """A layer of m units with one input and one output."""

    breakpoints: Floats  #: (m,) y, non-decreasing
    directions: Floats  #: (m,) d: 1 for units active on the right, -1 on the left
    coefficients: Floats  #: (m,) a
    offset: float

    @classmethod
    def from_slopes(
        cls,
        breakpoints: Any,
        slopes: Any,
        *,
        through: tuple[float, float],
        leak: float,
        left: Sequence[int] = (),
    ) -> BrokenLine:
        """Return the layer with breakpoints (m,) and slopes (m,) right of each that passes through a point (x, g(x)).

        Units are active on the right, but for those with indices in ``left``, of which the first is none; the slope
        left of all breakpoints follows. ``leak`` is the slope of the units on their negative side, in [0, 1).
        """
        y, s = np.asarray(breakpoints, np.float64), np.asarray(slopes, np.float64)
        directions = np.ones(len(y))
        directions[list(left)] = -1
        first = leak * s[-1] - (1 + leak) * sum(s[i] - s[i - 1] for i in left)
        line = cls(y, directions, np.diff(s, prepend=first) / (1 - leak), 0.0)
        x, value = through
        return line._replace(offset=float(value - line.values([x], leak=leak)[0]))

    def values(self, x: Any, *, leak: float) -> Floats:
        """Return the values g(x) (n,) at x (n,)."""
        z = self.directions * (np.asarray(x, np.float64)[:, None] - self.breakpoints)
        return np.asarray(np.where(z > 0, z, leak * z) @ self.coefficients + self.offset)


def check_leak(leak: float) -> float:
    """Return the leak if it is in [0, 1)."""
    if not (isinstance(leak, int | float | np.floating) and 0 <= leak < 1):
        raise InputError("leak", "be a number from 0 (ReLU) to below 1", repr(leak))
    return float(leak)


def compose_lines(lines: Sequence[BrokenLine], *, leak: float, project: Any = (1.0,)) -> nn.Sequential:
    """Return the torch module, in float64, that applies broken lines one after the other to ``project @ x``.

    Line k is hidden layer k. A single number passes from one line to the next, so the affine maps between them are one
    ``nn.Linear``. ``project`` (d,) maps the d inputs to one number.
    """
    weight, bias = np.asarray(project, np.float64)[None], 0.0  # of the input of the next line
    layers: list[nn.Module] = []
    for line in lines:
        layers += [_linear(line.directions[:, None] * weight, line.directions * (bias - line.breakpoints))]
        layers += [nn.LeakyReLU(leak) if leak else nn.ReLU()]
        weight, bias = line.coefficients[None], line.offset
    return nn.Sequential(*layers, _linear(weight, np.array([bias])))


def constant_network(value: float, inputs: int) -> nn.Sequential:
    """Return a torch module without hidden layers that is constant."""
    return nn.Sequential(_linear(np.zeros((1, inputs)), np.array([value])))


def _linear(weight: Floats, bias: Floats) -> nn.Linear:
    linear = nn.Linear(weight.shape[1], weight.shape[0], device="meta").to_empty(device="cpu").double()
    with torch.no_grad():
        linear.weight.copy_(torch.from_numpy(weight))
        linear.bias.copy_(torch.from_numpy(bias))
    return linear
