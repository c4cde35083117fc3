"""How to enlarge a network: each new unit proposed for a stated reason.

``grow`` trains and grows a model; ``Grower`` grows it inside a training loop of your own.
"""

from typing import TYPE_CHECKING, Any

from creases.growth._grower import Grower
from creases.growth._loop import GrowthResult, grow
from creases.growth._naming import number
from creases.growth._objective import objective
from creases.growth._proposal import Proposal, apply
from creases.growth._records import History, Record
from creases.growth._recycle import Redundant, redundant, release
from creases.growth._run import Run, RunState
from creases.growth._samples import InMemorySamples
from creases.growth._scaling import Scaling
from creases.growth._state import State
from creases.growth._training import measure
from creases.growth._words import words
from creases.growth.methods._first_order.optimal import best_move, bottleneck, optimal_units
from creases.growth.methods._first_order.sample import sample_size
from creases.growth.methods._first_order.statistics import Statistics, statistics
from creases.growth.methods._fold.fold import fold
from creases.growth.methods._fold.outcome import outcome
from creases.growth.methods._fold.search import search
from creases.growth.methods._gradmax import gradmax
from creases.growth.methods._growth_alone import growth_alone
from creases.growth.methods._methods import Evidence, Fold, GradMax, Random, Search, Split, SteepestSplit, Tiny
from creases.growth.methods._random import random_units
from creases.growth.methods._split import split, steepest_split
from creases.growth.methods._tiny import tiny
from creases.growth.policies import (
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

if TYPE_CHECKING:
    from creases.growth.estimators import GrowingClassifier, GrowingRegressor

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
    "GrowthResult",
    "History",
    "InMemorySamples",
    "LargestBottleneck",
    "NoImprovement",
    "NothingToAdd",
    "Plateau",
    "Proposal",
    "Random",
    "Record",
    "Redundant",
    "RoundRobin",
    "Run",
    "RunState",
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
    "measure",
    "number",
    "objective",
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


def __getattr__(name: str) -> Any:
    if name not in ("GrowingClassifier", "GrowingRegressor"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from creases.growth import estimators  # scikit-learn is slow to import

    return getattr(estimators, name)
