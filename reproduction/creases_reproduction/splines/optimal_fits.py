"""Gradient descent against the optimal piecewise-linear fit."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch

from creases import splines
from creases._typing import Floats
from creases_reproduction.claim import Claim, Judgement, Numbers, Picture, Row
from creases_reproduction.experiment import Scale


class NoisyCurve(NamedTuple):
    """Data to fit with so many pieces."""

    kind: str
    x: Floats  #: (N,) increasing
    y: Floats  #: (N,)
    pieces: int


class Comparison(NamedTuple):
    """Sums of squared errors on one curve."""

    curve: NoisyCurve
    optimal: splines.OptimalFit
    descent: Floats  #: (restarts,)


def random_curves(count: int = 20, *, seed: int = 0) -> list[NoisyCurve]:
    """Return sums of sines, broken lines with noise, random walks, square waves and noise alone, in turn.

    40 to 100 data at random places in [-3, 3], and 3 to 8 pieces.
    """
    rng = np.random.default_rng(seed)
    curves = []
    for number in range(count):
        n, pieces = int(rng.integers(40, 101)), int(rng.integers(3, 9))
        x = np.sort(rng.uniform(-3, 3, n))
        kind = ("sines", "broken line", "walk", "square wave", "noise")[number % 5]
        if kind == "sines":
            y = sum(rng.normal() * np.sin(rng.uniform(0.5, 3) * x + rng.uniform(0, 6)) for _ in range(3))
        elif kind == "broken line":
            y = np.interp(x, np.linspace(-3, 3, pieces + 1), rng.normal(size=pieces + 1)) + 0.1 * rng.normal(size=n)
        elif kind == "walk":
            y = np.cumsum(rng.normal(size=n)) / 5
        elif kind == "square wave":
            y = np.sign(np.sin(2 * x)) + 0.2 * x**2
        else:
            y = rng.normal(size=n)
        curves.append(NoisyCurve(kind, x, np.asarray(y), pieces))
    return curves


def against_descent(
    curves: list[NoisyCurve] | None = None, *, restarts: int = 50, steps: int = 3000, seed: int = 0
) -> list[Comparison]:
    """Return the optimal fit of every curve beside restarts of gradient descent with as many pieces."""
    results = random_curves() if curves is None else curves
    return [
        Comparison(curve, splines.optimal_fit(curve.x, curve.y, curve.pieces), descent(curve, restarts, steps, seed))
        for curve in results
    ]


def descent(curve: NoisyCurve, restarts: int, steps: int, seed: int = 0) -> Floats:
    """Return (restarts,) sums of squared errors after gradient descent (Adam) on breakpoints.

    Jumps and the linear part.

    Breakpoints start uniformly over the data's range. Afterwards all but the breakpoints are fitted again, so nothing
    but their places can be to blame.
    """
    numbers = torch.Generator().manual_seed(seed)
    x, y = torch.from_numpy(curve.x), torch.from_numpy(curve.y)
    low, width = float(x[0]), float(x[-1] - x[0])
    size = restarts, curve.pieces - 1
    beta = (low + width * torch.rand(size, generator=numbers, dtype=torch.float64)).requires_grad_()
    jumps = torch.randn(size, generator=numbers, dtype=torch.float64).requires_grad_()
    line = torch.randn((restarts, 2), generator=numbers, dtype=torch.float64).requires_grad_()
    optimizer = torch.optim.Adam([beta, jumps, line], lr=0.03)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    for _ in range(steps):
        optimizer.zero_grad()
        way = torch.relu(x - beta[:, :, None])  # (restarts, knots, N)
        values = line[:, :1] + line[:, 1:] * x + (jumps[:, None] @ way)[:, 0]
        torch.autograd.backward(((values - y) ** 2).mean(dim=1).sum())
        optimizer.step()
        schedule.step()
    return np.array([_refit(row, curve) for row in beta.detach().numpy()])


def _refit(beta: Floats, curve: NoisyCurve) -> float:
    basis = np.column_stack([np.ones_like(curve.x), curve.x, np.maximum(curve.x[:, None] - beta, 0)])
    return float(((basis @ np.linalg.lstsq(basis, curve.y, rcond=None)[0] - curve.y) ** 2).sum())


def _comparisons(found: Any) -> dict[str, Any]:
    """Return, for each curve, the best and the median restart of descent over the optimal fit's error."""
    rows = [
        {
            "kind": item.curve.kind,
            "best": float(item.descent.min() / item.optimal.sse),
            "median": float(sorted(item.descent)[len(item.descent) // 2] / item.optimal.sse),
        }
        for item in found
    ]
    return {"curves": rows, "restarts": len(found[0].descent)}


def measure_against_descent(scale: Scale) -> dict[str, Any]:
    """Measure slide 'How Suboptimal is Gradient Descent?'."""
    curves = random_curves(4 if scale == "quick" else 20)
    more: dict[str, Any] = {"restarts": 4, "steps": 300} if scale == "quick" else {}
    return _comparisons(against_descent(curves, **more))


def judge_suboptimal(numbers: Numbers) -> Judgement:
    """Judge whether descent never beats the optimum, and usually stays above it."""
    best, median = (np.array([item[name] for item in numbers["curves"]]) for name in ("best", "median"))
    words = (
        f"Error over the optimum's on {len(best)} curves: a median restart {np.median(median):.2f} "
        f"times, the best of {numbers['restarts']} {np.median(best):.2f} times (least "
        f"{best.min():.4f})"
    )
    return Judgement("agrees" if best.min() > 1 - 1e-6 and np.median(median) > 1.01 else "disagrees", f"{words}.")


def picture_suboptimal(numbers: Numbers) -> Picture:
    """Picture median restart over optimum, by curve."""
    rows = [
        Row(f"{k + 1}, {item['kind']}", None, item["median"], item["best"], item["median"])
        for k, item in enumerate(numbers["curves"])
    ]
    return Picture(
        rows=rows, x="descent's squared error over the optimum's: median restart, and down to the best", log=True
    )


CLAIMS = [
    Claim(
        "splines/suboptimal",
        "slide 'How Suboptimal is Gradient Descent?'",
        "Gradient descent ends above the globally optimal piecewise-linear fit.",
        printed="a picture",
        measure=measure_against_descent,
        judge=judge_suboptimal,
        picture=picture_suboptimal,
        full="half a minute of a core",
    ),
]
