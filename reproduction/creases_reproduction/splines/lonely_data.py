"""Lonely data: how likely breakpoints separate every two data points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import comb
from typing import Any

import numpy as np

from creases.problems import INTERVAL
from creases.splines.theory import lonely_samples
from creases_reproduction.claim import Claim, Curve, Judgement, Numbers, Picture, Row
from creases_reproduction.experiment import Scale
from creases_reproduction.splines import theory
from creases_reproduction.splines.networks import by_scale
from creases_reproduction.splines.spreads import list_rows, scale_experiment
from creases_reproduction.splines.theory.lonely import Placement, lonely_fraction, simulate_lonely


def measure_lonely_partitions(scale: Scale) -> dict[str, Any]:
    """Measure Theorem 4.

    Interpolation, and the number of ways in which data lie alone in their pieces, by enumeration.
    """
    rng, worst = np.random.default_rng(0), 0.0
    for _ in range(by_scale(scale, 50, 1000)):
        n = int(rng.integers(2, 30))
        x, y = np.sort(rng.uniform(-3, 3, n)), rng.normal(size=n)
        form = theory.interlacing_spline(x, y)
        size = np.abs(form.mu).max() * 6
        worst = max(worst, float(np.abs(form(x) - y).max() / size), abs(form.width - (n - 1)))
    wrong = 0
    for h in range(1, by_scale(scale, 6, 9)):
        breakpoints = np.arange(1, h + 1, dtype=np.float64)
        for n in range(1, h + 2):
            ways = sum(
                bool(lonely_samples(np.array(pieces) + 0.5 + 0.001 * np.arange(n), breakpoints).all())
                for pieces in combinations_with_replacement(range(h + 1), n)
            )
            wrong += ways != comb(h + 1, n)
    return {"interpolation": worst, "wrong counts": wrong}


def judge_lonely(numbers: Numbers) -> Judgement:
    """Judge interpolation and the count of lonely partitions."""
    holds = numbers["interpolation"] < 1e-9 and numbers["wrong counts"] == 0
    return Judgement(
        "agrees" if holds else "disagrees",
        f"A lonely partition's function goes through all data (error {numbers['interpolation']:.1g}), "
        "so its loss is 0; "
        f"enumeration finds C(H + 1, N) lonely partitions without exception ({numbers['wrong counts']} wrong).",
    )


def measure_lonely_probability(scale: Scale) -> dict[str, Any]:
    """Measure Theorem 4 (b): printed, corrected and drawn probabilities that all data are lonely."""
    rows = {}
    for n, h in ((20, 400), (20, 800), (10, 200), (40, 1600)):
        drawn = theory.simulate_lonely(n, h, "spaced", trials=by_scale(scale, 2000, 100_000), seed=0)
        rows[f"N = {n}, H = {h}"] = {
            "printed": 1 - np.exp(-(n**2) / (h + 1)),
            "formula": theory.lonely_probability(n, h),
            "drawn": drawn.probability,
            "error": (drawn.probability * (1 - drawn.probability) / drawn.trials) ** 0.5,
        }
    return {"rows": rows}


def judge_probability(numbers: Numbers) -> Judgement:
    """Judge printed, corrected and drawn probabilities."""
    rows = numbers["rows"]
    fits = all(abs(row["formula"] - row["drawn"]) < 4 * row["error"] for row in rows.values())
    words = "; ".join(
        f"{name}: printed {row['printed']:.3f}, drawn {row['drawn']:.3f}, corrected formula {row['formula']:.3f}"
        for name, row in rows.items()
    )
    if all(abs(row["printed"] - row["drawn"]) < 4 * row["error"] for row in rows.values()):
        return Judgement("agrees", f"{words}. The printed one is within four standard errors of the draws.")
    return Judgement(
        "disagrees",
        f"{words}. The printed one falls with more breakpoints; the corrected one "
        f"{'agrees' if fits else 'disagrees'} with the draws.",
    )


def picture_probability(numbers: Numbers) -> Picture:
    """Picture printed and drawn probabilities."""
    rows = [
        Row(name, row["printed"], row["drawn"], row["drawn"] - 1.96 * row["error"], row["drawn"] + 1.96 * row["error"])
        for name, row in numbers["rows"].items()
    ]
    return Picture(rows=rows, x="probability that all data are lonely")


@dataclass(frozen=True)
class Lonely:
    """The share of data that are alone in their piece, for one width and one way the breakpoints lie."""

    ratio: float  #: units for each datum
    how: Placement
    formula: float | None  #: none for Cauchy breakpoints
    mean: float  #: drawn
    spread: float  #: standard deviation from draw to draw
    trials: int


def lonely_table(
    n: int = 100, ratios: Sequence[int] = (1, 4, 16), *, trials: int = 2000, seed: int = 0
) -> list[Lonely]:
    """Return Figure 11: the share of lonely data against units per datum, by formula and drawn.

    Data are uniform on [-3, 3]. "cauchy" breakpoints are those of Gaussian weights and biases of equal variance, on
    the whole line, so that a good part lies where no data are.
    """
    table = []
    ways: tuple[Placement, ...] = ("spaced", "uniform", "cauchy")
    for how in ways:
        for ratio in ratios:
            drawn = simulate_lonely(n, ratio * n, how, interval=INTERVAL, trials=trials, seed=seed)
            formula = None if how == "cauchy" else lonely_fraction(n, ratio * n, how)
            table.append(Lonely(ratio, how, formula, drawn.fraction, drawn.fraction_spread, trials))
    return table


def judge_figure_11(numbers: Numbers) -> Judgement:
    """Judge whether lonely data get more with width, and uniform breakpoints are ahead of standard ones."""
    shares: dict[str, list[float]] = {}
    for spread in numbers["rows"]:
        shares.setdefault(spread["how"], []).append(spread["mean"])
    grows = all(values == sorted(values) for values in shares.values())
    ahead = all(a > b for a, b in zip(shares["uniform"], shares["cauchy"], strict=True))
    off = max(abs(spread["mean"] - spread["formula"]) for spread in numbers["rows"] if spread["formula"] is not None)
    words = "; ".join(f"{how} {', '.join(f'{value:.2f}' for value in values)}" for how, values in shares.items())
    ratios = sorted({spread["ratio"] for spread in numbers["rows"]})
    return Judgement(
        "agrees" if grows and ahead else "disagrees",
        (
            f"Lonely shares for {', '.join(map(str, ratios))} units a datum: {words}; off the exact "
            f"formulas by {off:.1g} at most."
        ),
    )


def picture_figure_11(numbers: Numbers) -> Picture:
    """Picture shares against units per datum."""
    curves = []
    for how in ("spaced", "uniform", "cauchy"):
        part = [spread for spread in numbers["rows"] if spread["how"] == how]
        error = [1.96 * spread["spread"] / spread["trials"] ** 0.5 for spread in part]
        low, high = (
            [spread["mean"] + sign * half for spread, half in zip(part, error, strict=True)] for sign in (-1, 1)
        )
        curves.append(Curve(how, [spread["ratio"] for spread in part], [spread["mean"] for spread in part], low, high))
    return Picture(curves=curves, x="units for each datum", y="share of lonely data")


CLAIMS = [
    Claim(
        "splines/theorem-4a",
        "Theorem 4 (a) and the count",
        "A lonely partition has a global minimum of loss 0; there are C(H + 1, N) of them.",
        measure=measure_lonely_partitions,
        judge=judge_lonely,
    ),
    Claim(
        "splines/theorem-4b",
        "Theorem 4 (b)",
        (
            "With H uniformly spaced breakpoints and N uniform data the partition is lonely with probability 1 - "
            "exp(-N^2 / (H + 1))."
        ),
        printed="1 - exp(-N^2 / (H + 1))",
        measure=measure_lonely_probability,
        judge=judge_probability,
        picture=picture_probability,
        misprints=("splines/theorem-4",),
    ),
    Claim(
        "splines/figure-11",
        "Figure 11",
        (
            "The share of data alone in their piece grows with overparametrisation, more for uniform than for "
            "standard breakpoints."
        ),
        printed="a picture",
        measure=scale_experiment(lonely_table, list_rows, trials=200),
        judge=judge_figure_11,
        picture=picture_figure_11,
    ),
]
