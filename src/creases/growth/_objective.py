"""The objective of a growth run: the loss of a batch as a sum over its samples, and a score."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from creases._schema import BOOL
from creases._validation import check_arguments
from creases.errors import InputError

#: From a model's outputs and a batch's target to values for each sample, or to their mean or sum.
Loss = Callable[[Any, Any], Tensor]


@dataclass(eq=False)
class LossSum:
    """A loss as a sum over samples; whether it is a mean is determined on the first batch that shows it."""

    loss: Loss
    mean: bool | None = None  #: whether it is a mean over the samples; None while unknown

    def __call__(self, outputs: Any, target: Any, n: int) -> Tensor:
        """Return the loss summed over the n samples of a batch."""
        value = self.loss(outputs, target)
        if not isinstance(value, Tensor):
            raise InputError("loss", "return a tensor", type(value).__name__)
        if value.ndim:
            return value.sum()
        if self.mean is None and bool(value):  # a loss of 0 is 0 either way
            self.mean = _is_mean(self.loss, outputs, target, value)
        return value * n if self.mean else value


def _is_mean(loss: Loss, outputs: Any, target: Any, value: Tensor) -> bool:
    """Return whether a loss is a mean over samples: by its ``reduction``, or by doubling the batch."""
    reduction = getattr(loss, "reduction", None)
    if reduction in ("mean", "sum"):
        return bool(reduction == "mean")
    if not isinstance(outputs, Tensor) or not isinstance(target, Tensor):
        raise InputError(
            "loss", "have an attribute reduction, 'mean' or 'sum', for outputs or targets other than tensors"
        )
    with torch.no_grad():
        twice = float(loss(torch.cat([outputs, outputs]), torch.cat([target, target])))
    once = float(value.detach())
    if abs(twice - once) <= 1e-3 * abs(once):
        return True
    if abs(twice - 2 * once) <= 1e-3 * abs(once):
        return False
    raise InputError(
        "loss",
        "be a mean or a sum over samples",
        f"{once:.6g} on a batch and {twice:.6g} with every sample twice",
    )


Task = Literal["classification", "regression"]

#: The losses and tasks by name; "cross_entropy" is binary for one output.
_TASKS: dict[str, Task] = {
    "classification": "classification",
    "cross_entropy": "classification",
    "binary_cross_entropy": "classification",
    "regression": "regression",
    "squared_error": "regression",
}


@dataclass(eq=False)
class Objective:
    """A loss and its task; :func:`objective` returns one."""

    loss: Loss  #: of outputs and a batch's target; a target is y, or (y, weights)
    task: Task | None  #: None for an unknown loss
    weighted: bool  #: whether targets come with weights
    is_builtin: bool = False  #: whether the loss is one of the two of this module; :meth:`check` tests their targets
    loss_sum: LossSum = field(init=False)  #: the loss summed over a batch

    def __post_init__(self) -> None:
        self.loss_sum = LossSum(self.loss)

    def check(self, outputs: Any, y: Tensor, name: str) -> None:
        """Refuse targets y that do not fit the model's outputs (n, ...)."""
        if not isinstance(outputs, Tensor) or not outputs.ndim:
            raise InputError("model", "return a tensor (n, ...)", f"{getattr(outputs, 'shape', outputs)!r}")
        if not self.is_builtin:
            if self.task == "regression" and outputs.shape[1:] != y.shape[1:]:
                raise InputError(
                    f"{name}.y",
                    f"have the shape of the model's outputs, {_sample_shape(outputs)}",
                    _sample_shape(y),
                    "reshape y, or use {0}",
                    [("loss", "regression")],
                )
            return
        if self.task == "regression" and _rows(outputs).shape[1] != _rows(y).shape[1]:
            raise InputError(
                f"{name}.y",
                f"have as many values per sample as the model's outputs ({_rows(outputs).shape[1]})",
                f"{_rows(y).shape[1]}",
            )
        if self.task == "classification":
            classes = max(2, _rows(outputs).shape[1]) if outputs.ndim < 3 else outputs.shape[1]
            if bool((y != y.long()).any()) or bool((y < 0).any()) or bool((y >= classes).any()):
                raise InputError(
                    f"{name}.y",
                    f"have class numbers from 0 to {classes - 1}, the model's classes",
                    f"{float(y.min()):g} to {float(y.max()):g}",
                )

    @torch.no_grad()
    def tally(self, outputs: Any, target: Any) -> Tensor:
        """Return sums over a batch, which may be empty, from which :meth:`score` is computed, in float64.

        Classification: weight, weight of correct decisions. Regression: weight, then for each of m outputs the weighted
        sums of targets, their squares, and squared errors, (1 + 3 m,).
        """
        y, weight = target if self.weighted else (target, None)
        if self.task is None or not isinstance(y, Tensor):
            return torch.zeros(1, dtype=torch.float64)
        w = torch.ones(len(y), dtype=torch.float64) if weight is None else weight.detach().double().cpu()
        if self.task == "classification":
            decisions = self.decisions(outputs, target)
            correct = torch.zeros(len(y)) if decisions is None else decisions == y.reshape(len(y)).cpu()
            return torch.stack([w.sum() if decisions is not None else w.new_zeros(()), (w * correct).sum()])
        t = _rows(y).double().cpu()
        error = _rows(outputs).double().cpu() - t if len(y) else t
        return torch.cat([w.sum()[None], *(w @ part for part in (t, t.square(), error.square()))])

    def decisions(self, outputs: Any, target: Any) -> Tensor | None:
        """Return the predicted classes (n,); None if the task is not to predict one class per sample."""
        y = target[0] if self.weighted else target
        if self.task != "classification" or y.numel() != len(y) or (len(y) and outputs.ndim > 2):
            return None
        if not len(y):
            return torch.zeros(0, dtype=torch.int64)
        has_columns = outputs.ndim > 1 and outputs.shape[1] > 1
        classes: Tensor = outputs.argmax(1) if has_columns else (outputs.reshape(len(outputs)) > 0).long()
        return classes.cpu()

    def score(self, tally: Tensor) -> float | None:
        """Return the accuracy, or the mean R^2 over the outputs; None for an unknown loss.

        R^2 of an output whose targets are all equal is 1 if there is no error, 0 otherwise.
        """
        n = float(tally[0])
        if self.task is None or not n:
            return None
        if self.task == "classification":
            return float(tally[1] / n)
        first, second, error = tally[1:].reshape(3, -1)
        spread = (second - first.square() / n).clamp(min=0)
        spread[spread <= 1e-14 * second] = 0  # rounding of targets that are all equal
        share = torch.where(spread > 0, 1 - error / spread, (error == 0).double())
        return float(share.mean())


