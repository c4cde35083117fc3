"""Time one TINY growth step: against gromo (pip install gromo) where it is there, and against one forward and backward.

    OMP_NUM_THREADS=1 python bench/growth.py

Model [784, 200, 100, 10] (SELU) in float32, 10,000 samples in batches of 1,000, and 10,000 held-out samples for a line
search over 10 sizes or so; both hidden layers are grown by at most 10 units. gromo sums in float32, creases in float64.
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
from creases.grow.first_order.tiny import tiny

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


def best_of(times: int, run: Callable[[], object]) -> float:
    """The shortest of several runs, in seconds."""
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


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


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--samples", type=int, default=10_000)
    arguments.add_argument("--held", type=int, default=10_000, help="held-out samples of the line search, for both")
    arguments.add_argument("--times", type=int, default=3)
    given = arguments.parse_args()
    net, data, held = model(), batches(*sample(given.samples, 1)), sample(given.held, 2)
    once = best_of(given.times, lambda: forward_backward(net, data))
    print(f"forward and backward over {given.samples} samples: {once:.3f} s")
    places = creases.places(net)
    for number, place in enumerate(places):
        ours = best_of(given.times, lambda place=place: tiny(net, place, data, loss, heldout=held, tau=0))  # type: ignore[misc]
        line = f"place {place.name!r} ({place.width} units): creases {ours:.3f} s, {ours / once:.1f} x that"
        if importlib.util.find_spec("gromo"):
            theirs = best_of(given.times, gromo_step(number + 1, data, held))
            line += f"; gromo {theirs:.3f} s, {theirs / ours:.2f} x creases"
        print(line)


if __name__ == "__main__":
    main()
