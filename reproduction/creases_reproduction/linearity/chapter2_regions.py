"""Chapters 1 and 2 of the dissertation, section 2.3: how wide networks must be, how many regions."""

from __future__ import annotations

from itertools import combinations_with_replacement, pairwise, product
from math import comb, log2, prod

import numpy as np
from scipy.linalg import block_diag
from torch import nn

import creases
from creases import Network, lab
from creases._typing import Floats
from creases.boolean import intervals
from creases.regions import bounds, decision_polytopes
from creases_reproduction.claim import Claim, Curve, Judgement, Numbers, Picture
from creases_reproduction.experiment import Scale
from creases_reproduction.judges import count_failures, judge_cases, judge_rows, row, rows, rows_picture
from creases_reproduction.linearity.enclosures import hyperoctahedron

Layers = list[tuple[Floats, Floats]]


def random_network(widths: list[int], seed: int) -> Network:
    """Return a network with normal weights and biases: in general position."""
    draw = np.random.default_rng(seed)
    return creases.read([(draw.normal(size=(b, a)), draw.normal(size=b)) for a, b in pairwise(widths)])


def measure_bounded_decisions(scale: Scale) -> Numbers:
    """Measure parts of the plane and of space that networks of width d decide for a class: bounded ones among them.

    As many of the smallest wider networks (d + 1 units) are looked at beside: those do have bounded parts.
    """
    trials = 40 if scale == "full" else 8
    shapes = [[2, 2, 1], [2, 2, 2, 1], [2, 1, 2, 1], [2, 2, 2, 2, 1]] + ([[3, 3, 3, 1]] if scale == "full" else [])
    reaches = []
    for shape, seed, inside in product(shapes, range(trials), (0, 1)):
        box = [(-64.0, 64.0)] * shape[0]
        reaches += [polytope.extent for polytope in decision_polytopes(random_network(shape, seed), box, inside=inside)]
    (wider,) = decision_polytopes(creases.read(hyperoctahedron(2), (2,)), inside=0)
    cut = sum(reach == "cut off" for reach in reaches)  # leaves the box: whether it ends beyond is not known
    return {
        **count_failures(reach != "bounded" for reach in reaches),
        "leave the box": cut,
        "one unit more": wider.extent,
    }


def judge_narrow(numbers: Numbers) -> Judgement:
    """Judge section 3.4.2, chapter 4, section 4.3 and Theorem 2.3.2."""
    results = judge_cases("parts of random networks of width d: none is bounded")(numbers)
    if results.verdict == "agrees" and numbers["one unit more"] != "bounded":
        return Judgement("disagrees", "with one unit more nothing is bounded either")
    return results


def measure_product_bound(scale: Scale) -> Numbers:
    """Measure (2.26) with k = 1 for three inputs and widths 5, 1, as the text allows.

    And with k = d for random networks.
    """
    net = random_network([3, 5, 1, 1], 0)
    counted = creases.space(net, [(-1e3, 1e3)] * 3).count
    holds = []
    for d, depth, seed in product((1, 2), (1, 2), range(20 if scale == "full" else 5)):
        widths = np.random.default_rng(seed).integers(1, 5, depth).tolist()
        regions = creases.space(random_network([d, *widths, 1], seed), [(-1e3, 1e3)] * d).count
        holds.append(regions <= bounds(widths, d).product)
    return {
        "regions": counted,
        "bound with k = 1": prod(comb(n, 0) + n for n in (5, 1)),
        "k = d": count_failures(holds),
    }


def judge_product_bound(numbers: Numbers) -> Judgement:
    """Judge eq. (2.26)."""
    regions, bound = numbers["regions"], numbers["bound with k = 1"]
    right = judge_cases("random networks with k the number of inputs")(numbers["k = d"])
    if regions <= bound:
        return right
    return Judgement(
        "disagrees",
        f"no k that is at most every width is large enough for widths 5, 1 and three inputs: k = 1 allows {bound} "
        f"regions, and {regions} were counted; with k the number of inputs {right.why}",
    )


