"""Hidden layers of one input as broken lines, and networks that compose them.

A layer of m units (appendix A.2 of the dissertation)

    g(x) = offset + sum_i a_i bend(d_i (x - y_i)),    d_i = 1 (active on the right) or -1 (on the left),

with leak alpha has breakpoints y_1 <= ... <= y_m. Its slopes s_0, ..., s_m, from left to right, give a_i =
(s_i - s_(i-1)) / (1 - alpha) for either direction, and they satisfy one condition, with L the units active on the left:

    (1 + alpha) sum_(i in L) (s_i - s_(i-1)) = alpha s_m - s_0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from creases._typing import Floats
from creases.errors import InputError


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
        """Return the layer with given breakpoints and slopes that passes through a point.

        The slope left of all breakpoints follows from the condition above.

        Parameters
        ----------
        breakpoints
            Breakpoints (m,).
        slopes
            Slopes (m,) right of each breakpoint.
        through
            A point (x, g(x)).
        leak
            Slope of the units on their negative side, in [0, 1).
        left
            Indices of the units that are active on the left, without the first. All others are active on the right.
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

    A single number passes from one line to the next, so the affine maps between them are one ``nn.Linear``.

    Parameters
    ----------
    lines
        At least one line; line k is hidden layer k.
    leak
        Slope of the units on their negative side.
    project
        Weights (d,) that map the d inputs to one number.
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
