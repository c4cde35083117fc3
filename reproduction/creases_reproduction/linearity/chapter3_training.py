"""Chapter 3 of the dissertation, section 3.4.2: which networks learn which functions of four bits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from itertools import product
from math import ceil
from typing import Any, Literal

import numpy as np
from scipy.stats import chi2_contingency

from creases import boolean
from creases_reproduction.claim import Claim, Judgement, Numbers, Picture
from creases_reproduction.experiment import Scale, derive_seed
from creases_reproduction.linearity import boolean_success
from creases_reproduction.linearity.boolean_success import PARITY, Success
from creases_reproduction.linearity.boolean_training import LEAKY, RELU, train_on
from creases_reproduction.linearity.chapter3_functions import npn_image
from creases_reproduction.linearity.counting import fewest_bits

LEAKS = {"ReLU": RELU, "leaky": LEAKY}

#: What happens in less than this share of trials is rare.
RARE = 0.1

Measure = Callable[[Scale], Numbers]
Kept = Callable[[], tuple[Numbers, Mapping[str, str]]]


#: Sweeps at quick scale: a few trainings of every class, or as many as printed of hard classes at small sizes.
Quick = Literal["quick", "hard"]


@cache
def train_sweep(scale: Literal["quick", "hard", "full"]) -> Success:
    """Return the sweep of section 3.4.2, once for all claims."""
    return boolean_success.success(scale)


@cache
def _stored() -> Success:
    return boolean_success.stored_success()


def from_sweep(numbers: Callable[[Success], Numbers], quick: Quick) -> tuple[Measure, Kept]:
    """Return how a claim's numbers are measured, and had from the stored sweep."""
    return (
        lambda scale: numbers(train_sweep("full" if scale == "full" else quick)),
        lambda: (numbers(_stored()), _stored().about),
    )


def sizes(found: Success) -> Numbers:
    """Return Fig. 3.5.

    Mean and lowest rates by depth (rows) and width (columns), and the lowest one's class at each size.
    """
    numbers: dict[str, Any] = {"trials": int(found.table["trials"].iloc[0])}
    for name, leak in LEAKS.items():
        low = found.sizes(leak, "min")
        numbers["widths"], numbers["depths"] = low.columns.tolist(), low.index.tolist()
        numbers[name] = {"mean": found.sizes(leak, "mean").to_numpy(), "min": low.to_numpy()}
    return numbers


def lowest(numbers: Numbers, name: str, width: int, depth: int) -> float:
    """Return the lowest rate of a size over the classes."""
    return float(numbers[name]["min"][numbers["depths"].index(depth)][numbers["widths"].index(width)])


def picture_sizes(name: str, how: str) -> Callable[[Numbers], Picture]:
    """Picture Figure 3.5, section 3.4.2, Table 5.1 and section 5.3."""
    return lambda numbers: Picture(
        heat=numbers[name][how],
        x="width",
        y="depth",
        x_names=[str(width) for width in numbers["widths"]],
        y_names=[str(depth) for depth in numbers["depths"]],
    )


def judge_fig_3_5(numbers: Numbers) -> Judgement:
    """Judge Figure 3.5."""
    means = {name: np.array(numbers[name]["mean"]) for name in LEAKS}
    rising = {name: bool((np.diff(part[0]) > 0).all()) for name, part in means.items()}
    better = int((means["leaky"] > means["ReLU"]).sum())
    growth = ", ".join(f"{name} {part[0][0]:.2f} to {part[0][-1]:.2f}" for name, part in means.items())
    words = (
        f"means grow with the width: {growth} at depth 1; leaky is above ReLU at {better} of {means['ReLU'].size} sizes"
    )
    right = all(rising.values()) and better > means["ReLU"].size / 2
    return Judgement("agrees" if right else "disagrees", f"{words} (the figure's numbers are not in the text)")


def judge_shallow(numbers: Numbers) -> Judgement:
    """Judge section 3.4.2 and Theorem 2, slide 11."""
    part = numbers["ReLU"]["min"][numbers["depths"].index(1)]
    first = next((width for width, rate in zip(numbers["widths"], part, strict=True) if rate > 0), None)
    words = f"lowest successes in {numbers['trials']} by width {numbers['widths']}: {_hundred(part)}"
    if first == 5:
        return Judgement("agrees", words)
    words = (
        f"{words}: from width {first} on; a rate of a few percent decides, so that the width depends on the number of "
        "trials (100 by the caption of Figure 3.5, ten by the text)"
    )
    return Judgement("disagrees", words)


