"""How to enlarge a network: each new unit proposed for a stated reason."""

from creases.grow.alone import growth_alone
from creases.grow.fold import fold
from creases.grow.fold_outcome import outcome
from creases.grow.fold_record import words
from creases.grow.gradmax import gradmax
from creases.grow.optimal import best_move, bottleneck, optimal_units
from creases.grow.proposal import Proposal, apply
from creases.grow.random_units import random_units
from creases.grow.sample import sample_size
from creases.grow.search import search
from creases.grow.split import split, steepest_split
from creases.grow.spoken import in_words
from creases.grow.statistics import Statistics, statistics
from creases.grow.tiny import tiny

__all__ = [
    "Proposal",
    "Statistics",
    "apply",
    "best_move",
    "bottleneck",
    "fold",
    "gradmax",
    "growth_alone",
    "in_words",
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
