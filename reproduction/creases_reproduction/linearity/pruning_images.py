r"""Section 3.4.5 of the dissertation: pruning convolutional networks for images (Figs. 3.11 and 3.12).

    python -m creases_reproduction.linearity.pruning_images mnist cifar10 --device cuda --per-step 2 \
        --out pruning_images.csv

needs the image files (see :func:`creases.problems.mnist`). Three convolutions of 32 channels (3 x 3), each with ReLU
and max-pool, and a linear layer; 30 epochs of gradient descent with learning rate 0.001, batches of 40, momentum 0.9
and weight decay 0.0001. Channels are removed by the loss without them, found on the first 10,000 training images (the
source does not say on how many), with an epoch of fine-tuning after each removal; beside it the smallest weights are
set to zero. The source removes one channel at a time (``--per-step 1``).
"""

from __future__ import annotations

import argparse
import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import pandas as pd
import torch
from torch import Tensor, nn

from creases import problems, prune, read
from creases.compare import coefficients
from creases.compare.measures import coefficient_cka
from creases_reproduction.experiment import ResultTable, describe_run, write_table
from creases_reproduction.linearity.image_networks import DataName, images, network, train

EPOCHS, BATCH = 30, 40
RULE: dict[str, Any] = {"lr": 0.001, "momentum": 0.9, "weight_decay": 1e-4}

#: Accuracies below which pruning ends: low enough to see the whole curve.
ENOUGH = {"mnist": 0.5, "cifar10": 0.3, "digits": 0.5}

#: What the source reads off the figures: the share of the weights down to which the accuracy stays near the original.
PRINTED = {
    ("mnist", "channels"): 0.2,
    ("mnist", "magnitude"): 0.2,
    ("cifar10", "channels"): 0.6,
    ("cifar10", "magnitude"): 0.4,
}

METHODS = ("channels", "magnitude")

#: "Near the original": at most so much below it.
NEAR = 0.01


@dataclass(frozen=True)
class Settings:
    """How much of the experiment to run."""

    epochs: int = EPOCHS
    per_step: int = 2
    images: int | None = None  #: training images to use, the first; all unless given
    tested: int | None = None  #: test images to judge by; all unless given
    scored: int = 10_000  #: training images on which losses without a channel are found
    compared: int = 500  #: test images on which coefficients are compared
    often: int = 5  #: coefficients are compared at each so many steps


class Watch:
    """Called with each step of a pruning: compares the model with the original now and then."""

    def __init__(self, likeness: Callable[[nn.Module], float], often: int) -> None:
        self.likeness, self.often, self.step = likeness, often, 0
        self.seen: dict[int, float] = {}  #: by step

    def __call__(self, step: prune.PruningStep, model: nn.Module) -> None:
        """Record the likeness after every so many steps."""
        self.step += 1
        if self.step % self.often == 0:
            self.seen[self.step] = self.likeness(model)


def by_epochs(x: Tensor, y: Tensor, epochs: int, seed: int) -> Callable[[nn.Module], None]:
    """Return a function that trains a model for some epochs; on CUDA a step is recorded once and replayed."""
    order = torch.Generator().manual_seed(seed)

    def tune(model: nn.Module) -> None:
        optimizer = torch.optim.SGD(model.parameters(), **RULE)
        train(model, optimizer, x, y, epochs=epochs, batch=BATCH, order=order)
        for parameter in model.parameters():
            parameter.grad = None  # else copies of the model would carry it along

    return tune


def pruned_images(data: DataName, settings: Settings, *, seed: int = 0, device: str = "cpu") -> ResultTable:
    """Train the network of a data set, and prune it by channels and by magnitude.

    Returns
    -------
    Measured
        A row for each step: ``data``, ``method``, ``step``, ``widths``, ``parameters``, ``nonzero``, ``share`` (of the
        original's parameters that are left and not zero), ``accuracy`` on the test images, ``loss_removed``, ``loss``,
        and ``cka`` of the coefficients with those of the original where they were compared.
    """
    start = perf_counter()
    x, y = (part.to(device) for part in images(data, "train", settings.images))
    tx, ty = (part.to(device) for part in images(data, "test", settings.tested))
    model = network("complex", seed).to(device)
    by_epochs(x, y, settings.epochs, seed)(model)
    trained = perf_counter() - start
    seen = tx[: settings.compared]
    original = coefficients(_net(model, device), seen)

    def likeness(other: nn.Module) -> float:
        return float(coefficient_cka([original, coefficients(_net(other, device), seen)])[0, 1])

    common: dict[str, Any] = {"min_accuracy": ENOUGH[data], "validation": (tx, ty)}
    rows = []
    for method in METHODS:
        watch = Watch(likeness, settings.often if method == "channels" else 1)
        values_of = common | {"tune": by_epochs(x, y, 1, seed + 1), "callback": watch}
        if method == "channels":
            values_of |= {"per_step": settings.per_step, "candidates": "all", "max_samples": settings.scored}
            results = prune.channels(model, x, y, **values_of)
        else:
            results = prune.magnitude(model, x, y, **values_of)
        steps = [results.first, *results.steps]
        rows += [_row(data, method, i, step, results.first, watch.seen) for i, step in enumerate(steps)]
    seconds = f"{trained:.0f} training, {perf_counter() - start:.0f} in all, on {device}"
    about = {"data": data, "seed": str(seed), "settings": repr(settings), "seconds": seconds}
    return ResultTable(pd.DataFrame(rows), about)


