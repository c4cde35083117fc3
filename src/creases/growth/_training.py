"""Training between growth steps: rates that fit a network, their schedule, an epoch, and measuring."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any

import torch
from torch import Tensor, nn, optim
from torch.optim.lr_scheduler import LRScheduler

from creases.errors import InputError
from creases.growth._integrations import _ranks as ranks
from creases.growth._objective import Objective
from creases.growth._proposal import weight_of
from creases.growth._samples import Samples
from creases.network import Place
from creases.network.surgery import without_side_effects

#: Learning rate of Adam for layers of this many inputs in a network of this many layers, and its limits. The updates of
#: Adam have the same size for every weight, so those of a layer's output grow with its inputs and those of the network
#: with its layers. The best rates of eight data sets fall with about the cube root of the inputs.
RATE, INPUTS, LAYERS, LEAST_RATE, MOST_RATE = 0.01, 16, 3, 3e-4, 0.01

#: Weight decay of this many samples, and its limits: it falls in proportion to their number.
DECAY, SAMPLES, LEAST_DECAY, MOST_DECAY = 0.3, 400, 1e-3, 0.3


def fitting_rate(model: nn.Module, places: Sequence[Place]) -> float:
    """Return the learning rate of Adam for a model, by the inputs of the layers that read its places, and its depth."""
    layers = {link.path for place in places for link in place.consumers}
    sizes = [max(weight_of(model.get_submodule(path))[0].numel(), 1) for path in layers]
    inputs = math.exp(sum(map(math.log, sizes)) / len(sizes)) if sizes else INPUTS
    depth = sum(parameter.ndim > 1 for parameter in model.parameters())
    rate = RATE * math.pow(INPUTS / inputs, 1 / 3) * math.sqrt(LAYERS / max(depth, 1))
    return min(max(rate, LEAST_RATE), MOST_RATE)


def fitting_decay(n: int | None) -> float:
    """Return the weight decay of AdamW for so many samples; the least if that is not known."""
    return LEAST_DECAY if not n else min(max(DECAY * SAMPLES / n, LEAST_DECAY), MOST_DECAY)


def _unmark(method: Any) -> Any:
    """Return what a method of torch wraps; other versions of torch may wrap nothing."""
    return getattr(method, "__wrapped__", method)


class AdamW(optim.AdamW):
    """AdamW of torch without the marks of its methods, which load torch's compiler."""

    add_param_group = _unmark(optim.Optimizer.add_param_group)
    load_state_dict = _unmark(optim.Optimizer.load_state_dict)
    state_dict = _unmark(optim.Optimizer.state_dict)
    zero_grad = _unmark(optim.Optimizer.zero_grad)
    step = torch.no_grad()(_unmark(optim.Adam.step))


#: What makes a scheduler of an optimizer.
MakeScheduler = Callable[[optim.Optimizer], LRScheduler]

_NAMES = ("cosine", "constant")


def check_schedule(schedule: Any) -> None:
    """Check that a schedule is valid."""
    known = schedule in _NAMES if isinstance(schedule, str) else isinstance(schedule, LRScheduler) or callable(schedule)
    if not known:
        expected = "be 'cosine', 'constant', a torch scheduler of your optimizer, or a function that makes one"
        raise InputError("schedule", expected, repr(schedule))


def schedule_name(schedule: Any) -> str:
    """Return a schedule's name, or that of its class."""
    return schedule if isinstance(schedule, str) else type(schedule).__name__


class LearningRate:
    """The learning rate of an optimizer's groups during a run."""

    def __init__(self, optimizer: optim.Optimizer, schedule: Any) -> None:
        self.optimizer, self.anneals = optimizer, schedule == "cosine"
        self.scheduler: LRScheduler | None = None
        if not isinstance(schedule, str):
            self.scheduler = schedule if isinstance(schedule, LRScheduler) else schedule(optimizer)
            if getattr(self.scheduler, "optimizer", None) is not optimizer:
                raise InputError("schedule", "be a scheduler of the optimizer that trains the model", repr(schedule))
        for group in optimizer.param_groups:
            group.setdefault("initial_lr", group["lr"])

    def set_rate(self, rate: float) -> None:
        """Set the learning rate at the start of the schedule for all groups; that of a user's scheduler stays."""
        if self.scheduler is None:
            for group in self.optimizer.param_groups:
                group["initial_lr"] = rate
                group["lr"] = group["lr"] if self.anneals else rate

    def before_step(self, progress: float) -> None:
        """Set the learning rate for a step after this share of the budget."""
        if self.anneals:
            for group in self.optimizer.param_groups:
                group["lr"] = group["initial_lr"] * 0.5 * (1 + math.cos(math.pi * progress))

    def after_step(self) -> None:
        """Step the user's scheduler."""
        if self.scheduler is not None:
            self.scheduler.step()

    def state(self) -> dict[str, Any] | None:
        """Return the state of the user's scheduler for a checkpoint."""
        return None if self.scheduler is None else self.scheduler.state_dict()

    def restore(self, state: dict[str, Any] | None) -> None:
        """Take the state of a checkpoint."""
        if self.scheduler is not None and state is not None:
            self.scheduler.load_state_dict(state)


