"""Where, when and whether to go on: small objects, each replaceable by a function of the run's state."""

from creases.growth.policies._stop import Budget, Epochs, NoImprovement, NothingToAdd, Stop, Target
from creases.growth.policies._when import Converged, Every, Plateau, When
from creases.growth.policies._where import At, GainPerParameter, LargestBottleneck, RoundRobin, Where

__all__ = [
    "At",
    "Budget",
    "Converged",
    "Epochs",
    "Every",
    "GainPerParameter",
    "LargestBottleneck",
    "NoImprovement",
    "NothingToAdd",
    "Plateau",
    "RoundRobin",
    "Stop",
    "Target",
    "When",
    "Where",
]
