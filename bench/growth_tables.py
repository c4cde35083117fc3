"""Score networks of GrowingClassifier and GrowingRegressor, with nothing set, on 13 tables beside other models.

    OMP_NUM_THREADS=1 python bench/growth_tables.py --jobs 2 --out out/growth-tables.json
    OMP_NUM_THREADS=1 python bench/growth_tables.py --tables iris,linear --folds 3 --models growing,linear

Every model sees the same five folds, each on one thread. Scores are accuracy, or R^2 for a regression.

- growing: ``GrowingClassifier()`` or ``GrowingRegressor()`` with nothing set but the seed.
- linear: LogisticRegressionCV (10 values of C, 5 folds) or RidgeCV (13 values of alpha), columns standardized.
- mlp: MLPClassifier or MLPRegressor with default parameters; columns, and targets of a regression, standardized.
- tuned mlp: the same, with hidden sizes, alpha and early stopping chosen by 3 folds of the training rows; its time
  includes that search.
- boosting: HistGradientBoosting with default parameters, for information; it is not ranked.

A difference to the linear model counts as a loss if its mean over the folds is below minus its standard error.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn import datasets
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegressionCV, RidgeCV
from sklearn.model_selection import GridSearchCV, KFold, ParameterGrid, StratifiedKFold
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from creases import GrowingClassifier, GrowingRegressor
from record import note, note_table
from tasks import add_options, run_tasks

Array = NDArray[np.float64]
INNER_FOLDS = 3
HIDDEN = [(32,), (100,), (100, 100)]
#: The search of the tuned MLP: 9 settings without early stopping, 3 with it.
GRID = [
    {"hidden_layer_sizes": HIDDEN, "alpha": [1e-4, 1e-2, 1.0], "early_stopping": [False]},
    {"hidden_layer_sizes": HIDDEN, "alpha": [1e-4], "early_stopping": [True]},
]
LINEAR, GROWING, TUNED, BOOSTING = "linear", "growing", "tuned mlp", "boosting"
MODELS = (GROWING, LINEAR, "mlp", TUNED, BOOSTING)


def moons() -> tuple[Array, Array]:
    """Two moons that overlap, among six columns of noise."""
    X, y = datasets.make_moons(800, noise=0.25, random_state=0)
    return np.hstack([X, np.random.default_rng(0).normal(size=(800, 6))]), y


def spirals() -> tuple[Array, Array]:
    """Two spirals of one and a half turns, and two columns of noise."""
    rng = np.random.default_rng(0)
    y, r = np.arange(1000) % 2, np.sqrt(rng.uniform(0.02, 1, 1000))
    angle = 2 * np.pi * (1.5 * r + y / 2)
    plane = np.stack([r * np.cos(angle), r * np.sin(angle)], axis=1) + rng.normal(0, 0.03, (1000, 2))
    return np.hstack([plane, rng.normal(0, 0.5, (1000, 2))]), y


def hinges() -> tuple[Array, Array]:
    """A sum of five hinges of eight columns, and noise with a tenth of its variance."""
    rng = np.random.default_rng(0)
    X, directions = rng.normal(size=(1000, 8)), rng.normal(size=(8, 5))
    y = np.maximum(X @ directions + rng.normal(size=5), 0) @ rng.choice([-1.0, 1.0], 5)
    return X, y + rng.normal(0, np.sqrt(0.1) * y.std(), 1000)


def linear() -> tuple[Array, Array]:
    """A linear function of ten columns, and noise of the same variance: no model is better than a linear one."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 10))
    y = X @ rng.normal(size=10)
    return X, y + rng.normal(0, y.std(), 500)


