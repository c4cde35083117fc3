"""Score models of plain tables with nothing set, beside other models on the same raw columns.

    python bench/plain_tables.py --jobs 2
    python bench/plain_tables.py --only trend,clock      measures these again
    python bench/plain_tables.py --show                  prints what is there
    python bench/plain_tables.py --raw --jobs 2          the tables of raw_table_sources.py, whose cells need work

The tables are those of ``plain_table_sources.py``. Every model is fitted to the same rows and scored by accuracy or R^2
on a thousand others, drawn at random, that none has seen. ``creases.fit_table(table, "y")`` gets the columns as they
are and sets its own test rows aside. Other models get the columns as a person would give them: numbers as they are,
text that means a number as that number, other text as categories; text that is different in more than half of the rows
is left out.

- boosting: HistGradientBoosting with default parameters; categories native, by the mean target where there are more
  than 255.
- lightgbm: LightGBM with default parameters (``pip install creases[bench]``); categories native.
- linear: RidgeCV or LogisticRegression, columns standardized; categories and codes one-hot.
- lasso: LassoCV, where columns outnumber rows.

Results go into a file as they come; what it has is not measured again unless ``--only`` names it. CPU-seconds are those
of a process with one thread, after a fit of another small table.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import time
import traceback
import warnings
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy: a process has one thread

import numpy as np
import pandas as pd

from plain_table_sources import TABLES, PlainTable
from record import note, note_table
from tables import describe_fits, read_results, write_results
from tables import describe_run as describe_process

OTHERS = ("boosting", "lightgbm", "linear", "lasso")
TREES = ("boosting", "lightgbm")

#: By how much a score may be below that of the better of the trees.
SLACK = 0.005

#: From here a score is printed as 1.000.
EXACT = 0.9995

#: Categories that boosting takes.
NATIVE = 255


def as_numbers(table: PlainTable, train: pd.DataFrame, test: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the inputs of both parts as numbers and categories, as a person would give them to a model."""
    parts: list[dict[str, Any]] = [{}, {}]
    for name in train.columns.drop("y"):
        for part, rows in zip(parts, (train, test), strict=True):
            x = rows[name]
            if name in table.read:
                cells = pd.DataFrame([np.atleast_1d(table.read[name](text)) for text in x])
                part |= {f"{name} {k}": cells[k] for k in cells}
            elif pd.api.types.is_numeric_dtype(x):
                part[name] = x
            elif 2 * train[name].nunique() <= len(train) or len(train) < 10:
                part[name] = x.astype(pd.CategoricalDtype(sorted(train[name].unique())))
    return pd.DataFrame(parts[0]), pd.DataFrame(parts[1])


def make_other(model: str, table: PlainTable, X: pd.DataFrame) -> Any:
    """Return one of the other models, with its usual encoding, to be fitted."""
    from lightgbm import LGBMClassifier, LGBMRegressor
    from sklearn import compose, ensemble, impute, linear_model, pipeline, preprocessing

    is_class = table.task == "classification"
    categories = [name for name in X if isinstance(X[name].dtype, pd.CategoricalDtype)]
    if model == "lightgbm":
        return (LGBMClassifier if is_class else LGBMRegressor)(n_jobs=1, random_state=0, verbose=-1)
    if model == "boosting":
        make = ensemble.HistGradientBoostingClassifier if is_class else ensemble.HistGradientBoostingRegressor
        many = [name for name in categories if len(X[name].cat.categories) > NATIVE]
        encode = compose.make_column_transformer(
            (preprocessing.TargetEncoder(random_state=0), many),
            remainder="passthrough",
            verbose_feature_names_out=False,
        ).set_output(transform="pandas")
        return pipeline.make_pipeline(encode, make(categorical_features="from_dtype", random_state=0))
    discrete = [*categories, *table.codes]
    encode = compose.make_column_transformer(
        (preprocessing.OneHotEncoder(handle_unknown="ignore", sparse_output=False), discrete),
        remainder=pipeline.make_pipeline(impute.SimpleImputer(add_indicator=True), preprocessing.StandardScaler()),
    )
    if model == "lasso":
        return pipeline.make_pipeline(encode, linear_model.LassoCV(random_state=0))
    line = linear_model.LogisticRegression(max_iter=1000) if is_class else linear_model.RidgeCV(np.logspace(-3, 3, 13))
    return pipeline.make_pipeline(encode, line)


