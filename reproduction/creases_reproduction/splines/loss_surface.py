"""The loss surface: critical points, Hessians, velocities of breakpoints, slices."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

from creases import splines
from creases._typing import Floats
from creases.splines import Shallow, theory
from creases_reproduction.claim import Claim, Judgement, Numbers
from creases_reproduction.experiment import Scale
from creases_reproduction.judges import judge_deviations
from creases_reproduction.splines.networks import by_scale, random_shallow, relative_deviation
from creases_reproduction.splines.theory import gram_rank, metric, spline_gradient


def measure_critical_points(scale: Scale) -> dict[str, Any]:
    """Measure Theorem 3: largest gradient where every piece is the least-squares line of its data; Hessians there.

    A random function, and data whose errors are, in every piece, orthogonal to 1 and x.
    """
    rng, cases = np.random.default_rng(0), by_scale(scale, 50, 1000)
    gradient, off_gram, least, zeros, definite = 0.0, 0.0, np.inf, np.inf, 0
    for _ in range(cases):
        net, x, y = _fitted_case(rng)
        results = theory.hessian(net, x, y)
        gram = results.vectors
        slope = theory.velocities(net, x, y).sees.e @ gram
        size = np.abs(gram).max() * float(np.abs(y).max()) * len(x)
        gradient = max(gradient, float(np.abs(slope).max()) / size)
        off_gram = max(off_gram, relative_deviation(results.matrix, gram.T @ gram))
        values = np.linalg.eigvalsh(results.matrix)
        least = min(least, float(values[0] / values[-1]))
        zeros = min(zeros, int((values < 1e-9 * values[-1]).sum()) / net.width)
        part = np.linalg.eigvalsh(theory.hessian(net, x, y, "spline").matrix)
        definite += bool(part[0] > 1e-9 * part[-1])
    return {
        "cases": cases,
        "gradient": gradient,
        "off gram": off_gram,
        "negative": max(0.0, -least),
        "zeros per unit": zeros,
        "spline definite": definite / cases,
    }


def _fitted_case(rng: np.random.Generator) -> tuple[Shallow, Floats, Floats]:
    """Return a network of H units with all breakpoints among the data, at a critical point."""
    width = int(rng.integers(2, 5))
    beta = np.sort(rng.uniform(-2, 2, width)) + np.arange(width)
    w = rng.uniform(0.5, 2, width) * rng.choice([-1.0, 1.0], width)
    net = Shallow(w, -w * beta, rng.uniform(0.5, 2, width) * rng.choice([-1.0, 1.0], width), float(rng.normal()))
    edges = np.concatenate([[-4.0], beta, [beta[-1] + 2]])
    xs, errors = [], []
    for low, high in pairwise(edges):
        x = low + (high - low) * np.sort(rng.uniform(0.05, 0.95, 6))
        line = np.linalg.qr(np.stack([np.ones(6), x], axis=1))[0]
        e = rng.normal(size=6)
        xs.append(x)
        errors.append(e - line @ (line.T @ e))
    x = np.concatenate(xs)
    return net, x, np.asarray(net(x) + np.concatenate(errors))


def judge_critical(numbers: Numbers) -> Judgement:
    """Judge the gradient vanishes."""
    return Judgement(
        "agrees" if numbers["gradient"] < 1e-12 else "disagrees",
        (
            f"At {numbers['cases']} functions that are the least-squares line of the data in every piece "
            f"the gradient is {numbers['gradient']:.1g}."
        ),
    )


def judge_gram(numbers: Numbers) -> Judgement:
    """Judge the Hessian is the Gram matrix, without negative eigenvalues."""
    words = (
        f"At {numbers['cases']} critical points the Hessian is the Gram matrix to {numbers['off gram']:.1g}, "
        f"and no eigenvalue is below {-numbers['negative']:.1g}"
    )
    return Judgement("agrees" if max(numbers["off gram"], numbers["negative"]) < 1e-9 else "disagrees", f"{words}.")


def judge_definite(numbers: Numbers) -> Judgement:
    """Judge whether the Hessian is positive definite at points without any of the five flaws."""
    spline = f"in the spline's own coordinates it is definite at {numbers['spline definite']:.0%} of them"
    where = f"at {numbers['cases']} critical points without any of the five flaws"
    if numbers["zeros per unit"] == 0 and not numbers["negative"] > 1e-9:
        return Judgement("agrees", f"The network's Hessian has no zero eigenvalue {where}; {spline}.")
    return Judgement(
        "disagrees",
        f"The network's Hessian is never positive definite: {where} it has at least "
        f"{numbers['zeros per unit']:.0f} zero eigenvalue for each unit (w and b may be scaled up and v down); "
        f"{spline}.",
    )


def measure_degenerate_types(scale: Scale) -> dict[str, Any]:
    """Measure zero eigenvalues that each of the source's types adds beyond the gauge.

    The exact rank at random networks.
    """
    x = np.linspace(-2, 2, 16)
    two = ([1.0, -1.2], [0.8, 0.6], [1.0, 0.7])  # w, b, v of units that are in no other's way
    third = {
        "1 shared pattern": (2.0, 1.7, 0.5),
        "2 all active": (0.5, 9.0, 0.5),
        "3 none active": (0.5, -9.0, 0.5),
        "4 one datum": (1.0, -1.9, 0.5),
        "5 v = 0": (1.0, -1.1, 0.0),
        "5 w = 0": (0.0, 1.0, 0.5),
        "5 b = 0": (1.5, 0.0, 0.5),
        "complementary patterns": (-1.0, -0.82, 0.5),
        "none": (1.0, -1.1, 0.5),
    }
    extra = {}
    for name, unit in third.items():
        w, b, v = (np.append(item, value) for item, value in zip(two, unit, strict=True))
        net = Shallow(w, b, v)
        rank = np.linalg.matrix_rank(theory.hessian(net, x, x).vectors)
        extra[name] = int(2 * net.width + 1 - rank)
    rng, cases, agree = np.random.default_rng(0), by_scale(scale, 100, 3000), 0
    for _ in range(cases):
        net = random_shallow(rng, int(rng.integers(1, 6)), skip=False)
        data = rng.uniform(-2, 2, int(rng.integers(2, 12)))
        vectors = theory.hessian(net, data, data).vectors
        agree += int(gram_rank(net, data) == np.linalg.matrix_rank(vectors, tol=1e-9 * np.abs(vectors).max()))
    return {"cases": cases, "extra": extra, "rank agrees": agree / cases}


def judge_types(numbers: Numbers) -> Judgement:
    """Judge whether every type of the list adds zero eigenvalues, and no other flaw does."""
    extra = numbers["extra"]
    words = "; ".join(f"{name}: {value}" for name, value in extra.items())
    right = all(extra[name] > 0 for name in extra if name[0] in "1234" or name in ("5 v = 0", "5 w = 0"))
    if right and extra["5 b = 0"] > 0 and not extra["complementary patterns"]:
        return Judgement("agrees", f"Zero eigenvalues beyond the gauge: {words}.")
    return Judgement(
        "disagrees",
        f"Zero eigenvalues beyond the gauge: {words}. b = 0 adds none, complementary patterns are "
        "missing in the list; the "
        f"exact rank agrees at {numbers['rank agrees']:.0%} of {numbers['cases']} random networks.",
    )


def measure_derivatives(scale: Scale) -> dict[str, Any]:
    """Measure gradient, Hessian, tangent kernel and Theorem 5's velocities against autograd.

    "as printed": how far -dl/dbeta and -dl/dmu are from the velocities, which the source sets equal to them.
    """
    rng, cases = np.random.default_rng(0), by_scale(scale, 20, 500)
    worst = dict.fromkeys(("gradient", "hessian", "beta", "mu", "function", "metric"), 0.0)
    printed = []
    for _ in range(cases):
        net = random_shallow(rng, int(rng.integers(1, 7)), skip=False)
        x, y = rng.uniform(-2, 2, 8), rng.normal(size=8)
        theta = torch.from_numpy(np.concatenate([net.w, net.b, net.v, [net.c0]]))
        slope = _gradient(theta, net.width, x, y)
        hess = _hessian(theta, net.width, x, y)
        w_, b_, v_ = -slope[: 3 * net.width].reshape(3, net.width)
        results = theory.velocities(net, x, y)
        beta = (-b_ * net.w + net.b * w_) / net.w**2
        mu = w_ * net.v + net.w * v_
        part = theory.velocities(net, x, y).sees.e @ theory.hessian(net, x, x).vectors
        by_beta, by_mu = spline_gradient(net, x, y)
        moved = -np.einsum("hij,jh->ih", metric(net), np.stack([by_beta, by_mu]))
        pairs = {
            "gradient": (part, slope),
            "hessian": (theory.hessian(net, x, y).matrix, hess),
            "beta": (results.beta, beta),
            "mu": (results.mu, mu),
            "function": (results.f, -theory.tangent_kernel(net, x) @ theory.velocities(net, x, y).sees.e),
            "metric": (moved, np.stack([beta, mu])),
        }
        for name, (ours, right) in pairs.items():
            worst[name] = max(worst[name], relative_deviation(ours, right))
        printed.append(relative_deviation(np.stack([-by_beta, -by_mu]), np.stack([beta, mu])))
    return {"cases": cases, **worst, "as printed": np.median(printed)}


def _loss(theta: Tensor, H: int, x: Floats, y: Floats) -> Tensor:
    w, b, v = theta[: 3 * H].reshape(3, H)
    e = v @ torch.relu(w[:, None] * torch.from_numpy(x) + b[:, None]) + theta[3 * H] - torch.from_numpy(y)
    return torch.sum(e * e) / 2


def _gradient(theta: Tensor, H: int, x: Floats, y: Floats) -> Floats:
    at = theta.clone().requires_grad_()
    return np.asarray(torch.autograd.grad(_loss(at, H, x, y), at)[0].numpy())


def _hessian(theta: Tensor, H: int, x: Floats, y: Floats) -> Floats:
    find: Any = torch.autograd.functional.hessian
    return np.asarray(find(lambda t: _loss(t, H, x, y), theta).numpy())


def judge_derivatives(numbers: Numbers) -> Judgement:
    """Judge gradient and Hessian are autograd's."""
    worst = max(numbers["gradient"], numbers["hessian"])
    return Judgement(
        "agrees" if worst < 1e-9 else "disagrees",
        f"Gradient and full Hessian are autograd's to {worst:.1g} at {numbers['cases']} networks.",
    )


