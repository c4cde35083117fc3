"""How breakpoints and errors depend on depth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from creases import splines
from creases._typing import Floats
from creases.lab import Batch
from creases.problems import INTERVAL
from creases_reproduction.claim import Claim, Judgement, Numbers, Picture, Row
from creases_reproduction.splines.networks import gradient_descent, squared_errors, standardize
from creases_reproduction.splines.spreads import Spread, mean_ratio, scale_experiment, spread_row, summarize_spreads
from creases_reproduction.splines.targets import TARGETS

_GRID = np.linspace(*INTERVAL, 1001)


#: |f''| of the targets whose breakpoints are set against it.
_CURVATURES: dict[str, Callable[[Floats], Floats]] = {
    "sine": lambda x: np.abs(4 * np.sin(2 * x)),
    "cubic": lambda x: np.abs(6 * x),
    "chirp": lambda x: np.abs(np.cos(x**2 / 2) - x**2 * np.sin(x**2 / 2)),
}


def breakpoints_against_depth(
    targets: Sequence[str] = ("sine", "five pieces", "sawtooth", "arctan", "exponential", "quadratic"),
    *,
    depths: Sequence[int] = (1, 2, 4, 5),
    seeds: int = 10,
    units: int = 40,
    n: int = 60,
    steps: int = 5_000,
    lr: float = 0.02,
) -> dict[int, dict[str, Spread]]:
    """Return active breakpoints on the whole line, ``{depth: {"initial" or target: counts}}`` (Table 2).

    The units are shared equally by the layers. The source says pieces; its 40 for one layer are breakpoints. What it
    prints is in ``TABLE_2``.
    """
    x = np.linspace(*INTERVAL, n)
    results: dict[int, dict[str, Spread]] = {}
    for depth in depths:
        start = Batch.initial(seeds, [1, *[units // depth] * depth, 1], seed=0)
        y = np.repeat([TARGETS[target](x) for target in targets], seeds, axis=0)
        trained = gradient_descent(Batch.join([start] * len(targets)), x, y, steps=steps, lr=lr)
        counts = np.reshape([len(places) for places in _breakpoints(trained)], (len(targets), seeds))
        results[depth] = {"initial": Spread.from_values([len(places) for places in _breakpoints(start)])}
        results[depth] |= {target: Spread.from_values(row) for target, row in zip(targets, counts, strict=True)}
    return results


def _breakpoints(batch: Batch) -> list[Floats]:
    """Return active breakpoints of every network."""
    results = [splines.deep_breakpoints(batch.module(i)) for i in range(batch.count)]
    return [network.x[network.active] for network in results]


TABLE_2: dict[str, dict[str, float]] = {
    depth: dict(zip(("sine", "five pieces", "sawtooth", "arctan", "exponential", "quadratic"), row, strict=True))
    for depth, row in {
        "1": (40, 40, 40, 40, 40, 40),
        "2": (55.5, 52, 50, 49.25, 51.25, 49.25),
        "4": (68, 57.25, 48.5, 42.5, 40.25, 40.25),
        "5": (62.25, 49, 44.5, 38, 33.75, 31.5),
    }.items()
}


def judge_table_2(numbers: Numbers) -> Judgement:
    """Judge whether one layer has exactly 40, and deeper networks have numbers in the range of the printed ones."""
    counts = {
        depth: {name: spread["mean"] for name, spread in part.items() if name != "initial"}
        for depth, part in numbers.items()
    }
    words = "; ".join(
        f"depth {depth}: {', '.join(f'{value:.1f}' for value in part.values())}" for depth, part in counts.items()
    )
    shallow = all(value == 40 for value in counts["1"].values())
    printed = [value for depth, part in TABLE_2.items() if depth != "1" for value in part.values()]
    near = all(
        (spread["high"] or spread["mean"]) >= min(printed) and (spread["low"] or spread["mean"]) <= max(printed)
        for depth, part in numbers.items()
        for name, spread in part.items()
        if depth != "1" and name != "initial"
    )
    inside = all(
        spread["low"] <= TABLE_2[depth][name] <= spread["high"]
        for depth, part in numbers.items()
        for name, spread in part.items()
        if name != "initial" and spread["low"] is not None
    )
    if not (shallow and near):
        return Judgement("disagrees", f"Breakpoints after training: {words}.")
    names = ", ".join(counts["1"])
    return Judgement(
        "agrees" if inside else "agrees in kind",
        f"Breakpoints after training ({names}): {words}. They are breakpoints, not pieces; the training is not given.",
    )


def picture_table_2(numbers: Numbers) -> Picture:
    """Picture breakpoints by depth and target."""
    rows = [
        spread_row(f"depth {depth}, {name}", TABLE_2[depth].get(name), item)
        for depth, part in numbers.items()
        for name, item in part.items()
        if name != "initial"
    ]
    return Picture(rows=rows, x="active breakpoints")


class Correlation(NamedTuple):
    """Correlation of pooled breakpoints with curvature, before and after training."""

    initial: float
    final: float
    initial_sd: float  #: over 200 resamplings of the networks
    final_sd: float


def curvature_correlation(
    targets: Sequence[str] = ("cubic", "chirp", "sine"),
    *,
    depths: Sequence[int] = (1, 4),
    seeds: int = 20,
    units: int = 40,
    n: int = 60,
    steps: int = 7_500,
    lr: float = 0.02,
    bins: int = 20,
) -> dict[str, dict[int, Correlation]]:
    """Return correlation of the histogram of active breakpoints with |f''|, ``{target: {depth: before and after}}``.

    Breakpoints of all seeds are pooled; targets are divided by their deviation, so that one step length does for all.
    Printed, initial -> final at depth 1 / 4: sine -.08 -> .32 / -.17 -> .49; cubic -.90 -> -.89 / -.90 -> .69; chirp
    -.75 -> -.59 / -.75 -> -.21.
    """
    x = np.linspace(*INTERVAL, n)
    results: dict[str, dict[int, Correlation]] = {target: {} for target in targets}
    for depth in depths:
        start = Batch.initial(seeds, [1, *[units // depth] * depth, 1], seed=0)
        y = np.repeat([standardize(TARGETS[target](x)) for target in targets], seeds, axis=0)
        trained = _breakpoints(gradient_descent(Batch.join([start] * len(targets)), x, y, steps=steps, lr=lr))
        before = _breakpoints(start)
        for k, target in enumerate(targets):
            after = trained[k * seeds : (k + 1) * seeds]
            (initial, initial_sd), (final, final_sd) = (_correlation(rows, target, bins) for rows in (before, after))
            results[target][depth] = Correlation(initial, final, initial_sd, final_sd)
    return results


def _correlation(breakpoints: list[Floats], target: str, bins: int) -> tuple[float, float]:
    """Return correlation of pooled counts with curvature at the bins' middles.

    Its deviation over resampled networks.
    """
    edges = np.linspace(*INTERVAL, bins + 1)
    counts = np.array([np.histogram(places, edges)[0] for places in breakpoints])  # (B, bins)
    curvature = _CURVATURES[target]((edges[:-1] + edges[1:]) / 2)
    draws = np.random.default_rng(0).integers(len(counts), size=(200, len(counts)))
    pooled = [counts.sum(axis=0), *(counts[draw].sum(axis=0) for draw in draws)]
    all_of_them = [float(np.corrcoef(row, curvature)[0, 1]) for row in pooled]
    return all_of_them[0], float(np.std(all_of_them[1:], ddof=1))


def _correlations(found: Any) -> dict[str, Any]:
    return {target: {str(depth): row._asdict() for depth, row in part.items()} for target, part in found.items()}


CURVATURE: dict[str, dict[str, tuple[float, float]]] = {
    "sine": {"1": (-0.077, 0.324), "4": (-0.171, 0.494)},
    "cubic": {"1": (-0.904, -0.891), "4": (-0.900, 0.688)},
    "chirp": {"1": (-0.754, -0.592), "4": (-0.752, -0.212)},
}


def judge_curvature(numbers: Numbers) -> Judgement:
    """Judge whether training raises the correlation, and depth raises it more."""
    words = "; ".join(
        (
            f"{target}: {item['1']['initial']:.2f} to {item['1']['final']:.2f} (depth 1), "
            f"{item['4']['initial']:.2f} to {item['4']['final']:.2f} (depth 4)"
        )
        for target, item in numbers.items()
    )
    rises = all(part["final"] > part["initial"] for item in numbers.values() for part in item.values())
    deeper = [
        target
        for target, item in numbers.items()
        if item["4"]["final"] - item["4"]["initial"] > item["1"]["final"] - item["1"]["initial"]
    ]
    if rises and deeper:
        rest = [target for target in numbers if target not in deeper]
        but = f", but not on {', '.join(rest)}" if rest else ""
        return Judgement(
            "agrees in kind",
            f"{words}. Training raises it everywhere; depth raises it more on {', '.join(deeper)}{but}.",
        )
    return Judgement("disagrees", f"{words}.")


def picture_curvature(numbers: Numbers) -> Picture:
    """Picture final correlations."""
    rows = [
        Row(
            f"{target}, depth {depth}, {when}",
            CURVATURE[target][depth][k],
            item[when],
            item[when] - 1.96 * item[f"{when}_sd"],
            item[when] + 1.96 * item[f"{when}_sd"],
        )
        for target, part in numbers.items()
        for depth, item in part.items()
        for k, when in enumerate(("initial", "final"))
    ]
    return Picture(rows=rows, x="correlation of breakpoints with curvature")


def errors_by_depth(
    targets: Sequence[str] = ("sine", "arctan", "sawtooth", "cubic", "quadratic", "exponential"),
    *,
    depths: Sequence[int] = (1, 4),
    units: int = 40,
    seeds: int = 10,
    n: int = 60,
    steps: int = 10_000,
    lr: float = 0.01,
) -> dict[str, dict[int, Spread]]:
    """Return test losses of networks with as many units in one layer or several, ``{target: {depth: losses}}``.

    Targets are divided by their deviation. The source's second table of losses, its columns Shallow and Deep.
    """
    x = np.linspace(*INTERVAL, n)
    results: dict[str, dict[int, Spread]] = {target: {} for target in targets}
    for depth in depths:
        start = Batch.initial(seeds, [1, *[units // depth] * depth, 1], seed=0)
        for target in targets:
            scale = TARGETS[target](_GRID).std()
            trained = gradient_descent(start, x, TARGETS[target](x) / scale, steps=steps, lr=lr)
            results[target][depth] = Spread.from_values(squared_errors(trained, _GRID, TARGETS[target](_GRID) / scale))
    return results


DEEP = {
    "sine": 31.48 / 42.95,
    "arctan": 0.9795 / 0.01252,
    "sawtooth": 148.1 / 156.9,
    "cubic": 56.77 / 3.608,
    "quadratic": 1.741 / 3.559,
    "exponential": 1.339 / 0.6509,
}


def judge_depth(numbers: Numbers) -> Judgement:
    """Judge whether depth helps on some target and not on all."""
    ratios = {target: mean_ratio(item["4"], item["1"]) for target, item in numbers.items()}
    clear = {
        target: item["4"]["mean"] + item["4"]["sd"] < item["1"]["mean"] - item["1"]["sd"]
        for target, item in numbers.items()
    }
    words = ", ".join(f"{target} {ratio:.2g} (printed {DEEP[target]:.2g})" for target, ratio in ratios.items())
    helped = [target for target, item in clear.items() if item]
    if helped and len(helped) < len(numbers):
        return Judgement(
            "agrees in kind",
            (
                f"Test loss of depth 4 over depth 1: {words}; lower by more than a deviation on {', '.join(helped)}, "
                "not on the others."
            ),
        )
    return Judgement("disagrees", f"Test loss of depth 4 over depth 1: {words}.")


def picture_depth(numbers: Numbers) -> Picture:
    """Picture ratios of mean losses."""
    rows = [Row(target, DEEP[target], mean_ratio(item["4"], item["1"])) for target, item in numbers.items()]
    return Picture(rows=rows, x="test loss, depth 4 over depth 1", log=True)


CLAIMS = [
    Claim(
        "splines/table-2",
        "Table 2",
        "40 units have about as many breakpoints in one layer as in several: depth adds little expressivity.",
        printed=(
            "depth 1: 40; 2: 55.5, 52, 50, 49.25, 51.25, 49.25; 4: 68, 57.25, 48.5, 42.5, 40.25, 40.25; 5: 62.25, 49, "
            "44.5, 38, 33.75, 31.5 (sine, 5 piece poly, sawtooth, arctan, exponential, quadratic)"
        ),
        measure=scale_experiment(
            breakpoints_against_depth, summarize_spreads, seeds=3, targets=("sine", "quadratic"), steps=2000
        ),
        judge=judge_table_2,
        picture=picture_table_2,
        full="a minute of a core",
        misprints=("splines/table-2",),
    ),
    Claim(
        "splines/curvature",
        "slide 'Breakpoints in Deeper Nets are more Attracted to Curvature'",
        "After training, breakpoints lie where the target is curved, more so in deeper networks.",
        printed="final correlation at depth 1 / 4: sine .32 / .49, cubic -.89 / .69, sin(x^2 / 2) -.59 / -.21",
        measure=scale_experiment(curvature_correlation, _correlations, seeds=4, targets=("cubic", "sine"), steps=2000),
        judge=judge_curvature,
        picture=picture_curvature,
        full="two minutes of a core",
    ),
    Claim(
        "splines/depth-error",
        "slide 'Going Deeper can improve error but doesn't always help'",
        "Deep networks of as many units have lower test losses on some targets, not on all.",
        printed=(
            "shallow / deep: sine 42.95 / 31.48, arctan .01252 / .9795, sawtooth 156.9 / 148.1, cubic 3.608 / "
            "56.77, quadratic 3.559 / 1.741, exponential .6509 / 1.339"
        ),
        measure=scale_experiment(errors_by_depth, summarize_spreads, seeds=2, targets=("sine", "arctan"), steps=4000),
        judge=judge_depth,
        picture=picture_depth,
        full="a minute of a core",
    ),
]
