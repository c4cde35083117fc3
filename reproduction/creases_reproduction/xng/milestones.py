"""What the XNG slides leave open or to their algorithms: typical instances, directions, the constrained optimum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
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
    subnetwork_at,
    typical_mispredictions,
    unit_values,
)
from creases.lab import Batch, train
from creases.network.surgery import Place, widen
from creases.problems import get
from creases_reproduction.experiment import Scale
from creases_reproduction.xng.runs import GROWN, LR, PROBLEMS, small_networks


@dataclass(frozen=True, eq=False)
class Proposed:
    """A fold that was proposed, with what tells how good other directions through its point would be."""

    score: EfficientScore
    D: Floats  #: (n, d) instances as seen from the fold point
    u: Floats  #: (d,) the direction proposed
    towards: Floats  #: (d,) of length 1: from the fold point to the typical instance

    def gain(self, u: Floats) -> float:
        """Predicted fall of the mean loss for a direction (d,)."""
        return float(self.score.evaluate(unit_values(self.D, u[None], 0.0)).gain[0])


def proposed(model: nn.Module, X: Floats, y: NDArray[np.int64]) -> Proposed | None:
    """The fold of a network with one hidden layer; None where there is none."""
    found = fold(model, "0", X, y)
    if not found.count:
        return None
    tail, about = subnetwork_at(model, creases.places(model)[0]), found.explanation
    state = decisions(tail.outputs(X), y)
    q, r = state.along(as_logits(tail.slopes(X, np.array(about["effect"]["contrast"]))))
    point = np.array(about["where"]["fold_point"])
    towards = X[about["why"]["instance"]] - point
    u = np.array(about["crease"]["normal"])
    return Proposed(EfficientScore(tail.features(X), q, r), X - point, u, towards / np.linalg.norm(towards))


def nearest_instances(scale: Scale) -> dict[str, Any]:
    """Slide 28: how often the instance nearest to the centroid of the costliest cluster is predicted right."""
    right, cases = 0, 0
    for name in PROBLEMS:
        problem, batch = get(name), small_networks(name, 5 if scale == "quick" else 200, 0, GROWN)
        X = problem.X.astype(np.float64)
        for k in range(batch.count):
            state = decisions(subnetwork_at(batch.module(k).double(), _place()).outputs(X), problem.y)
            found = typical_mispredictions(X, state.loss, state.wrong, k=3, restarts=2, seed=0, weight=state.weight)
            if found:
                first = found[0]  # of the largest mean loss
                nearest = first.members[((X[first.members] - first.centroid) ** 2).sum(axis=1).argmin()]
                right += int(not state.wrong[nearest])
                cases += 1
    return {"cases": cases, "right": right, "share": right / cases}


def equivalent_deepening(scale: Scale) -> dict[str, Any]:
    """Slide 26: the largest change of any output when a layer is inserted behind the bend."""
    worst, cases = 0.0, 0
    for name in PROBLEMS:
        problem, batch = get(name), small_networks(name, 3 if scale == "quick" else 100, 0, GROWN)
        X = torch.from_numpy(problem.X).double()
        for k in range(batch.count):
            done = creases.deepen(batch.module(k).double(), "0", data=X)
            worst, cases = max(worst, done.change or 0.0), cases + 1
    return {"cases": cases, "change": worst}


def where_units_act(scale: Scale) -> dict[str, Any]:
    """Lemma 3 and Theorem 5: which data a new unit acts on; how far from the fold point its crease meets the boundary.

    The crease of random incoming weights w, with the bias of Theorem 3 and with the slide's 0, in the plane.
    """
    rng, cases, wrong = np.random.default_rng(0), 50 if scale == "quick" else 1000, 0
    at_point: list[float] = []
    at_zero: list[float] = []
    X = rng.normal(size=(100, 2))
    for case in range(cases):
        model = Batch.initial(1, [2, 3, 2], seed=case, dtype=np.float64).module(0)
        w, normal, point = rng.normal(size=(3, 2))
        widen(model, creases.places(model)[0], *_unit(w, point), {"2": torch.ones(2, 1, dtype=torch.float64)})
        wrong += int((creases.read(model).sides(X)[:, -1] != ((X - point) @ w > 0)).sum())
        both = np.stack([normal, w])
        for bias, found in ((w @ point, at_point), (0.0, at_zero)):
            found.append(float(np.linalg.norm(np.linalg.solve(both, [normal @ point, bias]) - point)))
    return {"cases": cases, "wrong": wrong, "with the bias": np.median(at_point), "with none": np.median(at_zero)}


def _unit(w: Floats, point: Floats) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.from_numpy(w)[None], torch.tensor([-(w @ point)], dtype=torch.float64)


def _place() -> Place:
    return creases.places(nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 2)))[0]


def direction_against_instance(scale: Scale) -> dict[str, Any]:
    """Milestone 1: the proposed direction beside the slides' x_t - x_f: angle in degrees, and ratio of the gains.

    At trained 2-2-2 networks of the four problems; fold points are the same.
    """
    angles, ratios = [], []
    for name in PROBLEMS:
        problem, batch = get(name), small_networks(name, 3 if scale == "quick" else 100, 0, GROWN)
        for k in range(batch.count):
            one = proposed(batch.module(k).double(), problem.X.astype(np.float64), problem.y)
            if one is not None:
                angles.append(np.degrees(np.arccos(np.clip(one.u @ one.towards, -1, 1))))
                ratios.append(max(one.gain(one.towards), one.gain(-one.towards)) / one.gain(one.u))
    return {"cases": len(angles), "angle": np.median(angles), "ratio": np.median(ratios), "largest ratio": max(ratios)}


def closed_form_against_optimiser(scale: Scale) -> dict[str, Any]:
    """Milestone 3: gain of the closed form's direction over the best that a constrained optimiser finds.

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
        one = proposed(batch.module(k).double(), X, problem.y)
        if one is not None:
            starts = [one.towards, *rng.normal(size=(20 if scale == "full" else 5, X.shape[1]))]
            ratios.append(one.gain(one.u) / max(_optimised(one, first) for first in starts))
    return {
        "cases": len(ratios),
        "median": np.median(ratios),
        "least": min(ratios),
        "as good": np.mean(np.array(ratios) > 0.99),
    }


def _optimised(one: Proposed, start: Floats) -> float:
    """The gain that SLSQP ends with, under the constraint that the direction has length 1."""
    first = start / np.linalg.norm(start)
    size = one.gain(one.u)
    problem: Any = {
        "fun": lambda u: -one.gain(u) / size,
        "constraints": NonlinearConstraint(lambda u: u @ u, 1, 1),
        "options": {"maxiter": 100},
    }
    found = minimize(x0=first, method="SLSQP", **problem)
    return max(one.gain(found.x / np.linalg.norm(found.x)), one.gain(first))
