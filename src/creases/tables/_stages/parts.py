"""The parts of a model of a table, in the units of its inputs: curves, planes, units."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from creases._typing import Floats
from creases.tables._stages.pairs import PairHinges
from creases.tables._stages.piecewise import PiecewiseLinear, spread_evenly


@dataclass(frozen=True, eq=False)
class Curve:
    """What one input adds to the scores: straight between its knots, constant beyond them, with mean 0.

    An input that is 0 or 1 has knots there, and two values.
    """

    feature: str
    knots: Floats  #: (k,) rising
    values: Floats  #: (k, m) for each score
    errors: Floats  #: (k, m) standard errors of the values
    is_number: bool = True  #: False where the input is 0 or 1: yes/no, a level of a category, a missing value

    @property
    def function(self) -> PiecewiseLinear:
        """The curve without its name and errors."""
        return PiecewiseLinear(self.knots, self.values, not self.is_number)

    @property
    def slopes(self) -> Floats:
        """(k - 1, m) Slopes of the pieces."""
        return self.function.slopes

    @property
    def bends(self) -> Floats:
        """(b,) The knots within the input's range at which the slope changes."""
        return self.knots[1:-1][self.function.changes[1:-1].any(axis=1)]

    def __call__(self, x: Floats) -> Floats:
        """Return what values x (n,) of the input add to the scores, (n, m)."""
        return self.function(np.asarray(x, np.float64))


@dataclass(frozen=True, eq=False)
class Plane:
    """What two columns add together beyond their curves; its mean along each of them is 0."""

    features: tuple[tuple[str, ...], tuple[str, ...]]  #: the inputs of each column
    hinges: PairHinges
    weights: Floats  #: (h, m) of the hinges
    margins: Mapping[int, PiecewiseLinear]  #: by number of the input: what is taken out
    constant: Floats  #: (m,)

    @property
    def name(self) -> str:
        """The two columns, such as ``age and town``."""
        return " and ".join(each[0] if len(each) == 1 else each[0].partition("=")[0] for each in self.features)

    def __call__(self, X: Floats) -> Floats:
        """Return what encoded rows X (n, d) get, (n, m)."""
        return add_margins(self.hinges(X) @ self.weights + self.constant, self.margins, X)


@dataclass(frozen=True)
class Reason:
    """Why a unit was grown: rows that the model before it mispredicted alike."""

    row: int | None  #: number of the typical row in the table; None where rows have none
    count: int  #: different rows that were mispredicted like it
    errors: tuple[float, ...]  #: (m,) of values: by how much these were predicted too low, on average; () of classes
    classes: tuple[int, int] | None  #: that they were assigned to, and their own; None of values
    side: float  #: input of the unit's relu at the typical row: above 0 the unit is active there


@dataclass(frozen=True, eq=False)
class Units:
    """What hidden units add that read many columns together: ``relu(u @ weights.T + biases) @ outputs + constant``.

    u (n, d) are the inputs, each spread over [0, 1] by straight pieces between its knots and clipped there; an input
    that is 0 or 1 has the one knot 0. What curves can say is taken out, by margins.
    """

    knots: tuple[Floats, ...]  #: of each of the d inputs: rising
    weights: Floats  #: (h, d) 0 for inputs whose curves have a shape
    biases: Floats  #: (h,)
    outputs: Floats  #: (h, m)
    constant: Floats  #: (m,) so that the mean is 0
    margins: Mapping[int, PiecewiseLinear] = field(default_factory=dict)  #: by number of the input: what is taken out
    reasons: tuple[Reason, ...] = ()  #: of each unit that grew; () for units that were trained together

    def spread(self, X: Floats) -> Floats:
        """Return the inputs as the units take them, (n, d), of encoded rows X (n, d)."""
        return np.stack([spread_evenly(x, knots) for x, knots in zip(X.T, self.knots, strict=True)], axis=1)

    def __call__(self, X: Floats) -> Floats:
        """Return what encoded rows X (n, d) get, (n, m)."""
        hidden = np.maximum(self.spread(X) @ self.weights.T + self.biases, 0.0)
        return add_margins(hidden @ self.outputs + self.constant, self.margins, X)


def add_margins(values: Floats, margins: Mapping[int, PiecewiseLinear], X: Floats) -> Floats:
    """Return values (n, m) with functions of single inputs, by their number, of encoded rows X (n, d) added."""
    for j, part in margins.items():
        values = values + part(X[:, j])
    return values


@dataclass(frozen=True)
class Step:
    """What a stage brought on held-out rows."""

    stage: str  #: "linear", "curves", "3 planes", "10 planes", "folds", "units"
    loss: float  #: squared error in variances of the target, or log loss
    gain: float  #: on the stage before
    error: float  #: standard error of the gain
    bends: float  #: of the model, if kept; else mean over the folds, before those that do not matter are left out
    is_kept: bool