def measure_zigzags(scale: Scale) -> Numbers:
    """Measure (2.27): networks of as many folds as there can be, in each input by itself, against the lower bound."""
    generic = creases.space(random_network([2, 6, 1], 0), [(-1e3, 1e3)] * 2).count
    rows = [[2, 6, 1, generic, bounds([6], 2).lower or 0, bounds([6], 2).upper]]
    for d, units, depth in [(1, 3, 1), (1, 3, 2), (1, 3, 3), (1, 4, 2), (2, 3, 2)]:
        net = creases.read(_side_by_side(intervals.max_changes_network(units, depth), d))
        count = creases.line(net, [-2.0], [2.0]).count if d == 1 else creases.plane(net, box=[(-2, 2)] * 2).count
        known = bounds([d * units] * depth, d)
        rows.append([d, d * units, depth, count, known.lower or 0, known.upper])
    return {"networks": rows, **count_failures(low <= count <= high for *_, count, low, high in rows)}


def _side_by_side(model: nn.Sequential, d: int) -> Layers:
    """Return the layers of d networks of one input side by side, with one output: their sum."""
    layers = [
        (item.weight.detach().numpy(), item.bias.detach().numpy()) for item in model if isinstance(item, nn.Linear)
    ]
    joined = [(block_diag(*[W] * d), np.tile(b, d)) for W, b in layers]
    last = joined[-1]
    return [*joined[:-1], (last[0].sum(axis=0, keepdims=True), last[1].sum(keepdims=True))]


def measure_tightness(scale: Scale) -> Numbers:
    """Measure upper bound (2.26) over lower bound (2.27) at growing width, for 1 to 3 inputs and 1 to 4 layers."""
    widths = [2**k * 6 for k in range(12)]
    ratios = {}
    for d, depth in product((1, 2, 3), (1, 2, 3, 4)):
        results = [bounds([n] * depth, d) for n in widths]
        ratios[f"{d} inputs, {depth} layers"] = [item.product / (item.lower or 1) for item in results]
    return {"widths": widths, "ratios": ratios}


def judge_tightness(numbers: Numbers) -> Judgement:
    """Judge eqs. (2.26) to (2.28)."""
    worst = max(part[-1] / part[-2] for part in numbers["ratios"].values())
    largest = max(part[-1] for part in numbers["ratios"].values())
    if worst < 1.01:
        return Judgement("agrees", f"their ratio stays bounded as the width grows, at most {largest:.0f} here")
    return Judgement("disagrees", f"their ratio still grows {worst:.2f} times when the width doubles")


def picture_tightness(numbers: Numbers) -> Picture:
    """Picture eqs. (2.26) to (2.28)."""
    curves = [Curve(name, numbers["widths"], part) for name, part in numbers["ratios"].items()]
    return Picture(curves=curves, x="width", y="upper over lower bound", log=True)


def measure_order(scale: Scale) -> Numbers:
    """Measure the power of the width that the upper bound (2.26) grows as, for L layers and k = 1 to 3.

    Beside k (L - 1).
    """
    n = 1 << 20
    collected = []
    for k, layers in product((1, 2, 3), (1, 2, 3, 4)):
        small, large = (bounds([width] * layers, k).product for width in (n, 2 * n))
        collected.append(row(f"k = {k}, L = {layers}", k * (layers - 1), log2(large / small)))
    return {"rows": collected, "k L": [k * layers for k, layers in product((1, 2, 3), (1, 2, 3, 4))]}


def judge_order(numbers: Numbers) -> Judgement:
    """Judge section 2.3.2, after (2.26)."""
    if judge_rows(0.01)(numbers).verdict == "agrees":
        return Judgement("agrees", "the bound grows as printed")
    all_rows = rows(numbers)
    right = all(abs((row.measured or 0) - kl) < 0.01 for row, kl in zip(all_rows, numbers["k L"], strict=True))
    words = (
        "the bound grows as N^(k L): a layer is missing in k (L - 1), which (2.28) has" if right else "not as N^(k L)"
    )
    return Judgement("disagrees", words)


def measure_identical_units(scale: Scale) -> Numbers:
    """Measure regions of a layer of units that all compute the same combination of the inputs."""
    counts = []
    for d, seed in product((2, 3), range(5)):
        draw = np.random.default_rng(seed)
        layers = [(np.tile(draw.normal(size=d), (6, 1)), np.full(6, 0.1)), (draw.normal(size=(1, 6)), np.zeros(1))]
        counts.append(creases.space(creases.read(layers), [(-1e3, 1e3)] * d).count)
    return {"counts": counts, **count_failures(count == 2 for count in counts)}


