"""Two inputs with a gap in the data: how networks bridge it in the kernel and the rich regime.

    python -m creases_reproduction.splines.data_gap --out data_gap.json

The lecture has a slide of that title with a picture and no words, which claims nothing. What is measured is what it
says for one input: in a gap the learned delta-slopes are affine in the crease, so that the kernel regime ends at a
smooth fit, and the rich one nearer to straight lines. ``results/data_gap.json`` has the numbers.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from creases._files import write_atomically
from creases._typing import Floats
from creases.splines import Hyperplanes
from creases_reproduction.claim import Claim, Numbers
from creases_reproduction.experiment import Scale, describe_run
from creases_reproduction.splines.networks import by_scale
from creases_reproduction.splines.spreads import Spread, summarize_spread

GAP = 0.5  # half the width of the strip without data

#: Size of incoming weights over that of outgoing ones, as in the claim on one input.
ALPHAS = (10.0, 1.0, 0.3, 0.1)


def data() -> tuple[Floats, Floats]:
    """Return a grid of points (n, 2) in the square, but for the strip, and the target's values there."""
    side = np.linspace(-1, 1, 6)
    X = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    X = X[np.abs(X[:, 0]) > GAP]
    return X, np.sin(np.pi * X[:, 0]) + 0.5 * X[:, 1]


def draw_creases(rng: np.random.Generator, offsets: int) -> tuple[Floats, Floats]:
    """Return unit normals (H, 2) in equally spaced directions and offsets (H,) near equally spaced ones."""
    angle = np.pi * (np.arange(2 * offsets) + 0.5) / offsets
    xi = np.repeat(np.stack([np.cos(angle), np.sin(angle)], axis=1), offsets, axis=0)
    spaced = 1.4 * (2 * (np.arange(offsets) + 0.5) / offsets - 1)
    return xi, np.tile(spaced, 2 * offsets) + rng.uniform(-1.4, 1.4, len(xi)) / offsets


def least_norm_fit(xi: Floats, gamma: Floats) -> Hyperplanes:
    """Return the fit of least norm on given creases: where gradient descent on delta-slopes from 0 ends."""
    X, y = data()
    mu: Floats = np.linalg.lstsq(np.maximum(X @ xi.T - gamma, 0), y, rcond=None)[0].astype(np.float64)
    return Hyperplanes(0.0, np.zeros(2), xi, gamma, mu)


def train(xi: Floats, gamma: Floats, alpha: float, rng: np.random.Generator, steps: int) -> Hyperplanes:
    """Return a network trained by gradient descent on all weights, from creases that are each there twice.

    With opposite outgoing weights, so that it is 0 at first; ``|w| = alpha`` and ``|v| = 1 / (alpha sqrt(H))``.
    """
    X, y = data()
    X1, count = np.column_stack([X, np.ones(len(X))]), len(xi)
    P = alpha * np.tile(np.column_stack([xi, -gamma]), (2, 1))  # (2 H, 3) incoming weights and biases
    v = rng.choice([-1.0, 1.0], count) / (alpha * np.sqrt(count))
    v = np.concatenate([v, -v])
    F = np.maximum(X1 @ P.T, 0)  # (n, 2 H)
    kernel = F @ F.T + (X1 @ X1.T) * (((F > 0) * v**2) @ (F > 0).T)
    rate = 0.9 / np.linalg.eigvalsh(kernel)[-1]
    for _ in range(steps):
        F = np.maximum(X1 @ P.T, 0)
        residual = F @ v - y
        slopes = (F > 0) * residual[:, None] * v
        v = v - rate * (F.T @ residual)
        P = P - rate * (slopes.T @ X1)
    length = np.linalg.norm(P[:, :2], axis=1)
    return Hyperplanes(0.0, np.zeros(2), P[:, :2] / length[:, None], -P[:, 2] / length, length * v)


