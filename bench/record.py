"""Results of benchmarks as JSON files that say how they were measured: command, commit, machine, versions and date.

    python bench/record.py bench/boolean.py --threads 1    runs a benchmark and writes out/bench/boolean.json
    python bench/record.py --store bench/boolean.py        the same, into bench/results, which the documentation quotes

Whatever a benchmark prints is recorded: its tables (of rich) and its lines. Numbers and tables that the page of the
benchmarks quotes have a name, given by :func:`note` and :func:`note_table`; without ``record.py`` they do nothing. A
stored file has a list of runs, so that every number keeps the run that it comes from: a new run takes the names that it
notes from the older ones. ``make benchmarks-page`` renders the page.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import runpy
import shlex
import subprocess
import sys
from contextlib import redirect_stdout
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from io import StringIO
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).with_name("results")

#: What every run says of itself; "not recorded" where a result is older than this module.
PROVENANCE = ("command", "commit", "machine", "versions", "date")

#: Packages whose versions are recorded, where they are installed.
PACKAGES = ("creases", "numpy", "numba", "torch", "scipy", "scikit-learn", "highspy", "relucent", "gromo")

_NUMBERS: dict[str, str] = {}
_TABLES: dict[str, dict[str, Any]] = {}


def note(name: str, value: str) -> None:
    """Give a number a name, as it is to be printed: ``note("seconds", f"{seconds:.1f} s")``."""
    _NUMBERS[name] = value


def note_table(name: str, columns: list[str], rows: list[list[str]]) -> None:
    """Give a table a name; every row has a cell for each column."""
    if any(len(row) != len(columns) for row in rows):
        raise ValueError(f"every row of {name} must have {len(columns)} cells")
    _TABLES[name] = {"columns": columns, "rows": rows}


def describe_run(command: str, commit: str | None = None) -> dict[str, Any]:
    """Return how, when and where a benchmark runs; ``commit`` where the code is no checkout."""
    return {
        "command": command,
        "commit": commit or _commit(),
        "machine": _machine(),
        "versions": {"python": platform.python_version(), **_versions()},
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def read_results(folder: Path = RESULTS) -> dict[str, list[dict[str, Any]]]:
    """Return the stored runs of every benchmark, by the name of its file."""
    return {path.stem: json.loads(path.read_text(encoding="utf-8"))["runs"] for path in sorted(folder.glob("*.json"))}


def store_run(name: str, run: dict[str, Any], folder: Path = RESULTS) -> Path:
    """Add a run to a benchmark's file; what it names is taken from the runs before it, and empty ones go."""
    path = folder / f"{name}.json"
    older = json.loads(path.read_text(encoding="utf-8"))["runs"] if path.is_file() else []
    for part in ("numbers", "tables"):
        for before in older:
            before[part] = {key: value for key, value in before[part].items() if key not in run[part]}
    runs = [*(before for before in older if before["numbers"] or before["tables"]), run]
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"runs": runs}, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def run_script(script: Path, arguments: list[str], commit: str | None = None) -> dict[str, Any]:
    """Run a benchmark as ``python SCRIPT ARGUMENTS`` does, and return what it measured and printed."""
    from rich import console

    import record  # the module that benchmarks import, which is not __main__

    described = describe_run(shlex.join(["python", str(script), *arguments]), commit)
    printed, tables = _Copy(sys.stdout), []
    real = console.Console.print

    def print_and_keep(self: Any, *objects: Any, **options: Any) -> None:
        tables.extend(_cells(item) for item in objects if type(item).__name__ == "Table")
        real(self, *objects, **options)

    console.Console.print, before = print_and_keep, sys.argv  # type: ignore[method-assign]
    sys.argv = [str(script), *arguments]
    try:
        with redirect_stdout(printed):
            runpy.run_path(str(script), run_name="__main__")
    finally:
        console.Console.print, sys.argv = real, before  # type: ignore[method-assign]
    noted = {"numbers": dict(record._NUMBERS), "tables": dict(record._TABLES)}
    return {**described, **noted, "printed": {"tables": tables, "lines": printed.getvalue().splitlines()}}


class _Copy(StringIO):
    """A text stream that passes on what it keeps."""

    def __init__(self, onto: Any) -> None:
        super().__init__()
        self.onto = onto

    def write(self, text: str) -> int:
        self.onto.write(text)
        return super().write(text)

    def flush(self) -> None:
        self.onto.flush()


def _cells(table: Any) -> dict[str, Any]:
    """Return the columns and rows of a table of rich, as text."""
    columns = [list(column.cells) for column in table.columns]
    return {
        "columns": [str(column.header) for column in table.columns],
        "rows": [list(map(str, row)) for row in zip(*columns, strict=True)],
    }


def _commit() -> str:
    ask = ["git", "rev-parse", "HEAD"]
    found = subprocess.run(ask, cwd=ROOT, capture_output=True, text=True, check=False)
    return found.stdout.strip() or "not recorded"


def _machine() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.is_file() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{models[0] if models else platform.processor() or platform.machine()}, {os.cpu_count()} cores"


def _versions() -> dict[str, str]:
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", action="store_true", help="write what has a name into bench/results")
    parser.add_argument("--commit", help="of the code, where it is no checkout")
    parser.add_argument("script", type=Path)
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    asked = parser.parse_args()
    run = run_script(asked.script, asked.arguments, asked.commit)
    if asked.store:
        path = store_run(asked.script.stem, {name: run[name] for name in (*PROVENANCE, "numbers", "tables")})
    else:
        path = store_run(asked.script.stem, run, ROOT / "out" / "bench")
    print(f"recorded in {path}")


if __name__ == "__main__":
    main()
