"""Plane partitions in exact arithmetic: integer networks, certified signs, a mesh without rounding."""

from creases.regions._exact.plane import exact_plane

__all__ = ["exact_plane"]
