"""How to enlarge a network: each new unit proposed for a stated reason.

``grow`` trains and grows a model; ``Grower`` grows it inside a training loop of your own.
"""

from typing import TYPE_CHECKING, Any

from creases.growth._explanation import explain
from creases.growth._feature_names import format_number
from creases.growth._grower import Grower
from creases.growth._loop import GrowthResult, grow
from creases.growth._objective import objective
from creases.growth._proposal import Proposal, apply
from creases.growth._records import History, Record
from creases.growth._recycle import RedundantUnit, redundant_units, remove_redundant
from creases.growth._run import Run, RunState
from creases.growth._samples import InMemorySamples
from creases.growth._scaling import Scaling
from creases.growth._state import State
from creases.growth._training import measure
from creases.growth.methods._first_order.statistics import Statistics, statistics
from creases.growth.methods._fold.crease_search import crease_search
from creases.growth.methods._fold.fold import fold
from creases.growth.methods._fold.outcome import outcome
from creases.growth.methods._gradmax import gradmax
from creases.growth.methods._random import random_units
from creases.growth.methods._registry import CreaseSearch, Evidence, Fold, GradMax, Random, Split, SteepestSplit, Tiny
from creases.growth.methods._split import split, steepest_split
from creases.growth.methods._tiny.bottleneck import best_move, bottleneck, optimal_units
from creases.growth.methods._tiny.growth_sample import sample_size
from creases.growth.methods._tiny.tiny import tiny
from creases.growth.methods._tiny.train_by_growth import train_by_growth
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
    "CreaseSearch",
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
    "RedundantUnit",
    "RoundRobin",
    "Run",
    "RunState",
    "Scaling",
    "Split",
    "State",
    "Statistics",
    "SteepestSplit",
    "Target",
    "Tiny",
    "apply",
    "best_move",
    "bottleneck",
    "crease_search",
    "explain",
    "fold",
    "format_number",
    "gradmax",
    "grow",
    "measure",
    "objective",
    "optimal_units",
    "outcome",
    "random_units",
    "redundant_units",
    "remove_redundant",
    "sample_size",
    "split",
    "statistics",
    "steepest_split",
    "tiny",
    "train_by_growth",
]


def __getattr__(name: str) -> Any:
    if name not in ("GrowingClassifier", "GrowingRegressor"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from creases.growth import estimators  # scikit-learn is slow to import

    return getattr(estimators, name)
