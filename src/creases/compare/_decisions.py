"""Decisions from outputs: the largest of them, or the sign of a single one."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from creases._typing import Ints
from creases._validation import as_array
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


def check_classes(y: Any, count: int) -> Ints:
    """Return the classes of ``count`` samples as integers (p,)."""
    classes = as_array(y, "y")
    if classes.shape != (count,) or classes.dtype.kind not in "iub":
        raise InputError(
            "y", f"be {count} whole class numbers, one for each sample", f"{classes.dtype} of shape {classes.shape}"
        )
    return classes.astype(np.int64)


def percent(share: float) -> str:
    """Format a fraction as a percentage with three significant digits."""
    return f"{100 * share:.3g} %"


def format_largest(values: NDArray[np.float64]) -> str:
    """Format the three largest of values (m,) by output: ``4.2 (output 3), 1.1 (output 0), less for the others``."""
    order = np.argsort(-values, kind="stable")[:3]
    listed = ", ".join(f"{values[j]:.4g} (output {j})" for j in order)
    return listed + (", less for the others" if len(values) > 3 else "")