def judge_velocities(numbers: Numbers) -> Judgement:
    """Judge whether the laws are autograd's."""
    worst = max(numbers["beta"], numbers["mu"])
    return Judgement(
        "agrees" if worst < 1e-9 else "disagrees",
        f"The laws are autograd's to {worst:.1g} with e = f - y, at {numbers['cases']} networks.",
    )


def judge_middle_terms(numbers: Numbers) -> Judgement:
    """Judge whether the velocities are the gradients that are printed as equal to them."""
    if numbers["as printed"] < 1e-9:
        return Judgement("agrees", f"The gradients are the velocities to {numbers['as printed']:.1g}.")
    return Judgement(
        "disagrees",
        f"-dl/dbeta and -dl/dmu are off by {numbers['as printed']:.0%} in the median; with the metric P in front they "
        f"are the velocities to {numbers['metric']:.1g}. The laws themselves hold (splines/theorem-5).",
    )


def measure_loss_slices(scale: Scale) -> dict[str, Any]:
    """Measure Theorem 3 (B.6).

    Slices in a breakpoint against the loss itself; curvatures; and the loss in (beta, mu) jointly.

    "fourth difference": of the loss along a line in all (beta, mu) within one pattern; 0 if it were quadratic.
    """
    rng, cases = np.random.default_rng(0), by_scale(scale, 50, 1000)
    worst, flat, types, fourth = 0.0, 0, np.zeros(4, np.int64), np.inf
    for _ in range(cases):
        net = random_shallow(rng, 4)
        form = splines.to_spline(net)
        x, y = np.sort(rng.uniform(-2, 2, 12)), rng.normal(size=12)
        results = theory.loss_slice(net, 0, x, y)
        for beta in rng.uniform(-2.5, 2.5, 5):
            moved = splines.Spline(form.o0, form.o1, np.append(beta, form.beta[1:]), form.mu, form.s)
            worst = max(
                worst, relative_deviation(results(np.array([beta])), np.array([0.5 * ((moved(x) - y) ** 2).sum()]))
            )
        flat += int((results.curvatures == 0).any())
        types += np.bincount(results.types(), minlength=4)
        fourth = min(fourth, _fourth_difference(x, y, rng))
    shares = dict(zip(("one-sided", "I", "II", "III"), types / types.sum(), strict=True))
    return {
        "cases": cases,
        "deviation": worst,
        "with a flat part": flat / cases,
        "types": shares,
        "fourth difference": fourth,
    }


