"""Lonely samples: those that share their piece with no other sample.

H breakpoints cut the line into H + 1 pieces. If every sample is alone in its piece (a lonely partition, Theorem 4 of
the lecture), the fit through all of them is a global minimum of the loss. The lecture's probability of that is wrong;
the formulas here are those of the birthday problem (equally spaced breakpoints) and a count of orders (random ones).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from creases._typing import Floats
from creases._validation import check_choice, check_count, check_samples
from creases.errors import InputError
from creases.splines import Spline
from creases.splines.theory import lonely_samples

#: How breakpoints are placed.
Placement = Literal["spaced", "uniform", "cauchy"]


def lonely_probability(n: int, h: int, placement: Literal["spaced", "uniform"] = "spaced") -> float:
    """Return the probability that each of n samples, uniform on an interval, is alone in its piece.

    It corrects Theorem 4 of the lecture.

    Parameters
    ----------
    n
        Number of samples.
    h
        Number of breakpoints.
    placement
        ``"spaced"``: the breakpoints cut the interval into h + 1 equal pieces. The probability is
        ``(h + 1)! / ((h + 1 - n)! (h + 1)^n)``, about ``exp(-n (n - 1) / (2 (h + 1)))``. ``"uniform"``: they are drawn
        independently; it is ``C(h + 1, n) / C(h + n, n)``.

    Examples
    --------
    >>> round(lonely_probability(20, 400), 3), round(lonely_probability(20, 400, "uniform"), 4)
    (0.618, 0.3875)
    """
    n, h = check_count(n, "n"), check_count(h, "h", least=0)
    check_choice(placement, ("spaced", "uniform"), "placement")
    if n > h + 1:
        return 0.0
    i = np.arange(n)
    deficit = i / (h + 1) if placement == "spaced" else (n - 1) / (h + n - i)  # the n factors are 1 - deficit
    return float(np.exp(np.log1p(-deficit).sum()))


def lonely_fraction(n: int, h: int, placement: Literal["spaced", "uniform"] = "spaced") -> float:
    """Return the expected fraction of n samples that are alone in their piece between h breakpoints.

    It is ``(1 - 1 / (h + 1))^(n - 1)`` for "spaced" and ``h (h + 1) / ((h + n) (h + n - 1))`` for "uniform"
    breakpoints; parameters are those of :func:`lonely_probability`.

    Examples
    --------
    >>> [round(lonely_fraction(100, 100 * r), 2) for r in (1, 4, 16)]
    [0.37, 0.78, 0.94]
    """
    n, h = check_count(n, "n"), check_count(h, "h", least=0)
    check_choice(placement, ("spaced", "uniform"), "placement")
    if n == 1:
        return 1.0
    if placement == "spaced":
        return float((1 - 1 / (h + 1)) ** (n - 1))
    return h * (h + 1) / ((h + n) * (h + n - 1))


def interlacing_spline(x: Any, y: Any) -> Spline:
    """Return a spline through samples x (N,), y (N,) with a breakpoint midway between each two neighbours.

    Every sample is lonely, and the bias and the N - 1 units fit one sample each from left to right: a global minimum of
    the loss. It is one of many; its slopes oscillate, since each compensates for the one before.

    Examples
    --------
    >>> interlacing_spline([0.0, 1.0, 3.0], [1.0, 0.0, 2.0])([0.0, 1.0, 3.0])
    array([1., 0., 2.])
    """
    x, y = check_samples(x, y)
    if not len(x) or len(np.unique(x)) != len(x):
        raise InputError("x", "have at least one value, all different")
    order = np.argsort(x)
    x, y = x[order], y[order]
    beta = (x[:-1] + x[1:]) / 2
    slope, slopes = 0.0, [0.0]
    for i, b in enumerate(beta):
        slope = (y[i + 1] - y[i] - slope * (b - x[i])) / (x[i + 1] - b)
        slopes.append(slope)
    return Spline(float(y[0]), 0.0, beta, np.diff(slopes), np.ones(len(beta)))


@dataclass(frozen=True)
class LonelySimulation:
    """How many samples were lonely in random partitions."""

    fraction: float  #: mean fraction of lonely samples
    fraction_spread: float  #: standard deviation of that fraction over the trials
    probability: float  #: fraction of trials in which every sample was lonely
    trials: int

    @property
    def fraction_error(self) -> float:
        """Standard error of ``fraction``."""
        return self.fraction_spread / float(np.sqrt(self.trials))


def simulate_lonely(
    n: int,
    h: int,
    placement: Placement = "spaced",
    *,
    interval: tuple[float, float] = (0.0, 1.0),
    trials: int = 1000,
    seed: int = 0,
) -> LonelySimulation:
    """Draw n samples, uniform on an interval, and h breakpoints, and count the lonely samples.

    Parameters
    ----------
    n
        Number of samples.
    h
        Number of breakpoints.
    placement
        ``"spaced"`` or ``"uniform"`` on the interval, or ``"cauchy"``: standard Cauchy on the line, the distribution
        for independent normal weights and biases of equal variance.
    interval
        Its two ends.
    trials
        Number of random partitions.
    seed
        Seed of the random numbers.

    Examples
    --------
    >>> simulate_lonely(100, 400, "cauchy", interval=(-3, 3), trials=200).fraction  # doctest: +ELLIPSIS
    0.5...
    """
    n, h, trials = check_count(n, "n"), check_count(h, "h", least=0), check_count(trials, "trials")
    check_choice(placement, get_args(Placement), "placement")
    low, high = float(interval[0]), float(interval[1])
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise InputError("interval", "be two finite numbers, the smaller first", repr(interval))
    rng = np.random.default_rng(seed)
    fractions: list[Floats] = []
    batch = max(1, 2**22 // (n + h))  # trials in memory at once
    for start in range(0, trials, batch):
        count = min(batch, trials - start)
        x = rng.uniform(low, high, (count, n))
        cuts = _draw_breakpoints(rng, placement, low, high, (count, h))
        fractions.append(np.array([lonely_samples(*pair).mean() for pair in zip(x, cuts, strict=True)]))
    fraction = np.concatenate(fractions)
    spread = float(fraction.std(ddof=1)) if trials > 1 else 0.0
    return LonelySimulation(float(fraction.mean()), spread, float((fraction == 1).mean()), trials)


def _draw_breakpoints(
    rng: np.random.Generator, placement: Placement, low: float, high: float, shape: tuple[int, int]
) -> Floats:
    if placement == "uniform":
        return rng.uniform(low, high, shape)
    if placement == "cauchy":
        return rng.standard_cauchy(shape)
    return np.broadcast_to(np.linspace(low, high, shape[1] + 2)[1:-1], shape)
