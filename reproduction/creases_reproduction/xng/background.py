"""Slides 7 to 13 of XNG: GradMax, best fits of small networks, depth and local linearity."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
import torch
from torch import nn

import creases
from creases import splines
from creases.growth import apply
from creases.growth.methods import fold, gradmax
from creases.lab import Batch, train
from creases.network import Place, widen
from creases.problems import get
from creases_reproduction.claim import Claim, Judgement, Numbers
from creases_reproduction.experiment import Scale
from creases_reproduction.judges import judge_deviations
from creases_reproduction.xng.growth_experiment import GROWN, LR, PROBLEMS
from creases_reproduction.xng.method_comparison import (
    QUICK_METHODS,
    comparison,
    describe_rates,
    is_lower,
    rates_picture,
)
from creases_reproduction.xng.networks import BOX, by_scale, random_network, trained_networks
from creases_reproduction.xng.shallow import describe_construction, measure_construction


def measure_gradmax(scale: Scale) -> dict[str, Any]:
    """Measure Slide 7: squared gradient of new incoming weights for GradMax's outgoing ones over that for random ones.

    Units with tanh, whose slope at 0 is 1, so that incoming weights can be zero as in the source.
    """
    rng, best, ratios = np.random.default_rng(0), 0.0, []
    for seed in range(by_scale(scale, 5, 50)):
        layers = Batch.initial(1, [6, 5, 8], seed=seed, dtype=np.float64).module(0)
        model = nn.Sequential(layers[0], nn.Tanh(), layers[2])
        X, y = torch.from_numpy(rng.normal(size=(100, 6))), torch.from_numpy(rng.normal(size=(100, 8)))
        proposal = gradmax(model, "0", [(X, y)], nn.MSELoss())
        out = proposal.fan_out["2"]
        ours = _gradient_norm(model, proposal.place, X, y, out)
        best = max(best, abs(ours / proposal.explanation["gradient"] - 1))
        for _ in range(20):
            drawn = torch.from_numpy(rng.normal(size=out.shape))
            ratios.append(_gradient_norm(model, proposal.place, X, y, drawn * out.norm() / drawn.norm()) / ours)
    return {"cases": len(ratios), "largest ratio": max(ratios), "mean ratio": np.mean(ratios), "against autograd": best}


def _gradient_norm(model: nn.Sequential, place: Place, X: torch.Tensor, y: torch.Tensor, out: torch.Tensor) -> float:
    """Return squared norm of the gradient of a new unit's incoming weights and bias, these zero, by autograd."""
    grown = deepcopy(model)
    widen(grown, place, torch.zeros(1, X.shape[1], dtype=X.dtype), torch.zeros(1, dtype=X.dtype), {"2": out})
    torch.autograd.backward(nn.functional.mse_loss(grown(X), y))
    layer: Any = grown[0]
    return float(layer.weight.grad[-1].square().sum() + layer.bias.grad[-1].square())


def judge_svd(numbers: Numbers) -> Judgement:
    """Judge Slide 7: no other choice has a larger gradient."""
    best = numbers["largest ratio"]
    words = f"{numbers['cases']} random choices reach at most {best:.0%} of it, {numbers['mean ratio']:.0%} in the mean"
    return Judgement(
        "agrees" if best <= 1 + 1e-9 else "disagrees",
        f"The squared gradient is largest at the first singular vector: {words}.",
    )


def judge_gradmax(numbers: Numbers) -> Judgement:
    """Judge whether GradMax's networks end above folded ones."""
    results = numbers["methods"]
    grown, drawn = results["A gradmax"], results["A random"]
    words = (
        f"mean losses: GradMax {grown['loss']:.3f}, random growth {drawn['loss']:.3f}, folding "
        f"{results['A fold']['loss']:.3f}"
    )
    if is_lower(results["A fold"], grown):
        return Judgement(
            "agrees in kind",
            f"GradMax's networks end higher than folded ones ({words}) and solve their problem as often: "
            f"{describe_rates(numbers, 'A gradmax', 'A fold')}. What is meant by stable is not said.",
        )
    return Judgement("disagrees", f"No clear difference with {numbers['networks']} networks: {words}.")


