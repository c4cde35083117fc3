"""Networks as splines: the conversion of parameters, and what first weights make of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import torch
from scipy import stats

from creases import splines
from creases.lab import Batch
from creases_reproduction.claim import Claim, Judgement, Numbers, Picture, Row
from creases_reproduction.experiment import Scale
from creases_reproduction.judges import judge_deviations
from creases_reproduction.splines import theory
from creases_reproduction.splines.networks import by_scale, random_shallow, relative_deviation, roughness

_GRID = np.linspace(-4, 4, 801)


def measure_conversion(scale: Scale) -> dict[str, Any]:
    """Measure network to spline to pieces and back, in two gauges; how often the slope's jump is not mu."""
    rng, cases = np.random.default_rng(0), by_scale(scale, 50, 2000)
    worst, opposite, units = {"spline": 0.0, "pieces": 0.0, "back": 0.0}, 0, 0
    for _ in range(cases):
        net = random_shallow(rng, int(rng.integers(1, 40)))
        form, values = splines.to_spline(net), net(_GRID)
        worst["spline"] = max(worst["spline"], relative_deviation(form(_GRID), values))
        worst["pieces"] = max(worst["pieces"], relative_deviation(form.pieces()(_GRID), values))
        backs = [splines.to_shallow(form, "balanced"), splines.to_shallow(form.pieces(), skip=False)]
        worst["back"] = max(worst["back"], *(relative_deviation(back(_GRID), values) for back in backs))
        opposite += int((form.jumps * form.mu < 0).sum())
        units += net.width
    return {"cases": cases, **worst, "jump is -mu": opposite / units}


def judge_conversion(numbers: Numbers) -> Judgement:
    """Judge conversions are exact; the jump's sign is told."""
    worst = max(numbers[name] for name in ("spline", "pieces", "back"))
    words = f"{numbers['cases']} networks become splines, pieces and networks again to {worst:.1g}"
    return Judgement(
        "agrees" if worst < 1e-12 else "disagrees",
        (
            f"{words}. The slope jumps by s mu = |w| v, not by mu: the sign is the other one at "
            f"{numbers['jump is -mu']:.0%} of the units."
        ),
    )


def measure_multivariate(scale: Scale) -> dict[str, Any]:
    """Measure networks of several inputs against their planes: unit normals, offsets and delta-slopes."""
    rng, cases, worst = np.random.default_rng(0), by_scale(scale, 20, 500), 0.0
    for case in range(cases):
        d = int(rng.integers(2, 9))
        model = Batch.initial(1, [d, 12, 1], seed=case, dtype=np.float64).module(0)
        X = rng.normal(size=(200, d))
        worst = max(
            worst,
            relative_deviation(splines.to_hyperplanes(model)(X), model(torch.from_numpy(X))[:, 0].detach().numpy()),
        )
    return {"cases": cases, "deviation": worst}


def measure_gaussian_limit(scale: Scale) -> dict[str, Any]:
    """Measure excess kurtosis of a random network's value over draws, by width: 0 for a Gaussian process."""
    draws, results = by_scale(scale, 2000, 50_000), {}
    rng = np.random.default_rng(0)
    for width in (4, 40, 400):
        values = []
        for _ in range(0, draws, 1000):
            w, b, v = rng.normal(size=(3, 1000, width))
            values.append((v * np.maximum(0.7 * w + b, 0)).sum(axis=1) / width**0.5)
        results[width] = float(stats.kurtosis(np.concatenate(values)))
    return {"draws": draws, "kurtosis": results}


def judge_gaussian(numbers: Numbers) -> Judgement:
    """Judge kurtosis falls to that of a Gaussian."""
    results = {int(width): value for width, value in numbers["kurtosis"].items()}
    words = ", ".join(f"{value:.2f} at width {width}" for width, value in results.items())
    falls = abs(results[400]) < 0.15 * results[4]
    return Judgement(
        "agrees" if falls else "disagrees",
        f"Excess kurtosis of the value at a point over draws: {words}; a Gaussian process has 0.",
    )


def measure_densities(scale: Scale) -> dict[str, Any]:
    """Measure drawn breakpoints and delta-slopes against their laws: Kolmogorov's distances and p-values.

    "given": delta-slopes divided by the scale of their law at their own breakpoint, against the Laplace law.
    """
    draws = by_scale(scale, 20_000, 1_000_000)
    few = min(draws, 20_000)  # the law of delta-slopes is integrated at every draw
    results: dict[str, Any] = {"draws": {"breakpoints": draws, "delta-slopes": few, "given": draws}}
    for seed, (sw, sb, sv) in enumerate(((10.0, 1.0, 10.0), (1.0, 2.0, 0.5))):
        law = theory.InitialDistribution(draws, False, sw, sb, sv)
        form = splines.to_spline(law.sample(seed))
        options = law.delta_slopes_given(form.beta)
        tests = {
            "breakpoints": stats.kstest(form.beta, law.breakpoints().cdf),
            "delta-slopes": stats.kstest(form.mu[:few], law.delta_slopes().cdf),
            "given": stats.kstest(options.cdf(form.mu), "uniform"),
        }
        name = f"sw {sw:g}, sb {sb:g}, sv {sv:g}"
        results[name] = {what: {"distance": item.statistic, "p": item.pvalue} for what, item in tests.items()}
    return results


