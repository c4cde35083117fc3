"""Generative adversarial networks on a mixture of 25 Gaussians, many seeds at once.

Both networks have one hidden layer; a leading axis holds the seeds. The loss is that of the original minimax game.
``stored_table("gans")`` holds ten seeds of every rule and two spreads of the generator's inputs, 440 seconds each, by::

    python -m creases_reproduction.splines.gan_training --seeds 10 --seconds 440 --device cuda --out gans.csv
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from time import perf_counter

import pandas as pd
import torch
from torch import Tensor
from torch.nn.functional import softplus

from creases_reproduction.experiment import ResultTable, result_versions, write_table

WIDTH, BATCH, LR, DATA_SPREAD, DAMPING = 128, 128, 1e-3, 0.1, 1.0
SIDE = 5  # modes along each axis, at -2, -1, 0, 1, 2
LATENTS = (0.1, 1.0)  # standard deviations of the generator's inputs: the lecture's, and one for comparison
POINTS = (1000, 2000, 4000, 8000, 16000, 32000, 64000, 128000, 256000, 400000)

Parameters = list[Tensor]


@dataclass(frozen=True)
class Rule:
    """How generator and discriminator move."""

    name: str
    ridge: bool = False  #: Follow-the-Ridge: the discriminator also follows what the generator's step does to it
    decay: float | None = None  #: of RMSprop's second moments; None for plain gradient steps


RULES = {
    "simgd sgd": Rule("simgd sgd"),
    "fr sgd": Rule("fr sgd", ridge=True),
    "simgd rmsprop": Rule("simgd rmsprop", decay=0.999),
    "fr rmsprop": Rule("fr rmsprop", ridge=True, decay=0.999),
}


def train(
    rule: Rule,
    seeds: int,
    points: Sequence[int],
    *,
    latent: float,
    device: str = "cpu",
    out_of_time: Callable[[], bool] = lambda: False,
) -> list[tuple[int, list[int], list[float]]]:
    """Train so many pairs of networks, and look at them after each number of steps in ``points``.

    Returns by point the steps, the modes that each seed covers, and the fraction of its samples at a mode. ``latent``
    is the standard deviation of the generator's two inputs.
    """
    draw = torch.Generator(device).manual_seed(0)
    G, D = _initial(seeds, 2, draw, device), _initial(seeds, 1, draw, device)
    moments = [torch.zeros_like(p) for p in (*G, *D)]
    found: list[tuple[int, list[int], list[float]]] = []
    step = 0
    for point in points:
        while step < point and not out_of_time():
            _step(rule, G, D, moments, *_batch(seeds, latent, draw, device))
            step += 1
        found.append((step, *covered_modes(_network(G, latent * _normal((seeds, 2500, 2), draw)))))
        if step < point:
            break
    return found


def covered_modes(samples: Tensor) -> tuple[list[int], list[float]]:
    """Return by seed how many modes have at least 20 of the samples (s, n, 2) within 3 deviations, and the share."""
    half = SIDE // 2
    nearest = samples.round().clamp(-half, half)
    at_mode = (samples - nearest).norm(dim=2) < 3 * DATA_SPREAD
    index = ((nearest[..., 0] + half) * SIDE + nearest[..., 1] + half).long()
    counts = torch.zeros(len(samples), SIDE**2, device=samples.device)
    counts.scatter_add_(1, index, at_mode.to(counts.dtype))
    return (counts >= 20).sum(1).tolist(), at_mode.double().mean(1).tolist()


def _initial(seeds: int, outputs: int, draw: torch.Generator, device: str) -> Parameters:
    """Return weights and biases of 2 - 128 - outputs, uniform as in torch's layers."""
    shapes = [((2, WIDTH), 2), ((1, WIDTH), 2), ((WIDTH, outputs), WIDTH), ((1, outputs), WIDTH)]
    uniform = [torch.rand(seeds, *shape, generator=draw, device=device) * 2 - 1 for shape, _ in shapes]
    return [(p / fan**0.5).requires_grad_() for p, (_, fan) in zip(uniform, shapes, strict=True)]


def _network(p: Parameters, x: Tensor) -> Tensor:
    return torch.baddbmm(p[3], torch.baddbmm(p[1], x, p[0]).relu(), p[2])


def _normal(shape: tuple[int, ...], draw: torch.Generator) -> Tensor:
    return torch.randn(shape, generator=draw, device=draw.device)


def _batch(seeds: int, latent: float, draw: torch.Generator, device: str) -> tuple[Tensor, Tensor]:
    """Return data (seeds, batch, 2) and the generator's inputs."""
    modes = torch.randint(SIDE, (seeds, BATCH, 2), generator=draw, device=device) - SIDE // 2
    return modes + DATA_SPREAD * _normal((seeds, BATCH, 2), draw), latent * _normal((seeds, BATCH, 2), draw)


