"""Grow ResNet-20 on CIFAR-10 at the compute of a fixed one: which is better?

    CREASES_DATA=folder python bench/resnet.py --jobs 8 --out result.json
    CREASES_DATA=folder python bench/resnet.py --methods random --ratios .55 .7 .85 --seeds 3 --jobs 8 --out result.json

The fixed network (the twin) is He et al.'s ResNet-20: 16, 32 and 64 channels, shortcuts without parameters. A grown one
starts with a quarter of the inner channels of every block (those between its two convolutions) and may grow to the
twin's. All train by the same SGD (0.1, momentum 0.9, Nesterov, weight decay 5e-4, batches of 128, random crops and
flips, the rate annealed to zero by a cosine) and for the same multiply-adds: 3 times those of the forward pass for
each sample, growth steps charged. So a network that was smaller for a while sees more samples.

The methods: "twin"; "schedule", a plain loop in which ``creases.widen`` adds random units with zero outgoing weights
after 8 % (to a half) and 20 % (to the whole) of the steps, which is 2.4 and 9.4 % of the compute; and those of
``creases.grow``, which find the size themselves. The latter hold 5,000 training images out until growth has ended.

``--ratios`` asks how much compute growth saves: the least share of it at which the mean test accuracy of a method comes
to within 0.2 points of the twin's with all of it (which must be among the ratios). ``--largest 0.5`` gives the twin
half of the inner channels, and limits growth to them; the compute stays that of ResNet-20. What is in the file of
``--out`` already is not run again.
"""

from __future__ import annotations

import argparse
import json
import math
import time
import traceback
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from statistics import mean, stdev

import torch
from torch import Tensor, nn, optim
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

import creases
from creases.problems import cifar10

WIDTHS, DEPTH = (16, 32, 64), 3  # channels of the three stages, blocks in each
START = 0.25  # inner channels at the start, as a share of the twin's
SCHEDULE = ((0.024, 0.5), (0.094, 1.0))  # at this share of the compute to this share of the twin's inner channels
BATCH, LR = 128, 0.1
METHODS = ("twin", "schedule", "random", "gradmax", "tiny")
COLUMNS = "method    compute   used  seeds   mean  spread   steps     s  inner channels"


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


@dataclass(frozen=True)
class Job:
    """One training: a method, a seed and the share of the twin's compute."""

    method: str
    seed: int
    ratio: float
    epochs: float
    samples: int  #: training images used, at most
    held: int  #: of them held out until growth has ended
    growth_share: str | float = "auto"  #: of the compute
    largest: float = 1.0  #: inner channels, as a share of ResNet-20's: of the twin, and of grown networks at most


@dataclass(frozen=True)
class Outcome:
    """What came of a job."""

    job: Job
    accuracy: float  #: on the test images, in percent
    widths: list[int]  #: inner channels of the blocks
    ratio: float  #: multiply-adds as a share of the twin's
    steps: int
    seconds: float
    note: str = ""


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


def widen(model: ResNet, share: float, optimizer: optim.Optimizer, seed: int) -> None:
    """Add random units with zero outgoing weights to every block, up to a share of the twin's."""
    numbers = torch.Generator().manual_seed(seed)
    for at, (block, width) in enumerate(zip(model.blocks, ResNet().inner, strict=True)):
        weight = block.conv1.weight
        shape = (int(share * width) - len(weight), *weight.shape[1:])
        spread = math.sqrt(2 / (9 * weight.shape[1]))
        new = torch.randn(shape, generator=numbers) * spread
        creases.widen(model, f"blocks.{at}.conv1", new, optimizer=optimizer, input_shape=(3, 32, 32))


def train(
    model: ResNet, x: Tensor, y: Tensor, budget: float, schedule: tuple[tuple[float, float], ...], seed: int
) -> int:
    """Train for a budget of multiply-adds, widening on a schedule; return the number of steps."""
    optimizer, pending = sgd(model.parameters()), list(schedule)
    spent, steps, each = 0.0, 0, BATCH * multiply_adds(model)
    torch.manual_seed(seed)
    while spent < budget:
        for rows in torch.randperm(len(x), device=x.device)[: len(x) - len(x) % BATCH].split(BATCH):
            if pending and spent >= pending[0][0] * budget:
                widen(model, pending.pop(0)[1], optimizer, seed)
                each = BATCH * multiply_adds(model)
            for group in optimizer.param_groups:
                group["lr"] = LR * (1 + math.cos(math.pi * spent / budget)) / 2
            optimizer.zero_grad()
            F.cross_entropy(model(x[rows]), y[rows]).backward()
            optimizer.step()
            spent, steps = spent + each, steps + 1
            if spent >= budget:
                break
    return steps


def grow(model: ResNet, x: Tensor, y: Tensor, budget: float, job: Job) -> tuple[int, float, str]:
    """Grow a model by ``creases.grow``; return its steps, the multiply-adds used and how growth went."""
    history = creases.grow(
        model,
        (x, y),
        "classification",
        how=job.method,
        where="all",
        budget=f"{budget:.6e} multiply-adds",
        max_parameters=sum(parameter.numel() for parameter in ResNet(job.largest).parameters()),
        growth_share=job.growth_share,
        validation=job.held / len(x),  # until growth has ended
        optimizer=sgd,
        batch_size=BATCH,
        keep="last",
        seed=job.seed,
        progress=False,
    ).history
    races = ", ".join(
        f"{stage['loss_training_on']:.3f} > {stage['loss_grown']:.3f} ({stage['error']:.3f})"
        for stage in history.stages
    )
    return history.last["steps"], history.last["multiply_adds"], f"{races}; {history.growth_ended}"


