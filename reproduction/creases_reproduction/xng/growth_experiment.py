"""The growth experiment of the XNG slides: 2-3-2 networks from random weights against 2-2-2 networks that grew.

The slides count 65 of 1000 networks that solve their problem from random weights, and 360 of 1000 that grew once; their
data are not given. Here are four problems in the plane, and every growth method:

- random: 2-3-2 from random weights, trained for 5000 steps;
- A: 2-2-2, trained for 2000 steps, grown by one unit, and trained for 3000 more;
- B: as A, but after 500 and 1000 steps a redundant unit is removed and grown again by the same method.

Steps are full-batch Adam with learning rate 0.02, begun afresh after each change of a network. Where a method has no
unit to propose (a dead layer, say), a random one is taken, and counted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from creases._validation import check_choice, check_count
from creases.growth import Proposal, apply
from creases.growth.methods import fold, gradmax, random_units, tiny
from creases.lab import Batch, train
from creases.network import Place, places
from creases.problems import Problem, get
from creases_reproduction.statistics import wilson_interval
from creases_reproduction.xng.crease_search import crease_search
from creases_reproduction.xng.printed_rule import empty_proposal, propose_as_printed
from creases_reproduction.xng.redundant_units import remove_redundant_unit

PROBLEMS = ("sine", "quadratic", "circle", "overlapping_quadratic")


#: Networks of each method.
SCALES = {"quick": 50, "full": 1000}


#: Adam steps in all, those before the growth, and those after which redundant units are re-grown in B.
STEPS, GROWN, RECYCLED = 5000, 2000, (500, 1000)


LR = 0.02


#: How much of the loss the removal of a redundant unit may cost.
TOLERANCE = 0.01


#: A network succeeds within this share of the way from the best known loss to the linear model's.
NEAR = 0.05


#: Other shares, at which rates of success are told, too.
NEARS = (0.01, 0.05, 0.1, 0.2)


Propose = Callable[[nn.Module, Place, Problem, int], Proposal]


def _batch(problem: Problem) -> list[tuple[torch.Tensor, torch.Tensor]]:
    return [(torch.from_numpy(problem.X), torch.from_numpy(problem.y))]


def _random(model: nn.Module, place: Place, problem: Problem, seed: int) -> Proposal:
    return random_units(model, place, _batch(problem), nn.CrossEntropyLoss(), fan_out=0.05, seed=seed)


def _gradmax(model: nn.Module, place: Place, problem: Problem, seed: int) -> Proposal:
    return gradmax(model, place, _batch(problem), nn.CrossEntropyLoss())


def _tiny(model: nn.Module, place: Place, problem: Problem, seed: int) -> Proposal:
    options: dict[str, Any] = {"count": 1, "fallback": None, "above_noise": False, "ridge": 0.0}
    return tiny(model, place, _batch(problem), nn.CrossEntropyLoss(), **options)


def _slide_29(model: nn.Module, place: Place, problem: Problem, seed: int) -> Proposal:
    proposal = propose_as_printed(model, place, problem.X, problem.y, seed)
    return empty_proposal(place) if proposal is None else proposal


def _foot_aligned(model: nn.Module, place: Place, problem: Problem, seed: int) -> Proposal:
    return fold(model, place, problem.X, problem.y, point="foot", direction="alignment", choose="mean")


def _fold(model: nn.Module, place: Place, problem: Problem, seed: int) -> Proposal:
    return fold(model, place, problem.X, problem.y)


def _aligned(model: nn.Module, place: Place, problem: Problem, seed: int) -> Proposal:
    return fold(model, place, problem.X, problem.y, direction="alignment")


def _foot(model: nn.Module, place: Place, problem: Problem, seed: int) -> Proposal:
    return fold(model, place, problem.X, problem.y, point="foot")


def _search(model: nn.Module, place: Place, problem: Problem, seed: int) -> Proposal:
    return crease_search(model, place, problem.X, problem.y)


#: How each method proposes a unit.
GROWTHS: dict[str, Propose] = {
    "random": _random,
    "gradmax": _gradmax,
    "tiny": _tiny,
    "slide-29": _slide_29,  # as printed: no bias, weights orthogonal to the fold point
    "foot-aligned": _foot_aligned,  # along x_t - x_f, the boundary's normal: the crease is the boundary
    "fold": _fold,
    "aligned": _aligned,  # a fold but for the direction x_t - x_f
    "foot": _foot,  # a fold but for the point, which is that of slide 31
    "search": _search,
}


METHODS = ("random 2-3-2", *(f"A {name}" for name in GROWTHS), "B random", "B tiny", "B fold", "B search")


@dataclass(frozen=True)
class MethodResult:
    """What became of the networks of one method on one problem."""

    problem: str
    method: str
    networks: int
    loss: float  #: mean over networks, of the mean cross-entropy on the training data
    error: float  #: standard error of that mean
    successes: int
    low: float  #: 95 % Wilson interval of the rate of success
    high: float
    refused: int  #: growths for which the method had no unit, and a random one was taken
    recycled: int  #: redundant units that were re-grown
    rates: Mapping[str, float] = field(default_factory=dict)  #: of success at each of NEARS

    @property
    def rate(self) -> float:
        """Share of networks that succeeded."""
        return self.successes / self.networks


def run_growth_experiment(
    scale: Literal["quick", "full"] = "quick",
    *,
    networks: int | None = None,
    problems: Sequence[str] = PROBLEMS,
    methods: Sequence[str] = METHODS,
    seed: int = 0,
    n_jobs: int = 1,
) -> list[MethodResult]:
    """Run the experiment; one row for each problem and method.

    Success: a loss within 5 % of the way from the best known loss (the lowest that any network of the problem's rows
    reached) to that of the linear model.

    Parameters
    ----------
    scale, networks
        "full" has 1000 networks of each method, "quick" 50; or any number.
    methods
        Some of ``METHODS``, such as "random 2-3-2", "A fold", "B tiny". Methods that start from 2-2-2 networks start
        from the same.
    n_jobs
        Processes, each with a method on a problem at a time.
    """
    check_choice(scale, SCALES, "scale")
    for method in methods:
        check_choice(method, METHODS, "methods")
    count = check_count(SCALES[scale] if networks is None else networks, "networks")
    from joblib import Parallel, delayed

    pairs = [(name, method) for name in problems for method in methods]
    ends = Parallel(n_jobs=n_jobs)(delayed(_final_losses)(method, get(name), count, seed) for name, method in pairs)
    rows = []
    for name in problems:
        part = {method: end for (other, method), end in zip(pairs, ends, strict=True) if other == name}
        best = min(float(losses.min()) for losses, _, _ in part.values())
        linear = linear_loss(get(name))
        rows += [_summarize(name, method, end, best, linear) for method, end in part.items()]
    return rows


def linear_loss(problem: Problem) -> float:
    """Return the least mean cross-entropy of a linear model."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import log_loss

    model = LogisticRegression(C=1e6, max_iter=1000).fit(problem.X, problem.y)
    return float(log_loss(problem.y, model.predict_proba(problem.X)))