@check_arguments(weighted=BOOL)
def objective(loss: str | Loss, *, weighted: bool = False) -> Objective:
    """Return the objective of a loss.

    Parameters
    ----------
    loss
        A task, ``"classification"`` or ``"regression"``; the name of a loss, ``"cross_entropy"``,
        ``"binary_cross_entropy"`` or ``"squared_error"``; or a function of outputs and targets. torch's losses are
        recognised by their type. The cross-entropy of one output decides by its sign between classes 0 and 1.
    weighted
        Whether targets come with sample weights; a function must then return a value for each sample.
    """
    if isinstance(loss, str):
        if loss not in _TASKS:
            raise InputError("loss", f"be a function or one of {', '.join(map(repr, _TASKS))}", repr(loss))
        function = cross_entropy if _TASKS[loss] == "classification" else squared_error
        return Objective(_apply_weights(function) if weighted else function, _TASKS[loss], weighted, is_builtin=True)
    if not callable(loss):
        raise InputError("loss", f"be a function or one of {', '.join(map(repr, _TASKS))}", type(loss).__name__)
    task: Task | None = None
    if isinstance(loss, nn.CrossEntropyLoss | nn.BCEWithLogitsLoss) or loss is F.cross_entropy or loss is cross_entropy:
        task = "classification"
    elif isinstance(loss, nn.MSELoss) or loss is F.mse_loss or loss is squared_error:
        task = "regression"
    return Objective(_apply_weights(loss) if weighted else loss, task, weighted)


def cross_entropy(outputs: Tensor, y: Tensor) -> Tensor:
    """Return the cross-entropy of each sample; one output decides by its sign between classes 0 and 1."""
    if outputs.ndim > 1 and outputs.shape[1] > 1:
        return F.cross_entropy(outputs, y.long().reshape(len(y), *outputs.shape[2:]), reduction="none")
    flat = outputs.reshape(len(outputs))
    return F.binary_cross_entropy_with_logits(flat, y.to(flat).reshape(len(flat)), reduction="none")


def squared_error(outputs: Tensor, y: Tensor) -> Tensor:
    """Return the squared error of each sample, averaged over its outputs."""
    return (_rows(outputs) - _rows(y)).square().mean(1)


def _apply_weights(loss: Loss) -> Loss:
    def weighted(outputs: Tensor, target: tuple[Tensor, Tensor]) -> Tensor:
        y, weight = target
        values = loss(outputs, y)
        if not isinstance(values, Tensor) or values.shape[:1] != weight.shape:
            raise InputError("loss", "return one value per sample if there are weights", hint="use reduction='none'")
        return values.reshape(len(weight), -1).sum(1) * weight

    return weighted


def _sample_shape(values: Tensor) -> str:
    return f"{tuple(values.shape[1:])} per sample"


def _rows(values: Tensor) -> Tensor:
    """Return values as (n, m), also for no samples."""
    return values.flatten(1) if values.ndim > 1 else values[:, None]
