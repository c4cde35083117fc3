"""Planes: a box subdivided by the creases of every bend."""
