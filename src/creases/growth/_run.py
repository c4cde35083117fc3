"""A growth run, one epoch at a time: train, grow, keep the best network, retrain, restore, save and resume."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from copy import copy, deepcopy
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import torch
from torch import nn, optim

from creases.errors import CreasesError, FileError
from creases.growth import _checkpoint as checkpoints
from creases.growth._budget import Budget, Meter
from creases.growth._checkpoint import ModelState
from creases.growth._checks import check_checkpoint
from creases.growth._config import MAY_CHANGE, GrowthConfig, check_ranks, check_setting, describe_run
from creases.growth._grower import Grower
from creases.growth._integrations import _ranks as ranks
from creases.growth._objective import Loss
from creases.growth._race import NetworkState, Race
from creases.growth._records import History, Record, explain_refit
from creases.growth._samples import Samples, as_samples, combine_seeds, resolve_validation, split_samples
from creases.growth._sized import observe_race
from creases.growth._state import State
from creases.growth._training import LearningRate, measure, schedule_name, train_epoch
from creases.network.surgery import unwrap_module

#: Share of the training after growth that comes before the choice between training on and retraining.
WATCHED_SHARE = 0.5

#: The validation loss is past its best if it was lowest before this share of the watched training.
PAST_BEST = 0.9

#: Epochs after growth, at most, in which a network hardly overfits: it is trained on all samples at once.
FEW_EPOCHS = 15

#: Standard errors by which accuracy must have risen since the lowest loss to train on: retraining anneals the rate and
#: has more samples, so the network at the lowest loss is not yet what it can be.
CLEARLY = 1.5

#: Validation samples from which their accuracy counts beside their loss: it may rise while the loss does.
MIN_SCORED = 100


@dataclass(eq=False)
class Refit:
    """Training after growth, watched on validation samples; if it overfits, retraining on all samples.

    Amounts are in the unit of the budget.
    """

    start: NetworkState  #: the network at the end of growth
    epoch: int  #: the last one of growth
    spent: float  #: until the end of growth
    epochs: float = 0.0  #: until the end of growth, with those of networks that were not kept
    decided: bool = False  #: whether it has been chosen between training on and retraining
    begun: float | None = None  #: spent before retraining; None where there is none
    end: float | None = None  #: spent when retraining ends

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Refit:
        """Return what :meth:`to_dict` wrote."""
        return cls(**{**saved, "start": NetworkState.from_dict(saved["start"])})

    def to_dict(self) -> dict[str, Any]:
        """Return it as dicts, lists, numbers and tensors."""
        rest = {name: getattr(self, name) for name in ("epoch", "spent", "epochs", "decided", "begun", "end")}
        return {"start": self.start.to_dict(), **rest}

    @property
    def retrains(self) -> bool:
        """Whether the network is retrained, or was."""
        return self.begun is not None

    def is_time(self, meter: Meter) -> bool:
        """Return whether it is time to choose between training on and retraining."""
        watched = WATCHED_SHARE * (meter.budget.amount - self.spent)
        return not self.decided and meter.spent * (1 + 1e-9) >= self.spent + watched

    def decide(self, best: float, meter: Meter) -> bool:
        """Choose; return whether to retrain. ``best``: spent when the validation loss was lowest."""
        self.decided = True
        if best - self.spent >= PAST_BEST * (meter.spent - self.spent):
            return False
        self.begun = meter.spent
        self.end = min(self.begun + best - self.spent, meter.budget.amount)
        return True

    def is_over(self, meter: Meter) -> bool:
        """Return whether retraining has ended."""
        return self.end is not None and meter.spent * (1 + 1e-9) >= self.end

    def schedule_progress(self, meter: Meter) -> float:
        """Return where the learning rate's schedule is, from 0 to 1: retraining goes from the end of growth to 1."""
        if self.begun is None or self.end is None:
            return meter.progress
        growth = self.spent / meter.budget.amount
        done = (meter.spent - self.begun) / max(self.end - self.begun, 1e-12)
        return min(growth + (1 - growth) * done, 1.0)


def score_change(before: Mapping[str, Any], now: Mapping[str, Any], n: int | None) -> float:
    """Return by how many standard errors the smoothed accuracy on n validation samples is higher than before.

    It is -inf where an epoch's entry has none, or where the samples are too few to say.
    """
    then, score = before.get("smoothed_score"), now.get("smoothed_score")
    if (n or 0) < MIN_SCORED or then is None or score is None:
        return -math.inf
    assert n is not None
    return float((score - then) / math.sqrt((then * (1 - then) + 1 / n) / n))


