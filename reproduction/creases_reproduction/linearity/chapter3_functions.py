"""Chapter 3 of the dissertation, sections 3.1 to 3.3.1: Fourier polynomials, NPN classes, swaps."""

from __future__ import annotations

from itertools import pairwise, product
from math import factorial

import numpy as np
from scipy.stats import chisquare

from creases import boolean, lab
from creases.boolean import intervals
from creases_reproduction.claim import Claim, Curve, Judgement, Numbers, Picture
from creases_reproduction.experiment import Scale
from creases_reproduction.judges import count_failures, judge_cases, judge_rows, row, rows, rows_picture
from creases_reproduction.linearity.chapter2_perceptrons import swaps_of_all

#: Classes with the most swaps at n = 4 (Fig. 3.2).
FIVE_SWAPS = [1785, 7140]


def measure_perceptron_counts(scale: Scale) -> Numbers:
    """Count the points of {0, 1}^n at which untrained perceptrons without a bias are 1.

    How often each number.
    """
    n, trials = 4, 200_000 if scale == "full" else 20_000
    weights = lab.Batch.initial(trials, [n, 1], seed=0, init="he").weights[0][:, 0]  # normal: symmetric about 0
    ones = (weights @ boolean.all_inputs(n).T > 0).sum(axis=1)
    counts = np.bincount(ones, minlength=2**n + 1)
    return {"counts": counts.tolist(), "p": float(chisquare(counts[:-1]).pvalue), "at 2^n": int(counts[-1])}


def judge_perceptron_counts(numbers: Numbers) -> Judgement:
    """Judge section 3.1."""
    p, last = numbers["p"], numbers["at 2^n"]
    if p < 0.001:
        return Judgement("disagrees", f"the numbers are not equally frequent (chi-square test: p = {p:.2g})")
    words = f"0 to 2^n - 1 are equally frequent (chi-square test of {sum(numbers['counts'])} draws: p = {p:.2f})"
    if last:
        return Judgement("agrees", words)
    return Judgement("disagrees", f"{words}; 2^n, which the text has too, never occurs: the shares would exceed 1")


def picture_perceptron_counts(numbers: Numbers) -> Picture:
    """Picture section 3.1."""
    counts = numbers["counts"]
    share = [count / sum(counts) for count in counts]
    printed = [1 / (len(counts) - 1)] * len(counts)
    t = list(range(len(counts)))
    return Picture(curves=[Curve("here", t, share), Curve("printed", t, printed)], x="points of class 1", y="share")


