"""Chapter 5 of the dissertation, sections 5.1 and 5.2: ReLU networks as piecewise linear functions."""

from __future__ import annotations

from itertools import pairwise, product
from math import comb

import numpy as np

import creases
from creases import Network
from creases.regions import bounds
from creases_reproduction.claim import Claim, Judgement, Numbers
from creases_reproduction.experiment import Scale
from creases_reproduction.judges import count_failures, judge_cases, judge_rows, row
from creases_reproduction.linearity.chapter2_regions import random_network

#: Figure 5.1: three layers, weights and biases.
LAYERS = (
    ([[3, 0, 4], [5, 9, 1], [6, 1, 2]], [7, 2, 9]),
    ([[2, 9, 5], [1, 3, 3], [8, 7, 0]], [7, 7, 8]),
    ([[7, 9, 6], [4, 0, 9], [7, 3, 7]], [5, 5, 2]),
)


SIDES = ([1, 0, 1], [0, 1, 0])  #: which units are on there


PRINTED_J = [[42, 0, 120], [20, 0, 27], [336, 21, 0]]


PRINTED_Y = [695, 376, 562]


XOR = [([-1.0, -1.0], -1), ([-1.0, 1.0], 1), ([1.0, -1.0], 1), ([1.0, 1.0], -1)]  #: Table 5.2a


def xor(first: float) -> Network:
    """Return Eq. (5.10) with (5.11), b = (first, 0): printed with 1; 2 makes it XOR."""
    return creases.read([(np.ones((2, 2)), [first, 0.0]), ([[1.0, -2.0]], [-1.0])])


def measure_linearization(scale: Scale) -> Numbers:
    """Measure the linearisation at a point against the network, at other points of its region.

    How much it is off elsewhere.
    """
    off, outside = 0.0, []
    for seed in range(100 if scale == "full" else 20):
        net, draw = random_network([3, 6, 6, 2], seed), np.random.default_rng(seed)
        x0 = draw.normal(size=3)
        results = creases.cell(net, x0, box=[(-5.0, 5.0)] * 3)
        J, v0 = results.J, net(x0[None])[0]
        inner = np.array(draw.dirichlet(np.ones(len(results.vertices)), 20)) @ results.vertices
        error = np.abs(net(inner) - (v0 + (inner - x0) @ J.T)).max()
        off = max(off, float(error / np.abs(net(inner)).max()))
        far = draw.normal(size=(20, 3)) * 3
        outside += np.abs(net(far) - (v0 + (far - x0) @ J.T)).max(axis=1)[~results.contains(far)].tolist()
    return {
        "networks": seed + 1,
        "largest relative error inside": off,
        "median error outside": float(np.median(outside)),
    }


def judge_exact(numbers: Numbers) -> Judgement:
    """Judge (5.2), (5.3), (5.7)."""
    off = numbers["largest relative error inside"]
    if off < 1e-12 < numbers["median error outside"]:
        return Judgement("agrees", f"exact in the region at {numbers['networks']} networks: off by {off:.1g} at most")
    return Judgement("disagrees", f"off by {off:.1g} of the values in the region of the linearisation")


def measure_convexity(scale: Scale) -> Numbers:
    """Measure whether the straight line between two points of a region stays in it.

    Over random networks and regions.
    """
    holds = []
    for seed in range(40 if scale == "full" else 10):
        net, draw = random_network([2, 8, 8, 8, 1], seed), np.random.default_rng(seed)
        results = creases.plane(net, box=[(-3, 3), (-3, 3)])
        for region in draw.integers(results.count, size=10):
            corners = results.polygon(int(region))
            a, b = (draw.dirichlet(np.ones(len(corners)), 8) @ corners for _ in range(2))
            holds.append(bool((results.locate(a + draw.uniform(size=(8, 1)) * (b - a)) == region).all()))
    return count_failures(holds)


def measure_figure_5_1(scale: Scale) -> Numbers:
    """Measure the matrices of Figure 5.1 multiplied out with its pattern, and whether any input has that pattern."""
    (A, a), (B, b), (C, c) = ((np.array(W, float), np.array(v, float)) for W, v in LAYERS)
    first, second = (np.diag(np.array(part, float)) for part in SIDES)
    J = C @ second @ B @ first @ A
    y = C @ (second @ (B @ first @ a + b)) + c
    net = creases.read([(A, a), (B, b), (C, c)])
    wanted = np.array([*SIDES[0], *SIDES[1]])
    points = np.random.default_rng(0).normal(size=(20_000, 3)) * 20
    share = float((net.sides(points) == wanted).all(axis=1).mean())
    return {"J": J.tolist(), "offset": y.tolist(), "printed J": PRINTED_J, "printed offset": PRINTED_Y, "inputs": share}


