"""Chapter 5 of the dissertation, sections 5.4 and 5.5: tropical forms, and how regions grow in number."""

from __future__ import annotations

from itertools import pairwise, product
from math import factorial

import numpy as np

import creases
from creases.regions import bounds
from creases_reproduction.claim import Claim, Curve, Judgement, Numbers, Picture
from creases_reproduction.experiment import Scale
from creases_reproduction.judges import judge_cases
from creases_reproduction.linearity.chapter2_regions import random_network
from creases_reproduction.linearity.chapter5_piecewise_linear import xor


def measure_tropical_forms(scale: Scale) -> Numbers:
    """Measure the tropical form of random networks against the networks themselves, and how many terms it has."""
    off, terms = 0.0, {}
    for widths, seed in product(([2, 3, 1], [2, 3, 3, 1], [1, 4, 4, 1]), range(10 if scale == "full" else 2)):
        net = random_network(list(widths), seed)
        form = creases.tropical(net)
        x = np.random.default_rng(seed).normal(size=(200, widths[0])) * 3
        values = net(x)
        off = max(off, float(np.abs(form.evaluate(x) - values).max() / np.abs(values).max()))
        terms["-".join(map(str, widths))] = list(form.n_terms[0])
    return {"largest relative error": off, "terms of F and G": terms}


def judge_tropical_forms(numbers: Numbers) -> Judgement:
    """Judge section 5.4."""
    off = numbers["largest relative error"]
    verdict = "agrees" if off < 1e-10 else "disagrees"
    return Judgement(verdict, f"network and tropical form differ by {off:.1g} of the values at most")  # type: ignore[arg-type]


def measure_equation_5_22(scale: Scale) -> Numbers:
    """Measure terms (slopes and constant) of the tropical form of (5.21), for either b."""
    results = {}
    for name, first in (("printed b", 1.0), ("b = (2, 0)", 2.0)):
        form = creases.tropical(xor(first))
        results[name] = {"F": sorted(form.F[0].tolist()), "G": sorted(form.G[0].tolist())}
    return results


def judge_equation_5_22(numbers: Numbers) -> Judgement:
    """Judge (5.21), (5.22)."""
    printed = {"F": [[0.0, 0.0, -1.0], [1.0, 1.0, -1.0]], "G": [[0.0, 0.0, 0.0], [2.0, 2.0, 0.0]]}
    if numbers["printed b"] == printed:
        return Judgement("agrees", "the terms are as printed")
    constants = [numbers[name]["F"][1][2] for name in ("printed b", "b = (2, 0)")]
    return Judgement(
        "disagrees",
        f"the first maximum is max(-1, {constants[0]:g} + x1 + x2) with b as printed, and {constants[1]:g} + x1 + x2 "
        "with the b that makes it XOR; printed is -1 + x1 + x2",
    )


def measure_terms(scale: Scale) -> Numbers:
    """Measure terms of the tropical form of one hidden layer by width.

    Before and after those never the largest are removed.
    """
    widths = list(range(2, 9 if scale == "full" else 7))
    results: dict[str, list[int]] = {"all": [], "needed": []}
    for width in widths:
        draw = np.random.default_rng(width)
        net = creases.read([(draw.normal(size=(width, 2)), draw.normal(size=width)), (np.ones((1, width)), [0.0])])
        for name, prune in (("all", False), ("needed", True)):
            results[name].append(sum(creases.tropical(net, prune=prune).n_terms[0]))
    return {"widths": widths, **results}


def judge_terms(numbers: Numbers) -> Judgement:
    """Judge section 5.4."""
    every, needed = ([b / a for a, b in pairwise(numbers[name])] for name in ("all", "needed"))
    words = f"all terms: {numbers['all']}, those that are somewhere the largest: {numbers['needed']}"
    if np.mean(every) <= 1.3:
        return Judgement("disagrees", words)
    words = f"each unit multiplies them {np.mean(every):.2f} times; {words}"
    if needed[-1] < needed[0] - 0.1:  # powers of the width grow by less and less
        words += ": those that are needed grow by less and less with one hidden layer"
    return Judgement("agrees", words)