def _step(rule: Rule, G: Parameters, D: Parameters, moments: Parameters, data: Tensor, z: Tensor) -> None:
    """Move both at the same time: the discriminator down its loss, the generator up."""
    real, fake = _network(D, data), _network(D, _network(G, z))
    loss = (softplus(-real) + softplus(fake)).mean((1, 2)).sum()
    slopes = torch.autograd.grad(loss, [*G, *D], create_graph=rule.ridge)
    moves = [slope.detach() for slope in slopes]
    if rule.decay is not None:
        for moment, move in zip(moments, moves, strict=True):
            moment.mul_(rule.decay).addcmul_(move, move, value=1 - rule.decay)
        moves = [move / (moment.sqrt() + 1e-8) for move, moment in zip(moves, moments, strict=True)]
    up, down = [LR * move for move in moves[: len(G)]], [-LR * move for move in moves[len(G) :]]
    if rule.ridge:
        down = [a + b for a, b in zip(down, _ridge(slopes[len(G) :], G, D, up), strict=True)]
    with torch.no_grad():
        for p, move in zip((*G, *D), (*up, *down), strict=True):
            p += move


def _ridge(slopes: Sequence[Tensor], G: Parameters, D: Parameters, up: Parameters) -> Parameters:
    """Return -H_DD^-1 H_DG (step of G), damped: (H^2 + damping) u = -H H_DG (step of G), by conjugate gradients.

    H_DG times the step is the derivative of the discriminator's slopes along the generator's step: the gradient of the
    product of slopes and weights w, of which it is linear, along the step (two reverse passes).
    """
    w = [torch.zeros_like(slope, requires_grad=True) for slope in slopes]
    mixed = torch.autograd.grad(slopes, G, w, create_graph=True)
    b = torch.autograd.grad(mixed, w, up, retain_graph=True)

    def hessian(v: Sequence[Tensor]) -> tuple[Tensor, ...]:
        return torch.autograd.grad(slopes, D, v, retain_graph=True)

    u = [torch.zeros_like(p) for p in D]
    r = [-part for part in hessian(b)]
    p, size = [part.clone() for part in r], _dots(r, r)
    for _ in range(5):
        image = [a + DAMPING * c for a, c in zip(hessian(hessian(p)), p, strict=True)]
        rate = size / (_dots(p, image) + 1e-30)
        u = [a + rate * c for a, c in zip(u, p, strict=True)]
        r = [a - rate * c for a, c in zip(r, image, strict=True)]
        old, size = size, _dots(r, r)
        p = [a + size / (old + 1e-30) * c for a, c in zip(r, p, strict=True)]
    return u


def _dots(a: Sequence[Tensor], b: Sequence[Tensor]) -> Tensor:
    """Return the inner product of each seed, (seeds, 1, 1)."""
    products = [(x * y).sum((1, 2)) for x, y in zip(a, b, strict=True)]
    return torch.stack(products).sum(0)[:, None, None]


def coverage_table(
    seeds: int, points: Sequence[int], *, seconds: float = inf, device: str = "cpu", rules: Sequence[str] = tuple(RULES)
) -> pd.DataFrame:
    """Return modes and shares at modes by rule, spread of the generator's inputs, seed and steps.

    ``seconds`` limits each rule and spread.
    """
    rows = []
    for name in rules:
        for latent in LATENTS:
            end = perf_counter() + seconds

            def out_of_time(end: float = end) -> bool:
                return perf_counter() > end

            found = train(RULES[name], seeds, points, latent=latent, device=device, out_of_time=out_of_time)
            for steps, modes, shares in found:
                each = enumerate(zip(modes, shares, strict=True))
                rows += [(name, latent, seed, steps, mode, share) for seed, (mode, share) in each]
    return pd.DataFrame(rows, columns=["rule", "latent", "seed", "steps", "modes", "share"])


def main() -> None:
    """Train by every rule, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=440, help="of each rule and spread")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path, default=Path("gans.csv"))
    options = parser.parse_args()
    start = perf_counter()
    table = coverage_table(options.seeds, POINTS, seconds=options.seconds, device=options.device)
    flags = f"--seeds {options.seeds} --seconds {options.seconds:g} --device {options.device} --out {options.out.name}"
    about = {"command": f"python -m creases_reproduction.splines.gan_training {flags}", "device": options.device}
    about |= {"cpu_seconds": f"{perf_counter() - start:.0f}", **result_versions()}
    write_table(ResultTable(table, about), options.out)


if __name__ == "__main__":
    main()
