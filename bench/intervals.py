"""Measure how often intervals of numbers and sets of classes hold the truth, at a coverage of 90 %.

    python bench/record.py --store bench/intervals.py --folder out/tables

Twelve tables of ``table_sources.py``, read by pandas, in five folds: ``creases.fit_table(rows, target)`` with nothing
set, then ``predict_interval`` or ``predict_set`` for rows of the fold, which it has not seen. The share of rows whose
interval or set holds the truth is over all rows of a table, each of which is in one fold. Its own standard error is
that of so many independent rows: on a small table it is wider than what the statement leaves.
"""

from __future__ import annotations

import argparse
import os
import warnings
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy: a process has one thread

import numpy as np
import pandas as pd

from record import note, note_table
from table_sources import FURTHER, SOURCES, write_table

TABLES = (
    *("titanic", "mortgages", "weather", "cars", "houses", "forbes"),
    *("boston", "baseball", "wages", "chile", "participation", "diabetes"),
)

COVERAGE, FOLDS, SEED = 0.9, 5, 17

#: Percentages between which a share is as it should be.
LOW, HIGH = 88, 92


def measure_fold(train: pd.DataFrame, test: pd.DataFrame, target: str) -> tuple[Any, Any]:
    """Return whether the truth of each row of ``test`` is held (n,), and the widths of intervals or sizes of sets."""
    import creases

    model = creases.fit_table(train, target)
    rows, truth = test.drop(columns=target), test[target].to_numpy()
    if model.classes is None:
        low, high = np.asarray(model.predict_interval(rows, coverage=COVERAGE), float).T
        return (low <= truth) & (truth <= high), high - low
    sets = model.predict_set(rows, coverage=COVERAGE)
    held = np.array([str(each) in {str(name) for name in names} for each, names in zip(truth, sets, strict=True)])
    return held, np.array([len(names) for names in sets], float)


def measure(name: str, folder: Path) -> list[str]:
    """Return the row of a table: rows, coverage, its standard error, and the median width or mean size."""
    target = (SOURCES | FURTHER)[name].target
    frame = pd.read_csv(write_table(name, folder)).dropna(subset=[target]).reset_index(drop=True)
    order = np.random.default_rng(SEED).permutation(len(frame))
    held, sizes = [], []
    for k in range(FOLDS):
        out = np.isin(np.arange(len(frame)), order[k::FOLDS])
        for total, part in zip((held, sizes), measure_fold(frame[~out], frame[out], target), strict=True):
            total.append(part)
    inside, size = np.concatenate(held), np.concatenate(sizes)
    share, is_number = inside.mean(), pd.api.types.is_float_dtype(size) and not (size == size.round()).all()
    error = (COVERAGE * (1 - COVERAGE) / len(inside)) ** 0.5
    text = f"{np.median(size):.3g} wide" if is_number else f"{size.mean():.2f} classes"
    return [name, f"{len(inside)}", f"{100 * share:.1f} %", f"{100 * error:.1f} %", text]


def main() -> None:
    """Measure all tables and note them for the page."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path("out/tables"), help="folder of the tables")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for name in TABLES:
        rows.append(measure(name, options.folder))
        print(*rows[-1], flush=True)
    shares = [float(row[2].split()[0]) for row in rows]
    note_table("coverage", ["table", "rows", "held", "standard error", "interval or set"], rows)
    note("level", f"{100 * COVERAGE:.0f} %")
    note(
        "inside", f"between {LOW} and {HIGH} % on {sum(LOW <= each <= HIGH for each in shares)} of {len(shares)} tables"
    )
    note("lowest", f"{min(shares):.1f} %")
    note("highest", f"{max(shares):.1f} %")


if __name__ == "__main__":
    main()
