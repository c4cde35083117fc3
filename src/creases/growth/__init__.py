"""How to enlarge a network: each new unit proposed for a stated reason.

``grow`` trains and grows a model; ``Grower`` grows it inside your own training loop.
"""

from typing import TYPE_CHECKING

from creases._doors import open_on_use

if TYPE_CHECKING:
    from creases.growth._budget import Budget as Budget
    from creases.growth._checkpoint import ModelState as ModelState
    from creases.growth._checkpoint import load_checkpoint as load_checkpoint
    from creases.growth._checks import check_explanations as check_explanations
    from creases.growth._config import GrowthConfig as GrowthConfig
    from creases.growth._explained.run import ExplainedRun as ExplainedRun
    from creases.growth._explained.units import GrownUnits as GrownUnits
    from creases.growth._explained.units import grow_units as grow_units
    from creases.growth._explanation import explain as explain
    from creases.growth._grower import Grower as Grower
    from creases.growth._loop import Callback as Callback
    from creases.growth._loop import drive as drive
    from creases.growth._loop import grow as grow
    from creases.growth._loop import open_run as open_run
    from creases.growth._objective import objective as objective
    from creases.growth._proposal import Proposal as Proposal
    from creases.growth._proposal import apply as apply
    from creases.growth._records import History as History
    from creases.growth._records import Record as Record
    from creases.growth._run import Run as Run
    from creases.growth._samples import InMemorySamples as InMemorySamples
    from creases.growth._samples import Scaling as Scaling
    from creases.growth._sized import block_losses as block_losses
    from creases.growth._sized import compare_losses as compare_losses
    from creases.growth._state import State as State
    from creases.growth._training import measure as measure

__getattr__, __dir__, __all__ = open_on_use(__name__)