def picture_terms(numbers: Numbers) -> Picture:
    """Picture section 5.4."""
    curves = [Curve(name, numbers["widths"], numbers[name]) for name in ("all", "needed")]
    return Picture(curves=curves, x="hidden units", y="terms of F and G", log=True)


def measure_pieces(scale: Scale) -> Numbers:
    """Measure (5.25).

    J x + y in Q x <= p against the network at points of each region, and y the same from any point.
    """
    off, regions = 0.0, 0
    for seed in range(10 if scale == "full" else 3):
        net = random_network([2, 6, 6, 1], seed)
        part = creases.plane(net, box=[(-3, 3), (-3, 3)])
        for center in part.centers()[:40]:
            results = creases.cell(net, center, box=[(-3.0, 3.0)] * 2)
            y = net(results.vertices) - results.vertices @ results.J.T
            off = max(off, float(np.abs(y - results.y).max() / max(1.0, np.abs(results.y).max())))
            regions += 1
    return {"cases": regions, "failed": int(off > 1e-10), "largest difference of y": off}


def measure_growth(scale: Scale) -> Numbers:
    """Measure the bounds on regions over w^(d l), as w grows.

    Both stay between positive numbers where O(w^(d l)) is sharp.
    """
    widths = [2**k * 6 for k in range(4, 10)]
    results = {}
    for d, depth in product((1, 2, 3), (1, 2, 3)):
        part = [bounds([w] * depth, d) for w in widths]
        results[f"{d} inputs, {depth} layers"] = [
            [item.product / w ** (d * depth), (item.lower or 0) / w ** (d * depth), 1 / factorial(d) ** depth]
            for item, w in zip(part, widths, strict=True)
        ]
    return {"widths": widths, "upper, lower, limit of upper": results}


def judge_growth(numbers: Numbers) -> Judgement:
    """Judge section 5.5."""
    last = [part[-1] for part in numbers["upper, lower, limit of upper"].values()]
    off = max(abs(upper / limit - 1) for upper, _, limit in last)
    if off < 0.05 and min(lower for _, lower, _ in last) > 0:
        return Judgement(
            "agrees", f"upper bounds over w^(d l) tend to 1 / d!^l (off by {off:.1%}), lower ones to positive numbers"
        )
    return Judgement("disagrees", f"the upper bound is off from w^(d l) / d!^l by {off:.0%}")


CLAIMS = [
    Claim(
        "linearity/section-5.4-equivalent",
        "section 5.4",
        "Every ReLU network is a tropical rational function: a difference of two maxima of affine functions.",
        measure=measure_tropical_forms,
        judge=judge_tropical_forms,
        full="20 s",
        misprints=("linearity/equation-5.17",),
    ),
    Claim(
        "linearity/equation-5.22",
        "(5.21), (5.22)",
        "The XOR network as a tropical rational function.",
        printed="max(-1, -1 + x1 + x2) - max(0, 2 x1 + 2 x2)",
        measure=measure_equation_5_22,
        judge=judge_equation_5_22,
        full="a second",
        misprints=("linearity/equation-5.22",),
    ),
    Claim(
        "linearity/section-5.4-terms",
        "section 5.4",
        "The tropical form has exponentially many terms.",
        measure=measure_terms,
        judge=judge_terms,
        picture=picture_terms,
        full="10 s",
    ),
    Claim(
        "linearity/equation-5.25",
        "(5.23) to (5.25)",
        "v(x) = J_i x + y_i where Q_i x <= p_i, with y_i = v(x) - J_i x for any x of the region.",
        measure=measure_pieces,
        judge=judge_cases("regions of random networks"),
        full="10 s",
    ),
    Claim(
        "linearity/section-5.5-growth",
        "section 5.5",
        "The most regions grow as O(w^(d l)): polynomially in the width, exponentially in the depth.",
        printed="O(w^(d l))",
        measure=measure_growth,
        judge=judge_growth,
        full="a second",
    ),
]
