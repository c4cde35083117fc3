"""Chapter 7 of the dissertation in the plane: coefficients cluster, and map to each other."""

from __future__ import annotations

from functools import cache

import numpy as np
import torch
from numpy.typing import NDArray

import creases
from creases import lab
from creases.compare import Coefficients, cka, coefficients, compress
from creases.compare.measures import affine_map, cross_entropies, distances
from creases.network import Network
from creases_reproduction.claim import Claim, Judgement, Numbers, Picture, Row
from creases_reproduction.experiment import Scale
from creases_reproduction.judges import drawing
from creases_reproduction.linearity.chapter2_regions import random_network
from creases_reproduction.linearity.chapter5_piecewise_linear import XOR, xor
from creases_reproduction.linearity.chapter6_planes import SOLVED, network, problem, train_networks

GRID = np.stack(np.meshgrid(*[np.linspace(-1, 1, 101)] * 2), axis=-1).reshape(-1, 2)  #: the 101 x 101 uniform grid


def measure_clusters(scale: Scale) -> Numbers:
    """Measure regions in the square of solved networks of three layers of eight, and their accuracy with 1, 5.

    10 pieces.
    """
    results = train_networks("circle", (2, 8, 8, 8, 1), 40 if scale == "full" else 8)
    X, y = problem("circle")
    regions, right = [], []
    for k in np.flatnonzero(results.accuracy >= SOLVED):
        net = network(results, int(k))
        regions.append(creases.plane(net, box=[(-1, 1), (-1, 1)]).count)
        at = [coefficients(net, points) for points in (GRID[::5], X)]
        right.append(compress(at[0], at[1], np.asarray(X, np.float32), y, k=(1, 5, 10)).accuracy)
    low, high = np.quantile(regions, [0.025, 0.975])
    return {
        "solved": len(regions),
        "regions": Row("regions in the square", 93, float(np.mean(regions)), float(low), float(high))._asdict(),
        "right with 1, 5, 10 pieces": np.mean(right, axis=0).tolist(),
    }


def judge_clusters(numbers: Numbers) -> Judgement:
    """Judge section 7.2, Figure 7.2."""
    row = Row(**numbers["regions"])
    ten = numbers["right with 1, 5, 10 pieces"][-1]
    words = f"{row.measured:.0f} regions ({row.low:.0f} to {row.high:.0f}; printed 93), {ten:.1%} right with ten pieces"
    if ten < 0.95:
        return Judgement("disagrees", f"{words}: ten are not enough")
    inside = row.low is not None and row.high is not None and row.low <= 93 <= row.high
    return Judgement("agrees" if inside else "agrees in kind", words)


@cache
def xor_networks(width: int, count: int) -> list[Network]:
    """Return networks of one hidden layer that have learnt the four points of XOR."""
    X, y = np.array([x for x, _ in XOR]), np.array([int(t > 0) for _, t in XOR])
    done = lab.train(
        lab.Batch.initial(3 * count, [2, width, 1], seed=width),
        X,
        y,
        epochs=2000,
        loss="binary_cross_entropy",
        optimizer="sgd",
        lr=0.3,
    )
    return [creases.read(done.batch.module(int(k)), (2,)) for k in np.flatnonzero(done.accuracy == 1)[:count]]


def measure_resolution(scale: Scale) -> Numbers:
    """Measure regions in the square of XOR networks of 2, 20 and 100 units, and pieces that the four points use."""
    count = 10 if scale == "full" else 3
    corners = np.array([x for x, _ in XOR])
    results = {"2": [xor(2.0)], **{str(width): xor_networks(width, count) for width in (20, 100)}}
    regions = {w: [creases.plane(net, box=[(-2, 2), (-2, 2)]).count for net in nets] for w, nets in results.items()}
    used = {
        w: [len(np.unique(np.round(net.piece(corners)[0].reshape(4, -1), 9), axis=0)) for net in nets]
        for w, nets in results.items()
    }
    return {"regions": regions, "pieces of the four points": used}


def judge_resolution(numbers: Numbers) -> Judgement:
    """Judge Figure 7.5."""
    regions, used = numbers["regions"], numbers["pieces of the four points"]
    means = {w: float(np.mean(part)) for w, part in regions.items()}
    words = f"regions in the square: {', '.join(f'{w} units {m:.0f}' for w, m in means.items())}"
    words += f"; the smallest uses {used['2'][0]} pieces for the four points"
    if regions["2"] == [3] and used["2"] == [3] and means["2"] < means["20"] < means["100"]:
        return Judgement("agrees", words)
    return Judgement("disagrees", words)


def measure_maps(scale: Scale) -> Numbers:
    """Measure least-squares maps between coefficients of two XOR networks on the grid.

    What is left, and what is decided.
    """
    left, right = [], []
    count = 8 if scale == "full" else 3
    nets = xor_networks(20, 2 * count)
    corners = torch.tensor([x for x, _ in XOR], dtype=torch.float64)
    classes = np.array([t > 0 for _, t in XOR])
    for a, b in zip(nets[::2], nets[1::2], strict=False):
        C = [coefficients(net, GRID, dtype=torch.float64) for net in (a, b)]
        X = affine_map(C[0], C[1], 0)
        aim, got = C[1].features[0].double(), C[0].features[0].double() @ X
        left.append(float((aim - got).square().sum() / (aim - aim.mean(0)).square().sum()))
        at = [coefficients(net, corners, dtype=torch.float64) for net in (a, b)]
        values = ((at[0].features[0].double() @ X) * at[1].coordinates(corners)).sum(1)
        right.append(float(((values > 0).numpy() == classes).mean()))
    return {"left of the variance": left, "points of XOR right": right, "pairs": len(left)}


