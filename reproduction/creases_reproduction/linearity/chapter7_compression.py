"""Chapter 7 of the dissertation, section 7.2: the coefficients of image networks compressed to clusters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from creases_reproduction.claim import Claim, Curve, Judgement, Numbers, Picture
from creases_reproduction.images import note_stand_in
from creases_reproduction.linearity.chapter6_images import FULL
from creases_reproduction.linearity.image_networks import DataName
from creases_reproduction.linearity.image_numbers import (
    Groups,
    about,
    clusters,
    similarity,
    stored_clusters,
    stored_similarity,
)
from creases_reproduction.linearity.image_similarity import Measured


def from_similarity(numbers: Callable[[Groups], dict[str, Any]], data: DataName) -> dict[str, Any]:
    """Return what claims share whose numbers come from what was measured of a data set's networks."""
    return {
        "measure": lambda scale: _named(numbers, similarity(data, scale)),
        "from_table": lambda: (_named(numbers, stored_similarity(data)), about("image_similarity", data)),
        "full": FULL,
    }


def from_clusters(data: DataName) -> dict[str, Any]:
    """Return the same for clustered coefficients."""
    return {
        "measure": lambda scale: _named(compression, clusters(data, scale)),
        "full": FULL,
        "from_table": lambda: (_named(compression, stored_clusters(data)), about("image_clusters", data)),
    }


def _named(numbers: Callable[[Groups], dict[str, Any]], found: Measured) -> Numbers:
    part = Groups(found)
    return {**part.note, "names": found.names, **numbers(part)}


def compression(own: Groups) -> dict[str, Any]:
    """Return accuracies of networks whose coefficients are replaced by cluster centres."""
    k = sorted(own.clustered)
    bends = ~own.linear
    lost = {n: own.accuracy - own.clustered[n] for n in k}
    rising = np.diff([own.clustered[n][bends] for n in k], axis=0) > 0
    groups = {
        f"{kind}, {optimizer}": getattr(own, kind) & getattr(own, optimizer)
        for kind in ("dense", "conv")
        for optimizer in ("sgd", "adamw")
    }
    return {
        "k": k,
        "accuracy": {
            name: [float(own.accuracy[g].mean()), *(float(own.clustered[n][g].mean()) for n in k)]
            for name, g in groups.items()
        },
        "lost with one, at least": float(lost[k[0]][bends].min()),
        "lost with most": {
            name: [float(lost[k[-1]][g].min()), float(lost[k[-1]][g].max())] for name, g in groups.items()
        },
        "rising": [int(rising.sum()), int(rising.size)],
    }


def _clusters(numbers: Numbers, near: tuple[str, ...], far: tuple[str, ...]) -> Judgement:
    right, lost = numbers["accuracy"], numbers["lost with most"]
    dense, conv = (np.mean([right[f"{kind}, {o}"][1] for o in ("sgd", "adamw")]) for kind in ("dense", "conv"))
    up, steps = numbers["rising"]
    close, away = max(lost[name][1] for name in near), min(lost[name][0] for name in far)
    words = (
        f"one cluster: at least {numbers['lost with one, at least']:.0f} points lost, dense {dense:.0f} % and "
        f"convolutional {conv:.0f} % right; more clusters are better at {up} of {steps} steps; with {numbers['k'][-1]} "
        f"at most {close:.1f} points are lost by {' and '.join(near)}, at least {away:.1f} by {' and '.join(far)}; "
        "clusters of 10,000 training images, for the memory of it, where the source takes all"
    )
    facts = [numbers["lost with one, at least"] > 10, dense > conv, up > 0.9 * steps, close < 5 < away]
    if all(facts):
        return Judgement("agrees", words)
    return Judgement("agrees in kind" if all(facts[:3]) and 2 * close < away else "disagrees", words)


@note_stand_in
def judge_mnist_clusters(numbers: Numbers) -> Judgement:
    """Judge Figure 7.3."""
    return _clusters(numbers, ("dense, sgd", "conv, sgd"), ("conv, adamw",))


@note_stand_in
def judge_cifar_clusters(numbers: Numbers) -> Judgement:
    """Judge Figure 7.4."""
    return _clusters(numbers, ("dense, sgd",), ("conv, sgd", "conv, adamw"))


def picture_clusters(numbers: Numbers) -> Picture:
    """Picture Figure 7.3 and Figure 7.4."""
    curves = [Curve(name, numbers["k"], part[1:]) for name, part in numbers["accuracy"].items()]
    return Picture(curves=curves, x="clusters of each output", y="accuracy, %")


@note_stand_in
def judge_optimizers(numbers: Numbers) -> Judgement:
    """Judge section 7.2."""
    right = numbers["accuracy"]
    lost = {}
    for o in ("sgd", "adamw"):
        lost[o] = np.mean([right[f"{kind}, {o}"][0] - right[f"{kind}, {o}"][-1] for kind in ("dense", "conv")])
    words = (
        f"with {numbers['k'][-1]} clusters {lost['sgd']:.1f} points are lost with SGD, {lost['adamw']:.1f} with AdamW"
    )
    return Judgement("agrees" if lost["adamw"] > 1.5 * lost["sgd"] else "disagrees", words)


def overlap(own: Groups) -> dict[str, Any]:
    """Return how far the predictions of compressed networks overlap."""
    share = [1 - regions / own.found.test for regions in own.found.regions]
    return {"kind": own.kind.tolist(), "share": share}


@note_stand_in
def judge_overlap(numbers: Numbers) -> Judgement:
    """Judge section 7.2."""
    by = {
        kind: max(s for s, k in zip(numbers["share"], numbers["kind"], strict=True) if k == kind)
        for kind in ("dense", "simple", "complex")
    }
    words = ", ".join(f"{kind} {value:.2%}" for kind, value in by.items())
    words = f"test images that share a region with another, at most: {words} (the source counts training images)"
    if max(by.values()) < 0.01:
        return Judgement("agrees", words)
    return Judgement("disagrees", words)


CLAIMS = [
    Claim(
        "linearity/section-7.2-overlap",
        "section 7.2",
        "Even simple networks on MNIST use a region for more than one input for less than 1 % of the inputs.",
        printed="< 1 %",
        judge=judge_overlap,
        incomparable="Counted among 10,000 test images; the source counts the training images",
        **from_similarity(overlap, "mnist"),
    ),
    Claim(
        "linearity/figure-7.3",
        "Figure 7.3",
        (
            "MNIST: with one cluster networks do poorly, dense ones less so; accuracies rise with clusters and come "
            "near the original for networks trained by SGD."
        ),
        judge=judge_mnist_clusters,
        picture=picture_clusters,
        **from_clusters("mnist"),
    ),
    Claim(
        "linearity/figure-7.4",
        "Figure 7.4",
        "CIFAR-10: the same; only dense networks come near the original accuracy.",
        judge=judge_cifar_clusters,
        picture=picture_clusters,
        **from_clusters("cifar10"),
    ),
    Claim(
        "linearity/section-7.2-optimizers",
        "section 7.2",
        "Networks trained by SGD bear clustering much better than those by AdamW.",
        judge=judge_optimizers,
        **from_clusters("mnist"),
        misprints=("linearity/section-7.2-decay",),
    ),
]
