"""The steady states of gradient descent on XOR mapped to a line (section 3.3.3 of the dissertation).

The network is v(x) = o_1 relu(w_1 x + b_1) + o_2 relu(w_2 x + b_2) + c, the loss the sum over x = -1, 0, 0, 1 of the
squared distances to -1, 1, 1, -1, (3.24) and (3.25). Which units are active at which points cuts the parameters into
36 sign regions. Within one, and with o_1, o_2 not 0, the gradient vanishes if and only if, for r = v - target, counted
twice at 0,

    the sum of r over all points, and for each unit the sums of r and of x r over the points where it is active,

are 0. This is the set of all parameters with certain values v(-1), v(0), v(1), called the family of the region.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np

POINTS = (-1, 0, 1)  #: the points of the line
TARGETS = (-1, 1, -1)  #: their targets
COUNTS = (1, 2, 1)  #: how often each point counts

#: Losses of steady states: all points fitted, one outer point separated from the rest, a constant.
LOSSES = (Fraction(0), Fraction(8, 3), Fraction(4))

#: Whether a unit is active at -1, 0 and 1. The six constants of this type are all combinations on a line.
Sides = tuple[bool, bool, bool]
DEAD: Sides = (False, False, False)  #: active at no point
LEFT: Sides = (True, False, False)  #: active at -1
RIGHT: Sides = (False, False, True)  #: active at 1
LEFT_TWO: Sides = (True, True, False)  #: active at -1 and 0
RIGHT_TWO: Sides = (False, True, True)  #: active at 0 and 1
ALL: Sides = (True, True, True)  #: active at all points
SIDES: tuple[Sides, ...] = (DEAD, LEFT, RIGHT, LEFT_TWO, RIGHT_TWO, ALL)

_THIRD = Fraction(1, 3)
_SOLVED = (Fraction(-1), Fraction(1), Fraction(-1))


@dataclass(frozen=True)
class SignRegion:
    """One of the 36 regions of parameters, with its family of steady states if it has one.

    Examples
    --------
    >>> region = REGIONS[1]
    >>> print(region.conditions)
    b1 <= 0, b1 + w1 <= 0, b1 - w1 <= 0, b2 <= 0, b2 + w2 <= 0, b2 - w2 > 0
    >>> print(region.solution, "loss", region.loss, "dimension", region.dimension)
    c + o2 (b2 - w2) = -1, c = 1/3 loss 8/3 dimension 5
    """

    sides: tuple[Sides, Sides]  #: of each unit
    values: (
        tuple[Fraction, Fraction, Fraction] | None
    )  #: v(-1), v(0), v(1) of the family; None if there are no steady states

    @property
    def loss(self) -> Fraction | None:
        """Sum of squared errors of the family."""
        if self.values is None:
            return None
        return sum((n * (v - y) ** 2 for v, y, n in zip(self.values, TARGETS, COUNTS, strict=True)), Fraction(0))

    @property
    def conditions(self) -> str:
        """Inequalities that define the region; 0 counts as inactive, as in torch."""
        signs = []
        for unit, (left, middle, right) in enumerate(self.sides, start=1):
            for term, active in ((f"b{unit}", middle), (f"b{unit} + w{unit}", right), (f"b{unit} - w{unit}", left)):
                signs.append(f"{term} {'>' if active else '<='} 0")
        return ", ".join(signs)

    @property
    def solution(self) -> str:
        """Equations of the family, without duplicates."""
        if self.values is None:
            return "none"
        terms = {-1: "o{0} (b{0} - w{0})", 0: "o{0} b{0}", 1: "o{0} (b{0} + w{0})"}
        equations = [
            " + ".join(["c", *(terms[x].format(unit + 1) for unit in (0, 1) if self.sides[unit][k])]) + f" = {value}"
            for k, (x, value) in enumerate(zip(POINTS, self.values, strict=True))
        ]
        return ", ".join(dict.fromkeys(equations))

    @property
    def dimension(self) -> int | None:
        """Dimension of the family in the seven parameters."""
        if self.values is None:
            return None
        rows = [[1, *(f for side in self.sides for f in (side[k], side[k] * x))] for k, x in enumerate(POINTS)]
        return 7 - int(np.linalg.matrix_rank(np.array(rows)))


def _values(first: Sides, second: Sides) -> tuple[Fraction, Fraction, Fraction] | None:
    """Return the values at which the gradient vanishes.

    A unit active at 0 and one other point implies no error at these two, and then none at the third; but together with
    a dead unit it would have to be 0 at an outer point where it is active. A unit active everywhere implies errors in
    the ratio 1 : -2 : 1, counted twice at 0. A unit active at an outer point only implies no error there.
    """
    kinds = {first, second}
    if kinds <= {DEAD, ALL}:
        return Fraction(0), Fraction(0), Fraction(0)
    if kinds <= {DEAD, LEFT}:
        return Fraction(-1), _THIRD, _THIRD
    if kinds <= {DEAD, RIGHT}:
        return _THIRD, _THIRD, Fraction(-1)
    return None if DEAD in kinds else _SOLVED


#: All 36 regions, by the sides of the first unit and then of the second, in the order of ``SIDES``.
REGIONS = tuple(SignRegion((first, second), _values(first, second)) for first, second in product(SIDES, SIDES))
