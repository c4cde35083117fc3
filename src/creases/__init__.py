"""A ReLU network is a folded sheet: see it exactly, grow it, prune it, compare it."""

from creases.network import Network, read
from creases.regions import plane, plane_through

__all__ = ["Network", "plane", "plane_through", "read"]
