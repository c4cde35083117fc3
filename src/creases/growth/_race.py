"""Networks of several sizes that begin alike are trained for as many steps, and held-out data decide between them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from copy import deepcopy
from dataclasses import dataclass, field, fields
from statistics import fmean as mean
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim.swa_utils import update_bn

from creases.growth._checkpoint import ModelState, load_optimizer_state
from creases.growth._integrations import _ranks as ranks
from creases.growth._objective import Objective
from creases.growth._samples import Samples
from creases.growth._state import State
from creases.growth._training import preserve_modes
from creases.network.surgery import without_side_effects

#: Standard errors by which a loss must be lower to count as lower: with none, luck decides.
MIN_GAIN = 1.0

#: Standard deviation of a gain around what is expected, in units of that.
SPREAD = 1.5

#: Blocks of held-out samples whose mean losses are compared in pairs.
BLOCKS = 20

#: A network is looked at with its weights averaged over this last part of its steps, at this many moments: at a high
#: learning rate the loss of a single moment depends on the last few batches more than on the size of the network.
AVERAGED_PART, MOMENTS = 1 / 4, 16


@dataclass(frozen=True, eq=False)
class NetworkState:
    """A network of a run with its optimizer's state and its companions, to go back to."""

    network: ModelState
    optimizer: dict[str, Any] | None
    companions: list[ModelState] = field(default_factory=list)
    averaged: list[int] = field(default_factory=list)  #: how many networks each average among the companions has seen

    @classmethod
    def from_state(cls, state: State) -> NetworkState:
        """Return the network of a run as it is now."""
        widths = state.widths
        optimizer = None if state.optimizer is None else deepcopy(state.optimizer.state_dict())
        companions = [ModelState.from_model(module, widths) for module in state.followers.companions]
        averaged = [int(average.n_averaged) for average in state.followers.averages]
        return cls(ModelState.from_model(state.model, widths), optimizer, companions, averaged)

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> NetworkState:
        """Return the state that :meth:`to_dict` wrote."""
        companions = [ModelState.from_dict(companion) for companion in saved["companions"]]
        return cls(ModelState.from_dict(saved["network"]), saved["optimizer"], companions, saved["averaged"])

    def to_dict(self) -> dict[str, Any]:
        """Return the state as dicts, lists, numbers and tensors."""
        companions = [companion.to_dict() for companion in self.companions]
        rest = {"companions": companions, "averaged": self.averaged}
        return {"network": self.network.to_dict(), "optimizer": self.optimizer, **rest}

    def restore(self, state: State) -> None:
        """Give a run this network bit for bit; learning rates stay as they are, as a schedule owns them."""
        example = state.samples.example()
        self.network.restore(state.model, example, state.optimizer)
        if state.optimizer is not None and self.optimizer is not None:
            groups = [
                {**then, **{name: value for name, value in now.items() if name != "params"}}
                for then, now in zip(self.optimizer["param_groups"], state.optimizer.param_groups, strict=True)
            ]
            load_optimizer_state(state.optimizer, {**deepcopy(self.optimizer), "param_groups": groups})
        for module, companion in zip(state.followers.companions, self.companions, strict=True):
            companion.restore(module, example)
        for average, count in zip(state.followers.averages, self.averaged, strict=True):
            average.n_averaged.fill_(count)
        state.followers.renew(state.model)
        state.clear()


@dataclass(frozen=True, eq=False)
class Trial:
    """A network in a race: its held-out losses whenever they were looked at, and the network when they were lowest."""

    losses: list[list[float]] = field(default_factory=list)  #: by look, then by block
    network: NetworkState | None = None  #: at its best look
    epochs: list[dict[str, Any]] = field(default_factory=list)  #: of the race until then
    flops: int = 0  #: operations of a forward pass
    parameters: int = 0

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> Trial:
        """Return what :meth:`to_dict` wrote."""
        network = None if saved["network"] is None else NetworkState.from_dict(saved["network"])
        return cls(**{**saved, "network": network})

    def to_dict(self) -> dict[str, Any]:
        """Return it as dicts, lists, numbers and tensors."""
        network = None if self.network is None else self.network.to_dict()
        rest = {"losses": self.losses, "epochs": self.epochs, "flops": self.flops, "parameters": self.parameters}
        return {"network": network, **rest}

    def add(self, losses: list[float], state: State, epochs: list[dict[str, Any]]) -> Trial:
        """Return the trial after another look, with the run's network if that is the best one so far."""
        is_best = not self.losses or mean(losses) < min(map(mean, self.losses))
        network = NetworkState.from_state(state) if is_best else self.network
        seen = [*self.losses, losses]
        return Trial(seen, network, epochs if is_best else self.epochs, state.flops, state.parameters)

    def lowest(self, looks: int) -> list[float]:
        """Return the losses by block at the best of the first looks."""
        return min(self.losses[:looks], key=mean)


