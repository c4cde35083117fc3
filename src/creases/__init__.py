"""ReLU networks as the exact piecewise-linear functions they are.

Read    ``read`` a model; a ``Network`` gives values, patterns and pieces
See     ``cell`` (one region), ``line``, ``plane``, ``plane_through``, ``space``: every region, exactly;
        ``bounds`` on their number, ``tropical`` form
Change  ``places`` of a torch module whose width can grow (each a ``Place``); ``widen``, ``deepen`` or ``remove`` there,
        with a ``Certificate`` of what it did to the function
Grow    ``grow`` a model while it trains, each unit with its reason; ``Grower`` does the same in your own loop

>>> import creases, torch
>>> model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU(), torch.nn.Linear(2, 1))
>>> with torch.no_grad():
...     _ = model[0].weight.copy_(torch.eye(2)), model[0].bias.zero_()
>>> creases.plane(creases.read(model), box=[(-1, 1), (-1, 1)]).count
4
"""

from creases import grow
from creases.grow import Grower
from creases.network import Certificate, Network, Place, deepen, places, read, remove, widen
from creases.regions import bounds, cell, line, plane, plane_through, space, tropical

__all__ = [
    "Certificate",
    "Grower",
    "Network",
    "Place",
    "bounds",
    "cell",
    "deepen",
    "grow",
    "line",
    "places",
    "plane",
    "plane_through",
    "read",
    "remove",
    "space",
    "tropical",
    "widen",
]
