"""The kernel regime and the rich one: fits of least norm, their impulse responses, and their limits."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.interpolate import CubicSpline, make_interp_spline

from creases import splines
from creases._typing import Floats
from creases.lab import Batch
from creases.problems import INTERVAL, TARGETS
from creases.splines.theory import minimum_norm_fit, tangent_kernel
from creases_reproduction.claim import Claim, Curve, Judgement, Numbers, Picture
from creases_reproduction.experiment import Scale
from creases_reproduction.judges import judge_deviations
from creases_reproduction.splines import theory
from creases_reproduction.splines.networks import by_scale, relative_deviation, stack_networks
from creases_reproduction.splines.relocation import train_by_descent
from creases_reproduction.splines.spreads import Spread, scale_experiment, summarize_spread


def measure_least_norm(scale: Scale) -> dict[str, Any]:
    """Measure Theorem 6: gradient descent on mu from 0, breakpoints held, against the interpolant of least norm."""
    rng, worst = np.random.default_rng(0), 0.0
    cases = by_scale(scale, 3, 30)
    for _ in range(cases):
        x, y = np.linspace(-1, 1, 5), rng.normal(size=5)
        phi = np.maximum(x[:, None] - rng.uniform(-1.5, 0.9, 40), 0) + np.maximum(
            rng.uniform(-0.9, 1.5, 40) - x[:, None], 0
        )
        mu, rate = np.zeros(40), 1 / float(np.linalg.eigvalsh(phi @ phi.T)[-1])
        for _ in range(by_scale(scale, 20_000, 200_000)):
            mu -= rate * (phi.T @ (phi @ mu - y))
        worst = max(worst, relative_deviation(mu, np.linalg.lstsq(phi, y, rcond=None)[0]))
    return {"cases": cases, "deviation": worst}


def judge_least_norm(numbers: Numbers) -> Judgement:
    """Judge descent ends at the least norm."""
    return Judgement(
        "agrees" if numbers["deviation"] < 0.02 else "disagrees",
        (
            f"Gradient descent from 0 ends at the solution of least norm to {numbers['deviation']:.1g} "
            f"({numbers['cases']} cases)."
        ),
    )


_GRID = np.linspace(*INTERVAL, 1001)


def measure_affine_in_gaps(scale: Scale) -> dict[str, Any]:
    """Measure the proof sketch.

    Within a gap between data, the kernel regime's delta-slopes are affine in the breakpoint.
    """
    x = np.linspace(-3, 3, 8)
    beta = np.linspace(-3, 3, by_scale(scale, 400, 4000))
    results = minimum_norm_fit(x, np.sin(2 * x), beta)
    worst = 0.0
    for low, high in pairwise(x):
        part = (results.beta > low) & (results.beta < high)
        line = np.polynomial.Polynomial.fit(results.beta[part], results.jumps[part], 1)
        worst = max(
            worst, float(np.abs(line(results.beta[part]) - results.jumps[part]).max() / np.abs(results.jumps).max())
        )
    return {"deviation": worst, "units": len(beta)}


def measure_responses(scale: Scale) -> dict[str, Any]:
    """Measure corollaries 4 and 5, Lemmas 3 and 6 in one dimension: from a function to its density and back.

    The function is a smooth bump; deviations fall with the spacing.
    """
    results: dict[str, dict[str, float]] = {}
    kinds: dict[str, Any] = {
        "step": theory.PowerReLU(1.0),
        "power 1.25": theory.PowerReLU(1.25),
        "relu": theory.PowerReLU(2.0),
        "saturating": theory.SaturatingReLU(1.0),
        "relu squared": theory.PowerReLU(3.0),
    }
    for name, response in kinds.items():
        results[name] = {}
        for spacing in (0.02, 0.01) if scale == "quick" else (0.02, 0.01, 0.005, 0.0025):
            x = np.arange(-5, 5 + spacing / 2, spacing)
            f = np.exp(-(x**2) * 2)
            back = response.integral(response.density(f, spacing), spacing)
            results[name][str(spacing)] = relative_deviation(np.asarray(back), f)
    return {"deviation": results}


def judge_responses(numbers: Numbers) -> Judgement:
    """Judge deviations halve with the spacing."""
    worst, halves = 0.0, True
    for item in numbers["deviation"].values():
        values = list(item.values())
        worst = max(worst, values[-1])
        halves = halves and (values[-1] < 1e-9 or values[-1] < 0.6 * values[-2])
    return Judgement(
        "agrees" if halves else "disagrees",
        (
            f"From function to density and back: off by {worst:.2g} at the finest spacing, halved with "
            "the spacing (one dimension)."
        ),
    )


def picture_responses(numbers: Numbers) -> Picture:
    """Picture deviations against the spacing."""
    curves = [
        Curve(name, [float(h) for h in item], [max(value, 1e-17) for value in item.values()])
        for name, item in numbers["deviation"].items()
    ]
    return Picture(curves=curves, x="spacing", y="deviation", log=True)


def measure_natural_splines(scale: Scale) -> dict[str, Any]:
    """Measure power ReLUs in the kernel regime: largest distance to the natural spline of degree 2 lam - 1."""
    x, t = np.linspace(-3, 3, 12), np.linspace(-3, 3, 500)
    y, places = np.sin(2 * x), np.linspace(-3, 3, by_scale(scale, 1000, 4000))
    flat: Any = [(3, 0.0), (4, 0.0)]
    quintic = make_interp_spline(x, y, k=5, bc_type=(flat, flat))
    limits = {1: np.interp(t, x, y), 2: minimum_norm_fit(x, y)(t), 3: quintic(t)}
    results = {}
    for lam, right in limits.items():
        mu, polynomial = theory.minimum_norm_fit(x, y, places, lam)
        fit = theory.PowerReLU(lam)(t[:, None] - places) @ mu + np.polyval(polynomial, t)
        results[str(lam)] = float(np.abs(fit - right).max())
    return {"distance": results, "units": len(places)}


def judge_splines(numbers: Numbers) -> Judgement:
    """Judge whether each response gives the natural spline of its degree."""
    names = {"1": "step: straight lines", "2": "ReLU: cubic", "3": "ReLU^2: quintic"}
    words = ", ".join(f"{names[lam]} {value:.1g}" for lam, value in numbers["distance"].items())
    return Judgement(
        "agrees" if max(numbers["distance"].values()) < 0.02 else "disagrees",
        f"Largest distance of {numbers['units']} units' least-norm fit to the natural spline: {words}.",
    )


def cubic_limit(
    target: str = "sine", *, widths: Sequence[int] = (100, 1000, 10_000), seeds: int = 10, n: int = 12
) -> dict[int, tuple[float, float, Spread]]:
    """Return largest distances of the kernel regime's fit to the natural cubic spline, ``{width: (bound, free, iid)}``.

    Breakpoints are equally spaced over the data's range, without a line beside the units, as printed (they face left
    and right by turns), and with a line that is free of the norm; or drawn uniformly for every seed, with that line.
    """
    x = np.linspace(*INTERVAL, n)
    y = TARGETS[target](x)
    cubic = CubicSpline(x, y, bc_type="natural")(_GRID)

    def distance(beta: Floats) -> float:
        return float(np.abs(minimum_norm_fit(x, y, beta)(_GRID) - cubic).max())

    def bound(beta: Floats) -> float:
        def units(t: Floats) -> Floats:
            way = t[:, None] - beta
            return np.where((way > 0) == (np.arange(len(beta)) % 2 > 0), way, 0.0)

        mu = np.linalg.lstsq(units(x), y, rcond=None)[0]
        return float(np.abs(units(_GRID) @ mu - cubic).max())

    results = {}
    for width in widths:
        spaced = np.linspace(*INTERVAL, width)
        drawn = [np.random.default_rng(seed).uniform(*INTERVAL, width) for seed in range(seeds)]
        results[width] = bound(spaced), distance(spaced), Spread.from_values([distance(beta) for beta in drawn])
    return results


def _limits(found: Any) -> dict[str, Any]:
    return {
        str(width): {"as printed": printed, "spaced": spaced, "drawn": summarize_spread(drawn)}
        for width, (printed, spaced, drawn) in found.items()
    }


def judge_cubic(numbers: Numbers) -> Judgement:
    """Judge whether the distance to the cubic spline goes to 0 with the width."""
    printed = [item["as printed"] for item in numbers.values()]
    bound = ", ".join(f"{item['as printed']:.1e} at {width}" for width, item in numbers.items())
    free = ", ".join(f"{item['spaced']:.1e} (drawn: {item['drawn']['mean']:.1e})" for item in numbers.values())
    words = f"{bound} units; with a line beside them that is free of the norm, which the source does not have, {free}"
    falls = printed == sorted(printed, reverse=True) and printed[-1] < 1e-4
    return Judgement("agrees" if falls else "disagrees", f"Largest distance of the function of least norm: {words}.")


def picture_cubic(numbers: Numbers) -> Picture:
    """Picture distances against the width."""
    widths = [float(width) for width in numbers]
    spaced = Curve("equally spaced", widths, [item["spaced"] for item in numbers.values()])
    drawn = Curve(
        "drawn uniformly",
        widths,
        *([item["drawn"][name] for item in numbers.values()] for name in ("mean", "low", "high")),
    )
    return Picture(curves=[spaced, drawn], x="units", y="largest distance to the natural cubic spline", log=True)


def rich_and_kernel(
    target: str = "sine",
    *,
    alphas: Sequence[float] = (10.0, 1.0, 0.3, 0.1),
    width: int = 100,
    seeds: int = 10,
    n: int = 10,
    steps: int = 50_000,
) -> dict[float, tuple[Spread, Spread]]:
    """Return RMS distances of trained networks to the natural cubic and the linear interpolant, ``{alpha.

    (cubic, linear)}``.

    Units at equally spaced breakpoints have ``|w| = alpha``, ``|v| = 1 / (alpha sqrt(width))`` and random signs; each
    is there twice, with opposite v, so that the function is 0 at first. Large alpha: breakpoints hardly move (kernel
    regime), and the function ends near the cubic; small alpha: they move towards data (rich regime), and it ends
    nearer to straight lines. Steps are 0.9 of what the first kernel allows. Found for alpha = 10, 1, .3, .1: .008/.104,
    .029/.082, .071/.046, .071/.050; the two interpolants are .105 apart.
    """
    x = np.linspace(*INTERVAL, n)
    y = TARGETS[target](x)
    batch, rates = _opposed(alphas, width, seeds, x)
    values = train_by_descent(batch, x, y, steps=steps, lr=rates).outputs(_GRID[:, None])[:, :, 0]
    shape = len(alphas), seeds
    cubic = _rms(values - CubicSpline(x, y, bc_type="natural")(_GRID)).reshape(shape)
    linear = _rms(values - np.interp(_GRID, x, y)).reshape(shape)
    return {alpha: (Spread.from_values(cubic[i]), Spread.from_values(linear[i])) for i, alpha in enumerate(alphas)}


def _opposed(alphas: Sequence[float], width: int, seeds: int, x: Floats) -> tuple[Batch, Floats]:
    """Return networks that are 0, for every alpha and seed, and step lengths (B,) for data at x."""
    nets, rates = [], []
    for alpha in alphas:
        for seed in range(seeds):
            rng = np.random.default_rng(seed)
            signs, outgoing = rng.choice([-1.0, 1.0], (2, width))
            w, b = alpha * signs, -alpha * signs * np.linspace(*INTERVAL, width)
            v = outgoing / (alpha * np.sqrt(width))
            net = splines.Shallow(np.tile(w, 2), np.tile(b, 2), np.concatenate([v, -v]))
            nets.append(net)
            rates.append(0.9 * len(x) / (2 * np.linalg.eigvalsh(tangent_kernel(net, x))[-1]))
    return stack_networks(nets), np.array(rates)


def _rms(values: Floats) -> Floats:
    return np.asarray(np.sqrt((values**2).mean(axis=1)))


def _regimes(found: Any) -> dict[str, Any]:
    return {
        str(alpha): {"cubic": summarize_spread(cubic), "linear": summarize_spread(linear)}
        for alpha, (cubic, linear) in found.items()
    }


#: The largest alpha of the lecture's pictures.
PRINTED_ALPHA = 100.0


def judge_regimes(numbers: Numbers) -> Judgement:
    """Judge whether large alpha ends near the cubic, and small alpha nearer to lines than to it."""
    words = "; ".join(
        f"alpha {alpha}: {item['cubic']['mean']:.3f} to the cubic, {item['linear']['mean']:.3f} to straight lines"
        for alpha, item in numbers.items()
    )
    kernel, rich = (numbers[key] for key in (next(iter(numbers)), list(numbers)[-1]))
    kind = (
        kernel["cubic"]["mean"] < 0.5 * kernel["linear"]["mean"] and rich["cubic"]["mean"] > 2 * kernel["cubic"]["mean"]
    )
    largest = max(map(float, numbers))
    if kind and largest < PRINTED_ALPHA:
        return Judgement(
            "agrees in kind",
            f"RMS distances: {words}. The lecture's alpha of {PRINTED_ALPHA:g} was not run: {largest:g} is near "
            "the cubic "
            "already.",
        )
    return Judgement("agrees" if kind else "disagrees", f"RMS distances: {words}.")


def picture_regimes(numbers: Numbers) -> Picture:
    """Picture distances by alpha."""
    alphas = [float(alpha) for alpha in numbers]
    curves = [
        Curve(
            f"to the {name} interpolant",
            alphas,
            *([item[name][part] for item in numbers.values()] for part in ("mean", "low", "high")),
        )
        for name in ("cubic", "linear")
    ]
    return Picture(curves=curves, x="alpha", y="RMS distance")


CLAIMS = [
    Claim(
        "splines/theorem-6",
        "Theorem 6",
        "Gradient flow on mu from 0 with breakpoints held ends at the interpolant of least norm.",
        measure=measure_least_norm,
        judge=judge_least_norm,
    ),
    Claim(
        "splines/kernel-sketch",
        "slide 'Intuitive Proof Sketch'",
        "In a gap between data the learned curvature is affine in x, so the function is a piecewise cubic.",
        measure=measure_affine_in_gaps,
        judge=judge_deviations(1e-9, "deviation"),
    ),
    Claim(
        "splines/responses",
        "Corollaries 4 and 5, Lemmas 3 and 6 (D = 1)",
        (
            "The density of outgoing weights is f' for steps, f'' for ReLU, a fractional derivative for power ReLU, a "
            "sum of shifted f'' for saturating ReLU."
        ),
        measure=measure_responses,
        judge=judge_responses,
        picture=picture_responses,
        misprints=("splines/relu-squared",),
    ),
    Claim(
        "splines/activations",
        "slides 'For General Non-Decreasing Activation Functions'",
        (
            "The response sets the implicit regularisation: steps, ReLU and ReLU^2 end at smoother and smoother "
            "functions."
        ),
        printed="pictures for lambda = 1, 1.25, 2, 4",
        measure=measure_natural_splines,
        judge=judge_splines,
        misprints=("splines/relu-squared",),
    ),
    Claim(
        "splines/corollary-4",
        "Corollary 4",
        "With many uniformly spaced breakpoints the kernel regime's function is the natural cubic spline.",
        measure=scale_experiment(cubic_limit, _limits, widths=(100, 1000), seeds=3),
        judge=judge_cubic,
        picture=picture_cubic,
        misprints=("splines/corollary-4",),
    ),
    Claim(
        "splines/regimes",
        "slides 'Compare Predicted Spline to Trained NN', 'Rich Regime'",
        "Large alpha: the trained network is the cubic spline; small alpha: less smooth, nearer to straight lines.",
        printed="pictures for alpha = 100, 1, 0.1",
        measure=scale_experiment(rich_and_kernel, _regimes, alphas=(10.0, 0.1), seeds=2, steps=5000),
        judge=judge_regimes,
        picture=picture_regimes,
        full="five minutes of a core",
    ),
]