def judge_narrow(numbers: Numbers) -> Judgement:
    """Judge section 3.4.2, chapter 4, section 4.3 and Theorem 2.3.2."""
    part = [numbers["widths"].index(width) for width in (2, 3)]
    mean, least = ([line[i] for line in numbers["ReLU"][name] for i in part] for name in ("mean", "min"))
    words = (
        f"networks of widths 2 and 3 succeed in {min(mean):.0%} to {max(mean):.0%} of trials in the mean over the "
        f"classes, in {min(least):.0%} to {max(least):.0%} on the hardest one"
    )
    return Judgement("agrees" if max(mean) < RARE else "disagrees", words)


def judge_width_2(numbers: Numbers) -> Judgement:
    """Judge section 3.4.2."""
    part = [row[numbers["widths"].index(2)] for row in numbers["ReLU"]["min"]]
    words = f"lowest rates of width 2 by depth, percent: {_hundred(part)}"
    return Judgement("disagrees" if max(part) > 0 else "agrees", words)


def judge_3x2(numbers: Numbers) -> Judgement:
    """Judge section 3.4.2."""
    rate = lowest(numbers, "ReLU", 3, 2)
    words = f"on the hardest problem {rate:.0%} of {numbers['trials']} succeed"
    return Judgement("agrees" if rate > 0 else "disagrees", words)


def judge_layers(numbers: Numbers) -> Judgement:
    """Judge section 3.4.2."""
    item, two = (np.array(numbers["ReLU"]["min"][numbers["depths"].index(depth)]) for depth in (1, 2))
    words = f"lowest rates of one layer, percent: {_hundred(item)}; of two: {_hundred(two)}"
    return Judgement("agrees" if (two > item).mean() > 0.5 else "disagrees", words)


def judge_leaky(numbers: Numbers) -> Judgement:
    """Judge section 3.4.2."""
    means = {name: np.array(numbers[name]["mean"]) for name in LEAKS}
    better = int((means["leaky"] > means["ReLU"]).sum())
    words = f"the mean over the classes is higher at {better} of {means['ReLU'].size} sizes"
    return Judgement("agrees" if better > means["ReLU"].size / 2 else "disagrees", words)


def judge_minimal(numbers: Numbers) -> Judgement:
    """Judge section 3.4.2."""
    rates = {f"{w}x{d}": lowest(numbers, "leaky", w, d) for w, d in ((3, 1), (2, 2))}
    words = "on the hardest problem " + ", ".join(f"{name} {rate:.0%}" for name, rate in rates.items())
    words += f" of {numbers['trials']} succeed"
    return Judgement("agrees" if min(rates.values()) > 0 else "disagrees", words)


def hypothesis(found: Success) -> Numbers:
    """Return classes of s swaps that no leaky network of a size with w^l >= s has learned, of all such pairs.

    And the fewest bits at which functions of fewer than w^l swaps outnumber the networks.
    """
    rates, swaps = found.rates(LEAKY), found.metrics["swaps"]
    tried = [
        (int(f), int(width), int(depth), rates.loc[f, (width, depth)])
        for f, (width, depth) in product(rates.index, rates.columns)
        if width**depth >= swaps[f]
    ]
    never = [[f, width, depth] for f, width, depth, rate in tried if rate == 0]
    fewer = [part for part in rates.columns if part[0] ** part[1] < swaps.max() and (rates[part] > 0).all()]
    return {
        "pairs": len(tried),
        "never": never,
        "smaller sizes that learn all": [list(map(int, item)) for item in fewer],
        "counted": fewest_bits()._asdict(),
    }


def judge_hypothesis(numbers: Numbers) -> Judgement:
    """Judge section 3.3.2, open question of 3.5."""
    never, pairs = numbers["never"], numbers["pairs"]
    words = f"{pairs - len(never)} of {pairs} pairs of a class of s swaps and a size with w^l >= s were learned"
    smaller = ", ".join(f"{w}x{d}" for w, d in numbers["smaller sizes that learn all"])
    if never:
        return Judgement("disagrees", f"{words}; training that fails proves nothing")
    size = numbers["counted"]
    if size["functions"] > size["networks"]:
        return Judgement(
            "disagrees",
            f"on four bits {words}, but with {size['bits']} bits at least 2^{size['functions']} functions have fewer "
            f"than {size['width']}^{size['layers']} swaps, and networks of {size['layers']} layers of width "
            f"{size['width']} compute fewer than 2^{ceil(size['networks'])} (by a count of sign patterns; the proof is "
            "on the page Depth and swaps)",
        )
    return Judgement("agrees", f"{words}; of sizes with fewer, {smaller or 'none'} learn all too")


