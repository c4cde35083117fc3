"""Chapter 3 of the dissertation, section 3.4.2: which functions of four bits are hard, and why."""

from __future__ import annotations

from math import factorial
from time import process_time
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from creases import boolean
from creases_reproduction.claim import Claim, Judgement, Numbers, Picture, Row
from creases_reproduction.experiment import Scale
from creases_reproduction.judges import row, rows, rows_picture
from creases_reproduction.linearity.boolean_success import PARITY, Success
from creases_reproduction.linearity.chapter3_training import LEAKS, sweep_claim

#: How many of the hardest and of the easiest classes are looked at.
ENDS = 20


def hardest_classes(found: Success) -> Numbers:
    """Return Table 3.3: at how many sizes each printed class, and each that is so more often, is among the hardest."""
    numbers: dict[str, Any] = {"sizes": int(found.table.groupby(["width", "depth"]).ngroups)}
    listed = []
    for name, leak in LEAKS.items():
        table = found.hardest(leak)
        printed = table.dropna(subset=["printed"])
        listed += [row(f"{name}: {f}", entry["printed"], entry["count"]) for f, entry in printed.iterrows()]
        numbers[name] = {int(f): int(count) for f, count in table["count"].head(10).items()}
    return {**numbers, "rows": listed}


def judge_hardest_classes(numbers: Numbers) -> Judgement:
    """Judge Table 3.3."""
    all_rows = rows(numbers)
    first = {name: next(iter(numbers[name])) for name in LEAKS}
    ties = {name: max(numbers[name].values()) == numbers[name].get(str(PARITY)) for name in LEAKS}
    near = sum(abs((row.printed or 0) - (row.measured or 0)) <= 2 for row in all_rows)
    far = sorted(all_rows, key=lambda row: -abs((row.printed or 0) - (row.measured or 0)))[:3]
    words = f"{near} of {len(all_rows)} counts are within 2 of those printed; furthest "
    words += ", ".join(f"{row.what} {row.measured:.0f} (printed {row.printed:.0f})" for row in far)
    words += ". 278 and other unbalanced classes are hardest for ReLU only with PyTorch's default first weights"
    if not all(ties.values()):
        return Judgement("disagrees", f"{words}; most often hardest are {first}, not parity")
    if near == len(all_rows):
        return Judgement("agrees", words)
    return Judgement("agrees in kind", f"parity is the hardest at most sizes for both; {words}")


def correlations_with_rates(found: Success) -> Numbers:
    """Return Fig. 3.6.

    Correlations over the classes of each measure with the mean rate; how alike the three rates are.
    """
    numbers: dict[str, Any] = {}
    for name, leak in LEAKS.items():
        part, table = found.correlations(leak), found.performance(leak)
        numbers[name] = {metric: [item["correlation"], item["low"], item["high"]] for metric, item in part.iterrows()}
        numbers[f"{name}: ranks alike"] = {
            size: float(spearmanr(table[size], table["mean"]).statistic) for size in ("2x2", "3x1")
        }
        hard = table.tail(20)
        numbers[f"{name}: of the 20 hardest"] = {
            "least swaps": int(hard["swaps"].min()),
            "least degree": int(hard["degree"].min()),
        }
    return numbers


def judge_correlations(numbers: Numbers) -> Judgement:
    """Judge Figure 3.6."""
    words, right = [], True
    for name in LEAKS:
        size = {metric: abs(part[0]) for metric, part in numbers[name].items() if part[0] is not None}
        right &= (
            max(size, key=lambda item: size[item]) == "influence"
            and min(size, key=lambda item: size[item]) == "entropy"
        )
        words.append(f"{name}: " + ", ".join(f"{metric} {part[0]:.2f}" for metric, part in numbers[name].items()))
    why = f"correlations with the mean rate: {'; '.join(words)}; the figure prints no numbers"
    return Judgement("agrees" if right else "disagrees", why)


def picture_correlations(numbers: Numbers) -> Picture:
    """Picture Figure 3.6."""
    results = [Row(f"{name}: {metric}", None, *part) for name in LEAKS for metric, part in numbers[name].items()]
    return Picture(rows=results, x="correlation with the mean rate of success")


def extremes(found: Success) -> Numbers:
    """Return swaps and Fourier degrees of the 20 hardest and the 20 easiest classes, for leaky networks."""
    table = found.performance(LEAKS["leaky"])
    ends = {"hardest": table.tail(ENDS), "easiest": table.head(ENDS)}
    return {
        name: {metric: sorted(int(item) for item in part[metric]) for metric in ("swaps", "degree")}
        for name, part in ends.items()
    }


