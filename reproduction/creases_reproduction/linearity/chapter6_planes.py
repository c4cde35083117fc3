"""Chapter 6 of the dissertation, section 6.2 and what else needs no images: polytopes in the plane."""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import pairwise
from math import log10

import numpy as np
from numpy.typing import NDArray

import creases
from creases import Network, lab
from creases.compare import section_of_partition
from creases.problems import Problem, get
from creases.regions.geometry import slice_through
from creases_reproduction.claim import Claim, Curve, Judgement, Numbers, Picture
from creases_reproduction.experiment import Scale
from creases_reproduction.judges import count_failures, drawing, judge_cases, judge_rows, row
from creases_reproduction.linearity.chapter2_regions import random_network

BOX = [(-4.0, 4.0), (-4.0, 4.0)]
SOLVED = 0.999
STEPS = {
    "epochs": 300,
    "loss": "binary_cross_entropy",
    "optimizer": "sgd",
    "lr": 0.3,
    "batch_size": 32,
}  #: the source gives no numbers


@cache
def train_networks(name: str, widths: tuple[int, ...], count: int, epochs: int = 300) -> lab.TrainingResult:
    """Return networks of one shape trained by stochastic gradient descent on circle against annulus, or with XOR."""
    X, y = problem(name)
    return lab.train(lab.Batch.initial(count, list(widths), seed=0), X, y, **{**STEPS, "epochs": epochs})  # type: ignore[arg-type]


def problem(name: str) -> Problem:
    """Return Figure 6.1."""
    return get("xor_circles", n=500) if name == "xor" else get("circle_annulus", n=500)


def network(found: lab.TrainingResult, k: int) -> Network:
    """Return a trained network as a piecewise-linear function."""
    return creases.read(found.batch.module(k), (2,))


def measure_three_units(scale: Scale) -> Numbers:
    """Measure solved networks of three units: regions of the plane, sides of the boundary, and gradients."""
    results = train_networks("circle", (2, 3, 1), 200 if scale == "full" else 60)
    solved = np.flatnonzero(results.accuracy >= SOLVED)
    regions, sides, zero, closed = [], [], [], []
    for k in solved:
        part = creases.plane(network(results, int(k)), box=[(-64, 64), (-64, 64)])
        lines = part.boundary().polylines()
        regions.append(part.count)
        closed.append(len(lines) == 1 and bool((lines[0][0] == lines[0][-1]).all()))
        sides.append(len(lines[0]) - 1)
        J, _ = part.pieces()
        zero.append(int((np.abs(J[:, 0]).max(axis=1) < 1e-6 * np.abs(J).max()).sum()))
    return {
        "starts": len(results.accuracy),
        "solved": len(solved),
        "regions": dict(Counter(regions)),
        "closed": sum(closed),
        "sides": dict(Counter(sides)),
        "regions where the function is constant": dict(Counter(zero)),
    }


def judge_three(numbers: Numbers) -> Judgement:
    """Judge Figure 6.4."""
    solved, sides = numbers["solved"], numbers["sides"]
    words = f"{solved} of {numbers['starts']} starts solve it; regions: {numbers['regions']}, sides: {sides}"
    if not solved or numbers["closed"] != solved:
        return Judgement("disagrees", words)
    if numbers["regions"].get("7", 0) == solved and sides.get("6", 0) > solved / 2:
        return Judgement("agrees", words)
    why = "three creases make seven regions as said; quadrilaterals solve it as well as hexagons"
    return Judgement("agrees in kind", f"{words}: {why}")


def measure_smallest_networks(scale: Scale) -> Numbers:
    """Measure the share of starts that solve circle against annulus by width of one hidden layer.

    And the best of each.
    """
    count = 400 if scale == "full" else 60
    results = {width: train_networks("circle", (2, width, 1), count) for width in (1, 2, 3, 4)}
    return {
        "widths": list(results),
        "solved": [int((item.accuracy >= SOLVED).sum()) for item in results.values()],
        "best": [float(item.accuracy.max()) for item in results.values()],
        "starts": count,
    }


def judge_smallest(numbers: Numbers) -> Judgement:
    """Judge section 6.2."""
    words = ", ".join(f"width {w}: {n}" for w, n in zip(numbers["widths"], numbers["solved"], strict=True))
    words += f" of {numbers['starts']} starts solve it; the best of width 2 has {numbers['best'][1]:.1%} right"
    solved = numbers["solved"]
    return Judgement("agrees" if solved[0] == solved[1] == 0 < solved[2] else "disagrees", words)


