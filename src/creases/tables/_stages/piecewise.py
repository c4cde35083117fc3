"""Functions of one input that are straight between knots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from creases._typing import Floats


@dataclass(frozen=True, eq=False)
class PiecewiseLinear:
    """A function of one input: values at rising knots, straight between them, constant outside."""

    knots: Floats  #: (k,)
    values: Floats  #: (k, m)
    is_open: bool = False  #: whether it goes on straight after the last knot, as for inputs that are 0 or 1

    @property
    def slopes(self) -> Floats:
        """(k - 1, m) Slope of each piece, in units of the output for one unit of the input."""
        return np.asarray(np.diff(self.values, axis=0) / np.diff(self.knots)[:, None])

    @property
    def changes(self) -> Floats:
        """(k, m) Change of slope at each knot; the function is ``values[0] + relu(x - knots) @ changes``."""
        flat = np.zeros((1, self.values.shape[1]))
        slopes = self.slopes
        return np.diff(np.concatenate([flat, slopes, slopes[-1:] if self.is_open else flat]), axis=0)

    def __call__(self, x: Floats) -> Floats:
        """Return the values (n, m) at x (n,)."""
        result = np.stack([np.interp(x, self.knots, column) for column in self.values.T], axis=1)
        if self.is_open:
            result += np.maximum(x - self.knots[-1], 0.0)[:, None] * self.slopes[-1]
        return result


def spread_evenly(x: Floats, knots: Floats) -> Floats:
    """Return x (n,) on the scale from 0 to 1 on which knots (k,) are evenly spaced, clipped to it.

    A single knot leaves what x is above it: so do inputs that are 0 or 1.
    """
    return np.maximum(x - knots[0], 0.0) if len(knots) == 1 else np.interp(x, knots, np.linspace(0, 1, len(knots)))


def spread_changes(knots: Floats) -> Floats:
    """Return the changes of slope (k,) of :func:`spread_evenly` at its knots."""
    if len(knots) == 1:
        return np.ones(1)
    return PiecewiseLinear(knots, np.linspace(0, 1, len(knots))[:, None]).changes[:, 0]


def add_functions(functions: Sequence[PiecewiseLinear]) -> PiecewiseLinear:
    """Return the sum of functions of the same input, on the knots of all of them.

    Examples
    --------
    >>> line = PiecewiseLinear(np.array([0.0, 2.0]), np.array([[0.0], [2.0]]))
    >>> bent = PiecewiseLinear(np.array([0.0, 1.0, 2.0]), np.array([[0.0], [0.0], [3.0]]))
    >>> add_functions([line, bent]).values[:, 0].tolist()
    [0.0, 1.0, 5.0]
    """
    knots = np.unique(np.concatenate([each.knots for each in functions]))
    values = np.sum([each(knots) for each in functions], axis=0)
    return PiecewiseLinear(knots, values, any(each.is_open for each in functions))
