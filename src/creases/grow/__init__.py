"""How to enlarge a network: each new unit proposed for a stated reason."""

from creases.grow.first_order.alone import growth_alone
from creases.grow.first_order.gradmax import gradmax
from creases.grow.first_order.optimal import best_move, bottleneck, optimal_units
from creases.grow.first_order.random_units import random_units
from creases.grow.first_order.sample import sample_size
from creases.grow.first_order.split import split, steepest_split
from creases.grow.first_order.statistics import Statistics, statistics
from creases.grow.first_order.tiny import tiny
from creases.grow.folding.fold import fold
from creases.grow.folding.outcome import outcome
from creases.grow.folding.search import search
from creases.grow.proposal import Proposal, apply
from creases.grow.words import words

__all__ = [
    "Proposal",
    "Statistics",
    "apply",
    "best_move",
    "bottleneck",
    "fold",
    "gradmax",
    "growth_alone",
    "optimal_units",
    "outcome",
    "random_units",
    "sample_size",
    "search",
    "split",
    "statistics",
    "steepest_split",
    "tiny",
    "words",
]
