"""What a growth run lowers: the loss of a batch as a sum over its samples, and the score that people read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from creases.errors import InputError
from creases.grow.first_order.observe import Loss, is_mean

Task = Literal["classification", "regression"]


@dataclass(eq=False)
class Objective:
    """A loss with the task it stands for; :func:`objective` makes one."""

    loss: Loss  #: of outputs and a batch's target; a target is y, or (y, weights)
    task: Task | None  #: None for a loss that creases does not know
    weighted: bool  #: whether targets come with weights
    mean: bool | None = None  #: whether the loss is a mean over the samples; None before the first batch

    def summed(self, outputs: Any, target: Any, n: int) -> Tensor:
        """The loss summed over the n samples of a batch, whatever its reduction."""
        value = self.loss(outputs, target)
        if not isinstance(value, Tensor):
            raise InputError(f"loss: expected a tensor from it, got {type(value).__name__}")
        if value.ndim:
            return value.sum()
        if self.mean is None:
            self.mean = is_mean(self.loss, outputs, target, value)
        return value * n if self.mean else value

    @torch.no_grad()
    def tally(self, outputs: Any, target: Any) -> Tensor:
        """Sums over a batch from which :meth:`score` is made, (4,) in float64; zeros where there is no score."""
        y, weight = target if self.weighted else (target, None)
        if self.task is None:
            return torch.zeros(4, dtype=torch.float64)
        w = torch.ones(len(y), dtype=torch.float64) if weight is None else weight.detach().double().cpu()
        if self.task == "classification":
            right = (decided(outputs) == y.reshape(len(y))).double().cpu()
            return torch.stack([w.sum(), (w * right).sum(), w.new_zeros(()), w.new_zeros(())])
        t, f = y.double().cpu().reshape(len(y), -1), outputs.double().cpu().reshape(len(y), -1)
        sums = [w.sum(), *((w[:, None] * part).sum() / t.shape[1] for part in (t, t.square(), (f - t).square()))]
        return torch.stack(sums)

    def score(self, tally: Tensor) -> float | None:
        """Share of right decisions, or R^2 (over all outputs together); None for an unknown loss."""
        n, first, second, error = tally.tolist()
        if self.task is None or not n:
            return None
        if self.task == "classification":
            return float(first / n)
        spread = second - first * first / n
        return float(1 - error / spread) if spread > 0 else float(error == 0)


def objective(loss: str | Loss, *, weighted: bool = False) -> Objective:
    """The objective of a loss: ``"classification"``, ``"regression"``, or a function of outputs and targets.

    Classification is the cross-entropy (of the sign, for a network with one output and classes 0 and 1), regression the
    squared error, both in the mean. torch's own losses are known by their type. With weights a function must give one
    value for each sample.
    """
    if isinstance(loss, str):
        known = {"classification": cross_entropy, "regression": squared_error}
        if loss not in known:
            raise InputError(f"loss: expected 'classification', 'regression' or a function, got {loss!r}")
        task: Task | None = "classification" if loss == "classification" else "regression"
        return Objective(_weighted(known[loss]) if weighted else known[loss], task, weighted)
    if not callable(loss):
        raise InputError(f"loss: expected 'classification', 'regression' or a function, got {type(loss).__name__}")
    task = None
    if isinstance(loss, nn.CrossEntropyLoss | nn.BCEWithLogitsLoss) or loss is F.cross_entropy or loss is cross_entropy:
        task = "classification"
    elif isinstance(loss, nn.MSELoss) or loss is F.mse_loss or loss is squared_error:
        task = "regression"
    return Objective(_weighted(loss) if weighted else loss, task, weighted)


def cross_entropy(outputs: Tensor, y: Tensor) -> Tensor:
    """The cross-entropy of each sample; one output decides by its sign between classes 0 and 1."""
    if outputs.ndim > 1 and outputs.shape[1] > 1:
        return F.cross_entropy(outputs, y.long(), reduction="none")
    flat = outputs.reshape(len(outputs))
    return F.binary_cross_entropy_with_logits(flat, y.to(flat).reshape(len(flat)), reduction="none")


def squared_error(outputs: Tensor, y: Tensor) -> Tensor:
    """The squared error of each sample, in the mean over its outputs."""
    return (outputs.reshape(len(outputs), -1) - y.reshape(len(outputs), -1)).square().mean(1)


def decided(outputs: Tensor) -> Tensor:
    """The classes (n,) that outputs (n, m) decide for."""
    if outputs.ndim > 1 and outputs.shape[1] > 1:
        return outputs.argmax(1)
    return (outputs.reshape(len(outputs)) > 0).long()


def _weighted(loss: Loss) -> Loss:
    def weighted(outputs: Tensor, target: tuple[Tensor, Tensor]) -> Tensor:
        y, weight = target
        values = loss(outputs, y)
        if not isinstance(values, Tensor) or values.shape[:1] != weight.shape:
            raise InputError("loss: with weights it must give one value for each sample; use reduction='none'")
        return values.reshape(len(weight), -1).mean(1) * weight

    return weighted
