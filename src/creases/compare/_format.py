"""Numbers in words, for summaries."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def percent(share: float) -> str:
    """A share in percent, short, and not rounded to nothing."""
    return f"{100 * share:.3g} %"


def counted(number: int, thing: str) -> str:
    """``1 part``, ``3 parts``."""
    return f"{number} {thing}{'' if number == 1 else 's'}"


def outputs_in_words(values: NDArray[np.float64], most: int = 3) -> str:
    """The largest of values (m,) by output: ``4.2 (output 3), 1.1 (output 0)``, and that others are less."""
    order = np.argsort(-values, kind="stable")[:most]
    listed = ", ".join(f"{values[j]:.4g} (output {j})" for j in order)
    return listed + (", less for the others" if len(values) > most else "")
