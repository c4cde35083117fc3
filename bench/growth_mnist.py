"""Train MNIST networks that grow, and fixed ones of the sizes they found, at equal compute; and gromo 0.1.

    OMP_NUM_THREADS=1 python bench/growth_mnist.py equal
    OMP_NUM_THREADS=1 python bench/growth_mnist.py minute

54,000 pictures to train with, 6,000 to validate with, 10,000 to test. Every network has two hidden layers of ReLU and
is trained by AdamW (learning rate 1e-3 annealed to zero by a cosine over the budget, weight decay 0.01, batches of
128; "creases" of ``minute`` has nothing set but its budget). The accuracies are of the test pictures; ± is the standard
error over the seeds. Measuring them is not charged.

equal   From 784-64-64-10 by each growth method, for 6.5e11 multiply-adds (15 epochs of 784-256-256-10; three forward
        passes for a training step; growth steps as counted). Its twin has the widths found from the start, for the
        same multiply-adds. The columns are shares of the budget. 5 seeds: about 20 minutes of one core.
minute  From 784-1-1-10 for 60 processor seconds: the defaults of creases, gromo, and a fixed 784-128-128-10 for
        information. 3 seeds: 9 minutes. Run it on an idle core: the budget of creases is in seconds of the clock.

gromo (pip install gromo, or --target a folder on the PYTHONPATH) runs as its tutorial does: an epoch of training, then
growth of one of the layers in turn: statistics of 10,000 pictures, all units above its threshold, a line search over
0, 0.1, 0.5 and 1. Growth ends at half of the budget, and the learning rate is annealed as for all.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from multiprocessing import get_context

import numpy as np
import torch
from torch import Tensor, nn

import creases
from creases.growth._cost import count_cost
from creases.problems import mnist

LR, DECAY, BATCH, VALIDATION = 1e-3, 0.01, 128, 6000
START, COMPUTE, SECONDS = (64, 64), 6.5e11, 60.0
MARKS = (1 / 8, 1 / 4, 1 / 2, 1.0)
HOWS = ("random", "gradmax", "tiny", "fold")
GROMO_SAMPLES, GROMO_SCALES, GROMO_SHARE = 10_000, (0.0, 0.1, 0.5, 1.0), 0.5

loss = nn.CrossEntropyLoss()


@dataclass(frozen=True)
class Data:
    """Pictures (n, 784) and classes (n,): to train, to validate and to test with."""

    train: tuple[Tensor, Tensor]
    validation: tuple[Tensor, Tensor]
    test: tuple[Tensor, Tensor]


@cache
def load(rows: int | None) -> Data:
    torch.set_num_threads(1)
    parts = []
    for split in ("train", "test"):
        images = mnist(split)
        X = torch.from_numpy(images.images.reshape(len(images.images), -1)).float() / 255
        parts.append((X, torch.from_numpy(images.labels).long()))
    (X, y), test = parts
    order = torch.randperm(len(X), generator=torch.Generator().manual_seed(0))
    held, train = order[:VALIDATION], order[VALIDATION:][:rows]
    return Data((X[train], y[train]), (X[held], y[held]), test)


def perceptron(widths: Sequence[int], seed: int) -> nn.Sequential:
    torch.manual_seed(seed)
    layers = [
        layer for before, after in pairwise((784, *widths, 10)) for layer in (nn.Linear(before, after), nn.ReLU())
    ]
    return nn.Sequential(*layers[:-1])


def hidden(model: nn.Module) -> tuple[int, ...]:
    """Return the widths of the hidden layers."""
    return tuple(len(weight) for weight in model.parameters() if weight.ndim == 2)[:-1]


def forward_cost(model: nn.Module) -> int:
    """Return the multiply-adds of one sample."""
    return sum(weight.numel() for weight in model.parameters() if weight.ndim == 2)


@torch.no_grad()
def accuracy(model: nn.Module, data: tuple[Tensor, Tensor]) -> float:
    return float((model(data[0]).argmax(1) == data[1]).double().mean())


@dataclass
class Trial:
    """A run with its budget, of multiply-adds or of processor seconds, and its test accuracies on the way."""

    rows: int | None  #: training pictures, all by default
    limit: float
    timed: bool = False
    multiply_adds: float = 0.0
    curve: list[tuple[float, float]] = field(default_factory=list)  #: share of the budget, accuracy
    widths: tuple[int, ...] = ()
    final: float = float("nan")  #: accuracy of the model that the run returns
    took: float = float("nan")  #: processor seconds
    aside: float = 0.0  #: processor seconds of measuring
    begin: float = 0.0

    @property
    def data(self) -> Data:
        return load(self.rows)

    @property
    def seconds(self) -> float:
        return time.process_time() - self.begin - self.aside

    @property
    def share(self) -> float:
        return (self.seconds if self.timed else self.multiply_adds) / self.limit

    @property
    def lr(self) -> float:
        return LR * (1 + math.cos(math.pi * min(self.share, 1.0))) / 2

    def note(self, model: nn.Module) -> None:
        """Measure a model at this point of the run."""
        start, share = time.process_time(), self.share
        self.curve.append((share, accuracy(model, self.data.test)))
        self.aside += time.process_time() - start

    def finish(self, model: nn.Module) -> Trial:
        """Set what the run ends with: the accuracy of the model it returns, which may be an earlier one."""
        self.took, self.widths, self.final = self.seconds, hidden(model), accuracy(model, self.data.test)
        return self

    def at(self, mark: float) -> float:
        """Return the accuracy at a share of the budget, interpolated; at its end that of the model returned."""
        return self.final if mark >= 1 else float(np.interp(mark, *zip(*self.curve, strict=True)))


# -- the competitors --------------------------------------------------------------------------------------------------


def train_epoch(model: nn.Module, optimizer: torch.optim.Optimizer, trial: Trial, order: Tensor) -> None:
    """Train for one epoch, or to the end of the budget; every step is charged."""
    X, y = trial.data.train
    cost = 3 * forward_cost(model)
    for rows in order.split(BATCH):
        if trial.share >= 1:
            return
        optimizer.param_groups[0]["lr"] = trial.lr
        optimizer.zero_grad()
        loss(model(X[rows]), y[rows]).backward()
        optimizer.step()
        trial.multiply_adds += cost * len(rows)


def train_fixed(trial: Trial, widths: Sequence[int], seed: int) -> Trial:
    model = perceptron(widths, seed)
    trial.note(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=LR, weight_decay=DECAY)
    while trial.share < 1:
        train_epoch(model, optimizer, trial, torch.randperm(len(trial.data.train[0])))
        trial.note(model)
    return trial.finish(model)


def grow_creases(trial: Trial, widths: Sequence[int], seed: int, **options: object) -> Trial:
    model = perceptron(widths, seed)
    trial.note(model)

    def note(state: creases.growth.State) -> None:
        trial.multiply_adds = state.history.last["multiply_adds"]
        trial.note(state.model)

    model, _ = creases.grow(
        model,
        trial.data.train,
        "classification",
        budget=f"{trial.limit:g} {'s' if trial.timed else 'multiply-adds'}",
        validation=trial.data.validation,
        seed=seed,
        callbacks=[note],
        progress=False,
        **options,
    )
    return trial.finish(model)


def grow_gromo(trial: Trial, widths: Sequence[int], seed: int) -> Trial:
    from gromo.containers.growing_mlp import GrowingMLP

    torch.manual_seed(seed)
    model = GrowingMLP(784, 10, widths[0], len(widths), activation=nn.ReLU(), device=torch.device("cpu"))
    trial.note(model)
    epoch = 0
    while trial.share < 1:
        order = torch.randperm(len(trial.data.train[0]))
        train_epoch(model, torch.optim.AdamW(model.parameters(), lr=LR, weight_decay=DECAY), trial, order)
        if trial.share < GROMO_SHARE:
            with count_cost() as cost:
                grow_gromo_layer(model, [part[order[:GROMO_SAMPLES]] for part in trial.data.train], epoch % len(widths))
            trial.multiply_adds += cost.multiply_adds
        epoch += 1
        trial.note(model)
    return trial.finish(model)


def grow_gromo_layer(model: nn.Module, samples: Sequence[Tensor], layer: int) -> None:
    """Add the units that gromo finds to a layer, with the best of its scales; none if that is zero."""
    X, y = samples
    model.set_growing_layers(index=layer)
    model.init_computation()
    for x, target in zip(X.split(1000), y.split(1000), strict=True):
        model.zero_grad()
        nn.functional.cross_entropy(model(x), target, reduction="sum").backward()
        model.update_computation()
    model.compute_optimal_updates()
    model.reset_computation()
    model.dummy_select_update()
    losses = []
    with torch.no_grad():
        for scale in GROMO_SCALES:
            model.set_scaling_factor(scale)
            losses.append(float(loss(model.extended_forward(X), y)))
    scale = GROMO_SCALES[int(np.argmin(losses))]
    model.set_scaling_factor(scale)
    if scale:
        model.apply_change()
    else:
        model.currently_updated_layer.delete_update()


def run_trial(
    method: str, options: argparse.Namespace, limit: float, timed: bool, widths: Sequence[int], seed: int
) -> Trial:
    """Run one competitor: "fixed", "gromo", "creases" with its defaults, or a growth method of creases."""
    load(options.limit)  # before the clock starts
    trial = Trial(options.limit, limit, timed)
    trial.begin = time.process_time()
    if method in ("fixed", "gromo"):
        return (train_fixed if method == "fixed" else grow_gromo)(trial, widths, seed)
    same = {"optimizer": "adamw", "lr": LR, "weight_decay": DECAY, "batch_size": BATCH}
    choices = {} if method == "creases" else {"how": method, **same}
    if options.growth_share is not None:
        choices["growth_share"] = options.growth_share
    return grow_creases(trial, widths, seed, **choices)


def run_trials(arguments: Sequence[tuple], jobs: int) -> list[Trial]:
    """Run competitors, several at a time, each on one core."""
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        return list(pool.map(run_trial, *zip(*arguments, strict=True)))


# -- the two comparisons ----------------------------------------------------------------------------------------------


def describe(values: Sequence[float]) -> str:
    """Return the mean in percent with its standard error."""
    error = 100 * np.std(values, ddof=1) / math.sqrt(len(values)) if len(values) > 1 else float("nan")
    return f"{100 * np.mean(values):.2f} ± {error:.2f}"


def line(name: str, trials: Sequence[Trial], marks: Sequence[float]) -> str:
    cells = "".join(f"{describe([trial.at(mark) for trial in trials]):>15}" for mark in marks)
    spent = np.mean([trial.multiply_adds for trial in trials])
    took = np.mean([trial.took for trial in trials])
    widths = " ".join("-".join(map(str, trial.widths)) for trial in trials)
    return f"{name:<14}{cells}{spent:>12.2e}{took:>8.1f}  {widths}"


def equal(options: argparse.Namespace, methods: Sequence[str], seeds: Sequence[int]) -> None:
    compute = options.compute
    print(f"from {'-'.join(map(str, START))} for {compute:.2e} multiply-adds, seeds {', '.join(map(str, seeds))}")
    print(f"{'':<14}{''.join(f'{mark:>15.3g}' for mark in MARKS)}{'spent':>12}{'CPU-s':>8}  widths")
    jobs = [(method, seed) for method in methods for seed in seeds]
    results = run_trials([(how, options, compute, False, START, seed) for how, seed in jobs], options.jobs)
    trials = dict(zip(jobs, results, strict=True))
    sizes = sorted({(trial.widths, seed) for (_, seed), trial in trials.items()})
    results = run_trials([("fixed", options, compute, False, *size) for size in sizes], options.jobs)
    twins = dict(zip(sizes, results, strict=True))
    for method in methods:
        grown = [trials[method, seed] for seed in seeds]
        pairs = [twins[trial.widths, seed] for trial, seed in zip(grown, seeds, strict=True)]
        leads = [trial.final - twin.final for trial, twin in zip(grown, pairs, strict=True)]
        print(line(method, grown, MARKS))
        print(line("  its twin", pairs, MARKS))
        print(f"{'  difference':<14}{describe(leads):>{15 * len(MARKS)}}", flush=True)


def minute(options: argparse.Namespace, methods: Sequence[str], seeds: Sequence[int]) -> None:
    print(f"from 1-1 for {options.seconds:g} s, seeds {', '.join(map(str, seeds))}")
    print(f"{'':<14}{''.join(f'{mark:>15.3g}' for mark in MARKS)}{'spent':>12}{'CPU-s':>8}  widths")
    jobs = [(method, (128, 128) if method == "fixed" else (1, 1), seed) for method in methods for seed in seeds]
    trials = run_trials([(how, options, options.seconds, True, at, seed) for how, at, seed in jobs], options.jobs)
    finals = {}
    for method in methods:
        these = [trial for trial, job in zip(trials, jobs, strict=True) if job[0] == method]
        finals[method] = float(np.mean([trial.final for trial in these]))
        print(line(method, these, MARKS), flush=True)
    if {"creases", "gromo"} <= finals.keys():
        print(f"creases at least gromo: {'yes' if finals['creases'] >= finals['gromo'] else 'no'}")
    if "creases" in finals:
        print(f"creases at least 97.8 %: {'yes' if finals['creases'] >= 0.978 else 'no'}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("equal", "minute"))
    parser.add_argument("--methods", help="default: all, gromo if it can be imported")
    parser.add_argument("--seeds", type=int, help="number of seeds")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--growth-share", type=float, help="of the budget; by default that of creases.grow")
    parser.add_argument("--compute", type=float, default=COMPUTE, help="multiply-adds of a run of equal")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of a run of minute")
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time; of minute, no more than idle cores")
    parser.add_argument("--limit", type=int, help="pictures to train with, for a trial")
    options = parser.parse_args()
    gromo = ("gromo",) if importlib.util.find_spec("gromo") else ()
    if options.what == "equal":
        methods = options.methods.split(",") if options.methods else (*HOWS, *gromo)
        equal(options, methods, range(options.first, options.first + (options.seeds or 5)))
    else:
        methods = options.methods.split(",") if options.methods else ("creases", *gromo, "fixed")
        minute(options, methods, range(options.first, options.first + (options.seeds or 3)))


if __name__ == "__main__":
    main()
