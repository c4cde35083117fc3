"""Chapter 3 of the dissertation, section 3.4.3: functions of five to ten bits."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from creases import boolean
from creases_reproduction.claim import Claim, Curve, Judgement, Numbers, Picture, Row
from creases_reproduction.experiment import ResultTable, Scale
from creases_reproduction.judges import numbers_from_table, row, rows, rows_picture
from creases_reproduction.linearity.boolean_ten_bits import (
    KINDS,
    by_metrics,
    by_size,
    functions,
    grid,
    has_parity_network,
    means,
)
from creases_reproduction.linearity.boolean_training import FOURIER_METRICS
from creases_reproduction.statistics import mean_interval

FULL = "50 minutes of 2 cores"


@cache
def by_sizes(scale: Scale) -> ResultTable:
    """Return the trainings of Fig. 3.7, once for all claims."""
    return by_size(scale)


@cache
def with_metrics(scale: Scale) -> ResultTable:
    """Return the trainings of Figs. 3.8 and 3.9, once for all claims."""
    if scale == "full":
        return by_metrics("full", bits=range(5, 11), trials=40)
    return by_metrics("quick", bits=(5, 8, 10))


def claim(id: str, place: str, says: str, run: Any, table: str, numbers: Any, judge: Any, picture: Any) -> Claim:
    """Return a claim on one of the two tables."""
    return Claim(
        id,
        place,
        says,
        measure=lambda scale: numbers(run(scale).table),
        judge=judge,
        picture=picture,
        full=FULL,
        from_table=numbers_from_table(table, numbers),
    )


def sizes(table: pd.DataFrame) -> Numbers:
    """Return Fig. 3.7.

    Rates by depth (rows) and width (columns), and which sizes have a network by the constructions.
    """
    parity, random = (grid(table, kind) for kind in ("parity", "random"))
    part = table[table["kind"] == "parity"]
    return {
        "widths": parity.columns.tolist(),
        "depths": parity.index.tolist(),
        "parity": parity.to_numpy(),
        "random": random.to_numpy(),
        "predicted": has_parity_network(parity, int(table["n"].iloc[0])).to_numpy().tolist(),
        "trials": int(part["trials"].iloc[0]),
    }


def judge_sizes(numbers: Numbers) -> Judgement:
    """Judge Table 5.1."""
    parity, able = np.array(numbers["parity"]), np.array(numbers["predicted"])
    yes, no = parity[able], parity[~able]
    words = f"predicted sizes: mean rate {yes.mean():.0%}, {(yes > 0).sum()} of {yes.size} ever succeed; others: "
    words += f"{no.mean():.0%}, {(no > 0).sum()} of {no.size}"
    last = numbers["trials"] * parity[-1, -1]
    if (no > 0).any() or not yes.size or parity[-1, -1] < parity[able].max() / 2 or last == 0:
        return Judgement("disagrees", words)
    words += f"; the largest size succeeds in {parity[-1, -1]:.0%} (the figure's numbers are not in the text)"
    return Judgement("agrees", words)


def judge_random(numbers: Numbers) -> Judgement:
    """Judge appendix C.4, Figure 13."""
    parity, random = (float(np.mean(numbers[kind])) for kind in ("parity", "random"))
    words = f"mean rate over the sizes {random:.1%}, parity {parity:.1%}"
    return Judgement("agrees" if random < parity else "disagrees", words)


def picture_sizes(kind: str) -> Callable[[Numbers], Picture]:
    """Picture Figure 3.5, section 3.4.2, Table 5.1 and section 5.3."""
    return lambda numbers: Picture(
        heat=numbers[kind],
        x="width",
        y="depth",
        x_names=[str(width) for width in numbers["widths"]],
        y_names=[str(depth) for depth in numbers["depths"]],
    )


def performance(table: pd.DataFrame) -> Numbers:
    """Return Fig. 3.8: for n = 10 and each kind, mean points right of 1024 and mean degree, entropy and influence."""
    values_of = table[table["n"] == 10]
    numbers = {}
    for kind in KINDS:
        part = values_of[values_of["kind"] == kind]
        numbers[kind] = {"right": 1024 * part["right"].mean(), **{name: part[name].mean() for name in FOURIER_METRICS}}
        low, high = mean_interval(1024 * part["right"]) if len(part) > 1 else (None, None)
        numbers[kind] |= {"low": low, "high": high, "easiest": 1024 * part["right"].max()}
    return numbers


def judge_performance(numbers: Numbers) -> Judgement:
    """Judge performance."""
    right = {kind: numbers[kind]["right"] for kind in KINDS}
    words = "points right of 1024: " + ", ".join(f"{kind} {item:.0f}" for kind, item in right.items())
    words += "; influence " + ", ".join(f"{kind} {numbers[kind]['influence']:.1f}" for kind in KINDS)
    words += "; entropy " + ", ".join(f"{kind} {numbers[kind]['entropy']:.1f}" for kind in KINDS)
    harder = right["random"] < min(right["xored"], right["parity"])
    middling = numbers["random"]["influence"] < min(numbers[kind]["influence"] for kind in ("xored", "parity"))
    entropy = numbers["random"]["entropy"] > numbers["xored"]["entropy"]
    return Judgement("agrees" if harder and middling and entropy else "disagrees", words)


def picture_performance(numbers: Numbers) -> Picture:
    """Picture performance."""
    listed = [Row(kind, None, item["right"], item["low"], item["high"]) for kind, item in numbers.items()]
    return Picture(rows=listed, x="points right of 1024")


def growth(table: pd.DataFrame) -> Numbers:
    """Return Fig. 3.9.

    Rates with their intervals, and degree, entropy and influence over n, by kind and number of bits.
    """
    short = means(table)
    names = ["rate", "low", "high", *FOURIER_METRICS]
    return {
        "bits": sorted(short["n"].unique().tolist()),
        **{kind: {name: short.loc[short["kind"] == kind, name].tolist() for name in names} for kind in KINDS},
        "entropy with points right": [_correlation(part) for _, part in table.groupby("n")],
    }


def _correlation(part: pd.DataFrame) -> float:
    """Return correlation of entropy and points right over the functions.

    NaN where all of them have all points right.
    """
    if part["right"].nunique() == 1:
        return float("nan")
    return float(np.corrcoef(part["entropy"], part["right"])[0, 1])


def judge_growth(numbers: Numbers) -> Judgement:
    """Judge section 5.5."""
    lost = {kind: numbers[kind]["rate"][0] - numbers[kind]["rate"][-1] for kind in KINDS}
    words = "rates by bits: " + "; ".join(
        f"{kind} {' '.join(f'{r:.2f}' for r in numbers[kind]['rate'])}" for kind in KINDS
    )
    entropy = numbers["random"]["entropy"]
    right = lost["random"] >= max(lost["xored"], lost["parity"]) and bool((np.diff(entropy) > 0).all())
    words += f"; entropy of random ones over n: {' '.join(f'{item:.2f}' for item in entropy)}"
    return Judgement("agrees" if right else "disagrees", words)


def picture_growth(numbers: Numbers) -> Picture:
    """Picture growth."""
    curves = [
        Curve(kind, numbers["bits"], *(numbers[kind][name] for name in ("rate", "low", "high"))) for kind in KINDS
    ]
    return Picture(curves=curves, x="bits", y="rate of success")


def judge_entropy(numbers: Numbers) -> Judgement:
    """Judge entropy."""
    results = numbers["entropy with points right"]
    words = "correlation of entropy with points right, by bits: "
    words += " ".join("-" if item is None else f"{item:.2f}" for item in results)
    last = results[-1]
    right = last is not None and last < -0.5 and all(item is None or item > last for item in results[:-1])
    return Judgement("agrees" if right else "disagrees", f"{words} (- where all points are right)")


def measure_expected_metrics(scale: Scale) -> Numbers:
    """Measure mean degree and influence over n of random functions of ten bits, beside those of parity."""
    tables = functions("random", 10, 100 if scale == "full" else 20)
    numbers = [boolean.from_truth_table(table) for table in tables]
    collected = []
    for name in ("degree", "influence"):
        values = getattr(boolean.measures(numbers, 10), name) / 10
        parity = float(getattr(boolean.measures(boolean.parity(10), 10), name)) / 10
        collected.append(row(name, parity, values.mean(), *mean_interval(values)))
    return {"rows": collected}


def judge_expected(numbers: Numbers) -> Judgement:
    """Judge section 3.4.3."""
    all_rows = rows(numbers)
    words = ", ".join(f"{row.what} {row.measured:.2f} n (parity {row.printed:g} n)" for row in all_rows)
    off = [row.what for row in all_rows if abs((row.measured or 0) - (row.printed or 0)) > 0.1]
    if off:
        return Judgement("disagrees", f"random functions have {words}: {' and '.join(off)} is not that of parity")
    return Judgement("agrees", f"random functions have {words}")


def measure_maxima(scale: Scale) -> Numbers:
    """Measure the largest degree, influence and entropy of functions of n bits, and the entropy of OR."""
    results: dict[str, list[float]] = {"bits": [], "degree": [], "influence": [], "entropy": [], "entropy of OR": []}
    for n in range(2, 6 if scale == "full" else 5):
        classes = boolean.npn_classes(n).representatives
        results["bits"].append(n)
        found = boolean.measures(classes, n)
        for name in FOURIER_METRICS:
            results[name].append(float(getattr(found, name).max()))
        results["entropy of OR"].append(float(boolean.measures(2 ** (2**n) - 2, n).entropy))
    return results


def judge_maxima(numbers: Numbers) -> Judgement:
    """Judge section 3.4.3."""
    bits = numbers["bits"]
    same = {name: all(abs(a - n) < 1e-9 for a, n in zip(numbers[name], bits, strict=True)) for name in FOURIER_METRICS}
    both = zip(bits, numbers["entropy of OR"], numbers["entropy"], strict=True)
    words = "; ".join(f"n = {n}: OR {a:.2f}, most {b:.2f}" for n, a, b in both)
    least = all(abs(a - b) < 1e-9 for a, b in zip(numbers["entropy of OR"], numbers["entropy"], strict=True))
    if least and all(same.values()):
        return Judgement("agrees", f"all three maxima are n; entropy: {words}")
    held = " and ".join(name for name, right in same.items() if right)
    return Judgement("disagrees", f"n is the maximum at all n for {held or 'none'}; entropy: {words}")


CLAIMS = [
    claim(
        "linearity/figure-3.7",
        "Figure 3.7",
        "10-parity is learned at the sizes that swaps predict (w^l >= 10), seldom at the smallest, more often beyond.",
        by_sizes,
        "boolean_ten_bits_sizes",
        sizes,
        judge_sizes,
        picture_sizes("parity"),
    ),
    claim(
        "linearity/section-3.4.3-random",
        "Figure 3.7, section 3.4.3",
        "Random functions of ten bits are learned much more seldom than 10-parity.",
        by_sizes,
        "boolean_ten_bits_sizes",
        sizes,
        judge_random,
        picture_sizes("random"),
    ),
    claim(
        "linearity/figure-3.8",
        "Figure 3.8",
        "Of ten bits, random functions are harder than parity and four bits XORed with it, with less influence and "
        "more entropy.",
        with_metrics,
        "boolean_ten_bits_metrics",
        performance,
        judge_performance,
        picture_performance,
    ),
    claim(
        "linearity/figure-3.9",
        "Figure 3.9",
        "From five to ten bits random functions grow difficult fastest, and their entropy grows.",
        with_metrics,
        "boolean_ten_bits_metrics",
        growth,
        judge_growth,
        picture_growth,
    ),
    claim(
        "linearity/section-3.5-entropy",
        "sections 3 and 3.5",
        "Entropy goes with difficulty as the number of bits increases.",
        with_metrics,
        "boolean_ten_bits_metrics",
        growth,
        judge_entropy,
        picture_growth,
    ),
    Claim(
        "linearity/section-3.4.3-expected",
        "section 3.4.3",
        "Random functions and parity have similar expected degree and influence.",
        measure=measure_expected_metrics,
        judge=judge_expected,
        picture=rows_picture("over n; parity's as printed"),
        full="seconds",
        misprints=("linearity/section-3.4.3-expected",),
    ),
    Claim(
        "linearity/section-3.4.3-maxima",
        "section 3.4.3",
        "Degree, entropy and influence have the maximum n; entropy is largest for OR.",
        printed="n",
        measure=measure_maxima,
        judge=judge_maxima,
        full="seconds",
        misprints=("linearity/section-3.4.3-maxima",),
    ),
]
