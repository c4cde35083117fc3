"""How a model compares with others on the test rows, and what to try where one of them is better."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from creases.tables._scores.baselines import CONSTANT, Baseline, measure_name, row_scores
from creases.tables._split.split import TableSplit

#: Digits after the point of scores: a difference that does not show in them is none.
DIGITS = 3


@dataclass(frozen=True)
class Comparison:
    """The difference of two models on the same test rows."""

    other: str  #: the other model
    measure: str  #: "accuracy", "balanced accuracy" or "R²"
    gap: float  #: by how much the first is better
    error: float  #: standard error of that difference

    @property
    def verdict(self) -> str:
        """Whether it is "better", "worse" or, within one standard error, "level"."""
        is_level = round(abs(self.gap), DIGITS) <= round(self.error, DIGITS)
        return "level" if is_level else "better" if self.gap > 0 else "worse"

    def __str__(self) -> str:
        amount = f"{abs(self.gap):.{DIGITS}f} ± {self.error:.{DIGITS}f} in {self.measure}"
        if self.verdict == "level":
            return f"Level with {self.other} on the test rows (difference {amount})."
        return f"{self.verdict.capitalize()} than {self.other} on the test rows, by {amount}."


def compare_models(scores: Sequence[Baseline], data: TableSplit) -> list[Comparison]:
    """Return how the first model compares on the test rows with each of the others that is no constant.

    The standard error is that of the mean of the differences row by row.
    """
    first, *others = scores
    y = data.problem.y[data.test]
    if len(y) < 2:
        return []
    is_regression = data.problem.classes is None
    unit = float(np.var(y)) if is_regression else 1.0
    if unit == 0:
        return []
    result = []
    for other in others:
        if other.name not in CONSTANT:
            gains = (row_scores(first, data) - row_scores(other, data)) / unit
            error = float(gains.std(ddof=1) / np.sqrt(len(gains)))
            measure = "R²" if is_regression else measure_name(data)
            result.append(Comparison(other.name, measure, float(gains.mean()), error))
    return result
