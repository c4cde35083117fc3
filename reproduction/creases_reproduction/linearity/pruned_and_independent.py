"""Section 2.3.5 of the dissertation asks how alike pruned, unpruned and independently trained smaller networks are.

A network of two hidden layers of 64 units learns digits and is pruned to 32 units, by units and by weights, with
an epoch of fine-tuning after each of 12 steps. Beside it are the same network trained on for as many epochs, and a
network of the pruned one's widths from random weights, trained for as many epochs in all. They are compared by the CKA
of their coefficients (eq. 7.7) on test images, and by how often they predict the same class.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from creases import problems, prune, read
from creases.compare import coefficients
from creases.compare.measures import coefficient_cka
from creases_reproduction.claim import Claim, Judgement, Numbers, Picture, Row
from creases_reproduction.experiment import Scale
from creases_reproduction.images import accuracy
from creases_reproduction.statistics import mean_interval

WIDTH, STEPS = 64, 12
KINDS = ("original", "trained on", "pruned units", "pruned weights", "small")

#: Pairs of kinds that are compared: of one original network, and of independently trained ones.
SAME = (("original", "trained on"), ("original", "pruned units"), ("original", "pruned weights"))
INDEPENDENT = (
    ("original", "original"),
    ("original", "small"),
    ("pruned units", "small"),
    ("pruned units", "pruned units"),
    ("small", "small"),
)


class Images(NamedTuple):
    """Flat images from 0 to 1 and their classes, for training and for tests."""

    x: Tensor
    y: Tensor
    x_test: Tensor
    y_test: Tensor


@dataclass(frozen=True)
class Settings:
    """How much of the experiment to run."""

    seeds: int = 6
    epochs: int = 20  #: of training the original
    tuning: int = 1  #: epochs after each step of pruning
    units: int = 32  #: hidden units that are left


class _SmallEnough(Exception):
    """Ends a pruning, with the model it reached."""

    def __init__(self, model: nn.Sequential) -> None:
        self.model = model


def perceptron(inputs: int, widths: tuple[int, int], seed: int) -> nn.Sequential:
    """Return two hidden layers and ten outputs, with torch's random weights."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        first, second = widths
        hidden = nn.Linear(inputs, first), nn.ReLU(), nn.Linear(first, second), nn.ReLU()
        return nn.Sequential(*hidden, nn.Linear(second, 10))


def train_kinds(data: Images, seed: int, settings: Settings) -> dict[str, nn.Module]:
    """Return the networks of one seed, by kind."""
    rule: dict[str, Any] = {"optimizer": "adam", "batch_size": 40}
    more = STEPS * settings.tuning
    original = perceptron(data.x.shape[1], (WIDTH, WIDTH), 2 * seed)
    prune.tuner(data.x, data.y, epochs=settings.epochs, seed=seed, **rule)(original)
    trained_on = copy.deepcopy(original)
    prune.tuner(data.x, data.y, epochs=more, seed=seed + 1, **rule)(trained_on)
    tune = prune.tuner(data.x, data.y, epochs=settings.tuning, seed=seed + 2, **rule)
    by_units = _prune_units(original, data, tune, settings.units)
    first, second = (layer.out_features for layer in list(by_units)[:3] if isinstance(layer, nn.Linear))
    small = perceptron(data.x.shape[1], (first, second), 2 * seed + 1)
    prune.tuner(data.x, data.y, epochs=settings.epochs + more, seed=seed + 3, **rule)(small)
    share = _count_weights(small) / _count_weights(original)
    sparsities = [(1 - share) * step / STEPS for step in range(1, STEPS + 1)]
    by_weights = prune.magnitude(original, data.x, data.y, min_accuracy=0.0, sparsities=sparsities, tune=tune).model
    return dict(zip(KINDS, (original, trained_on, by_units, by_weights, small), strict=True))


