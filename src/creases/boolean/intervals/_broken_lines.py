"""Hidden layers of one input: broken lines as sums of units, and networks that apply one after the other.

A layer of m units (appendix A.2 of source 002)

    g(x) = offset + sum_i a_i bend(d_i (x - y_i)),    d_i = 1 (active on the right) or -1 (on the left),

with leak alpha breaks at y_1 <= ... <= y_m. Its slopes s_0, ..., s_m, from left to right, give a_i = (s_i - s_(i-1)) /
(1 - alpha) whichever way a unit looks, and there is one condition on them, with L the units active on the left:

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
    """A layer of m units that reads one number and gives one number."""

    breakpoints: Floats  #: (m,) y, not decreasing
    directions: Floats  #: (m,) d: 1 for units active on the right, -1 on the left
    coefficients: Floats  #: (m,) a
    offset: float

    @classmethod
    def of(
        cls,
        breakpoints: Any,
        slopes: Any,
        *,
        through: tuple[float, float],
        leak: float,
        left: Sequence[int] = (),
    ) -> BrokenLine:
        """The layer with given breakpoints (m,) and the slopes (m,) right of each, that passes through a point.

        The slope left of all breakpoints follows from the condition.

        Parameters
        ----------
        through
            A point (x, g(x)).
        leak
            Slope of the bends on their negative side, in [0, 1).
        left
            Numbers, from 0, of the units that are active on the left; not the first. All others are so on the right.
        """
        y, s = np.asarray(breakpoints, np.float64), np.asarray(slopes, np.float64)
        directions = np.ones(len(y))
        directions[list(left)] = -1
        first = leak * s[-1] - (1 + leak) * sum(s[i] - s[i - 1] for i in left)
        line = cls(y, directions, np.diff(s, prepend=first) / (1 - leak), 0.0)
        x, value = through
        return line._replace(offset=float(value - line.values([x], leak=leak)[0]))

    def values(self, x: Any, *, leak: float) -> Floats:
        """g(x) (n,) at numbers (n,)."""
        z = self.directions * (np.asarray(x, np.float64)[:, None] - self.breakpoints)
        return np.asarray(np.where(z > 0, z, leak * z) @ self.coefficients + self.offset)


def check_leak(leak: float) -> float:
    """A leak that bends: in [0, 1)."""
    if not (isinstance(leak, int | float | np.floating) and 0 <= leak < 1):
        raise InputError(f"leak: expected a number from 0 (ReLU) to below 1, got {leak!r}")
    return float(leak)


def compose_lines(lines: Sequence[BrokenLine], *, leak: float, project: Any = (1.0,)) -> nn.Sequential:
    """The torch module, in float64, that applies broken lines one after the other to ``project @ x``.

    What one line gives and the next reads is a single number, so the affine maps between them are one ``nn.Linear``.

    Parameters
    ----------
    lines
        At least one; line k is hidden layer k.
    project
        Weights (d,) that make one number of the d inputs.
    """
    weight, bias = np.asarray(project, np.float64)[None], 0.0  # of the number the next line reads
    layers: list[nn.Module] = []
    for line in lines:
        layers += [_linear(line.directions[:, None] * weight, line.directions * (bias - line.breakpoints))]
        layers += [nn.LeakyReLU(leak) if leak else nn.ReLU()]
        weight, bias = line.coefficients[None], line.offset
    return nn.Sequential(*layers, _linear(weight, np.array([bias])))


def constant_network(value: float, inputs: int) -> nn.Sequential:
    """The torch module without hidden layers that gives one value everywhere."""
    return nn.Sequential(_linear(np.zeros((1, inputs)), np.array([value])))


def _linear(weight: Floats, bias: Floats) -> nn.Linear:
    linear = nn.Linear(weight.shape[1], weight.shape[0], device="meta").to_empty(device="cpu").double()
    with torch.no_grad():
        linear.weight.copy_(torch.from_numpy(weight))
        linear.bias.copy_(torch.from_numpy(bias))
    return linear
