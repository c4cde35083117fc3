"""Count how often small networks solve a problem: grown by three methods, and fixed, at equal compute.

    OMP_NUM_THREADS=1 NUMBA_NUM_THREADS=1 python bench/growth_small.py --jobs 2 --out out/growth-small.json
    OMP_NUM_THREADS=1 NUMBA_NUM_THREADS=1 python bench/growth_small.py --problems sine,spirals --networks 50

Seven problems in the plane of 400 points each, networks of one hidden layer, 200 of each kind (seeds seed .. seed +
199). Training is full-batch Adam with the learning rate annealed by a cosine from 0.02 to 0 over the run's compute.

- fixed: the final width from the start, PyTorch's initialisation. "fixed he": weights of variance 2 / inputs, which
  is what random growth gives to its units.
- random, tiny, fold: from the first width of the problem to the next at 1/20, 1/10 and 1/5 of the compute (the last
  of these for each step in width), new units by the method (asked again until there are enough), Adam's moments begun
  afresh. Where it has no more, random ones with outgoing weights of zero take their place; "filled" is their share.

Compute is counted in multiply-adds: three forward passes for a training step; a growth step as it is counted in the
first network. All kinds of a problem have the same, that of STEPS steps of the final width.

Success: a loss within 5 % of the way from the best known one (the lowest of any network of the problem in this run) to
that of the linear model.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from torch import nn

from creases.growth import Proposal, apply
from creases.growth._budget import count_cost
from creases.growth.methods import fold, random_units, tiny
from creases.lab import Batch, train
from creases.network import places
from creases.problems import Problem, get, make_problem
from record import note, note_table
from tasks import add_options, run_tasks

#: Widths of the hidden layer from the start to the end of growth.
WIDTHS = {
    "sine": (2, 3),
    "quadratic": (2, 3),
    "circle": (2, 3),
    "overlapping_quadratic": (2, 3),
    "spirals": (4, 8, 16),
    "checkerboard": (4, 8, 16),
    "rings": (4, 8, 16),
}
#: Shares of the compute at which the last steps of width happen.
SHARES = (1 / 20, 1 / 10, 1 / 5)
STEPS, LR, PHASES, NEAR = 2000, 0.02, 40, 0.05
FIXED: dict[str, Literal["torch", "he"]] = {"fixed": "torch", "fixed he": "he"}  # with its initialisation
METHODS = (*FIXED, "random", "tiny", "fold")
#: Methods and problems as the page names them, where that differs.
LABELS = {"fixed he": "fixed, He weights", "tiny": "TINY", "overlapping_quadratic": "overlapping quadratic"}

loss = nn.CrossEntropyLoss()


def checkerboard(n: int = 400, seed: int = 0) -> Problem:
    """Points of a square of 3 x 3 fields in two classes."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 3, (n, 2))
    return make_problem(
        "checkerboard",
        X,
        np.floor(X).sum(axis=1).astype(np.int64) % 2,
        rng,
        noise=0.0,
        standardized=True,
        classes=("light", "dark"),
        description="points of a board of 3 x 3 fields",
        citation="made here",
    )


def rings(n: int = 400, seed: int = 0) -> Problem:
    """Points of a disc and of two rings around it, with gaps between them, in two classes by turns."""
    rng = np.random.default_rng(seed)
    ring = rng.choice(3, n, p=np.array([1, 3, 5]) / 9)
    radius = ring + rng.uniform(0.0, 0.6, n)
    angle = rng.uniform(0, 2 * math.pi, n)
    return make_problem(
        "rings",
        radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1),
        ring % 2,
        rng,
        noise=0.0,
        standardized=True,
        classes=("disc and outer ring", "inner ring"),
        description="points of a disc and two rings, with gaps between them",
        citation="made here",
    )


def load(name: str) -> Problem:
    return {"checkerboard": checkerboard, "rings": rings}[name]() if name in ("checkerboard", "rings") else get(name)


# -- growth -----------------------------------------------------------------------------------------------------------


def propose(method: str, model: nn.Module, problem: Problem, count: int, seed: int) -> Proposal:
    """Return at most ``count`` units by a method."""
    place = places(model)[0]
    batches = [(torch.from_numpy(problem.X), torch.from_numpy(problem.y))]
    if method == "tiny":
        return tiny(model, place, batches, loss, count=count, seed=seed)
    if method == "fold":
        return fold(model, place, problem.X, problem.y, count=count, seed=seed)
    return random_units(model, place, batches, loss, count=count, fan_out=0.0, seed=seed)


def widen(method: str, problem: Problem, count: int, model: nn.Sequential, seed: int) -> tuple[nn.Sequential, int, int]:
    """Return the network with ``count`` more units, how many of them are fillers, and the multiply-adds of it."""
    missing = count
    with count_cost() as cost:
        while missing:
            proposal = propose(method, model, problem, missing, seed)
            if not proposal.count:
                break
            apply(proposal, model)
            missing -= proposal.count
    if missing:
        apply(propose("random", model, problem, missing, seed), model)
    return model, missing, cost.multiply_adds


def widen_all(batch: Batch, change: Callable[..., tuple[nn.Sequential, int, int]], seed: int) -> tuple:
    """Return the batch with more units, the number of fillers, and the multiply-adds for one network."""
    models, missing, costs = zip(*(change(batch.module(n), seed + n) for n in range(batch.count)), strict=True)
    return Batch.from_modules(models), sum(missing), costs[0]


# -- training ---------------------------------------------------------------------------------------------------------


def step_cost(width: int, problem: Problem) -> int:
    """Return the multiply-adds of a training step of all points: three forward passes."""
    return 3 * (problem.X.shape[1] + len(problem.classes)) * width * len(problem.X)


