"""Growth methods: fold, TINY, GradMax, split and random units."""

from creases.growth.methods._first_order.amplitude import search
from creases.growth.methods._first_order.observe import Watch
from creases.growth.methods._first_order.optimal import Units, best_moves, bottleneck, projected, whitener
from creases.growth.methods._first_order.sample import gathered
from creases.growth.methods._fold.decision import decide, logits
from creases.growth.methods._fold.direction import units_at
from creases.growth.methods._fold.fold import dead_layer
from creases.growth.methods._fold.point import fold_point, foot_unchecked
from creases.growth.methods._fold.score import Score
from creases.growth.methods._fold.tail import tail_of
from creases.growth.methods._fold.typical import typical
from creases.growth.methods._methods import METHODS

__all__ = [
    "METHODS",
    "Score",
    "Units",
    "Watch",
    "best_moves",
    "bottleneck",
    "dead_layer",
    "decide",
    "fold_point",
    "foot_unchecked",
    "gathered",
    "logits",
    "projected",
    "search",
    "tail_of",
    "typical",
    "units_at",
    "whitener",
]
