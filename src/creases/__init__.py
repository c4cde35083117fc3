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
    from creases.growth import Grower as Grower
    from creases.growth import grow as grow
    from creases.network import Network as Network
    from creases.network import deepen as deepen
    from creases.network import places as places
    from creases.network import read as read
    from creases.network import remove as remove
    from creases.network import widen as widen
    from creases.regions import bounds as bounds
    from creases.regions import cell as cell
    from creases.regions import line as line
    from creases.regions import plane as plane
    from creases.regions import plane_through as plane_through
    from creases.regions import space as space
    from creases.regions import tropical as tropical
    from creases.show.notebook import report as report
    from creases.tables import GrowingClassifier as GrowingClassifier
    from creases.tables import GrowingRegressor as GrowingRegressor
    from creases.tables import TableClassifier as TableClassifier
    from creases.tables import TableRegressor as TableRegressor
    from creases.tables import fit_table as fit_table
    from creases.tables import load as load

    __version__: str

_SUBMODULES = {
    *("boolean", "certify", "compare", "errors", "explain", "growth", "lab", "network", "problems", "prune"),
    *("regions", "show", "splines", "tables"),
}

_IN_NOTEBOOKS = "creases.show.notebook._display"
provide_display(plot=_IN_NOTEBOOKS, to_html=_IN_NOTEBOOKS, describe="creases.show._documents")
_get_name, _, __all__ = open_on_use(__name__)  # of which `import creases` imports none: torch takes seconds


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return import_module(f"creases.{name}")
    if name == "__version__":
        from creases._versions import version

        return version("creases")
    return _get_name(name)


def __dir__() -> list[str]:
    return sorted([*__all__, *_SUBMODULES, "__version__"])
