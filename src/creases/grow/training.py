"""Training between growth steps, and measuring: over all samples, whichever rank has them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn, optim

from creases.errors import InputError
from creases.grow import ranks
from creases.grow.objective import Objective, decided
from creases.grow.samples import Samples
from creases.network.surgery.example import quietly


@dataclass(frozen=True, eq=False)
class Measured:
    """Mean loss and score over samples."""

    loss: float
    score: float | None
    decisions: Tensor | None  #: this rank's, where something is decided

    @property
    def numbers(self) -> dict[str, float | None]:
        return {"loss": self.loss, "score": self.score}


def train_epoch(
    model: nn.Module,
    optimizer: optim.Optimizer,
    samples: Samples,
    objective: Objective,
    *,
    batch_size: int,
    seed: int,
) -> tuple[Measured, int]:
    """One epoch: the mean loss and the score of the batches as they were trained, and the optimizer's steps."""
    model.train()
    torch.default_generator.manual_seed(seed)  # of dropout and the like: the epoch does not depend on what was before
    sums, steps = torch.zeros(6, dtype=torch.float64), 0
    for x, target, total in samples.epoch(batch_size, seed):
        optimizer.zero_grad()
        if len(x):
            outputs = model(x)
            value = objective.summed(outputs, target, len(x))
            (value / total).backward()  # type: ignore[no-untyped-call]
            sums += torch.cat([_sums(value, len(x)), objective.tally(outputs, target)])
        _share_gradients(model)
        optimizer.step()
        steps += 1
    ranks.total([sums])
    return _measured(sums, objective, None), steps


@torch.no_grad()
def measure(model: nn.Module, samples: Samples, objective: Objective) -> Measured:
    """Mean loss and score in eval mode; the model's mode and the random numbers are left alone."""
    modes = {module: module.training for module in model.modules()}
    sums, decisions = torch.zeros(6, dtype=torch.float64), []
    model.eval()
    try:
        with quietly():
            for x, target in samples.parts():
                if not len(x):
                    continue
                outputs = model(x)
                value = objective.summed(outputs, target, len(x))
                sums += torch.cat([_sums(value, len(x)), objective.tally(outputs, target)])
                if objective.task == "classification":
                    decisions.append(decided(outputs).cpu())
    finally:
        for module, training in modes.items():
            module.training = training
    ranks.total([sums])
    return _measured(sums, objective, torch.cat(decisions) if decisions else None)


def _sums(value: Tensor, n: int) -> Tensor:
    return torch.stack([value.detach().double().cpu(), torch.tensor(float(n), dtype=torch.float64)])


def _measured(sums: Tensor, objective: Objective, decisions: Any) -> Measured:
    if not float(sums[1]):
        raise InputError("data: has no samples")
    return Measured(float(sums[0] / sums[1]), objective.score(sums[2:]), decisions)


def _share_gradients(model: nn.Module) -> None:
    """Sum the gradients over the ranks; each has its share of the batch's mean."""
    if ranks.world() == 1:
        return
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    for parameter in trained:
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
    if trained:
        flat = torch.cat([parameter.grad.flatten() for parameter in trained if parameter.grad is not None])
        ranks.total([flat])
        start = 0
        for parameter in trained:
            stop = start + parameter.numel()
            parameter.grad = flat[start:stop].reshape(parameter.shape).clone()
            start = stop
