"""Exact answers on a box: bounds of outputs and units."""

from creases.certify._intervals import Range, ranges, reach
from creases.certify._tighter import tighter
from creases.certify._units import OFF, ON, OPEN, Units, units

__all__ = [
    "OFF",
    "ON",
    "OPEN",
    "Range",
    "Units",
    "ranges",
    "reach",
    "tighter",
    "units",
]