def judge_density(what: str) -> Callable[[Numbers], Judgement]:
    """Return a judge of one of the laws: Kolmogorov's test at both choices of the deviations."""

    def judge(numbers: Numbers) -> Judgement:
        tests = [part[what] for name, part in numbers.items() if name != "draws"]
        least, most = min(item["p"] for item in tests), max(item["distance"] for item in tests)
        words = (
            f"Kolmogorov's distance is at most {most:.1g} over {numbers['draws'][what]} draws, p at least {least:.2g}"
        )
        return Judgement("agrees" if least > 0.001 else "disagrees", f"{words}, at two choices of the deviations.")

    return judge


def measure_initial_roughness(scale: Scale) -> dict[str, Any]:
    """Measure mean roughness of first weights by width and scheme, and how often it exceeds its mean.

    Beside the bound.
    """
    draws, results = by_scale(scale, 500, 20_000), {}
    schemes: tuple[Literal["he", "glorot"], ...] = ("he", "glorot")
    for scheme in schemes:
        for width in (20, 200):
            law = theory.initial_distribution(scheme, width, sb=1.0)
            rough = np.array([roughness(law.sample(seed)) for seed in range(draws)])
            about = theory.roughness_distribution(law)
            excess = np.array([0.5, 1, 2, 4]) * about.variance**0.5
            seen = (rough[:, None] - about.mean >= excess).mean(axis=0)
            error = float(rough.std(ddof=1)) / draws**0.5
            results[f"{scheme} {width}"] = {
                "mean": rough.mean(),
                "error": error,
                "printed": about.mean,
                "tail": seen,
                "bound": about.tail(excess),
            }
    return {"draws": draws, "laws": results}


def judge_roughness(numbers: Numbers) -> Judgement:
    """Judge means within four standard errors, tails within the bound."""
    laws = numbers["laws"].values()
    off = max(abs(row["mean"] - row["printed"]) / row["error"] for row in laws)
    bound = all(seen <= most for row in laws for seen, most in zip(row["tail"], row["bound"], strict=True))
    words = (
        f"means are within {off:.1f} standard errors of the printed ones ({numbers['draws']} draws); "
        f"the tail bound {'holds' if bound else 'fails'}"
    )
    return Judgement("agrees" if off < 4 and bound else "disagrees", f"Initial roughness: {words}.")


def picture_roughness(numbers: Numbers) -> Picture:
    """Picture mean roughness by law."""
    rows = [
        Row(
            f"{name} units",
            row["printed"],
            row["mean"],
            row["mean"] - 1.96 * row["error"],
            row["mean"] + 1.96 * row["error"],
        )
        for name, row in numbers["laws"].items()
    ]
    return Picture(rows=rows, x="mean roughness", log=True)


CLAIMS = [
    Claim(
        "splines/conversion",
        "slides 'A simple neural net example', 'Recasting'",
        (
            "A shallow network of one input is a continuous piecewise-linear spline: beta = -b / w, mu = w v, s = "
            "sign w, and pieces m_p x + gamma_p."
        ),
        measure=measure_conversion,
        judge=judge_conversion,
    ),
    Claim(
        "splines/multivariate",
        "slide 'Multivariate Spline Parametrization'",
        "With several inputs: delta-slope v |w|, unit normal w / |w|, offset -b / |w|.",
        measure=measure_multivariate,
        judge=judge_deviations(1e-12, "deviation"),
    ),
    Claim(
        "splines/theorem-1",
        "Theorem 1, continuous basis expansion",
        "As H goes to infinity the network is an integral over a random measure that is a Gaussian process.",
        measure=measure_gaussian_limit,
        judge=judge_gaussian,
    ),
    Claim(
        "splines/density-joint",
        "slide 'Joint + Conditional Density'",
        "Of Gaussian weights: mu given beta is Laplace(0, sb sv sw / sqrt(sb^2 + sw^2 beta^2)).",
        measure=measure_densities,
        judge=judge_density("given"),
    ),
    Claim(
        "splines/density-mu",
        "slide 'Marginal Density of Delta-Slopes'",
        "mu has the density K0(|mu| / (sv sw)) / (pi sv sw).",
        measure=measure_densities,
        judge=judge_density("delta-slopes"),
        misprints=("splines/meijer",),
    ),
    Claim(
        "splines/density-beta",
        "slide 'Marginal Density of Breakpoints'",
        "beta is Cauchy(0, sb / sw).",
        measure=measure_densities,
        judge=judge_density("breakpoints"),
    ),
    Claim(
        "splines/theorem-2",
        "Theorem 2, initial roughness",
        (
            "Mean roughness 4 (He) and 4 H / (H + 1)^2 (Glorot), tails at most 1 / (1 + l^2 H / 128) and 1 / (1 + l^2 "
            "(H + 1)^4 / (128 H))."
        ),
        printed="4; 4 H / (H + 1)^2",
        measure=measure_initial_roughness,
        judge=judge_roughness,
        picture=picture_roughness,
    ),
]