def score(table: PlainTable, y: Any, predicted: Any) -> float:
    """Return accuracy or R^2."""
    if table.task == "classification":
        return float(np.mean(np.asarray(y, str) == np.asarray(predicted, str)))
    y = np.asarray(y, float)
    return float(1 - np.mean((np.asarray(predicted, float) - y) ** 2) / np.var(y))


def measure_other(model: str, table: PlainTable) -> dict[str, Any]:
    """Fit one of the other models; return its score and CPU-seconds."""
    train, test = table.split()
    X, unseen = as_numbers(table, train, test)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.process_time()
        fitted = make_other(model, table, X).fit(X, train["y"])
        seconds = time.process_time() - start
        return {"score": score(table, test["y"], fitted.predict(unseen)), "cpu_seconds": round(seconds, 3)}


def measure_creases(table: PlainTable) -> dict[str, Any]:
    """Fit a table with nothing set; return the score, CPU-seconds, warnings, and what became of the columns."""
    import creases

    train, test = table.split()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        start = time.process_time()
        model = creases.fit_table(train, "y")
        seconds = time.process_time() - start
    encoding = model.schema.encoding
    return {
        "score": score(table, test["y"], model.predict(test.drop(columns="y"))),
        "cpu_seconds": round(seconds, 3),
        "warnings": [str(each.message) for each in said],
        "left_out": {} if encoding is None else encoding.left_out,
        "kinds": {} if encoding is None else encoding.kinds,
        "inputs": len(model.schema.features),
        "stages": [step.stage for step in model.function.steps if step.is_kept],
    }


def warm_up() -> None:
    """Load and compile what a first fit needs."""
    import creases

    rng = np.random.default_rng(0)
    a, b = rng.uniform(size=(2, 200))
    creases.fit_table(pd.DataFrame({"a": a, "b": b, "y": np.sin(5 * a) + b}), "y")


def measure(name: str) -> dict[str, Any]:
    """Return the results of all models of a table; an error as its text."""
    table = TABLES[name]
    train, _ = table.split()
    models = [model for model in OTHERS if model != "lasso" or (train.shape[1] > len(train) > 2)]
    found: dict[str, Any] = {"rows": len(train), "columns": train.shape[1] - 1, "task": table.task}
    for model in ("creases", *models):
        try:
            found[model] = measure_creases(table) if model == "creases" else measure_other(model, table)
        except Exception as error:
            lines = traceback.format_exc().splitlines()
            found[model] = {"error": f"{type(error).__name__}: {error}", "trace": lines[-6:]}
    return found


def run(options: argparse.Namespace) -> None:
    """Measure what is not there yet, or what is named."""
    results = read_results(options.out)
    done = results["results"]
    names = options.only or [name for name in TABLES if name not in done]
    if not names:
        return
    results["runs"].append(describe_process())
    options.out.parent.mkdir(parents=True, exist_ok=True)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(options.jobs, mp_context=context, initializer=warm_up) as pool:
        futures = {pool.submit(measure, name): name for name in names}
        for future in as_completed(futures):
            done[futures[future]] = future.result()
            write_results(options.out, results)
            print(" ".join(cells(futures[future], future.result())), flush=True)


def best_tree(found: dict[str, Any]) -> float:
    """Return the score of the better of the trees."""
    return max(found[model].get("score", -np.inf) for model in TREES)


def is_low(name: str, found: dict[str, Any]) -> bool:
    """Return whether creases is below the better tree by more than the slack, or below 1 where the rule is exact."""
    ours = found["creases"].get("score", -np.inf)
    return ours < best_tree(found) - SLACK or (TABLES[name].is_exact and ours < EXACT)


