"""A growth run an epoch at a time: train, grow, keep the best network, go back to a moment, save and resume."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import torch
from torch import nn, optim

from creases.errors import InputError
from creases.growth import _checkpoint as checkpoints
from creases.growth import _distributed as ranks
from creases.growth._checkpoint import ModelState
from creases.growth._grower import Grower
from creases.growth._loss_sum import Loss
from creases.growth._records import History, Record, validation_merit
from creases.growth._samples import DatasetSamples, InMemorySamples, Samples, as_samples
from creases.growth._state import combine_seeds
from creases.growth._training import train_epoch
from creases.growth.methods._evidence import GrowthMethod
from creases.growth.policies._stop import Stop
from creases.growth.policies._when import When
from creases.growth.policies._where import Where
from creases.network.surgery import unwrap_module

#: What makes an optimizer for a model's parameters.
MakeOptimizer = Callable[[Iterable[nn.Parameter]], optim.Optimizer]


@dataclass(frozen=True, eq=False)
class RunState:
    """A moment of a run to go back to: its network, the optimizer's state, the history, the best network so far."""

    network: ModelState
    optimizer: dict[str, Any]
    history: History
    steps: int
    best: tuple[int, ModelState] | None


@dataclass(eq=False)
class Run:
    """A growth run that is driven by hand: :func:`creases.grow` drives one from :meth:`start` to :meth:`finish`.

    Examples
    --------
    >>> import torch
    >>> from creases import problems
    >>> from creases.growth import Run
    >>> with torch.random.fork_rng():
    ...     _ = torch.manual_seed(0)
    ...     model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU(), torch.nn.Linear(2, 2))
    ...     run = Run.of(model, problems.get("moons", n=200), "classification", how="fold", lr=0.02)
    ...     run.start()
    ...     run.epoch()
    ...     mark = run.mark()
    ...     record = run.grow_now()
    >>> model[0].out_features
    3
    >>> run.back(mark)
    >>> model[0].out_features
    2
    """

    grower: Grower
    optimizer: optim.Optimizer
    batch_size: int
    epoch_steps: int | None
    path: Path | None
    keep: str
    steps: int = 0
    best: tuple[int, ModelState] | None = None  #: epoch and network
    saved: float = 0.0  #: when

    @classmethod
    def of(
        cls,
        model: nn.Module,
        data: Any,
        loss: str | Loss,
        *,
        how: str | GrowthMethod = "tiny",
        where: str | Where = "bottleneck",
        when: str | int | When = "plateau",
        stop: Stop | Sequence[Stop] = (),
        max_epochs: int = 1000,
        validation: Any = None,
        recycle: bool = True,
        optimizer: optim.Optimizer | MakeOptimizer | None = None,
        lr: float = 1e-3,
        batch_size: int = 100,
        epoch_steps: int | None = None,
        keep: Literal["best", "last"] = "best",
        seed: int = 0,
        checkpoint: str | Path | None = None,
    ) -> Run:
        """A run that has not begun; what it takes is what :func:`creases.grow` takes."""
        model = unwrap_module(model)
        train, held = _divided(as_samples(data, model), validation, model, seed)
        for name, number in (("batch_size", batch_size), ("max_epochs", max_epochs), ("epoch_steps", epoch_steps)):
            if (number is not None or name != "epoch_steps") and (not isinstance(number, int) or number < 1):
                raise InputError(f"{name}: expected at least 1, got {number!r}")
        if keep not in ("best", "last"):
            raise InputError(f"keep: expected 'best' or 'last', got {keep!r}")
        ranks.broadcast(list(model.state_dict().values()))
        trained = _optimizer(model, optimizer, lr)
        policies: dict[str, Any] = {"how": how, "where": where, "when": when, "stop": stop, "max_epochs": max_epochs}
        grower = Grower(model, trained, train, loss, **policies, validation=held, recycle=recycle, seed=seed)
        more = {"max_epochs": max_epochs, "data": _fingerprint(train), "batch_size": batch_size}
        more |= {"epoch_steps": epoch_steps, "validation": "none" if held is None else _fingerprint(held)}
        more |= {"optimizer": type(trained).__name__}
        grower.history.setting |= {name: str(value) for name, value in more.items()}
        _check_ranks(grower.history.setting)
        return cls(grower, trained, batch_size, epoch_steps, None if checkpoint is None else Path(checkpoint), keep)

    @property
    def history(self) -> History:
        """The run's epochs and growth steps so far."""
        return self.grower.history

    def start(self) -> None:
        """Go on from the checkpoint, or begin."""
        found: list[dict[str, Any] | None] = [None]
        with ranks.fail_together():
            if self.path is not None and ranks.rank() == 0 and self.path.exists():
                found = [checkpoints.load_checkpoint(self.path)]
        found = ranks.from_first(found)
        if self.path is not None and found[0] is not None:
            self._load(self.path, found[0])
        else:
            self.grower.begin()
        self.saved = time.monotonic()

    def epoch(self) -> None:
        """Train one epoch; measure, and grow if it is time."""
        state = self.grower.state
        seed = combine_seeds(state.seed, len(state.history.epochs), 0)
        measured, steps = train_epoch(
            state.model, self.optimizer, state.samples, state.objective, self.batch_size, self.epoch_steps, seed=seed
        )
        self.steps += steps
        self.grower.note(measured, steps=self.steps)
        self._keep()
        self.grower.decide()

    def grow_now(self) -> Record | None:
        """Grow at once, whatever the policies say; None where nothing can be added."""
        return self.grower.grow_now()

    def mark(self) -> RunState:
        """The run as it is now, to go :meth:`back` to."""
        history = self.history
        kept = replace(history, epochs=list(history.epochs), records=[replace(record) for record in history.records])
        network = ModelState.of(self.grower.state.model, self.grower.widths)
        return RunState(network, deepcopy(self.optimizer.state_dict()), kept, self.steps, self.best)

    def back(self, mark: RunState) -> None:
        """Make the run what it was at a mark, bit for bit: the network, the optimizer's state, the history."""
        state, was = self.grower.state, mark.history
        mark.network.restore(state.model, state.samples.example(), self.optimizer)
        checkpoints.load_optimizer_state(self.optimizer, deepcopy(mark.optimizer))
        kept = replace(was, epochs=list(was.epochs), records=[replace(record) for record in was.records])
        self.grower.resume(kept)
        self.steps, self.best = mark.steps, mark.best

    def _keep(self) -> None:
        """Keep the network of this epoch if it is the best yet on validation data, before it grows."""
        last = self.grower.history.last
        if self.keep == "best" and last["validation_loss"] is not None:
            epochs = self.grower.history.epochs
            if self.best is None or validation_merit(last) > validation_merit(epochs[self.best[0] - 1]):
                self.best = (last["epoch"], ModelState.of(self.grower.state.model, last["widths"]))

    def save(self, seconds: float) -> None:
        """Write the checkpoint after a growth step, at the end, and when the last one is old."""
        state = self.grower.state
        due = state.record is not None or state.history.ended or time.monotonic() - self.saved >= seconds
        if self.path is None or not due or ranks.rank() != 0:
            return
        checkpoints.save_checkpoint(
            self.path,
            {
                "history": state.history.to_json(),
                "widths": self.grower.widths,
                "model": state.model.state_dict(),
                "optimizer": self.optimizer.state_dict(),
                "steps": self.steps,
                "best": None if self.best is None else [self.best[0], self.best[1].widths, self.best[1].tensors],
            },
        )
        self.saved = time.monotonic()

    def _load(self, path: Path, found: dict[str, Any]) -> None:
        state = self.grower.state
        history = History.from_json(found["history"])
        _check_setting(path, history.setting, state.history.setting)
        if any(history.setting[name] != state.history.setting[name] for name in _MAY_CHANGE):
            history.ended = ""
        history.setting = state.history.setting
        ModelState(found["widths"], found["model"]).restore(state.model, state.samples.example(), self.optimizer)
        checkpoints.load_optimizer_state(self.optimizer, found["optimizer"])
        self.grower.resume(history)
        self.steps = found["steps"]
        if found["best"] is not None:
            epoch, widths, tensors = found["best"]
            self.best = (epoch, ModelState(widths, tensors))

    def finish(self) -> None:
        """Go back to the best network, if that was asked for and is another than the last."""
        state, history = self.grower.state, self.grower.history
        if self.best is None or self.best[0] == len(history.epochs):
            return
        self.best[1].restore(state.model, state.samples.example(), self.optimizer)
        note = f"; the network is that of epoch {self.best[0]}, the best on validation data"
        if note not in history.ended:
            history.ended += note


