"""A table with every kind of column, in small files, and limits so low that it is larger than memory."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from creases.tables._split import split
from creases.tables._stages import fit
from creases.tables._streaming import files, table


@pytest.fixture
def small_limits(monkeypatch):
    """Lower the numbers of rows from which a table is large."""
    monkeypatch.setattr(fit, "STAGE_ROWS", 4_200)
    monkeypatch.setattr(split, "LARGE", 4_200)
    monkeypatch.setattr(table, "SIZES", (4_200, 1_000))
    monkeypatch.setattr(table, "KIND_ROWS", 900)
    monkeypatch.setattr(files, "BLOCK", 512)


def make_table(n: int, *, classes: int = 0, seed: int = 0) -> pa.Table:
    """Return a table of n rows with numbers, categories, a date, gaps, an ID, and values or classes."""
    rng = np.random.default_rng(seed)
    a, b, c = rng.normal(size=n), rng.gamma(2, 3, size=n), rng.integers(0, 50, n)
    town = rng.choice(["Bonn", "Paris", "Rom", "Ulm"], n, p=[0.3, 0.1, 0.2, 0.4]).astype(object)
    score = np.sin(2 * a) + 0.3 * np.log1p(b) + 0.02 * c + (town == "Rom") * 0.7 + rng.normal(size=n) * 0.3
    town[rng.random(n) < 0.02] = None
    day = np.datetime64("2020-01-01") + rng.integers(0, 900, n).astype("timedelta64[D]")
    y: object = score.round(6)
    if classes:
        y = np.array(["low", "mid", "top"])[np.digitize(score, [0.5, 1.5][: classes - 1])]
    gaps = pa.array(np.where(rng.random(n) < 0.05, np.nan, b.round(4)), from_pandas=True)
    return pa.table({"row id": np.arange(n), "a": a.round(5), "b": gaps, "c": c, "town": town, "day": day, "y": y})


def write_parts(whole: pa.Table, folder, name: str = "part") -> str:
    """Write a table as three Parquet files of several row groups each; return the pattern."""
    third = -(-len(whole) // 3)
    for k in range(3):
        pq.write_table(whole.slice(third * k, third), folder / f"{name}-{k}.parquet", row_group_size=third // 3)
    return str(folder / f"{name}-*.parquet")
