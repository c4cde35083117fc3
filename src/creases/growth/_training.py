"""Training between growth steps, and measuring, over the samples of all ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any

import torch
from torch import Tensor, nn, optim

from creases.errors import InputError
from creases.growth._objective import Objective
from creases.growth._samples import Samples
from creases.growth.integrations import _ranks as ranks
from creases.network.surgery import without_side_effects


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
