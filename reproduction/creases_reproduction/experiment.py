"""Experiments: their scale, their seeds, and their results as tables that say how they were made."""

from __future__ import annotations

import argparse
import os
import platform
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.resources import as_file, files
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from creases._files import write_atomically
from creases._validation import check_choice
from creases._versions import versions
from creases.errors import FileError, InputError, ReadError

if TYPE_CHECKING:
    import pandas as pd

Scale = Literal["quick", "full"]

#: Packages that results depend on.
PACKAGES = ("creases", "numba", "numpy", "torch")


@dataclass(frozen=True, eq=False)
class ResultTable:
    """The result of an experiment."""

    table: pd.DataFrame
    about: dict[str, str] = field(default_factory=dict)  #: how it was made


def check_scale(scale: str) -> None:
    """Refuse a scale other than "quick" and "full"."""
    check_choice(scale, ("quick", "full"), "scale")


def derive_seed(*key: int) -> int:
    """Return a seed for a key of integers, independent of all other keys."""
    return int(np.random.SeedSequence(key).generate_state(1, np.uint32)[0])


def write_table(result: ResultTable, path: str | Path) -> Path:
    """Write a result as comma-separated values; the first lines ``# name: value`` say how it was made."""
    with write_atomically(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"# {name}: {value}\n" for name, value in result.about.items())
        result.table.to_csv(file, index=False, float_format="%.6g", lineterminator="\n")
    return Path(path)


def read_table(path: str | Path) -> ResultTable:
    """Read a file that :func:`write_table` wrote."""
    import pandas as pd

    path = Path(path)
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}") from None
    about = dict(line[2:].split(": ", 1) for line in lines if line.startswith("# ") and ": " in line)
    try:
        return ResultTable(pd.read_csv(path, comment="#", keep_default_na=False, na_values=[""]), about)
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise ReadError(f"cannot read {path} as the table of an experiment: {error}") from None


def stored_table(name: str) -> ResultTable:
    """Return the result at full scale that comes with the package, by the name of its file."""
    resource = files("creases_reproduction") / "results" / f"{name}.csv"
    if not resource.is_file():
        raise InputError("name", "be a table that comes with the package", repr(name))
    with as_file(resource) as path:
        return read_table(path)


def round_numbers(value: Any) -> Any:
    """Round the numbers of a JSON value to six digits, so that its file stays small."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {key: round_numbers(part) for key, part in value.items()}
    return [round_numbers(part) for part in value] if isinstance(value, list) else value


def result_versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that results depend on."""
    return versions(*PACKAGES)


def describe_run(command: str, seconds: float) -> dict[str, str]:
    """Return how a result was made: command, machine, seconds by the clock, versions."""
    return {"command": command, "device": describe_machine(), "seconds": f"{seconds:.3g}", **result_versions()}


def describe_machine() -> str:
    """Return the processors in words: "Intel Xeon 2.20 GHz, 2 cores", with the GPU if there is one."""
    name = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.is_file():
        models = [line.partition(":")[2].strip() for line in info.read_text().splitlines() if "model name" in line]
        name = models[0] if models else name
    words = f"{name}, {os.cpu_count()} cores"
    import torch

    return f"{words}; {torch.cuda.get_device_name()}" if torch.cuda.is_available() else words


def run_as_program(experiment: Callable[..., Any], module: str, description: str | None) -> None:
    """Run the experiment of a module with the options ``--scale``, ``--seed`` and ``--out``, and write its table."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", choices=("quick", "full"), default="quick")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path(f"{module.rpartition('.')[2]}.csv"), help="the file to write")
    options = parser.parse_args()
    start = process_time()
    result = experiment(options.scale, seed=options.seed)
    spent = {"device": describe_machine(), "cpu_seconds": f"{process_time() - start:.0f}"}
    about = {**result.about, **spent, **result_versions()}
    flags = f"--scale {options.scale} --seed {options.seed} --out {options.out.name}"
    command = f"python -m creases_reproduction.{module} {flags}"
    write_table(ResultTable(result.table, {"command": command, **about}), options.out)
