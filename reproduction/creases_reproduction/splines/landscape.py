"""The lecture on the loss and its descent: lonely data, breakpoints that stick to data, births and deaths with depth.

Each function has the set-up as its defaults and gives one result per condition, with every seed's number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from creases._typing import Floats
from creases.lab import Batch
from creases.problems import INTERVAL, TARGETS
from creases.splines import Shallow, Tracker
from creases.splines.batches import gradient_descent, squared_errors, unstack_network
from creases.splines.dynamics import ntk
from creases.splines.initialisation import Spacing, lonely_fraction, simulate_lonely
from creases.splines.landscape import loss_slice


@dataclass(frozen=True)
class Lonely:
    """The share of data that are alone in their piece, for one width and one way the breakpoints lie."""

    ratio: float  #: units for each datum
    how: Spacing
    formula: float | None  #: none for Cauchy breakpoints
    mean: float  #: drawn
    spread: float  #: standard deviation from draw to draw
    trials: int


@dataclass(frozen=True)
class Sticking:
    """How many breakpoints end on data, for one scale of the first weights."""

    alpha: float
    near: tuple[float, ...]  #: for each seed: share of the breakpoints among the data that are near one
    before: tuple[float, ...]  #: the same at the start
    stuck: float  #: share of the near ones, over all seeds, whose datum is a minimum of the loss in that breakpoint
    mse: tuple[float, ...]  #: training error of each seed
    chance: float  #: share that breakpoints anywhere would have


@dataclass(frozen=True)
class Lives:
    """Births and deaths of breakpoints in training, for one shape; a number for each seed."""

    widths: tuple[int, ...]
    first: tuple[int, ...]  #: breakpoints at the start
    births: tuple[int, ...]
    births_inside: tuple[int, ...]  #: those between the outermost data
    deaths: tuple[int, ...]
    last: tuple[int, ...]  #: breakpoints at the end
    crossings: tuple[int, ...]  #: of data


def lonely_table(
    n: int = 100, ratios: Sequence[int] = (1, 4, 16), *, trials: int = 2000, seed: int = 0
) -> list[Lonely]:
    """Figure 11: the share of lonely data against units per datum, by formula and drawn.

    Data are uniform on [-3, 3]. "cauchy" breakpoints are those of Gaussian weights and biases of equal variance, on
    the whole line, so that a good part lies where no data are.
    """
    table = []
    ways: tuple[Spacing, ...] = ("spaced", "uniform", "cauchy")
    for how in ways:
        for ratio in ratios:
            drawn = simulate_lonely(n, ratio * n, how, interval=INTERVAL, trials=trials, seed=seed)
            formula = None if how == "cauchy" else lonely_fraction(n, ratio * n, how)
            table.append(Lonely(ratio, how, formula, drawn.fraction, drawn.fraction_spread, trials))
    return table


def sticking(
    alphas: Sequence[float] = (0.1, 0.3, 1.0, 10.0),
    *,
    seeds: int = 20,
    width: int = 50,
    n: int = 10,
    steps: int = 10_000,
    share: float = 0.02,
    seed: int = 0,
) -> list[Sticking]:
    """Whether breakpoints end on data in the rich regime (small alpha) and not in the kernel regime (large alpha).

    First weights are Gaussian, ``(w, b)`` times alpha and v over alpha (and over ``sqrt(width)``), each unit doubled
    with -v so that the function starts at 0. n equally spaced data of sin 2x, full-batch gradient descent with half
    the largest stable step of the first kernel. A breakpoint is near a datum within ``share`` of the spacing.
    """
    x = np.linspace(*INTERVAL, n)
    y = TARGETS["sine"](x)
    return [_stuck(alpha, x, y, _doubled(alpha, seeds, width, seed), steps, share) for alpha in alphas]


def births_and_deaths(
    shapes: Sequence[tuple[int, ...]] = ((1, 30, 1), (1, 6, 6, 6, 6, 6, 1)),
    *,
    seeds: int = 5,
    n: int = 60,
    steps: int = 6000,
    lr: float = 0.02,
    every: int = 20,
    seed: int = 0,
) -> list[Lives]:
    """How often breakpoints are born and die: a shallow unit has one for ever, a deep one makes and loses them.

    torch's first weights, n equally spaced data of sin 2x, full-batch gradient descent on the mean squared error; a
    look every ``every`` steps. (A shallow network's only births are breakpoints that come back from infinity, when a
    weight goes through 0: outside the data, where ``births_inside`` does not count.)
    """
    x = np.linspace(*INTERVAL, n)
    y = TARGETS["sine"](x)
    return [
        _lives(Batch.initial(seeds, shape, seed=seed, dtype=np.float64), x, y, steps, lr, every) for shape in shapes
    ]


def _doubled(alpha: float, seeds: int, width: int, seed: int) -> Batch:
    """Shallow networks that start at 0: every unit twice, with v and -v."""
    rng = np.random.default_rng(seed)
    w, b, v = rng.normal(size=(3, seeds, width)) * np.array([alpha, alpha, 1 / (alpha * np.sqrt(width))])[:, None, None]
    w, b, v = (np.concatenate(pair, axis=1) for pair in ((w, w), (b, b), (v, -v)))
    return Batch((w[:, :, None], v[:, None, :]), (b, np.zeros((seeds, 1))))


def _stuck(alpha: float, x: Floats, y: Floats, start: Batch, steps: int, share: float) -> Sticking:
    top = max(float(np.linalg.eigvalsh(ntk(unstack_network(start, k), x))[-1]) for k in range(start.count))
    end = gradient_descent(start, x, y, steps=steps, lr=len(x) / (2 * top))  # the loss has curvature 2 top / n
    before, after = ([_near(unstack_network(batch, k), x, share) for k in range(start.count)] for batch in (start, end))
    minima = [
        loss_slice(net, unit, x, y).types()[datum] == 3
        for net, (_, found) in ((unstack_network(end, k), one) for k, one in enumerate(after))
        for unit, datum in found
    ]
    return Sticking(
        alpha=alpha,
        near=tuple(part for part, _ in after),
        before=tuple(part for part, _ in before),
        stuck=float(np.mean(minima)) if minima else 0.0,
        mse=tuple(squared_errors(end, x, y).tolist()),
        chance=2 * share,
    )


def _near(net: Shallow, x: Floats, share: float) -> tuple[float, list[tuple[int, int]]]:
    """Of the breakpoints among equally spaced data: the share near a datum, and each of them with its datum."""
    bent = np.flatnonzero(net.w)
    beta = -net.b[bent] / net.w[bent]
    inside = (beta > x[0]) & (beta < x[-1])
    place = (beta[inside] - x[0]) / (x[1] - x[0])
    near = np.abs(place - place.round()) <= share
    pairs = zip(bent[inside][near].tolist(), place[near].round().astype(int).tolist(), strict=True)
    return float(near.mean()) if len(near) else 0.0, list(pairs)


def _lives(batch: Batch, x: Floats, y: Floats, steps: int, lr: float, every: int) -> Lives:
    trackers = [Tracker(x) for _ in range(batch.count)]
    widths = batch.widths
    for done in [*range(0, steps, every), steps]:
        for k, tracker in enumerate(trackers):
            tracker([(W[k], b[k]) for W, b in zip(batch.weights, batch.biases, strict=True)])
        batch = gradient_descent(batch, x, y, steps=min(every, steps - done), lr=lr)
    seen = [tracker.history() for tracker in trackers]
    born = [[event.x for event in one.events() if event.kind == "birth"] for one in seen]
    return Lives(
        widths=widths,
        first=tuple(int(one.counts[0]) for one in seen),
        births=tuple(one.births for one in seen),
        births_inside=tuple(sum(INTERVAL[0] <= place <= INTERVAL[1] for place in places) for places in born),
        deaths=tuple(one.deaths for one in seen),
        last=tuple(int(one.counts[-1]) for one in seen),
        crossings=tuple(one.crossings for one in seen),
    )
