"""The growth schedule of the TINY paper's experiments (section 4, appendix C): growth while the clock runs.

A network with two hidden layers of one unit and SELU (normal Kaiming weights) trains by Adam, step 1e-4, in batches of
100, and after every 0.05 seconds both hidden layers grow by the printed rule, 8 times; then it trains on. The rule: dW*
(Prop. 3.1) times gamma_0 (eq. 6), and all units of Prop. 3.2 above the threshold, incoming weights times gamma,
outgoing ones of length 1 (eq. 7). The units come from ``sample_size`` samples, the factors from as many others: the
source does not say whether from the same ones, to which both factors overfit. Seconds are CPU seconds of one thread;
they count training and growth, not the measurements. All networks train for as many seconds, and for as many steps.

    python -m creases_reproduction.tiny.growth_schedule --seeds 10 --out tiny_schedule.json

needs the image files (see :func:`creases.problems.mnist`); it gives what ``results/tiny_schedule.json`` has: MNIST at
14 x 14 pixels, 500 units in each layer of the large network, 2 seconds, and fewer seeds (``FEWER``) of some runs. The
source has 28 x 28, 1000, 50 seconds of 7 cores and 20 seeds: ``--pixels 28 --wide 1000 --seconds 50 --seeds 20``.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from math import inf
from pathlib import Path

import torch
from torch import Tensor, nn

from creases._files import write_atomically
from creases.growth import Proposal, apply
from creases.growth.methods import random_units, tiny
from creases.growth.methods.expressivity import NewUnits, gather_sample, line_search, sample_size
from creases.network.surgery import Place, places
from creases.problems import mnist
from creases_reproduction.experiment import describe_machine, result_versions, round_numbers
from creases_reproduction.images import accuracy
from creases_reproduction.tiny.bottlenecks import Data, images, perceptron

LR, BATCH, MOST = 1e-4, 100, 1000
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
    results = Run(name, seed)
    began, aside, due = time.process_time(), 0.0, pause
    marks, step_marks = [*SECONDS, inf] if seconds < inf else [inf], [*STEPS, inf]
    while (now := time.process_time() - began - aside) < seconds and results.steps < steps:
        if len(results.rounds) < rounds and now >= due:
            results.spectra.append(growth_round(model, data[0], numbers, optimizer))
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


def growth_round(
    model: nn.Sequential,
    data: tuple[Tensor, Tensor],
    numbers: torch.Generator,
    optimizer: torch.optim.Optimizer | None = None,
    *,
    like: Sequence[int] = (),
) -> list[list[float]]:
    """Grow every hidden layer once by the printed rule; return the mean of lambda^2 and the largest lambda for each.

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
                move=True,
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

    One start, widened by TINY five times without training, and to the same widths by random units.
    """
    collected: list[Run] = []
    widths: list[list[int]] = []
    for name in ("optimal units", "random units"):
        model, numbers = setup.start([1, 1], seed), torch.Generator().manual_seed(seed)
        for i in range(5):
            if name == "optimal units":
                growth_round(model, setup.data[0], numbers)
                widths.append(hidden(model))
            elif widths[i] != hidden(model):
                growth_round(model, setup.data[0], numbers, like=widths[i])
        at_once = accuracy(model, *setup.data[1])
        collected.append(run(model, setup.data, name, seed, seconds=setup.seconds / 4))
        collected[-1].by_seconds.insert(0, (0.0, at_once))
    return collected


#: The runs of one seed: each is a function of seed and set-up.
GROUPS = {
    "grown": _grown_and_twin,
    "large": _large,
    "by steps": _by_steps,
    "fifteen": _fifteen,
    "random": _beside_random,
    "pause": _pause,
}

#: Seeds of the runs that are done for fewer of them.
FEWER = {"by steps": 3, "fifteen": 2, "random": 2, "pause": 2}


def all_runs(seeds: int = 10, setup: Setup | None = None) -> Iterator[Run]:
    """Yield the runs of many seeds, one after the other, on MNIST unless given another set-up."""
    setup = mnist_setup() if setup is None else setup
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        for seed in range(seeds):
            for group, run_group in GROUPS.items():
                if seed < FEWER.get(group, seeds):
                    yield from run_group(seed, setup)
    finally:
        torch.set_num_threads(threads)


def mnist_setup(pixels: int = 14, wide: int = 500, seconds: float = 2.0) -> Setup:
    """Return MNIST at 28 x 28 pixels, or at 14 x 14, each the mean of four."""
    train, test = images(mnist, "cpu", flat=False)
    return Setup((_shrink(*train, pixels), _shrink(*test, pixels)), seconds, wide)


def _shrink(x: Tensor, y: Tensor, pixels: int) -> tuple[Tensor, Tensor]:
    rows = x.reshape(len(x), 1, 28, 28)
    return nn.functional.avg_pool2d(rows, 28 // pixels).flatten(1), y


def main(arguments: Sequence[str] | None = None) -> None:
    """Run every experiment of every seed and keep the numbers as JSON, with how they were made."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--pixels", type=int, choices=(14, 28), default=14, help="of a side of an image")
    parser.add_argument("--wide", type=int, default=500, help="units in each layer of the large network")
    parser.add_argument("--seconds", type=float, default=2.0, help="of the runs of Figures 5 and 6")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args(arguments)
    flags = f"--seeds {options.seeds} --pixels {options.pixels} --wide {options.wide} --seconds {options.seconds:g}"
    command = f"python -m creases_reproduction.tiny.growth_schedule {flags} --out {options.out.name}"
    about = {"command": command, "device": describe_machine()}
    began, done = time.process_time(), []
    for item in all_runs(options.seeds, mnist_setup(options.pixels, options.wide, options.seconds)):
        done.append(round_numbers(asdict(item)))
        about |= {"cpu_seconds": f"{time.process_time() - began:.0f}", **result_versions()}
        with write_atomically(options.out) as path:
            path.write_text(json.dumps({"about": about, "runs": done}))


if __name__ == "__main__":
    main()
