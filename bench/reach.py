"""Count the files of creases that fits of a table run through: those in which some function is called.

python bench/reach.py           the number of files in ``creases.tables`` and in all, and their names
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import creases

SOURCES = Path(creases.__file__).parent


def make_frame(n: int = 600) -> pd.DataFrame:
    """Return rows of numbers with gaps, a category, yes and no, dates, a row number, and what two numbers do."""
    rng = np.random.default_rng(0)
    x, z, age = rng.normal(size=n), rng.normal(size=n), rng.integers(18, 80, n).astype(float)
    town = rng.choice(["Ulm", "Bonn", "Köln"], n)
    y = 0.1 * age + 3 * np.abs(x) + 2 * x * z + (town == "Ulm") + 0.1 * rng.normal(size=n)
    age[::7] = np.nan
    days = pd.date_range("2020-01-01", periods=n).strftime("%Y-%m-%d")
    frame = pd.DataFrame({"id": np.arange(n), "age": age, "town": town, "day": days, "x": x, "z": z})
    return frame.assign(member=rng.choice(["yes", "no"], n), y=y)


def count_files(table: Any) -> list[str]:
    """Return the files that a second fit runs through, below the folder of the package."""
    fit_table, files = creases.fit_table, set[Path]()

    def note(frame: Any, event: str, argument: Any) -> None:
        files.add(Path(frame.f_code.co_filename))

    fit_table(table, "y")  # what is imported on first use
    sys.setprofile(note)
    fit_table(table, "y")
    sys.setprofile(None)
    return sorted(str(path.relative_to(SOURCES)) for path in files if SOURCES in path.parents)


def main() -> None:
    """Print the files of a fit of a CSV file."""
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "table.csv")
        make_frame().to_csv(path, index=False)
        files = count_files(path)
    own = [name for name in files if name.startswith("tables/")]
    print(f"{len(own)} files of creases/tables, {len(files)} of creases")
    print(*files, sep="\n")


if __name__ == "__main__":
    main()