def affine_deviation(fit: Hyperplanes) -> tuple[float, int]:
    """Return how far delta-slopes are from affine in (xi, gamma) among units that are active on the same data.

    And how many units have more than three others of their kind, as a plane needs to be checked.
    """
    X, _ = data()
    _, group = np.unique(fit.gamma < X @ fit.xi.T, axis=1, return_inverse=True)
    group, worst, checked = group.reshape(-1), 0.0, 0
    for one in np.unique(group):
        rows = np.flatnonzero(group == one)
        if len(rows) < 5:
            continue
        creases = np.column_stack([fit.xi[rows], fit.gamma[rows]])
        affine = creases @ np.linalg.lstsq(creases, fit.mu[rows], rcond=None)[0]
        worst, checked = max(worst, float(np.abs(affine - fit.mu[rows]).max())), checked + len(rows)
    return worst / float(np.abs(fit.mu).max()), checked


def gap_points(count: int = 21) -> Floats:
    """Return points (rows, columns, 2) of the strip: rows across it."""
    return np.stack(np.meshgrid(np.linspace(-GAP, GAP, count), np.linspace(-1, 1, count)), axis=-1)


def gap_distances(network: Hyperplanes, fit: Hyperplanes) -> tuple[float, float]:
    """Return RMS distances in the gap: to the fit of least norm, and to straight lines across from edge to edge."""
    points = gap_points()
    values, smooth = (f(points.reshape(-1, 2)).reshape(points.shape[:2]) for f in (network, fit))
    share = np.linspace(0, 1, points.shape[1])
    straight = values[:, :1] * (1 - share) + values[:, -1:] * share
    to_smooth, to_straight = (float(np.sqrt(((values - other) ** 2).mean())) for other in (smooth, straight))
    return to_smooth, to_straight


def measure_gap(scale: Scale) -> Numbers:
    """Measure how networks bridge the gap, by alpha; means over seeds."""
    seeds, offsets, steps = by_scale(scale, 1, 5), by_scale(scale, 12, 20), by_scale(scale, 8000, 15_000)
    alphas = ALPHAS if scale == "full" else (ALPHAS[0], ALPHAS[-1])
    rows: dict[float, list[tuple[float, float]]] = {alpha: [] for alpha in alphas}
    worst, checked = 0.0, 0
    for seed in range(seeds):
        xi, gamma = draw_creases(np.random.default_rng(seed), offsets)
        fit = least_norm_fit(xi, gamma)
        off, units = affine_deviation(fit)
        worst, checked = max(worst, off), checked + units
        for alpha in alphas:
            rows[alpha].append(gap_distances(train(xi, gamma, alpha, np.random.default_rng(seed), steps), fit))
    return {
        "seeds": seeds,
        "units": len(xi),
        "affine": {"deviation": worst, "units": checked},
        "alphas": {str(alpha): _spreads(pairs) for alpha, pairs in rows.items()},
    }


def _spreads(pairs: list[tuple[float, float]]) -> dict[str, Any]:
    smooth, straight = zip(*pairs, strict=True)
    return {
        "least norm": summarize_spread(Spread.from_values(smooth)),
        "straight": summarize_spread(Spread.from_values(straight)),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure at full scale and keep the numbers as JSON, with how they were made."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--scale", choices=("quick", "full"), default="full")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args(arguments)
    began = perf_counter()
    numbers = measure_gap(options.scale)
    command = f"python -m creases_reproduction.splines.data_gap --scale {options.scale} --out {options.out.name}"
    about = describe_run(command, perf_counter() - began)
    with write_atomically(options.out) as path:
        path.write_text(json.dumps({"about": about, "numbers": numbers}))


CLAIMS = [
    Claim(
        "splines/data-gap",
        "slide '2-Dimensional Inputs with Data Gap'",
        "A picture of two inputs with a gap in the data.",
        cannot=(
            "a picture without words: it claims no number and no fact (what networks do in such a gap is on the "
            "page of "
            "open questions)"
        ),
    ),
]

if __name__ == "__main__":
    main()
