"""Where each piece holds: exact partitions of lines, planes and space."""

from creases.regions.boundary import Boundary
from creases.regions.bounds import Bounds, bounds
from creases.regions.cell import Cell, cell
from creases.regions.line import line
from creases.regions.line_partition import LinePartition
from creases.regions.plane import PlanePartition, plane, plane_through
from creases.regions.space import SpacePartition, iter_space, space
from creases.regions.tropical import Tropical, tropical

__all__ = [
    "Boundary",
    "Bounds",
    "Cell",
    "LinePartition",
    "PlanePartition",
    "SpacePartition",
    "Tropical",
    "bounds",
    "cell",
    "iter_space",
    "line",
    "plane",
    "plane_through",
    "space",
    "tropical",
]
