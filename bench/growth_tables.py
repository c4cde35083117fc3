"""Score GrowingClassifier and GrowingRegressor, as they come, on 13 tables: against linear models, MLPs and trees.

    OMP_NUM_THREADS=1 python bench/growth_tables.py
    OMP_NUM_THREADS=1 python bench/growth_tables.py --tables iris,linear --folds 3 --models growing,linear

Every model sees the same five folds in the same run, on one thread. Scores are accuracy, or R^2 for a regression.

- growing: the default parameters.
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
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn import datasets
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegressionCV, RidgeCV
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from creases import GrowingClassifier, GrowingRegressor

Array = NDArray[np.float64]
HIDDEN = [(32,), (100,), (100, 100)]
#: The search of the tuned MLP: 9 settings without early stopping, 3 with it.
GRID = [
    {"hidden_layer_sizes": HIDDEN, "alpha": [1e-4, 1e-2, 1.0], "early_stopping": [False]},
    {"hidden_layer_sizes": HIDDEN, "alpha": [1e-4], "early_stopping": [True]},
]
LINEAR, GROWING, BOOSTING = "linear", "growing", "boosting"
MODELS = (GROWING, LINEAR, "mlp", "tuned mlp", BOOSTING)


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
    if name == "tuned mlp":
        split = (StratifiedKFold if classification else KFold)(3, shuffle=True, random_state=seed)
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


@dataclass
class Result:
    """A model's scores on the folds of a table, its sizes and processor times."""

    scores: list[float] = field(default_factory=list)
    parameters: list[int | None] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def add(self, model: object, X: Array, y: Array, train: Array, test: Array) -> None:
        start = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # MLPs that have not converged within 200 iterations say so
            model.fit(X[train], y[train])
        self.seconds.append(time.process_time() - start)
        self.scores.append(float(model.score(X[test], y[test])))
        self.parameters.append(count_parameters(model))

    @property
    def mean(self) -> float:
        return float(np.mean(self.scores))

    def row(self) -> str:
        known = [count for count in self.parameters if count is not None]
        size = f"{np.mean(known):>9.0f}" if known else f"{'':>9}"
        return f"{self.mean:>8.4f} ± {standard_error(self.scores):<7.4f}{size}{np.mean(self.seconds):>10.2f}"


def standard_error(values: list[float] | Array) -> float:
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")


def lead_over_linear(results: dict[str, Result]) -> Array:
    """Return the differences of scores, growing minus linear, on the folds."""
    return np.subtract(results[GROWING].scores, results[LINEAR].scores)


def is_below(lead: Array) -> bool:
    return bool(lead.mean() < -standard_error(lead) - 1e-12)  # equal up to rounding is not below


def score_table(name: str, models: list[str], folds: int, seed: int) -> dict[str, Result]:
    classification = name in CLASSIFICATION
    X, y = TABLES[name]()
    split = (StratifiedKFold if classification else KFold)(folds, shuffle=True, random_state=seed)
    results = {model: Result() for model in models}
    for fold, (train, test) in enumerate(split.split(X, y)):
        for model, result in results.items():
            result.add(clone(make_model(model, classification, seed + fold)), X, y, train, test)
    kind = "accuracy" if classification else "R^2"
    print(f"\n{name}: {X.shape[0]} x {X.shape[1]}, {kind}, {folds} folds, seed {seed}")
    print(f"  {'':<11}{'mean':>8} ± {'error':<7}{'parameters':>10}{'CPU-s':>9}")
    for model, result in results.items():
        print(f"  {model:<11}{result.row()}")
    if {GROWING, LINEAR} <= results.keys():
        lead = lead_over_linear(results)
        below = is_below(lead)
        print(
            f"  growing - linear: {lead.mean():+.4f} ± {standard_error(lead):.4f}; "
            f"below linear by more than its standard error: {'yes' if below else 'no'}",
            flush=True,
        )
    return results


def print_summary(results: dict[str, dict[str, Result]]) -> None:
    models = [model for model in next(iter(results.values())) if model != BOOSTING]
    ranks = np.array([rankdata([-table[model].mean for model in models]) for table in results.values()])
    print(f"\nmean over {len(results)} tables (without boosting: mean rank, 1 is best)")
    for column, model in enumerate(models):
        mean = np.mean([table[model].mean for table in results.values()])
        seconds = np.sum([table[model].seconds for table in results.values()])
        error = standard_error(ranks[:, column])
        print(
            f"  {model:<11} rank {ranks[:, column].mean():.2f} ± {error:.2f}   score {mean:.4f}   {seconds:.0f} CPU-s"
        )
    if {GROWING, LINEAR} <= set(models):
        below = [name for name, table in results.items() if is_below(lead_over_linear(table))]
        print(f"  below linear by more than its standard error: {', '.join(below) or 'none'}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    with threadpool_limits(1):
        names, models = options.tables.split(","), options.models.split(",")
        print_summary({name: score_table(name, models, options.folds, options.seed) for name in names})


if __name__ == "__main__":
    main()
