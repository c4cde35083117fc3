"""What decides one input: the margin as a sum of input times gradient, and the nearest crease and boundary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from creases._text import OneLine
from creases._typing import Floats, Ints


class NearestCrease(NamedTuple):
    """The crease of a region nearest to its point."""

    distance: float
    row: int
    unit: int


class NearestBoundary(NamedTuple):
    """The point of the decision boundary, within one closed region, nearest to the region's point."""

    distance: float
    point: Floats  #: (d,)
    classes: tuple[int, int]  #: the class at the region's point, and the one it ties with


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(OneLine):
    """Why a network decides one input as it does; :meth:`creases.regions.Cell.explain` returns one.

    The margin is the lead of the predicted class over the runner-up. On the region of the input it is the affine
    function ``coefficients . x + offset``, so ``input_times_gradient.sum() + offset`` is the margin.
    This is a statement about the one region; :func:`creases.explain.attributions` compares with another input.
    """

    #: Facets and bounding boxes take a linear program for each row and input: seconds up to here, hours for images.
    MAX_INPUTS: ClassVar[int] = 64
    MAX_ROWS: ClassVar[int] = 2_000

    predicted: int  #: the class; a network of one output decides by its sign, class 1 where it is positive
    runner_up: int
    outputs: Floats  #: (m,)
    margin: float
    offset: float
    coefficients: Floats  #: (d,) slope of the margin in each input
    input_times_gradient: Floats  #: (d,) coefficient times input
    activation_times_gradient: Floats  #: (n_units,) value of each unit times the slope of the margin in it
    nearest_crease: NearestCrease | None  #: None when no unit bounds the region
    nearest_boundary: NearestBoundary | None  #: None when the boundary does not pass through the region
    radius: float | None  #: of the largest ball in the region; None for large networks, where it takes too long
    bounding_box: Floats | None  #: (d, 2) of the region; None as above
    facet_units: Ints | None  #: the units whose creases bound the region; None as above

    @property
    def ranked_inputs(self) -> Ints:
        """Inputs (d,) by the magnitude of input times gradient, largest first."""
        return np.argsort(-np.abs(self.input_times_gradient), kind="stable")

    @property
    def ranked_units(self) -> Ints:
        """Units whose activation times gradient is not 0, by its magnitude, largest first."""
        order = np.argsort(-np.abs(self.activation_times_gradient), kind="stable")
        return np.asarray(order[self.activation_times_gradient[order] != 0])


def decision(outputs: Floats) -> tuple[int, int, Floats]:
    """Return the class, the runner-up, and the weights w (m,) for which the margin is ``w . outputs``."""
    if len(outputs) == 1:
        predicted = int(outputs[0] > 0)
        return predicted, 1 - predicted, np.array([1.0 if predicted else -1.0])
    predicted, runner_up = (int(i) for i in np.argsort(-outputs, kind="stable")[:2])
    weights = np.zeros(len(outputs))
    weights[predicted], weights[runner_up] = 1.0, -1.0
    return predicted, runner_up, weights