def measure_majority(scale: Scale) -> dict[str, Any]:
    """Measure Theorem 1: shares of the data that small networks come to predict right."""
    results = {}
    for name in PROBLEMS:
        problem = get(name)
        done = train(
            Batch.initial(by_scale(scale, 20, 1000), [2, 2, 2], seed=0), problem.X, problem.y, epochs=GROWN, lr=LR
        )
        results[name] = {
            "mean": done.accuracy.mean(),
            "least": done.accuracy.min(),
            "majority": (done.accuracy > 0.5).mean(),
        }
    return {"problems": results, "networks": by_scale(scale, 20, 1000)}


def judge_majority(numbers: Numbers) -> Judgement:
    """Judge Theorem 1: whether most networks predict more than half of the data right."""
    results = numbers["problems"]
    words = ", ".join(
        f"{name} {spread['mean']:.0%} right ({spread['majority']:.0%} of networks)" for name, spread in results.items()
    )
    return Judgement(
        "agrees" if all(spread["majority"] > 0.5 for spread in results.values()) else "disagrees",
        f"More than half right: {words}.",
    )


def measure_deep_as_shallow(scale: Scale) -> dict[str, Any]:
    """Measure Theorem 2.

    Deep networks of one input written as shallow ones; creases of deep networks in the plane that bend.

    A network with one hidden layer bends along whole straight lines. A unit of a second layer whose crease has pieces
    of different direction is beyond it, whatever its width.
    """
    count = by_scale(scale, 10, 200)
    x = np.linspace(-4, 4, 801)
    worst, units, bent = 0.0, 0, 0
    for seed in range(count):
        model = random_network([1, 6, 6, 6, 1], seed)
        shallow = splines.to_shallow(splines.deep_breakpoints(model).pieces)
        deep = model(torch.from_numpy(x)[:, None])[:, 0].detach().numpy()
        worst = max(worst, float(np.abs(shallow(x) - deep).max() / np.abs(deep).max()))
        units = max(units, shallow.width)
        part = creases.plane(creases.read(random_network([2, 6, 6, 1], seed)), BOX)
        bent += _has_bent_crease(part, first=6)
    return {
        "deviation": worst,
        "cases": count,
        "widest": units,
        "bent": bent / count,
        "more layers": measure_construction(scale),
    }


def _has_bent_crease(part: Any, first: int) -> bool:
    """Whether the crease of some unit after the first ones has edges of different directions."""
    steps = part.vertices[part.edges[:, 1]] - part.vertices[part.edges[:, 0]]
    length = np.linalg.norm(steps, axis=1, keepdims=True)
    long = length[:, 0] > 1e-6
    directions = steps / np.where(length > 0, length, 1.0)
    for unit in np.unique(part.edge_units[part.edge_units >= first]):
        values_of = directions[(part.edge_units == unit) & long]
        if (
            len(values_of) > 1
            and np.abs(values_of[:, 0] * values_of[0, 1] - values_of[:, 1] * values_of[0, 0]).max() > 1e-6
        ):
            return True
    return False


def judge_shallow(numbers: Numbers) -> Judgement:
    """Judge Theorem 2: whether deep networks of one input, and of two, can be written with one hidden layer."""
    words = (
        f"One input: {numbers['cases']} networks of 3 layers written with one hidden layer, deviation "
        f"{numbers['deviation']:.1g}. Two inputs: {numbers['bent']:.0%} of networks of two layers have a crease that "
        "changes direction; one hidden layer bends along whole lines only"
    )
    if numbers["deviation"] > 1e-9:
        return Judgement("disagrees", f"{words}. The theorem fails for one input.")
    if numbers["bent"]:
        more = describe_construction(numbers["more layers"])
        return Judgement("disagrees", f"{words}, so the theorem fails from two inputs on. With more layers: {more}.")
    return Judgement("agrees", f"{words}.")


