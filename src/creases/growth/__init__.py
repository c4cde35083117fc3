"""How to enlarge a network: each new unit proposed for a stated reason.

``grow`` trains and grows a model; ``Grower`` grows it inside your own training loop.
"""

from typing import TYPE_CHECKING, Any

from creases._text import format_number
from creases.growth._config import GrowthConfig
from creases.growth._explanation import explain
from creases.growth._grow import GrowthResult, grow
from creases.growth._grower import Grower
from creases.growth._linear_start import linear_start
from creases.growth._objective import objective
from creases.growth._proposal import DepthProposal, Proposal, apply
from creases.growth._records import History, Record
from creases.growth._recycle import RedundantUnit, redundant_units, remove_redundant
from creases.growth._run import Run, RunState
from creases.growth._samples import InMemorySamples
from creases.growth._scaling import Scaling
from creases.growth._state import State
from creases.growth._training import measure

if TYPE_CHECKING:
    from creases.growth._lightning import GrowthCallback
    from creases.growth.estimators import GrowingClassifier, GrowingRegressor

__all__ = [
    "DepthProposal",
    "Grower",
    "GrowingClassifier",
    "GrowingRegressor",
    "GrowthCallback",
    "GrowthConfig",
    "GrowthResult",
    "History",
    "InMemorySamples",
    "Proposal",
    "Record",
    "RedundantUnit",
    "Run",
    "RunState",
    "Scaling",
    "State",
    "apply",
    "explain",
    "format_number",
    "grow",
    "linear_start",
    "measure",
    "objective",
    "redundant_units",
    "remove_redundant",
]


def __getattr__(name: str) -> Any:
    if name in ("GrowingClassifier", "GrowingRegressor"):
        from creases.growth import estimators  # scikit-learn is slow to import

        return getattr(estimators, name)
    if name == "GrowthCallback":
        from creases.growth._lightning import GrowthCallback  # imports Lightning, where it is installed

        return GrowthCallback
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
