"""Policies of a growth run: where to grow, and when to stop.

Each is a small object; a function of the run's state (:class:`creases.growth.State`) can replace it.
"""

from creases.growth.policies._policies import At, Stop, Target
from creases.growth.policies._stages import Stages

__all__ = ["At", "Stages", "Stop", "Target"]
