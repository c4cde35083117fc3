"""The expressivity bottleneck of a place: its statistics, the best move, the optimal new units and their size."""

from creases.growth.methods._first_order.observation import PlaceObserver
from creases.growth.methods._first_order.statistics import Statistics, sample_size, statistics
from creases.growth.methods._first_order.units import NewUnits
from creases.growth.methods._tiny.bottleneck import (
    best_moves,
    bottleneck,
    optimal_units,
    projected_pairs,
    whitening_matrix,
)
from creases.growth.methods._tiny.line_search import gather_sample, line_search

__all__ = [
    "NewUnits",
    "PlaceObserver",
    "Statistics",
    "best_moves",
    "bottleneck",
    "gather_sample",
    "line_search",
    "optimal_units",
    "projected_pairs",
    "sample_size",
    "statistics",
    "whitening_matrix",
]