def linear_classes() -> tuple[Array, Array]:
    """Two classes whose log-odds are linear in ten columns."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 10))
    return X, (rng.uniform(size=600) < 1 / (1 + np.exp(-X @ rng.normal(size=10)))).astype(float)


Load = Callable[[], tuple[Array, Array]]
CLASSIFICATION: dict[str, Load] = {
    "iris": lambda: datasets.load_iris(return_X_y=True),
    "wine": lambda: datasets.load_wine(return_X_y=True),
    "breast_cancer": lambda: datasets.load_breast_cancer(return_X_y=True),
    "digits": lambda: datasets.load_digits(return_X_y=True),
    "moons": moons,
    "spirals": spirals,
    "hastie_10_2": lambda: datasets.make_hastie_10_2(1500, random_state=0),
    "linear_classes": linear_classes,
}
REGRESSION: dict[str, Load] = {
    "diabetes": lambda: datasets.load_diabetes(return_X_y=True),
    "friedman1": lambda: datasets.make_friedman1(800, noise=1.0, random_state=0),
    "friedman3": lambda: datasets.make_friedman3(800, noise=0.1, random_state=0),
    "hinges": hinges,
    "linear": linear,
}
TABLES = CLASSIFICATION | REGRESSION


def make_model(name: str, classification: bool, seed: int) -> object:
    if name == GROWING:
        return (GrowingClassifier if classification else GrowingRegressor)(random_state=seed)
    if name == LINEAR:
        model = LogisticRegressionCV(l1_ratios=(0,), use_legacy_attributes=False, max_iter=1000, random_state=seed)
        return make_pipeline(StandardScaler(), model if classification else RidgeCV(np.logspace(-3, 3, 13)))
    if name == BOOSTING:
        trees = HistGradientBoostingClassifier if classification else HistGradientBoostingRegressor
        return trees(random_state=seed)
    net = (MLPClassifier if classification else MLPRegressor)(random_state=seed)
    if name == TUNED:
        split = (StratifiedKFold if classification else KFold)(INNER_FOLDS, shuffle=True, random_state=seed)
        net = GridSearchCV(net, GRID, cv=split, n_jobs=1)
    pipe = make_pipeline(StandardScaler(), net)
    return pipe if classification else TransformedTargetRegressor(pipe, transformer=StandardScaler())


def count_parameters(model: object) -> int | None:
    """Return the number of weights and biases of a fitted model; None for trees."""
    if isinstance(model, GrowingClassifier | GrowingRegressor):
        return sum(parameter.numel() for parameter in model.module_.parameters())
    model = getattr(model, "regressor_", model)
    last = model[-1] if hasattr(model, "steps") else model
    last = getattr(last, "best_estimator_", last)
    if hasattr(last, "coefs_"):
        return sum(array.size for array in (*last.coefs_, *last.intercepts_))
    return np.size(last.coef_) + np.size(last.intercept_) if hasattr(last, "coef_") else None


@cache
def import_all() -> None:
    """Import what growth needs before a clock starts, once in a process."""
    X = np.random.default_rng(0).normal(size=(60, 2))
    GrowingClassifier(budget=2).fit(X, X[:, 0] > 0)


def measure(name: str, fold: int, folds: int, model: str, seed: int) -> dict[str, Any]:
    """Fit a model to a fold of a table; return its score, its parameters and the processor seconds of the fit."""
    classification = name in CLASSIFICATION
    X, y = TABLES[name]()
    split = (StratifiedKFold if classification else KFold)(folds, shuffle=True, random_state=seed)
    train, test = list(split.split(X, y))[fold]
    torch.set_num_threads(1)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # MLPs that have not converged within 200 iterations say so
        import_all()
        fitted = make_model(model, classification, seed + fold)
        start = time.process_time()
        fitted.fit(X[train], y[train])
        seconds = time.process_time() - start
        score = float(fitted.score(X[test], y[test]))
    return {"score": score, "parameters": count_parameters(fitted), "seconds": seconds}


@dataclass(frozen=True)
class Result:
    """A model's scores on the folds of a table, its mean size and its processor seconds."""

    scores: list[float]
    parameters: float | None
    seconds: float

    @property
    def mean(self) -> float:
        return float(np.mean(self.scores))

    @property
    def text(self) -> str:
        return f"{self.mean:.3f} ± {standard_error(self.scores):.3f}"


def collect(folds: list[dict[str, Any]]) -> Result:
    """Return the result of a model from its folds."""
    known = [fold["parameters"] for fold in folds if fold["parameters"] is not None]
    seconds = sum(fold["seconds"] for fold in folds)
    return Result([fold["score"] for fold in folds], float(np.mean(known)) if known else None, seconds)


def standard_error(values: list[float] | Array) -> float:
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")


