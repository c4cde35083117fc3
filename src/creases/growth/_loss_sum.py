"""A loss summed over the samples of a batch, whatever its reduction."""

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
    """A loss as a sum over samples; whether it is a mean is found out on the first batch that tells."""

    loss: Loss
    mean: bool | None = None  #: whether it is a mean over the samples; None as long as that is not known

    def __call__(self, outputs: Any, target: Any, n: int) -> Tensor:
        """The loss summed over the n samples of a batch."""
        value = self.loss(outputs, target)
        if not isinstance(value, Tensor):
            raise InputError(f"loss: expected a tensor from it, got {type(value).__name__}")
        if value.ndim:
            return value.sum()
        if self.mean is None and bool(value):  # a loss of 0 tells nothing, and is 0 either way
            self.mean = _is_mean(self.loss, outputs, target, value)
        return value * n if self.mean else value


def _is_mean(loss: Loss, outputs: Any, target: Any, value: Tensor) -> bool:
    """Whether a loss is a mean over samples: it says so, or it is the same when every sample comes twice."""
    said = getattr(loss, "reduction", None)
    if said in ("mean", "sum"):
        return bool(said == "mean")
    if not isinstance(outputs, Tensor) or not isinstance(target, Tensor):
        raise InputError(
            "loss: cannot tell whether it is a mean or a sum over samples; give it an attribute reduction, "
            "'mean' or 'sum'"
        )
    with torch.no_grad():
        twice = float(loss(torch.cat([outputs, outputs]), torch.cat([target, target])))
    once = float(value.detach())
    if abs(twice - once) <= 1e-3 * abs(once):
        return True
    if abs(twice - 2 * once) <= 1e-3 * abs(once):
        return False
    raise InputError(
        f"loss: is neither a mean nor a sum over samples ({once:.6g} on a batch, {twice:.6g} with every sample twice)"
    )
