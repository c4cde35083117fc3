"""Move breakpoints that do little to where most is missing."""

from creases.splines._residuals import data

__all__ = [
    "data",
]
