"""Score models of the tables of ``raw_table_sources.py``; ``bench/plain_tables.py --raw`` calls it.

creases gets a table as it is, with nothing set but ``time`` where later rows are to be predicted (with ``refit=True``,
so that all rows are fitted); the other models get the columns that a person has prepared:

- boosting: HistGradientBoosting with default parameters; categories native, by the mean target where there are more
  than 255.
- linear: RidgeCV or LogisticRegression, columns standardized, categories one-hot; where these are more than 255, a
  sparse ridge whose penalty a fifth of the rows chooses.

Scores are R^2, accuracy, or the area under the ROC curve where a class is rare, on rows that none has seen. Coverage is
the share of these that 90 % intervals or sets hold. Quantiles are the shares of rows below fits of ``quantile:LEVEL``.
Of tables with a time every draw has several series, and all is the mean over them.
"""

from __future__ import annotations

import os
import time
import warnings
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy: a process has one thread

import numpy as np
import pandas as pd

from raw_table_sources import TABLES, TEST_ROWS, RawTable
from record import note, note_table
from tables import describe_fits, describe_run, read_results, write_results

COVERAGE, LOW, HIGH = 0.9, 87.0, 93.0
LEVELS = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95)

#: By how much a score may be below the better one of the others, and a share of rows off its quantile.
SLACK, OFF = 0.01, 0.02

#: Quantiles are fitted to tables with no more columns and rows than this.
MOST_COLUMNS, MOST_ROWS = 100, 5000

#: Categories that boosting takes.
NATIVE = 255


def score(table: RawTable, y: Any, predicted: Any) -> float:
    """Return R^2, accuracy, or the area under the ROC curve of the chance of the rarest class."""
    if table.is_rare:
        from sklearn.metrics import roc_auc_score

        return float(roc_auc_score(y == y.value_counts().index[-1], predicted))
    if table.task == "classification":
        return float(np.mean(np.asarray(y, str) == np.asarray(predicted, str)))
    y = np.asarray(y, float)
    return float(1 - np.mean((np.asarray(predicted, float) - y) ** 2) / np.var(y))


def measure_others(table: RawTable, train: pd.DataFrame, test: pd.DataFrame) -> dict[str, float]:
    """Return the scores of boosting and a linear model on prepared columns."""
    from sklearn import compose, ensemble, impute, linear_model, pipeline, preprocessing

    X, unseen = (pd.DataFrame(table.prepare(rows)).reset_index(drop=True) for rows in (train, test))
    texts = [name for name in X if not pd.api.types.is_numeric_dtype(X[name])]
    for name in texts:
        levels = pd.CategoricalDtype(sorted(X[name].unique()))
        X[name], unseen[name] = X[name].astype(levels), unseen[name].astype(levels)
    is_class = table.task == "classification"
    make = ensemble.HistGradientBoostingClassifier if is_class else ensemble.HistGradientBoostingRegressor
    many = [name for name in texts if len(X[name].cat.categories) > NATIVE]
    encode = compose.make_column_transformer(
        (preprocessing.TargetEncoder(random_state=0), many), remainder="passthrough", verbose_feature_names_out=False
    ).set_output(transform="pandas")
    models = {"boosting": pipeline.make_pipeline(encode, make(categorical_features="from_dtype", random_state=0))}
    numeric = pipeline.make_pipeline(impute.SimpleImputer(add_indicator=True), preprocessing.StandardScaler())
    onehot = compose.make_column_transformer(
        (preprocessing.OneHotEncoder(handle_unknown="ignore", sparse_output=bool(many)), texts),
        remainder=numeric,
        sparse_threshold=1.0 if many else 0.0,
    )
    if is_class:
        line = linear_model.LogisticRegression(max_iter=1000)
    elif many:
        part = np.arange(len(X)) % 5 == 0

        def score_penalty(alpha: float) -> float:
            model = pipeline.make_pipeline(onehot, linear_model.Ridge(alpha, solver="lsqr"))
            return float(model.fit(X[~part], train["y"][~part]).score(X[part], train["y"][part]))

        line = linear_model.Ridge(max((0.3, 1.0, 3.0, 10.0), key=score_penalty), solver="lsqr")
    else:
        line = linear_model.RidgeCV(np.logspace(-3, 3, 13))
    models["linear"] = pipeline.make_pipeline(onehot, line)
    scores = {}
    for name, model in models.items():
        model.fit(X, train["y"])
        rare = table.is_rare and list(model.classes_).index(train["y"].value_counts().index[-1])
        predicted = model.predict_proba(unseen)[:, rare] if table.is_rare else model.predict(unseen)
        scores[name] = score(table, test["y"], predicted)
    return scores