def judge_figure_5_1(numbers: Numbers) -> Judgement:
    """Judge Figure 5.1."""
    if numbers["J"] == numbers["printed J"] and numbers["offset"] == numbers["printed offset"]:
        return Judgement("agrees", "the product of the matrices is the printed one")
    J, y = ([[round(v) for v in line] for line in numbers["J"]], [round(v) for v in numbers["offset"]])
    seen = "no input of 20,000 has the pattern" if not numbers["inputs"] else "some inputs have the pattern"
    return Judgement(
        "disagrees",
        f"the matrices multiply to J = {J} and the offset {y}, another one than printed; {seen}: the second layer has "
        "no negative weight, so that its units are never off",
    )


def measure_xor_solution(scale: Scale) -> Numbers:
    """Measure the network of (5.11) at the four points of Table 5.2a, with b as printed and with b = (2, 0)."""
    points, wanted = np.array([x for x, _ in XOR]), [y for _, y in XOR]
    outputs = {name: xor(first)(points)[:, 0].tolist() for name, first in (("printed", 1.0), ("corrected", 2.0))}
    return {"wanted": wanted, **outputs}


def judge_solves_xor(numbers: Numbers) -> Judgement:
    """Judge (5.10), (5.11), Figure 5.2."""
    right = {name: np.sign(numbers[name]).tolist() == numbers["wanted"] for name in ("printed", "corrected")}
    if right["printed"]:
        return Judgement("agrees", f"outputs {numbers['printed']} have the signs of XOR")
    return Judgement(
        "disagrees",
        f"with b = (1, 0) the outputs are {numbers['printed']}: where the inputs differ it is 0, on the boundary; "
        f"with b = (2, 0) they are {numbers['corrected']}",
    )


def measure_equation_5_13(scale: Scale) -> Numbers:
    """Measure the inside of the ReLU at (-1, 0.5)."""
    inner = np.ones((2, 2)) @ [-1.0, 0.5] + [1.0, 0.0]
    sides = xor(1.0).sides(np.array([[-1.0, 0.5]]))[0]
    rows = [row("first unit", 0.5, inner[0]), row("second unit", -0.5, inner[1])]
    return {"rows": rows + [row(f"side of unit {i + 1}", side, sides[i]) for i, side in enumerate((1, 0))]}


def measure_equation_5_14(scale: Scale) -> Numbers:
    """Measure the pieces of the network along s = x1 + x2, as (slope in s, constant, from, to) by pattern.

    For either b.
    """
    results: dict[str, dict[str, list[float]]] = {}
    for name, first in (("printed b", 1.0), ("b = (2, 0)", 2.0)):
        net = xor(first)
        line = creases.line(net, [-4.0, -4.0], [4.0, 4.0])
        ends = [-8.0, *(8 * np.asarray(line.breakpoints) * 2 - 8).tolist(), 8.0]
        middles = np.array([[(a + b) / 4] * 2 for a, b in pairwise(ends)])
        J, y = net.piece(middles)
        bits = ["".join(map(str, item)) for item in net.sides(middles)]
        results[name] = {bit: [float(J[i, 0, 0]), float(y[i, 0]), ends[i], ends[i + 1]] for i, bit in enumerate(bits)}
    return results


#: (5.14): slope in x1 + x2, constant, from, to; the box of the line ends at -8 and 8.
PRINTED_PIECES = {"11": [-1.0, 1.0, 0.0, 8.0], "10": [1.0, 1.0, -1.0, 0.0], "00": [0.0, -1.0, -8.0, -1.0]}


def judge_equation_5_14(numbers: Numbers) -> Judgement:
    """Judge (5.14)."""
    part = numbers["printed b"]
    if part == PRINTED_PIECES:
        return Judgement("agrees", "pieces and patterns are as printed, and 01 has no inputs")
    right = numbers["b = (2, 0)"]
    return Judgement(
        "disagrees",
        f"the printed terms are those of b = (2, 0), with the lower crease at {right['10'][2]:g} in place of -1; with "
        f"b as in (5.11) the constants are {part['11'][1]:g} and {part['10'][1]:g}; 01 is empty as said (its term "
        "would be -2 x1 - 2 x2 - 1, not -4 x1 - 4 x2 + 3)",
    )


def measure_bands(scale: Scale) -> Numbers:
    """Measure regions of the XOR network in the square, for either b, and whether its boundary lies along creases."""
    results = {}
    for name, first in (("printed b", 1.0), ("b = (2, 0)", 2.0)):
        part = creases.plane(xor(first), box=[(-2, 2), (-2, 2)])
        sums = np.abs(part.boundary().segments.sum(axis=2)).ravel()
        results[name] = {"regions": part.count, "boundary at |x1 + x2|": sorted({round(float(s), 9) for s in sums})}
    return results


def judge_bands(numbers: Numbers) -> Judgement:
    """Judge Figure 5.3."""
    right = numbers["b = (2, 0)"]
    if right["regions"] != 3:
        return Judgement("disagrees", f"{right['regions']} regions, three bands are drawn")
    where = right["boundary at |x1 + x2|"]
    return Judgement(
        "agrees", f"three bands; the boundary is at |x1 + x2| = {where}, off the creases (with b = (2, 0))"
    )


