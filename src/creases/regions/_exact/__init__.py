"""Plane partitions in exact arithmetic: the network as integers, signs that are certain, a mesh without rounding."""

from creases.regions._exact.plane import exact_plane

__all__ = ["exact_plane"]
