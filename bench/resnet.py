"""Grow ResNet-20 on CIFAR-10 with nothing set, at the compute of fixed ones: what size does it find, how good is it?

    CREASES_DATA=folder python bench/resnet.py --jobs 8 --out out/resnet.json

Fixed networks are He et al.'s ResNet-20 (16, 32 and 64 channels, shortcuts without parameters) with a share of the
inner channels of every block, those between its two convolutions. They train by SGD: 0.1, momentum 0.9, Nesterov,
weight decay 5e-4, batches of 128, the rate annealed to zero by a cosine. Growth starts with a quarter of the inner
channels. All have random crops and flips, and the same multiply-adds, those of some epochs of ResNet-20: 3 times those
of the forward pass for each sample, growth steps charged. So smaller networks see more samples.

creases   ``creases.grow(model, images, "classification", budget=...)`` and nothing else but the seed.
sgd       the same with the optimizer of the fixed networks.
tiny, gradmax   the same as creases with another method, ``how``.

Accuracies are of the test images; ± is the standard error over the seeds.
"""

from __future__ import annotations

import argparse
import math
import time
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn, optim
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

import creases
from creases.problems import cifar10
from record import note, note_table
from tasks import add_options, run_tasks

WIDTHS, DEPTH = (16, 32, 64), 3  # channels of the three stages, blocks in each
START, SHARES = 0.25, (0.25, 0.5, 1.0, 2.0)  # inner channels as a share of ResNet-20's: of growth, of fixed networks
BATCH, LR = 128, 0.1
#: What each method sets, and how the page names it.
LABELS = {
    "creases": "growth, nothing set",
    "sgd": "growth, the same SGD",
    "tiny": "growth by TINY",
    "gradmax": "growth by GradMax",
}