def judge_mapped(numbers: Numbers) -> Judgement:
    """Judge section 7.3.1, Figure 7.6."""
    left, right = numbers["left of the variance"], numbers["points of XOR right"]
    words = f"maps leave {np.mean(left):.0%} of the variance of coefficients ({min(left):.0%} to {max(left):.0%})"
    words += f" and {np.mean(right):.0%} of the points right, over {numbers['pairs']} pairs"
    if min(left) < 0.1 and np.mean(right) > 0.95:
        return Judgement("agrees" if np.mean(left) < 0.2 else "agrees in kind", words)
    return Judgement("agrees in kind" if np.mean(left) < 0.5 and np.mean(right) > 0.75 else "disagrees", words)


def measure_invariances(scale: Scale) -> Numbers:
    """Measure CKA of random matrices after rotations and scalings.

    Distance and decisions of a network after scaling.
    """
    off = {"CKA, orthogonal transform": 0.0, "CKA, scaling": 0.0, "distance, positive scaling": 0.0}
    for seed in range(20):
        draw = np.random.default_rng(seed)
        X, Y = draw.normal(size=(50, 8)), draw.normal(size=(50, 8))
        Y = Y + X
        Q = np.linalg.qr(draw.normal(size=(8, 8)))[0]
        value = cka(X, Y)
        off["CKA, orthogonal transform"] = max(off["CKA, orthogonal transform"], abs(cka(X @ Q, Y) - value))
        off["CKA, scaling"] = max(off["CKA, scaling"], abs(cka(3 * X, Y) - value))
        net = random_network([2, 5, 3], seed)
        C = coefficients(net, draw.normal(size=(40, 2)))
        other = coefficients(random_network([2, 5, 3], seed + 100), draw.normal(size=(40, 2)))
        times = Coefficients(5 * C.features, C.basis, 5 * C.values)
        d = distances([C, other, times])
        off["distance, positive scaling"] = max(off["distance, positive scaling"], abs(d[0, 1] - d[2, 1]), d[0, 2])
    return {"networks": 20, **off}


def judge_invariances(numbers: Numbers) -> Judgement:
    """Judge sections 7.3.2 and 7.3.3, (7.5) to (7.7)."""
    off = {name: value for name, value in numbers.items() if name != "networks"}
    worst = max(off.values())
    words = ", ".join(f"{name}: {value:.1g}" for name, value in off.items())
    return Judgement(
        "agrees" if worst < 1e-9 else "disagrees", f"largest changes at {numbers['networks']} cases: {words}"
    )


def measure_entropies(scale: Scale) -> Numbers:
    """Measure (7.8) and (7.9) of random networks against sums over probabilities, and its least.

    At a network itself.
    """
    off, least = 0.0, True
    for seed in range(10):
        draw = np.random.default_rng(seed)
        x = draw.normal(size=(30, 2))
        nets = [random_network([2, 4, 3], seed + 50 * i) for i in range(3)]
        H = cross_entropies([coefficients(net, x) for net in nets])
        p = [softmax(net(x)) for net in nets]
        want = [[-(a * np.log(b)).sum(axis=1).mean() for b in p] for a in p]
        off = max(off, float(np.abs(H - want).max()))
        least &= bool((np.diag(H) <= H.min(axis=1) + 1e-12).all())
    return {"cases": 90, "largest deviation": off, "own is least": least}


def softmax(y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (7.9), by rows."""
    e = np.exp(y - y.max(axis=1, keepdims=True))
    return np.asarray(e / e.sum(axis=1, keepdims=True))


def judge_entropies(numbers: Numbers) -> Judgement:
    """Judge (7.8), (7.9)."""
    off = numbers["largest deviation"]
    words = f"largest deviation {off:.1g} at {numbers['cases']} pairs"
    return Judgement("agrees" if off < 1e-9 and numbers["own is least"] else "disagrees", words)


CLAIMS = [
    drawing("linearity/figure-7.1", "Figure 7.1", "XOR, and circle against annulus."),
    Claim(
        "linearity/figure-7.2",
        "section 7.2, Figure 7.2",
        (
            "A network of three layers of eight units on circle against annulus has 93 regions in the domain; its "
            "coefficients cluster into ten."
        ),
        printed="93 regions, 10 clusters",
        measure=measure_clusters,
        judge=judge_clusters,
        picture=lambda n: Picture(rows=[Row(**n["regions"])], x="regions"),
        full="30 s",
    ),
    Claim(
        "linearity/figure-7.5",
        "Figure 7.5",
        (
            "XOR networks of 2, 20 and 100 units are no more accurate the larger they are, but resolve finer; the "
            "smallest has three regions."
        ),
        printed="3 regions",
        measure=measure_resolution,
        judge=judge_resolution,
        full="20 s",
    ),
    Claim(
        "linearity/figure-7.6",
        "section 7.3.1, Figure 7.6",
        "Coefficients of one XOR network map to those of another by a linear map, nearly.",
        measure=measure_maps,
        judge=judge_mapped,
        full="20 s",
    ),
    Claim(
        "linearity/equation-7.7",
        "sections 7.3.2 and 7.3.3, (7.5) to (7.7)",
        (
            "CKA does not change with an orthogonal transform or a uniform scaling, the distance not with a positive "
            "scaling."
        ),
        measure=measure_invariances,
        judge=judge_invariances,
        full="a second",
    ),
    Claim(
        "linearity/equation-7.8",
        "(7.8), (7.9)",
        "Cross-entropy of outputs after softmax.",
        measure=measure_entropies,
        judge=judge_entropies,
        full="a second",
    ),
]