@dataclass(frozen=True, eq=False)
class Metrics:
    """Mean loss and score over samples."""

    loss: float
    score: float | None
    decisions: Tensor | None  #: this rank's, where something is decided

    @property
    def numbers(self) -> dict[str, float | None]:
        """Loss and score by name."""
        return {"loss": self.loss, "score": self.score}


def train_epoch(
    model: nn.Module,
    optimizer: optim.Optimizer,
    samples: Samples,
    objective: Objective,
    batch_size: int,
    epoch_steps: int | None = None,
    *,
    seed: int,
    take_step: Callable[[], Any] | None = None,
    before_step: Callable[[], bool] = lambda: True,
    after_step: Callable[[int], None] = lambda samples: None,
) -> tuple[Metrics, int]:
    """Train for one epoch; return the mean loss and the score of its batches, and the number of optimizer steps.

    The epoch ends when all samples were seen, after ``epoch_steps`` steps, or when ``before_step`` says no (after one
    step at least). ``after_step`` is called with the number of samples of the step, over all ranks. ``take_step`` is
    the optimizer's step unless given.
    """
    model.train()
    _seed(seed)  # of dropout and the like: the epoch does not depend on what was before
    sums, steps = _Sums(objective), 0
    take_step = optimizer.step if take_step is None else take_step
    with closing(samples.epoch(batch_size, seed)) as batches:
        for x, target, total in islice(batches, epoch_steps):
            if not before_step() and steps:
                break
            optimizer.zero_grad()
            value, outputs = None, None
            if len(x):
                outputs = model(x)
                value = objective.loss_sum(outputs, target, len(x))
                (value / total).backward()  # type: ignore[no-untyped-call]
            sums.add(value, outputs, target, len(x))
            ranks.sum_gradients(model)
            take_step()
            steps += 1
            after_step(total)
    return sums.metrics(None), steps


@torch.no_grad()
def measure(model: nn.Module, samples: Samples, objective: Objective) -> Metrics:
    """Return mean loss and score in eval mode; the model's mode and the random numbers do not change."""
    sums, decisions = _Sums(objective), []
    with preserve_modes(model), without_side_effects(), closing(samples.parts()) as parts:
        model.eval()
        for x, target in parts:
            outputs = model(x) if len(x) else None
            value = objective.loss_sum(outputs, target, len(x)) if len(x) else None
            sums.add(value, outputs, target, len(x))
            decisions.append(objective.decisions(outputs, target))
    known = [part for part in decisions if part is not None]
    return sums.metrics(torch.cat(known) if known else None)


@contextmanager
def preserve_modes(model: nn.Module) -> Iterator[None]:
    """Restore every module's mode, train or eval, afterwards."""
    modes = {module: module.training for module in model.modules()}
    try:
        yield
    finally:
        for module, training in modes.items():
            module.training = training


class _Sums:
    """Sums over an epoch: the loss, the samples, and what the score needs."""

    def __init__(self, objective: Objective) -> None:
        self.objective = objective
        self.sums: Tensor | None = None

    def add(self, value: Tensor | None, outputs: Any, target: Any, n: int) -> None:
        """Add a batch; one without samples adds zeros."""
        loss = torch.zeros((), dtype=torch.float64) if value is None else value.detach().double().cpu()
        head = torch.stack([loss, torch.tensor(float(n), dtype=torch.float64)])
        batch = torch.cat([head, self.objective.tally(outputs, target)])
        self.sums = batch if self.sums is None else self.sums + batch

    def metrics(self, decisions: Tensor | None) -> Metrics:
        """Return means over the samples of all ranks."""
        if self.sums is None:
            raise InputError("data", "have samples")
        ranks.sum_over_ranks([self.sums])
        return Metrics(float(self.sums[0] / self.sums[1]), self.objective.score(self.sums[2:]), decisions)


def _seed(seed: int) -> None:
    """Seed torch's global random numbers, on every device in use, differently on each rank."""
    torch.default_generator.manual_seed(seed + ranks.rank())
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        torch.cuda.manual_seed_all(seed + ranks.rank())
