"""Chapter 6 of the dissertation on image networks: accuracies, and what they look at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from creases_reproduction.claim import Claim, Curve, Judgement, Numbers, Picture
from creases_reproduction.experiment import Scale
from creases_reproduction.images import STAND_IN, note_stand_in
from creases_reproduction.judges import describe_row, row, rows
from creases_reproduction.linearity.image_directions import AT, Directions
from creases_reproduction.linearity.image_networks import PRINTED, DataName
from creases_reproduction.linearity.image_numbers import (
    Groups,
    about,
    seen,
    similarity,
    stored_directions,
    stored_similarity,
)
from creases_reproduction.linearity.image_similarity import Measured

FULL = "an H200: 10 minutes to train and measure; needs the image files"
DATA: tuple[DataName, ...] = ("mnist", "cifar10")


# Table 6.1, which is Table 7.1 again.


def _accuracies(found: dict[str, Measured]) -> Numbers:
    part = []
    for data, item in found.items():
        for name, here in zip(item.names, item.accuracy, strict=True):
            kind, number, optimizer = name.split()
            printed = PRINTED[data, optimizer, kind][int(number) - 1]
            part.append(row(f"{data}, {optimizer}, {kind} {number}", printed, round(100 * here, 2)))
    return {"data": STAND_IN if found["mnist"].data == "digits" else "mnist, cifar10", "rows": part}


def measure_accuracies(scale: Scale) -> Numbers:
    """Measure test accuracies in percent beside those printed."""
    return _accuracies({data: similarity(data, scale) for data in DATA})


def accuracies_from_table() -> tuple[Numbers, dict[str, str]]:
    """Return the accuracies at full scale, and how they were made."""
    return _accuracies({data: stored_similarity(data) for data in DATA}), about("image_similarity", "mnist")


@note_stand_in
def judge_accuracies(numbers: Numbers) -> Judgement:
    """Judge Table 7.1 and Table 6.1."""
    all_rows = rows(numbers)
    gap = {row.what: (row.measured or 0) - (row.printed or 0) for row in all_rows}
    worst = max(all_rows, key=lambda row: abs(gap[row.what]))
    close = sum(abs(row) <= 1.6 for row in gap.values())
    words = f"{close} of {len(all_rows)} accuracies are within 1.6 points of those printed; furthest: "
    words += describe_row(worst, ".4g")
    if close == len(all_rows):
        return Judgement("agrees", words)
    if close > 0.6 * len(all_rows):
        return Judgement("agrees in kind", f"{words}; the source does not tell enough of the training to say why")
    return Judgement("disagrees", words)


@note_stand_in
def judge_linear(numbers: Numbers) -> Judgement:
    """Judge section 6.1."""
    part = [row for row in rows(numbers) if row.what.startswith("mnist") and "linear" in row.what]
    best = max(row.measured or 0 for row in part)
    words = f"linear networks have {', '.join(f'{row.measured:.1f} %' for row in part)} right"
    return Judgement("agrees" if best > 90 else "disagrees", words)


def picture_accuracies(numbers: Numbers) -> Picture:
    """Picture Table 7.1 and Table 6.1."""
    return Picture(rows=rows(numbers), x="test accuracy, %")


# Figures 6.3 and 6.14 to 6.19: what networks look at.


def _seen(found: Directions) -> Numbers:
    names = ("names", "roughness", "jagged", "like_linear", "outside", "eigenvalues")
    return {"data": found.data, "samples": found.samples, **{name: getattr(found, name) for name in names}}


def look(data: DataName) -> dict[str, Any]:
    """Return measure and kept of what the networks of a data set look at."""

    def measure(scale: Scale) -> Numbers:
        part = _seen(seen(data, scale))
        return {**part, "data": STAND_IN} if scale == "quick" else part

    return {
        "measure": measure,
        "from_table": lambda: (_seen(stored_directions(data)), about("image_directions", data)),
        "full": FULL,
    }


def _by(numbers: Numbers, name: str) -> Callable[..., float]:
    """Return the mean of a measure over the networks of some kinds and an optimizer."""

    def mean(optimizer: str, *kinds: str) -> float:
        part = [
            value
            for value, network in zip(numbers[name], numbers["names"], strict=True)
            if network.split()[0] in kinds and network.split()[2] == optimizer and value is not None
        ]
        return float(np.mean(part)) if part else float("nan")

    return mean


@note_stand_in
def judge_coefficients(numbers: Numbers) -> Judgement:
    """Judge Figure 6.3."""
    outside, jagged = _by(numbers, "outside"), _by(numbers, "jagged")
    kinds = ("linear", "dense", "simple", "complex")
    conv, dense = (outside("sgd", *part) for part in (("simple", "complex"), ("linear", "dense")))
    adamw = outside("adamw", "simple", "complex")
    rough = [jagged(optimizer, *kinds) for optimizer in ("sgd", "adamw")]
    words = (
        f"mean square of coefficients far from the digit over that near it: {conv:.2g} for convolutional, {dense:.2g} "
        f"for dense and linear networks with SGD, {adamw:.2g} for convolutional ones with AdamW; roughness "
        f"{rough[0]:.2f} with SGD, {rough[1]:.2f} with AdamW (white noise: 1)"
    )
    holds = max(conv, adamw) < 0.05 * dense and rough[1] > 1.2 * rough[0]
    return Judgement("agrees" if holds else "disagrees", words)


@note_stand_in
def judge_directions(numbers: Numbers) -> Judgement:
    """Judge Figure 6.14 and Figure 6.17."""
    rough, like = _by(numbers, "roughness"), _by(numbers, "like_linear")
    kinds = ("linear", "dense", "simple", "complex")
    by = {kind: (rough("sgd", kind), rough("adamw", kind)) for kind in kinds}
    dense, conv = like("sgd", "dense"), like("sgd", "simple", "complex")
    words = "roughness of the first direction with SGD and AdamW: "
    words += ", ".join(f"{kind} {a:.2f} and {b:.2f}" for kind, (a, b) in by.items())
    words += f"; |cosine| to the linear network's (SGD): dense {dense:.2f}, convolutional {conv:.2f}"
    if all(a < b for a, b in by.values()) and dense > conv:
        return Judgement("agrees", words)
    return Judgement("disagrees", words)


@note_stand_in
def judge_spectrum(numbers: Numbers) -> Judgement:
    """Judge Figure 6.16 and Figure 6.19."""
    by = dict(zip(numbers["names"], numbers["eigenvalues"], strict=True))
    dense = [part for name, part in by.items() if name.startswith("dense")]
    beyond, second = max(part[AT.index(129)] for part in dense), max(part[AT.index(10)] for part in dense)
    tails = {
        kind: np.mean([part[-1] for name, part in by.items() if name.startswith(kind)])
        for kind in ("simple", "complex")
    }
    words = (
        f"of dense networks the 129th eigenvalue is {beyond:.1g} of the first, the 10th {second:.2g} at most; the "
        f"500th of simple and complex networks {tails['simple']:.2g} and {tails['complex']:.2g}"
    )
    if beyond > 1e-10 or second > 0.2:
        return Judgement("disagrees", words)
    if tails["simple"] < tails["complex"]:
        return Judgement("agrees", words)
    return Judgement("disagrees", f"{words}: simple networks' do not drop more steeply")


def picture_spectrum(numbers: Numbers) -> Picture:
    """Picture Figure 6.16 and Figure 6.19."""
    curves = [
        Curve(name, list(AT), [max(v or 0, 1e-12) for v in part])
        for name, part in zip(numbers["names"], numbers["eigenvalues"], strict=True)
        if name.split()[1] == "1"
    ]
    return Picture(curves=curves, x="number of the eigenvalue", y="relative to the first", log=True)


def _explained(*found: Measured) -> Numbers:
    part = [Groups(item) for item in found]
    by = {
        item.found.data: {
            optimizer: float(item.explained[~item.linear & getattr(item, optimizer)].mean())
            for optimizer in ("sgd", "adamw")
        }
        for item in part
    }
    return {"share of the outputs' variance": by, "data": part[0].note["data"]}


@note_stand_in
def judge_explained(numbers: Numbers) -> Judgement:
    """Judge Figure 6.15."""
    by = numbers["share of the outputs' variance"]
    words = "; ".join(
        f"{data}: {item['sgd']:.2f} with SGD, {item['adamw']:.2f} with AdamW" for data, item in by.items()
    )
    return Judgement("agrees" if all(item["sgd"] > item["adamw"] for item in by.values()) else "disagrees", words)


@note_stand_in
def judge_less(numbers: Numbers) -> Judgement:
    """Judge Figure 6.18."""
    by = numbers["share of the outputs' variance"]
    words = "; ".join(
        f"{data}: {item['sgd']:.2f} with SGD, {item['adamw']:.2f} with AdamW" for data, item in by.items()
    )
    if len(by) < 2:
        return Judgement("disagrees", f"there is nothing to compare with: {words}")
    less = [by["cifar10"][part] < by["mnist"][part] for part in ("sgd", "adamw")]
    if all(less):
        return Judgement("agrees", words)
    return Judgement("disagrees", f"{words}: less with SGD only" if less[0] else words)


CLAIMS = [
    Claim(
        "linearity/table-6.1",
        "Tables 6.1 and 7.1, the same numbers",
        "Accuracies of linear, dense, simple and complex networks, trained by SGD and AdamW on MNIST and CIFAR-10.",
        printed="25.43 to 98.95 %",
        measure=measure_accuracies,
        judge=judge_accuracies,
        picture=picture_accuracies,
        full=FULL,
        from_table=accuracies_from_table,
    ),
    Claim(
        "linearity/section-6.1-linear",
        "section 6.1",
        "Linear classification has upwards of 90 % of MNIST right.",
        printed="90 %",
        measure=measure_accuracies,
        judge=judge_linear,
        full=FULL,
        from_table=accuracies_from_table,
    ),
    Claim(
        "linearity/figure-6.3",
        "Figure 6.3",
        (
            "Coefficients of convolutional networks are zero where the image is; those of networks trained by AdamW "
            "are jagged."
        ),
        judge=judge_coefficients,
        **look("mnist"),
    ),
    Claim(
        "linearity/figure-6.14",
        "Figure 6.14",
        (
            "MNIST: the direction along which an output varies most is blurry with SGD, jagged with AdamW; dense "
            "networks' are like the linear one's."
        ),
        judge=judge_directions,
        **look("mnist"),
    ),
    Claim(
        "linearity/figure-6.15",
        "Figure 6.15",
        "MNIST: the first direction explains networks trained by SGD better than those by AdamW.",
        measure=lambda scale: _explained(similarity("mnist", scale)),
        judge=judge_explained,
        full=FULL,
        from_table=lambda: (_explained(stored_similarity("mnist")), about("image_similarity", "mnist")),
    ),
    Claim(
        "linearity/figure-6.16",
        "Figure 6.16",
        (
            "MNIST: dense networks have one important direction and no more than 128; simple convolutional networks' "
            "singular values drop more steeply than complex ones'."
        ),
        printed="128",
        judge=judge_spectrum,
        picture=picture_spectrum,
        **look("mnist"),
    ),
    Claim(
        "linearity/figure-6.17",
        "Figure 6.17",
        "CIFAR-10: the same directions; smoother with SGD.",
        judge=judge_directions,
        **look("cifar10"),
    ),
    Claim(
        "linearity/figure-6.18",
        "section 6.4, text on Figures 6.17 to 6.19",
        "CIFAR-10: but for linear networks the first direction explains less than on MNIST.",
        measure=lambda scale: _explained(*(similarity(data, scale) for data in DATA)),
        judge=judge_less,
        full=FULL,
        from_table=lambda: (_explained(*map(stored_similarity, DATA)), about("image_similarity", "cifar10")),
    ),
    Claim(
        "linearity/figure-6.19",
        "Figure 6.18 or 6.19 (the captions and the order of Figures 6.14 to 6.16 differ)",
        "CIFAR-10: singular values along the directions.",
        printed="128",
        judge=judge_spectrum,
        picture=picture_spectrum,
        **look("cifar10"),
    ),
]
