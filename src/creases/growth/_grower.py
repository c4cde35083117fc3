"""Growth of a model inside any training loop: measure, then grow, continue or stop."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from copy import deepcopy
from dataclasses import asdict
from typing import Any, Unpack

import torch
from torch import Tensor, nn, optim

from creases.errors import InputError
from creases.growth._budget import Budget, Meter, StepCount, count_cost
from creases.growth._config import GrowthConfig, GrowthOptions, config_of, describe_setting, takes_options
from creases.growth._growth_steps import MAX_SAMPLES, grow_places, note_outcomes, revive_layer
from creases.growth._integrations._followers import Followers
from creases.growth._objective import Loss, objective
from creases.growth._records import History, Record
from creases.growth._samples import InMemorySamples, as_samples
from creases.growth._sized import Race, close_race, close_stage, leave_stage
from creases.growth._state import MAX_INSPECTED, SizeLimit, State
from creases.growth._training import Metrics, measure
from creases.growth.methods._registry import check_evidence, refusal, resolve_method
from creases.growth.policies._policies import (
    as_stops,
    named_places,
    no_improvement,
    nothing_to_add,
    resolve_when,
    resolve_where,
)
from creases.network.surgery import check_optimizer, copy_sharing_parameters, without_side_effects

#: A network whose loss is at least this fraction of a new one's is untrained.
UNTRAINED = 0.95


@contextmanager
def full_precision() -> Iterator[None]:
    """Compute without autocast, and with gradients, also in a block of autocast, no_grad or inference_mode."""
    devices = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
    with ExitStack() as stack:
        stack.enter_context(torch.inference_mode(False))
        stack.enter_context(torch.enable_grad())
        for device in devices:
            if torch.is_autocast_enabled(device):
                stack.enter_context(torch.autocast(device, enabled=False))
        yield


class Grower:
    """Grows a model while you train it; call :meth:`step` at the end of every epoch.

    It never touches the learning rate.

    Parameters
    ----------
    model, optimizer
        What you train; the optimizer's state is carried through every change. The model may be compiled
        (``torch.compile``) or wrapped in DistributedDataParallel: pass the wrapper, so that it follows the growth.
    data
        Training samples: ``(X, y)``, ``(X, y, weights)``, a problem, a Dataset or a DataLoader of pairs.
    validation
        Validation samples, never used for training or growth.
    **options
        ``how``, ``where``, ``when``, ``stop``, ``budget``, ``seed``, ...: those of
        :class:`creases.growth.GrowthConfig` that concern growth. The budget is for the stages and for
        ``history.ended``: the number of epochs that you will train, including those of networks that are not kept.

    Notes
    -----
    Growth may come at any point of a loop, also in the middle of gradient accumulation: gradients are carried like
    the weights, with zeros for new units. The optimizer's groups stay the same dicts, so schedulers are not
    affected. Under autocast, measuring and growing run in full precision.

    Examples
    --------
    >>> import torch
    >>> from creases.growth import Grower
    >>> x = torch.linspace(-2, 2, 100)[:, None]
    >>> y = x.abs()
    >>> with torch.random.fork_rng():
    ...     _ = torch.manual_seed(0)
    ...     model = torch.nn.Sequential(torch.nn.Linear(1, 1), torch.nn.ReLU(), torch.nn.Linear(1, 1))
    >>> optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    >>> grower = Grower(model, optimizer, (x, y), "regression", how="fold", budget=400)
    >>> while not grower.history.ended:
    ...     loss = torch.nn.functional.mse_loss(model(x), y)
    ...     optimizer.zero_grad(); loss.backward(); optimizer.step()
    ...     record = grower.step()
    >>> model[0].out_features > 1
    True
    """

    @takes_options(GrowthOptions)
    def __init__(
        self,
        model: nn.Module,
        optimizer: optim.Optimizer | None,
        data: Any,
        loss: str | Loss,
        *,
        validation: Any = None,
        **options: Unpack[GrowthOptions],
    ) -> None:
        config = config_of(options, GrowthOptions, "Grower")
        self._prepare(model, optimizer, data, loss, config, validation)
        self.state.untrained = self.stages is not None and is_untrained(self.state)

    def _prepare(
        self,
        model: nn.Module,
        optimizer: optim.Optimizer | None,
        data: Any,
        loss: str | Loss,
        config: GrowthConfig,
        validation: Any,
    ) -> None:
        model, followers = Followers.from_model(model)
        samples = as_samples(data, model)
        goal = objective(loss, weighted=samples.weighted)
        self.stages = config.stages()  #: of sized growth; None where ``when`` says when to grow
        self.stops, self._patience = as_stops(config.stop), config.growth_patience
        limit = SizeLimit(config.max_units, config.max_parameters)
        history = History(setting=describe_setting(loss, config, [*self.stops, limit]))
        method, where = resolve_method(config.how, config.as_printed), resolve_where(config.where)
        n = samples.size
        self.batch_size = config.batch_rows(n or 1) if samples.batch_size is None else samples.batch_size
        steps = -(-n // self.batch_size) if n and self.batch_size else None
        meter = Meter(config.resolve_budget(steps), n)
        self.state = State(
            model, optimizer, samples, goal, method, where, history, config.seed, meter, followers, limit
        )
        self.state.validation = None if validation is None else as_samples(validation, model, "validation")
        stages = self.stages
        self.when = resolve_when(config.when) if stages is None else lambda state: stages.steps_left(state) <= 0
        if not self.state.places:
            raise InputError(
                "model",
                "have a layer whose width can grow",
                hint="creases.places(model, refused=True) lists why each layer cannot",
            )
        check_optimizer(optimizer, model)
        self._counted = StepCount(optimizer)
        self._has_begun = False
        self.steps = 0  #: of the optimizer, in the loop's own count, which never goes back
        self._progress = 0.0  #: at the beginning of the epoch

    @property
    def history(self) -> History:
        """The run's epochs and growth steps so far."""
        return self.state.history

    @property
    def widths(self) -> dict[str, int]:
        """The width of every place, by name."""
        return self.state.widths

    @full_precision()
    def begin(self) -> None:
        """Check that the model can grow, and reinitialise dead units; the first :meth:`step` does it too."""
        state, self._has_begun = self.state, True
        if state.meter.budget.unit == "multiply-adds" and not state.meter.n_samples and not state.metered:
            expected = "be epochs or seconds for a loader that does not say how many samples it has"
            raise InputError("budget", expected, str(state.meter.budget))
        for part, name in ((state.samples, "data"), (state.validation, "validation")):
            if part is not None:
                state.objective.check(_outputs(state.model, part.example(), name), part.arrays(MAX_SAMPLES).y, name)
        check_evidence(state.how, state.evidence)
        places = named_places(state)
        refused = {place.name: refusal(state.how, state.model, place) for place in places}
        if all(refused.values()):
            name, why = next(iter(refused.items()))
            raise InputError("how", "be a method that can grow this model", f"a refusal at {name!r}: {why}")
        while revive_layer(state):
            pass
        if state.metered and self.stages is not None:  # a loop of the user's own has trained it by now
            state.untrained = is_untrained(state)

    @full_precision()
    def step(self, measured: Metrics | None = None, *, steps: int | None = None) -> Record | None:
        """Measure at the end of an epoch and grow if it is time; return the record of the growth step, if any.

        ``measured``: the epoch's own training loss and score, where the loop has them; ``steps``: how often the
        optimizer stepped so far, where its own count does not say so.
        """
        if self.history.ended:
            return None
        if not self._has_begun:
            self.begin()
        self.note(measured, steps=steps)
        return self.decide()

    @full_precision()
    def decide(self, *, grow: bool = True) -> Record | None:
        """Stop, grow or do neither, as the policies decide; return the record of the growth step, if any.

        With ``grow=False`` it does not grow, and a stage in progress ends with the current network.
        """
        state, history = self.state, self.history
        if not grow:
            leave_stage(state)
        growing = grow and not history.growth_ended
        state.record, state.due = None, growing and bool(self.when(state))
        for hook in state.before_decision:
            hook(state)
        reason = next((reason for reason in (stop(state) for stop in self.stops) if reason), "")
        if not reason and state.meter.progress >= 1:
            reason = f"the budget of {state.meter.budget} is spent"
            close_race(state)
        elif reason:
            leave_stage(state)
        if state.due and not reason:
            if self.stages is not None:
                close_stage(state, self.stages)
            else:
                note_outcomes(state)
                self._grow_or_end()
        if reason:
            note_outcomes(state)
        if history.growth_ended and history.growth_spent is None:
            history.growth_spent = state.meter.progress
        history.ended, self._progress = reason, state.meter.progress
        return state.record

    def _grow_or_end(self) -> None:
        """Grow, and charge it to the budget; end growth if there is a reason to."""
        state = self.state
        with count_cost() as cost:
            reason = state.limit.reached(state) or no_improvement(state, self._patience)
            state.record = None if reason else revive_layer(state)  # to a dead layer nothing can be added
            if not reason and state.record is None:
                reason = nothing_to_add(state)
                state.record = None if reason else grow_places(state)
                if not reason and state.record is None:
                    if any(state.propose(place).count for place in state.where(state)):
                        reason = "no proposed unit fits within the size limits"
                    else:
                        self.history.idle += 1
        state.meter.charge(cost.multiply_adds)
        state.history.growth_ended = reason

    @full_precision()
    def grow_now(self) -> Record | None:
        """Grow now, whatever the policies say; return the record, or None if nothing can be added.

        Size limits still apply. If a layer is dead, its units are reinitialised instead. A stage in progress ends with
        the network that grows.
        """
        if not self._has_begun:
            self.begin()
        state = self.state
        state.clear_proposals()  # the network may be trained since
        note_outcomes(state)
        with count_cost() as cost:
            state.record = revive_layer(state) or grow_places(state)
        state.meter.charge(cost.multiply_adds)
        self._progress = state.meter.progress
        if state.record is not None:
            leave_stage(state)
        return state.record

    @full_precision()
    def note(self, measured: Metrics | None = None, *, steps: int | None = None) -> None:
        """Record the metrics of the epoch."""
        state, history = self.state, self.history
        state.clear_proposals()
        measured = measured or measure(state.model, state.inspected, state.objective)
        if not math.isfinite(measured.loss):
            raise InputError(
                "loss",
                "stay finite",
                f"{measured.loss} in epoch {len(history.epochs) + 1}",
                "training diverged or the data contain NaN; lower the learning rate, or scale the data",
            )
        held = None if state.validation is None else measure(state.model, state.validation, state.objective)
        meter = state.meter
        meter.read_clock()
        if not state.metered:  # the loop is the user's own: an epoch is what lies between two calls
            meter.train(meter.n_samples or 0, state.flops // 2)
        if not meter.n_samples:
            meter.epochs += 1
        counted = self._counted.take() or 1  # an optimizer that the grower does not have steps unseen
        steps = self.steps + counted if steps is None else steps
        state.epoch_steps, self.steps = steps - self.steps, steps
        if not state.metered:
            state.measured_share = (meter.progress - self._progress) / max(state.epoch_steps, 1)
            if meter.n_samples:
                state.batch_size = -(-meter.n_samples // max(state.epoch_steps, 1))
        judged = {"loss": None, "score": None} if held is None else held.numbers
        held_out = {f"validation_{name}": value for name, value in judged.items()}
        history.add_epoch({**measured.numbers, **held_out}, state.epoch_steps, meter, state.parameters, self.widths)

    def resume(self, history: History) -> None:
        """Resume after these epochs, with the model as it was then."""
        self.state.history, self._has_begun = history, True
        self.state.clear()
        self._counted.take()
        self.steps, self._progress = 0, 0.0
        if history.epochs:
            self.state.meter.resume(history.last)
            self.steps, self._progress = history.last["steps"], self.state.meter.progress

    def extend(self, budget: str | float | Budget) -> None:
        """Raise the total budget; a run that has ended continues."""
        meter = self.state.meter
        meter.extend(budget)
        self._progress = meter.progress
        self.history.setting["budget"] = str(meter.budget)
        self.history.ended, self.history.note, self.history.kept = "", "", None

    def state_dict(self) -> dict[str, Any]:
        """Return what a checkpoint needs in addition to the model and the optimizer, for :meth:`load_state_dict`."""
        race = None if self.state.race is None else asdict(self.state.race)
        spent = {**self.state.meter.numbers, "steps": self.steps}
        more = {"stage_end": self.state.stage_end, "untrained": self.state.untrained}
        return {"history": self.history.to_json(), "spent": spent, "race": race, **more}

    def load_state_dict(self, saved: Mapping[str, Any]) -> None:
        """Resume after the epochs of a checkpoint, with the model and the optimizer as they were then."""
        self.resume(History.from_json(saved["history"]))
        self.state.race = None if saved["race"] is None else Race.from_dict(saved["race"])
        self.state.stage_end, self.state.untrained = saved["stage_end"], saved["untrained"]
        self.state.meter.resume(saved["spent"])
        self.steps, self._progress = saved["spent"]["steps"], self.state.meter.progress


def _outputs(model: nn.Module, x: Tensor, name: str) -> Any:
    """Return a model's outputs for samples x; refuse data on which it does not run."""
    try:
        with without_side_effects():
            return copy_sharing_parameters(model)(x)
    except (RuntimeError, ValueError, IndexError) as problem:
        shape = f"samples of shape {tuple(x.shape[1:])}"
        raise InputError(name, "be what the model takes", f"{shape}, on which it fails: {problem}") from None


def is_untrained(state: State) -> bool:
    """Return whether a network does no better than a copy whose layers are initialised again.

    False where that cannot be said: of a model that cannot be copied, does not take the samples, or has a layer that
    cannot be initialised.
    """
    try:
        copy = deepcopy(state.model)
        layers = [module for module in copy.modules() if any(True for _ in module.parameters(recurse=False))]
        with torch.random.fork_rng():
            torch.manual_seed(state.seed)
            for layer in layers:
                reset: Any = layer.reset_parameters
                reset()
        arrays = state.samples.arrays(MAX_INSPECTED)
        some = InMemorySamples(arrays.X, arrays.y, arrays.weight)
        with count_cost() as cost:
            loss, reset_loss = (measure(model, some, state.objective).loss for model in (state.model, copy))
    except Exception:  # of any module; what is wrong with samples is said when the run begins
        return False
    state.meter.charge(cost.multiply_adds)
    return loss >= reset_loss - (1 - UNTRAINED) * abs(reset_loss)
