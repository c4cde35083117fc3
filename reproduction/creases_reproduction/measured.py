"""What an experiment gives: a table, and how it was made; kept as a text file with that in its first lines."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.resources import as_file, files
from pathlib import Path
from time import process_time
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binomtest, bootstrap

from creases._files import write_atomically
from creases._versions import versions as package_versions
from creases.errors import FileError, InputError, ReadError

Scale = Literal["quick", "full"]

#: Packages that results depend on.
PACKAGES = ("creases", "numba", "numpy", "torch")


@dataclass(frozen=True, eq=False)
class Measured:
    """The result of an experiment."""

    table: pd.DataFrame
    about: dict[str, str] = field(default_factory=dict)  #: how it was made


def check_scale(scale: str) -> None:
    """Refuse what is neither "quick" nor "full"."""
    if scale not in ("quick", "full"):
        raise InputError(f"scale: expected 'quick' or 'full', got {scale!r}")


def seed_of(*key: int) -> int:
    """A seed for what a key of whole numbers names: the same whatever else is done."""
    return int(np.random.SeedSequence(key).generate_state(1, np.uint32)[0])


def wilson(successes: int, trials: int) -> tuple[float, float]:
    """95 % Wilson interval of a share of successes."""
    found = binomtest(int(successes), int(trials)).proportion_ci(method="wilson")
    return float(found.low), float(found.high)


def with_rates(table: pd.DataFrame, successes: str = "successes", trials: str = "trials") -> pd.DataFrame:
    """The table with columns ``rate``, ``low`` and ``high``: shares of success and their 95 % Wilson intervals."""
    found = [wilson(k, n) for k, n in zip(table[successes], table[trials], strict=True)]
    return table.assign(
        rate=table[successes] / table[trials], low=[low for low, _ in found], high=[high for _, high in found]
    )


def mean_interval(values: ArrayLike) -> tuple[float, float]:
    """95 % interval of a mean: bootstrap, bias-corrected and accelerated.

    The value itself where all are equal, and nan where one is not finite: a network that diverged.
    """
    numbers: NDArray[np.float64] = np.asarray(values, np.float64)
    if not np.isfinite(numbers).all():
        return np.nan, np.nan
    if np.ptp(numbers) == 0:
        return float(numbers[0]), float(numbers[0])
    found = bootstrap((numbers,), np.mean, n_resamples=2000, rng=np.random.default_rng(0)).confidence_interval
    return float(found.low), float(found.high)


def write(result: Measured, path: str | Path) -> Path:
    """Write a result as comma-separated values; first lines ``# name: value`` tell how it was made."""
    with write_atomically(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"# {name}: {value}\n" for name, value in result.about.items())
        result.table.to_csv(file, index=False, float_format="%.6g", lineterminator="\n")
    return Path(path)


def read(path: str | Path) -> Measured:
    """Read what :func:`write` wrote."""
    path = Path(path)
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}") from None
    about = dict(line[2:].split(": ", 1) for line in lines if line.startswith("# ") and ": " in line)
    try:
        return Measured(pd.read_csv(path, comment="#", keep_default_na=False, na_values=[""]), about)
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise ReadError(f"{path}: is no table of an experiment: {error}") from None


def stored(name: str) -> Measured:
    """The result at full scale that comes with the package, by the name of the experiment's module."""
    place = files("creases_reproduction") / "results" / f"{name}.csv"
    if not place.is_file():
        raise InputError(f"name: no result of {name!r} comes with the package")
    with as_file(place) as path:
        return read(path)


def versions() -> dict[str, str]:
    """Of what results depend on."""
    return package_versions(*PACKAGES)


def run_as_program(experiment: Callable[..., Any], name: str, text: str | None) -> None:
    """``python -m creases_reproduction.NAME --scale ... --seed ... --out FILE``: run an experiment and write its table."""
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", choices=("quick", "full"), default="quick")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path(f"{name}.csv"), help="the file to write")
    given = parser.parse_args()
    start = process_time()
    result = experiment(given.scale, seed=given.seed)
    made = {**result.about, "cpu_seconds": f"{process_time() - start:.0f}", **versions()}
    command = f"python -m creases_reproduction.{name} --scale {given.scale} --seed {given.seed} --out {given.out.name}"
    write(Measured(result.table, {"command": command, **made}), given.out)