def measure_enough_width(scale: Scale) -> Numbers:
    """Measure whether width n + 2^(n - 1 - log2 l) + 1 in l layers suffices for the most swaps of n bits."""
    most = [int(boolean.class_swaps(n).swaps.max()) for n in range(1, 6 if scale == "full" else 5)]
    cases = [(n, layers) for n in range(1, len(most) + 1) for layers in (1, 2, 4) if layers <= 2 ** (n - 1)]
    widths = [n + 2 ** (n - 1) // layers + 1 for n, layers in cases]
    return count_failures(
        intervals.layers_needed(most[n - 1], width) <= layers for (n, layers), width in zip(cases, widths, strict=True)
    )


def measure_polynomial(scale: Scale) -> Numbers:
    """Measure the sum (3.5) of coefficients times monomials over f, with and without the factor 2^-n.

    At all functions.
    """
    ratios: dict[str, list[list[float]]] = {"with the factor": [], "as printed": []}
    for n in (1, 2, 3, 4):
        functions = np.arange(1 << (1 << n)) if n < 4 else boolean.npn_classes(4).representatives
        signs = 2 * boolean.all_inputs(n) - 1
        chi = np.array([[np.prod(x[s == 1]) for s in boolean.all_inputs(n)] for x in signs])  # (points, sets)
        values = 2.0 * boolean.truth_table(functions, n) - 1
        sums = boolean.measures(functions, n).coefficients @ chi.T
        for name, factor in (("with the factor", 1), ("as printed", 1 << n)):
            ratio = factor * sums / values
            ratios[name] += [[n, float(ratio.min()), float(ratio.max())]]
    return ratios


def judge_polynomial(numbers: Numbers) -> Judgement:
    """Judge eq. (3.5), also (A.22)."""
    if all(low == high == 1 for _, low, high in numbers["as printed"]):
        return Judgement("agrees", "the polynomial has the function's values")
    if all(low == high == 1 for _, low, high in numbers["with the factor"]):
        return Judgement("disagrees", "the coefficients lack the factor 2^-n: as printed the polynomial is 2^n f")
    return Judgement("disagrees", "the polynomial does not have the function's values")


def measure_influence(scale: Scale) -> Numbers:
    """Measure (3.6), the influence by coefficients, against its definition, at all functions of up to four bits."""
    holds = []
    for n in (1, 2, 3, 4):
        functions = np.arange(1 << (1 << n))
        by_sets = boolean.measures(functions, n).coefficients ** 2 @ boolean.all_inputs(n).sum(axis=1)
        holds += (np.abs(by_sets - boolean.measures(functions, n).influence) < 1e-12).tolist()
    return count_failures(holds)


def measure_invariance(scale: Scale) -> Numbers:
    """Measure swaps along permuted and negated weights, and of images of functions by the operations of NPN."""
    draw, holds = np.random.default_rng(0), []
    for n in (2, 3, 4, 5) if scale == "full" else (2, 3, 4):
        for _ in range(20):
            f = int(draw.integers(0, 2 ** (2**n), dtype=np.uint64))
            image = npn_image(f, n, draw)
            holds.append(boolean.swaps(f, n).changes == boolean.swaps(image, n).changes)
    return count_failures(holds)


def npn_image(f: int, n: int, draw: np.random.Generator) -> int:
    """Return another function of a function's class: inputs permuted and negated, the output perhaps negated."""
    bits = boolean.all_inputs(n)[:, draw.permutation(n)] ^ draw.integers(0, 2, n)
    table = boolean.truth_table(f, n)[bits @ (1 << np.arange(n))]
    return boolean.from_truth_table(table ^ draw.integers(0, 2))


def measure_fourier_invariance(scale: Scale) -> Numbers:
    """Measure degree, entropy and influence of functions and of other functions of their classes."""
    draw, holds = np.random.default_rng(0), []
    for n, _ in product((2, 3, 4, 5, 6), range(20)):
        f = int(draw.integers(0, 2 ** (2**n), dtype=np.uint64)) if n < 6 else int(draw.integers(0, 2**63))
        pair = [f, npn_image(f, n, draw)]
        found = boolean.measures(pair, n)
        holds += [bool(np.ptp(measure) < 1e-12) for measure in (found.degree, found.entropy, found.influence)]
    return count_failures(holds)


def measure_narrow_networks(scale: Scale) -> Numbers:
    """Measure networks of width two built for every class of up to four bits, and for some of five."""
    holds = []
    for n, leak in product((1, 2, 3, 4), (0.0, 0.1)):
        some = boolean.npn_classes(n).representatives[:: 1 if scale == "full" or n < 4 else 8]
        holds += [boolean.margin(boolean.deep_network(int(f), n, 2, leak=leak), int(f), n) > 0 for f in some]
    return count_failures(holds)


def measure_orderings(scale: Scale) -> Numbers:
    """Measure how many orders positive weights can put the inputs in, and how many the printed cases tell apart."""
    bits = range(1, 6)
    return {
        "rows": [row(f"n = {n}", factorial(max(n - 1, 1)), len(boolean.subset_sum_orderings(n).weights)) for n in bits]
    }  # without ties: one for w_1, w_2 and i - 1 for every further weight


def judge_orderings(numbers: Numbers) -> Judgement:
    """Judge section 3.3.1."""
    off = [row for row in rows(numbers) if row.printed != row.measured]
    if not off:
        return Judgement("agrees", "the cases tell all orders apart")
    words = ", ".join(f"{row.printed:.0f} of {row.measured:.0f} at {row.what}" for row in off)
    return Judgement("disagrees", f"the cases compare a weight with the one before and prefix sums only: {words}")


def measure_class_counts(scale: Scale) -> Numbers:
    """Measure NPN classes of n bits beside 2^(2^n) / (2^n n!)."""
    bits = range(1, 6 if scale == "full" else 5)
    printed = {1: 2, 2: 4, 4: 222, 5: 616126}
    results = {n: len(boolean.npn_classes(n).representatives) for n in bits}
    return {
        "rows": [row(f"n = {n}", printed.get(n), count) for n, count in results.items()],
        "over the estimate": [count * 2**n * factorial(n) / 2 ** (2**n) for n, count in results.items()],
    }


def judge_class_counts(numbers: Numbers) -> Judgement:
    """Judge sections 3.3.1 and 3.4.2."""
    off = [row for row in rows(numbers) if row.printed is not None and row.printed != row.measured]
    if off:
        return Judgement("disagrees", ", ".join(f"{row.measured:.0f} classes at {row.what}" for row in off))
    ratios = ", ".join(f"{ratio:.2f}" for ratio in numbers["over the estimate"])
    return Judgement("agrees", f"as many as printed; {ratios} times the estimate for n = 1 to 5")


def measure_table_3_1(scale: Scale) -> Numbers:
    """Measure the most swaps of functions of n bits; n = 5, which is not printed, at full scale."""
    printed = {1: 1, 2: 2, 3: 3, 4: 5}
    most = {n: int(boolean.class_swaps(n).swaps.max()) for n in range(1, 6 if scale == "full" else 5)}
    return {"rows": [row(f"n = {n}", printed.get(n), value) for n, value in most.items()]}


def judge_table_3_1(numbers: Numbers) -> Judgement:
    """Judge Table 3.1."""
    off = [row for row in rows(numbers) if row.printed is not None and row.printed != row.measured]
    if off:
        return Judgement("disagrees", ", ".join(f"{row.measured:.0f} at {row.what}" for row in off))
    more = [f"; {row.measured:.0f} at {row.what}, which is not printed" for row in rows(numbers) if row.printed is None]
    return Judgement("agrees", f"all four values{''.join(more)}")


def measure_small_classes(scale: Scale) -> Numbers:
    """Measure how many classes have 0, 1, 2, ... swaps, for n = 1, 2, 3."""
    return {str(n): np.bincount(boolean.class_swaps(n).swaps).tolist() for n in (1, 2, 3)}


def judge_small_classes(numbers: Numbers) -> Judgement:
    """Judge Figures 3.1 and 3.4, section 3.3.1."""
    results = [numbers[str(n)] for n in (1, 2, 3)]
    right = results[0] == [1, 1] and results[1] == [1, 2, 1] and len(results[2]) == 4 and results[2][3] > 1
    words = "; ".join(f"n = {n}: {' '.join(map(str, part))}" for n, part in enumerate(results, start=1))
    return Judgement("agrees" if right else "disagrees", f"classes with 0, 1, 2, ... swaps: {words}")


def measure_most_swaps(scale: Scale) -> Numbers:
    """Measure the classes of four bits with the most swaps."""
    results = boolean.class_swaps(4)
    return {
        "most": int(results.swaps.max()),
        "classes": results.representatives[results.swaps == results.swaps.max()].tolist(),
    }


def judge_most_swaps(numbers: Numbers) -> Judgement:
    """Judge Figure 3.2."""
    right = numbers["most"] == 5 and numbers["classes"] == FIVE_SWAPS
    return Judgement("agrees" if right else "disagrees", f"{numbers['most']} swaps: classes {numbers['classes']}")


def measure_parity_swaps(scale: Scale) -> Numbers:
    """Measure swaps of parity, and changes along equal weights."""
    bits = range(1, 7 if scale == "full" else 6)
    results = [
        (boolean.swaps(boolean.parity(n), n).changes, boolean.class_changes(boolean.parity(n), n, [1] * n))
        for n in bits
    ]
    return {
        "rows": [row(f"n = {n}", n, exact) for n, (exact, _) in zip(bits, results, strict=True)],
        "along ones": [other for _, other in results],
    }


def measure_average_swaps(scale: Scale) -> Numbers:
    """Measure mean swaps over all functions of n bits."""
    means = [float(swaps_of_all(n).mean()) for n in (1, 2, 3, 4)]
    if scale == "full":
        results, sizes = boolean.class_swaps(5), boolean.npn_classes(5).sizes
        means.append(float(results.swaps @ sizes / sizes.sum()))
    return {"means": means}


def judge_average_swaps(numbers: Numbers) -> Judgement:
    """Judge section 1.1.3."""
    means = numbers["means"]
    ratios = [b / a for a, b in pairwise(means)]
    words = f"means {', '.join(f'{item:.3g}' for item in means)} for n = 1, 2, ...: each bit more has "
    words += f"{min(ratios):.2f} to {max(ratios):.2f} times as many swaps"
    return Judgement("agrees" if min(ratios) > 1.5 else "disagrees", words)


def picture_average_swaps(numbers: Numbers) -> Picture:
    """Picture section 1.1.3."""
    means = numbers["means"]
    return Picture(curves=[Curve("mean swaps", list(range(1, len(means) + 1)), means)], x="bits", y="swaps", log=True)


CLAIMS = [
    Claim(
        "linearity/section-1.1.3-average",
        "section 1.1.3",
        "The average Boolean function becomes exponentially more complex to represent as the bits grow.",
        measure=measure_average_swaps,
        judge=judge_average_swaps,
        picture=picture_average_swaps,
        full="half a minute",
    ),
    Claim(
        "linearity/section-3.1-perceptron",
        "section 3.1",
        "An untrained perceptron says 1 at t of the points of {0, 1}^n with a chance of 2^-n for each t.",
        printed="2^-n for 0 <= t <= 2^n",
        measure=measure_perceptron_counts,
        judge=judge_perceptron_counts,
        picture=picture_perceptron_counts,
        full="seconds",
        misprints=("linearity/section-3.1-perceptron",),
    ),
    Claim(
        "linearity/section-3.1-width",
        "section 3.1",
        "l hidden layers of width n + 2^(n-1-log2 l) + 1 have a network for every function of n bits.",
        measure=measure_enough_width,
        judge=judge_cases("numbers of bits and layers: networks built for the most swaps fit"),
        full="half a minute",
    ),
    Claim(
        "linearity/section-3.1-bounds",
        "section 3.1",
        (
            "Threshold networks for every function of n bits need Omega(sqrt(2^n / n)) units, in one layer Omega(2^n "
            "/ n); circuits 2^n / n gates."
        ),
        cannot="asymptotic bounds of other authors, without constants",
    ),
    Claim(
        "linearity/equation-3.5",
        "eq. (3.5), also (A.22)",
        (
            "A function of bits -1 and 1 is the sum of its Fourier coefficients times monomials, the coefficients "
            "being sums of f times the monomial."
        ),
        measure=measure_polynomial,
        judge=judge_polynomial,
        misprints=("linearity/equation-3.5",),
    ),
    Claim(
        "linearity/equation-3.6",
        "eq. (3.6)",
        "The influence is the sum of the squared coefficients, each times the size of its set.",
        measure=measure_influence,
        judge=judge_cases("functions of up to four bits, with the factor 2^-n in the coefficients"),
    ),
    Claim(
        "linearity/theorem-3.3.1",
        "Theorem 3.3.1, Lemmas A.1.1 to A.1.3",
        "All functions of an NPN class have the same swaps.",
        measure=measure_invariance,
        judge=judge_cases("pairs of functions of a class"),
        full="seconds",
    ),
    Claim(
        "linearity/section-A.5",
        "appendix A.5, section 3.4.2",
        "Degree, Fourier entropy and influence are the same for all functions of an NPN class.",
        measure=measure_fourier_invariance,
        judge=judge_cases("pairs of functions of a class, three measures each"),
    ),
    Claim(
        "linearity/section-3.3.1-width-2",
        "section 3.3.1, section 3.5",
        "Every function of bits has a network of width two.",
        measure=measure_narrow_networks,
        judge=judge_cases("classes with and without leak: the network built is right at every point"),
        full="seconds",
    ),
    Claim(
        "linearity/section-3.3.1-cases",
        "section 3.3.1",
        (
            "All orders that weights can put the inputs in are found by comparing each weight with the one before and "
            "that plus prefix sums: 2i - 2 cases for weight i."
        ),
        printed="no numbers; without ties the cases make 1, 1, 2, 6, 24 orders for n = 1 to 5",
        measure=measure_orderings,
        judge=judge_orderings,
        picture=rows_picture("orders", log=True),
        misprints=("linearity/section-3.3.1-cases",),
    ),
    Claim(
        "linearity/section-3.3.1-classes",
        "sections 3.3.1 and 3.4.2",
        "There are 222 NPN classes of four bits, 616,126 of five, O(2^2^n / (2^n n!)) of n.",
        printed="2, 4, 222, 616126 for n = 1, 2, 4, 5",
        measure=measure_class_counts,
        judge=judge_class_counts,
        picture=rows_picture("classes", log=True),
        full="seconds",
    ),
    Claim(
        "linearity/table-3.1",
        "Table 3.1",
        "The highest swaps of functions of n bits.",
        printed="1, 2, 3, 5 for n = 1 to 4; Omega(2^n / n)",
        measure=measure_table_3_1,
        judge=judge_table_3_1,
        picture=rows_picture("most swaps"),
        full="half a minute",
    ),
    Claim(
        "linearity/figure-3.1",
        "Figures 3.1 and 3.4, section 3.3.1",
        (
            "One bit: a constant class, one of one swap. Two bits: one constant, two of one swap, XOR of two. Three "
            "bits: several classes of three swaps."
        ),
        printed="1 1; 1 2 1; several",
        measure=measure_small_classes,
        judge=judge_small_classes,
    ),
    Claim(
        "linearity/figure-3.2",
        "Figure 3.2",
        "The classes of four bits with five swaps are 1785 and 7140.",
        printed="1785, 7140",
        measure=measure_most_swaps,
        judge=judge_most_swaps,
    ),
    Claim(
        "linearity/section-3.3.1-parity",
        "section 3.3.1",
        "Parity of n bits has n swaps: equal weights reach them.",
        printed="n",
        measure=measure_parity_swaps,
        judge=judge_rows(0),
        picture=rows_picture("swaps of parity"),
        full="seconds",
    ),
]
