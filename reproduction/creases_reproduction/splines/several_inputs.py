"""The lecture's slides on several inputs: Radon representations, and breakpoints along directions."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn

import creases
from creases._typing import Floats
from creases_reproduction.claim import Claim, Curve, Judgement, Numbers, Picture
from creases_reproduction.experiment import Scale
from creases_reproduction.splines import theory
from creases_reproduction.statistics import mean_interval

_COVARIANCE, _MEAN = np.array([[1.0, 0.3], [0.3, 0.8]]), np.array([0.3, -0.4])


def measure_radon(scale: Scale) -> Numbers:
    """Measure how well the coefficients rebuild Gaussians, with |theta| and with theta as printed; offsets at first."""
    x = np.random.default_rng(0).uniform(-2, 2, size=(60, 2))
    offsets = 8001 if scale == "full" else 2001
    errors = {}
    for name, covariance, mean in (("round", np.eye(2), np.zeros(2)), ("oblique", _COVARIANCE, _MEAN)):
        network = theory.ridge_network(_transform(covariance, mean), 2, n_directions=48, n_offsets=offsets)
        values = np.concatenate([network(part) for part in np.array_split(x, 6)])
        errors[name] = np.abs(values - _gaussian(covariance, mean, x)).max()
    rng, count = np.random.default_rng(1), 20_000
    off: dict[str, float] = {}
    for d in (1, 2, 5):
        drawn = rng.standard_normal(count) / np.linalg.norm(rng.standard_normal((count, d)), axis=1)
        off[str(d)] = _kolmogorov_distance(theory.offset_distribution(d).cdf(np.sort(drawn)))
    limit = 1.95 / count**0.5  # of the Kolmogorov distance, exceeded by chance once in a thousand
    return {"offsets": offsets, "errors": errors, "as printed": _as_printed(), "distribution": off, "limit": limit}


def _kolmogorov_distance(cdf: Floats) -> float:
    """Return the Kolmogorov distance of samples from a distribution, by its values at the sorted samples."""
    steps = np.arange(len(cdf) + 1) / len(cdf)
    return float(max((steps[1:] - cdf).max(), (cdf - steps[:-1]).max()))


def _as_printed() -> float:
    """Return the coefficient at 0 of a round Gaussian with theta for |theta|, over the right one: an odd integrand."""
    theta = np.linspace(-12, 12, 24_001)
    printed = np.trapezoid(theta * -(theta**2) * np.exp(-(theta**2) / 2), theta)
    return float(printed / np.trapezoid(np.abs(theta) * -(theta**2) * np.exp(-(theta**2) / 2), theta))


def _gaussian(covariance: Floats, mean: Floats, x: Floats) -> Floats:
    return np.asarray(np.exp(-0.5 * np.einsum("ni,ij,nj->n", x - mean, np.linalg.inv(covariance), x - mean)))


def _transform(covariance: Floats, mean: Floats) -> Callable[[Floats], Floats]:
    size = 2 * np.pi * np.sqrt(np.linalg.det(covariance))
    return lambda k: size * np.exp(-0.5 * np.einsum("ni,ij,nj->n", k, covariance, k) - 1j * k @ mean)


def judge_radon(numbers: Numbers) -> Judgement:
    """Judge whether the coefficients rebuild the function, as corrected."""
    errors, off = numbers["errors"], max(numbers["distribution"].values())
    words = (
        f"two inputs, 48 directions with {numbers['offsets']} units each: a round Gaussian is rebuilt to "
        f"{errors['round']:.1g}, an oblique one away from the origin to {errors['oblique']:.1g}; offsets of random "
        f"units are Student's t (Kolmogorov distance {off:.2g}, 0.1 % limit {numbers['limit']:.2g})"
    )
    if max(errors.values()) > 1e-4 or off > numbers["limit"]:
        return Judgement("disagrees", words)
    if abs(numbers["as printed"] - 1) < 1e-4:
        return Judgement("agrees", words)
    return Judgement(
        "disagrees",
        f"{words}. This takes |theta|^(D - 1); with theta^(D - 1) as printed the integrand is odd for an even D, and "
        f"the coefficient at 0 is {abs(numbers['as printed']):.1g} times the right one",
    )


STEPS = (0, 10, 30, 100, 300)
REACH = 2.0  # of the segments; images have lengths about 3


def measure_directions(scale: Scale) -> Numbers:
    """Measure breakpoints on segments from digits in random and in targeted adversarial directions, while training."""
    images, labels = load_digits(return_X_y=True)
    X, y = torch.from_numpy(images / 16).double(), torch.from_numpy(labels)
    seeds, rows = (6, 40) if scale == "full" else (1, 10)
    X, y = (X, y) if scale == "full" else (X[:400], y[:400])
    counts: dict[str, list[list[float]]] = {"random": [], "adversarial": []}
    for seed in range(seeds):
        for name, by_step in _count_while_training(X, y, seed, rows).items():
            counts[name].append(by_step)
    return {"seeds": seeds, "rows": rows, "steps": STEPS, **counts}


def _count_while_training(X: torch.Tensor, y: torch.Tensor, seed: int, rows: int) -> dict[str, list[float]]:
    draw = torch.Generator().manual_seed(seed)
    with torch.random.fork_rng():
        torch.default_generator.manual_seed(seed)
        model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)).double()
    order = torch.randperm(len(X), generator=draw)
    chosen, train = order[:rows], order[rows:]
    target = (y[chosen] + torch.randint(1, 10, (rows,), generator=draw)) % 10
    random = torch.randn(rows, 64, generator=draw, dtype=X.dtype)
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    found: dict[str, list[float]] = {"random": [], "adversarial": []}
    for before, after in pairwise([0, *STEPS]):
        for _ in range(after - before):
            optimizer.zero_grad()
            torch.autograd.backward(nn.functional.cross_entropy(model(X[train]), y[train]))
            optimizer.step()
        found["random"].append(_breakpoints(model, X[chosen], random))
        found["adversarial"].append(_breakpoints(model, X[chosen], _towards(model, X[chosen], y[chosen], target)))
    return found


def _towards(model: nn.Module, x: torch.Tensor, y: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Return the gradients of the target's output minus the class's own."""
    x = x.clone().requires_grad_()
    outputs: Any = model(x)
    rows = torch.arange(len(x))
    return torch.autograd.grad((outputs[rows, target] - outputs[rows, y]).sum(), x)[0]


