"""Convolutional networks grown from four channels a layer, beside fixed ones, on CIFAR-10.

    python -m creases_reproduction.tiny.bottlenecks --device cuda --epochs 50 --out cifar10.json

needs the image files (see :func:`creases.problems.cifar10`). Both networks are trained in the same way; the grown one
has no width chosen by hand, and its fixed twin has the widths that growth found.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from creases._files import write_atomically
from creases.growth import InMemorySamples, State, grow, measure, objective
from creases.growth.methods import GradMax, Tiny
from creases.growth.methods.expressivity import bottleneck, statistics
from creases.growth.policies import Stop
from creases.network import Place
from creases.problems import cifar10

#: Samples for the bottleneck of a place.
SAMPLES = 2000

Data = tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]


@dataclass
class Curve:
    """One training: its network's size and the test accuracy as it went on."""

    name: str
    seed: int
    widths: list[int] = field(default_factory=list)  #: at the end
    parameters: int = 0  #: at the end
    accuracy: float = 0.0  #: on the test images, of the network that the run returns
    seconds: float = 0.0  #: of training and growth, without the test measurements
    growth_steps: int = 0
    ended: str = ""
    points: list[tuple[float, int, float]] = field(default_factory=list)  #: seconds, parameters, test accuracy


def perceptron(widths: Sequence[int], bend: type[nn.Module], seed: int) -> nn.Sequential:
    """Return linear layers of these widths with a bend after each but the last."""
    with torch.random.fork_rng():
        torch.default_generator.manual_seed(seed)
        layers = [layer for a, b in pairwise(widths) for layer in (nn.Linear(a, b), bend())]
        return nn.Sequential(*layers[:-1])


def convolutions(channels: Sequence[int], seed: int) -> nn.Sequential:
    """Return 3 x 3 convolutions of these channels on 32 x 32 colours, each halved by average pooling.

    And a linear layer.
    """
    with torch.random.fork_rng():
        torch.default_generator.manual_seed(seed)
        blocks = [(nn.Conv2d(a, b, 3, padding=1), nn.ReLU(), nn.AvgPool2d(2)) for a, b in pairwise([3, *channels])]
        side = 32 // 2 ** len(channels)
        return nn.Sequential(
            *(m for block in blocks for m in block), nn.Flatten(), nn.Linear(channels[-1] * side**2, 10)
        )


def train_model(
    model: nn.Module, data: Data, name: str, seed: int, stop: Sequence[Stop] = (), epochs: int = 1000, **options: Any
) -> Curve:
    """Train (and grow) a model on the first part of data, and follow its accuracy on the second.

    Growth comes step by step, at a constant learning rate, until a reason in ``stop`` or the epochs end the run.
    """
    curve = Curve(name, seed)
    test, goal = InMemorySamples(*data[1]), objective("classification")
    began, aside = time.perf_counter(), 0.0

    def follow(state: State) -> None:
        nonlocal aside
        start = time.perf_counter()
        accuracy = measure(state.model, test, goal).score or 0.0
        curve.points.append((start - began - aside, state.parameters, accuracy))
        aside += time.perf_counter() - start

    usual: dict[str, Any] = {"how": "tiny", "weight_decay": 0.0, "lr": 1e-3, "batch_size": 100, "growth_patience": None}
    usual |= {"when": plateau, "where": largest_bottleneck, "schedule": "constant", "budget": epochs}
    stop = [*stop, _after(epochs)]  # epochs may be shorter than those of the budget
    found, history = grow(model, data[0], "classification", stop=stop, seed=seed, callbacks=[follow], **usual | options)
    curve.seconds = time.perf_counter() - began - aside
    curve.accuracy = measure(found, test, goal).score or 0.0
    layers = [module for module in found.modules() if isinstance(module, nn.Linear | nn.Conv2d)]
    curve.widths = [int(layer.weight.shape[0]) for layer in layers[:-1]]
    curve.parameters = sum(parameter.numel() for parameter in found.parameters())
    curve.growth_steps, curve.ended = len(history.records), history.ended
    return curve