def pruned_digits(*, seed: int = 0) -> ResultTable:
    """Return the same at a small size, without image files: digits of 8 x 8 pixels, three convolutions of 16 channels.

    Steps are larger and the learning rate is 0.05: some seconds of one core. Columns as :func:`pruned_images` gives
    them, without ``cka``.
    """
    results = problems.get("digits")
    x = torch.from_numpy(results.X.reshape(-1, 1, 8, 8) / 8 - 1).float()
    y = torch.from_numpy(results.y)
    x, y, tests = x[:1200], y[:1200], (x[1200:], y[1200:])
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        blocks = [layer for c in (1, 16, 16) for layer in (nn.Conv2d(c, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))]
        model = nn.Sequential(*blocks, nn.Flatten(), nn.Linear(16, 10))
    rule = RULE | {"lr": 0.05}
    prune.tuner(x, y, epochs=10, batch_size=BATCH, seed=seed, **rule)(model)
    tune = prune.tuner(x, y, epochs=1, batch_size=BATCH, seed=seed + 1, **rule)
    common: dict[str, Any] = {"min_accuracy": ENOUGH["digits"], "validation": tests, "tune": tune}
    runs = {
        "channels": prune.channels(model, x, y, per_step=6, max_samples=400, **common),
        "magnitude": prune.magnitude(model, x, y, sparsities=(0.3, 0.5, 0.7, 0.8, 0.9, 0.95), **common),
    }
    rows = [
        _row("digits", method, i, step, run.first, {})
        for method, run in runs.items()
        for i, step in enumerate([run.first, *run.steps])
    ]
    return ResultTable(pd.DataFrame(rows), {"data": "digits", "seed": str(seed)})


def _row(
    data: str, method: str, i: int, step: prune.PruningStep, first: prune.PruningStep, alike: dict[int, float]
) -> dict[str, Any]:
    return {
        "data": data,
        "method": method,
        "step": i,
        "widths": " ".join(map(str, step.widths.values())),
        "parameters": step.parameters,
        "nonzero": step.nonzero,
        "share": step.nonzero / first.parameters,
        "accuracy": step.accuracy,
        "loss_removed": step.loss_removed,
        "loss": step.loss,
        "cka": 1.0 if i == 0 else alike.get(i, float("nan")),
    }


def _net(model: nn.Module, device: str) -> Any:
    return read(copy.deepcopy(model).cpu(), (3, 32, 32)).to(torch.float32).to(device)


def near_original(table: pd.DataFrame, near: float = NEAR) -> pd.DataFrame:
    """Return for each data set and method the least share of weights up to which the accuracy stays near the original.

    Beside it what the source reads off its figures. It is the step before the first that is not near.
    """
    rows = []
    for (data, method), part in table.groupby(["data", "method"], sort=False):
        good = (part["accuracy"] >= part["accuracy"].iloc[0] - near).cummin()
        last = part[good].iloc[-1]
        rows.append(
            (
                data,
                method,
                part["accuracy"].iloc[0],
                last["share"],
                last["accuracy"],
                last["widths"],
                PRINTED.get((str(data), str(method))),
            )
        )
    columns = ["data", "method", "original", "share", "accuracy", "widths", "printed_share"]
    return pd.DataFrame(rows, columns=columns)


def main(arguments: Sequence[str] | None = None) -> None:
    """Prune the networks of one or both data sets, and write all steps as one table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", choices=["mnist", "cifar10"], nargs="+")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--per-step", type=int, default=Settings.per_step, help="channels removed at a time")
    parser.add_argument("--epochs", type=int, default=EPOCHS, help="of training before pruning")
    parser.add_argument("--images", type=int, help="training images to use; all unless given")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("pruning_images.csv"))
    options = parser.parse_args(arguments)
    settings = Settings(epochs=options.epochs, per_step=options.per_step, images=options.images)
    parts: list[ResultTable] = []
    flags = f"{' '.join(options.data)} --device {options.device} --per-step {options.per_step} --out {options.out.name}"
    command, began = f"python -m creases_reproduction.linearity.pruning_images {flags}", perf_counter()
    for data in options.data:
        parts.append(pruned_images(data, settings, seed=options.seed, device=options.device))
        table = pd.concat([part.table for part in parts], ignore_index=True)
        about = {"settings": repr(settings), "seed": str(options.seed)}
        about |= {part.about["data"]: part.about["seconds"] for part in parts}
        about |= describe_run(command, perf_counter() - began)
        write_table(ResultTable(table, about), options.out)
        print(near_original(table).to_string(index=False), flush=True)


if __name__ == "__main__":
    main()
