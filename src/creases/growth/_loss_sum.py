"""A loss as a sum over the samples of a batch, for any reduction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

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
