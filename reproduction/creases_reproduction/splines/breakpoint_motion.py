"""How breakpoints move in training: which are active, where they stick, when they are born and die."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from creases import splines
from creases._typing import Floats
from creases.lab import Batch
from creases.problems import INTERVAL, TARGETS
from creases.splines import Shallow, Tracker
from creases.splines.theory import loss_slice, tangent_kernel
from creases_reproduction.claim import Claim, Judgement, Numbers, Picture, Row
from creases_reproduction.experiment import Scale
from creases_reproduction.splines.networks import by_scale, gradient_descent, squared_errors, unstack_network
from creases_reproduction.splines.spreads import list_rows, scale_experiment


def measure_active_breakpoints(scale: Scale) -> dict[str, Any]:
    """Measure definition 1.

    Whether active breakpoints are exactly the places where the slope of a deep network changes.
    """
    cases, checked, wrong = by_scale(scale, 20, 300), 0, 0
    for seed in range(cases):
        model = Batch.initial(1, [1, 8, 8, 8, 1], seed=seed, dtype=np.float64).module(0)
        results = splines.deep_breakpoints(model)
        size = float(np.abs(results.pieces.slopes).max())
        lone = ~results.shared
        wrong += int((results.active[lone] != (np.abs(results.jump[lone]) > 1e-12 * size)).sum())
        checked += int(lone.sum())
    w, b, v = np.array([[1.0, 2.0], [-0.5, -1.0], [2.0, -1.0]])  # two units at one place whose jumps cancel
    net = Shallow(w, b, v)
    pair = splines.deep_breakpoints(splines.to_module(net))
    return {
        "networks": cases,
        "breakpoints": checked,
        "wrong": wrong,
        "cancelling pair": {"active": int(pair.active.sum()), "bends": int(pair.bent.sum())},
    }


def judge_active(numbers: Numbers) -> Judgement:
    """Judge activity is a change of slope."""
    pair = numbers["cancelling pair"]
    words = (
        f"{numbers['breakpoints']} breakpoints of {numbers['networks']} deep networks: "
        f"{numbers['wrong']} where activity and a change of slope differ"
    )
    right = numbers["wrong"] == 0 and pair == {"active": 2, "bends": 0}
    return Judgement(
        "agrees" if right else "disagrees", f"{words}. Two degenerate ones that cancel: both active, no bend."
    )


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
    """Return how often breakpoints are born and die: a shallow unit has one for ever, a deep one makes and loses them.

    torch's first weights, n equally spaced data of sin 2x, full-batch gradient descent on the mean squared error; a
    look every ``every`` steps. (A shallow network's only births are breakpoints that come back from infinity, when a
    weight goes through 0: outside the data, where ``births_inside`` does not count.)
    """
    x = np.linspace(*INTERVAL, n)
    y = TARGETS["sine"](x)
    return [
        _lives(Batch.initial(seeds, shape, seed=seed, dtype=np.float64), x, y, steps, lr, every) for shape in shapes
    ]


def _lives(batch: Batch, x: Floats, y: Floats, steps: int, lr: float, every: int) -> Lives:
    trackers = [Tracker(x) for _ in range(batch.count)]
    widths = batch.widths
    for done in [*range(0, steps, every), steps]:
        for k, tracker in enumerate(trackers):
            tracker([(W[k], b[k]) for W, b in zip(batch.weights, batch.biases, strict=True)])
        batch = gradient_descent(batch, x, y, steps=min(every, steps - done), lr=lr)
    seen = [tracker.history() for tracker in trackers]
    born = [[event.x for event in item.events if event.kind == "birth"] for item in seen]
    return Lives(
        widths=widths,
        first=tuple(int(item.counts[0]) for item in seen),
        births=tuple(item.births for item in seen),
        births_inside=tuple(sum(INTERVAL[0] <= place <= INTERVAL[1] for place in places) for places in born),
        deaths=tuple(item.deaths for item in seen),
        last=tuple(int(item.counts[-1]) for item in seen),
        crossings=tuple(item.crossings for item in seen),
    )


def judge_mobility(numbers: Numbers) -> Judgement:
    """Judge whether deep networks make and lose breakpoints among the data, and a shallow one does not."""
    shallow, deep = numbers["rows"]
    words = (
        f"births among the data: shallow {shallow['births_inside']}, deep {deep['births_inside']}; "
        f"deaths: shallow {shallow['deaths']}, deep {deep['deaths']}"
    )
    right = not any(shallow["births_inside"]) and sum(deep["births_inside"]) > 0
    return Judgement("agrees" if right else "disagrees", f"For each seed, {words}.")


def picture_mobility(numbers: Numbers) -> Picture:
    """Picture mean births, deaths and crossings of data."""
    rows = [
        Row(
            f"{'-'.join(map(str, item['widths']))}, {what.replace('_', ' ')}",
            None,
            float(np.mean(item[what])),
            min(item[what]),
            max(item[what]),
        )
        for item in numbers["rows"]
        for what in ("births_inside", "deaths", "crossings")
    ]
    return Picture(rows=rows, x="in training, mean and range over seeds")


@dataclass(frozen=True)
class Sticking:
    """How many breakpoints end on data, for one scale of the first weights."""

    alpha: float
    near: tuple[float, ...]  #: for each seed: share of the breakpoints among the data that are near one
    before: tuple[float, ...]  #: the same at the start
    stuck: float  #: share of the near ones, over all seeds, whose datum is a minimum of the loss in that breakpoint
    mse: tuple[float, ...]  #: training error of each seed
    chance: float  #: share that breakpoints anywhere would have


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
    """Measure whether breakpoints end on data in the rich regime (small alpha), and not in the kernel regime.

    First weights are Gaussian, ``(w, b)`` times alpha and v over alpha (and over ``sqrt(width)``), each unit doubled
    with -v so that the function starts at 0. n equally spaced data of sin 2x, full-batch gradient descent with half
    the largest stable step of the first kernel. A breakpoint is near a datum within ``share`` of the spacing.
    """
    x = np.linspace(*INTERVAL, n)
    y = TARGETS["sine"](x)
    return [_stuck(alpha, x, y, _doubled_units(alpha, seeds, width, seed), steps, share) for alpha in alphas]


def _doubled_units(alpha: float, seeds: int, width: int, seed: int) -> Batch:
    """Return shallow networks that start at 0: every unit twice, with v and -v."""
    rng = np.random.default_rng(seed)
    w, b, v = rng.normal(size=(3, seeds, width)) * np.array([alpha, alpha, 1 / (alpha * np.sqrt(width))])[:, None, None]
    w, b, v = (np.concatenate(pair, axis=1) for pair in ((w, w), (b, b), (v, -v)))
    return Batch((w[:, :, None], v[:, None, :]), (b, np.zeros((seeds, 1))))


def _stuck(alpha: float, x: Floats, y: Floats, start: Batch, steps: int, share: float) -> Sticking:
    top = max(float(np.linalg.eigvalsh(tangent_kernel(unstack_network(start, k), x))[-1]) for k in range(start.count))
    end = gradient_descent(start, x, y, steps=steps, lr=len(x) / (2 * top))  # the loss has curvature 2 top / n
    before, after = ([_near(unstack_network(batch, k), x, share) for k in range(start.count)] for batch in (start, end))
    minima = [
        loss_slice(net, unit, x, y).types()[datum] == 3
        for net, (_, results) in ((unstack_network(end, k), item) for k, item in enumerate(after))
        for unit, datum in results
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
    """Return, of the breakpoints among equally spaced data: the share near a datum, and each of them with its datum."""
    bent = np.flatnonzero(net.w)
    beta = -net.b[bent] / net.w[bent]
    inside = (beta > x[0]) & (beta < x[-1])
    place = (beta[inside] - x[0]) / (x[1] - x[0])
    near = np.abs(place - place.round()) <= share
    pairs = zip(bent[inside][near].tolist(), place[near].round().astype(int).tolist(), strict=True)
    return float(near.mean()) if len(near) else 0.0, list(pairs)


def judge_sticking(numbers: Numbers) -> Judgement:
    """Judge whether breakpoints end on data for small alpha and not for large alpha."""
    near = {item["alpha"]: float(np.mean(item["near"])) for item in numbers["rows"]}
    chance = numbers["rows"][0]["chance"]
    words = ", ".join(f"{share:.0%} for alpha = {alpha:g}" for alpha, share in near.items())
    right = near[min(near)] > 2 * chance and near[max(near)] < 2 * chance
    return Judgement(
        "agrees" if right else "disagrees",
        f"Breakpoints that end within 2 % of a datum (by chance {chance:.0%}): {words}.",
    )


def picture_sticking(numbers: Numbers) -> Picture:
    """Picture shares of breakpoints on data, before and after."""
    rows = [
        Row(
            f"alpha {item['alpha']:g}, {when}",
            None,
            100 * float(np.mean(item[name])),
            100 * min(item[name]),
            100 * max(item[name]),
        )
        for item in numbers["rows"]
        for name, when in (("before", "before"), ("near", "after"))
    ]
    return Picture(rows=rows, x="breakpoints near a datum, %: mean and range over seeds")


CLAIMS = [
    Claim(
        "splines/definition-1",
        "Definition 1, breakpoints of deep networks",
        "A breakpoint is active exactly where the network is not differentiable, but for degenerate ones that cancel.",
        measure=measure_active_breakpoints,
        judge=judge_active,
        misprints=("splines/definition-1",),
    ),
    Claim(
        "splines/mobility",
        "slides 'Depth helps with Breakpoint Mobility', 'Speed, Birth & Death'",
        "In deep networks breakpoints are born and die and move; a shallow one keeps its own.",
        printed="pictures",
        measure=scale_experiment(births_and_deaths, list_rows, seeds=2, steps=1000),
        judge=judge_mobility,
        picture=picture_mobility,
        full="two minutes of a core",
    ),
    Claim(
        "splines/sticking",
        "Figures 2 and 9, breakpoint attractors",
        "In the rich regime breakpoints are attracted to data and stick there; in the kernel regime they hardly move.",
        printed="pictures",
        measure=scale_experiment(sticking, list_rows, alphas=(0.3, 10.0), seeds=3, steps=2000),
        judge=judge_sticking,
        picture=picture_sticking,
        full="two minutes of a core",
    ),
]