def measure_local_linearity(scale: Scale) -> dict[str, Any]:
    """Measure Proposition 1: every region's affine function against the network's values at the region's corners."""
    count, worst, regions = by_scale(scale, 5, 50), 0.0, 0
    for seed in range(count):
        part = creases.plane(creases.read(random_network([2, 12, 12, 2], seed)), BOX)
        piece = part.pieces()
        values_of = np.repeat(np.arange(part.count), np.diff(part.starts))
        affine = np.einsum("cij,cj->ci", piece.J[values_of], part.vertices[part.corners]) + piece.y[values_of]
        values = part.values[part.corners]
        worst = max(worst, float(np.abs(affine - values).max() / np.abs(values).max()))
        regions += part.count
    return {"deviation": worst, "cases": regions, "networks": count}


def measure_more_regions(scale: Scale) -> dict[str, Any]:
    """Measure Observation 1: regions of trained 2-2-2 networks before and after a fold."""
    before, after = [], []
    for problem, model in trained_networks(scale):
        proposal = fold(model, "0", problem.X, problem.y)
        if proposal.count:
            before.append(creases.plane(creases.read(model), BOX).count)
            apply(proposal, model)
            after.append(creases.plane(creases.read(model), BOX).count)
    gained = np.subtract(after, before)
    return {
        "cases": len(before),
        "before": np.mean(before),
        "after": np.mean(after),
        "more": (gained > 0).mean(),
        "fewer": (gained < 0).mean(),
    }


def judge_regions(numbers: Numbers) -> Judgement:
    """Judge Observation 1: whether folds make more regions."""
    words = (
        f"{numbers['cases']} folds: {numbers['before']:.2f} regions before, {numbers['after']:.2f} after; "
        f"more in {numbers['more']:.0%}, fewer in {numbers['fewer']:.0%}"
    )
    return Judgement("agrees" if numbers["more"] > 0.95 and not numbers["fewer"] else "disagrees", f"{words}.")


CLAIMS = [
    Claim(
        "xng/slide-7",
        "slide 7 (GradMax)",
        (
            "Outgoing weights that maximise the gradient of the new incoming weights are given by the singular value "
            "decomposition."
        ),
        measure=measure_gradmax,
        judge=judge_svd,
    ),
    Claim(
        "xng/slide-8",
        "slide 8",
        "GradMax, which sets incoming weights to zero and looks at no direction, is not always stable in convergence.",
        judge=judge_gradmax,
        incomparable="The slide names neither a measure of stability nor data",
        picture=rates_picture,
        **comparison("quadratic", QUICK_METHODS),
    ),
    Claim(
        "xng/theorem-1",
        "Theorem 1, slide 10",
        "A network too small for its data tends to a best fit that predicts the majority of them right.",
        measure=measure_majority,
        judge=judge_majority,
    ),
    Claim(
        "xng/theorem-2",
        "Theorem 2, slide 11",
        "Deep ReLU networks are equivalently replicable by shallow ones with a single hidden layer.",
        measure=measure_deep_as_shallow,
        full="five minutes of one core",
        judge=judge_shallow,
        misprints=("xng/theorem-2",),
    ),
    Claim(
        "xng/proposition-1",
        "Proposition 1, slide 12",
        "What a ReLU network approximates is locally linear: one linear segment for each activation pattern.",
        measure=measure_local_linearity,
        judge=judge_deviations(1e-12, "deviation"),
    ),
    Claim(
        "xng/observation-1",
        "Observation 1, slide 13",
        "A new unit adds non-linearity: the network divides its input space into more pieces.",
        measure=measure_more_regions,
        judge=judge_regions,
    ),
]
