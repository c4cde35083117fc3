"""Data sets: classification and regression problems.

By name   ``get("moons", n=200)``; ``names`` lists all of them
Curves    ``curve``: functions of one input to fit, ``TARGETS``
Your own  ``make_problem`` of points; for tables see :mod:`creases.tables`
Images    ``mnist``, ``cifar10``; see :mod:`creases.problems.images`

All but the images give a ``Problem``: X, y, names of features and classes.
"""

from typing import TYPE_CHECKING, NoReturn

from creases.problems._curves import INTERVAL, TARGETS, curve
from creases.problems._planar import make_problem
from creases.problems._problem import Problem, match_outputs
from creases.problems._registry import get, names
from creases.problems.images._readers import cifar10, mnist

__all__ = [
    "INTERVAL",
    "TARGETS",
    "Problem",
    "cifar10",
    "curve",
    "get",
    "make_problem",
    "match_outputs",
    "mnist",
    "names",
]

if not TYPE_CHECKING:  # a checker would take every name for one of this module

    def __getattr__(name: str) -> NoReturn:
        if name in names():  # an AttributeError would lose its message in ``from creases.problems import moons``
            raise ImportError(f"creases.problems has no function {name!r}: use creases.problems.get({name!r})")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