def _fourth_difference(x: Floats, y: Floats, rng: np.random.Generator) -> float:
    """Return the fourth difference of 1/2 sum (mu (x - beta) - y)^2 along a line in (beta, mu), relative to its size.

    One unit that is on.
    """
    start, way = rng.normal(size=(2, 2))
    line = start + np.arange(5)[:, None] * way
    losses = [0.5 * ((mu * (x - beta) - y) ** 2).sum() for beta, mu in line]
    return float(abs(np.diff(losses, 4)[0]) / max(losses))


def judge_slices(numbers: Numbers) -> Judgement:
    """Judge slices are exact; what is said of curvature and of both coordinates is not."""
    words = ", ".join(f"type {name} {share:.1%}" for name, share in numbers["types"].items() if name != "one-sided")
    if numbers["deviation"] < 1e-9 and numbers["fourth difference"] < 1e-9 and not numbers["with a flat part"]:
        return Judgement(
            "agrees", f"Slices are the loss to {numbers['deviation']:.1g}, with knots at the data ({words})."
        )
    return Judgement(
        "disagrees",
        f"Slices are the loss to {numbers['deviation']:.1g}, with knots at the data ({words}). Not "
        "every piece has positive "
        f"curvature (it is 0 beyond the last datum a unit sees: {numbers['with a flat part']:.0%} of "
        "slices), and the loss is "
        "quartic, not quadratic, in beta and mu jointly.",
    )


