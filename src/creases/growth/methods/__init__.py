"""Growth methods: folding, TINY, GradMax, splits and random units.

Each exists as a function that returns a proposal for one place (:func:`fold`, :func:`tiny`, ...), and as an object that
``creases.grow(..., how=...)`` takes (:class:`Fold`, :class:`Tiny`, ...). Both have the same defaults.
"""

from creases.growth.methods._fold.crease_search import crease_search
from creases.growth.methods._fold.fold import fold
from creases.growth.methods._gradmax import gradmax
from creases.growth.methods._random import random_units
from creases.growth.methods._registry import (
    METHODS,
    CreaseSearch,
    Evidence,
    Fold,
    GradMax,
    GrowthMethod,
    Random,
    Split,
    SteepestSplit,
    Tiny,
)
from creases.growth.methods._split import split, steepest_split
from creases.growth.methods._tiny.tiny import tiny
from creases.growth.methods._tiny.train_by_growth import train_by_growth

__all__ = [
    "METHODS",
    "CreaseSearch",
    "Evidence",
    "Fold",
    "GradMax",
    "GrowthMethod",
    "Random",
    "Split",
    "SteepestSplit",
    "Tiny",
    "crease_search",
    "fold",
    "gradmax",
    "random_units",
    "split",
    "steepest_split",
    "tiny",
    "train_by_growth",
]
