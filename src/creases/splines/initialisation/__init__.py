"""How the breakpoints of a new network are distributed."""

from creases.splines.initialisation._lonely import Spread

__all__ = [
    "Spread",
]
