"""How to enlarge a network: each new unit proposed for a stated reason.

``grow`` trains and grows a model; ``Grower`` grows it inside your own training loop.
"""

from creases.growth._budget import Budget
from creases.growth._checkpoint import ModelState, load_checkpoint
from creases.growth._checks import check_explanations
from creases.growth._config import GrowthConfig
from creases.growth._explained.run import ExplainedRun, ExplainedState
from creases.growth._explained.units import GrownUnits, grow_units
from creases.growth._explanation import explain
from creases.growth._grower import Grower
from creases.growth._loop import Callback, drive, grow, open_run
from creases.growth._objective import objective
from creases.growth._proposal import Proposal, apply
from creases.growth._records import History, Record
from creases.growth._run import Run, RunState
from creases.growth._samples import InMemorySamples, Scaling
from creases.growth._sized import block_losses, compare_losses
from creases.growth._state import State
from creases.growth._training import measure

__all__ = [
    "Budget",
    "Callback",
    "ExplainedRun",
    "ExplainedState",
    "Grower",
    "GrownUnits",
    "GrowthConfig",
    "History",
    "InMemorySamples",
    "ModelState",
    "Proposal",
    "Record",
    "Run",
    "RunState",
    "Scaling",
    "State",
    "apply",
    "block_losses",
    "check_explanations",
    "compare_losses",
    "drive",
    "explain",
    "grow",
    "grow_units",
    "load_checkpoint",
    "measure",
    "objective",
    "open_run",
]
