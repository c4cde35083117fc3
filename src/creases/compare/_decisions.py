"""Decisions from outputs: the largest of them, or the sign of a single one."""

from __future__ import annotations

import torch
from torch import Tensor

from creases.errors import InputError


def decisions(values: Tensor) -> Tensor:
    """Return the class that outputs (..., m) decide for: the first largest; with one output 1 where it is positive."""
    if not isinstance(values, Tensor) or not values.ndim or not values.shape[-1]:
        raise InputError("values", "be a tensor of outputs (..., m)", type(values).__name__)
    return (values[..., 0] > 0).long() if values.shape[-1] == 1 else values.argmax(-1)


def log_probabilities(values: Tensor) -> Tensor:
    """Return the logarithms of the softmax of outputs (..., m), in float64.

    A single output is that of class 1, against 0 for class 0.
    """
    values = values.double()
    if values.shape[-1] == 1:
        values = torch.cat([torch.zeros_like(values), values], dim=-1)
    return torch.log_softmax(values, dim=-1)
