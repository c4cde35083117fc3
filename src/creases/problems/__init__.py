"""Data sets: classification and regression problems.

By name   ``get``, ``names``
Plane     ``sine``, ``quadratic``, ``circle``, ``overlapping_quadratic``; ``circle_annulus``, ``xor``, ``xor_circles``;
          ``moons``, ``spirals``; ``make_problem`` from your own points
Space     ``shells`` in any dimension
Curves    ``curve``: functions of one input to fit, ``TARGETS``
Tables    ``iris``, ``wine``, ``breast_cancer``, ``digits``, ``diabetes``; your own: see :mod:`creases.tables`
Images    ``mnist``, ``cifar10``; see :mod:`creases.problems.images`

All but the images give a ``Problem``: X, y, names of features and classes.
"""

from creases.problems._arcs import moons, spirals
from creases.problems._class_numbers import match_outputs
from creases.problems._curves import FORMULAS, INTERVAL, TARGETS, curve
from creases.problems._planar import circle, overlapping_quadratic, quadratic, sine
from creases.problems._problem import Problem
from creases.problems._registry import get, names
from creases.problems._sampling import make_problem
from creases.problems._shells import dissertation_radii, shells
from creases.problems._shipped import breast_cancer, diabetes, digits, iris, wine
from creases.problems._toy import DISSERTATION_RADII, circle_annulus, xor, xor_circles
from creases.problems.images._cifar10 import cifar10
from creases.problems.images._mnist import mnist

__all__ = [
    "DISSERTATION_RADII",
    "FORMULAS",
    "INTERVAL",
    "TARGETS",
    "Problem",
    "breast_cancer",
    "cifar10",
    "circle",
    "circle_annulus",
    "curve",
    "diabetes",
    "digits",
    "dissertation_radii",
    "get",
    "iris",
    "make_problem",
    "match_outputs",
    "mnist",
    "moons",
    "names",
    "overlapping_quadratic",
    "quadratic",
    "shells",
    "sine",
    "spirals",
    "wine",
    "xor",
    "xor_circles",
]
