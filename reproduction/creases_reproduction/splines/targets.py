"""The lecture's target functions: those of the library, and two more."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.interpolate import CubicSpline

from creases import problems
from creases._typing import Floats
from creases.problems import INTERVAL

#: The "5 piece poly" of Table 2, whose formula is not given: here the natural cubic spline through six values.
_FIVE_PIECES = CubicSpline(np.linspace(*INTERVAL, 6), [0.0, 1.0, -1.0, 1.0, -1.0, 0.0], bc_type="natural")

#: Functions of x in [-3, 3], by name.
TARGETS: dict[str, Callable[[Floats], Floats]] = {
    **problems.TARGETS,
    "exponential": np.exp,
    "five pieces": lambda x: np.asarray(_FIVE_PIECES(x)),
}
