"""Where each piece holds: exact partitions of lines, planes and space."""

from creases.regions.plane import PlanePartition, plane, plane_through
from creases.regions.space import SpacePartition, iter_space, space

__all__ = ["PlanePartition", "SpacePartition", "iter_space", "plane", "plane_through", "space"]
