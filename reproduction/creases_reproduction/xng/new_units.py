"""Slides 20 to 25 of XNG: the crease of a new unit, its gradients and its outgoing weights."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
import torch
from torch import nn

import creases
from creases._typing import Floats
from creases.growth.methods import fold
from creases.lab import Batch
from creases.network import widen
from creases_reproduction.claim import Claim, Judgement, Numbers
from creases_reproduction.experiment import Scale
from creases_reproduction.judges import judge_deviations
from creases_reproduction.xng.networks import by_scale, random_network, trained_networks


def measure_crease_through_point(scale: Scale) -> dict[str, Any]:
    """Measure Theorem 3.

    How far the new unit is from 0 at the fold point; Lemma 4: by how much outputs change, for each eps.

    The fold point is on the boundary: the two classes tie there.
    """
    crease, tie, cases = 0.0, 0.0, 0
    shares: dict[float, float] = dict.fromkeys((0.1, 0.05, 0.01, 0.001), 0.0)
    changes = dict.fromkeys(shares, 0.0)
    for problem, model in trained_networks(scale):
        proposal = fold(model, "0", problem.X, problem.y)
        if not proposal.count:
            continue
        cases += 1
        point = np.array(proposal.explanation["where"]["fold_point"])
        w, b = proposal.fan_in[0].numpy(), float(proposal.bias[0])
        crease = max(crease, abs(w @ point + b) / (np.abs(w) @ np.abs(point) + abs(b)))
        z = model(torch.from_numpy(point)).detach()
        tie = max(tie, proposal.explanation["where"]["residual"] / float(1 + z.abs().max()))
        for eps in shares:
            again = fold(model, "0", problem.X, problem.y, eps=eps).explanation["effect"]
            changes[eps] = max(changes[eps], again["largest_change"])
            shares[eps] = max(shares[eps], again["largest_change"] / again["bound"])
    return {"crease": crease, "tie": tie, "cases": cases, "share_of_bound": shares, "largest_change": changes}


def judge_lemma4(numbers: Numbers) -> Judgement:
    """Judge Lemma 4: changes within their bound."""
    changes, shares = numbers["largest_change"], numbers["share_of_bound"]
    words = ", ".join(f"{change:.2g} for eps = {eps}" for eps, change in changes.items())
    falls = all(
        change <= 1.01 * float(eps) * max(changes.values()) / max(map(float, changes))
        for eps, change in changes.items()
    )
    fits = falls and max(shares.values()) < 1 + 1e-9
    return Judgement(
        "agrees" if fits else "disagrees",
        f"Largest change of an output over {numbers['cases']} folds: {words}; never above the bound.",
    )


def measure_bias_on_crease(scale: Scale) -> dict[str, Any]:
    """Measure Lemma 1: spread of w . x over points of the crease, for w in the span of w_ij and u, and for other w."""
    rng, count = np.random.default_rng(0), by_scale(scale, 100, 10_000)
    inside, outside = 0.0, np.inf
    for _ in range(count):
        n = int(rng.integers(3, 9))
        normal, free = rng.normal(size=(2, n))
        u = free - (free @ normal) / (normal @ normal) * normal
        point = rng.normal(size=n)
        along = np.linalg.svd(np.stack([normal, u]))[2][2:]  # (n - 2, n) directions of the crease
        crease = point + rng.normal(size=(20, n - 2)) @ along
        alpha, beta = rng.normal(size=2)
        w = alpha * normal + beta * u
        size = np.linalg.norm(w) * np.abs(crease).max()
        inside = max(inside, float(np.ptp(crease @ w) / size))
        other = w + rng.normal() * along[0]
        outside = min(outside, float(np.ptp(crease @ other) / size))
    return {"cases": count, "in the span": inside, "least spread outside": outside}


def judge_span(numbers: Numbers) -> Judgement:
    """Judge Lemma 1: constant on the crease in the span, and not outside."""
    inside, outside = numbers["in the span"], numbers["least spread outside"]
    words = (
        f"over {numbers['cases']} cases w . x varies by {inside:.1g} on the crease for w in the span, "
        f"else by {outside:.1g} or more"
    )
    return Judgement("agrees" if inside < 1e-12 < outside else "disagrees", f"Holds: {words}.")


def measure_gradient_at_input(scale: Scale) -> dict[str, Any]:
    """Measure Lemma 2 and Theorem 4.

    The loss's gradient at the input of a grown network, by the formula and by autograd.

    The slide's second term has no factor for the new unit's side; it is compared where that unit is active and where
    it is not. "turn": sine of the angle between what the unit adds to the gradient and its incoming weights.
    """
    rng, count = np.random.default_rng(0), by_scale(scale, 50, 2000)
    results = {"active": 0.0, "inactive, as printed": 0.0, "inactive, without the term": 0.0, "turn": 0.0}
    for case in range(count):
        model = random_network([3, 4, 2], case)
        old = deepcopy(model)
        w, b, v = (torch.from_numpy(rng.normal(size=shape)) for shape in ((1, 3), 1, (2, 1)))
        widen(model, creases.places(model)[0], w, b, {"2": v})
        x = torch.from_numpy(rng.normal(size=(1, 3))).requires_grad_()
        y = model(x)
        y.retain_grad()
        torch.autograd.backward(nn.functional.cross_entropy(y, torch.tensor([case % 2])))
        assert x.grad is not None
        assert y.grad is not None
        slope, g = x.grad[0].numpy(), y.grad[0].numpy()
        piece = creases.read(old).piece(x.detach().numpy()[0])
        first, second = piece.J.T @ g, float(v[:, 0].numpy() @ g) * w[0].numpy()
        size = np.linalg.norm(first) + np.linalg.norm(second)
        active = bool((x @ w.T + b).item() > 0)
        printed = float(np.abs(first + second - slope).max() / size)
        name = "active" if active else "inactive, as printed"
        results[name] = max(results[name], printed)
        if active:
            added = slope - first
            results["turn"] = max(results["turn"], _sine_of_angle(added, w[0].numpy()))
        else:
            least = float(np.abs(first - slope).max() / size)
            results["inactive, without the term"] = max(results["inactive, without the term"], least)
    return {"cases": count, **results}


def _sine_of_angle(a: Floats, b: Floats) -> float:
    """Return the sine of the angle between two vectors."""
    rest = a - (a @ b) / (b @ b) * b
    return float(np.linalg.norm(rest) / np.linalg.norm(a))


def judge_lemma2(numbers: Numbers) -> Judgement:
    """Judge Lemma 2: right where the new unit is active."""
    words = (
        f"Where the new unit is active the formula is autograd's to {numbers['active']:.1g}; where it is not, the "
        f"second term must be left out (as printed it is wrong by up to {numbers['inactive, as printed']:.0%})"
    )
    if max(numbers["active"], numbers["inactive, as printed"]) < 1e-12:
        return Judgement("agrees", "The formula is autograd's, whether the new unit is active or not.")
    return Judgement(
        "disagrees",
        f"{words}: a factor for the unit's side is missing.",
    )


def measure_unit_activity(scale: Scale) -> dict[str, Any]:
    """Measure Lemma 3 and Theorem 5.

    Which data a new unit acts on; how far from the fold point its crease meets the boundary.

    The crease of random incoming weights w with the bias of Theorem 3 and with none, and of weights with w . x_f = 0
    and no bias, as slide 29 has them; in the plane.
    """
    rng, cases, wrong = np.random.default_rng(0), 50 if scale == "quick" else 1000, 0
    at_point: list[float] = []
    at_zero: list[float] = []
    as_printed: list[float] = []
    X = rng.normal(size=(100, 2))
    for case in range(cases):
        model = Batch.initial(1, [2, 3, 2], seed=case, dtype=np.float64).module(0)
        w, normal, point = rng.normal(size=(3, 2))
        widen(model, creases.places(model)[0], *_unit_through(w, point), {"2": torch.ones(2, 1, dtype=torch.float64)})
        wrong += int((creases.read(model).sides(X)[:, -1] != ((X - point) @ w > 0)).sum())
        through = w - (w @ point) / (point @ point) * point  # w . x_f = 0
        for weights, bias, collected in (
            (w, w @ point, at_point),
            (w, 0.0, at_zero),
            (through, 0.0, as_printed),
        ):
            meet = np.linalg.solve(np.stack([normal, weights]), [normal @ point, bias])
            collected.append(float(np.linalg.norm(meet - point)))
    return {
        "cases": cases,
        "wrong": wrong,
        "with the bias": np.median(at_point),
        "with none": np.median(at_zero),
        "as printed": np.median(as_printed),
    }


def _unit_through(w: Floats, point: Floats) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.from_numpy(w)[None], torch.tensor([-(w @ point)], dtype=torch.float64)


def judge_location(numbers: Numbers) -> Judgement:
    """Judge Theorem 5: whether the weights alone determine where the crease meets the boundary."""
    words = (
        f"Without a bias, weights with w . x_f = 0 put the crease {numbers['as printed']:.1g} from the fold point, "
        f"others {numbers['with none']:.2g} (medians of {numbers['cases']})"
    )
    if numbers["as printed"] > 1e-9:
        return Judgement("disagrees", f"{words}: the crease misses the point for which its weights were chosen.")
    if numbers["with the bias"] > 1e-9:
        return Judgement("agrees", f"{words}; a bias does not change that.")
    return Judgement(
        "agrees",
        f"{words}, as slide 29 has it; with b = -w . x_f it is {numbers['with the bias']:.1g} whatever w is, so that "
        "weights and bias together determine the place.",
    )


def measure_gradient_of_new_unit(scale: Scale) -> dict[str, Any]:
    """Measure Lemma 5.

    The largest gradient of a new unit's incoming weights and bias, without and with outgoing weights.
    """
    results = {"zero": 0.0, "small": np.inf}
    cases = 0
    for problem, model in trained_networks(scale):
        proposal = fold(model, "0", problem.X, problem.y)
        if not proposal.count:
            continue
        cases += 1
        for name, factor in (("zero", 0.0), ("small", 1.0)):
            grown = deepcopy(model)
            out = {path: factor * columns for path, columns in proposal.fan_out.items()}
            widen(grown, proposal.place, proposal.fan_in, proposal.bias, out)
            loss = nn.functional.cross_entropy(grown(torch.from_numpy(problem.X).double()), torch.from_numpy(problem.y))
            torch.autograd.backward(loss)
            layer: Any = grown[0]
            grads = [layer.weight.grad[-1].abs().max().item(), layer.bias.grad[-1].abs().item()]
            results[name] = max(results[name], *grads) if name == "zero" else min(results[name], max(grads))
    return {"cases": cases, "zero outgoing weights": results["zero"], "small ones, at least": results["small"]}


def judge_lemma5(numbers: Numbers) -> Judgement:
    """Judge Lemma 5: no gradient at zero, some beyond."""
    zero, small = numbers["zero outgoing weights"], numbers["small ones, at least"]
    holds = zero == 0 and small > 0
    return Judgement(
        "agrees" if holds else "disagrees",
        (
            f"Over {numbers['cases']} folds the gradient is {zero:g} for zero outgoing weights, at least "
            f"{small:.1g} for small ones."
        ),
    )


CLAIMS = [
    Claim(
        "xng/theorem-3",
        "Theorem 3, slide 20",
        "A crease at the fold point x_f is made by a new unit of the first layer with w . x_f + b = 0.",
        measure=measure_crease_through_point,
        judge=judge_deviations(1e-10, "crease", "tie"),
        misprints=("xng/slide-29-rows", "xng/slide-27"),
    ),
    Claim(
        "xng/lemma-1",
        "Lemma 1, slide 22",
        "If and only if w is a combination of w_ij and u, one b makes w . x + b = 0 on the whole crease.",
        measure=measure_bias_on_crease,
        judge=judge_span,
    ),
    Claim(
        "xng/lemma-2",
        "Lemma 2, slide 23",
        "dL/dx of the grown network is (W_B s' W_A)' dL/dy + (w_B . dL/dy) w_A.",
        measure=measure_gradient_at_input,
        judge=judge_lemma2,
        misprints=("xng/lemma-2",),
    ),
    Claim(
        "xng/theorem-4",
        "Theorem 4, slide 23",
        "Incoming weights give the direction of the gradient's new part, outgoing ones only its length.",
        measure=measure_gradient_at_input,
        judge=judge_deviations(1e-12, "turn"),
    ),
    Claim(
        "xng/lemma-3",
        "Lemma 3, slide 24",
        "The incoming weights determine which inputs activate the new unit.",
        measure=measure_unit_activity,
        judge=judge_deviations(0, "wrong"),
    ),
    Claim(
        "xng/theorem-5",
        "Theorem 5, slide 24",
        "The incoming weights determine the location of the fold point.",
        measure=measure_unit_activity,
        judge=judge_location,
    ),
    Claim(
        "xng/lemma-4",
        "Lemma 4, slide 25",
        "Small outgoing weights keep the affine maps: the outputs' change goes to 0 with them.",
        measure=measure_crease_through_point,
        judge=judge_lemma4,
    ),
    Claim(
        "xng/lemma-5",
        "Lemma 5, slide 25",
        "Outgoing weights must not be exactly zero, or no gradient reaches the new incoming weights and bias.",
        measure=measure_gradient_of_new_unit,
        judge=judge_lemma5,
        misprints=("xng/slide-29-zero",),
    ),
]