#: Optimizer steps of the test of the learning rate, the fraction of the budget that it may take, and the factors of the
#: rate that it tries.
STEPS, SHARE, SCALES = 20, 0.01, (1 / 3, 1 / 9, 1 / 27)

#: Fraction of the loss by which it must rise for the rate to be lowered: of a network of few units it may hardly move.
RISE = 0.02


@dataclass(frozen=True, eq=False)
class RunState:
    """A run at one moment: its network, the optimizer's state, the history, the best network so far."""

    network: ModelState
    optimizer: dict[str, Any]
    history: History
    best: tuple[int, ModelState] | None
    schedule: dict[str, Any] | None
    race: Race | None
    stage_end: int | None
    refit: Refit | None
    spent: dict[str, Any]  #: epochs, seconds and multiply-adds


class Run:
    """A growth run, driven step by step: :func:`creases.grow` drives one from :meth:`start` to :meth:`finish`.

    Parameters
    ----------
    model, data, loss, validation, checkpoint
        As for :func:`creases.grow`.
    config
        All other options; by default those of :class:`creases.growth.GrowthConfig`.
    all_samples
        Training and validation samples together, to retrain on with ``keep="refit"``; by default the data of which
        ``validation`` is a fraction. Without them validation samples are never trained on.

    Examples
    --------
    >>> import torch
    >>> from creases import problems
    >>> from creases.growth import GrowthConfig, Run
    >>> with torch.random.fork_rng():
    ...     _ = torch.manual_seed(0)
    ...     model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU(), torch.nn.Linear(2, 2))
    ...     run = Run(model, problems.get("moons", n=200), "classification", GrowthConfig(how="fold"))
    ...     run.start()
    ...     run.epoch()
    ...     state = run.snapshot()
    ...     record = run.grow_now()
    >>> model[0].out_features
    3
    >>> run.restore(state)
    >>> model[0].out_features
    2
    """

    def __init__(
        self,
        model: nn.Module,
        data: Any,
        loss: str | Loss,
        config: GrowthConfig | None = None,
        *,
        validation: Any = None,
        checkpoint: str | Path | None = None,
        all_samples: Any = None,
    ) -> None:
        config = GrowthConfig() if config is None else config
        model = unwrap_module(model)
        samples = as_samples(data, model)
        validation = resolve_validation(samples, validation, config.validation_fraction)
        train, held = split_samples(samples, validation, model, config.seed)
        self._divided: tuple[Samples, Samples | None] = (train, held)
        undivided = samples if isinstance(validation, float) else None
        self._all_samples: Samples | None = undivided if all_samples is None else as_samples(all_samples, model)
        self._holds_out = undivided is not None and all_samples is None  # otherwise the caller needs those held out
        ranks.broadcast(list(model.state_dict().values()))
        self.config = config
        self.optimizer = config.make_optimizer(model, train)
        self.grower = Grower.from_config(model, self.optimizer, train, loss, config, validation=held)
        self.batch_size = self.grower.batch_size
        self.grower.state.batch_size, self.grower.state.metered = self.batch_size, True
        self.rate = LearningRate(self.optimizer, config.schedule)
        self.path = None if checkpoint is None else Path(checkpoint)
        self.best: tuple[int, ModelState] | None = None  #: epoch and network
        self.refit: Refit | None = None  #: once growth has ended, where the network may be retrained
        self.grower.stops.append(
            lambda state: explain_refit(state.history.refit) if self.refit and self.refit.is_over(state.meter) else ""
        )
        self.saved = 0.0  #: when
        self._steps = 0  # of the optimizer, in the history's count
        self._durations: list[float] = []  # of the epoch's steps, in seconds
        self._resumed = False  # whether from the checkpoint
        more = {"batch_size": self.batch_size, "optimizer": type(self.optimizer).__name__, "keep": config.keep}
        more |= {"budget": self.grower.state.meter.budget, "schedule": schedule_name(config.schedule)}
        self.grower.history.setting |= describe_run(train, held, **more)
        check_ranks(self.grower.history.setting)

    @property
    def history(self) -> History:
        """Epochs and growth steps so far."""
        return self.grower.history

    @property
    def state(self) -> State:
        """The state of the run, for policies and callbacks."""
        return self.grower.state

    @property
    def widths(self) -> dict[str, int]:
        """The width of every place, by name."""
        return self.grower.widths

    @property
    def before_decision(self) -> list[Callable[[State], None]]:
        """Functions called with the state at the end of every epoch, before growth."""
        return self.state.before_decision

    @property
    def phase(self) -> str:
        """What is being trained, in a few words; "" if there is nothing special about it."""
        history, race = self.history, self.state.race
        if history.growth_ended:
            return "" if history.ended else f"Training the final network. Growth stopped: {history.growth_ended}."
        if race is None:
            return ""
        stage = f"Stage {len(history.stages) + 1}"
        if race.rival is None:
            return f"{stage}: training the network as it is, for comparison."
        return f"{stage}: training a network of another size that began alike; the better of the two is kept."

    def leave_stage(self) -> None:
        """End a stage in progress with the current network."""
        self.grower.leave_stage()

    def start(self) -> None:
        """Resume from the checkpoint, or begin."""
        saved: list[dict[str, Any] | None] = [None]
        with ranks.fail_together():
            if self.path is not None and ranks.rank() == 0 and self.path.exists():
                saved = [checkpoints.load_checkpoint(self.path)]
        saved = ranks.from_first(saved)
        if self.path is not None and saved[0] is not None:
            with checkpoints.blame_checkpoint(self.path):
                self._load(self.path, saved[0])
            self._resumed = True
        else:
            self.grower.begin()
            if self.config.fits_rate:
                _lower_rate(self.grower.state, self.optimizer, self.batch_size, self._fit_rate)
        self.saved = time.monotonic()

    def epoch(self, *, grow: bool = True) -> None:
        """Train for one epoch, measure, and grow if it is time and ``grow`` allows it."""
        state = self.grower.state
        seed = combine_seeds(state.seed, len(state.history.epochs), 0)
        self._steps, self._durations = state.history.steps, []
        self._fit_rate()
        metrics, steps = train_epoch(
            state.model,
            self.optimizer,
            state.samples,
            state.objective,
            self.batch_size,
            self._epoch_steps(),
            seed=seed,
            take_step=self._take_step,
            before_step=self._before_step,
            after_step=self._after_step,
        )
        state.step_seconds[state.flops] = median(self._durations)
        self.grower.note(metrics, steps=self.grower.steps + steps)
        self._keep()
        self.grower.decide(grow=grow)
        self._watch()
        self._choose_samples()

    def _fit_rate(self) -> None:
        """Set the learning rate that fits the current size of the network, if the configuration asks for it."""
        if self.config.fits_rate:
            state = self.grower.state
            self.rate.set_rate(state.rate_scale * self.config.learning_rate(state.model, state.places))

    def _epoch_steps(self) -> int | None:
        """Return the optimizer steps of the next epoch, at most: it ends where a stage is measured."""
        state, stages = self.grower.state, self.grower.stages
        countable = self.batch_size and state.meter.n_samples  # otherwise an epoch is the least that can be counted
        if stages is not None and not state.history.growth_ended and countable:
            return max(stages.steps_left(state), 1)
        return None

    def _take_step(self) -> None:
        """Take a step of the optimizer and its schedule; in a resumed run, blame the checkpoint where they fail."""
        try:
            self.optimizer.step()
            self.rate.after_step()
        except (CreasesError, torch.cuda.OutOfMemoryError):
            raise
        except Exception as problem:  # of any optimizer
            if not self._resumed:
                raise
            why = f"the optimizer cannot continue from its state there ({problem!r})"
            raise FileError(f"cannot resume from {self.path}: {why}; {checkpoints.DELETE}") from problem

    def _before_step(self) -> bool:
        meter, refit = self.grower.state.meter, self.refit
        self.rate.before_step(meter.progress if refit is None else refit.schedule_progress(meter))
        return meter.progress < 1 and not (refit is not None and refit.is_over(meter))

    def _after_step(self, samples: int) -> None:
        state, before = self.grower.state, self.grower.state.meter.seconds
        state.meter.train(samples, state.flops // 2)
        self._durations.append(state.meter.seconds - before)
        self._steps += 1
        observe_race(state, self._steps)

    def _watch(self) -> None:
        """After growth, watch the validation loss; if it is past its best half-way, retrain on all samples instead."""
        state, history, meter = self.grower.state, self.history, self.grower.state.meter
        can_refit = self._all_samples is not None and self._divided[1] is not None and self.rate.anneals
        if (
            self.config.keep != "refit"
            or not can_refit
            or not history.growth_ended
            or history.ended
            or self.grower.stages is None
        ):
            return
        if self.refit is None:
            self.refit = Refit(NetworkState.from_state(state), len(history.epochs), meter.spent, meter.epochs)
            self.refit.decided = self._holds_out and 0 < state.epochs_left <= FEW_EPOCHS
        elif self.best is not None and self.refit.is_time(meter):
            best = history.epochs[self.best[0] - 1]
            if self._score_change(best) >= CLEARLY:  # the loss may be past its best while decisions still improve
                self.refit.decided = True
            elif self.refit.decide(best[meter.budget.unit.replace("-", "_")], meter):
                self.refit.start.restore(state)
                numbers = {"begun": len(history.epochs), "growth": self.refit.epoch, "best": best["epoch"]}
                history.refit = {**numbers, "epochs": best["epochs"] - self.refit.epochs}

    @property
    def _trains_on_all(self) -> bool:
        """Whether the samples that were held out are trained on too, as nothing is left to choose by them."""
        return self.is_retrained or (self._holds_out and self.refit is not None and self.refit.decided)

    def _score_change(self, before: Mapping[str, Any]) -> float:
        held, classes = self._divided[1], self.grower.state.objective.task == "classification"
        return score_change(before, self.history.last, held.size if held is not None and classes else None)

    @property
    def is_retrained(self) -> bool:
        """Whether the network is retrained on all samples, or was."""
        return self.refit is not None and self.refit.retrains

    def _choose_samples(self) -> None:
        """Train on the samples that were held out too, where nothing is chosen by them any more."""
        state = self.grower.state
        train, held = self._divided
        ended = self.config.keep == "last" and bool(state.history.growth_ended)
        if self._all_samples is not None and (ended or self._trains_on_all):
            train, held = self._all_samples, None
            state.history.joined = state.history.joined or len(state.history.epochs)
        if state.samples is not train:
            state.change_samples(train)
            state.validation = held

    def grow_now(self) -> Record | None:
        """Grow now, whatever the policies say; return None if nothing can be added."""
        record = self.grower.grow_now()
        if record is not None and not self._trains_on_all:
            self.refit = None  # growth ends now
        return record

    def snapshot(self) -> RunState:
        """Return the run as it is now, to :meth:`restore` later."""
        network = ModelState.from_model(self.grower.state.model, self.grower.widths)
        optimizer, history = deepcopy(self.optimizer.state_dict()), self.history.copy()
        state = self.grower.state
        race = copy(state.race)
        schedule = deepcopy(self.rate.state())
        spent = state.meter.numbers
        refit = copy(self.refit)
        return RunState(network, optimizer, history, self.best, schedule, race, state.stage_end, refit, spent)

    def restore(self, state: RunState) -> None:
        """Restore an earlier state bit for bit: the network, the optimizer's state, the history."""
        model, example = self.grower.state.model, self.grower.state.samples.example()
        state.network.restore(model, example, self.optimizer)
        checkpoints.load_optimizer_state(self.optimizer, deepcopy(state.optimizer))
        self.grower.resume(state.history.copy())
        self.best, self.grower.state.race, self.refit = state.best, copy(state.race), copy(state.refit)
        self.grower.state.stage_end = state.stage_end
        self.grower.state.meter.resume(state.spent)
        self.rate.restore(deepcopy(state.schedule))
        self._choose_samples()

    def extend(self, budget: str | float | Budget) -> None:
        """Raise the total budget; a run that has ended continues."""
        self.grower.extend(budget)
        self._extend_refit()

    def _extend_refit(self) -> None:
        """Let retraining take the rest of a budget that is larger now."""
        if self.refit is not None and self.refit.retrains:
            self.refit.end = self.grower.state.meter.budget.amount

    def _keep(self) -> None:
        """Keep the network of this epoch, before it grows, if it is the best yet on validation data."""
        last = self.grower.history.last
        growing = self.grower.stages is not None and not self.history.growth_ended
        if self.config.keep != "last" and last["validation_loss"] is not None and not growing:
            epochs = self.grower.history.epochs
            if self.best is None or last["smoothed_loss"] < epochs[self.best[0] - 1]["smoothed_loss"]:
                self.best = (last["epoch"], ModelState.from_model(self.grower.state.model, last["widths"]))

    def save(self, seconds: float) -> None:
        """Write the checkpoint after a growth step, at the end, and if the last one is older than ``seconds``."""
        state = self.grower.state
        due = state.record is not None or state.history.ended or time.monotonic() - self.saved >= seconds
        if self.path is None or not due or ranks.rank() != 0:
            return
        checkpoints.save_checkpoint(
            self.path,
            {
                **self.grower.state_dict(),
                "model": ModelState.from_model(state.model, self.grower.widths).to_dict(),
                "optimizer": self.optimizer.state_dict(),
                "schedule": self.rate.state(),
                "rate_scale": state.rate_scale,
                "refit": None if self.refit is None else self.refit.to_dict(),
                "best": None if self.best is None else [self.best[0], self.best[1].to_dict()],
            },
        )
        self.saved = time.monotonic()

    def _load(self, path: Path, saved: dict[str, Any]) -> None:
        state = self.grower.state
        history = History.from_json(saved["history"])
        setting, before = state.history.setting, history.setting
        check_setting(path, before, setting)
        check_checkpoint(saved, history)
        ModelState.from_dict(saved["model"]).restore(state.model, state.samples.example(), self.optimizer)
        checkpoints.load_optimizer_state(self.optimizer, saved["optimizer"])
        self.grower.load_state_dict(saved)
        self.refit = None if saved["refit"] is None else Refit.from_dict(saved["refit"])
        if any(before[name] != setting[name] for name in MAY_CHANGE):
            self.history.ended = self.history.note = ""
            self._extend_refit()
        self.history.setting = setting
        self.rate.restore(saved["schedule"])
        state.rate_scale = float(saved["rate_scale"])
        if saved["best"] is not None:
            epoch, network = saved["best"]
            self.best = (int(epoch), ModelState.from_dict(network))
        self._try_networks()
        self._choose_samples()

    def _try_networks(self) -> None:
        """Restore the other networks of a checkpoint in a copy of the model, as the run may do later."""
        race, example = self.grower.state.race, self.grower.state.samples.example()
        trials = [] if race is None else [trial for trial in (race.rival, race.trial) if trial is not None]
        states = [] if race is None else [race.before, *(trial.network for trial in trials)]
        states += [] if self.refit is None else [self.refit.start]
        networks = [state.network for state in states if state is not None]
        networks += [] if self.best is None else [self.best[1]]
        for network in networks:
            network.restore(deepcopy(self.grower.state.model), example)

    def finish(self) -> None:
        """Restore the best network, if ``keep`` asks for it and it is not the last one."""
        state, history = self.grower.state, self.grower.history
        is_last = self.best is None or self._trains_on_all
        if self.best is not None and not is_last and self.config.keep == "refit":
            is_last = self._score_change(history.epochs[self.best[0] - 1]) >= 0
        history.kept = len(history.epochs) if is_last or self.best is None else self.best[0]
        if self._trains_on_all and not self.is_retrained and history.joined is not None:
            history.note = f"all samples, those held out too, were trained on after epoch {history.joined}"
        if self.best is None or history.kept == len(history.epochs):
            return
        self.best[1].restore(state.model, state.samples.example(), self.optimizer)
        history.note = f"the network is from epoch {self.best[0]}, with the lowest smoothed validation loss"


def _lower_rate(state: State, optimizer: optim.Optimizer, batch_size: int, set_rate: Callable[[], None]) -> None:
    """Lower a run's ``rate_scale`` until the loss does not rise in a few steps with the rate that ``set_rate`` sets.

    The steps count towards the budget, and are undone. A run in which they would take more than a hundredth of the
    budget has no test.
    """
    meter = state.meter
    known = state.step_progress or meter.budget.unit == "seconds"
    if not known or STEPS * state.step_progress > SHARE:
        return
    before, loss = NetworkState.from_state(state), measure(state.model, state.inspected, state.objective).loss
    for scale in (*SCALES, SCALES[-1]):
        set_rate()
        _, steps = train_epoch(
            state.model,
            optimizer,
            state.samples,
            state.objective,
            batch_size,
            STEPS,
            seed=combine_seeds(state.seed, 0, 3),
            before_step=lambda: meter.progress <= SHARE,
            after_step=lambda samples: meter.train(samples, state.flops // 2),
        )
        after = measure(state.model, state.inspected, state.objective).loss
        before.restore(state)
        if after <= loss + RISE * abs(loss) or steps < STEPS:  # fewer steps, where the budget has no more, say nothing
            return
        state.rate_scale = scale
