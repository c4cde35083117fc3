"""ReLU networks as the exact piecewise-linear functions they are.

Read    ``read`` a model; a ``Network`` gives values, patterns and pieces
See     ``cell`` (one region), ``line``, ``plane``, ``plane_through``, ``space``: every region, exactly;
        ``bounds`` on their number, ``tropical`` form
Change  ``places`` of a torch module whose width can grow (each a ``Place``); ``widen``, ``deepen`` or ``remove`` there,
        with a ``Certificate`` of what it did to the function
Grow    ``grow`` a model while it trains, each unit with its reason; ``Grower`` does the same in your own loop;
        ``GrowingClassifier`` and ``GrowingRegressor`` do it for a table, as scikit-learn's estimators

Rooms with more, imported when first asked for: ``splines`` (networks of one input), ``compare`` (how alike networks
are, what changed), ``prune``, ``lab`` (many trainings at once), ``boolean`` (functions of a few bits), ``problems``
(data), ``show`` (pictures).

>>> import creases, torch
>>> model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU(), torch.nn.Linear(2, 1))
>>> with torch.no_grad():
...     _ = model[0].weight.copy_(torch.eye(2)), model[0].bias.zero_()
>>> creases.plane(creases.read(model), box=[(-1, 1), (-1, 1)]).count
4
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from creases import grow
from creases.grow import Grower
from creases.network import Certificate, Network, Place, deepen, places, read, remove, widen
from creases.regions import bounds, cell, line, plane, plane_through, space, tropical

if TYPE_CHECKING:
    from creases.grow import GrowingClassifier, GrowingRegressor

__all__ = [
    "Certificate",
    "Grower",
    "GrowingClassifier",
    "GrowingRegressor",
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


_ROOMS = ("boolean", "compare", "lab", "problems", "prune", "show", "splines")


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"creases.{name}")
    if name in ("GrowingClassifier", "GrowingRegressor"):
        return getattr(grow, name)  # imported when first asked for: scikit-learn is slow
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_ROOMS])
