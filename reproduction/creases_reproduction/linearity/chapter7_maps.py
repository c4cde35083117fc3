"""Chapter 7 of the dissertation, section 7.3: networks behind affine maps from the coefficients of others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from creases_reproduction.claim import Claim, Judgement, Numbers, Picture
from creases_reproduction.images import note_stand_in
from creases_reproduction.linearity.chapter7_compression import from_similarity
from creases_reproduction.linearity.image_numbers import Groups

#: Figure 7.9 where it can be read: accuracies on CIFAR-10 mapped from a network (rows) to linear, dense 1, dense 2,
#: simple 1, simple 2, complex 1, complex 2 with SGD, then with AdamW.
PRINTED_MAPS = {
    "linear 1 sgd": (25.43, 30.17, 29.59, 14.26, 13.89, 14.30, 13.73,
                     31.66, 25.00, 25.31, 15.26, 16.30, 14.78, 14.39),
    "simple 1 sgd": (25.02, 45.62, 44.79, 68.14, 61.19, 55.75, 56.80,
                     31.50, 39.19, 40.47, 56.80, 54.98, 57.42, 57.24),
    "simple 2 sgd": (25.06, 45.77, 44.81, 63.02, 66.34, 56.09, 56.15,
                     31.30, 39.04, 39.96, 56.23, 55.12, 57.03, 56.92),
    "complex 1 sgd": (25.25, 45.50, 44.38, 60.81, 59.59, 61.72, 60.40,
                      31.23, 38.44, 40.08, 54.85, 53.95, 58.16, 56.57),
    "complex 2 sgd": (24.55, 45.94, 45.63, 60.98, 60.11, 59.02, 62.50,
                      31.40, 38.69, 39.93, 54.38, 54.07, 58.16, 56.67),
    "complex 1 adamw": (22.40, 39.30, 38.93, 45.23, 43.34, 40.72, 40.17,
                        28.35, 31.47, 32.74, 46.94, 45.03, 70.55, 50.67),
    "complex 2 adamw": (23.10, 39.61, 39.15, 44.87, 42.23, 39.42, 39.00,
                        28.93, 31.60, 32.09, 47.97, 45.63, 50.58, 71.33),
}  # fmt: skip


def maps(own: Groups) -> dict[str, Any]:
    """Return accuracies of networks behind maps from the coefficients of others."""
    change = 100 * np.array(own.found.mapped) - own.accuracy
    pairs = [(f"{a} to {b}", getattr(own, a), getattr(own, b)) for a in ("sgd", "adamw") for b in ("sgd", "adamw")]
    linear, target = own.linear & own.sgd, own.dense & own.sgd
    dense, conv = own.dense & own.sgd, own.conv & own.sgd
    return {
        "mapped": (100 * np.array(own.found.mapped)).tolist(),
        "lost to dense, AdamW": -own.mean(change, ~own.linear, own.dense & own.adamw),
        "lost to SGD": -own.mean(change, ~own.linear, ~own.linear & own.sgd),
        "dense to conv, SGD": -own.mean(change, dense, conv),
        "conv": {name: own.mean(100 * np.array(own.found.mapped), own.conv & a, own.conv & b) for name, a, b in pairs},
        "linear to dense gains": (
            100 * np.array(own.found.mapped)[np.ix_(linear, target)] - own.accuracy[linear][:, None]
        )
        .ravel()
        .tolist(),
        "dense lost to dense, SGD": -own.mean(change, dense, dense),
    }


@note_stand_in
def judge_mnist_maps(numbers: Numbers) -> Judgement:
    """Judge Figure 7.8."""
    hard, other = numbers["lost to dense, AdamW"], numbers["lost to SGD"]
    words = f"maps lose {other:.1f} points in the mean to networks trained by SGD, {hard:.1f} to dense ones by AdamW"
    return Judgement("agrees" if hard > 10 > 3 > other else "disagrees", words)


@note_stand_in
def judge_dense_to_conv(numbers: Numbers) -> Judgement:
    """Judge Figure 7.7."""
    lost = numbers["dense to conv, SGD"]
    words = f"mapped to convolutional networks (SGD) dense ones lose {lost:.1f} points of their accuracy in the mean"
    return Judgement("agrees" if lost < 5 else "disagrees", words)


@note_stand_in
def judge_cifar_maps(numbers: Numbers) -> Judgement:
    """Judge Figure 7.9."""
    conv, gain = numbers["conv"], numbers["linear to dense gains"]
    facts = [
        numbers["dense lost to dense, SGD"] < 5,
        min(conv["sgd to sgd"], conv["sgd to adamw"]) > max(conv["adamw to sgd"], conv["adamw to adamw"]),
        min(gain) > 2,
    ]
    words = f"dense networks lose {numbers['dense lost to dense, SGD']:.1f} points to each other; convolutional ones: "
    words += ", ".join(f"{name} {value:.0f} %" for name, value in conv.items())
    words += f"; from linear to dense the accuracy rises by {', '.join(f'{item:.1f}' for item in gain)} points"
    words += _beside_print(numbers)
    if all(facts):
        return Judgement("agrees", words)
    why = "" if facts[2] else "; printed is a rise from 25 to 30 %, which the linear network has here to begin with"
    return Judgement("disagrees", words + why)


def _beside_print(numbers: Numbers) -> str:
    if numbers["data"] != "cifar10":
        return ""
    names = numbers["names"]
    pairs = [
        (m, p)
        for name, part in PRINTED_MAPS.items()
        for m, p in zip(numbers["mapped"][names.index(name)], part, strict=True)
    ]
    mine, printed = map(np.array, zip(*pairs, strict=True))
    correlation = np.corrcoef(mine, printed)[0, 1]
    off = np.abs(mine - printed).mean()
    return f"; {len(pairs)} printed accuracies correlate {correlation:.2f} with ours, and are {off:.1f} points off"


def picture_heat(name: str) -> Callable[[Numbers], Picture]:
    """Picture a heat map of a measure of all pairs; the columns' names are set in lines, as there are many."""

    def drawn(n: Numbers) -> Picture:
        columns = [item.replace(" ", "\n") for item in n["names"]]
        return Picture(heat=n[name], x="to", y="from", x_names=columns, y_names=n["names"])

    return drawn


CLAIMS = [
    Claim(
        "linearity/figure-7.7",
        "Figure 7.7",
        "Mapped coefficients of a dense network match those of a convolutional one on MNIST.",
        judge=judge_dense_to_conv,
        **from_similarity(maps, "mnist"),
    ),
    Claim(
        "linearity/figure-7.8",
        "Figure 7.8",
        "MNIST: mapping keeps a large part of the target's accuracy, but not to dense networks trained by AdamW.",
        printed="a matrix that cannot be read",
        judge=judge_mnist_maps,
        picture=picture_heat("mapped"),
        **from_similarity(maps, "mnist"),
    ),
    Claim(
        "linearity/figure-7.9",
        "Figure 7.9",
        (
            "CIFAR-10: dense networks are alike; convolutional ones trained by SGD represent each other and those by "
            "AdamW better than the latter do; from linear to dense the accuracy rises."
        ),
        printed="a matrix, half of which can be read",
        judge=judge_cifar_maps,
        picture=picture_heat("mapped"),
        **from_similarity(maps, "cifar10"),
    ),
]
