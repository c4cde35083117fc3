"""What the lecture on splines says of functions, first weights and lonely data, computed at random networks.

Each function takes a scale and returns numbers; deviations are relative to the size of what is compared.
"""

from __future__ import annotations

from itertools import combinations_with_replacement, pairwise
from math import comb
from typing import Any, Literal

import numpy as np
import torch
from scipy import stats
from scipy.interpolate import make_interp_spline

from creases import splines
from creases._typing import Floats
from creases.lab import Batch
from creases.splines import Shallow
from creases_reproduction.experiment import Scale

_GRID = np.linspace(-4, 4, 801)


def count(scale: Scale, quick: int, full: int) -> int:
    """A number of cases, draws or the like at a scale."""
    return quick if scale == "quick" else full


def random_net(rng: np.random.Generator, width: int, skip: bool = True) -> Shallow:
    """A network of normal weights."""
    w, b, v = rng.normal(size=(3, width))
    return Shallow(w, b, v, float(rng.normal()), float(rng.normal()) if skip else 0.0)


def off(found: Floats, right: Floats) -> float:
    """The largest deviation, relative to the largest value."""
    return float(np.abs(found - right).max() / max(float(np.abs(right).max()), 1e-300))


def conversion(scale: Scale) -> dict[str, Any]:
    """Network to spline to pieces and back, in two gauges; how often the slope's jump is not mu."""
    rng, cases = np.random.default_rng(0), count(scale, 50, 2000)
    worst, opposite, units = {"spline": 0.0, "pieces": 0.0, "back": 0.0}, 0, 0
    for _ in range(cases):
        net = random_net(rng, int(rng.integers(1, 40)))
        form, values = splines.to_spline(net), net(_GRID)
        worst["spline"] = max(worst["spline"], off(form(_GRID), values))
        worst["pieces"] = max(worst["pieces"], off(form.pieces()(_GRID), values))
        backs = [splines.to_shallow(form, "balanced"), splines.to_shallow(form.pieces(), skip=False)]
        worst["back"] = max(worst["back"], *(off(back(_GRID), values) for back in backs))
        opposite += int((form.jumps * form.mu < 0).sum())
        units += net.width
    return {"cases": cases, **worst, "jump is -mu": opposite / units}


def multivariate(scale: Scale) -> dict[str, Any]:
    """Networks of several inputs against their planes: unit normals, offsets and delta-slopes."""
    rng, cases, worst = np.random.default_rng(0), count(scale, 20, 500), 0.0
    for case in range(cases):
        d = int(rng.integers(2, 9))
        model = Batch.initial(1, [d, 12, 1], seed=case, dtype=np.float64).module(0)
        X = rng.normal(size=(200, d))
        worst = max(worst, off(splines.to_hyperplanes(model)(X), model(torch.from_numpy(X))[:, 0].detach().numpy()))
    return {"cases": cases, "deviation": worst}


def densities(scale: Scale) -> dict[str, Any]:
    """Drawn breakpoints and delta-slopes against their laws: Kolmogorov's distances and p-values.

    "given": delta-slopes divided by the scale of their law at their own breakpoint, against the Laplace law.
    """
    draws = count(scale, 20_000, 1_000_000)
    found: dict[str, Any] = {"draws": draws}
    for seed, (sw, sb, sv) in enumerate(((10.0, 1.0, 10.0), (1.0, 2.0, 0.5))):
        law = splines.initialisation.InitialDistribution(draws, False, sw, sb, sv)
        form = splines.to_spline(law.sample(seed))
        given = law.delta_slopes_given(form.beta)
        tests = {
            "breakpoints": stats.kstest(form.beta, law.breakpoints().cdf),
            "delta-slopes": stats.kstest(form.mu[:20_000], law.delta_slopes().cdf),
            "given": stats.kstest(given.cdf(form.mu), "uniform"),
        }
        name = f"sw {sw:g}, sb {sb:g}, sv {sv:g}"
        found[name] = {what: {"distance": one.statistic, "p": one.pvalue} for what, one in tests.items()}
    return found


