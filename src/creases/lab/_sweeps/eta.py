"""Estimates of the time a sweep still needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from creases._arguments import check_arguments
from creases._schema import NUMBER


class TimeLeft(NamedTuple):
    """Seconds left: the best estimate, and an 80 % confidence interval."""

    likely: float
    low: float
    high: float


def estimate_time_left(
    chunks: Sequence[tuple[float, float]], cost: float, workers: int, largest: float
) -> TimeLeft | None:
    """Estimate the seconds that jobs of a total cost take on some workers; None while nothing is measured.

    Chunks of jobs run in random order, so the seconds a unit of cost takes are estimated without bias by
    R = sum(seconds) / sum(cost) over the finished chunks (``chunks``: cost and seconds of each), with the standard
    error of a ratio, sqrt(sum((seconds - R cost)^2) / (n (n - 1))) / mean(cost), and Student's t for n - 1 degrees of
    freedom. A single chunk gives the order of magnitude only: a third to three times its own rate.
    A job cannot be split: the time is at least that of the ``largest`` remaining one.
    """
    if not chunks:
        return None
    costs, seconds = np.array(chunks, np.float64).T
    n, rate = len(costs), seconds.sum() / costs.sum()
    if n == 1:
        rates = np.array([rate, rate / 3, rate * 3])
    else:
        error = np.sqrt(((seconds - rate * costs) ** 2).sum() / (n * (n - 1))) / costs.mean()
        rates = rate + error * stdtrit(n - 1, 0.9) * np.array([0, -1, 1])
    share = max(cost / workers, largest)
    return TimeLeft(*np.maximum(rates * share, 0.0).tolist())


def format_time_left(left: TimeLeft | None, passed: float = 0.0) -> str:
    """Format the time left, ``passed`` seconds after the estimate; with its interval while that is wide."""
    if left is None:
        return "measuring"
    likely, low, high = (max(seconds - passed, 0.0) for seconds in left)
    if high - low <= 0.3 * likely or high < 10:
        return f"{format_duration(likely)} left"
    return f"{format_duration(likely)} left ({format_duration(low)} to {format_duration(high)})"


@check_arguments(seconds=NUMBER)
def format_duration(seconds: float) -> str:
    """Format seconds with two digits: 0.4 s, 42 s, 3 min, 2.5 h, 12 days.

    Examples
    --------
    >>> format_duration(200), format_duration(9000), format_duration(0.04)
    ('3.3 min', '2.5 h', '0.0 s')
    """
    for unit, size in (("days", 86400 * 2), ("h", 3600 * 1.5), ("min", 90)):
        if seconds >= size:
            count = seconds / {"days": 86400, "h": 3600, "min": 60}[unit]
            return f"{count:.1f} {unit}" if count < 9.95 else f"{count:.0f} {unit}"
    return f"{seconds:.1f} s" if seconds < 9.95 else f"{seconds:.0f} s"
