"""Growth methods: folding, TINY, GradMax, splits and random units.

Each exists as a function that returns a proposal for one place (:func:`fold`, :func:`tiny`, ...), and as an object that
``creases.grow(..., how=...)`` takes (:class:`Fold`, :class:`Tiny`, ...). Both have the same defaults.
"""

from creases.growth.methods._evidence import Evidence, GrowthMethod
from creases.growth.methods._fold.fold import Fold, fold
from creases.growth.methods._gradmax import GradMax, gradmax
from creases.growth.methods._random import Random, random_units
from creases.growth.methods._registry import METHODS
from creases.growth.methods._split import Split, split
from creases.growth.methods._tiny.tiny import Tiny, tiny

__all__ = [
    "METHODS",
    "Evidence",
    "Fold",
    "GradMax",
    "GrowthMethod",
    "Random",
    "Split",
    "Tiny",
    "fold",
    "gradmax",
    "random_units",
    "split",
    "tiny",
]
