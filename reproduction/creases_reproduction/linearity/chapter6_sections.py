"""Chapter 6 of the dissertation: regions of image networks on planes through three images, Figures 6.10, 6.11, 6.13."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from creases_reproduction.claim import Claim, Judgement, Numbers
from creases_reproduction.experiment import Scale
from creases_reproduction.images import STAND_IN, accuracy, note_stand_in
from creases_reproduction.linearity.image_networks import DataName, Plan, plans
from creases_reproduction.linearity.image_numbers import samples, trained_network
from creases_reproduction.linearity.image_sections import sections

FULL_DENSE = "10 minutes of one core to train and measure; needs the image files"
FULL_CONVOLUTIONAL = "an H200: two minutes to train and measure; needs the image files"
CONVOLUTIONAL = ("simple", "complex")
HUNDREDS = 200  #: at least so many regions are hundreds


def _sections(table: pd.DataFrame, data: str) -> Numbers:
    part = table[table["data"] == data]
    fine = part[(part["grid"] == part["grid"].max()) & (part["tolerance"] == part["tolerance"].min())]
    names = ("network", "optimizer", "regions", "seen", "by_pattern", "by_coefficients")
    return {name: fine[name].tolist() for name in names}


def cross_sections(scale: Scale, own: Sequence[Plan]) -> Numbers:
    """Return regions of networks of one data set on a plane through three near images of the source's classes.

    They are counted exactly, and as grids count them.
    """
    networks, data = [trained_network(plan, scale) for plan in own], own[0].data
    counts = _sections(sections(networks, own, samples(data, scale)[1], scale), data)
    return {"data": STAND_IN, **counts} if scale == "quick" else counts


def dense_sections(scale: Scale, data: DataName) -> Numbers:
    """Return the cross-sections of the two dense networks with each optimizer, and their test accuracies."""
    own = [plan for plan in plans(data) if plan.kind == "dense"]
    right = [accuracy(trained_network(plan, scale), *samples(data, scale)[1]) for plan in own]
    return {**cross_sections(scale, own), "accuracy, %": [round(100 * part, 2) for part in right]}


def convolutional_sections(scale: Scale, data: DataName) -> Numbers:
    """Return the cross-sections of a simple and a complex convolutional network with each optimizer."""
    return cross_sections(scale, [plan for plan in plans(data) if plan.kind in CONVOLUTIONAL and not plan.seed])


@note_stand_in
def judge_dense(numbers: Numbers) -> Judgement:
    """Judge Figure 6.10 and Figure 6.11: hundreds of regions in every network, and more in those trained by SGD."""
    regions: dict[str, list[int]] = {"sgd": [], "adamw": []}
    for optimizer, count in zip(numbers["optimizer"], numbers["regions"], strict=True):
        regions[optimizer].append(count)
    sgd, adamw = regions.values()
    words = f"{' and '.join(map(str, sgd))} regions with SGD, {' and '.join(map(str, adamw))} with AdamW"
    every = [*sgd, *adamw]
    many = sum(count >= HUNDREDS for count in every)
    words += f"; {many} of {len(every)} networks have {HUNDREDS} or more"
    if min(sgd) <= max(adamw):
        return Judgement("disagrees", f"{words}, but not every one trained by SGD has more than those by AdamW")
    return Judgement("agrees" if many == len(every) else "disagrees", f"{words}, and SGD has more")


@note_stand_in
def judge_jacobians(numbers: Numbers) -> Judgement:
    """Judge Figure 6.13."""
    pairs = list(zip(numbers["by_pattern"], numbers["by_coefficients"], strict=True))
    words = ", ".join(f"{pattern} and {jacobian}" for pattern, jacobian in pairs)
    words = f"a grid counts by patterns and by Jacobians {words} regions"
    return Judgement("agrees" if all(a > b for a, b in pairs) else "disagrees", words)


def dense_claim(figure: str, data: DataName, images: str) -> Claim:
    """Return Figure 6.10 or 6.11, of dense networks of one data set."""
    return Claim(
        f"linearity/figure-{figure}",
        f"Figure {figure}",
        (
            f"Dense networks on the plane through three near {images} have hundreds or thousands of regions, more with "
            "SGD."
        ),
        printed="hundreds or thousands",
        measure=lambda scale: dense_sections(scale, data),
        judge=judge_dense,
        incomparable="Another plane than the source's, whose three images are in a picture only",
        full=FULL_DENSE,
    )


CLAIMS = [
    dense_claim("6.10", "cifar10", "CIFAR-10 images (two airplanes, a deer)"),
    dense_claim("6.11", "mnist", "MNIST images (zeros)"),
    Claim(
        "linearity/figure-6.13",
        "Figure 6.13",
        (
            "Of convolutional networks on the plane through three near CIFAR-10 images (two airplanes, a deer) "
            "activation patterns tell more regions apart than Jacobians do."
        ),
        measure=lambda scale: convolutional_sections(scale, "cifar10"),
        judge=judge_jacobians,
        full=FULL_CONVOLUTIONAL,
    ),
]
