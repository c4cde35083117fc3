"""What a growth run lowers: the loss of a batch as a sum over its samples, and the score that people read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from creases.errors import InputError
from creases.growth._loss_sum import Loss, LossSum

Task = Literal["classification", "regression"]


@dataclass(eq=False)
class Objective:
    """A loss with the task it stands for; :func:`objective` makes one."""

    loss: Loss  #: of outputs and a batch's target; a target is y, or (y, weights)
    task: Task | None  #: None for a loss that creases does not know
    weighted: bool  #: whether targets come with weights
    own: bool = False  #: whether the loss is one of creases' own two, which take what :meth:`check` says
    summed: LossSum = field(init=False)  #: the loss summed over a batch

    def __post_init__(self) -> None:
        self.summed = LossSum(self.loss)

    def check(self, outputs: Any, y: Tensor, name: str) -> None:
        """Refuse targets that cannot be those of a model with such outputs (n, ...)."""
        if not isinstance(outputs, Tensor) or not outputs.ndim:
            raise InputError(f"model: expected a tensor (n, ...) from it, got {getattr(outputs, 'shape', outputs)!r}")
        if not self.own:
            if self.task == "regression" and outputs.shape[1:] != y.shape[1:]:
                raise InputError(
                    f"{name}: y has {_each(y)}, the model gives {_each(outputs)}, and the loss would pair each with "
                    "all; give y the model's shape, or loss='regression'"
                )
            return
        if self.task == "regression" and _rows(outputs).shape[1] != _rows(y).shape[1]:
            raise InputError(
                f"{name}: y has {_rows(y).shape[1]} values a sample, the model gives {_rows(outputs).shape[1]}"
            )
        if self.task == "classification":
            classes = max(2, _rows(outputs).shape[1]) if outputs.ndim < 3 else outputs.shape[1]
            if bool((y != y.long()).any()) or bool((y < 0).any()) or bool((y >= classes).any()):
                raise InputError(
                    f"{name}: expected in y the numbers 0 to {classes - 1} of the classes that the model tells apart, "
                    f"got {float(y.min()):g} to {float(y.max()):g}"
                )

    @torch.no_grad()
    def tally(self, outputs: Any, target: Any) -> Tensor:
        """Sums over a batch (of no samples too) from which :meth:`score` is made, in float64.

        Classification: weight, weight of right decisions. Regression: weight, then for each of m outputs the weighted
        sums of targets, their squares, and squared errors, (1 + 3 m,).
        """
        y, weight = target if self.weighted else (target, None)
        if self.task is None or not isinstance(y, Tensor):
            return torch.zeros(1, dtype=torch.float64)
        w = torch.ones(len(y), dtype=torch.float64) if weight is None else weight.detach().double().cpu()
        if self.task == "classification":
            found = self.decisions(outputs, target)
            right = torch.zeros(len(y)) if found is None else found == y.reshape(len(y)).cpu()
            return torch.stack([w.sum() if found is not None else w.new_zeros(()), (w * right).sum()])
        t = _rows(y).double().cpu()
        error = _rows(outputs).double().cpu() - t if len(y) else t
        return torch.cat([w.sum()[None], *(w @ part for part in (t, t.square(), error.square()))])

    def decisions(self, outputs: Any, target: Any) -> Tensor | None:
        """The classes (n,) that are decided for; None where there is no task of one class for each sample."""
        y = target[0] if self.weighted else target
        if self.task != "classification" or y.numel() != len(y) or (len(y) and outputs.ndim > 2):
            return None
        return predicted_classes(outputs).cpu() if len(y) else torch.zeros(0, dtype=torch.int64)

    def score(self, tally: Tensor) -> float | None:
        """Share of right decisions, or R^2 in the mean over the outputs; None for an unknown loss.

        R^2 of an output whose targets are all the same is 1 if they are met, 0 if not.
        """
        n = float(tally[0])
        if self.task is None or not n:
            return None
        if self.task == "classification":
            return float(tally[1] / n)
        first, second, error = tally[1:].reshape(3, -1)
        spread = (second - first.square() / n).clamp(min=0)
        spread[spread <= 1e-14 * second] = 0  # rounding of targets that are all the same
        share = torch.where(spread > 0, 1 - error / spread, (error == 0).double())
        return float(share.mean())


def objective(loss: str | Loss, *, weighted: bool = False) -> Objective:
    """The objective of a loss: ``"classification"``, ``"regression"``, or a function of outputs and targets.

    Classification is the cross-entropy (of the sign, for a network with one output and classes 0 and 1), regression the
    squared error, both in the mean. torch's own losses are known by their type. With weights a function must give
    values for each sample.
    """
    if isinstance(loss, str):
        known = {"classification": cross_entropy, "regression": squared_error}
        if loss not in known:
            raise InputError(f"loss: expected 'classification', 'regression' or a function, got {loss!r}")
        task: Task | None = "classification" if loss == "classification" else "regression"
        return Objective(_weighted(known[loss]) if weighted else known[loss], task, weighted, own=True)
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
        return F.cross_entropy(outputs, y.long().reshape(len(y), *outputs.shape[2:]), reduction="none")
    flat = outputs.reshape(len(outputs))
    return F.binary_cross_entropy_with_logits(flat, y.to(flat).reshape(len(flat)), reduction="none")


def squared_error(outputs: Tensor, y: Tensor) -> Tensor:
    """The squared error of each sample, in the mean over its outputs."""
    return (_rows(outputs) - _rows(y)).square().mean(1)


def predicted_classes(outputs: Tensor) -> Tensor:
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
        return values.reshape(len(weight), -1).sum(1) * weight

    return weighted


def _each(values: Tensor) -> str:
    return f"shape {tuple(values.shape[1:])} a sample"


def _rows(values: Tensor) -> Tensor:
    """(n, m), also for no samples."""
    return values.flatten(1) if values.ndim > 1 else values[:, None]