@dataclass(eq=False)
class Race:
    """Networks of several sizes that begin alike: one is trained, then a wider or narrower one, and so on."""

    before: NetworkState  #: the network with which all begin
    epoch: int  #: the last one before
    records: int  #: growth steps before
    steps: int  #: of the first network
    stage_records: int = 0  #: growth steps before the network that trains now
    widths: dict[str, int] = field(default_factory=dict)  #: of the best network so far
    factor: float = 1.0  #: by which the network that trains now is wider than the best so far
    plan: list[int] = field(default_factory=list)  #: steps after which the network that trains now is looked at
    rival: Trial | None = None  #: the best so far; None while the first network trains
    trial: Trial = field(default_factory=Trial)  #: of the network that trains now
    average: dict[str, Tensor] = field(default_factory=dict)  #: parameters of the network that trains now, averaged
    averaged: int = 0  #: moments
    reason: str = ""  #: why no wider network is tried any more

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> Race:
        """Return the race that :meth:`to_dict` wrote."""
        rival = None if saved["rival"] is None else Trial.from_dict(saved["rival"])
        before, trial = NetworkState.from_dict(saved["before"]), Trial.from_dict(saved["trial"])
        return cls(**{**saved, "before": before, "rival": rival, "trial": trial})

    def to_dict(self) -> dict[str, Any]:
        """Return the race as dicts, lists, numbers and tensors."""
        content = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        parts = {name: content[name] for name in ("before", "rival", "trial")}
        return {**content, **{name: None if part is None else part.to_dict() for name, part in parts.items()}}

    @property
    def next_look(self) -> int | None:
        """The steps after which the network that trains now is looked at next; None where all looks are done."""
        done = len(self.trial.losses)
        return self.plan[done] if done < len(self.plan) else None

    @torch.no_grad()
    def observe(self, model: nn.Module, steps_left: int) -> None:
        """Add the parameters of the network that trains to their average, if this is one of the moments to do so."""
        part = AVERAGED_PART * (self.next_look or 0)
        if not 0 <= steps_left <= part or steps_left % max(round(part / MOMENTS), 1):
            return
        now = {name: value.detach() for name, value in model.named_parameters()}
        if any(now[name].shape != value.shape for name, value in self.average.items()):
            self.average, self.averaged = {}, 0  # the network has another size
        self.averaged += 1
        before = self.average or now
        self.average = {
            name: torch.lerp(before[name].to(value), value, 1 / self.averaged) for name, value in now.items()
        }


@contextmanager
def average_weights(model: nn.Module, average: dict[str, Tensor], samples: Samples) -> Iterator[None]:
    """Give a model averaged weights for a while, with the statistics of its batch norms measured on samples.

    With an empty average the model stays as it is.
    """
    if not average:
        yield
        return
    parameters, buffers = dict(model.named_parameters()), dict(model.named_buffers())
    saved = {name: value.detach().clone() for name, value in (parameters | buffers).items()}
    try:
        with torch.no_grad(), without_side_effects(), preserve_modes(model):
            for name, value in average.items():
                parameters[name].copy_(value)
            with closing(samples.parts()) as parts:
                update_bn((x for x, _ in parts if len(x) > 1), model)  # which needs two samples at least
        yield
    finally:
        with torch.no_grad():
            for name, value in (parameters | buffers).items():
                value.copy_(saved[name])


@torch.no_grad()
def block_losses(model: nn.Module, samples: Samples, objective: Objective) -> list[float]:
    """Return the mean losses in eval mode of samples in blocks, the same blocks at every call."""
    sums = torch.zeros(2, BLOCKS, dtype=torch.float64)
    number = 0
    with preserve_modes(model), without_side_effects(), closing(samples.parts()) as parts:
        model.eval()
        for x, target in parts:
            if not len(x):
                continue
            outputs = model(x)
            for rows in torch.tensor_split(torch.arange(len(x), device=x.device), min(len(x), BLOCKS)):
                loss = objective.loss_sum(outputs[rows], _take(target, rows), len(rows))
                sums[0, number % BLOCKS] += float(loss)
                sums[1, number % BLOCKS] += len(rows)
                number += 1
    ranks.sum_over_ranks([sums])
    used = sums[1] > 0
    return [float(value) for value in sums[0, used] / sums[1, used]]


def _take(target: Any, rows: Tensor) -> Any:
    return tuple(part[rows] for part in target) if isinstance(target, tuple | list) else target[rows]


def shrink_gain(gain: float, error: float, expected: float) -> float:
    """Return a gain that was measured with an error as it is most likely, given what was expected."""
    if not expected or not error:
        return gain
    measured, prior = 1 / error**2, 1 / (SPREAD * expected) ** 2
    return (measured * gain + prior * expected) / (measured + prior)


def compare_losses(training_on: list[float], grown: list[float]) -> tuple[float, float]:
    """Return by how much the grown network's loss is lower in the mean, and the standard error of that, over blocks."""
    difference = torch.tensor(training_on, dtype=torch.float64) - torch.tensor(grown, dtype=torch.float64)
    error = float(difference.std() / len(difference) ** 0.5) if len(difference) > 1 else 0.0
    return float(difference.mean()), error
