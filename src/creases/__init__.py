"""ReLU networks as the exact piecewise-linear functions they are.

Read    ``read`` a model; a ``Network`` gives values, patterns and pieces
See     ``cell`` (one region), ``line``, ``plane``, ``plane_through``, ``space``: every region, exactly;
        ``bounds`` on their number, ``tropical`` form
"""

from creases.network import Network, read
from creases.regions import bounds, cell, line, plane, plane_through, space, tropical

__all__ = ["Network", "bounds", "cell", "line", "plane", "plane_through", "read", "space", "tropical"]
