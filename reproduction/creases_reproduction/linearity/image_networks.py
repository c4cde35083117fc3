"""The image networks of chapters 6 and 7 of "Local Linearity of ReLU Neural Networks", trained as printed there.

    python -m creases_reproduction.linearity.image_networks mnist --device cuda --out networks

needs the image files (see :func:`creases.problems.mnist`). Tables 6.1 and 7.1. For the pretrained ResNets and Inception
of the tables see ``imagenet_network.py``.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from math import prod
from pathlib import Path
from typing import Any, Literal

import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from creases._files import write_atomically
from creases._typing import Bytes
from creases.problems import cifar10, mnist
from creases.problems.images import channel_statistics, normalise, to_color_32
from creases_reproduction.images import accuracy

Kind = Literal["linear", "dense", "simple", "complex"]
DataName = Literal["mnist", "cifar10"]

#: Accuracies of Table 7.1 in percent, by data, optimizer and network: the two variants where there are two.
PRINTED: dict[tuple[str, str, str], tuple[float, ...]] = {
    ("mnist", "sgd", "linear"): (88.89,),
    ("mnist", "sgd", "dense"): (96.76, 96.91),
    ("mnist", "sgd", "simple"): (97.80, 97.89),
    ("mnist", "sgd", "complex"): (97.73, 97.86),
    ("mnist", "adamw", "linear"): (86.83,),
    ("mnist", "adamw", "dense"): (97.43, 97.24),
    ("mnist", "adamw", "simple"): (98.86, 98.90),
    ("mnist", "adamw", "complex"): (98.95, 98.81),
    ("cifar10", "sgd", "linear"): (25.43,),
    ("cifar10", "sgd", "dense"): (51.01, 50.24),
    ("cifar10", "sgd", "simple"): (68.14, 66.34),
    ("cifar10", "sgd", "complex"): (61.72, 62.50),
    ("cifar10", "adamw", "linear"): (31.66,),
    ("cifar10", "adamw", "dense"): (47.55, 48.41),
    ("cifar10", "adamw", "simple"): (67.03, 67.58),
    ("cifar10", "adamw", "complex"): (70.55, 71.33),
}


@dataclass(frozen=True)
class Plan:
    """One network of the experiment: which, on what, trained how."""

    data: DataName
    kind: Kind
    optimizer: Literal["sgd", "adamw"]
    seed: int

    @property
    def name(self) -> str:
        """Kind, number and optimizer."""
        return f"{self.kind} {self.seed + 1} {self.optimizer}"

    @property
    def file(self) -> str:
        """The name of the file of its weights."""
        return f"{self.data}-{self.kind}-{self.optimizer}-{self.seed + 1}.safetensors"


def plans(data: DataName) -> list[Plan]:
    """Return the networks that are trained on a data set.

    One linear and two of each other kind, with either optimizer.
    """
    kinds: list[tuple[Kind, int]] = [("linear", 1), ("dense", 2), ("simple", 2), ("complex", 2)]
    return [
        Plan(data, kind, optimizer, seed)
        for optimizer in ("sgd", "adamw")
        for kind, variants in kinds
        for seed in range(variants)
    ]


SHAPE = (3, 32, 32)  #: of the images as the networks see them


def network(kind: Kind, seed: int, shape: Sequence[int] = SHAPE) -> nn.Sequential:
    """Return an untrained network of images of a shape and 10 outputs; convolutions keep the size (padding 1)."""
    n, (channels, height, width) = prod(shape), shape
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        if kind == "linear":
            return nn.Sequential(nn.Flatten(), nn.Linear(n, 10))
        if kind == "dense":
            return nn.Sequential(nn.Flatten(), nn.Linear(n, 128), nn.ReLU(), nn.Linear(128, 10))
        if kind == "simple":
            blocks = [
                layer for c in (channels, 32) for layer in (nn.Conv2d(c, 32, 3, padding=1), nn.MaxPool2d(2), nn.ReLU())
            ]
            return nn.Sequential(*blocks, nn.Flatten(), nn.Linear(32 * (height // 4) * (width // 4), 10))
        blocks = [
            layer for c in (channels, 32, 32) for layer in (nn.Conv2d(c, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        ]
        return nn.Sequential(*blocks, nn.Flatten(), nn.Linear(32 * (height // 8) * (width // 8), 10))


_READ = {"mnist": mnist, "cifar10": cifar10}


def images(data: DataName, split: Literal["train", "test"], count: int | None = None) -> tuple[Tensor, Tensor]:
    """Return images (n, 3, 32, 32) as the networks see them (scaled to 32 x 32, three channels.

    Normalised) and classes.

    The first ``count`` of them, or all. The normalisation is that of all training images.
    """
    results = _READ[data](split)
    part = normalise(_colours(results.images[:count]), _statistics(data))
    return torch.from_numpy(part), torch.from_numpy(results.labels[:count])


@cache
def _statistics(data: DataName) -> tuple[NDArray[Any], NDArray[Any]]:
    return channel_statistics(_colours(_READ[data]("train").images))


def _colours(pixels: Bytes) -> Bytes:
    return to_color_32(pixels) if pixels.shape[1] == 1 else pixels


def train_plan(plan: Plan, x: Tensor, y: Tensor, *, epochs: int = 15, batch: int = 32) -> nn.Sequential:
    """Return the network of a plan, trained on the device of the samples."""
    model = network(plan.kind, plan.seed, x.shape[1:]).to(x.device)
    optimizer: torch.optim.Optimizer = (
        torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.5, weight_decay=0.01)
        if plan.optimizer == "sgd"
        else torch.optim.AdamW(model.parameters(), capturable=x.is_cuda)
    )

    train(model, optimizer, x, y, epochs=epochs, batch=batch, order=torch.Generator().manual_seed(plan.seed))
    return model


def train(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    x: Tensor,
    y: Tensor,
    *,
    epochs: int,
    batch: int,
    order: torch.Generator,
) -> None:
    """Train on the cross-entropy for some epochs, in batches drawn by ``order``; on CUDA by a recorded step."""

    def step(part: Tensor) -> None:
        optimizer.zero_grad(set_to_none=False)
        loss: Tensor = F.cross_entropy(model(x[part]), y[part])
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()

    quick = captured(step, model, optimizer, batch) if x.is_cuda else step
    for _ in range(epochs):
        shuffled = torch.randperm(len(x), generator=order).to(x.device)
        for start in range(0, len(x), batch):
            part = shuffled[start : start + batch]
            (quick if len(part) == batch else step)(part)


def captured(
    step: Callable[[Tensor], None], model: nn.Module, optimizer: torch.optim.Optimizer, batch: int
) -> Callable[[Tensor], None]:
    """Return a step recorded as one CUDA graph: small networks would otherwise wait for the launch of each operation.

    The rehearsals that recording needs are taken back: weights are restored, the optimizer's memory is emptied.
    """
    first = [parameter.detach().clone() for parameter in model.parameters()]
    part = torch.arange(batch, device=first[0].device)
    side = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step(part)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step(part)
    with torch.no_grad():
        for parameter, value in zip(model.parameters(), first, strict=True):
            parameter.copy_(value)
        for memory in optimizer.state.values():
            for tensor in memory.values():
                if isinstance(tensor, Tensor):
                    tensor.zero_()

    def replay(own: Tensor) -> None:
        part.copy_(own)
        graph.replay()

    return replay


def main(arguments: Sequence[str] | None = None) -> None:
    """Train the networks of a data set and keep their weights and test accuracies in a folder."""
    from safetensors.torch import save_file

    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("data", choices=["mnist", "cifar10"])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", type=int, nargs="*", help="numbers of the plans to train; all unless given")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    (x, y), test = ([part.to(options.device) for part in images(options.data, split)] for split in ("train", "test"))
    for number, plan in enumerate(plans(options.data)):
        if options.only is not None and number not in options.only:
            continue
        model = train_plan(plan, x, y)
        score = accuracy(model, *test)
        with write_atomically(options.out / plan.file) as path:
            save_file({k: v.cpu() for k, v in model.state_dict().items()}, path, {"accuracy": json.dumps(score)})
        print(f"{plan.data} {plan.name}: {100 * score:.2f} %", flush=True)


if __name__ == "__main__":
    main()
