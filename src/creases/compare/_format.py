"""Formatting numbers for summaries."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def percent(share: float) -> str:
    """Format a fraction as a percentage with three significant digits."""
    return f"{100 * share:.3g} %"


def format_largest(values: NDArray[np.float64], max_outputs: int = 3) -> str:
    """Format the largest of values (m,) by output: ``4.2 (output 3), 1.1 (output 0), less for the others``."""
    order = np.argsort(-values, kind="stable")[:max_outputs]
    listed = ", ".join(f"{values[j]:.4g} (output {j})" for j in order)
    return listed + (", less for the others" if len(values) > max_outputs else "")
