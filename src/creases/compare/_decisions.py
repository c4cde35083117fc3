"""What outputs decide for: the largest of them, or with a single one its sign."""

from __future__ import annotations

import torch
from torch import Tensor


def decisions(values: Tensor) -> Tensor:
    """The class that outputs (..., m) decide for: the first largest; for one output 1 where it is positive, else 0."""
    return (values[..., 0] > 0).long() if values.shape[-1] == 1 else values.argmax(-1)


def log_probabilities(values: Tensor) -> Tensor:
    """Logarithms of the classes' probabilities by outputs (..., m), in float64: of the softmax.

    A single output is that of class 1, against 0 of class 0.
    """
    values = values.double()
    if values.shape[-1] == 1:
        values = torch.cat([torch.zeros_like(values), values], dim=-1)
    return torch.log_softmax(values, dim=-1)
