"""The growth schedule of the TINY paper's experiments (section 4, appendix C): growth while the clock runs.

A network with two hidden layers of one unit and SELU (normal Kaiming weights) trains by Adam, step 1e-4, in batches of
100, and after every 0.05 seconds both hidden layers grow as printed (``tiny(..., as_printed=True)``), 8 times; then it
trains on. Every unit of Prop. 3.2 is added: the printed widths, [222, 71] after 8 growth steps, [929, 141] after 15 and
[110, 51] after 6, are those of one unit for every singular vector, with no threshold. The units and both factors come
from 100 samples at first, and after a layer's first growth step from 100 times the root of the larger of the widths
beside it (appendix C, whose arrow, read as a factor after every step, would take all images after two). Seconds are CPU
seconds of one thread; they count training and growth, not the measurements. All networks train for as many seconds, and
for as many steps.

    python -m creases_reproduction.tiny.growth_schedule --out tiny_schedule.json

needs the image files (see :func:`creases.problems.mnist`) and about 80 minutes of one core, divided among ``--jobs``
processes of one thread each. Images, large network, seconds and seeds are the source's (28 x 28 pixels, 1000-1000,
50 s, 20), but its seconds are of 7 cores; ``--fewer`` seeds are run by steps and for Figures 8 and 10 to 13.
``results/tiny_schedule.json`` has ``--seeds 3 --fewer 2 --seconds 20``, seven minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from functools import cache
from math import inf
from multiprocessing import get_context
from pathlib import Path

import torch
from torch import Tensor, nn

from creases._files import write_atomically
from creases.growth import Proposal, apply
from creases.growth.methods import random_units, tiny
from creases.growth.methods.expressivity import NewUnits, gather_sample, line_search, sample_size
from creases.network import Place, places
from creases.problems import mnist
from creases_reproduction.experiment import describe_machine, result_versions, round_numbers
from creases_reproduction.images import accuracy
from creases_reproduction.tiny.bottlenecks import Data, images, perceptron

LR, BATCH = 1e-4, 100
FIRST_SAMPLES = 100  #: of each layer at the first growth step
CHUNK = 2000  #: samples whose statistics are taken at once
SECONDS = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)  #: at which the test accuracy is taken
STEPS = (100, 200, 500, 1000, 2000, 5000, 10_000)  #: of Adam, at which it is taken too
MAX_STEPS = 1000  #: of the runs by steps
GROWN, TWIN, FIFTEEN = "grown, 0.05 s apart", "fixed twin", "grown 15 times"
LARGE, BY_STEPS = "large network", ", by steps"


@dataclass
class Run:
    """One training."""

    name: str
    seed: int
    widths: list[int] = field(default_factory=list)  #: at the end
    steps: int = 0  #: of Adam
    seconds: float = 0.0  #: of training and growth
    accuracy: float = 0.0  #: on the test images, at the end
    growing: float = 0.0  #: seconds spent on growth
    by_seconds: list[tuple[float, float]] = field(default_factory=list)  #: seconds, test accuracy
    by_steps: list[tuple[int, float]] = field(default_factory=list)  #: steps, test accuracy
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
    model: nn.Sequential,
    data: Data,
    name: str,
    seed: int,
    *,
    seconds: float = inf,
    steps: float = inf,
    rounds: int = 0,
    pause: float = 0.05,
) -> Run:
    """Train a model for some seconds or steps, and grow it ``rounds`` times, ``pause`` seconds apart."""
    (x, y), (x_test, y_test) = data
    numbers = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=LR)
    results, samples = Run(name, seed), first_samples(model)
    began, aside, due = time.process_time(), 0.0, pause
    marks, step_marks = [*SECONDS, inf] if seconds < inf else [inf], [*STEPS, inf]
    while (now := time.process_time() - began - aside) < seconds and results.steps < steps:
        if len(results.rounds) < rounds and now >= due:
            results.spectra.append(growth_round(model, data[0], numbers, samples, optimizer))
            samples = next_samples(model, len(x))
            results.rounds.append(hidden(model))
            after = time.process_time() - began - aside
            results.growing, due = results.growing + after - now, after + pause
            continue
        part = torch.randint(len(x), (BATCH,), generator=numbers).to(x.device)
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x[part]), y[part]).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        results.steps += 1
        results.seconds = time.process_time() - began - aside
        if results.seconds >= marks[0] or results.steps >= step_marks[0]:
            since = time.process_time()
            right = accuracy(model, x_test, y_test)
            while marks[0] <= results.seconds:
                results.by_seconds.append((marks.pop(0), right))
            if step_marks[0] <= results.steps:
                results.by_steps.append((int(step_marks.pop(0)), right))
            aside += time.process_time() - since
    results.accuracy, results.widths = accuracy(model, x_test, y_test), hidden(model)
    return results


def hidden(model: nn.Sequential) -> list[int]:
    """Return widths of the hidden layers."""
    return [layer.out_features for layer in model if isinstance(layer, nn.Linear)][:-1]


def first_samples(model: nn.Sequential) -> list[int]:
    """Return how many samples each hidden layer's first growth step takes."""
    return [FIRST_SAMPLES] * len(hidden(model))