def cells(name: str, found: dict[str, Any]) -> list[str]:
    """Return the row of a table: scores, CPU-seconds, the columns left out and whether it was said."""
    scores = [f"{found[m]['score']:.3f}" if "score" in found.get(m, {}) else "-" for m in ("creases", *OTHERS)]
    ours = found["creases"]
    if "error" in ours:
        return [name, "refused", *scores[1:], "-", ours["error"]]
    out = ", ".join(ours["left_out"])
    told = f"left out: {out}" if out else ""
    if ours["warnings"]:
        told += f"{'; ' if told else ''}warnings: {len(ours['warnings'])}"
    mark = " (exact)" if TABLES[name].is_exact else ""
    return [name + mark, *scores, f"{ours['cpu_seconds']:.1f}", told or "-"]


def summarize(results: dict[str, Any]) -> None:
    """Print the table with what is below, and note it for the page."""
    names = [name for name in TABLES if name in results]
    heads = ["table", "creases", *OTHERS, "CPU-seconds", "columns"]
    rows = [cells(name, results[name]) for name in names]
    note_table("scores", heads, rows)
    note_table("rules", ["table", "rule"], [[name, TABLES[name].about] for name in names])
    print(*(f"| {' | '.join(row)} |" for row in [heads, ["---"] * len(heads), *rows]), sep="\n")
    low = [name for name in names if is_low(name, results[name])]
    fits = [results[name] for name in names if "score" in results[name]["creases"]]
    ahead = sum(found["creases"]["score"] > best_tree(found) for found in fits)
    silent = [n for n in names if results[n]["creases"].get("left_out") and not results[n]["creases"]["warnings"]]
    typical = [f["creases"]["cpu_seconds"] for f in fits if f["rows"] == 2000]
    lines = {
        "count": f"{len(names)}",
        "low": f"{len(low)} of {len(names)}" + (f": {', '.join(low)}" if low else ""),
        "ahead": f"{ahead} of {len(fits)}",
        "silent": ", ".join(silent) or "none",
        "slack": f"{SLACK}",
        "mean": f"{np.mean([found['creases']['score'] for found in fits]):.4f}",
        "mean_boosting": f"{np.mean([found['boosting']['score'] for found in fits]):.4f}",
        "mean_lightgbm": f"{np.mean([found['lightgbm']['score'] for found in fits]):.4f}",
        "seconds": f"{np.sum(typical):.1f}",
        "median_seconds": f"{np.median(typical or [np.nan]):.1f}",
    }
    for name, text in lines.items():
        note(name, text)
        print(f"{name}: {text}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", type=lambda text: text.split(","), default=[], help="tables to measure again")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--out", type=Path, help="file of results")
    parser.add_argument("--show", action="store_true", help="measure nothing")
    parser.add_argument("--raw", action="store_true", help="tables as people have them: see raw_tables.py")
    parser.add_argument("--draws", type=lambda text: [int(k) for k in text.split(",")], default=[1, 2])
    parser.add_argument("--quantiles", action="store_true", help="with --raw: fit quantiles too")
    options = parser.parse_args()
    if options.raw:
        import raw_tables

        options.out = options.out or Path("out/raw_tables.json")
        if not options.show:
            raw_tables.run(options.out, options.only, options.draws, options.jobs, quantiles=options.quantiles)
        return raw_tables.report(options.out, options.draws)
    options.out = options.out or Path("out/plain_tables.json")
    if unknown := [name for name in options.only if name not in TABLES]:
        parser.error(f"--only must name tables, got {', '.join(unknown)}; there are {', '.join(TABLES)}")
    if not options.show:
        run(options)
    stored = read_results(options.out)
    if stored["runs"]:
        note("runs", "; ".join(dict.fromkeys(map(describe_fits, stored["runs"]))))
    summarize(stored["results"])


if __name__ == "__main__":
    main()
