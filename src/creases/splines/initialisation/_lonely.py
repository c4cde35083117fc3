"""Lonely data: those that no other datum shares a piece with.

H breakpoints cut the line into H + 1 pieces. Where every datum is alone in its piece (a lonely partition, Theorem 4 of
the lecture), the fit through all of them is a global minimum of the loss. The lecture's probability of that is wrong;
the formulas here are the birthday problem's (equally spaced breakpoints) and a count of orders (random ones).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from creases._typing import Bools, Floats
from creases._validation import check_count, check_numbers, check_samples
from creases.errors import InputError
from creases.splines._spline import Spline

Spacing = Literal["spaced", "uniform", "cauchy"]


def lonely_probability(n: int, h: int, how: Literal["spaced", "uniform"] = "spaced") -> float:
    """Probability that each of n data, uniform on an interval, is alone in its piece between h breakpoints.

    ``how`` the breakpoints lie in the interval: "spaced", cutting it into h + 1 equal pieces,
    ``(h + 1)! / ((h + 1 - n)! (h + 1)^n)``, about ``exp(-n (n - 1) / (2 (h + 1)))``; "uniform", drawn
    independently, ``C(h + 1, n) / C(h + n, n)``.

    >>> round(lonely_probability(20, 400), 3), round(lonely_probability(20, 400, "uniform"), 4)
    (0.618, 0.3875)
    """
    n, h = check_count(n, "n"), _breakpoints(h)
    _check_how(how, ("spaced", "uniform"))
    if n > h + 1:
        return 0.0
    i = np.arange(n)
    short = i / (h + 1) if how == "spaced" else (n - 1) / (h + n - i)  # the n factors are 1 - short
    return float(np.exp(np.log1p(-short).sum()))


def lonely_fraction(n: int, h: int, how: Literal["spaced", "uniform"] = "spaced") -> float:
    """Expected share of n data that are alone in their piece between h breakpoints; see :func:`lonely_probability`.

    "spaced": ``(1 - 1 / (h + 1))^(n - 1)``. "uniform": ``h (h + 1) / ((h + n) (h + n - 1))``.

    >>> [round(lonely_fraction(100, 100 * r), 2) for r in (1, 4, 16)]
    [0.37, 0.78, 0.94]
    """
    n, h = check_count(n, "n"), _breakpoints(h)
    _check_how(how, ("spaced", "uniform"))
    if n == 1:
        return 1.0
    if how == "spaced":
        return float((1 - 1 / (h + 1)) ** (n - 1))
    return h * (h + 1) / ((h + n) * (h + n - 1))


def is_lonely(x: Any, breakpoints: Any) -> Bools:
    """Which data x (..., n) are alone in their piece between breakpoints (..., h); leading axes are batches.

    A datum on a breakpoint belongs to the piece on its left. Equal data share their piece. Breakpoints at infinity
    (of units without weight) cut nothing.

    >>> is_lonely([0.0, 1.0, 2.0, 3.0], [0.5, 1.5]).tolist()
    [True, True, False, False]
    """
    x, cuts = check_numbers(x, "x"), check_numbers(breakpoints, "breakpoints")
    if x.ndim < 1 or cuts.shape[:-1] != x.shape[:-1] or cuts.ndim != x.ndim:
        raise InputError(f"breakpoints: expected the leading axes of x {x.shape}, got {cuts.shape}")
    if np.isnan(x).any() or np.isnan(cuts).any():
        raise InputError("x: NaN among the data or the breakpoints; a datum needs a place")
    n = x.shape[-1]
    if not n:
        return np.zeros(x.shape, bool)
    both = np.concatenate([x, cuts], axis=-1)
    order = np.argsort(both, axis=-1, kind="stable")  # stable: a datum comes before a breakpoint on it
    piece = np.empty(both.shape, np.int64)
    np.put_along_axis(piece, order, np.cumsum(order >= n, axis=-1), axis=-1)
    piece = piece[..., :n]
    ranks = np.argsort(piece, axis=-1, kind="stable")
    ordered = np.take_along_axis(piece, ranks, axis=-1)
    same = np.diff(ordered, axis=-1) == 0  # as the next
    edge = np.zeros((*x.shape[:-1], 1), bool)
    alone = ~np.concatenate([same, edge], axis=-1) & ~np.concatenate([edge, same], axis=-1)
    found = np.empty(x.shape, bool)
    np.put_along_axis(found, ranks, alone, axis=-1)
    return found


def interlacing_spline(x: Any, y: Any) -> Spline:
    """A function through all data x (N,), y (N,), with N - 1 units, one breakpoint midway between each two data.

    Every datum is lonely, and the bias and the units take up one datum each from left to right: a global minimum of
    the loss. (One of many; its slopes swing, since each makes up for the one before.)

    >>> interlacing_spline([0.0, 1.0, 3.0], [1.0, 0.0, 2.0])([0.0, 1.0, 3.0])
    array([1., 0., 2.])
    """
    x, y = check_samples(x, y)
    if not len(x) or len(np.unique(x)) != len(x):
        raise InputError("x: expected at least one datum, and no two at one place")
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
    """How many data were lonely in drawn partitions."""

    fraction: float  #: mean share of lonely data
    fraction_spread: float  #: standard deviation of that share from draw to draw
    probability: float  #: share of draws in which every datum was lonely
    trials: int

    @property
    def fraction_error(self) -> float:
        """Standard error of ``fraction``."""
        return self.fraction_spread / float(np.sqrt(self.trials))


def simulate_lonely(
    n: int,
    h: int,
    how: Spacing = "spaced",
    *,
    interval: tuple[float, float] = (0.0, 1.0),
    trials: int = 1000,
    seed: int = 0,
) -> LonelySimulation:
    """Draw n data uniform on ``interval`` and h breakpoints, and count who is lonely.

    ``how`` the breakpoints lie: "spaced" or "uniform" on the interval, or "cauchy", standard Cauchy on the whole line:
    where independent Gaussian weights and biases of equal variance put them.

    >>> simulate_lonely(100, 400, "cauchy", interval=(-3, 3), trials=200).fraction  # doctest: +ELLIPSIS
    0.5...
    """
    n, h, trials = check_count(n, "n"), _breakpoints(h), check_count(trials, "trials")
    _check_how(how, ("spaced", "uniform", "cauchy"))
    low, high = float(interval[0]), float(interval[1])
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise InputError(f"interval: expected two finite numbers, the smaller first, got {interval!r}")
    rng = np.random.default_rng(seed)
    shares: list[Floats] = []
    batch = max(1, 2**22 // (n + h))  # draws held at once
    for start in range(0, trials, batch):
        count = min(batch, trials - start)
        x = rng.uniform(low, high, (count, n))
        cuts = _draw(rng, how, low, high, (count, h))
        shares.append(is_lonely(x, cuts).mean(axis=1))
    share = np.concatenate(shares)
    spread = float(share.std(ddof=1)) if trials > 1 else 0.0
    return LonelySimulation(float(share.mean()), spread, float((share == 1).mean()), trials)


def _draw(rng: np.random.Generator, how: Spacing, low: float, high: float, shape: tuple[int, int]) -> Floats:
    if how == "uniform":
        return rng.uniform(low, high, shape)
    if how == "cauchy":
        return rng.standard_cauchy(shape)
    return np.broadcast_to(np.linspace(low, high, shape[1] + 2)[1:-1], shape)


def _breakpoints(h: Any) -> int:
    return 0 if isinstance(h, int | np.integer) and h == 0 else check_count(h, "h")


def _check_how(how: Any, allowed: tuple[str, ...]) -> None:
    if how not in allowed:
        raise InputError(f"how: expected one of {', '.join(map(repr, allowed))}, got {how!r}")
