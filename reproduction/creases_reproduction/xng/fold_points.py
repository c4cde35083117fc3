"""Slides 26 to 31 of XNG: inserted layers, typical mis-predictions, dead layers and fold points."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn

import creases
from creases.growth.methods.folding import dead_layer_reason, decisions, local_fold_point, subnetwork_at
from creases.network import Place
from creases.problems import get
from creases_reproduction.claim import Claim, Judgement, Numbers
from creases_reproduction.experiment import Scale
from creases_reproduction.judges import judge_deviations
from creases_reproduction.xng.clusters import nearest_to_centroid
from creases_reproduction.xng.growth_experiment import GROWN, PROBLEMS, small_networks
from creases_reproduction.xng.networks import by_scale, trained_networks


def measure_equivalent_deepening(scale: Scale) -> dict[str, Any]:
    """Measure Slide 26: the largest change of any output when a layer is inserted behind the bend."""
    worst, cases = 0.0, 0
    for name in PROBLEMS:
        problem, batch = get(name), small_networks(name, 3 if scale == "quick" else 100, 0, GROWN)
        X = torch.from_numpy(problem.X).double()
        for k in range(batch.count):
            done = creases.deepen(batch.module(k).double(), "0", X=X)
            worst, cases = max(worst, done.change or 0.0), cases + 1
    return {"cases": cases, "change": worst}


#: What happens in less than this share of cases is rare.
RARE = 0.05

#: Numbers of clusters; the slide does not say how many.
CLUSTERS = (2, 3, 5, 10, 20)


def measure_nearest_samples(scale: Scale) -> dict[str, Any]:
    """Measure Slide 28: how often the instance nearest to the centroid of the costliest cluster is predicted right.

    For several numbers of clusters.
    """
    right, cases = dict.fromkeys(CLUSTERS, 0), 0
    for name in PROBLEMS:
        problem, batch = get(name), small_networks(name, by_scale(scale, 5, 30), 0, GROWN)
        X = problem.X.astype(np.float64)
        for n in range(batch.count):
            state = decisions(subnetwork_at(batch.module(n).double(), _place()).outputs(X), problem.y)
            if state.wrong.any():
                cases += 1
                for k in CLUSTERS:
                    right[k] += int(not state.wrong[nearest_to_centroid(X, state, k).instance])
    return {"cases": cases, "right": right, "share": {k: count / cases for k, count in right.items()}}


def _place() -> Place:
    return creases.places(nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 2)))[0]


def judge_nearest(numbers: Numbers) -> Judgement:
    """Judge Slide 28: whether the instance chosen is a mis-predicted one, for every number of clusters or for some."""
    shares = numbers["share"]
    words = ", ".join(f"{share:.0%} with k = {k}" for k, share in shares.items())
    words = f"Of {numbers['cases']} instances nearest to the centroid are predicted right: {words}"
    if not any(numbers["right"].values()):
        return Judgement("agrees", f"{words}.")
    if min(shares.values()) < RARE:
        return Judgement("agrees in kind", f"{words}; with enough clusters it is rarely predicted right.")
    return Judgement("disagrees", f"{words}.")


def measure_dead_layers(scale: Scale) -> dict[str, Any]:
    """Measure Slide 31: how many trained 2-2-2 networks have a hidden layer that no instance activates."""
    shares = {}
    for name in PROBLEMS:
        problem, batch = get(name), small_networks(name, by_scale(scale, 20, 1000), 0, GROWN)
        dead = [
            bool(dead_layer_reason(subnetwork_at(model, creases.places(model)[0]), problem.X.astype(np.float64)))
            for model in (batch.module(k).double() for k in range(batch.count))
        ]
        shares[name] = float(np.mean(dead))
    return {"shares": shares, "networks": by_scale(scale, 20, 1000)}


def judge_dead(numbers: Numbers) -> Judgement:
    """Judge Slide 30: whether dead layers occur."""
    words = ", ".join(f"{name} {share:.1%}" for name, share in numbers["shares"].items())
    return Judgement(
        "agrees" if max(numbers["shares"].values()) > 0 else "disagrees",
        f"Of {numbers['networks']} trained networks without an active unit: {words}.",
    )


def measure_nearest_point(scale: Scale) -> dict[str, Any]:
    """Measure Slide 31: the closed form of the nearest point on the boundary, against least squares."""
    worst, cases = 0.0, 0
    for problem, model in trained_networks(scale):
        net = creases.read(model)
        wrong = np.flatnonzero(np.asarray(net(problem.X)).argmax(axis=1) != problem.y)[:5]
        for t in wrong:
            j = int(problem.y[t])
            results = local_fold_point(net, problem.X[t].astype(np.float64), 1 - j, j)
            if isinstance(results, str):
                continue
            cases += 1
            x = problem.X[t]
            step = np.linalg.lstsq(
                results.normal[None], np.array([-(results.normal @ x + results.offset)]), rcond=None
            )[0]
            worst = max(worst, float(np.abs(x + step - results.x).max() / (1 + np.abs(results.x).max())))
    return {"deviation": worst, "cases": cases}


CLAIMS = [
    Claim(
        "xng/slide-26",
        "slide 26, equivalent network deepening",
        "A layer can be inserted that leaves the function as it is.",
        measure=measure_equivalent_deepening,
        judge=judge_deviations(1e-12, "change"),
    ),
    Claim(
        "xng/slide-28",
        "slide 28, Find Typical Mis-Predicted Instance",
        "The instance nearest to the centroid of the cluster with the highest mean loss is a mis-predicted one.",
        measure=measure_nearest_samples,
        judge=judge_nearest,
        incomparable="The slide does not print the number of clusters, which decides",
    ),
    Claim(
        "xng/slide-30",
        "slide 30",
        "There is a dead-layer problem: layers in which no unit is active.",
        measure=measure_dead_layers,
        judge=judge_dead,
    ),
    Claim(
        "xng/slide-31",
        "slide 31",
        "The nearest point of the boundary is x_t - (w . x_t + b) w / (w . w).",
        measure=measure_nearest_point,
        judge=judge_deviations(1e-12, "deviation"),
    ),
]
