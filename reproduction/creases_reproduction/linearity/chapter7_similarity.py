"""Chapter 7 of the dissertation, section 7.4: how similar image networks are, by distance, CKA and cross-entropy."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import spearmanr

from creases_reproduction.claim import Claim, Judgement, Numbers
from creases_reproduction.images import note_stand_in
from creases_reproduction.linearity.chapter6_images import DATA
from creases_reproduction.linearity.chapter7_compression import from_similarity
from creases_reproduction.linearity.chapter7_maps import picture_heat
from creases_reproduction.linearity.image_networks import DataName
from creases_reproduction.linearity.image_numbers import Groups


def distance(own: Groups) -> dict[str, Any]:
    """Return distances between networks."""
    d = own.found.distance
    return {
        "distance": d,
        "dense to conv over linear to others": own.mean(d, own.dense, own.conv) / own.mean(d, own.linear, ~own.linear),
        "conv among themselves over linear to others": own.mean(d, own.conv, own.conv)
        / own.mean(d, own.linear, ~own.linear),
    }


@note_stand_in
def judge_distance(numbers: Numbers) -> Judgement:
    """Judge distance."""
    share, conv = numbers["dense to conv over linear to others"], numbers["conv among themselves over linear to others"]
    words = (
        f"dense and convolutional networks are {share:.2f}, convolutional ones among themselves {conv:.2f} times as "
    )
    words += "far apart as linear ones are from the others"
    if max(share, conv) < 0.25:
        return Judgement("agrees", words)
    return Judgement("disagrees", words)


def alignment(own: Groups) -> dict[str, Any]:
    """Return the CKA of networks."""
    c = [[np.nan if v is None else v for v in line] for line in own.found.cka]
    return {
        "cka": own.found.cka,
        "conv, SGD": own.mean(c, own.conv & own.sgd, own.conv & own.sgd),
        "conv, AdamW": own.mean(c, own.conv & own.adamw, own.conv & own.adamw),
        "across optimizers": own.mean(c, ~own.linear & own.sgd, ~own.linear & own.adamw),
        "dense, SGD": own.mean(c, own.dense & own.sgd, own.dense & own.sgd),
        "dense, across": own.mean(c, own.dense & own.sgd, own.dense & own.adamw),
        "linear to dense": own.mean(np.nan_to_num(np.array(c, float)), own.linear, own.dense),
    }


@note_stand_in
def judge_alignment(numbers: Numbers) -> Judgement:
    """Judge alignment."""
    block, adamw, across = (numbers[name] for name in ("conv, SGD", "conv, AdamW", "across optimizers"))
    words = ", ".join(f"{name} {value:.2f}" for name, value in numbers.items() if isinstance(value, float))
    facts = [block > 1.5 * max(adamw, across), numbers["linear to dense"] > 0.3]
    if all(facts):
        return Judgement("agrees", f"mean CKA: {words}")
    why = (
        "a linear network's coefficients are the same everywhere, of which the centring of (7.7) leaves nothing: "
        "what the "
        "figure shows of it must come from elsewhere"
    )
    return Judgement("disagrees", f"mean CKA: {words}; {why}")


def entropy(own: Groups) -> dict[str, Any]:
    """Return cross-entropies between networks."""
    h = np.array(own.found.cross_entropy)
    over = h - np.diag(h)[:, None]  # what the second network adds to the first's own entropy
    groups = {
        f"{kind}, {o}": getattr(own, kind) & getattr(own, o) for kind in ("dense", "conv") for o in ("sgd", "adamw")
    }
    return {
        "cross entropy": h.tolist(),
        "beyond one's own": {name: own.mean(over, g, g) for name, g in groups.items()},
        "across optimizers": own.mean(over, ~own.linear & own.sgd, ~own.linear & own.adamw),
        "to linear": own.mean(over, ~own.linear, own.linear),
        "hardest to represent": own.found.names[int(np.argmax(h.sum(axis=0) - np.diag(h)))],
    }


@note_stand_in
def judge_entropy(numbers: Numbers) -> Judgement:
    """Judge entropy."""
    part, across = numbers["beyond one's own"], numbers["across optimizers"]
    words = ", ".join(f"{name} {value:.2f}" for name, value in part.items())
    words = f"cross-entropy beyond a network's own: {words}, SGD to AdamW {across:.2f}"
    words += f", to linear {numbers['to linear']:.2f}; hardest to represent: {numbers['hardest to represent']}"
    if max(part["dense, sgd"], part["conv, sgd"]) < min(part["dense, adamw"], part["conv, adamw"], across):
        return Judgement("agrees", words)
    return Judgement("disagrees", words)


def agreement(own: Groups) -> dict[str, Any]:
    """Return rank correlations of the measures over pairs of networks that are not linear; all as similarities."""
    some = np.flatnonzero(~own.linear)
    a, b = (some[i] for i in np.triu_indices(len(some), 1))
    kept = 100 * np.array(own.found.mapped) - own.accuracy
    h = np.array(own.found.cross_entropy)
    over = h - np.diag(h)[:, None]
    measures = {
        "maps": (kept + kept.T)[a, b],
        "CKA": np.array(own.found.cka, float)[a, b],
        "cross-entropy": -(over + over.T)[a, b],
        "distance": -np.array(own.found.distance)[a, b],
    }
    names = list(measures)
    return {
        f"{item}, {other}": float(spearmanr(measures[item], measures[other]).statistic)
        for i, item in enumerate(names)
        for other in names[i + 1 :]
    }


@note_stand_in
def judge_agreement(numbers: Numbers) -> Judgement:
    """Judge section 7.4."""
    results = {name: value for name, value in numbers.items() if isinstance(value, float)}
    words = "rank correlations over pairs: " + ", ".join(f"{name} {value:.2f}" for name, value in results.items())
    far = [value for name, value in results.items() if "distance" in name]
    near = [value for name, value in results.items() if "distance" not in name]
    if min(near) > max(0.3, *far):
        return Judgement("agrees", words)
    return Judgement("disagrees", words)


def _pair(number: int, name: str) -> tuple[tuple[str, DataName, str], ...]:
    """Return the figures of MNIST and CIFAR-10 of one measure."""
    return (
        (f"{number}", "mnist", f"{name} of networks trained on MNIST"),
        (f"{number + 1}", "cifar10", f"{name} of networks trained on CIFAR-10"),
    )


CLAIMS = [
    *(
        Claim(
            f"linearity/figure-7.{n}",
            f"Figure 7.{n}",
            f"{what}: all that are not linear are alike by distance.",
            judge=judge_distance,
            picture=picture_heat("distance"),
            **from_similarity(distance, data),
        )
        for n, data, what in _pair(10, "Mean squared distance")
    ),
    *(
        Claim(
            f"linearity/figure-7.{n}",
            f"Figure 7.{n}",
            f"{what}: convolutional networks trained by SGD are a block, others "
            "distinct; linear and dense ones are alike.",
            judge=judge_alignment,
            picture=picture_heat("cka"),
            misprints=("linearity/equation-7.7",),
            **from_similarity(alignment, data),
        )
        for n, data, what in _pair(12, "CKA")
    ),
    *(
        Claim(
            f"linearity/figure-7.{n}",
            f"Figures 7.{n} and 7.{int(n) + 1}",
            f"Cross-entropy, {data}: dense and convolutional "
            "networks trained by SGD are alike, less so by AdamW and across.",
            judge=judge_entropy,
            picture=picture_heat("cross entropy"),
            **from_similarity(entropy, data),
        )
        for n, data in zip(("14", "16"), DATA, strict=True)
    ),
    *(
        Claim(
            f"linearity/section-7.4-{data}",
            "section 7.4",
            f"Maps, CKA and cross-entropy tell alike which networks are alike, the distance is distinct ({data}).",
            judge=judge_agreement,
            **from_similarity(agreement, data),
        )
        for data in DATA
    ),
]