CLAIMS = [
    Claim(
        "splines/theorem-3",
        "Theorem 3, degeneracies in the loss surface",
        "Where every piece is the least-squares line of its data, the loss has a critical point.",
        measure=measure_critical_points,
        judge=judge_critical,
    ),
    Claim(
        "splines/hessian-gram",
        "slide 'Hessian of the Loss and Degenerate Directions'",
        "At critical points the Hessian is the Gram matrix of {v x, w x + b, v} and 1, positive semi-definite.",
        measure=measure_critical_points,
        judge=judge_gram,
        misprints=("splines/psd",),
    ),
    Claim(
        "splines/hessian-definite",
        "slide 'Properties of Loss Hessian'",
        "The Hessian is positive definite but for five kinds of degenerate points.",
        measure=measure_critical_points,
        judge=judge_definite,
        misprints=("splines/hessian",),
    ),
    Claim(
        "splines/hessian-types",
        "slide 'Critical Points fall into 6 types'",
        "Shared patterns, units active on all, on no or on one datum, and zero weights add zero eigenvalues.",
        measure=measure_degenerate_types,
        judge=judge_types,
        misprints=("splines/b-zero", "splines/types"),
    ),
    Claim(
        "splines/hessian-full",
        "extra slides, gradients and Hessian",
        "Gradient and full Hessian of the loss in closed form.",
        measure=measure_derivatives,
        judge=judge_derivatives,
    ),
    Claim(
        "splines/theorem-5",
        "Theorem 5, equations (4) and (5)",
        "Breakpoints and delta-slopes move by beta' = (v / w)(r1 + beta rx) and mu' = -(v^2 + w^2) rx - w b r1.",
        measure=measure_derivatives,
        judge=judge_velocities,
        misprints=("splines/residual-sign",),
    ),
    Claim(
        "splines/theorem-5-gradient",
        "Theorem 5, middle terms of equations (4) and (5)",
        "These velocities are the gradients of the loss in the spline's coordinates: beta' = -dl/dbeta, mu' = -dl/dmu.",
        measure=measure_derivatives,
        judge=judge_middle_terms,
        misprints=("splines/theorem-5",),
    ),
    Claim(
        "splines/ntk",
        "slide 'Dynamical Laws for the Function'",
        "The function's values move by the residuals weighted with the similarity H' + G, the neural tangent kernel.",
        measure=measure_derivatives,
        judge=judge_deviations(1e-9, "function"),
    ),
    Claim(
        "splines/theorem-3-slice",
        "B.6, Theorem 3 (Figure 2)",
        (
            "The loss as a function of one breakpoint is a piecewise quadratic with knots at the data, of types I, II "
            "and III; it is a piecewise quadratic in (beta, mu)."
        ),
        measure=measure_loss_slices,
        judge=judge_slices,
        misprints=("splines/quadratic", "splines/curvature"),
    ),
]