def lead_over_linear(results: dict[str, Result]) -> Array:
    """Return the differences of scores, growing minus linear, on the folds."""
    return np.subtract(results[GROWING].scores, results[LINEAR].scores)


def is_below(lead: Array) -> bool:
    return bool(lead.mean() < -standard_error(lead) - 1e-12)  # equal up to rounding is not below


def print_table(name: str, results: dict[str, Result]) -> None:
    print(f"\n{name}\n  {'':<11}{'mean':>8} ± {'error':<7}{'parameters':>10}{'CPU-s':>9}")
    for model, result in results.items():
        size = "" if result.parameters is None else f"{result.parameters:.0f}"
        print(f"  {model:<11}{result.text:>18}{size:>10}{result.seconds:>9.1f}")
    if {GROWING, LINEAR} <= results.keys():
        lead = lead_over_linear(results)
        print(f"  growing - linear: {lead.mean():+.4f} ± {standard_error(lead):.4f}", flush=True)


def print_summary(results: dict[str, dict[str, Result]]) -> None:
    models = [model for model in next(iter(results.values())) if model != BOOSTING]
    ranks = np.array([rankdata([-table[model].mean for model in models]) for table in results.values()])
    print(f"\nmean over {len(results)} tables (without boosting: mean rank, 1 is best)")
    for column, model in enumerate(models):
        mean = np.mean([table[model].mean for table in results.values()])
        seconds = sum(table[model].seconds for table in results.values())
        error = standard_error(ranks[:, column])
        print(
            f"  {model:<11} rank {ranks[:, column].mean():.2f} ± {error:.2f}   score {mean:.4f}   {seconds:.0f} CPU-s"
        )


def note_results(results: dict[str, dict[str, Result]], folds: int) -> None:
    """Give names to what the page quotes."""
    rows = []
    for name, table in results.items():
        X, _ = TABLES[name]()
        scores = [table[GROWING].text, f"{table[LINEAR].mean:.3f}", table[TUNED].text, f"{table[BOOSTING].mean:.3f}"]
        sizes = [f"{table[model].parameters:,.0f}" for model in (GROWING, TUNED)]
        rows.append([name, f"{len(X):,} x {X.shape[1]}", *scores, *sizes])
    columns = ["table", "rows x columns", "growth", "linear", "tuned MLP", "boosting", "growth", "tuned MLP"]
    note_table("tables", columns, rows)
    leads = [round(table[GROWING].mean, 3) - round(table[TUNED].mean, 3) for table in results.values()]
    smaller = [table[TUNED].parameters / table[GROWING].parameters for table in results.values()]
    below = [name for name, table in results.items() if is_below(lead_over_linear(table))]
    note("count", str(len(results)))
    note("folds", str(folds))
    note("inner_folds", str(INNER_FOLDS))
    note("choices", str(len(ParameterGrid(GRID))))
    note("ahead", str(sum(lead > 0 for lead in leads)))
    note("level", str(sum(lead == 0 for lead in leads)))
    note("behind", str(sum(lead < 0 for lead in leads)))
    for model, suffix in {GROWING: "", TUNED: "_mlp"}.items():
        note(f"mean{suffix}", f"{np.mean([table[model].mean for table in results.values()]):.3f}")
        note(f"seconds{suffix}", f"{sum(table[model].seconds for table in results.values()):.0f}")
    note("fewer_least", f"{min(smaller):.1f}")
    note("fewer_median", f"{np.median(smaller):.0f}")
    note("fewer_most", f"{max(smaller):.0f}")
    note("below_linear", ", ".join(below) or "none of them")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    add_options(parser)
    options = parser.parse_args()
    names, models, folds = options.tables.split(","), options.models.split(","), range(options.folds)
    tasks = {
        f"{name}/{fold} of {options.folds}/{model}/{options.seed}": (name, fold, options.folds, model, options.seed)
        for name in names
        for model in models
        for fold in folds
    }
    each = iter(run_tasks(measure, tasks, options.jobs, options.out).values())  # in the order of the tasks
    results = {name: {model: collect([next(each) for _ in folds]) for model in models} for name in names}
    for name, table in results.items():
        print_table(name, table)
    print_summary(results)
    if set(models) == set(MODELS):
        note_results(results, options.folds)


if __name__ == "__main__":
    main()