def next_samples(model: nn.Sequential, available: int) -> list[int]:
    """Return how many samples a later growth step takes, by layer; at most those that there are.

    100 sqrt(max(n_{l-1}, n_{l+1})), of the widths before and after the layer (appendix C).
    """
    return [min(sample_size(model, place), available) for place in places(model)]


def growth_round(
    model: nn.Sequential,
    data: tuple[Tensor, Tensor],
    numbers: torch.Generator,
    samples: Sequence[int],
    optimizer: torch.optim.Optimizer | None = None,
    *,
    like: Sequence[int] = (),
) -> list[list[float]]:
    """Grow every hidden layer once by the printed rule; return the mean of lambda^2 and the largest lambda for each.

    By so many ``samples`` for each layer. With widths ``like`` by random units instead, as many as lead there.
    """
    collected: list[list[float]] = []
    for i in range(len(hidden(model))):
        place = places(model)[i]
        if like and like[i] <= place.width:
            continue
        order = torch.randperm(len(data[0]), generator=numbers)[: samples[i]]
        use = _batches(data, order)
        if like:
            proposal = _random(model, place, use, like[i] - place.width, int(order[0]))
        else:
            proposal = tiny(model, place, use, nn.functional.cross_entropy, as_printed=True)
            strengths = [float(item) for item in proposal.explanation.get("lambda", ())] or [0.0]
            collected.append([sum(item**2 for item in strengths) / len(strengths), max(strengths)])
        if proposal.count:
            apply(proposal, model, optimizer=optimizer)
    return collected


def _batches(data: tuple[Tensor, Tensor], rows: Tensor) -> list[tuple[Tensor, Tensor]]:
    """Return samples in batches of ``CHUNK``."""
    return [(data[0][part], data[1][part]) for part in torch.split(rows, CHUNK)]


def _random(
    model: nn.Sequential,
    place: Place,
    batches: list[tuple[Tensor, Tensor]],
    count: int,
    seed: int,
) -> Proposal:
    """Return random units at the size, and the sign, that lower the loss on the samples most.

    With no weights out where none does.
    """
    loss = nn.functional.cross_entropy
    drawn = random_units(model, place, batches, loss, count=count, fan_out=1.0, seed=seed)
    sample = gather_sample(model, place, batches, loss, None, hold_out=False)
    alpha = torch.cat([drawn.fan_in.T, drawn.bias[None]])
    best = []
    for sign in (1.0, -1.0):
        omega = {path: sign * columns for path, columns in drawn.fan_out.items()}
        size = line_search(sample.route, sample.runs, NewUnits(alpha, omega, torch.ones(count), 0))
        best.append((size.after, sign if size.factor else 0.0, size.factor or 1.0))
    _, out, into = min(best)
    return drawn.scale(into, out)


