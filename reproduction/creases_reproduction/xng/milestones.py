"""Slide 38 of XNG, the next milestones: the direction of a fold, its point, and the constrained optimum."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import NonlinearConstraint, minimize
from torch import nn

import creases
from creases._typing import Floats
from creases.growth.methods import fold
from creases.growth.methods.folding import (
    EfficientScore,
    as_logits,
    decisions,
    fold_point,
    local_fold_point,
    subnetwork_at,
    typical_mispredictions,
    unit_values,
)
from creases.lab import Batch, train
from creases.problems import get
from creases_reproduction.claim import Claim, Judgement, Numbers, Picture
from creases_reproduction.experiment import Scale
from creases_reproduction.xng.growth_experiment import GROWN, LR, PROBLEMS, small_networks
from creases_reproduction.xng.method_comparison import compare_methods, rates_picture
from creases_reproduction.xng.networks import trained_networks


@dataclass(frozen=True, eq=False)
class ProposedFold:
    """A fold that was proposed, with what tells how good other directions through its point would be."""

    score: EfficientScore
    D: Floats  #: (n, d) instances as seen from the fold point
    u: Floats  #: (d,) the direction proposed
    towards: Floats  #: (d,) of length 1: from the fold point to the typical instance

    def gain(self, u: Floats) -> float:
        """Return predicted fall of the mean loss for a direction (d,)."""
        return float(self.score.evaluate(unit_values(self.D, u[None], 0.0)).gain[0])


def propose_fold(model: nn.Module, X: Floats, y: NDArray[np.int64]) -> ProposedFold | None:
    """Return the fold of a network with one hidden layer; None where there is none."""
    results = fold(model, "0", X, y)
    if not results.count:
        return None
    tail, about = subnetwork_at(model, creases.places(model)[0]), results.explanation
    state = decisions(tail.outputs(X), y)
    q, r = state.along(as_logits(tail.view(X).slopes(np.array(about["effect"]["contrast"]))))
    point = np.array(about["where"]["fold_point"])
    towards = X[about["why"]["instance"]] - point
    u = np.array(about["crease"]["normal"])
    return ProposedFold(EfficientScore(tail.view(X).features, q, r), X - point, u, towards / np.linalg.norm(towards))


def direction_against_instance(scale: Scale) -> dict[str, Any]:
    """Return Milestone 1.

    The proposed direction beside the slides' x_t - x_f: angle in degrees, and ratio of the gains.

    At trained 2-2-2 networks of the four problems; fold points are the same.
    """
    angles, ratios = [], []
    for name in PROBLEMS:
        problem, batch = get(name), small_networks(name, 3 if scale == "quick" else 100, 0, GROWN)
        for k in range(batch.count):
            item = propose_fold(batch.module(k).double(), problem.X.astype(np.float64), problem.y)
            if item is not None:
                angles.append(np.degrees(np.arccos(np.clip(item.u @ item.towards, -1, 1))))
                ratios.append(max(item.gain(item.towards), item.gain(-item.towards)) / item.gain(item.u))
    return {"cases": len(angles), "angle": np.median(angles), "ratio": np.median(ratios), "largest ratio": max(ratios)}


def judge_direction(numbers: Numbers) -> Judgement:
    """Judge Milestone 1: how much of the best direction's gain the slides' has."""
    grown = numbers["grown"]["methods"]
    words = (
        f"the direction x_t - x_f has {numbers['ratio']:.0%} of the best direction's predicted gain (median of "
        f"{numbers['cases']}), {numbers['angle']:.0f} degrees away; on sine, mean loss after training with it "
        f"{grown['A aligned']['loss']:.3f}, with the best {grown['A fold']['loss']:.3f}"
    )
    return Judgement("agrees" if numbers["ratio"] < 0.9 else "disagrees", f"At trained networks {words}.")


def feet_off_the_boundary(scale: Scale) -> dict[str, Any]:
    """Return Milestone 2: how many closed-form fold points are not on the boundary, and how the exact ones are found.

    At the typical mis-predictions of trained 2-2-2 networks.
    """
    results: dict[str, int] = {}
    feet, off = 0, 0
    for problem, model in trained_networks(scale):
        tail = subnetwork_at(model, creases.places(model)[0])
        state = decisions(tail.outputs(problem.X.astype(np.float64)), problem.y)
        X = problem.X.astype(np.float64)
        for item in typical_mispredictions(X, state.loss, state.wrong, k=3, restarts=2, seed=0, weight=state.weight):
            i, j = int(state.predicted[item.index]), int(state.true[item.index])
            raw = local_fold_point(tail.net, X[item.index], i, j)
            if not isinstance(raw, str):
                feet += 1
                off += raw.residual > 1e-9 * (1 + float(np.abs(state.z[item.index]).max()))
            exact = fold_point(tail.net, X, state.predicted, item.index, i, j)
            how = "none" if isinstance(exact, str) else exact.how
            results[how] = results.get(how, 0) + 1
    cases = sum(results.values())
    return {
        "cases": cases,
        "no_foot": cases - feet,
        "off": off,
        "useless": (cases - feet + off) / cases,
        "found": results,
    }


def judge_foot(numbers: Numbers) -> Judgement:
    """Judge Milestone 2: how many closed-form fold points are of no use."""
    grown = numbers["grown"]["methods"]
    words = (
        f"Of {numbers['cases']} typical mis-predictions {numbers['no_foot']} lie in a piece that does not tell the "
        f"classes apart and {numbers['off']} have their foot off the boundary: {numbers['useless']:.0%} in all. A "
        f"point of the effective boundary is found for all but {numbers['found'].get('none', 0)}. Mean loss after "
        f"training on sine: foot {grown['A foot']['loss']:.3f}, effective point {grown['A fold']['loss']:.3f}."
    )
    return Judgement("agrees" if numbers["useless"] > 0 else "disagrees", words)


def measure_closed_form(scale: Scale) -> dict[str, Any]:
    """Measure Milestone 3: gain of the closed form's direction over the best that a constrained optimiser finds.

    Networks of 3 units on the wine data (13 features, 3 classes) after a few steps of training. The optimiser (SLSQP)
    maximises the gain over directions of length 1 through the same fold point, from 20 random starts and from the
    slides' direction.
    """
    problem = get("wine")
    X = ((problem.X - problem.X.mean(axis=0)) / problem.X.std(axis=0)).astype(np.float64)
    start = Batch.initial(4 if scale == "quick" else 40, [X.shape[1], 3, 3], seed=0)
    batch = train(start, X.astype(np.float32), problem.y, epochs=20, lr=LR).batch
    rng, ratios = np.random.default_rng(0), []
    for k in range(batch.count):
        item = propose_fold(batch.module(k).double(), X, problem.y)
        if item is not None:
            starts = [item.towards, *rng.normal(size=(20 if scale == "full" else 5, X.shape[1]))]
            ratios.append(item.gain(item.u) / max(_optimize_gain(item, first) for first in starts))
    return {
        "cases": len(ratios),
        "median": np.median(ratios),
        "least": min(ratios),
        "as good": np.mean(np.array(ratios) > 0.99),
    }


def _optimize_gain(one: ProposedFold, start: Floats) -> float:
    """Return the gain that SLSQP ends with, under the constraint that the direction has length 1."""
    first = start / np.linalg.norm(start)
    size = one.gain(one.u)
    problem: Any = {
        "fun": lambda u: -one.gain(u) / size,
        "constraints": NonlinearConstraint(lambda u: u @ u, 1, 1),
        "options": {"maxiter": 100},
    }
    results = minimize(x0=first, method="SLSQP", **problem)
    return max(one.gain(results.x / np.linalg.norm(results.x)), one.gain(first))


def judge_closed_form(numbers: Numbers) -> Judgement:
    """Judge Milestone 3: the closed form beside a constrained optimiser."""
    words = (
        f"The closed form has {numbers['median']:.1%} (median of {numbers['cases']}; least "
        f"{numbers['least']:.1%}) of the "
        "gain that a constrained optimiser finds from many starts"
    )
    if numbers["least"] > 0.99:
        return Judgement("disagrees", f"{words}: a closed form solves it.")
    if numbers["median"] > 0.9:
        return Judgement(
            "agrees in kind", f"{words}: the difficulty can be avoided, the constraint is built into the unit."
        )
    return Judgement("agrees", f"{words}: it stays difficult.")


def measure_with_growth(
    problem: str, methods: tuple[str, ...], measure: Callable[[Scale], dict[str, Any]]
) -> Callable[[Scale], Any]:
    """Measure numbers of a fact, and beside them networks grown in two ways."""
    return lambda scale: {**measure(scale), "grown": compare_methods(problem, methods, methods)(scale)}


def grown_rates_picture(numbers: Numbers) -> Picture:
    """Picture the rates of success of the grown networks."""
    return rates_picture(numbers["grown"])


CLAIMS = [
    Claim(
        "xng/milestone-1",
        "slide 38, next milestone 1",
        "The direction x_t - x_f is not the best one for the new unit.",
        measure=measure_with_growth("sine", ("A aligned", "A fold"), direction_against_instance),
        judge=judge_direction,
        picture=grown_rates_picture,
        full="3 minutes of a core",
    ),
    Claim(
        "xng/milestone-2",
        "slide 38, next milestone 2",
        "The fold point need not lie on the effective activated linear segment.",
        measure=measure_with_growth("sine", ("A foot", "A fold"), feet_off_the_boundary),
        judge=judge_foot,
        picture=grown_rates_picture,
        full="3 minutes of a core",
    ),
    Claim(
        "xng/milestone-3",
        "slide 38, next milestone 3",
        "The constrained optimisation of the new unit is difficult.",
        measure=measure_closed_form,
        judge=judge_closed_form,
        incomparable="The slide names a difficulty to come, without a measure of it",
    ),
]
