"""Growth methods: fold, TINY, GradMax, split and random units."""

from creases.growth.methods._first_order.observation import PlaceObserver
from creases.growth.methods._first_order.units import NewUnits
from creases.growth.methods._fold.direction import unit_values
from creases.growth.methods._fold.efficient_score import EfficientScore
from creases.growth.methods._fold.fold import dead_layer
from creases.growth.methods._fold.fold_point import fold_point, local_fold_point
from creases.growth.methods._fold.predictions import decide, logits
from creases.growth.methods._fold.subnetwork import subnetwork_at
from creases.growth.methods._fold.typical_mispredictions import typical_mispredictions
from creases.growth.methods._registry import METHODS
from creases.growth.methods._tiny.bottleneck import best_moves, bottleneck, projected_pairs, whitening_matrix
from creases.growth.methods._tiny.growth_sample import gather_sample
from creases.growth.methods._tiny.line_search import line_search

__all__ = [
    "METHODS",
    "EfficientScore",
    "NewUnits",
    "PlaceObserver",
    "best_moves",
    "bottleneck",
    "dead_layer",
    "decide",
    "fold_point",
    "gather_sample",
    "line_search",
    "local_fold_point",
    "logits",
    "projected_pairs",
    "subnetwork_at",
    "typical_mispredictions",
    "unit_values",
    "whitening_matrix",
]