def _prune_units(original: nn.Sequential, data: Images, tune: Callable[[nn.Module], None], units: int) -> nn.Sequential:
    def stop(step: prune.PruningStep, model: nn.Module) -> None:
        if sum(step.widths.values()) <= units:
            assert isinstance(model, nn.Sequential)
            raise _SmallEnough(model)

    options: dict[str, Any] = {"per_step": (2 * WIDTH - units) // STEPS, "candidates": "all", "callback": stop}
    try:
        prune.channels(original, data.x, data.y, min_accuracy=0.0, tune=tune, **options)
    except _SmallEnough as reached:
        return reached.model
    raise RuntimeError(f"pruning ended before {units} units")


def _count_weights(model: nn.Module) -> int:
    return sum(layer.weight.numel() for layer in model.modules() if isinstance(layer, nn.Linear))


def compare_kinds(data: Images, settings: Settings) -> dict[str, Any]:
    """Return the CKA and the agreement of predictions of all pairs of kinds, and the accuracy of each kind."""
    models = [
        (kind, seed, m) for seed in range(settings.seeds) for kind, m in train_kinds(data, seed, settings).items()
    ]
    nets = [read(model, data.x.shape[1:]) for _, _, model in models]
    alike = coefficient_cka([coefficients(net, data.x_test) for net in nets])
    with torch.no_grad():
        classes = torch.stack([model(data.x_test).argmax(1) for _, _, model in models])
    agree = (classes[:, None] == classes[None]).double().mean(-1).numpy()
    places = {kind: [i for i, item in enumerate(models) if item[0] == kind] for kind in KINDS}
    return {
        "accuracy": {
            kind: float(np.mean([accuracy(models[i][2], data.x_test, data.y_test) for i in places[kind]]))
            for kind in KINDS
        },
        "same": {f"{a}, {b}": _paired(alike, agree, places[a], places[b]) for a, b in SAME},
        "independent": {f"{a}, {b}": _crossed(alike, agree, places[a], places[b]) for a, b in INDEPENDENT},
    }


def _paired(alike: NDArray[Any], agree: NDArray[Any], first: list[int], second: list[int]) -> dict[str, Any]:
    """Return the mean over seeds of pairs of one original."""
    values = alike[first, second]
    return {"cka": float(values.mean()), "interval": mean_interval(values), "agree": float(agree[first, second].mean())}


def _crossed(alike: NDArray[Any], agree: NDArray[Any], first: list[int], second: list[int]) -> dict[str, Any]:
    """Return the mean over pairs of different seeds; the interval is of the means of each seed with all others."""
    others = ~np.eye(len(first), dtype=bool)
    values = alike[np.ix_(first, second)]
    by_seed = np.nanmean(np.where(others, values, np.nan), axis=1)
    return {
        "cka": float(by_seed.mean()),
        "interval": mean_interval(by_seed),
        "agree": float(agree[np.ix_(first, second)][others].mean()),
    }


def digit_images() -> Images:
    """Return scikit-learn's digits."""
    problem = problems.get("digits")
    x = torch.from_numpy(np.asarray(problem.X, np.float32) / 16)
    y = torch.from_numpy(np.asarray(problem.y, np.int64))
    return Images(x[:1200], y[:1200], x[1200:], y[1200:])


def measure(scale: Scale) -> Numbers:
    """Measure similarities on digits."""
    return compare_kinds(digit_images(), Settings() if scale == "full" else Settings(seeds=2, epochs=10))


def judge(numbers: Numbers) -> Judgement:
    """Judge section 2.3.5: whether a pruned network is nearer to its original than an independent one of its size."""
    pruned = [numbers["same"][f"original, {kind}"] for kind in ("pruned units", "pruned weights")]
    small, large = (numbers["independent"][f"original, {kind}"] for kind in ("small", "original"))
    words = (
        f"CKA with the original {pruned[0]['cka']:.2f} (pruned by units), {pruned[1]['cka']:.2f} (by weights), "
        f"{small['cka']:.2f} (an independent network of that size), {large['cka']:.2f} (one of the original's size)"
    )
    nearer = [item["interval"][0] > small["interval"][1] for item in pruned]
    if all(nearer):
        return Judgement("agrees", words)
    return Judgement("agrees in kind" if any(nearer) else "disagrees", words)


def picture(numbers: Numbers) -> Picture:
    """Picture the similarities."""
    pairs = numbers["same"] | {f"{name} (independent)": value for name, value in numbers["independent"].items()}
    rows = [Row(name, None, value["cka"], *value["interval"]) for name, value in pairs.items()]
    return Picture(rows=rows, x="CKA of coefficients")


CLAIMS = [
    Claim(
        "linearity/section-2.3.5-pruned",
        "section 2.3.5",
        (
            "To what extent pruned, unpruned and independently trained smaller networks find similar solutions is an "
            "open question. Tested here: whether a pruned network is more similar to its original than an "
            "independently "
            "trained one of its size."
        ),
        measure=measure,
        judge=judge,
        incomparable="The source asks an open question and claims nothing",
        picture=picture,
        full="a minute of one core",
    )
]