def measure_arrangements(scale: Scale) -> Numbers:
    """Measure regions of one hidden layer of k units in n dimensions against sum C(k, i), at random weights."""
    cases = [(n, k) for n in (1, 2, 3) for k in (1, 2, 3, 5, 7 if scale == "full" else 4)]
    table = []
    for n, k in cases:
        most = max(creases.space(random_network([n, k, 1], seed), [(-1e4, 1e4)] * n).count for seed in range(3))
        table.append([n, k, most, sum(comb(k, i) for i in range(n + 1))])
    small = [most == 2**k for n, k, most, _ in table if k <= n]
    return {
        "n, k, regions, formula": table,
        **count_failures([most == formula for *_, most, formula in table] + small),
        "rows": [row("three lines in the plane", 7, next(most for n, k, most, _ in table if (n, k) == (2, 3)))],
    }


def judge_arrangements(numbers: Numbers) -> Judgement:
    """Judge section 5.2, (5.15)."""
    results = judge_cases("numbers of dimensions and units (and is 2^k for k <= n)")(numbers)
    return (
        results
        if results.verdict == "disagrees"
        else judge_rows(0)(numbers)._replace(why=f"{results.why}; 7 for 3 lines")
    )


def measure_deep_bound(scale: Scale) -> Numbers:
    """Measure regions of deep networks against the product of the layers' sums, over random networks."""
    shapes = [[2, 3, 3, 1], [2, 5, 5, 1], [2, 8, 8, 8, 1], [3, 3, 4, 1]]
    holds: list[bool] = []
    seen: dict[str, list[int]] = {}
    for shape, seed in product(shapes, range(20 if scale == "full" else 4)):
        count = creases.space(random_network(shape, seed), [(-50.0, 50.0)] * shape[0]).count
        bound = bounds(shape).product
        holds.append(count <= bound)
        name = "-".join(map(str, shape))
        seen[name] = [max(seen.get(name, [0])[0], count), bound]
    return {**count_failures(holds), "most regions and bound": seen}


CLAIMS = [
    Claim(
        "linearity/equation-5.7",
        "(5.2), (5.3), (5.7)",
        "Where all bends are piecewise linear the linearisation at a point is exact in a region around it.",
        measure=measure_linearization,
        judge=judge_exact,
        full="4 s",
        misprints=("linearity/equation-5.6", "linearity/equation-5.7"),
    ),
    Claim(
        "linearity/section-5.2-convex",
        "section 5.2",
        "The regions of a ReLU network are convex.",
        measure=measure_convexity,
        judge=judge_cases("regions of random networks, each along 8 lines"),
        full="2 s",
    ),
    Claim(
        "linearity/figure-5.1",
        "Figure 5.1",
        "A network of two hidden layers with a given pattern is the affine function printed.",
        printed=f"J = {PRINTED_J}, offset {PRINTED_Y}",
        measure=measure_figure_5_1,
        judge=judge_figure_5_1,
        full="a second",
        misprints=("linearity/figure-5.1",),
    ),
    Claim(
        "linearity/figure-5.2",
        "(5.10), (5.11), Figure 5.2",
        "The network w ReLU(A x + b) + c with the printed weights solves XOR.",
        printed="w = (1, -2), c = -1, A = ((1, 1), (1, 1)), b = (1, 0)",
        measure=measure_xor_solution,
        judge=judge_solves_xor,
        full="a second",
        misprints=("linearity/equation-5.11",),
    ),
    Claim(
        "linearity/equation-5.13",
        "(5.12), (5.13)",
        "At (-1, 0.5) the first unit is on and the second off: the pattern 10.",
        printed="A x + b = (0.5, -0.5)",
        measure=measure_equation_5_13,
        judge=judge_rows(1e-12),
        full="a second",
    ),
    Claim(
        "linearity/equation-5.14",
        "(5.14)",
        "The XOR network as a piecewise linear function, with its patterns; 01 is empty.",
        printed="-x1 - x2 + 1 (11), x1 + x2 + 1 (10), -1 (00), creases at 0 and -1",
        measure=measure_equation_5_14,
        judge=judge_equation_5_14,
        full="a second",
        misprints=("linearity/equation-5.11", "linearity/equation-5.14"),
    ),
    Claim(
        "linearity/figure-5.3",
        "Figure 5.3",
        "The XOR network has three regions, bands; the boundary need not lie along creases.",
        printed="three polytopes",
        measure=measure_bands,
        judge=judge_bands,
        full="a second",
        misprints=("linearity/equation-5.11",),
    ),
    Claim(
        "linearity/equation-5.15",
        "section 5.2, (5.15)",
        "k hyperplanes cut n dimensions into at most sum C(k, i), i <= n, parts: 2^k for k <= n, 7 for three lines.",
        printed="7",
        measure=measure_arrangements,
        judge=judge_arrangements,
        full="10 s",
    ),
    Claim(
        "linearity/section-5.2-deep",
        "section 5.2",
        "For deep networks a product of these sums bounds the regions.",
        measure=measure_deep_bound,
        judge=judge_cases("random networks"),
        full="20 s",
    ),
]