def _breakpoints(model: nn.Module, x: torch.Tensor, directions: torch.Tensor) -> float:
    """Return the mean number of breakpoints on segments of length REACH."""
    net = creases.read(model)
    ends = x + REACH * directions / directions.norm(dim=1, keepdim=True)
    pairs = zip(x.numpy(), ends.numpy(), strict=True)
    return float(np.mean([len(creases.line(net, start, end).breakpoints) for start, end in pairs]))


def judge_directions(numbers: Numbers) -> Judgement:
    """Judge whether breakpoints along the two kinds of directions come to differ in training."""
    random, adversarial = (np.array(numbers[name]) for name in ("random", "adversarial"))
    ratio = adversarial / random
    first, last = ratio[:, 0], ratio[:, -1]
    words = (
        f"breakpoints on segments of length {REACH:g} from {numbers['rows']} digits, {numbers['seeds']} networks "
        f"64-64-64-10: random {random[:, 0].mean():.1f} at first and {random[:, -1].mean():.1f} after {STEPS[-1]} "
        f"steps, adversarial {adversarial[:, 0].mean():.1f} and {adversarial[:, -1].mean():.1f}; their ratio goes from "
        f"{first.mean():.2f} to {last.mean():.2f}"
    )
    low, high = mean_interval(last - first)
    moved = abs(float((last - first).mean())) > 0.1 and (low > 0 or high < 0)
    return Judgement("agrees" if moved else "disagrees", words)


def picture_directions(numbers: Numbers) -> Picture:
    """Draw breakpoints by steps."""
    curves = []
    for name in ("random", "adversarial"):
        values = np.array(numbers[name])
        each = [mean_interval(column) for column in values.T]
        low, high = [a for a, _ in each], [b for _, b in each]
        curves.append(Curve(name, list(numbers["steps"]), values.mean(0).tolist(), low, high))
    return Picture(curves=curves, x="steps", y="breakpoints on a segment")


CLAIMS = [
    Claim(
        "splines/radon",
        "Theorem 2, Corollaries 4 and 5 (D > 1)",
        "In several dimensions the density of units is an inverse dual Radon transform.",
        measure=measure_radon,
        judge=judge_radon,
        full="5 s",
        misprints=("splines/radon",),
    ),
    Claim(
        "splines/directions",
        "slide 'Random vs. Adversarial Directions'",
        "Breakpoints along random and along adversarial directions move differently in training.",
        printed="pictures",
        measure=measure_directions,
        judge=judge_directions,
        incomparable="The slide has a title and pictures, and no words on how they move",
        picture=picture_directions,
        full="a minute",
    ),
]