def measure_depth_separation(scale: Scale) -> Numbers:
    """Measure Theorem 2.3.3.

    A sawtooth of k^2 layers of k units, and the least units with which k layers have its pieces.
    """
    rows = []
    for k in range(1, 6 if scale == "full" else 4):
        pieces = k ** (k * k)  # at least as many as changes of sign, which the smaller ones show
        if k <= (3 if scale == "full" else 2):
            net = creases.read(intervals.sawtooth_network(k, k * k), (1,))
            pieces = len(creases.line(net, [0.0], [float(pieces)]).boundary().t)
        rows.append([k, k**3, pieces, _least_units(pieces, k), k ** (k + 1) / 2 - 1])
    return {"rows": rows, **count_failures(least >= bound for *_, least, bound in rows)}


def _least_units(pieces: int, layers: int) -> int:
    """Return the least units in so many layers that can make so many pieces on a line.

    Prod (n_l + 1) of them at most.
    """
    even = int(pieces ** (1 / layers))
    options = [[max(even - 1 + k, 1) for k in part] for part in combinations_with_replacement((0, 1), layers)]
    enough = [sum(widths) for widths in options if bounds(widths, 1).product >= pieces]
    return min(enough) if enough else layers * even


def measure_on_lines(scale: Scale) -> Numbers:
    """Measure breakpoints of untrained networks on random segments of four inputs, by the number of units."""
    trials = 40 if scale == "full" else 6
    shapes = [(width, depth) for depth in (1, 2, 3) for width in (8, 16, 32, 64)]
    rows = []
    for width, depth in shapes:
        batch = lab.Batch.initial(trials, [4, *[width] * depth, 1], seed=width + depth, init="he")
        ends = np.random.default_rng(0).normal(size=(trials, 2, 4)) * 4
        counts = [len(creases.line(creases.read(batch.module(k), (4,)), *ends[k]).breakpoints) for k in range(trials)]
        rows.append([width * depth, depth, float(np.mean(counts))])
    units, _, counts_ = np.array(rows).T
    return {"rows": rows, "power": float(np.polyfit(np.log(units), np.log(counts_), 1)[0])}


def judge_on_lines(numbers: Numbers) -> Judgement:
    """Judge section 2.3.8 (also 1.1.1)."""
    power = numbers["power"]
    words = f"breakpoints go as the number of units to the power {power:.2f}"
    return Judgement("agrees" if abs(power - 1) < 0.2 else "disagrees", words)


def picture_on_lines(numbers: Numbers) -> Picture:
    """Picture section 2.3.8 (also 1.1.1)."""
    rows = numbers["rows"]
    curves = [
        Curve(f"depth {depth}", [r[0] for r in rows if r[1] == depth], [r[2] for r in rows if r[1] == depth])
        for depth in sorted({r[1] for r in rows})
    ]
    return Picture(curves=curves, x="units", y="breakpoints on a segment", log=True)


def measure_by_dimension(scale: Scale) -> Numbers:
    """Measure regions of untrained networks of two layers in a box of 1, 2 and 3 inputs, by the number of units."""
    trials = 10 if scale == "full" else 2
    widths = (4, 8, 16, 32) if scale == "full" else (4, 8, 16)
    counts = []
    for d in (1, 2, 3):
        part = []
        for width in widths:
            batch = lab.Batch.initial(trials, [d, width, width, 1], seed=width, init="torch")
            nets = [creases.read(batch.module(k), (d,)) for k in range(trials)]
            part.append(float(np.mean([creases.space(net, [(-8.0, 8.0)] * d).count for net in nets])))
        counts.append(part)
    units = 2 * np.array(widths)
    powers = [float(np.polyfit(np.log(units), np.log(part), 1)[0]) for part in counts]
    return {"units": units.tolist(), "counts": counts, "powers": powers}


def judge_by_dimension(numbers: Numbers) -> Judgement:
    """Judge section 2.3.8 (also 1.1.1)."""
    powers, last = numbers["powers"], [part[-1] for part in numbers["counts"]]
    ratios = [b / a for a, b in pairwise(last)]
    words = f"powers of the units with 1, 2, 3 inputs: {', '.join(f'{p:.2f}' for p in powers)}; at the most units each "
    words += f"input more has {' and '.join(f'{r:.1f}' for r in ratios)} times the regions"
    right = all(abs(p - d) < 0.5 for d, p in enumerate(powers, start=1)) and min(ratios) > 2
    return Judgement("agrees" if right else "disagrees", words)