#: Settings that a run may be resumed with another value of: it goes on longer.
_MAY_CHANGE = ("stop", "max_epochs")


def _check_setting(path: Path, was: dict[str, str], now: dict[str, str]) -> None:
    for name in now.keys() - set(_MAY_CHANGE):
        if was.get(name) != now[name]:
            raise InputError(
                f"checkpoint: {path} is of a run with {name} = {was.get(name)}, this one has {now[name]}; make the "
                "same call, or give another file"
            )


def _divided(train: Any, validation: Any, model: nn.Module, seed: int) -> tuple[Any, Any]:
    """The samples to train on and to measure with."""
    if not isinstance(validation, int | float) or isinstance(validation, bool):
        return train, None if validation is None else as_samples(validation, model, "validation")
    if not isinstance(train, InMemorySamples) or not 0 < validation < 1:
        raise InputError(
            f"validation: expected samples, or a share between 0 and 1 of data in memory, got {validation}"
        )
    order = torch.randperm(len(train), generator=torch.Generator().manual_seed(combine_seeds(seed, 2)))
    aside = max(1, round(validation * len(train)))
    if aside >= len(train):
        raise InputError(f"validation: {validation} of {len(train)} samples leaves none to train on")
    return train.part(order[aside:].sort().values, "data"), train.part(order[:aside].sort().values, "validation")


def _fingerprint(data: Samples) -> str:
    """What tells data in memory from other data."""
    if not isinstance(data, InMemorySamples):
        return f"{len(data)} samples" if isinstance(data, DatasetSamples) else "a loader"
    check = 0
    for part in (data.X, data.y, data.weight):
        if part is not None:
            check = zlib.crc32(part.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().data, check)
    return f"{len(data)} samples, {check:08x}"


def _check_ranks(setting: dict[str, str]) -> None:
    with ranks.fail_together():
        for name, value in ranks.from_first(setting).items():
            if setting[name] != value:
                mine = f"{setting[name]} on rank {ranks.rank()}"
                raise InputError(f"{name}: is {mine}, {value} on rank 0; every process makes the same call")


def _optimizer(model: nn.Module, given: optim.Optimizer | MakeOptimizer | None, lr: float) -> optim.Optimizer:
    if given is None:
        if not 0 <= lr < float("inf"):
            raise InputError(f"lr: expected a learning rate of at least 0, got {lr!r}")
        return optim.Adam(model.parameters(), lr=lr)
    if isinstance(given, optim.Optimizer):
        return given
    if not callable(given):
        raise InputError(f"optimizer: expected an optimizer or a function that makes one, got {type(given).__name__}")
    return given(model.parameters())
