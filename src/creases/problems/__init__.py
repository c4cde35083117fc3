"""Data: the problems of the sources, tables, images, and users' own tables.

By name   ``get``, ``names``
Plane     ``sine``, ``quadratic``, ``circle``, ``overlapping_quadratic``; ``circle_annulus``, ``xor``, ``xor_circles``;
          ``moons``, ``spirals``
Space     ``shells`` in any dimension
Curves    ``curve``: functions of one input to fit, ``TARGETS``
Tables    ``iris``, ``wine``, ``breast_cancer``, ``digits``, ``diabetes``; ``read_table`` (a file) and ``parse_table``
          (its text) for one's own
Images    ``mnist``, ``cifar10``; ``normalise``, ``channel_statistics``, ``to_colour_32``

All but the images give a ``Problem``: X, y, names of features and classes.
"""

from creases.problems._arcs import moons, spirals
from creases.problems._cifar10 import cifar10
from creases.problems._curves import FORMULAS, INTERVAL, TARGETS, curve
from creases.problems._images import Images, channel_statistics, normalise, to_colour_32
from creases.problems._mnist import mnist
from creases.problems._numbering import by_outputs
from creases.problems._planar import circle, overlapping_quadratic, quadratic, sine
from creases.problems._problem import Problem
from creases.problems._registry import get, names
from creases.problems._sampling import labelled_points
from creases.problems._shells import equal_volume_radii, printed_radii, shells
from creases.problems._shipped import breast_cancer, diabetes, digits, iris, wine
from creases.problems._table import parse_table, read_table
from creases.problems._table_files import read_columns
from creases.problems._toy import EQUAL_AREA_RADII, PRINTED_RADII, circle_annulus, xor, xor_circles

__all__ = [
    "EQUAL_AREA_RADII",
    "FORMULAS",
    "INTERVAL",
    "PRINTED_RADII",
    "TARGETS",
    "Images",
    "Problem",
    "breast_cancer",
    "by_outputs",
    "channel_statistics",
    "cifar10",
    "circle",
    "circle_annulus",
    "curve",
    "diabetes",
    "digits",
    "equal_volume_radii",
    "get",
    "iris",
    "labelled_points",
    "mnist",
    "moons",
    "names",
    "normalise",
    "overlapping_quadratic",
    "parse_table",
    "printed_radii",
    "quadratic",
    "read_columns",
    "read_table",
    "shells",
    "sine",
    "spirals",
    "to_colour_32",
    "wine",
    "xor",
    "xor_circles",
]