def initial_roughness(scale: Scale) -> dict[str, Any]:
    """Mean roughness of first weights by width and scheme, and how often it exceeds its mean, beside the bound."""
    draws, found = count(scale, 500, 20_000), {}
    schemes: tuple[Literal["he", "glorot"], ...] = ("he", "glorot")
    for scheme in schemes:
        for width in (20, 200):
            law = splines.initialisation.initial_distribution(scheme, width, sb=1.0)
            rough = np.array([splines.roughness(law.sample(seed)) for seed in range(draws)])
            about = splines.initialisation.roughness_distribution(law)
            excess = np.array([0.5, 1, 2, 4]) * about.variance**0.5
            seen = (rough[:, None] - about.mean >= excess).mean(axis=0)
            error = float(rough.std(ddof=1)) / draws**0.5
            found[f"{scheme} {width}"] = {
                "mean": rough.mean(),
                "error": error,
                "printed": about.mean,
                "tail": seen,
                "bound": about.tail(excess),
            }
    return {"draws": draws, "laws": found}


def gaussian_limit(scale: Scale) -> dict[str, Any]:
    """Excess kurtosis of a random network's value over draws, by width: 0 for a Gaussian process."""
    draws, found = count(scale, 2000, 50_000), {}
    rng = np.random.default_rng(0)
    for width in (4, 40, 400):
        values = []
        for _ in range(0, draws, 1000):
            w, b, v = rng.normal(size=(3, 1000, width))
            values.append((v * np.maximum(0.7 * w + b, 0)).sum(axis=1) / width**0.5)
        found[width] = float(stats.kurtosis(np.concatenate(values)))
    return {"draws": draws, "kurtosis": found}


def lonely_partitions(scale: Scale) -> dict[str, Any]:
    """Theorem 4: interpolation, and the number of ways in which data lie alone in their pieces, by enumeration."""
    rng, worst = np.random.default_rng(0), 0.0
    for _ in range(count(scale, 50, 1000)):
        n = int(rng.integers(2, 30))
        x, y = np.sort(rng.uniform(-3, 3, n)), rng.normal(size=n)
        form = splines.initialisation.interlacing_spline(x, y)
        size = np.abs(form.mu).max() * 6
        worst = max(worst, float(np.abs(form(x) - y).max() / size), abs(form.width - (n - 1)))
    wrong = 0
    for h in range(1, count(scale, 6, 9)):
        breakpoints = np.arange(1, h + 1, dtype=np.float64)
        for n in range(1, h + 2):
            ways = sum(
                bool(splines.initialisation.is_lonely(np.array(pieces) + 0.5 + 0.001 * np.arange(n), breakpoints).all())
                for pieces in combinations_with_replacement(range(h + 1), n)
            )
            wrong += ways != comb(h + 1, n)
    return {"interpolation": worst, "wrong counts": wrong}


def lonely_probability(scale: Scale) -> dict[str, Any]:
    """Theorem 4 (b): printed, corrected and drawn probabilities that all data are lonely."""
    rows = {}
    for n, h in ((20, 400), (20, 800), (10, 200), (40, 1600)):
        drawn = splines.initialisation.simulate_lonely(n, h, "spaced", trials=count(scale, 2000, 100_000), seed=0)
        rows[f"N = {n}, H = {h}"] = {
            "printed": 1 - np.exp(-(n**2) / (h + 1)),
            "formula": splines.initialisation.lonely_probability(n, h),
            "drawn": drawn.probability,
            "error": (drawn.probability * (1 - drawn.probability) / drawn.trials) ** 0.5,
        }
    return {"rows": rows}


def active_breakpoints(scale: Scale) -> dict[str, Any]:
    """Definition 1: whether active breakpoints are exactly the places where the slope of a deep network changes."""
    cases, checked, wrong = count(scale, 20, 300), 0, 0
    for seed in range(cases):
        model = Batch.initial(1, [1, 8, 8, 8, 1], seed=seed, dtype=np.float64).module(0)
        found = splines.deep_breakpoints(model)
        size = float(np.abs(found.pieces.slopes).max())
        lone = ~found.shared
        wrong += int((found.active[lone] != (np.abs(found.jump[lone]) > 1e-12 * size)).sum())
        checked += int(lone.sum())
    w, b, v = np.array([[1.0, 2.0], [-0.5, -1.0], [2.0, -1.0]])  # two units at one place whose jumps cancel
    net = Shallow(w, b, v)
    pair = splines.deep_breakpoints(splines.to_module(net))
    return {
        "networks": cases,
        "breakpoints": checked,
        "wrong": wrong,
        "cancelling pair": {"active": int(pair.active.sum()), "bends": int(pair.bent.sum())},
    }


