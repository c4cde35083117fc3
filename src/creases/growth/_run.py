"""A growth run, one epoch at a time: train, grow, keep the best network, retrain, restore, save and resume."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import torch
from torch import nn, optim

from creases.errors import CreasesError, FileError
from creases.growth._checkpoint import DELETE, ModelState, load_optimizer_state
from creases.growth._checks import check_checkpoint
from creases.growth._config import GrowthConfig, check_ranks, describe_run
from creases.growth._grower import Grower
from creases.growth._integrations import _ranks as ranks
from creases.growth._objective import Loss
from creases.growth._records import History
from creases.growth._resumable import Resumable
from creases.growth._samples import Samples, as_samples, combine_seeds, resolve_validation, split_samples
from creases.growth._sized import NetworkState, leave_stage
from creases.growth._state import State
from creases.growth._training import LearningRate, measure, schedule_name, train_epoch
from creases.network.surgery import unwrap_module

#: Epochs after growth, at most, in which a network hardly overfits: it is trained on all samples at once.
FEW_EPOCHS = 15

#: The validation loss is not past its best if it was lowest after this part of the first half of the training after
#: growth: then the second half is on all samples.
PAST_BEST = 0.9

#: Optimizer steps of the test of the learning rate, the fraction of the budget that it may take, and the factors of the
#: rate that it tries.
STEPS, SHARE, SCALES = 20, 0.01, (1 / 3, 1 / 9, 1 / 27)

#: Fraction of the loss by which it must rise for the rate to be lowered: of a network of few units it may hardly move.
RISE = 0.02


class Run(Grower, Resumable):
    """A growth run, driven step by step: :func:`creases.grow` drives one from :meth:`start` to :meth:`finish`.

    It is a grower that trains the model itself, one :meth:`epoch` after another.

    Parameters
    ----------
    model, data, loss, validation, checkpoint
        As for :func:`creases.grow`.
    config
        All other options; by default those of :class:`creases.growth.GrowthConfig`.

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
    ) -> None:
        config = GrowthConfig() if config is None else config
        model = unwrap_module(model)
        samples = as_samples(data, model)
        validation = resolve_validation(samples, validation, config.validation_fraction)
        train, held = split_samples(samples, validation, model, config.seed)
        self._divided: tuple[Samples, Samples | None] = (train, held)
        self._all_samples = samples if isinstance(validation, float) else None  # a caller's own are never trained on
        ranks.broadcast(list(model.state_dict().values()))
        self.config = config
        self.optimizer = config.make_optimizer(model, train)
        self._prepare(model, self.optimizer, train, loss, config, held)
        self.state.batch_size, self.state.metered = self.batch_size, True
        self.rate = LearningRate(self.optimizer, config.schedule)
        self.path = None if checkpoint is None else Path(checkpoint)
        self.best: tuple[int, ModelState] | None = None  #: epoch and network
        more = {"batch_size": self.batch_size, "optimizer": type(self.optimizer).__name__, "keep": config.keep}
        more |= {"budget": self.state.meter.budget, "schedule": schedule_name(config.schedule)}
        self.history.setting |= describe_run(train, held, **more)
        check_ranks(self.history.setting)

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
        if race.best is None:
            return f"{stage}: training the network as it is, for comparison."
        return f"{stage}: training a wider network that began alike; the better of the two is kept."

    def leave_stage(self) -> None:
        """End a stage in progress with the current network."""
        leave_stage(self.state)

    def begin(self) -> None:
        """Check that the model can grow, and lower the learning rate where the loss rises with it."""
        super().begin()
        if self.config.fits_rate:
            _lower_rate(self.state, self.optimizer, self.batch_size, self._fit_rate)

    def epoch(self, *, grow: bool = True) -> None:
        """Train for one epoch, measure, and grow if it is time and ``grow`` allows it."""
        state = self.state
        seed = combine_seeds(state.seed, len(state.history.epochs), 0)
        self._fit_rate()
        state.meter.read_clock()
        before = state.meter.progress
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
            after_step=lambda samples: state.meter.train(samples, state.flops // 2),
        )
        state.measured_share = (state.meter.progress - before) / steps
        self.note(metrics, steps=self.steps + steps)
        self._keep()
        self.decide(grow=grow)
        if state.history.joined is None and self._may_join():
            state.history.joined = len(state.history.epochs)
        self._choose_samples()

    def _fit_rate(self) -> None:
        """Set the learning rate that fits the current size of the network, if the configuration asks for it."""
        if self.config.fits_rate:
            state = self.state
            self.rate.set_rate(state.rate_scale * self.config.learning_rate(state.model, state.places))

    def _epoch_steps(self) -> int | None:
        """Return the optimizer steps of the next epoch, at most: it ends where a stage is measured."""
        state, stages = self.state, self.stages
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
            if not self.is_resumed:
                raise
            why = f"the optimizer cannot continue from its state there ({problem!r})"
            raise FileError(f"cannot resume from {self.path}: {why}; {DELETE}") from problem

    def _before_step(self) -> bool:
        progress = self.state.meter.progress
        self.rate.before_step(progress)
        return progress < 1

    def _may_join(self) -> bool:
        """Return whether samples that were held out are trained on from now on, as nothing is left to choose by them.

        By default that is when growth ends, if few epochs follow, or half-way through the training that follows, if the
        validation loss is not past its best there.
        """
        state, history, meter = self.state, self.history, self.state.meter
        if self._all_samples is None or self._divided[1] is None or not history.growth_ended or history.ended:
            return False
        if self.config.keep != "auto" or self.stages is None or not self.rate.anneals:
            return self.config.keep == "last"
        growth, before = history.growth_spent or 0.0, history.epochs[-2]["progress"] if history.epochs[1:] else 0.0
        if before < growth or self.best is None:
            epoch = state.step_share * (meter.n_samples or 0) / max(self.batch_size, 1)
            return bool(epoch) and (1 - meter.progress) / epoch <= FEW_EPOCHS
        half, best = (1 - growth) / 2, history.epochs[self.best[0] - 1]["progress"]
        is_time = before < growth + half <= meter.progress
        return is_time and best - growth >= PAST_BEST * (meter.progress - growth)

    def _choose_samples(self) -> None:
        """Train on the samples that were held out too, where nothing is chosen by them any more."""
        state, (train, held) = self.state, self._divided
        if self._all_samples is not None and self.history.joined is not None:
            train, held = self._all_samples, None
        if state.samples is not train:
            state.change_samples(train)
            state.validation = held

    def _keep(self) -> None:
        """Keep the network of this epoch, before it grows, if it is the best yet on validation data."""
        last = self.history.last
        growing = self.stages is not None and not self.history.growth_ended
        if self.config.keep != "last" and last["validation_loss"] is not None and not growing:
            epochs = self.history.epochs
            if self.best is None or last["smoothed_loss"] < epochs[self.best[0] - 1]["smoothed_loss"]:
                self.best = (last["epoch"], ModelState.from_model(self.state.model, last["widths"]))

    def full_state(self) -> dict[str, Any]:
        """Return the state of the run, for snapshots and its checkpoint."""
        state = self.state
        return {
            **self.state_dict(),
            "model": ModelState.from_model(state.model, self.widths).to_dict(),
            "optimizer": self.optimizer.state_dict(),
            "schedule": self.rate.state(),
            "rate_scale": state.rate_scale,
            "best": None if self.best is None else [self.best[0], self.best[1].to_dict()],
        }

    def load_full_state(self, saved: Mapping[str, Any]) -> None:
        """Go on from what :meth:`full_state` returned."""
        state = self.state
        ModelState.from_dict(saved["model"]).restore(state.model, state.samples.example(), self.optimizer)
        load_optimizer_state(self.optimizer, saved["optimizer"])
        self.load_state_dict(saved)
        self.rate.restore(saved["schedule"])
        state.rate_scale = float(saved["rate_scale"])
        best = saved["best"]
        self.best = None if best is None else (int(best[0]), ModelState.from_dict(best[1]))
        self._choose_samples()

    def check_state(self, saved: Mapping[str, Any], history: History) -> None:
        """Check what the file of a checkpoint says, and that a copy of the model can take its other networks."""
        check_checkpoint(saved, history)
        example = self.state.samples.example()
        networks = [] if saved["best"] is None else [saved["best"][1]]
        if (race := saved["race"]) is not None:
            networks += [race["before"]["network"]]
            networks += [] if race["best"] is None else [race["best"]["network"]["network"]]
        for network in networks:
            ModelState.from_dict(network).restore(deepcopy(self.state.model), example)

    def go_on(self) -> None:
        """Let a run that has ended continue."""
        self.history.ended = self.history.note = ""

    def finish(self) -> None:
        """Restore the best network, if ``keep`` asks for it and it is not the last one."""
        state, history = self.state, self.history
        history.kept = len(history.epochs)
        if history.joined is not None:
            history.note = f"all samples, those held out too, were trained on after epoch {history.joined}"
        elif self.best is not None and self.best[0] < history.kept:
            history.kept = self.best[0]
            self.best[1].restore(state.model, state.samples.example(), self.optimizer)
            history.note = f"the network is from epoch {history.kept}, with the lowest smoothed validation loss"


def _lower_rate(state: State, optimizer: optim.Optimizer, batch_size: int, set_rate: Callable[[], None]) -> None:
    """Lower a run's ``rate_scale`` until the loss does not rise in a few steps with the rate that ``set_rate`` sets.

    The steps count towards the budget, and are undone. A run in which they would take more than a hundredth of the
    budget has no test.
    """
    meter = state.meter
    known = state.step_share or meter.budget.unit == "seconds"
    if not known or STEPS * state.step_share > SHARE:
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
