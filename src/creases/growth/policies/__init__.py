"""Policies of a growth run: where to grow, when to grow, and when to stop.

Each is a small object; a function of the run's state (:class:`creases.growth.State`) can replace it.
"""

from creases.growth.policies._depth import largest_bottleneck
from creases.growth.policies._stages import Stages
from creases.growth.policies._stop import NoImprovement, NothingToAdd, SizeLimit, Stop, Target
from creases.growth.policies._when import Every, Plateau
from creases.growth.policies._where import WHERE_POLICIES, At

__all__ = [
    "WHERE_POLICIES",
    "At",
    "Every",
    "NoImprovement",
    "NothingToAdd",
    "Plateau",
    "SizeLimit",
    "Stages",
    "Stop",
    "Target",
    "largest_bottleneck",
]