def least_norm(scale: Scale) -> dict[str, Any]:
    """Theorem 6: gradient descent on mu from 0, breakpoints held, against the interpolant of least norm."""
    rng, worst = np.random.default_rng(0), 0.0
    cases = count(scale, 3, 30)
    for _ in range(cases):
        x, y = np.linspace(-1, 1, 5), rng.normal(size=5)
        phi = np.maximum(x[:, None] - rng.uniform(-1.5, 0.9, 40), 0) + np.maximum(
            rng.uniform(-0.9, 1.5, 40) - x[:, None], 0
        )
        mu, rate = np.zeros(40), 1 / float(np.linalg.eigvalsh(phi @ phi.T)[-1])
        for _ in range(count(scale, 20_000, 200_000)):
            mu -= rate * (phi.T @ (phi @ mu - y))
        worst = max(worst, off(mu, np.linalg.lstsq(phi, y, rcond=None)[0]))
    return {"cases": cases, "deviation": worst}


def affine_in_gaps(scale: Scale) -> dict[str, Any]:
    """The proof sketch: within a gap between data, the kernel regime's delta-slopes are affine in the breakpoint."""
    x = np.linspace(-3, 3, 8)
    beta = np.linspace(-3, 3, count(scale, 400, 4000))
    found = splines.dynamics.minimum_norm_spline(x, np.sin(2 * x), beta)
    worst = 0.0
    for low, high in pairwise(x):
        own = (found.beta > low) & (found.beta < high)
        line = np.polynomial.Polynomial.fit(found.beta[own], found.jumps[own], 1)
        worst = max(worst, float(np.abs(line(found.beta[own]) - found.jumps[own]).max() / np.abs(found.jumps).max()))
    return {"deviation": worst, "units": len(beta)}


def responses(scale: Scale) -> dict[str, Any]:
    """Corollaries 4 and 5, Lemmas 3 and 6 in one dimension: from a function to its density and back.

    The function is a smooth bump; deviations fall with the spacing.
    """
    found: dict[str, dict[str, float]] = {}
    kinds: dict[str, Any] = {
        "step": splines.dynamics.PowerReLU(1.0),
        "power 1.25": splines.dynamics.PowerReLU(1.25),
        "relu": splines.dynamics.PowerReLU(2.0),
        "saturating": splines.dynamics.SaturatingReLU(1.0),
        "relu squared": splines.dynamics.PowerReLU(3.0),
    }
    for name, response in kinds.items():
        found[name] = {}
        for spacing in (0.02, 0.01) if scale == "quick" else (0.02, 0.01, 0.005, 0.0025):
            x = np.arange(-5, 5 + spacing / 2, spacing)
            f = np.exp(-(x**2) * 2)
            back = response.integral(response.density(f, spacing), spacing)
            found[name][str(spacing)] = off(np.asarray(back), f)
    return {"deviation": found}


def natural_splines(scale: Scale) -> dict[str, Any]:
    """Power ReLUs in the kernel regime: largest distance to the natural spline of degree 2 lam - 1."""
    x, t = np.linspace(-3, 3, 12), np.linspace(-3, 3, 500)
    y, places = np.sin(2 * x), np.linspace(-3, 3, count(scale, 1000, 4000))
    flat: Any = [(3, 0.0), (4, 0.0)]
    quintic = make_interp_spline(x, y, k=5, bc_type=(flat, flat))
    limits = {1: np.interp(t, x, y), 2: splines.dynamics.natural_cubic_spline(x, y)(t), 3: quintic(t)}
    found = {}
    for lam, right in limits.items():
        mu, polynomial = splines.dynamics.minimum_norm_fit(x, y, places, lam)
        fit = splines.dynamics.PowerReLU(lam)(t[:, None] - places) @ mu + np.polyval(polynomial, t)
        found[str(lam)] = float(np.abs(fit - right).max())
    return {"distance": found, "units": len(places)}