class Block(nn.Module):
    """Two convolutions and a shortcut without parameters (option A of He et al.)."""

    def __init__(self, before: int, inner: int, after: int) -> None:
        super().__init__()
        self.stride = 1 if before == after else 2
        self.conv1 = nn.Conv2d(before, inner, 3, self.stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(inner)
        self.conv2 = nn.Conv2d(inner, after, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(after)
        self.new = after - before

    def forward(self, x: Tensor) -> Tensor:
        y = self.norm2(self.conv2(F.relu(self.norm1(self.conv1(x)))))
        if self.new:
            x = F.pad(x[:, :, :: self.stride, :: self.stride], (0, 0, 0, 0, 0, self.new))
        return F.relu(y + x)


class Pixels(nn.Module):
    """Scale pixels (n, 3, 32, 32) from 0 to 255; in training crop them at random out of a black margin, and flip."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.tensor([125.3, 123.0, 113.9])[:, None, None])
        self.register_buffer("spread", torch.tensor([63.0, 62.1, 66.7])[:, None, None])
        self.register_buffer("line", torch.arange(32))

    def forward(self, x: Tensor) -> Tensor:
        if self.training:
            n = len(x)
            down, right = torch.randint(9, (2, n, 1), device=x.device)
            mirror = torch.rand(n, 1, device=x.device) < 0.5
            rows = (self.line + down)[:, :, None]
            columns = (torch.where(mirror, 31 - self.line, self.line) + right)[:, None, :]
            margin = F.pad(x, (4, 4, 4, 4)).permute(0, 2, 3, 1)
            x = margin[torch.arange(n, device=x.device)[:, None, None], rows, columns].permute(0, 3, 1, 2)
        return (x - self.mean) / self.spread


class ResNet(nn.Module):
    """ResNet-20 with a share of the inner channels."""

    def __init__(self, share: float = 1.0) -> None:
        super().__init__()
        first = nn.Conv2d(3, WIDTHS[0], 3, 1, 1, bias=False)
        self.first = nn.Sequential(Pixels(), first, nn.BatchNorm2d(WIDTHS[0]), nn.ReLU())
        shapes, before = [], WIDTHS[0]
        for width in WIDTHS:
            shapes += [(before, width), *[(width, width)] * (DEPTH - 1)]
            before = width
        self.blocks = nn.Sequential(*(Block(a, int(share * b), b) for a, b in shapes))
        self.last = nn.Linear(before, 10)
        for layer in self.modules():
            if isinstance(layer, nn.Conv2d):
                nn.init.kaiming_normal_(layer.weight, mode="fan_out")

    def forward(self, x: Tensor) -> Tensor:
        return self.last(self.blocks(self.first(x)).mean((2, 3)))

    @property
    def inner(self) -> list[int]:
        return [block.conv1.out_channels for block in self.blocks]


@cache
def images(split: str, device: str) -> tuple[Tensor, Tensor]:
    data = cifar10(split)
    pixels = torch.from_numpy(data.images.copy()).to(device).float()
    return pixels.contiguous(memory_format=torch.channels_last), torch.from_numpy(data.labels.copy()).to(device)


def multiply_adds(model: nn.Module) -> int:
    """Return the multiply-adds of a training step for one sample: 3 times those of the forward pass."""
    model = model.eval()
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        model(torch.zeros(1, 3, 32, 32, device=model.last.weight.device))
    model.train()
    return 3 * counter.get_total_flops() // 2


def sgd(parameters: object) -> optim.SGD:
    return optim.SGD(parameters, lr=LR, momentum=0.9, nesterov=True, weight_decay=5e-4)


def train(model: ResNet, x: Tensor, y: Tensor, budget: float) -> int:
    """Train for a budget of multiply-adds; return the number of steps."""
    optimizer, spent, steps = sgd(model.parameters()), 0.0, 0
    cost = BATCH * multiply_adds(model)
    while True:
        for rows in torch.randperm(len(x), device=x.device)[: len(x) - len(x) % BATCH].split(BATCH):
            if spent >= budget:
                return steps
            for group in optimizer.param_groups:
                group["lr"] = LR * (1 + math.cos(math.pi * spent / budget)) / 2
            optimizer.zero_grad()
            F.cross_entropy(model(x[rows]), y[rows]).backward()
            optimizer.step()
            spent, steps = spent + cost, steps + 1


@torch.no_grad()
def accuracy(model: nn.Module, device: str) -> float:
    """Return the percentage of test images that a model gets right."""
    pixels, labels = images("test", device)
    right = torch.cat([model.eval()(x).argmax(1) for x in pixels.split(2000)]) == labels
    return 100 * float(right.double().mean())


def measure(method: str, share: float, seed: int, epochs: float, samples: int) -> dict[str, Any]:
    """Train a network, "fixed" or growing by a method, from a share of the inner channels."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.set_num_threads(1)
    torch.backends.cudnn.benchmark = True
    torch.manual_seed(seed)
    model = ResNet(share).to(device, memory_format=torch.channels_last)
    x, y = (part[:samples] for part in images("train", device))
    budget = epochs * len(x) * multiply_adds(ResNet())
    start, growth = time.perf_counter(), {}
    if method == "fixed":
        steps = train(model, x, y, budget)
    else:
        choice = {"creases": {}, "sgd": {"optimizer": sgd}}.get(method, {"how": method})
        limit = f"{budget:.6e} multiply-adds"
        model, history = creases.grow(
            model, (x, y), "classification", budget=limit, seed=seed, progress=False, **choice
        )
        steps = history.last["steps"]
        growth = {"growth_spent": history.growth_spent, "growth_ended": history.growth_ended}
    return {
        "accuracy": accuracy(model, device),
        "inner": model.inner,
        "steps": steps,
        "seconds": time.perf_counter() - start,
        **growth,
    }


def describe(runs: list[dict[str, Any]]) -> list[str]:
    """Return the mean accuracy with its standard error, the sizes, and the share of the compute to find them."""
    scores = [run["accuracy"] for run in runs]
    error = np.std(scores, ddof=1) / math.sqrt(len(scores)) if len(scores) > 1 else float("nan")
    sizes = ", ".join(sorted({f"{sum(run['inner']) / sum(ResNet().inner):.2g}" for run in runs}))
    spent = [run["growth_spent"] for run in runs if run.get("growth_spent") is not None]
    return [f"{np.mean(scores):.2f} ± {error:.2f}", sizes, f"{np.mean(spent):.0%}" if spent else ""]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3, help="trainings of each kind")
    parser.add_argument("--epochs", type=float, default=15, help="of ResNet-20: the compute of every training")
    parser.add_argument("--samples", type=int, default=50_000, help="training images used, at most")
    add_options(parser)
    options = parser.parse_args()
    kinds = [*(("fixed", share) for share in SHARES), *((method, START) for method in LABELS)]
    settings = (options.epochs, options.samples)
    tasks = {
        f"{method}/{share:g}/{seed}/{options.epochs:g} epochs of {options.samples}": (method, share, seed, *settings)
        for seed in range(options.seeds)
        for method, share in kinds
    }
    results = list(run_tasks(measure, tasks, options.jobs, options.out).values())
    rows = []
    for k, (method, share) in enumerate(kinds):
        runs = results[k :: len(kinds)]
        label = LABELS.get(method) or f"fixed, {share:g} of the channels"
        rows.append([label, *describe(runs)])
        steps, seconds = (np.mean([run[name] for run in runs]) for name in ("steps", "seconds"))
        print(*rows[-1], f"{steps:.0f} steps, {seconds:.0f} s", sep=" | ")
    note("epochs", f"{options.epochs:g}")
    note("seeds", str(options.seeds))
    note("start", f"{START:g}")
    columns = ["", "test accuracy", "inner channels, of ResNet-20's", "of the compute until growth ended"]
    note_table("methods", columns, rows)


if __name__ == "__main__":
    main()