def train_to(batch: Batch, problem: Problem, width: int, spent: float, goal: float, budget: float) -> tuple:
    """Train until ``goal`` multiply-adds are spent; the learning rate falls by a cosine over the whole budget."""
    cost, moments = step_cost(width, problem), None
    while spent + cost <= goal:
        ends = min(goal, (math.floor(spent / budget * PHASES + 1e-9) + 1) * budget / PHASES)
        steps = max(1, int((ends - spent) / cost))
        middle = (spent + steps * cost / 2) / budget
        lr = LR * (1 + math.cos(math.pi * min(middle, 1.0))) / 2
        result = train(batch, problem.X, problem.y, epochs=steps, lr=lr, moments=moments)
        batch, moments, spent = result.batch, result.moments, spent + steps * cost
    return batch, spent


def measure(name: str, method: str, networks: int, steps: int, seed: int) -> dict[str, Any]:
    """Return the final losses (networks,) of a method, the share of its units that are fillers, and its seconds."""
    torch.set_num_threads(1)
    start = time.process_time()
    problem, widths = load(name), WIDTHS[name]
    budget, outputs, fillers = float(steps * step_cost(widths[-1], problem)), len(problem.classes), 0
    if method in FIXED:
        batch = Batch.initial(networks, [2, widths[-1], outputs], seed=seed, init=FIXED[method])
        spent = 0.0
    else:
        batch, spent = Batch.initial(networks, [2, widths[0], outputs], seed=seed), 0.0
        for share, width, wider in zip(SHARES[1 - len(widths) :], widths[:-1], widths[1:], strict=True):
            batch, spent = train_to(batch, problem, width, spent, share * budget, budget)
            change = partial(widen, method, problem, wider - width)
            batch, missing, cost = widen_all(batch, change, seed + 1000 * width)
            spent, fillers = spent + cost, fillers + missing
    batch, _ = train_to(batch, problem, widths[-1], spent, budget, budget)
    losses = batch.losses(problem.X, problem.y).tolist()
    filled = fillers / (networks * (widths[-1] - widths[0]))
    return {"filled": filled, "cpu_seconds": time.process_time() - start, "losses": losses}


def linear_loss(problem: Problem) -> float:
    """Return the least mean cross-entropy of a linear model."""
    model = LogisticRegression(C=1e6, max_iter=1000).fit(problem.X, problem.y)
    return float(log_loss(problem.y, model.predict_proba(problem.X)))


def report(name: str, results: dict[str, dict[str, Any]]) -> dict[str, float]:
    """Print a line for each method on a problem, and return the rates of success."""
    ends = {method: np.array(result["losses"]) for method, result in results.items()}
    best, linear = min(float(losses.min()) for losses in ends.values()), linear_loss(load(name))
    solved = best + NEAR * (linear - best)
    print(f"\n{name}: loss: best {best:.4f}, linear {linear:.4f}, solved below {solved:.4f}")
    print(f"  {'':<9}{'success':>9} ± {'error':<7}{'median loss':>11}{'quartiles':>17}{'filled':>8}{'CPU-s':>9}")
    rates = {}
    for method, losses in ends.items():
        rates[method] = rate = float((losses <= solved).mean())
        error = math.sqrt(rate * (1 - rate) / len(losses))
        low, median, high = np.quantile(losses, [0.25, 0.5, 0.75])
        spread, filled, took = f"{low:.4f} - {high:.4f}", results[method]["filled"], results[method]["cpu_seconds"]
        print(f"  {method:<9}{rate:>9.1%} ± {error:<7.1%}{median:>11.4f}{spread:>17}{filled:>8.0%}{took:>9.1f}")
    return rates


def note_rates(rates: dict[str, dict[str, float]], networks: int) -> None:
    """Give names to what the page quotes, rates in percent."""
    rows = [
        [LABELS.get(name, name), f"{WIDTHS[name][0]} to {WIDTHS[name][-1]}", *(f"{100 * rate[m]:.1f}" for m in METHODS)]
        for name, rate in rates.items()
    ]
    note_table("problems", ["", "widths", *(LABELS.get(method, method) for method in METHODS)], rows)
    errors = [math.sqrt(rate * (1 - rate) / networks) for each in rates.values() for rate in each.values()]
    note("points", str(len(load("sine").X)))
    note("networks", str(networks))
    note("near", f"{NEAR:.0%}".replace("%", " %"))
    note("error", f"{100 * max(errors):.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", default=",".join(WIDTHS))
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--networks", type=int, default=200)
    parser.add_argument("--steps", type=int, default=STEPS, help="of the fixed network")
    parser.add_argument("--seed", type=int, default=0)
    add_options(parser)
    options = parser.parse_args()
    methods, names = options.methods.split(","), options.problems.split(",")
    settings = (options.networks, options.steps, options.seed)
    keys = {(name, method): "/".join(map(str, (name, method, *settings))) for name in names for method in methods}
    results = run_tasks(measure, {key: (*at, *settings) for at, key in keys.items()}, options.jobs, options.out)
    rates = [report(name, {method: results[keys[name, method]] for method in methods}) for name in names]
    if set(methods) == set(METHODS):
        note_rates(dict(zip(names, rates, strict=True)), options.networks)
    print(f"\nmean over {len(rates)} problems")
    for method in methods:
        each = np.array([rate[method] for rate in rates])
        error = math.sqrt(float((each * (1 - each)).sum()) / options.networks) / len(each)
        print(f"  {method:<9}{each.mean():>9.1%} ± {error:.1%}")


if __name__ == "__main__":
    main()
