"""Spreads of numbers over seeds, as numbers of a claim, in words and as rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from creases_reproduction.claim import Numbers, Row
from creases_reproduction.experiment import Scale


class Spread(NamedTuple):
    """Numbers of several seeds."""

    mean: float
    sd: float  #: sample standard deviation
    values: tuple[float, ...]  #: one for each seed

    @classmethod
    def from_values(cls, values: Any) -> Spread:
        """Return mean and deviation of numbers; one alone has deviation 0."""
        array = np.asarray(values, np.float64)
        return cls(float(array.mean()), float(array.std(ddof=1)) if len(array) > 1 else 0.0, tuple(array.tolist()))


def summarize_spread(one: Any) -> dict[str, Any]:
    """Return mean, deviation and the mean's 95 % interval (Student's) of numbers of several seeds."""
    n = len(one.values)
    half = float(stats.t.ppf(0.975, n - 1)) * one.sd / n**0.5 if n > 1 else float("nan")
    return {"mean": one.mean, "sd": one.sd, "low": one.mean - half, "high": one.mean + half, "seeds": n}


def spread_row(what: str, printed: float | None, one: Numbers) -> Row:
    """Return a spread as a row of a picture."""
    return Row(what, printed, one["mean"], one["low"], one["high"])


def describe_spread(one: Numbers) -> str:
    """Return mean and deviation."""
    return f"{one['mean']:.3g} ± {one['sd']:.2g}"


def mean_ratio(one: Numbers, other: Numbers) -> float:
    """Return the ratio of two means."""
    return float(one["mean"] / other["mean"])


def scale_experiment(
    experiment: Callable[..., Any], shape: Callable[[Any], Mapping[str, Any]], **quick: Any
) -> Callable[[Scale], Any]:
    """Return an experiment with its own set-up at full scale, with smaller numbers at the quick one.

    Its result as numbers.
    """
    return lambda scale: shape(experiment(**(quick if scale == "quick" else {})))


def summarize_spreads(found: Mapping[Any, Mapping[Any, Any]]) -> dict[str, Any]:
    """Return spreads in two levels of keys as numbers of a claim."""
    return {str(name): {str(how): summarize_spread(item) for how, item in part.items()} for name, part in found.items()}


def list_rows(found: Any) -> dict[str, Any]:
    """Return records as a list of mappings, the rows of a claim."""
    return {"rows": [vars(item) for item in found]}
