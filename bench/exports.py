"""How far the ways to a prediction are apart, of models of the tables of ``tables.py``.

    python bench/record.py --store bench/exports.py --folder out/tables [--tables cars,boston] [--jobs 2]

A model of each table, fitted with nothing set, is run in every form on rows of the table, rows at every knot of its
curves, and rows with odd cells (gaps, padding, unknown levels): the layers of its network, as numpy and as a
``Network``; the sum of the parts of ``explain``; and modules, SELECTs, sheets and graphs, each in a process that has
its file only (these on cells of 1e15 too). A deviation is that of a probability, or of a number in multiples of the
largest prediction. The exit status is 1 if one is above 1e-9.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy: a process has one thread

import numpy as np

from record import note, note_table
from table_sources import ALL, load_problem, prepare_table

SUFFIXES = (".py", ".sql", ".xlsx", ".onnx")
WAYS = ("layers", "network", "explain", *SUFFIXES)

#: Deviation that rounding explains.
NEAR = 1e-9

#: Cells of rows that only exports are run on: the 15 digits of a number so far from all knots say nothing of these.
FAR = 1e14


def measure(name: str, folder: Path) -> dict[str, Any]:
    """Return the deviation of each way to a prediction for the model of a table, rows at knots, and CPU-seconds."""
    warnings.simplefilter("ignore")
    import creases
    from creases.tables._model.export import check_rows
    from creases.tables._model.program import make_program
    from creases.tables._stages.families import probabilities

    problem = load_problem(folder, name)
    start = time.process_time()
    model = creases.fit_table(problem)
    seconds = time.process_time() - start
    rows = check_rows(model, make_program(model), ".py")[0]
    function, X = model.function, model.encode(rows).X
    expected = model._outputs(X) if model.classes is None else probabilities(model._outputs(X))
    outputs = {"layers": function.run_layers(X), "network": model.network(X)}
    if function.link == "log":
        outputs["network"] = np.exp(outputs["network"])
    parts = model.explain(rows).parts.to_numpy(float).reshape(len(X), len(function.intercept), -1)
    outputs["explain"] = function.to_outputs(parts.sum(axis=2))
    unit = 1.0 if model.classes is not None else float(np.abs(expected).max())
    is_far = (np.abs(X) > FAR).any(axis=1)
    apart = {}
    for way, each in outputs.items():
        predicted = each if model.classes is None else probabilities(each)
        apart[way] = float(np.abs(predicted - expected)[~is_far].max()) / unit
    with TemporaryDirectory() as temporary:
        for suffix in SUFFIXES:
            apart[suffix] = model.export(Path(temporary, f"model{suffix}")).deviation / unit
    n_knots = sum(len(curve.knots) for curve in function.curves if curve.is_number)
    return {"rows": len(X), "knots": n_knots, "seconds": seconds, "apart": apart}


def main() -> None:
    """Measure all tables and note them for the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path("out/tables"), help="folder of the tables")
    parser.add_argument("--tables", type=lambda text: text.split(","), default=[*ALL])
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    for name in options.tables:
        prepare_table(name, options.folder)
    rows, largest = [], dict.fromkeys(WAYS, 0.0)
    with ProcessPoolExecutor(options.jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        results = pool.map(partial(measure, folder=options.folder), options.tables)
        for name, result in zip(options.tables, results, strict=True):
            apart = result["apart"]
            largest = {way: max(largest[way], apart[way]) for way in WAYS}
            deviations = [f"{apart[way]:.0e}" for way in WAYS]
            rows.append([name, f"{result['rows']}", f"{result['knots']}", *deviations, f"{result['seconds']:.1f}"])
            print(*rows[-1], flush=True)
    note_table("tables", ["table", "rows", "at knots", *WAYS, "CPU-seconds"], rows)
    note("count", f"{len(rows)}")
    for way, deviation in largest.items():
        note(way.strip("."), f"{deviation:.0e}")
    print("largest deviations: " + ", ".join(f"{way} {deviation:.0e}" for way, deviation in largest.items()))
    if max(largest.values()) > NEAR:
        sys.exit(1)


if __name__ == "__main__":
    main()
