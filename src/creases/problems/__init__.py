"""Data: the toy problems of the sources."""

from creases.problems.toy import EQUAL_AREA_RADII, PRINTED_RADII, circle_annulus

__all__ = ["EQUAL_AREA_RADII", "PRINTED_RADII", "circle_annulus"]
