"""The three images that planes go through: Figures 6.8 and 6.9 of the dissertation.

The captions say that the images are "minimally distant using Euclidean distance", and which classes they are of. The
three images with the least sum of distances are found among all test and all training images, and among those of the
printed classes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from creases.problems import cifar10, mnist
from creases_reproduction.claim import Claim, Judgement, Numbers
from creases_reproduction.experiment import Scale
from creases_reproduction.images import STAND_IN, note_stand_in
from creases_reproduction.linearity.image_networks import DataName
from creases_reproduction.linearity.image_numbers import device, digit_images
from creases_reproduction.linearity.image_sections import CLASSES, nearest_three

NAMES: dict[DataName, list[str]] = {
    "mnist": ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"],
    "cifar10": ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"],
}
_READ = {"mnist": mnist, "cifar10": cifar10}


def measure_triples(data: DataName, scale: Scale) -> Numbers:
    """Measure the nearest three images of each split: classes and distances, of any and of the printed classes."""
    rows: dict[str, Any] = {}
    if scale == "quick":
        rows["test"] = _triples(*digit_images(), CLASSES[data])
    else:
        for split in ("test", "train"):
            found = _READ[data](split)
            pixels = torch.from_numpy(found.images).to(device(), torch.float32) / 255
            rows[split] = _triples(pixels, torch.from_numpy(found.labels), CLASSES[data])
    names = NAMES["mnist" if scale == "quick" else data]
    return {"data": STAND_IN if scale == "quick" else data, "names": names, "printed": CLASSES[data], **rows}


def _triples(x: Tensor, labels: Tensor, classes: tuple[int, int, int]) -> dict[str, Any]:
    return {
        "images": len(x),
        "any classes": _nearest(x, labels, None),
        "printed classes": _nearest(x, labels, classes),
    }


def _nearest(x: Tensor, labels: Tensor, classes: tuple[int, int, int] | None) -> dict[str, Any]:
    three = list(nearest_three(x, labels, classes))
    points = x[three].flatten(1).double().cpu().numpy()
    sides = [float(np.linalg.norm(points[a] - points[b])) for a, b in ((0, 1), (0, 2), (1, 2))]
    return {"images": three, "classes": sorted(labels[three].tolist()), "distances": sides}


@note_stand_in
def judge_triples(numbers: Numbers) -> Judgement:
    """Judge whether the nearest three images are of the printed classes."""
    names, words, agrees = numbers["names"], [], False
    for split in ("test", "train"):
        if split not in numbers:
            continue
        found = numbers[split]
        nearest, printed = found["any classes"], found["printed classes"]
        agrees |= nearest["classes"] == sorted(numbers["printed"])
        words.append(
            f"of {found['images']:,} {split} images the nearest three are {_names(nearest, names)} (sum of distances "
            f"{sum(nearest['distances']):.2f}), of the printed classes the sum is at least "
            f"{sum(printed['distances']):.2f}"
        )
    if agrees:
        return Judgement("agrees", "; ".join(words))
    return Judgement("disagrees", "; ".join(words))


def _names(found: dict[str, Any], names: list[str]) -> str:
    """Return the classes in words: "one, one, one"."""
    return ", ".join(names[number] for number in found["classes"])


def _claim(id: str, place: str, says: str, data: DataName) -> Claim:
    return Claim(
        id,
        place,
        says,
        measure=lambda scale: measure_triples(data, scale),
        judge=judge_triples,
        incomparable="The source says neither among which images it searched nor which distances are least",
        full="seconds on an H200; needs the image files",
    )


CLAIMS = [
    _claim(
        "linearity/figure-6.8",
        "Figure 6.8",
        'Two airplanes and a deer of CIFAR-10 "were selected to be minimally distant using Euclidean distance".',
        "cifar10",
    ),
    _claim(
        "linearity/figure-6.9",
        "Figure 6.9",
        'Three zeros of MNIST "were selected to be minimally distant using Euclidean distance".',
        "mnist",
    ),
]