@dataclass(frozen=True, eq=False)
class Setup:
    """What all runs share."""

    data: Data
    seconds: float  #: of the runs of Figures 5 and 6
    wide: int  #: units in each layer of the large network

    def start(self, widths: Sequence[int], seed: int) -> nn.Sequential:
        """Return a network for the data."""
        return start(widths, seed, self.data[0][0].shape[1])


def runs(seed: int, setup: Setup) -> list[Run]:
    """Return all runs of one seed: Figures 5, 6, 8 and 10 to 13."""
    return [item for run_group in GROUPS.values() for item in run_group(seed, setup)]


def _grown_and_twin(seed: int, setup: Setup) -> list[Run]:
    """Return Figure 6: a network grown from [1, 1], and a fixed one of the widths at which it ends."""
    grown = run(setup.start([1, 1], seed), setup.data, GROWN, seed, seconds=setup.seconds, rounds=8)
    return [grown, run(setup.start(grown.widths, seed), setup.data, TWIN, seed, seconds=setup.seconds)]


def _large(seed: int, setup: Setup) -> list[Run]:
    """Return the large network of Figure 5, for as many seconds."""
    model = setup.start([setup.wide, setup.wide], seed)
    return [run(model, setup.data, LARGE, seed, seconds=setup.seconds)]


def _by_steps(seed: int, setup: Setup) -> list[Run]:
    """Return the networks of Figures 5 and 6 for as many steps each."""
    data, steps = setup.data, MAX_STEPS
    grown = run(setup.start([1, 1], seed), data, GROWN + BY_STEPS, seed, steps=steps, rounds=8)
    twin = run(setup.start(grown.widths, seed), data, TWIN + BY_STEPS, seed, steps=steps)
    large = run(setup.start([setup.wide, setup.wide], seed), data, LARGE + BY_STEPS, seed, steps=steps)
    return [grown, twin, large]


def _pause(seed: int, setup: Setup) -> list[Run]:
    """Return Figure 8: more training between growth steps."""
    name, pause = "grown, with longer pauses", setup.seconds / 24
    return [run(setup.start([1, 1], seed), setup.data, name, seed, seconds=setup.seconds, rounds=8, pause=pause)]


def _fifteen(seed: int, setup: Setup) -> list[Run]:
    """Return Figures 10 to 12: 15 growth steps, for twice as many seconds."""
    return [run(setup.start([1, 1], seed), setup.data, FIFTEEN, seed, seconds=2 * setup.seconds, rounds=15)]


def _beside_random(seed: int, setup: Setup) -> list[Run]:
    """Return Figure 13.

    One start, widened by TINY six times without training, and to the same widths by random units.
    """
    collected: list[Run] = []
    widths: list[list[int]] = []
    for name in ("optimal units", "random units"):
        model, numbers = setup.start([1, 1], seed), torch.Generator().manual_seed(seed)
        samples = first_samples(model)
        for i in range(6):
            if name == "optimal units":
                growth_round(model, setup.data[0], numbers, samples)
                widths.append(hidden(model))
            elif widths[i] != hidden(model):
                growth_round(model, setup.data[0], numbers, samples, like=widths[i])
            samples = next_samples(model, len(setup.data[0][0]))
        at_once = accuracy(model, *setup.data[1])
        collected.append(run(model, setup.data, name, seed, seconds=setup.seconds / 4))
        collected[-1].by_seconds.insert(0, (0.0, at_once))
    return collected


#: The runs of one seed, longest first: each is a function of seed and set-up.
GROUPS = {
    "fifteen": _fifteen,
    "grown": _grown_and_twin,
    "by steps": _by_steps,
    "large": _large,
    "pause": _pause,
    "random": _beside_random,
}

#: Groups that are run for fewer seeds.
FEWER = ("fifteen", "by steps", "pause", "random")


