"""The parts of growth by folding: typical mispredictions, fold points and the efficient score."""

from creases.growth.methods._fold.efficient_score import EfficientScore, unit_values
from creases.growth.methods._fold.explanation import fold_entries
from creases.growth.methods._fold.fold import dead_layer_reason, printed_unit
from creases.growth.methods._fold.fold_point import fold_point, local_fold_point
from creases.growth.methods._fold.subnetwork import subnetwork_at
from creases.growth.methods._fold.typical_mispredictions import as_logits, decisions, typical_mispredictions

__all__ = [
    "EfficientScore",
    "as_logits",
    "dead_layer_reason",
    "decisions",
    "fold_entries",
    "fold_point",
    "local_fold_point",
    "printed_unit",
    "subnetwork_at",
    "typical_mispredictions",
    "unit_values",
]