def measure_creases(table: RawTable, train: pd.DataFrame, test: pd.DataFrame) -> dict[str, Any]:
    """Fit a table with nothing set; return score, CPU-seconds, coverage and what was said of the columns."""
    import creases

    rows, y = test.drop(columns="y"), test["y"]
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        start = time.process_time()
        model = creases.fit_table(train, "y", **_options(table))
        seconds = time.process_time() - start
    result: dict[str, Any] = {"cpu_seconds": round(seconds, 3)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if table.task == "classification":
            chances = model.predict_proba(rows)
            names = np.array([str(each) for each in model.classes])
            rare = int(np.argmin([(train["y"] == name).sum() for name in names]))
            predicted = np.asarray(chances)[:, rare] if table.is_rare else model.predict(rows)
            sets = model.predict_set(rows, coverage=COVERAGE)
            held = np.array([str(own) in {str(name) for name in names} for own, names in zip(y, sets, strict=True)])
            result["sizes"] = float(np.mean([len(names) for names in sets]))
            result["top"] = float(np.mean(np.asarray(model.predict(rows), str) == np.asarray(y, str)))
            if table.is_rare:
                sets = model.predict_set(rows, coverage=COVERAGE, by_class=True)
                by = np.array([str(own) in {str(name) for name in names} for own, names in zip(y, sets, strict=True)])
                result["by_class"] = {name: float(by[y.to_numpy() == name].mean()) for name in names}
        else:
            predicted = model.predict(rows)
            low, high = np.asarray(model.predict_interval(rows, coverage=COVERAGE), float).T
            held = (low <= y.to_numpy()) & (y.to_numpy() <= high)
            result["width"] = float(np.median(high - low) / y.std())
    encoding = model.schema.encoding
    return result | {
        "score": score(table, y, predicted),
        "coverage": 100 * float(held.mean()),
        "warnings": [str(each.message) for each in said],
        "left_out": encoding.left_out,
        "kinds": encoding.kinds,
        "inputs": len(model.schema.features),
        "text": str(model),
    }


def _options(table: RawTable) -> dict[str, Any]:
    return {} if table.time is None else {"time": table.time, "refit": True}


def measure(name: str, draw: int, part: Any) -> Any:
    """Return the results of a draw: of all models for a series, or the share of rows below a quantile."""
    table = TABLES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if isinstance(part, int):
            train, test = table.split(draw, part)
            return {"creases": measure_creases(table, train, test), **measure_others(table, train, test)}
        import creases

        train, test = table.split(draw)
        model = creases.fit_table(train, "y", family=f"quantile:{part}", **_options(table))
        return float(np.mean(test["y"] <= model.predict(test.drop(columns="y"))))


def jobs_of(name: str, draw: int, with_quantiles: bool) -> list[tuple[str, int, Any]]:
    """Return what is to be measured for a draw of a table: its series by number, its quantiles by level."""
    table = TABLES[name]
    train, _ = table.split(draw)
    is_small = train.shape[1] <= MOST_COLUMNS and len(train) <= MOST_ROWS
    levels = LEVELS if with_quantiles and table.task == "regression" and table.time is None and is_small else ()
    return [(name, draw, part) for part in (*range(table.series), *levels)]


def run(out: Path, only: list[str], draws: list[int], jobs: int, *, quantiles: bool) -> None:
    """Measure what is not there yet, or what is named."""
    results = read_results(out)
    done = results["results"]
    asked = [job for name in only or TABLES for draw in draws for job in jobs_of(name, draw, quantiles)]
    asked = [job for job in asked if only or _key(job) not in done]
    asked.sort(key=lambda job: -TABLES[job[0]].rows)
    if not asked:
        return
    results["runs"].append(describe_run())
    out.parent.mkdir(parents=True, exist_ok=True)
    from plain_tables import warm_up

    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=warm_up) as pool:
        futures = {pool.submit(measure, *job): job for job in asked}
        for k, future in enumerate(as_completed(futures), 1):
            job = futures[future]
            try:
                done[_key(job)] = future.result()
            except Exception as error:
                done[_key(job)] = {"error": f"{type(error).__name__}: {error}"}
            print(k, "of", len(asked), _key(job), _brief(done[_key(job)]), flush=True)
            if k % 20 == 0 or k == len(asked):
                write_results(out, results)


def _key(job: tuple[str, int, Any]) -> str:
    name, draw, part = job
    return f"{name} {draw} {part}"


def _brief(found: Any) -> str:
    if "creases" not in (found if isinstance(found, dict) else {}):
        return str(found)
    own = found["creases"]
    return (
        f"{own['score']:.4f} {found['boosting']:.4f} {found['linear']:.4f} {own['coverage']:.1f} {own['cpu_seconds']}"
    )