@dataclass(frozen=True)
class Size:
    """How large the experiment is."""

    seeds: int = 20
    fewer: int = 3  #: seeds of the groups in ``FEWER``
    pixels: int = 28  #: of a side of an image
    wide: int = 1000  #: units in each layer of the large network
    seconds: float = 50.0  #: of the runs of Figures 5 and 6

    def parts(self) -> list[tuple[str, int]]:
        """Return group and seed of every part of the experiment, longest first."""
        return [(group, seed) for group in GROUPS for seed in range(self.fewer if group in FEWER else self.seeds)]


@dataclass(frozen=True)
class Part:
    """The runs of one group and one seed."""

    group: str
    seed: int
    runs: list[Run]
    cpu_seconds: float  #: with the measurements


def run_part(group: str, seed: int, size: Size) -> Part:
    """Do the runs of one group and one seed on MNIST, in one thread."""
    setup = _cached_setup(size.pixels, size.wide, size.seconds)
    began, threads = time.process_time(), torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return Part(group, seed, GROUPS[group](seed, setup), time.process_time() - began)
    finally:
        torch.set_num_threads(threads)


def all_parts(size: Size, n_jobs: int | None = None) -> Iterator[Part]:
    """Yield the parts of the experiment as they end, from ``n_jobs`` processes (None: as many as cores)."""
    with ProcessPoolExecutor(n_jobs or os.cpu_count(), mp_context=get_context("spawn")) as pool:
        for future in as_completed([pool.submit(run_part, *part, size) for part in size.parts()]):
            yield future.result()


def mnist_setup(pixels: int, wide: int, seconds: float) -> Setup:
    """Return MNIST at 28 x 28 pixels, or at 14 x 14, each the mean of four."""
    train, test = images(mnist, "cpu", flat=False)
    return Setup((_shrink(*train, pixels), _shrink(*test, pixels)), seconds, wide)


#: So that a process reads the images once.
_cached_setup = cache(mnist_setup)


def _shrink(x: Tensor, y: Tensor, pixels: int) -> tuple[Tensor, Tensor]:
    rows = x.reshape(len(x), 1, 28, 28)
    return nn.functional.avg_pool2d(rows, 28 // pixels).flatten(1), y


def main(arguments: Sequence[str] | None = None) -> None:
    """Run every experiment of every seed and keep the numbers as JSON, with how they were made."""
    size = Size()
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--seeds", type=int, default=size.seeds)
    parser.add_argument("--fewer", type=int, default=size.fewer, help="seeds by steps and of Figures 8 and 10 to 13")
    parser.add_argument("--pixels", type=int, choices=(14, 28), default=size.pixels, help="of a side of an image")
    parser.add_argument("--wide", type=int, default=size.wide, help="units in each layer of the large network")
    parser.add_argument("--seconds", type=float, default=size.seconds, help="of the runs of Figures 5 and 6")
    parser.add_argument("--jobs", type=int, help="processes; default: as many as cores")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args(arguments)
    size = Size(options.seeds, options.fewer, options.pixels, options.wide, options.seconds)
    flags = " ".join(f"--{name} {value:g}" for name, value in asdict(size).items())
    command = f"python -m creases_reproduction.tiny.growth_schedule {flags} --out {options.out.name}"
    about = {"command": command, "device": describe_machine(), **result_versions()}
    done: list[Part] = []
    for part in all_parts(size, options.jobs):
        done.append(part)
        about["cpu_seconds"] = f"{sum(item.cpu_seconds for item in done):.0f}"
        ordered = sorted(done, key=lambda item: (item.seed, list(GROUPS).index(item.group)))
        numbers = [round_numbers(asdict(run)) for item in ordered for run in item.runs]
        with write_atomically(options.out) as path:
            path.write_text(json.dumps({"about": about, "size": asdict(size), "runs": numbers}))


if __name__ == "__main__":
    main()
