"""How to enlarge a network: each new unit proposed for a stated reason."""

from creases.grow.proposal import Proposal, apply

__all__ = ["Proposal", "apply"]
