"""Where each piece holds: exact partitions of lines, planes and space."""

from creases.regions.plane import PlanePartition, plane, plane_through

__all__ = ["PlanePartition", "plane", "plane_through"]
