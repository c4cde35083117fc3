"""ReLU networks as the exact piecewise-linear functions they are.

Read    ``read`` a model; a ``Network`` gives values, patterns and pieces
See     ``cell`` (one region), ``line``, ``plane``, ``plane_through``, ``space``: every region, exactly;
        ``bounds`` on their number, ``tropical`` form
Change  ``places`` of a torch module whose width can grow (each a ``Place``); ``widen``, ``deepen`` or ``remove`` there,
        with a ``Certificate`` of what it did to the function
Grow    ``grow`` a model while it trains, each unit with its reason; ``Grower`` does the same in your own loop,
        ``GrowingClassifier`` and ``GrowingRegressor`` as scikit-learn estimators
Tables  ``fit_table`` fits a model that a person can read completely, as ``TableClassifier`` and ``TableRegressor`` do;
        ``load`` what ``creases fit`` or ``creases grow`` wrote, to predict and explain rows by column names
Report  ``report`` of any of these, inside a notebook or as an HTML file

Submodules, imported on first use: ``network``, ``regions``, ``certify``, ``explain`` (exact attributions), ``growth``,
``tables``, ``splines`` (one-dimensional networks), ``compare``, ``prune``, ``lab`` (many trainings at once),
``boolean`` (functions of a few bits), ``problems`` (data), ``show`` (pictures), ``errors``.

>>> import creases, torch
>>> model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU(), torch.nn.Linear(2, 1))
>>> with torch.no_grad():
...     _ = model[0].weight.copy_(torch.eye(2)), model[0].bias.zero_()
>>> creases.plane(creases.read(model), box=[(-1, 1), (-1, 1)]).count
4
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from creases._display import provide_display
from creases._doors import open_on_use

if TYPE_CHECKING:
    from creases.growth import Grower, grow
    from creases.network import Network, deepen, places, read, remove, widen
    from creases.regions import bounds, cell, line, plane, plane_through, space, tropical
    from creases.show.notebook import report
    from creases.tables import (
        GrowingClassifier,
        GrowingRegressor,
        TableClassifier,
        TableRegressor,
        fit_table,
        load,
    )

    __version__: str

__all__ = [
    "Grower",
    "GrowingClassifier",
    "GrowingRegressor",
    "Network",
    "TableClassifier",
    "TableRegressor",
    "bounds",
    "cell",
    "deepen",
    "fit_table",
    "grow",
    "line",
    "load",
    "places",
    "plane",
    "plane_through",
    "read",
    "remove",
    "report",
    "space",
    "tropical",
    "widen",
]

_SUBMODULES = (
    "boolean",
    "certify",
    "compare",
    "errors",
    "explain",
    "growth",
    "lab",
    "network",
    "problems",
    "prune",
    "regions",
    "show",
    "splines",
    "tables",
)

# Where each public name lives. Everything is imported on first use, so that `import creases` and the command line start
# at once: torch, numba and scikit-learn take seconds.
_HOMES = {
    "growth": ("Grower", "grow"),
    "tables": ("GrowingClassifier", "GrowingRegressor", "TableClassifier", "TableRegressor", "fit_table", "load"),
    "network": ("Network", "deepen", "places", "read", "remove", "widen"),
    "regions": ("bounds", "cell", "line", "plane", "plane_through", "space", "tropical"),
    "show.notebook": ("report",),
}
provide_display(lambda: import_module("creases.show.notebook._display"))
_get_name = open_on_use(__name__, _HOMES)


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return import_module(f"creases.{name}")
    if name == "__version__":
        from creases._versions import version

        return version("creases")
    return _get_name(name)


def __dir__() -> list[str]:
    return sorted([*__all__, *_SUBMODULES, "__version__"])
