"""How to reduce: smaller networks of the same function, or of the same accuracy.

``exact`` takes away what a function does not need, with a proof; ``exhaustive`` finds the smallest sub-networks of a
wide layer, ``iterative`` takes units out of deep networks one by one; ``channels`` and ``magnitude`` prune any torch
module while it keeps an accuracy, fine-tuned by a ``tuner`` between.
"""

from creases.prune.channels import channels
from creases.prune.exact import exact
from creases.prune.exhaustive import Exhaustive, exhaustive
from creases.prune.iterative import Iterative, Removal, Trajectory, iterative
from creases.prune.magnitude import magnitude
from creases.prune.records import Exact, Pruned, Reduction, Step, Undecided
from creases.prune.tuning import tuner

__all__ = [
    "Exact",
    "Exhaustive",
    "Iterative",
    "Pruned",
    "Reduction",
    "Removal",
    "Step",
    "Trajectory",
    "Undecided",
    "channels",
    "exact",
    "exhaustive",
    "iterative",
    "magnitude",
    "tuner",
]