def summarize(results: dict[str, Any], draws: list[int]) -> None:
    """Print a row for each draw of a table, and note what is missed."""
    heads = ["table", "draw", "creases", "boosting", "linear", "difference", "held of 90 %", "quantiles off by", "said"]
    rows, misses, outside, off, silent = [], [], [], [], []
    for name, table in TABLES.items():
        for draw in draws:
            found = [results[key] for k in range(table.series) if (key := f"{name} {draw} {k}") in results]
            errors = [each["error"] for each in found if "error" in each]
            found = [each for each in found if "error" not in each]
            if not found or errors:
                if errors:
                    rows.append([name, f"{draw}", "refused", "", "", "", "", "", errors[0]])
                    misses.append(f"{name} {draw}")
                continue
            ours = float(np.mean([each["creases"]["score"] for each in found]))
            boosting, linear = (float(np.mean([each[model] for each in found])) for model in ("boosting", "linear"))
            held = float(np.mean([each["creases"]["coverage"] for each in found]))
            shares = {level: results.get(f"{name} {draw} {level}") for level in LEVELS}
            gaps = {k: share - k for k, share in shares.items() if isinstance(share, float)}
            worst = max(gaps.values(), key=abs, default=None)
            difference = ours - max(boosting, linear)
            label = f"{name} {draw}"
            own = found[0]["creases"]
            misses += [label] if difference < -SLACK else []
            # the most likely class is in every set: with these alone more rows may be held
            is_plain = own.get("sizes", 2) <= 1.0 + 1e-9
            outside += [label] if held < LOW or (held > HIGH and not is_plain) else []
            off += [label] if worst is not None and abs(worst) > OFF else []
            silent += [label] if own["left_out"] and not own["warnings"] else []
            words = "; ".join(own["warnings"])
            left = ", ".join(own["left_out"])
            numbers = [f"{ours:.3f}", f"{boosting:.3f}", f"{linear:.3f}", f"{difference:+.3f}", f"{held:.1f} %"]
            said = f"left out: {left}" if left else ("a warning" if words else "")
            rows.append([name, f"{draw}", *numbers, "" if worst is None else f"{worst:+.3f}", said])
    note_table("raw", heads, rows)
    note_table("raw_rules", ["table", "rule"], [[name, TABLES[name].about] for name in TABLES])
    print(*(f"| {' | '.join(row)} |" for row in [heads, ["---"] * len(heads), *rows]), sep="\n")
    levels = []
    for level in LEVELS:
        shares = [results.get(f"{name} {draw} {level}") for name in TABLES for draw in draws]
        gaps = np.array([share - level for share in shares if isinstance(share, float)])
        chance = (level * (1 - level) * (1 / 1600 + 1 / TEST_ROWS)) ** 0.5  # of rows to fit to and rows to score
        if len(gaps):
            parts = [
                len(gaps),
                f"{gaps.mean():+.4f}",
                f"{gaps.std():.4f}",
                f"{chance:.4f}",
                int((abs(gaps) > OFF).sum()),
            ]
            levels.append([f"{level:g}", *map(str, parts)])
    note_table("raw_levels", ["level", "fits", "mean off", "deviation", "by chance alone", f"off by {OFF:g}"], levels)
    every = [value for key, value in results.items() if isinstance(value, float)]
    lines = {
        "raw_count": f"{len({row[0] for row in rows})}",
        "raw_low": f"{len(misses)} of {len(rows)}" + (f": {', '.join(misses)}" if misses else ""),
        "raw_outside": f"{len(outside)} of {len(rows)}" + (f": {', '.join(outside)}" if outside else ""),
        "raw_off": f"{len(off)} of {sum(bool(row[7]) for row in rows)}" + (f": {', '.join(off)}" if off else ""),
        "raw_silent": ", ".join(silent) or "none",
        "raw_quantiles": f"{len(every)}",
        "raw_slack": f"{SLACK}",
        "raw_limit": f"{OFF}",
        "raw_range": f"{LOW:.0f} to {HIGH:.0f} %",
        "raw_coverage": f"{100 * COVERAGE:.0f} %",
    }
    for name, text in lines.items():
        note(name, text)
        print(f"{name}: {text}")


def report(out: Path, draws: list[int]) -> None:
    """Print and note what a file of results has."""
    stored = read_results(out)
    if stored["runs"]:
        note("raw_runs", "; ".join(dict.fromkeys(map(describe_fits, stored["runs"]))))
    summarize(stored["results"], draws)
