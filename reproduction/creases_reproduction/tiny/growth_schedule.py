"""The growth schedule of the TINY paper's experiments (section 4, appendix C): growth while the clock runs.

A network 784 - 1 - 1 - 10 with SELU (normal Kaiming weights) trains by Adam, step 1e-4, in batches of 100, and after
every 0.05 seconds both hidden layers get all units of Prop. 3.2 above the threshold, 8 times; then it trains on. The
units come from ``sample_size`` samples, the factor of their incoming weights from as many others. dW* is not applied
(with units that barely vary it is huge). Seconds count training and growth, not the measurements.

    python -m creases_reproduction.tiny.growth_schedule --seeds 15 --n_jobs 15 --seconds 30 --out tiny_schedule.json

needs the image files (see :func:`creases.problems.mnist`); it gives what ``results/tiny_schedule.json`` has.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch
from torch import Tensor, nn

from creases._files import write_atomically
from creases.growth import Proposal, apply
from creases.growth.methods import random_units, tiny
from creases.growth.methods.expressivity import NewUnits, gather_sample, line_search, sample_size
from creases.network.surgery import Place, places
from creases.problems import mnist
from creases_reproduction.experiment import round_numbers
from creases_reproduction.images import accuracy
from creases_reproduction.tiny.bottlenecks import Data, images, perceptron

LR, BATCH, MOST = 1e-4, 100, 1000
MARKS = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)  #: seconds at which the test accuracy is taken
PAUSES = (0.05, 0.5, 2.0)  #: seconds between growth steps: that of Figures 5 and 6, and longer ones (Figure 8)


@dataclass
class Run:
    """One training by the clock."""

    name: str
    seed: int
    widths: list[int] = field(default_factory=list)  #: at the end
    steps: int = 0  #: of Adam
    accuracy: float = 0.0  #: on the test images, at the end
    growing: float = 0.0  #: seconds spent on growth
    points: list[tuple[float, float]] = field(default_factory=list)  #: seconds, test accuracy
    spectra: list[list[list[float]]] = field(default_factory=list)  #: by round and layer: mean lambda^2, largest lambda
    rounds: list[list[int]] = field(default_factory=list)  #: widths after each round


def start(widths: Sequence[int], seed: int, inputs: int = 784) -> nn.Sequential:
    """Return a network with SELU and normal Kaiming weights."""
    model = perceptron([inputs, *widths, 10], nn.SELU, seed)
    numbers = torch.Generator().manual_seed(seed)
    for layer in model:
        if isinstance(layer, nn.Linear):
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu", generator=numbers)
    return model


def run(
    model: nn.Sequential, data: Data, name: str, seed: int, *, seconds: float, rounds: int = 0, pause: float = 0.05
) -> Run:
    """Train a model by the clock, and grow it ``rounds`` times, ``pause`` seconds apart."""
    (x, y), (x_test, y_test) = data
    numbers = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=LR)
    results = Run(name, seed)
    began, aside, due, marks = time.perf_counter(), 0.0, pause, [mark for mark in MARKS if mark <= seconds]
    while (now := time.perf_counter() - began - aside) < seconds:
        if len(results.rounds) < rounds and now >= due:
            results.spectra.append(growth_round(model, data[0], numbers, optimizer))
            results.rounds.append(hidden(model))
            after = time.perf_counter() - began - aside
            results.growing, due = results.growing + after - now, after + pause
            continue
        part = torch.randint(len(x), (BATCH,), generator=numbers)
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x[part]), y[part]).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        results.steps += 1
        if marks and now >= marks[0]:
            since = time.perf_counter()
            results.points.append((marks.pop(0), accuracy(model, x_test, y_test)))
            aside += time.perf_counter() - since
    results.accuracy, results.widths = accuracy(model, x_test, y_test), hidden(model)
    return results


def hidden(model: nn.Sequential) -> list[int]:
    """Return widths of the hidden layers."""
    return [layer.out_features for layer in model if isinstance(layer, nn.Linear)][:-1]


def growth_round(
    model: nn.Sequential,
    data: tuple[Tensor, Tensor],
    numbers: torch.Generator,
    optimizer: torch.optim.Optimizer | None = None,
    *,
    like: Sequence[int] = (),
) -> list[list[float]]:
    """Grow every hidden layer once by TINY, and give the mean of lambda^2 and the largest lambda for each.

    With widths ``like`` by random units instead, as many as lead there.
    """
    collected: list[list[float]] = []
    for i in range(len(hidden(model))):
        place = places(model)[i]
        if like and like[i] <= place.width:
            continue
        size = sample_size(model, place)
        order = torch.randperm(len(data[0]), generator=numbers)[: 2 * size]
        use, hold = ((data[0][part], data[1][part]) for part in (order[:size], order[size:]))
        if like:
            proposal = _random(model, place, use, hold, like[i] - place.width, int(order[0]))
        else:
            proposal = tiny(
                model,
                place,
                [use],
                nn.functional.cross_entropy,
                validation=[hold],
                count=MOST,
                fallback=None,
                above_noise=False,
                ridge=0.0,
            )
            strengths = [float(item) for item in proposal.explanation.get("lambda", ())] or [0.0]
            collected.append([sum(item**2 for item in strengths) / len(strengths), max(strengths)])
        if proposal.count:
            apply(proposal, model, optimizer=optimizer)
    return collected


def _random(
    model: nn.Sequential,
    place: Place,
    batches: tuple[Tensor, Tensor],
    validation: tuple[Tensor, Tensor],
    count: int,
    seed: int,
) -> Proposal:
    """Return random units at the size, and the sign, that held-out samples want.

    With no weights out where they want none.
    """
    loss = nn.functional.cross_entropy
    drawn = random_units(model, place, [batches], loss, count=count, fan_out=1.0, seed=seed)
    sample = gather_sample(model, place, [batches], loss, [validation])
    alpha = torch.cat([drawn.fan_in.T, drawn.bias[None]])
    best = []
    for sign in (1.0, -1.0):
        omega = {path: sign * columns for path, columns in drawn.fan_out.items()}
        size = line_search(sample.route, sample.runs, NewUnits(alpha, omega, torch.ones(count), 0, "random"))
        best.append((size.after, sign if size.factor else 0.0, size.factor or 1.0))
    _, out, into = min(best)
    return drawn.scale(into, out)


def runs(seed: int, data: Data, seconds: float = 50.0) -> list[Run]:
    """Return the runs of one seed: Figures 5, 6 and 8 to 13; shorter ones where ``seconds`` is less than 50."""
    inputs, part = data[0][0].shape[1], seconds / 50
    collected = [
        run(
            start([1, 1], seed, inputs), data, f"grown, {pause:g} s apart", seed, seconds=seconds, rounds=8, pause=pause
        )
        for pause in PAUSES
    ]
    collected.append(run(start(collected[0].widths, seed, inputs), data, "fixed twin", seed, seconds=seconds))
    collected.append(run(start([1000, 1000], seed, inputs), data, "1000-1000", seed, seconds=seconds))
    more = run(start([1, 1], seed, inputs), data, "grown 15 times", seed, seconds=20 * part, rounds=15)
    return [*collected, more, *_beside_random(seed, data, 5 * part)]


def _beside_random(seed: int, data: Data, seconds: float) -> list[Run]:
    """Return Figure 13.

    One start, widened by TINY five times without training, and to the same widths by random units.
    """
    collected: list[Run] = []
    widths: list[list[int]] = []
    for name in ("optimal units", "random units"):
        model, numbers = start([1, 1], seed, data[0][0].shape[1]), torch.Generator().manual_seed(seed)
        for i in range(5):
            if name == "optimal units":
                growth_round(model, data[0], numbers)
                widths.append(hidden(model))
            elif widths[i] != hidden(model):
                growth_round(model, data[0], numbers, like=widths[i])
        at_once = accuracy(model, *data[1])
        collected.append(run(model, data, name, seed, seconds=seconds))
        collected[-1].points.insert(0, (0.0, at_once))
    return collected


def all_runs(seeds: int = 20, n_jobs: int = -1, seconds: float = 50.0) -> list[Run]:
    """Return the runs of many seeds on MNIST, each in a process of one thread."""
    from joblib import Parallel, delayed

    return [item for part in Parallel(n_jobs)(delayed(_one)(seed, seconds) for seed in range(seeds)) for item in part]


def _one(seed: int, seconds: float) -> list[Run]:
    torch.set_num_threads(1)
    return runs(seed, images(mnist, "cpu", flat=True), seconds)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run every experiment of every seed and keep the numbers as JSON."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--seconds", type=float, default=50.0, help="of the longest runs")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args(arguments)
    done = all_runs(options.seeds, options.jobs, options.seconds)
    with write_atomically(options.out) as path:
        path.write_text(json.dumps(round_numbers([asdict(item) for item in done])))


if __name__ == "__main__":
    main()
