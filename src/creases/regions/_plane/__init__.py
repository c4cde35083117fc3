"""Planes: how a box of the plane is subdivided by the creases of every bend."""