def deep_solution(name: str, scale: Scale) -> Numbers:
    """Return networks of three hidden layers of eight.

    How many starts solve the problem, and their regions and creases.
    """
    results = train_networks(name, (2, 8, 8, 8, 1), 60 if scale == "full" else 12, 2000 if name == "xor" else 300)
    solved = np.flatnonzero(results.accuracy >= (0.99 if name == "xor" else SOLVED))
    regions, sides = [], []
    for k in solved:
        part = creases.plane(network(results, int(k)), box=BOX)
        regions.append(part.count)
        sides.append(sum(len(line) - 1 for line in part.boundary().polylines()))
    return {"starts": len(results.accuracy), "solved": len(solved), "regions": regions, "sides": sides}


def judge_solution(numbers: Numbers) -> Judgement:
    """Judge Figure 6.5 and Figure 6.6."""
    solved, regions = numbers["solved"], numbers["regions"]
    if not solved:
        return Judgement("disagrees", f"none of {numbers['starts']} starts solves it")
    words = (
        f"{solved} of {numbers['starts']} starts solve it, with {min(regions)} to {max(regions)} regions in the square"
    )
    return Judgement("agrees", f"{words} and boundaries of {min(numbers['sides'])} to {max(numbers['sides'])} sides")


def measure_bent_creases(scale: Scale) -> Numbers:
    """Measure corners of creases in networks with three layers of two units.

    Whether each lies on a crease of an earlier layer.

    A crease runs on straight wherever its two edges at a vertex have one direction; of the first layer it always does.
    """
    holds, corners = [], Counter[int]()
    for seed in range(60 if scale == "full" else 15):
        part = creases.plane(random_network([2, 2, 2, 2, 1], seed), box=[(-3, 3), (-3, 3)])
        ends, layer = part.vertices[part.edges], part.edge_units // 2
        along = ends[:, 1] - ends[:, 0]
        angle = np.arctan2(along[:, 1], along[:, 0]) % np.pi
        at: dict[int, list[int]] = {}
        for edge, pair in enumerate(part.edges):
            for vertex in pair:
                at.setdefault(int(vertex), []).append(edge)
        for edges in at.values():
            for unit in {int(part.edge_units[e]) for e in edges} - {-1}:
                values_of = [e for e in edges if part.edge_units[e] == unit]
                turn = np.ptp(np.sin(2 * (angle[values_of] - angle[values_of[0]]))) if len(values_of) == 2 else 0.0
                if turn > 1e-6:
                    corners[unit // 2 + 1] += 1
                    holds.append(any(0 <= layer[e] < unit // 2 and part.edge_units[e] >= 0 for e in edges))
    return {**count_failures(holds), "corners by layer": dict(corners)}


def judge_bent(numbers: Numbers) -> Judgement:
    """Judge section 6.2, Figure 6.7."""
    if numbers["corners by layer"].get("1", 0):
        return Judgement("disagrees", f"creases of the first layer bend {numbers['corners by layer']['1']} times")
    return judge_cases(
        "corners of creases, at each of which one of an earlier layer passes; none of the first layer's"
    )(numbers)


def measure_shifts(scale: Scale) -> Numbers:
    """Measure XOR with circle and annulus.

    Share of points of a grid whose side of a unit changes, by layer and stage.
    """
    stages = (0, 10, 30, 100, 300, 1000)
    X, y = problem("xor")
    grid = np.stack(np.meshgrid(*[np.linspace(-2, 2, 21)] * 2), axis=-1).reshape(-1, 2)
    count = 40 if scale == "full" else 10
    batch = lab.Batch.initial(count, [2, 8, 8, 8, 1], seed=0)
    sides, collected = _sides(batch, grid), []
    for number, (a, b) in enumerate(pairwise(stages)):
        options = {**STEPS, "epochs": b - a, "seed": number}
        batch = lab.train(batch, X, y, **options).batch  # type: ignore[arg-type]
        now = _sides(batch, grid)
        collected.append((now != sides).reshape(count, len(grid), 3, 8).mean(axis=(0, 1, 3)).tolist())
        sides = now
    return {"epochs": list(stages[1:]), "changed, by layer": collected}


def _sides(batch: lab.Batch, x: NDArray[np.float64]) -> NDArray[np.int16]:
    return np.stack([creases.read(batch.module(k), (2,)).sides(x) for k in range(batch.count)])


def judge_shifts(numbers: Numbers) -> Judgement:
    """Judge section 6.2."""
    results = np.array(numbers["changed, by layer"])
    words = "; ".join(
        f"to epoch {e}: {', '.join(f'{item:.1%}' for item in part)}"
        for e, part in zip(numbers["epochs"], results, strict=True)
    )
    words = f"share of sides that change, layers 1 to 3, {words}"
    slower = (results[:, :1] < results[:, 1:]).all()
    return Judgement("agrees" if slower and results[0, 2] > 1.5 * results[0, 0] else "disagrees", words)


def picture_shifts(numbers: Numbers) -> Picture:
    """Picture section 6.2."""
    columns = list(zip(*numbers["changed, by layer"], strict=True))
    curves = [Curve(f"layer {i + 1}", numbers["epochs"], part) for i, part in enumerate(columns)]
    return Picture(curves=curves, x="epochs", y="share of sides that changed", log=True)


def measure_gram_schmidt(scale: Scale) -> Numbers:
    """Measure (6.2) at random triples in 3072 dimensions.

    The axes are orthonormal and the plane has the three points.
    """
    off = 0.0
    for seed in range(20):
        draw = np.random.default_rng(seed)
        points = draw.normal(size=(3, 3072))
        u1, u2 = points[1] - points[0], points[2] - points[0]
        u2 = u2 - (u2 @ u1) / (u1 @ u1) * u1
        axes = np.stack([u1 / np.linalg.norm(u1), u2 / np.linalg.norm(u2)])
        net = creases.read([(np.zeros((1, 3072)), [0.0])])
        origin, basis, at = slice_through(net, list(points))
        off = max(off, float(np.abs(basis.T @ basis - np.eye(2)).max()), float(np.abs(axes @ axes.T - np.eye(2)).max()))
        off = max(off, float(np.abs(origin + at @ basis.T - points).max()))
        off = max(off, float(np.abs(basis @ (basis.T @ axes.T) - axes.T).max()))  # both span one plane
    return {"cases": 20, "failed": int(off > 1e-9), "largest deviation": off}


def measure_grid_counts(scale: Scale) -> Numbers:
    """Measure what grids of p x p points count twice, against what they see, on one network.

    And on two creases that cross.

    The two go down to the right, y = -0.8 x and y = -0.9 x, so that the corners of regions point that way.
    """
    cross = creases.read([([[-0.8, -1.0], [-0.9, -1.0]], [0.01, 0.01]), ([[1.0, 1.0]], [0.0])])
    corner = creases.plane(cross, box=[(-1, 1), (-1, 1)])
    part = creases.plane(random_network([2, 6, 6, 1], 1), box=[(-3, 3), (-3, 3)])
    points = np.zeros((3, 2))
    sizes = (8, 16, 32, 64, 128) if scale == "full" else (8, 16, 32, 64)
    results = [section_of_partition(part, points, grid=p, tolerance=1e-9).counts for p in sizes]
    return {
        "p": list(sizes),
        "regions": part.count,
        "seen": [item["seen"] for item in results],
        "counted": [item["by pattern"] for item in results],
        "of two creases": [
            section_of_partition(corner, points, grid=p, tolerance=1e-9).counts["by pattern"] for p in sizes
        ],
    }


def judge_tight(numbers: Numbers) -> Judgement:
    """Judge Figure 6.12."""
    twice = [c - s for c, s in zip(numbers["counted"], numbers["seen"], strict=True)]
    words = (
        f"of {numbers['regions']} regions grids (p = {numbers['p']}) see {numbers['seen']}, count {numbers['counted']}"
    )
    if not twice[-1] and numbers["seen"][-1] == numbers["regions"] and numbers["of two creases"][-1] == 4:
        return Judgement("agrees", words)
    why = "a corner that points down to the right is met again however fine the grid is"
    crossing = f"of the four regions of two creases they count {numbers['of two creases']}"
    return Judgement("disagrees", f"{words}: the finest counts {twice[-1]} twice; {crossing}: {why}")


def measure_mnist_images(scale: Scale) -> Numbers:
    """Measure section 6.1."""
    return {"rows": [row("log10 of the number of 28 x 28 images of 256 values", 1888, round(28 * 28 * log10(256)))]}


def measure_comparisons(scale: Scale) -> Numbers:
    """Measure how many comparisons Fig. 6.12's rule makes on a p x p grid: powers of p and of the number of points."""
    counts = []
    for p in (1024, 2048):
        x, y = np.meshgrid(np.arange(p), np.arange(p))
        left, above = x > 0, np.where(y > 0, p - np.maximum(x - 1, 0), 0)
        counts.append(int(left.sum() + above.sum()))
    power = float(np.log2(counts[1] / counts[0]))
    return {"of p": power, "of the points": power / 2}


def judge_comparisons(numbers: Numbers) -> Judgement:
    """Judge section 6.3."""
    words = f"comparisons go as p^{numbers['of p']:.2f}, the points to the power {numbers['of the points']:.2f}"
    if abs(numbers["of p"] - 1.5) < 0.02:
        return Judgement("agrees", words)
    if abs(numbers["of the points"] - 1.5) < 0.02:
        return Judgement("disagrees", f"{words}: p is the side of the grid in one place, the number of points here")
    return Judgement("disagrees", words)


CLAIMS = [
    drawing("linearity/figure-6.1", "Figure 6.1", "Circle against annulus, and the same with XOR."),
    drawing("linearity/figure-6.2", "Figure 6.2", "Images of MNIST and CIFAR-10."),
    Claim(
        "linearity/section-6.1-images",
        "section 6.1",
        "There are about 10^1888 images of 28 x 28 pixels of 256 values.",
        printed="256^(28 x 28) = 10^1888",
        measure=measure_mnist_images,
        judge=judge_rows(0),
        full="a second",
    ),
    Claim(
        "linearity/figure-6.4",
        "Figure 6.4",
        (
            "Trained on circle against annulus, three units make three lines, seven regions (six of them unbounded) "
            "and a hexagon as boundary; coefficients: a central point and six around."
        ),
        printed="7 regions, 6 sides",
        measure=measure_three_units,
        judge=judge_three,
        full="10 s",
    ),
    Claim(
        "linearity/section-6.2-smallest",
        "section 6.2",
        "One hidden layer of three units is the smallest network for circle against annulus.",
        printed="3",
        measure=measure_smallest_networks,
        judge=judge_smallest,
        full="10 s",
    ),
    Claim(
        "linearity/figure-6.5",
        "Figure 6.5",
        "Three hidden layers of eight units solve circle against annulus.",
        measure=lambda scale: deep_solution("circle", scale),
        judge=judge_solution,
        full="10 s",
    ),
    Claim(
        "linearity/figure-6.6",
        "Figure 6.6",
        "Three hidden layers of eight units solve circle against annulus with XOR.",
        measure=lambda scale: deep_solution("xor", scale),
        judge=judge_solution,
        full="10 s",
    ),
    Claim(
        "linearity/figure-6.7",
        "section 6.2, Figure 6.7",
        "The first layer's creases are straight lines; those of later layers bend at creases of earlier ones.",
        measure=measure_bent_creases,
        judge=judge_bent,
        full="5 s",
    ),
    Claim(
        "linearity/section-6.2-bottom-up",
        "section 6.2",
        "On the XOR circles the later layers shift much at first, the first layer slowly.",
        measure=measure_shifts,
        judge=judge_shifts,
        picture=picture_shifts,
        full="20 s",
    ),
    Claim(
        "linearity/equation-6.2",
        "(6.2)",
        "Gram-Schmidt gives orthonormal axes of the plane through three images.",
        measure=measure_gram_schmidt,
        judge=judge_cases("triples of points"),
        full="a second",
    ),
    Claim(
        "linearity/section-6.3-comparisons",
        "section 6.3",
        (
            "To compare a point of a p x p grid with the one to its left and those of the row above takes O(p^(3/2)) "
            "and not O(p^2)."
        ),
        printed="p^(3/2)",
        measure=measure_comparisons,
        judge=judge_comparisons,
        misprints=("linearity/section-6.3-comparisons",),
    ),
    Claim(
        "linearity/figure-6.12",
        "Figure 6.12",
        (
            "If the grid is tight enough each region is found once by comparing a point with the one to its left and "
            "those of the row above from there on."
        ),
        measure=measure_grid_counts,
        judge=judge_tight,
        full="20 s",
        picture=lambda n: Picture(curves=[Curve(k, n["p"], n[k]) for k in ("seen", "counted")], x="p", y="regions"),
    ),
]
