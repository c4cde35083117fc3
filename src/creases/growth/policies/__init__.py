"""Policies of a growth run: where to grow, when to grow, and when to stop.

Each is a small object; a function of the run's state (:class:`creases.growth.State`) can replace it.
"""

from creases.growth.policies._stop import Budget, Epochs, NoImprovement, NothingToAdd, Stop, Target
from creases.growth.policies._when import Converged, Every, Plateau, When
from creases.growth.policies._where import At, GainPerParameter, LargestBottleneck, RoundRobin, Where, WidthOrDepth

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
    "WidthOrDepth",
]
