"""Measure what the commands cost a newcomer: CPU-seconds of fresh processes, in imports, kernels and work.

    python bench/startup.py                 every command, the median of three
    python bench/startup.py --first         the same with an empty cache of kernels, once, as on the first call ever
    python bench/startup.py --only report   commands whose name contains a word

Files are made in a temporary folder: a table of 400 rows, a network of 8 units as ONNX, a model and a
proof. CPU-seconds are user and system time of one process with one thread. Imports, and what numba compiles or loads
from its cache, are measured in one more process (``bench/startup_probe.py``); work is the rest.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

import numpy as np

from record import ROOT, note, note_table

#: CPU-seconds as they were first measured, on a shared machine with one thread; ranges as they were given.
BEFORE = {
    "fit --help": "3.5",
    "predict": "6.7",
    "explain --row": "7 to 9",
    "map": "6.7",
    "README, first block": "7.7",
    "fit": "16",
    "report": "12 to 18",
}

#: The most CPU-seconds that a command should take on a warm cache.
AIMS = {"predict": 1.5, "explain --row": 1.5, "check": 1.5, "map": 3.0, "README, first block": 3.0, "report": 4.0}
AIM_OF_HELP = 0.4

#: Commands whose help is measured: all of them.
HELP = ("fit", "grow", "predict", "map", "explain", "verify", "check", "compare", "spline", "prune", "report",
        "animate", "studio", "problems", "demo")  # fmt: skip

#: What each name in the table runs; ``{new}`` is a name that no earlier run has used.
COMMANDS = {
    **{f"{name} --help": f"{name} --help" for name in HELP},
    "predict": "predict run rows.csv",
    "explain --row": "explain run --row 1",
    "check": "check proof.json net.onnx",
    "map": "map net.onnx",
    "README, first block": "readme.py",
    "fit": "fit table.csv --target y --out {new}",
    "report": "report run --out report.html",
}

PROPERTY = """(declare-const X_0 Real)
(declare-const X_1 Real)
(declare-const Y_0 Real)
(assert (>= X_0 -1)) (assert (<= X_0 1)) (assert (>= X_1 -1)) (assert (<= X_1 1))
(assert (>= Y_0 1000))
"""


def make_files(folder: Path) -> None:
    """Write a table, rows to predict, a network, a property, a run, a proof and the README's first block."""
    from creases import read

    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 5)).round(3)
    y = X[:, 0] + np.abs(X[:, 1]) + np.where(X[:, 2] > 0, X[:, 3], 0) + 0.2 * rng.normal(size=400)
    lines = [",".join([*map(str, row), f"{value:.3f}"]) for row, value in zip(X.tolist(), y, strict=True)]
    (folder / "table.csv").write_text("\n".join(["a,b,c,d,e,y", *lines]) + "\n", encoding="utf-8")
    (folder / "rows.csv").write_text("\n".join(["a,b,c,d,e,y", *lines[:5]]) + "\n", encoding="utf-8")
    layers = [(rng.normal(size=(8, 2)), rng.normal(size=8)), (rng.normal(size=(1, 8)), np.zeros(1))]
    read(layers).save(folder / "net.onnx")
    (folder / "property.vnnlib").write_text(PROPERTY, encoding="utf-8")
    block = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert block is not None
    (folder / "readme.py").write_text(block[1], encoding="utf-8")
    cpu_seconds(["fit", "table.csv", "--target", "y", "--out", "run"], folder)
    cpu_seconds(["verify", "net.onnx", "property.vnnlib", "--proof", "proof.json"], folder)


def cpu_seconds(words: list[str], folder: Path, **environment: str) -> float:
    """Return user and system time of a command (the words after ``creases``) or of a script."""
    start = words if words[0].endswith(".py") else ["-m", "creases", *words]
    return _run([sys.executable, *start], folder, environment)


def split_cost(words: list[str], folder: Path, **environment: str) -> dict[str, float]:
    """Return the CPU-seconds of imports and of compilation."""
    costs = folder / "costs.json"
    probe = str(Path(__file__).absolute().with_name("startup_probe.py"))
    _run([sys.executable, probe, str(costs), *words], folder, environment)
    measured: dict[str, float] = json.loads(costs.read_text(encoding="utf-8"))
    return measured


def _run(arguments: list[str], folder: Path, environment: dict[str, str]) -> float:
    known = {**os.environ, "OMP_NUM_THREADS": "1", **environment}
    known.pop("PYTHONDONTWRITEBYTECODE", None)  # imports take several times as long without bytecode
    if "PYTHONPATH" in known:
        known["PYTHONPATH"] = os.pathsep.join(str(Path(part).absolute()) for part in known["PYTHONPATH"].split(":"))
    process = subprocess.Popen(arguments, cwd=folder, env=known, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert process.stdout is not None
    printed = process.stdout.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(arguments)} ended with {process.returncode}:\n{printed}")
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    """Measure every command and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", default="", help="commands whose name contains this")
    parser.add_argument("--first", action="store_true", help="with an empty cache of kernels, once")
    asked = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_files(folder)
        for k, (title, text) in enumerate(COMMANDS.items()):
            if asked.only not in title or (asked.first and "--help" in title):
                continue
            rows.append(measure_row(title, text, folder, asked.repeats, asked.first, str(k)))
            print("  ".join(f"{cell:>20}" for cell in rows[-1]), flush=True)
    columns = ["command", "before", "aim", "CPU-s", "imports", "kernels", "work"]
    if not asked.only:
        note_table("first" if asked.first else "warm", columns, rows)
        note("repeats", "one run" if asked.repeats == 1 else f"the median of {asked.repeats} runs")
        if not asked.first:
            note("slowest_help", f"{max(float(row[3]) for row in rows if '--help' in row[0]):.2f}")


def measure_row(title: str, text: str, folder: Path, repeats: int, first: bool, name: str) -> list[str]:
    """Return the row of a command: name, before, aim, CPU-seconds and their parts."""
    totals, environment = [], {}
    for k in range(1 if first else repeats):
        if first:
            environment["NUMBA_CACHE_DIR"] = str(folder / "kernels")
        totals.append(cpu_seconds(text.format(new=f"new{name}_{k}").split(), folder, **environment))
        shutil.rmtree(folder / "kernels", ignore_errors=True)
    parts = split_cost(text.format(new=f"new{name}").split(), folder, **environment)
    shutil.rmtree(folder / "kernels", ignore_errors=True)
    total = median(totals)
    aim = AIM_OF_HELP if "--help" in title else AIMS.get(title)
    work = max(total - parts["imports"] - parts["compilation"], 0.0)
    return [
        title,
        BEFORE.get(title, "not measured"),
        "none" if aim is None else f"{aim:g}",
        *(f"{seconds:.2f}" for seconds in (total, parts["imports"], parts["compilation"], work)),
    ]


if __name__ == "__main__":
    main()
