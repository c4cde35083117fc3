"""XOR on a line, the smallest problem with bad local optima: every steady state, and where trained networks end."""

from creases.boolean.xor._classify import Outcomes, classify
from creases.boolean.xor._steady_states import (
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