def _summarize(
    problem: str,
    method: str,
    end: tuple[NDArray[np.float64], int, int],
    best: float,
    linear: float,
) -> MethodResult:
    losses, refused, recycled = end
    n, way = len(losses), (losses - best) / (linear - best)
    successes = int((way <= NEAR).sum())
    error = float(losses.std(ddof=1)) / n**0.5 if n > 1 else float("nan")
    return MethodResult(
        problem,
        method,
        n,
        float(losses.mean()),
        error,
        successes,
        *wilson_interval(successes, n),
        refused,
        recycled,
        {str(near): float((way <= near).mean()) for near in NEARS},
    )


def _final_losses(method: str, problem: Problem, count: int, seed: int) -> tuple[NDArray[np.float64], int, int]:
    """Return the losses (count,) that a method's networks end with; growths refused; units re-grown."""
    if method == METHODS[0]:
        batch = _train_batch(Batch.initial(count, [2, 3, 2], seed=seed + 1), problem, STEPS)
        return batch.losses(problem.X, problem.y), 0, 0
    group, name = method.split()
    times = (*RECYCLED, GROWN) if group == "B" else (GROWN,)
    batch, done, refused, recycled = small_networks(problem.name, count, seed, times[0]), times[0], 0, 0
    for at in times:
        batch, done = _train_batch(batch, problem, at - done), at
        change = partial(_grow if at == GROWN else _recycle, name, problem)
        batch, refusals, changes = _change_all(batch, change, seed + at)
        refused, recycled = refused + refusals, recycled + (changes if at != GROWN else 0)
    return _train_batch(batch, problem, STEPS - done).losses(problem.X, problem.y), refused, recycled


@lru_cache(maxsize=2)
def small_networks(name: str, count: int, seed: int, steps: int) -> Batch:
    """Return the 2-2-2 networks that all methods start from."""
    return _train_batch(Batch.initial(count, [2, 2, 2], seed=seed), get(name), steps)


def _train_batch(batch: Batch, problem: Problem, steps: int) -> Batch:
    return train(batch, problem.X, problem.y, epochs=steps, lr=LR).batch


def _change_all(
    batch: Batch, change: Callable[[nn.Sequential, int], tuple[nn.Sequential, bool, bool]], seed: int
) -> tuple[Batch, int, int]:
    """Return all networks of a batch after a change of each.

    How many growths were refused, and how many were changed.
    """
    each = [change(batch.module(n), seed + 10_000 * n) for n in range(batch.count)]
    models, refused, changed = zip(*each, strict=True)
    return Batch.from_modules(models), sum(refused), sum(changed)


@lru_cache
def _place(width: int) -> Place:
    """Return the hidden layer of a 2-width-2 network."""
    return places(nn.Sequential(nn.Linear(2, width), nn.ReLU(), nn.Linear(width, 2)))[0]


def _grow(name: str, problem: Problem, model: nn.Sequential, seed: int) -> tuple[nn.Sequential, bool, bool]:
    """Return a network with one more unit, by a method or, where it has none, at random; whether it had none."""
    place = _place(model[-1].in_features)
    proposal = GROWTHS[name](model, place, problem, seed)
    refused = not proposal.count
    apply(_random(model, place, problem, seed) if refused else proposal, model)
    return model, refused, True


def _recycle(name: str, problem: Problem, model: nn.Sequential, seed: int) -> tuple[nn.Sequential, bool, bool]:
    """Return a network whose redundant unit, if it has one, is grown again."""
    place = _place(model[-1].in_features)
    smaller = remove_redundant_unit(model, place, *_batch(problem)[0], tolerance=TOLERANCE)
    return (model, False, False) if smaller is None else _grow(name, problem, smaller, seed)


def to_markdown(rows: Sequence[MethodResult]) -> str:
    """Return the rows as a table: a line for each method, a column for each problem."""
    problems, methods = (list(dict.fromkeys(part)) for part in zip(*((r.problem, r.method) for r in rows), strict=True))
    cells = {(row.problem, row.method): row for row in rows}
    lines = [["", *problems], ["---"] * (1 + len(problems))]
    for method in methods:
        results = [cells.get((problem, method)) for problem in problems]
        lines.append([method, *("" if row is None else _cell(row) for row in results)])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _cell(row: MethodResult) -> str:
    return f"{row.loss:.3f} ± {row.error:.3f}; {row.rate:.1%} ({row.low:.1%} to {row.high:.1%})"
