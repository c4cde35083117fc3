"""The steady states of training on XOR, mapped to a line: the smallest problem with bad local optima.

:data:`REGIONS` are the 36 sign regions with their steady states; :func:`classify` returns where trained networks are.
"""

from creases_reproduction.linearity.xor.classify import Outcomes, classify
from creases_reproduction.linearity.xor.steady_states import (
    ALL,
    DEAD,
    LEFT,
    LEFT_TWO,
    LOSSES,
    POINTS,
    REGIONS,
    RIGHT,
    RIGHT_TWO,
    TARGETS,
    Sides,
    SignRegion,
)

__all__ = [
    "ALL",
    "DEAD",
    "LEFT",
    "LEFT_TWO",
    "LOSSES",
    "POINTS",
    "REGIONS",
    "RIGHT",
    "RIGHT_TWO",
    "TARGETS",
    "Outcomes",
    "Sides",
    "SignRegion",
    "classify",
]
