"""How to enlarge a network: each new unit proposed for a stated reason."""

from creases.grow.fold import fold
from creases.grow.fold_outcome import outcome
from creases.grow.fold_record import words
from creases.grow.proposal import Proposal, apply
from creases.grow.search import search

__all__ = ["Proposal", "apply", "fold", "outcome", "search", "words"]
