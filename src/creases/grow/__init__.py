"""How to enlarge a network: each new unit proposed for a stated reason.

The package itself can be called: ``creases.grow(model, data, loss)`` is :func:`creases.grow.grow`.
"""

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from creases.grow.first_order.alone import growth_alone
from creases.grow.first_order.gradmax import gradmax
from creases.grow.first_order.optimal import best_move, bottleneck, optimal_units
from creases.grow.first_order.random_units import random_units
from creases.grow.first_order.sample import sample_size
from creases.grow.first_order.split import split, steepest_split
from creases.grow.first_order.statistics import Statistics, statistics
from creases.grow.first_order.tiny import tiny
from creases.grow.folding.fold import fold
from creases.grow.folding.outcome import outcome
from creases.grow.folding.search import search
from creases.grow.grower import Grower
from creases.grow.loop import Grown, grow
from creases.grow.methods import Evidence, Fold, GradMax, Random, Search, Split, SteepestSplit, Tiny
from creases.grow.policies import (
    At,
    Budget,
    Converged,
    Epochs,
    Every,
    GainPerParameter,
    LargestBottleneck,
    NoImprovement,
    NothingToAdd,
    Plateau,
    RoundRobin,
    Target,
)
from creases.grow.proposal import Proposal, apply
from creases.grow.records import History, Record
from creases.grow.recycle import Redundant, redundant, release
from creases.grow.run import Mark, Run
from creases.grow.scaling import Scaling
from creases.grow.state import State
from creases.grow.words import words

if TYPE_CHECKING:
    from creases.grow.estimators import GrowingClassifier, GrowingRegressor

__all__ = [
    "At",
    "Budget",
    "Converged",
    "Epochs",
    "Every",
    "Evidence",
    "Fold",
    "GainPerParameter",
    "GradMax",
    "Grower",
    "GrowingClassifier",
    "GrowingRegressor",
    "Grown",
    "History",
    "LargestBottleneck",
    "Mark",
    "NoImprovement",
    "NothingToAdd",
    "Plateau",
    "Proposal",
    "Random",
    "Record",
    "Redundant",
    "RoundRobin",
    "Run",
    "Scaling",
    "Search",
    "Split",
    "State",
    "Statistics",
    "SteepestSplit",
    "Target",
    "Tiny",
    "apply",
    "best_move",
    "bottleneck",
    "fold",
    "gradmax",
    "grow",
    "growth_alone",
    "optimal_units",
    "outcome",
    "random_units",
    "redundant",
    "release",
    "sample_size",
    "search",
    "split",
    "statistics",
    "steepest_split",
    "tiny",
    "words",
]


class _Room(ModuleType):
    """A package that can be called: DESIGN's room and its main function have one name."""

    def __call__(self, *args: Any, **kwargs: Any) -> Grown:
        return grow(*args, **kwargs)


_Room.__call__.__doc__ = grow.__doc__
sys.modules[__name__].__class__ = _Room


def __getattr__(name: str) -> Any:
    if name not in ("GrowingClassifier", "GrowingRegressor"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from creases.grow import estimators  # scikit-learn is slow to import

    return getattr(estimators, name)