def round_robin(state: State) -> Sequence[Place]:
    """Return the places in turn: first the one after that which grew last."""
    names = [place.name for place in state.places]
    grown = [record.place for record in state.history.records if record.place in names]
    start = names.index(grown[-1]) + 1 if grown else 0
    return [*state.places[start:], *state.places[:start]]


def largest_bottleneck(state: State) -> Sequence[Place]:
    """Return the places by their expressivity bottleneck (eq. 2), the largest first."""

    def size(place: Place) -> float:
        batches, _ = state.evidence.draw(SAMPLES)
        return bottleneck(statistics(state.model, place, batches, state.objective.loss))

    return sorted(state.places, key=size, reverse=True) if len(state.places) > 1 else state.places


def plateau(state: State) -> bool:
    """Return whether the training loss has not fallen by a hundredth of its best for five epochs since the growth."""
    best, waited = float("inf"), 0
    for epoch in state.history.since_growth():
        better = best == float("inf") or epoch["loss"] < best - 0.01 * abs(best)
        best, waited = (epoch["loss"], 0) if better else (best, waited + 1)
    return waited >= 5


def never(state: State) -> bool:
    """Return False: the network does not grow."""
    del state
    return False


def _after(epochs: int) -> Stop:
    """End a run after so many epochs, whatever their length."""
    return lambda state: f"{epochs} epochs are over" if len(state.history.epochs) >= epochs else ""


def cifar10_curves(
    seed: int, how: Tiny | GradMax, *, device: str = "cuda", epochs: int = 50, max_parameters: int = 60_000
) -> list[Curve]:
    """Return a convolutional network grown from 4 channels a layer, a layer in turn after every epoch.

    And its fixed twin.
    """
    data = images(cifar10, device, flat=False)
    common: dict[str, Any] = {"lr": 1e-3, "batch_size": 100, "validation": 0.1, "epochs": epochs}
    name = type(how).__name__
    grown = train_model(
        convolutions([4, 4, 4], seed).to(device),
        data,
        f"grown by {name}",
        seed,
        **common | {"how": how, "when": _until(max_parameters), "where": round_robin},
    )
    twin = convolutions(grown.widths, seed).to(device)
    return [grown, train_model(twin, data, f"fixed twin of {name}", seed, **common | {"when": never})]


def _until(max_parameters: int) -> Callable[[State], bool]:
    """Grow after every epoch until a model has so many parameters, and train on."""
    return lambda state: state.parameters < max_parameters


def images(read: Callable[..., Any], device: str, *, flat: bool) -> Data:
    """Return training and test images, from 0 to 1, and their classes, as tensors."""

    def part(split: str) -> tuple[Tensor, Tensor]:
        found = read(split)
        pixels = torch.from_numpy(found.images).to(device).float() / 255
        return pixels.flatten(1) if flat else pixels, torch.from_numpy(found.labels).to(device)

    return part("train"), part("test")


def main() -> None:
    """Run the experiment from the command line."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--seeds", type=int, nargs="+", default=[0])
    arguments.add_argument("--epochs", type=int, default=50)
    arguments.add_argument("--device", default="cpu")
    arguments.add_argument("--gradmax", action="store_true", help="GradMax in place of TINY")
    arguments.add_argument("--out", type=Path, required=True)
    given = arguments.parse_args()
    options: dict[str, Any] = {"device": given.device, "epochs": given.epochs}
    curves: list[Curve] = []
    for seed in given.seeds:
        found = cifar10_curves(seed, GradMax(count=16) if given.gradmax else Tiny(count=16), **options)
        curves += found
        with write_atomically(given.out) as temporary:
            temporary.write_text(json.dumps([asdict(curve) for curve in curves]))
        for curve in found:
            size = f"{curve.widths}, {curve.parameters} parameters"
            print(f"{curve.name}, seed {seed}: {size}, test accuracy {curve.accuracy:.4f}, {curve.seconds:.0f} s")


if __name__ == "__main__":
    main()