def measure_same_class(scale: Scale) -> Numbers:
    """Measure successes of 3x1 leaky networks on eight functions of one class, for three classes.

    One chance for all?
    """
    trials, draw = (1000 if scale == "full" else 100), np.random.default_rng(0)
    results = {}
    for f in (278, 1785, PARITY - 1):
        functions = [int(boolean.canonical_form(f, 4)), *(npn_image(f, 4, draw) for _ in range(7))]
        done = train_on(
            boolean.truth_table(functions, 4),
            3,
            1,
            leak=LEAKY,
            trials=trials,
            seeds=[derive_seed(1, item) for item in functions],
        )
        test = chi2_contingency([done.successes, trials - done.successes])
        results[str(functions[0])] = {"successes": done.successes.tolist(), "p": float(test.pvalue)}
    return {"trials": trials, "classes": results}


def judge_same_class(numbers: Numbers) -> Judgement:
    """Judge section 3.4.2."""
    least = min(part["p"] for part in numbers["classes"].values())
    words = "; ".join(f"class {f}: {part['successes']}" for f, part in numbers["classes"].items())
    right = least > 0.01 / len(numbers["classes"])
    return Judgement(
        "agrees" if right else "disagrees", f"of {numbers['trials']} succeed: {words} (least p {least:.2g})"
    )


def _hundred(rates: Any) -> str:
    return " ".join(f"{100 * rate:.0f}" for rate in rates)


def sweep_claim(
    id: str, says: str, numbers: Any, judge: Any, picture: Any = None, *, quick: Quick = "hard", **more: Any
) -> Claim:
    """Return a claim on the sweep, of section 3.4.2 unless its place is given."""
    measure, from_table = from_sweep(numbers, quick)
    place, printed = more.get("place", "section 3.4.2"), more.get("printed", "")
    return Claim(
        id,
        place,
        says,
        printed=printed,
        measure=measure,
        judge=judge,
        picture=picture,
        full="two minutes of 2 cores",
        from_table=from_table,
    )


CLAIMS = [
    Claim(
        "linearity/section-3.4.2-invariance",
        "section 3.4.2",
        "With inputs -1 and 1 and weights symmetric about 0, all functions of a class are learned equally often.",
        measure=measure_same_class,
        judge=judge_same_class,
        full="half a minute",
    ),
    sweep_claim(
        "linearity/figure-3.5",
        "Success by width and depth, mean over the classes and at the hardest, for ReLU and leaky ReLU.",
        sizes,
        judge_fig_3_5,
        picture_sizes("leaky", "mean"),
        quick="quick",
        place="Figure 3.5",
    ),
    sweep_claim(
        "linearity/section-3.4.2-shallow",
        "ReLU networks of one hidden layer succeed at least once on every problem only from width five on.",
        sizes,
        judge_shallow,
        picture_sizes("ReLU", "min"),
        printed="5",
    ),
    sweep_claim(
        "linearity/section-3.4.2-narrow",
        "ReLU networks of width less than four rarely find success.",
        sizes,
        judge_narrow,
        picture_sizes("ReLU", "mean"),
    ),
    sweep_claim(
        "linearity/section-3.4.2-width-2",
        "No ReLU network of width two solves every problem at least once.",
        sizes,
        judge_width_2,
        picture_sizes("ReLU", "min"),
    ),
    sweep_claim(
        "linearity/section-3.4.2-3x2",
        "ReLU networks of width three and depth two solve every problem at least once.",
        sizes,
        judge_3x2,
        picture_sizes("ReLU", "min"),
    ),
    sweep_claim(
        "linearity/section-3.4.2-layers",
        "A second hidden layer makes success of ReLU networks on the hardest problems much more frequent.",
        sizes,
        judge_layers,
        picture_sizes("ReLU", "min"),
    ),
    sweep_claim(
        "linearity/section-3.4.2-leaky",
        "Success is more frequent with leaky ReLU.",
        sizes,
        judge_leaky,
        picture_sizes("leaky", "mean"),
        quick="quick",
    ),
    sweep_claim(
        "linearity/section-3.4.2-minimal",
        "Leaky networks 3x1 and 2x2 have success on all problems, though some have five swaps.",
        sizes,
        judge_minimal,
        picture_sizes("leaky", "min"),
        printed="above 0",
    ),
    sweep_claim(
        "linearity/section-3.3.2-hypothesis",
        "Functions of s swaps can be solved by networks of width w and O(log s / log w) layers.",
        hypothesis,
        judge_hypothesis,
        place="section 3.3.2, open question of 3.5",
        printed="w^l >= s",
    ),
]
