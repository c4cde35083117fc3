"""Time one TINY growth step: against gromo (pip install gromo) where it is there, and against one forward and backward.

    OMP_NUM_THREADS=1 python bench/growth.py

Model [784, 200, 100, 10] (SELU) in float32, 10,000 samples in batches of 1,000 for the statistics, and 10,000 held-out
samples for a line search (gromo: over 10 sizes); both hidden layers are grown by at most 10 units. gromo sums in
float32; creases sums in float64, and confirms in float64 what it multiplied in float32. All are timed in turn, and the
shortest of several rounds counts, so that other work on the machine tells on all of them or on none.

Beside it stand what no method can go below: the solve on its own (float64, from the finished sums), and the matrix
product x' x of what enters the layer, as the machine does it in float32 and in float64.
"""

from __future__ import annotations

import argparse
import importlib.util
import time
from collections.abc import Callable
from itertools import pairwise

import torch
from torch import Tensor, nn

import creases
from creases.growth.methods import tiny
from creases.growth.methods.expressivity import optimal_units, statistics

WIDTHS = (784, 200, 100, 10)
loss = nn.CrossEntropyLoss()


def model() -> nn.Sequential:
    torch.manual_seed(0)
    layers = [layer for before, after in pairwise(WIDTHS) for layer in (nn.Linear(before, after), nn.SELU())]
    return nn.Sequential(*layers[:-1])


def sample(n: int, seed: int) -> tuple[Tensor, Tensor]:
    """Pictures with about as many dark pixels as MNIST's, and classes that depend on them."""
    numbers = torch.Generator().manual_seed(seed)
    x = torch.rand(n, WIDTHS[0], generator=numbers) * (torch.rand(n, WIDTHS[0], generator=numbers) < 0.2)
    teacher = torch.randn(WIDTHS[0], 10, generator=torch.Generator().manual_seed(7))
    return x, torch.tanh(x @ teacher).mul(x.sum(1, keepdim=True).sin()).argmax(1)


def batches(x: Tensor, y: Tensor, size: int = 1000) -> list[tuple[Tensor, Tensor]]:
    return list(zip(x.split(size), y.split(size), strict=True))


def shortest(rounds: int, runs: dict[str, Callable[[], object]]) -> dict[str, float]:
    """For each of several things to run its shortest time in seconds; they are run in turn."""
    seconds: dict[str, float] = {}
    for _ in range(rounds):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            seconds[name] = min(seconds.get(name, float("inf")), time.perf_counter() - start)
    return seconds


def forward_backward(net: nn.Module, data: list[tuple[Tensor, Tensor]]) -> None:
    for x, y in data:
        net.zero_grad()
        loss(net(x), y).backward()


def gromo_step(at: int, data: list[tuple[Tensor, Tensor]], held: tuple[Tensor, Tensor]) -> Callable[[], float]:
    """gromo's growth step behind hidden layer ``at``, as its tutorials do it: statistics, solve, search over 10 sizes.

    Without its best move (compute_delta), which creases does not take either.
    """
    from gromo.modules.linear_growing_module import LinearGrowingModule

    layers: list[LinearGrowingModule] = []
    for before, after in pairwise(WIDTHS):
        bend = nn.Identity() if after == WIDTHS[-1] else nn.SELU()
        previous = layers[-1] if layers else None
        layers.append(
            LinearGrowingModule(
                before, after, post_layer_function=bend, previous_module=previous, device=torch.device("cpu")
            )
        )
    net, target = nn.Sequential(*layers), layers[at]
    for mine, theirs in zip(model()[::2], layers, strict=True):
        theirs.layer.load_state_dict(mine.state_dict())

    def run() -> float:
        target.init_computation()
        for x, y in data:
            net.zero_grad()
            (loss(net(x), y) * len(x)).backward()
            target.update_computation()
        target.compute_optimal_updates(maximum_added_neurons=10, compute_delta=False)
        found = float("inf")
        with torch.no_grad():
            for size in torch.linspace(0, 1, 10).split(1):
                target.scaling_factor = size
                x, extension = held[0], None
                for layer in layers:
                    x, extension = layer.extended_forward(x, extension)
                found = min(found, float(loss(x, held[1])))
        target.reset_computation()
        target.delete_update()
        return found

    return run


def things(at: int, data: list[tuple[Tensor, Tensor]], held: tuple[Tensor, Tensor]) -> dict[str, Callable[[], object]]:
    """All that is timed at hidden layer ``at`` (from 0)."""
    net = model()
    place = creases.places(net)[at]
    sums = statistics(net, place, data, loss)
    with torch.no_grad():
        entering = net[: 2 * at](torch.cat([x for x, _ in data]))
    wide = entering.double()
    runs: dict[str, Callable[[], object]] = {
        "samples": lambda: forward_backward(net, data),
        "held-out": lambda: forward_backward(net, batches(*held)),
        "creases": lambda: tiny(net, place, data, loss, validation=held, tau=0, fallback=None, above_noise=False),
        "solve": lambda: optimal_units(sums, count=10),
        "float32": lambda: entering.T @ entering,
        "float64": lambda: wide.T @ wide,
    }
    if importlib.util.find_spec("gromo"):
        runs["gromo"] = gromo_step(at + 1, data, held)
    return runs


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--samples", type=int, default=10_000)
    arguments.add_argument("--held", type=int, default=10_000, help="held-out samples of the line search, for both")
    arguments.add_argument("--rounds", type=int, default=7)
    given = arguments.parse_args()
    data, held = batches(*sample(given.samples, 1)), sample(given.held, 2)
    for at, width in enumerate(WIDTHS[1:-1]):
        found = shortest(given.rounds, things(at, data, held))
        ours, solve, once = found["creases"], found["solve"], found["samples"]
        step, both = ours - solve, once + found["held-out"]
        print(f"hidden layer {at + 1} of {width} units: one growth step {ours:.3f} s, of which the solve {solve:.3f} s")
        print(f"  forward and backward over {given.samples} samples {once:.3f} s: the rest is {step / once:.2f} x that")
        print(f"  over these and the {given.held} held-out ones {both:.3f} s: the rest is {step / both:.2f} x that")
        print(f"  x' x of the inputs alone: float32 {found['float32']:.3f} s, float64 {found['float64']:.3f} s")
        if "gromo" in found:
            print(f"  gromo {found['gromo']:.3f} s: {found['gromo'] / ours:.2f} x the time of creases")


if __name__ == "__main__":
    main()