def judge_extremes(numbers: Numbers) -> Judgement:
    """Judge section 3.4.2."""
    hard, easy = numbers["hardest"], numbers["easiest"]
    count = len(hard["swaps"])
    words = f"the {count} hardest have degrees from {hard['degree'][0]} and swaps from {hard['swaps'][0]} on; of the "
    words += f"{len(easy['swaps'])} easiest some have {easy['swaps'][-1]} swaps and degree {easy['degree'][-1]}"
    low = sum(d < 3 or s < 2 for d, s in zip(hard["degree"], hard["swaps"], strict=True))
    if low:
        words += f"; {low} of the {count} hardest have a degree below 3 of 4, or fewer than 2 swaps"
    return Judgement("disagrees" if low or easy["degree"][-1] < hard["degree"][0] else "agrees", words)


def unbalanced(found: Success) -> Numbers:
    """Return the ten classes that are hardest at most sizes for ReLU.

    How many are not so for leaky ReLU, their ones.
    """
    tens = {name: [int(f) for f in found.hardest(leak).head(10).index] for name, leak in LEAKS.items()}
    ones = boolean.truth_table(tens["ReLU"], 4).sum(axis=1)
    return {
        "ReLU": tens["ReLU"],
        "not for leaky": len(set(tens["ReLU"]) - set(tens["leaky"])),
        "ones": ones.tolist(),
        "unbalanced": int((ones != 8).sum()),
    }


def judge_unbalanced(numbers: Numbers) -> Judgement:
    """Judge section 3.4.2."""
    gone, odd = numbers["not for leaky"], numbers["unbalanced"]
    words = f"of the ten hardest for ReLU {gone} are not among those of leaky ReLU and {odd} are unbalanced"
    return Judgement("agrees" if gone >= 5 and odd >= 4 else "disagrees", words)


def measure_five_bits(scale: Scale) -> Numbers:
    """Measure CPU seconds for the swaps of all classes of five bits; at quick scale reckoned from 256 of them.

    And the operations (2^n n!)^2 for each class that section 3.3.1 reckons for its own algorithm.
    """
    start = process_time()
    count = len(boolean.npn_classes(5).representatives) if scale == "full" else 616_126
    operations = count * (2**5 * factorial(5)) ** 2
    if scale == "full":
        boolean.class_swaps(5)
        return {"classes": count, "operations": operations, "seconds": process_time() - start}
    functions = np.random.default_rng(0).integers(0, 2**32, 257, dtype=np.uint64)
    boolean.swaps(int(functions[0]), 5)  # compiles
    start = process_time()
    for f in functions[1:]:
        boolean.swaps(int(f), 5)
    return {"classes": count, "operations": operations, "seconds": (process_time() - start) / 256 * count}


def judge_five_bits(numbers: Numbers) -> Judgement:
    """Judge section 3.4.2."""
    seconds = numbers["seconds"]
    words = (
        f"the algorithm of section 3.3.1 has {numbers['operations']:.0e} operations to do for the "
        f"{numbers['classes']:,} classes; the one used here takes {seconds:.0f} seconds of one core"
    )
    if numbers["operations"] < 1e11:  # minutes
        return Judgement("disagrees", words)
    return Judgement("agrees", words)


CLAIMS = [
    sweep_claim(
        "linearity/table-3.3",
        "The ten hardest problems: at how many of 45 sizes each is within a point of the lowest success.",
        hardest_classes,
        judge_hardest_classes,
        rows_picture("sizes at which it is hardest"),
        place="Table 3.3",
        printed="ReLU 27030: 19, 278: 14, 5737: 12, 406: 6, ...; leaky 27030: 12, 7128: 5, eight others 2",
    ),
    sweep_claim(
        "linearity/section-3.4.2-unbalanced",
        "Many of the hard problems for ReLU are not hard for leaky ReLU, and are unbalanced.",
        unbalanced,
        judge_unbalanced,
        quick="quick",
    ),
    sweep_claim(
        "linearity/figure-3.6",
        "Influence explains success best of the four measures, entropy has a weak relation to it.",
        correlations_with_rates,
        judge_correlations,
        picture_correlations,
        quick="quick",
        place="Figure 3.6",
    ),
    sweep_claim(
        "linearity/section-3.4.2-requirements",
        "Hard problems have high Fourier degree and many swaps, but easy ones can have them as well.",
        extremes,
        judge_extremes,
        quick="quick",
    ),
    Claim(
        "linearity/section-3.4.2-five-bits",
        "section 3.4.2",
        "The swaps algorithm of section 3.3.1 is computationally infeasible for all functions of five bits.",
        measure=measure_five_bits,
        judge=judge_five_bits,
        incomparable="From how many operations on an algorithm is infeasible the source does not say",
        full="ten seconds of one core",
    ),
]
