"""Section 3.3 of the TINY paper: the amplitude of new units is chosen afterwards, "in order to speed up the learning".

A network 64-2-10 learns scikit-learn's digits for 100 steps of gradient descent, gets eight optimal units at several
sizes, and learns for 200 more. Sizes are relative to balanced weights (``sqrt(lambda)`` on both sides) and multiply
incoming and outgoing weights alike. Beside them is the printed rule: outgoing weights of length 1, and one factor of
all incoming weights by a line search.
"""

from __future__ import annotations

import copy

import numpy as np
import torch
from torch import Tensor, nn

from creases import problems
from creases.growth import Proposal, apply
from creases.growth.methods import tiny
from creases.growth.methods.expressivity import optimal_units, statistics
from creases.network import places
from creases_reproduction.claim import Claim, Curve, Judgement, Numbers, Picture
from creases_reproduction.experiment import Scale
from creases_reproduction.tiny.bottlenecks import perceptron

COUNT, RATE, BEFORE, AFTER = 8, 0.1, 100, 200
SIZES = (0.01, 0.1, 0.3, 1.0, 3.0)
UNGROWN, LINE_SEARCH = "not grown", "line search"

loss = nn.functional.cross_entropy


def measure_amplitudes(scale: Scale) -> Numbers:
    """Measure training losses right after growth and 200 steps later, by size and seed."""
    problem = problems.get("digits")
    x = torch.from_numpy(np.asarray(problem.X, np.float32) / 16)
    y = torch.from_numpy(np.asarray(problem.y, np.int64))
    seeds = range(5 if scale == "full" else 2)
    names = [UNGROWN, *map(str, SIZES), LINE_SEARCH]
    losses: dict[str, dict[str, list[float]]] = {name: {"at once": [], "after": []} for name in names}
    for seed in seeds:
        small = perceptron([64, 2, 10], nn.ReLU, seed)
        _descend(small, x, y, BEFORE)
        for name in names:
            model = copy.deepcopy(small)
            if name != UNGROWN:
                apply(_propose(small, x, y, name), model)
            losses[name]["at once"].append(float(loss(model(x), y).detach()))
            _descend(model, x, y, AFTER)
            losses[name]["after"].append(float(loss(model(x), y).detach()))
    return {"seeds": len(seeds), "losses": losses}


def _propose(model: nn.Module, x: Tensor, y: Tensor, name: str) -> Proposal:
    """Return eight optimal units at a size, or at the size of the printed rule."""
    place = places(model)[0]
    if name == LINE_SEARCH:
        return tiny(model, place, [(x, y)], loss, count=COUNT, fallback=None, above_noise=False, ridge=0.0)
    units = optimal_units(statistics(model, place, [(x, y)], loss), count=COUNT)
    fan_out = {path: columns.float() for path, columns in units.omega.items()}
    proposal = Proposal("tiny", place, units.alpha[:-1].T.float(), units.alpha[-1].float(), fan_out, 0.0, {})
    return proposal.scale(float(name), float(name))


def _descend(model: nn.Module, x: Tensor, y: Tensor, steps: int) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    for _ in range(steps):
        optimizer.zero_grad()
        loss(model(x), y).backward()  # type: ignore[no-untyped-call]
        optimizer.step()


def judge_amplitudes(numbers: Numbers) -> Judgement:
    """Judge whether learning depends on the amplitude, and whether the line search finds one of the better ones."""
    after = {name: np.array(part["after"]) for name, part in numbers["losses"].items()}
    sizes = [str(size) for size in SIZES]
    best = min(sizes, key=lambda size: float(after[size].mean()))
    words = (
        f"mean loss {AFTER} steps after growth: "
        + ", ".join(f"{after[size].mean():.2f} at size {size}" for size in sizes)
        + f"; {after[LINE_SEARCH].mean():.2f} at the size of the line search, "
        + f"{after[UNGROWN].mean():.2f} without growth"
    )
    if not after[best].max() < after[sizes[0]].min():
        return Judgement("disagrees", f"{words}: the spread over seeds is as large as the effect")
    if not after[LINE_SEARCH].max() < after[sizes[0]].min():
        return Judgement("disagrees", f"{words}: the line search does not speed up learning")
    return Judgement("agrees", words)


def picture_amplitudes(numbers: Numbers) -> Picture:
    """Picture the losses by size."""
    curves = []
    for when, name in (("at once", "right after growth"), ("after", f"after {AFTER} steps")):
        part = [numbers["losses"][str(size)][when] for size in SIZES]
        low, high = [min(values) for values in part], [max(values) for values in part]
        curves.append(Curve(name, SIZES, [float(np.mean(values)) for values in part], low, high))
    return Picture(curves=curves, x="size of new units", y="training loss", log=True)


CLAIMS = [
    Claim(
        "tiny/section-3.3",
        "section 3.3",
        "A factor of the new units' weights, by a line search, speeds up learning.",
        measure=measure_amplitudes,
        judge=judge_amplitudes,
        picture=picture_amplitudes,
        full="20 s",
    )
]