@torch.no_grad()
def accuracy(model: nn.Module, device: str) -> float:
    """Return the percentage of test images that a model gets right."""
    pixels, labels = images("test", device)
    right = torch.cat([model.eval()(x).argmax(1) for x in pixels.split(2000)]) == labels
    return 100 * float(right.double().mean())


def run(job: Job, device: str) -> Outcome:
    torch.set_num_threads(1)
    torch.backends.cudnn.benchmark = True
    torch.manual_seed(job.seed)
    model = ResNet(job.largest if job.method == "twin" else START).to(device, memory_format=torch.channels_last)
    x, y = (part[: job.samples] for part in images("train", device))
    budget = job.ratio * job.epochs * len(x) * multiply_adds(ResNet())
    start, note = time.perf_counter(), ""
    if job.method in ("twin", "schedule"):
        schedule = SCHEDULE if job.method == "schedule" else ()
        spent = budget
        steps = train(model, x, y, budget, schedule, job.seed)
    else:
        steps, spent, note = grow(model, x, y, budget, job)
    result = accuracy(model, device)
    seconds = time.perf_counter() - start
    return Outcome(job, result, model.inner, job.ratio * spent / budget, steps, seconds, note)


def run_all(jobs: list[Job], device: str, processes: int, out: Path | None) -> list[Outcome]:
    """Run all jobs, several at a time; a failure is reported and leaves the others alone."""
    saved = json.loads(out.read_text()) if out is not None and out.exists() else []
    outcomes = [Outcome(**{**each, "job": Job(**each["job"])}) for each in saved]
    done = {outcome.job for outcome in outcomes}
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        futures = {pool.submit(run, job, device): job for job in jobs if job not in done}
        for future in as_completed(futures):
            try:
                outcome = future.result()
            except Exception:
                print(f"{futures[future]} failed\n{traceback.format_exc()}", flush=True)
                continue
            outcomes.append(outcome)
            job = outcome.job
            print(
                f"{job.method:9} seed {job.seed} compute {job.ratio:4.2f}: {outcome.accuracy:.2f} %, {outcome.steps} "
                f"steps, {outcome.seconds:.0f} s, widths {outcome.widths} {outcome.note}",
                flush=True,
            )
            if out is not None:
                out.write_text(json.dumps([asdict(each) for each in outcomes], indent=1))
    return outcomes


def print_table(outcomes: list[Outcome]) -> None:
    print(COLUMNS)
    for ratio, method in sorted({(each.job.ratio, METHODS.index(each.job.method)) for each in outcomes}):
        these = [each for each in outcomes if (each.job.ratio, each.job.method) == (ratio, METHODS[method])]
        scores = [each.accuracy for each in these]
        spread = stdev(scores) if len(scores) > 1 else 0.0
        used, steps, seconds = (mean([getattr(each, name) for each in these]) for name in ("ratio", "steps", "seconds"))
        widths = " ".join(f"{mean(block):.0f}" for block in zip(*(each.widths for each in these), strict=True))
        print(
            f"{METHODS[method]:9} {ratio:7.2f} {used:6.3f} {len(these):6} {mean(scores):6.2f} {spread:7.2f} "
            f"{steps:7.0f} {seconds:5.0f}  {widths}"
        )


def print_ratios(outcomes: list[Outcome]) -> None:
    """Print the least compute at which each method comes to within 0.2 points of the twin's accuracy."""

    def score(method: str, ratio: float) -> float:
        scores = [each.accuracy for each in outcomes if (each.job.method, each.job.ratio) == (method, ratio)]
        return mean(scores) if scores else math.nan

    target = score("twin", 1.0) - 0.2
    for method in METHODS:
        enough = [each.job.ratio for each in outcomes if score(method, each.job.ratio) >= target]
        if enough:
            print(f"{method}: {target:.2f} % with {min(enough)} of the twin's compute")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--methods", nargs="+", default=METHODS, choices=METHODS)
    arguments.add_argument("--seeds", type=int, default=5, help="trainings of each method")
    arguments.add_argument("--epochs", type=float, default=15, help="of the twin: the compute of every training")
    arguments.add_argument("--samples", type=int, default=50_000, help="training images used, at most")
    arguments.add_argument("--held", type=int, default=5_000, help="of them held out until growth has ended")
    arguments.add_argument("--growth-share", type=float, help="of the compute; by default that of creases.grow")
    arguments.add_argument("--largest", type=float, default=1.0, help="inner channels, as a share of ResNet-20's")
    arguments.add_argument("--first", type=int, default=0, help="the first seed")
    arguments.add_argument("--ratios", type=float, nargs="+", default=[1.0], help="shares of the compute")
    arguments.add_argument("--jobs", type=int, default=1, help="trainings at a time")
    arguments.add_argument("--out", type=Path, help="a file for the results, as JSON")
    given = arguments.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    jobs = [
        Job(
            method,
            seed,
            ratio,
            given.epochs,
            given.samples,
            given.held if method not in ("twin", "schedule") else 0,
            given.growth_share or "auto",
            given.largest,
        )
        for seed in range(given.first, given.first + given.seeds)
        for method in given.methods
        for ratio in given.ratios
    ]
    outcomes = run_all(jobs, device, given.jobs, given.out)
    print_table(outcomes)
    print_ratios(outcomes)


if __name__ == "__main__":
    main()
