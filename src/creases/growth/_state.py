"""The state of a growth run at the end of an epoch, for policies and callbacks."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import torch
from torch import Tensor, nn, optim

from creases._text import plural
from creases.errors import InputError, ReadError
from creases.growth._budget import PASSES_PER_STEP, Meter, count_cost
from creases.growth._checkpoint import resize
from creases.growth._integrations import _ranks as ranks
from creases.growth._integrations._followers import Followers
from creases.growth._objective import Objective
from creases.growth._proposal import Proposal
from creases.growth._records import History, Record
from creases.growth._samples import InMemorySamples, Samples, combine_seeds
from creases.growth.methods._evidence import Evidence, GrowthMethod
from creases.network import Place, places
from creases.network.surgery import copy_sharing_parameters, count_parameters, without_side_effects

T = TypeVar("T")

#: More units than any model has.
UNBOUNDED = 10**9

#: Samples in memory on which a growth step is measured, at most.
MAX_INSPECTED = 2_000


@dataclass(frozen=True)
class SizeLimit:
    """The largest network that a run may grow; the last growth step adds no more units than fit."""

    units: int | None = None  #: of all places together
    parameters: int | None = None

    @property
    def is_set(self) -> bool:
        """Return whether there is a limit."""
        return self.units is not None or self.parameters is not None

    def reached(self, state: State) -> str:
        """Return why no place that ``where`` names can grow, "" where one can."""
        places = state.where(state) if self.is_set else ()
        if not places or any(self.available_units(state, place) >= 1 for place in places):
            return ""
        within = []
        if self.parameters is not None:
            within.append(f"{plural(self.parameters, 'parameter')} (it has {state.parameters})")
        if self.units is not None:
            within.append(f"{plural(self.units, 'unit')} (it has {state.units})")
        return f"no further unit fits: the network is limited to {' and '.join(within)}"

    def available_units(self, state: State, place: Place) -> int:
        """Return how many more units fit at a place."""
        left = [UNBOUNDED]
        if self.parameters is not None:
            left.append((self.parameters - state.parameters) // max(place.cost, 1))
        if self.units is not None:
            left.append(self.units - state.units)
        return max(min(left), 0)


@dataclass(eq=False)
class State:
    """The state of a growth run at the end of an epoch."""

    model: nn.Module
    optimizer: optim.Optimizer | None
    samples: Samples
    objective: Objective
    how: GrowthMethod
    where: Callable[[State], Sequence[Place]]
    history: History
    seed: int
    meter: Meter
    followers: Followers = field(default_factory=Followers)  #: wrappers of the model
    limit: SizeLimit = SizeLimit()
    validation: Samples | None = None  #: held out
    before_decision: list[Callable[[State], None]] = field(default_factory=list)  #: called each epoch, before growth
    race: Any = None  #: of networks of several sizes, while there is one
    stage_end: int | None = None  #: optimizer steps at which the current stage ends, once it is planned
    rate_scale: float = 1.0  #: of the learning rate that fits the network, by the test at the start
    untrained: bool = False  #: whether the network was untrained when the run began
    batch_size: int = 0  #: samples in a training step; 0 where that is not known
    metered: bool = False  #: whether training steps are counted one by one; otherwise epochs are
    epoch_steps: int = 0  #: optimizer steps of the last epoch
    measured_share: float = 0.0  #: of the budget that a step took in the last epoch
    due: bool = False  #: whether it is time to grow, by the policy ``when``
    record: Record | None = None  #: of the growth step at the end of this epoch, for callbacks
    _results: dict[Hashable, Any] = field(default_factory=dict)  # of the current weights
    _places: list[Place] | None = None
    _inspected: Samples | None = None
    _flops: int | None = None

    @property
    def places(self) -> list[Place]:
        """Return the places of the current model."""
        if self._places is None:
            self._places = places(self.model, X=self.samples.example())
        return self._places

    @property
    def widths(self) -> dict[str, int]:
        """Return the width of every place, by name."""
        return {place.name: place.width for place in self.places}

    @property
    def inspected(self) -> Samples:
        """Return the samples on which growth steps are measured: all, or 2,000 of those in memory."""
        if not isinstance(self.samples, InMemorySamples) or len(self.samples) <= MAX_INSPECTED:
            return self.samples
        if self._inspected is None:
            order = torch.randperm(len(self.samples), generator=torch.Generator().manual_seed(self.seed))
            self._inspected = self.samples.part(order[:MAX_INSPECTED].sort().values, "data")
        return self._inspected

    @property
    def parameters(self) -> int:
        """Return the number of parameters of the current model."""
        return count_parameters(self.model)

    @property
    def units(self) -> int:
        """Return the units of all places together."""
        return sum(place.width for place in self.places)

    @property
    def n_outputs(self) -> int:
        """Return the number of outputs for one sample, such as classes; 1 where outputs are not rows of numbers."""
        with without_side_effects():
            outputs = copy_sharing_parameters(self.model)(self.samples.example())
        return outputs.shape[1] if isinstance(outputs, Tensor) and outputs.ndim == 2 else 1

    @property
    def flops(self) -> int:
        """Return the floating-point operations of one forward pass for one sample, as torch counts them."""
        if self._flops is None:
            self._flops = count_flops(self.model, self.samples.example()[:1])
        return self._flops

    @property
    def step_share(self) -> float:
        """Return the share of the budget that a training step takes at the current size; 0 while it is not known."""
        meter = self.meter
        if self.batch_size and meter.n_samples and meter.budget.unit != "seconds":
            cost = PASSES_PER_STEP * (self.flops // 2) * meter.n_samples if meter.budget.unit != "epochs" else 1
            return cost / -(-meter.n_samples // self.batch_size) / meter.budget.amount  # batches are even
        return self.measured_share

    def size_at(self, widths: Mapping[str, int]) -> tuple[int, int]:
        """Return the parameters, and the operations of a forward pass for one sample, with other widths at places."""
        twin, x = copy_sharing_parameters(self.model), self.samples.example()[:1]
        resize(twin, widths, x, known=self.places)
        return count_parameters(twin), count_flops(twin, x)

    @property
    def evidence(self) -> Evidence:
        """Return the evidence for growth methods, with the seed of this growth step."""
        seed = combine_seeds(self.seed, len(self.history.records), 1, self.history.idle)
        earlier = [record.explanation for record in self.history.records]
        return Evidence(self.samples, self.objective, seed, earlier)

    def propose(self, place: Place) -> Proposal:
        """Return the method's proposal for a place, computed once; a refusal has no units, and a reason."""
        return self.once(("proposal", place.name), lambda: self.call_method(self.how, place, self.evidence))

    def once(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Return the result of a computation, made once until the network is trained further or changes its size."""
        if key not in self._results:
            self._results[key] = compute()
        result: T = self._results[key]
        return result

    def call_method(self, how: GrowthMethod, place: Place, evidence: Evidence) -> Proposal:
        """Return the proposal of a method for a place: the same on every rank."""
        try:
            proposal = how(self.model, place, evidence)
        except (InputError, ReadError) as problem:
            why, nothing = {"method": "", "place": place.name, "reason": str(problem)}, torch.zeros(0)
            proposal = Proposal("", place, nothing.reshape(0, 0), nothing, {}, 0.0, why)
        if not isinstance(proposal, Proposal):
            raise InputError("how", "return a Proposal", type(proposal).__name__)
        return ranks.from_first(proposal)

    def clear_proposals(self) -> None:
        """Forget proposals, and what else :meth:`once` computed: training makes it obsolete."""
        self._results = {}

    def change_samples(self, samples: Samples) -> None:
        """Go on with other training samples."""
        self.samples, self.meter.n_samples, self._inspected = samples, samples.size, None
        self.clear()

    def clear(self) -> None:
        """Forget all that was computed for the model before it changed its size."""
        self.clear_proposals()
        self._places, self._flops = None, None


def count_flops(model: nn.Module, x: Tensor) -> int:
    """Return the floating-point operations of a forward pass, as torch counts them: matrix products, convolutions.

    Torch's own counter would import its compiler, which takes seconds.
    """
    with without_side_effects(), count_cost() as cost:
        copy_sharing_parameters(model)(x)
    return 2 * cost.multiply_adds
