"""A ReLU network is a folded sheet: see it exactly, grow it, prune it, compare it."""

from creases.network import Network, read

__all__ = ["Network", "read"]
