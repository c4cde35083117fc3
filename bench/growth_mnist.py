"""Grow MNIST networks with nothing set but a budget, beside fixed ones of the sizes they found, and gromo.

    OMP_NUM_THREADS=1 python bench/growth_mnist.py equal --jobs 2 --out out/mnist.json
    OMP_NUM_THREADS=1 python bench/growth_mnist.py minute --jobs 2 --out out/mnist.json

60,000 pictures to train with, of which ``creases.grow`` holds out its own share, and 10,000 to test. Every network has
two hidden layers of ReLU. creases has nothing set but its budget and its seed (and ``how``, where methods are
compared). Fixed networks and gromo are trained on all 60,000 by AdamW: learning rate 1e-3 annealed to zero by a cosine
over the budget, weight decay 0.01, batches of 128. Accuracies are of the test pictures; ± is the standard error over
the seeds.

equal   From 784-64-64-10 for 6.5e11 multiply-adds (three forward passes for a training step; growth steps as counted):
        "creases" (here random units), other methods by ``how``, and gromo. The twin of a run has the widths that it
        found from the start, for the same multiply-adds.
minute  From 784-1-1-10 for 60 seconds of one core: creases, gromo, a fixed 784-128-128-10, and the twin of each run of
        creases: a fixed network with the widths that it found. The seconds of creases are of the clock: run no more
        jobs than there are idle cores.

gromo (pip install gromo, or --target a folder on the PYTHONPATH) runs as its tutorial does: an epoch of training, then
growth of one of the layers in turn: statistics of 10,000 pictures, all units above its threshold, a line search over
0, 0.1, 0.5 and 1. Growth ends at half of the budget.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import time
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

import creases
from creases.growth._budget import count_cost
from creases.problems import mnist
from record import note, note_table
from tasks import add_options, run_tasks

LR, DECAY, BATCH = 1e-3, 0.01, 128
COMPUTE, SECONDS, SEEDS = 6.5e11, 60.0, 5
LABELS = {"creases": "nothing set", "tiny": "TINY", "gradmax": "GradMax", "fold": "fold", "gromo": "gromo"}
GROMO_SAMPLES, GROMO_SCALES, GROMO_SHARE = 10_000, (0.0, 0.1, 0.5, 1.0), 0.5

Pictures = tuple[Tensor, Tensor]
Widths = tuple[int, ...]

loss = nn.CrossEntropyLoss()


@cache
def load(split: str, pictures: int | None = None) -> Pictures:
    """Return pictures (n, 784) from 0 to 1 and their classes (n,)."""
    images = mnist(split)
    X = torch.from_numpy(images.images[:pictures].reshape(-1, 784)).float() / 255
    return X, torch.from_numpy(images.labels[:pictures]).long()


def perceptron(widths: Sequence[int], seed: int) -> nn.Sequential:
    torch.manual_seed(seed)
    layers = [
        layer for before, after in pairwise((784, *widths, 10)) for layer in (nn.Linear(before, after), nn.ReLU())
    ]
    return nn.Sequential(*layers[:-1])


def hidden(model: nn.Module) -> list[int]:
    """Return the widths of the hidden layers."""
    return [len(weight) for weight in model.parameters() if weight.ndim == 2][:-1]


def forward_cost(model: nn.Module) -> int:
    """Return the multiply-adds of one sample."""
    return sum(weight.numel() for weight in model.parameters() if weight.ndim == 2)


class Budget:
    """What a fixed network or gromo may spend: multiply-adds or processor seconds."""

    def __init__(self, limit: float, timed: bool) -> None:
        self.limit, self.timed, self.multiply_adds, self.begin = limit, timed, 0.0, time.process_time()

    @property
    def share(self) -> float:
        return (time.process_time() - self.begin if self.timed else self.multiply_adds) / self.limit


# -- the competitors --------------------------------------------------------------------------------------------------


def train_epoch(model: nn.Module, optimizer: torch.optim.Optimizer, budget: Budget, train: Pictures) -> None:
    """Train for one epoch, or to the end of the budget; every step is charged."""
    X, y = train
    cost = 3 * forward_cost(model)
    for rows in torch.randperm(len(X)).split(BATCH):
        share = budget.share
        if share >= 1:
            return
        optimizer.param_groups[0]["lr"] = LR * (1 + math.cos(math.pi * share)) / 2
        optimizer.zero_grad()
        loss(model(X[rows]), y[rows]).backward()
        optimizer.step()
        budget.multiply_adds += cost * len(rows)


def train_fixed(train: Pictures, widths: Widths, seed: int, budget: Budget) -> nn.Module:
    model = perceptron(widths, seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=LR, weight_decay=DECAY)
    while budget.share < 1:
        train_epoch(model, optimizer, budget, train)
    return model


def grow_gromo(train: Pictures, widths: Widths, seed: int, budget: Budget) -> nn.Module:
    from gromo.containers.growing_mlp import GrowingMLP

    torch.manual_seed(seed)
    model = GrowingMLP(784, 10, widths[0], len(widths), activation=nn.ReLU(), device=torch.device("cpu"))
    epoch = 0
    while budget.share < 1:
        train_epoch(model, torch.optim.AdamW(model.parameters(), lr=LR, weight_decay=DECAY), budget, train)
        if budget.share < GROMO_SHARE:
            chosen = torch.randperm(len(train[0]))[:GROMO_SAMPLES]
            with count_cost() as cost:
                grow_gromo_layer(model, [part[chosen] for part in train], epoch % len(widths))
            budget.multiply_adds += cost.multiply_adds
        epoch += 1
    return model


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


@cache
def import_all() -> None:
    """Import and compile what growth needs before a clock starts, once in a process."""
    X = torch.randn(200, 2, generator=torch.Generator().manual_seed(0))
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 2))
    creases.grow(model, (X, (X[:, 0] > 0).long()), "classification", budget=200, progress=False)


def measure(method: str, widths: Widths, seed: int, limit: float, timed: bool, pictures: int | None) -> dict[str, Any]:
    """Run one competitor: "fixed", "gromo", "creases" with nothing set, or a growth method of creases."""
    torch.set_num_threads(1)
    train, (X, y) = load("train", pictures), load("test")
    import_all()
    begin, spent = time.process_time(), Budget(limit, timed)
    if method in ("fixed", "gromo"):
        model = (train_fixed if method == "fixed" else grow_gromo)(train, widths, seed, spent)
        multiply_adds = spent.multiply_adds
    else:
        how = {} if method == "creases" else {"how": method}
        budget = f"{limit:g} {'s' if timed else 'multiply-adds'}"
        model, history = creases.grow(
            perceptron(widths, seed), train, "classification", budget=budget, seed=seed, progress=False, **how
        )
        multiply_adds = history.last["multiply_adds"]
    seconds = time.process_time() - begin
    with torch.no_grad():
        right = float((model(X).argmax(1) == y).double().mean())
    return {"accuracy": right, "widths": hidden(model), "multiply_adds": multiply_adds, "cpu_seconds": seconds}


# -- the two comparisons ----------------------------------------------------------------------------------------------


def describe(values: Sequence[float]) -> str:
    """Return the mean in percent with its standard error."""
    error = 100 * np.std(values, ddof=1) / math.sqrt(len(values)) if len(values) > 1 else float("nan")
    return f"{100 * np.mean(values):.2f} ± {error:.2f}"


def describe_sizes(runs: Sequence[dict[str, Any]]) -> str:
    """Return the sizes that were found, from small to large, each once: "160-160, 320-320 (4)"."""
    sizes = sorted(tuple(run["widths"]) for run in runs)
    counts = {size: sizes.count(size) for size in sizes}
    return ", ".join("-".join(map(str, size)) + (f" ({n})" if n > 1 else "") for size, n in counts.items())


def run_all(
    jobs: Sequence[tuple[str, Widths, int]], limit: float, timed: bool, options: argparse.Namespace
) -> list[dict[str, Any]]:
    """Return the results of (method, widths at the start, seed), in order."""
    settings = f"{limit:g} {'s' if timed else 'multiply-adds'}, {options.pictures or 'all'} pictures"
    names = [f"{settings}/{method}/{'-'.join(map(str, widths))}/{seed}" for method, widths, seed in jobs]
    tasks = {name: (*job, limit, timed, options.pictures) for name, job in zip(names, jobs, strict=True)}
    results = run_tasks(measure, tasks, options.jobs, options.out)
    return [results[name] for name in names]


def equal(methods: Sequence[str], options: argparse.Namespace) -> None:
    """Compare growth with twins at equal multiply-adds."""
    seeds, compute = range(options.seeds), options.compute
    jobs = [(method, (64, 64), seed) for method in methods for seed in seeds]
    growths = dict(zip(jobs, run_all(jobs, compute, False, options), strict=True))
    sizes = sorted({("fixed", tuple(run["widths"]), seed) for (_, _, seed), run in growths.items()})
    twins = dict(zip(sizes, run_all(sizes, compute, False, options), strict=True))
    rows = []
    for method in methods:
        runs = [growths[method, (64, 64), seed] for seed in seeds]
        pairs = [twins["fixed", tuple(run["widths"]), seed] for run, seed in zip(runs, seeds, strict=True)]
        scores, others = ([run["accuracy"] for run in each] for each in (runs, pairs))
        differences = list(np.subtract(scores, others))
        cells = [describe(scores), describe(others), describe(differences), describe_sizes(runs)]
        rows.append([LABELS[method], *cells])
        print(*rows[-1], f"CPU-s {np.mean([run['cpu_seconds'] for run in runs]):.0f}", sep=" | ", flush=True)
    note("compute", f"{compute:.1e}".replace("e+", "e"))
    note("epochs", f"{compute / (3 * forward_cost(perceptron((256, 256), 0)) * len(load('train')[0])):.1f}")
    note("seeds", str(options.seeds))
    note_table("equal", ["", "growth", "its twin", "difference", "sizes found"], rows)


def minute(methods: Sequence[str], options: argparse.Namespace) -> None:
    """Compare what is reached from two units in a minute."""
    seeds = range(options.seeds)
    jobs = [(method, (128, 128) if method == "fixed" else (1, 1), seed) for method in methods for seed in seeds]
    results = dict(zip(jobs, run_all(jobs, options.seconds, True, options), strict=True))
    runs_of = {method: [results[job] for job in jobs if job[0] == method] for method in methods}
    if "creases" in methods:
        twins = [("fixed", tuple(run["widths"]), seed) for run, seed in zip(runs_of["creases"], seeds, strict=True)]
        runs_of["twin"] = run_all(twins, options.seconds, True, options)
    note("minute", f"{options.seconds:g}")
    note("minute_seeds", str(options.seeds))
    for method, runs in runs_of.items():
        score, sizes = describe([run["accuracy"] for run in runs]), describe_sizes(runs)
        note(f"minute_{method}", f"{score} %")
        if method in ("creases", "gromo"):
            note(f"minute_{method}_sizes", sizes)
        print(method, score, sizes, f"CPU-s {np.mean([run['cpu_seconds'] for run in runs]):.0f}", sep=" | ", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("equal", "minute"))
    parser.add_argument("--methods", type=lambda text: text.split(","), help="default: all, gromo if it is installed")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="number of seeds")
    parser.add_argument("--compute", type=float, default=COMPUTE, help="multiply-adds of a run of equal")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of a run of minute")
    parser.add_argument("--pictures", type=int, help="to train with, for a trial")
    add_options(parser)
    options = parser.parse_args()
    without = set() if importlib.util.find_spec("gromo") else {"gromo"}
    if options.what == "equal":
        equal(options.methods or [method for method in LABELS if method not in without], options)
    else:
        minute(options.methods or [m for m in ("creases", "gromo", "fixed") if m not in without], options)


if __name__ == "__main__":
    main()