def picture_by_dimension(numbers: Numbers) -> Picture:
    """Picture section 2.3.8 (also 1.1.1)."""
    curves = [Curve(f"{d} inputs", numbers["units"], part) for d, part in enumerate(numbers["counts"], start=1)]
    return Picture(curves=curves, x="units", y="regions", log=True)


CLAIMS = [
    Claim(
        "linearity/theorem-2.3.2",
        "Theorem 2.3.2",
        (
            "Networks of width at most d are at infinite distance from integrable functions of d inputs, or no nearer "
            "than 0: where they are not 0 is never bounded."
        ),
        measure=measure_bounded_decisions,
        judge=judge_narrow,
        full="half a minute",
    ),
    Claim(
        "linearity/equation-2.26",
        "eq. (2.26)",
        "A network has at most prod_l sum_(i <= k) C(N_l, i) regions, for a k that is at most every width.",
        printed="k <= N_l for all l",
        measure=measure_product_bound,
        judge=judge_product_bound,
        full="seconds",
        misprints=("linearity/equation-2.26",),
    ),
    Claim(
        "linearity/equation-2.27",
        "eq. (2.27)",
        "Some weights reach prod_(l < L) floor(N_l / N_0)^N_0 sum_(j <= N_0) C(N_L, j) regions.",
        measure=measure_zigzags,
        judge=judge_cases("networks of 1 and 2 inputs, built to fold where they have two layers or more"),
    ),
    Claim(
        "linearity/equation-2.28",
        "eqs. (2.26) to (2.28)",
        (
            "Upper and lower bound are asymptotically tight: polynomial in width, exponential in depth (also section "
            "1.1.1)."
        ),
        measure=measure_tightness,
        judge=judge_tightness,
        picture=picture_tightness,
    ),
    Claim(
        "linearity/section-2.3.2-order",
        "section 2.3.2, after (2.26)",
        "For widths of at most N the upper bound on the number of regions is O(N^(k (L - 1))).",
        printed="k (L - 1)",
        measure=measure_order,
        judge=judge_order,
        picture=rows_picture("power of the width"),
        misprints=("linearity/section-2.3.2-order",),
    ),
    Claim(
        "linearity/section-2.3.2-same",
        "section 2.3.2",
        "A hidden layer of units that all compute the same combination of the inputs has only two regions.",
        printed="2",
        measure=measure_identical_units,
        judge=judge_cases("networks of six such units"),
    ),
    Claim(
        "linearity/theorem-2.3.3",
        "Theorem 2.3.3",
        "Some function of a network of k^2 layers and k^3 units needs at least k^(k+1)/2 - 1 units in k layers.",
        printed="k^(k+1)/2 - 1",
        measure=measure_depth_separation,
        judge=judge_cases("numbers k, by the pieces of a sawtooth"),
        full="seconds",
    ),
    Claim(
        "linearity/theorem-2.3.4",
        "Theorem 2.3.4",
        "Some networks of depth 2 and width O(k^2) are approximated by none of width O(k^1.5) and depth k.",
        cannot="asymptotic in k, with constants that are not given",
    ),
    Claim(
        "linearity/section-2.3.3-vc",
        "section 2.3.3",
        "The VC dimension of ReLU networks is O(W d log W) and Omega(W d log(W / d)).",
        cannot="asymptotic in the number of weights; the VC dimension of one network cannot be computed either",
    ),
    Claim(
        "linearity/section-2.3.8-lines",
        "section 2.3.8 (also 1.1.1)",
        "Untrained networks have a number of regions on a line that grows linearly in the number of units.",
        printed="linear",
        measure=measure_on_lines,
        judge=judge_on_lines,
        picture=picture_on_lines,
        full="seconds",
    ),
    Claim(
        "linearity/section-2.3.8-dimension",
        "section 2.3.8 (also 1.1.1)",
        "Their number of regions grows polynomially in the number of units and exponentially in that of inputs.",
        measure=measure_by_dimension,
        judge=judge_by_dimension,
        picture=picture_by_dimension,
        full="a minute",
    ),
]
