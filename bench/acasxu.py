"""The 186 properties of ACAS Xu, as in the VNN competitions [1]_, beside the published times of other verifiers.

    python bench/acasxu.py FOLDER [--published RESULTS] [--budget 116] [--jobs 1] [--only 0:186:10] [--json FILE]
                           [--commit ID]
    python bench/acasxu.py --store FILE

FOLDER is ``benchmarks/acasxu`` of github.com/ChristopherBrix/vnncomp2023_benchmarks (networks and properties as ``.gz``
or unpacked), RESULTS the repository github.com/ChristopherBrix/vnncomp2023_results, of which only
``TOOL/2023_acasxu/results.csv`` is read. Each property has one thread of one process; ``--jobs`` processes run at a
time. Seconds are processor seconds of the call of ``verify``, without reading the files and without compilation;
published times are wall seconds on the competition's machines, with each tool's start. FILE is rewritten after every
answer; ``--store`` takes it to ``bench/results``, and ``make benchmarks-page`` to the documentation.

References
----------
.. [1] Brix, Bak, Liu, Johnson, "The Fourth International Verification of Neural Networks Competition (VNN-COMP 2023):
   Summary and Results", arXiv:2312.16760.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import os
import platform
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from datetime import UTC, datetime
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

TOOLS = {"nnenum": "nnenum", "alpha-beta-CROWN": "alpha_beta_crown", "Marabou": "marabou"}
COLUMNS = ["", "holds", "violated", "undecided", "median", "worst", "all"]
WORDS = {"sat": "violated", "unsat": "holds"}


def read_bytes(path: Path) -> bytes:
    """Return the contents of a file, or of the file with .gz at the end of its name."""
    packed = path.with_name(path.name + ".gz")
    return path.read_bytes() if path.exists() else gzip.decompress(packed.read_bytes())


def read_published(folder: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """Return verdict and seconds of each tool, by the names of network and property."""
    answers: dict[tuple[str, str], dict[str, Any]] = {}
    for name, tool in TOOLS.items():
        with open(folder / tool / "2023_acasxu" / "results.csv", encoding="utf-8") as file:
            for row in csv.reader(file):
                key = Path(row[1]).stem, Path(row[2]).stem
                answers.setdefault(key, {})[name] = [WORDS.get(row[4], "unknown"), float(row[5])]
    return answers


def decide(folder: Path, onnx: str, vnnlib: str, budget: float) -> dict[str, Any]:
    """Decide one property, on one thread."""
    import torch

    import creases
    from creases.certify.properties import parse_vnnlib, verify

    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch, Path(onnx).name)
        path.write_bytes(read_bytes(folder / onnx))
        net = creases.read(path)
    prop = parse_vnnlib(read_bytes(folder / vnnlib).decode())
    verify(net, prop, budget=1e-3)  # compiles, or loads what was compiled
    start, wall = time.process_time(), time.monotonic()
    verdict = verify(net, prop, budget=budget)
    spent = time.process_time() - start
    return {
        "network": Path(onnx).stem,
        "property": Path(vnnlib).stem,
        "status": verdict.status,
        "seconds": spent,
        "wall": time.monotonic() - wall,
        "input": None if verdict.counterexample is None else verdict.counterexample.tolist(),
    }


def decide_all(
    folder: Path, instances: list[tuple[str, str]], budget: float, jobs: int
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number of an instance and its answer, as answers come."""
    if jobs == 1:
        for number, (onnx, vnnlib) in enumerate(instances):
            yield number, decide(folder, onnx, vnnlib, budget)
        return
    decide(folder, *instances[0], 1e-3)  # compile once
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        tasks = {pool.submit(decide, folder, *names, budget): number for number, names in enumerate(instances)}
        for task in as_completed(tasks):
            yield tasks[task], task.result()


def describe_run(commit: str | None) -> dict[str, Any]:
    """Return how, when and where this runs."""
    command = ["python", "bench/acasxu.py", *sys.argv[1:]]
    if commit is None:
        ask = ["git", "rev-parse", "HEAD"]
        found = subprocess.run(ask, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
        commit = found.stdout.strip() or "unknown"
    processor = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        processor = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), processor)
    return {
        "command": shlex.join(command),
        "commit": commit,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": f"{processor}, {os.cpu_count()} cores",
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in ("creases", "numpy", "numba", "torch")},
        },
    }


def summarize(report: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a row of counts and times for creases and for each tool, over the properties that were asked."""
    answers = report["answers"]
    columns = {"creases": [[answer["status"], answer["seconds"]] for answer in answers]}
    for name in TOOLS:
        if all(name in answer["published"] for answer in answers):
            columns[name] = [answer["published"][name] for answer in answers]
    rows = []
    for name, own in columns.items():
        seconds = [value for _, value in own]
        count = {word: sum(status == word for status, _ in own) for word in ("holds", "violated", "unknown")}
        rows.append(
            {"name": name, **count, "median": statistics.median(seconds), "worst": max(seconds), "sum": sum(seconds)}
        )
    return rows


def is_wrong(answer: dict[str, Any]) -> bool:
    """Whether a verdict contradicts one that a tool published."""
    known = {status for status, _ in answer["published"].values()} - {"unknown"}
    return answer["status"] != "unknown" and bool(known) and answer["status"] not in known


def table_rows(report: dict[str, Any]) -> list[list[str]]:
    """Return the table of the documentation."""
    counts = ("holds", "violated", "unknown")
    times = (("median", 2), ("worst", 1), ("sum", 0))
    return [
        [row["name"], *(str(row[name]) for name in counts), *(f"{row[name]:.{digits}f} s" for name, digits in times)]
        for row in summarize(report)
    ]


def print_table(report: dict[str, Any]) -> None:
    """Print counts and times of all tools, and what is undecided."""
    for cells in [COLUMNS, *table_rows(report)]:
        print("  ".join(f"{cell:>16s}" for cell in cells))
    print(f"{len(report['answers'])} properties, {sum(map(is_wrong, report['answers']))} against a published verdict")
    print(f"undecided: {name_undecided(report) or 'none'}")


def name_undecided(report: dict[str, Any]) -> str:
    """Return the names of properties without a verdict."""
    return ", ".join(f"{a['network'][13:16]} {a['property']}" for a in report["answers"] if a["status"] == "unknown")


def store(report: dict[str, Any], path: Path) -> None:
    """Write stored answers as a result that the page of the benchmarks quotes."""
    answers = [{key: value for key, value in answer.items() if key != "input"} for answer in report["answers"]]
    numbers = {
        "properties": str(len(answers)),
        "decided": str(sum(answer["status"] != "unknown" for answer in answers)),
        "wrong": str(sum(map(is_wrong, answers))),
        "undecided": name_undecided(report),
        "budget": f"{report['budget']:g} s",
        "jobs": str(report["jobs"]),
    }
    tables = {"tools": {"columns": COLUMNS, "rows": table_rows(report)}}
    command = shlex.split(report["run"]["command"])
    for option in ("--json", "--commit"):  # where this was written, and what is stored beside it
        if option in command:
            at = command.index(option)
            del command[at : at + 2]
    run = {**report["run"], "command": shlex.join(command), "numbers": numbers, "tables": tables, "answers": answers}
    path.write_text(json.dumps({"runs": [run]}, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    """Decide all properties, or store the answers of a run."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--published", type=Path)
    parser.add_argument("--budget", type=float, default=116.0)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--only", default=":", help="a slice of the instances")
    parser.add_argument("--json", type=Path, help="file for the answers")
    parser.add_argument("--commit", help="to store, where the folder is no git repository")
    parser.add_argument("--store", type=Path, help="take these answers to bench/results, which the page quotes")
    asked = parser.parse_args()
    if asked.store:
        store(json.loads(asked.store.read_text(encoding="utf-8")), Path(__file__).parent / "results" / "acasxu.json")
        return
    if asked.folder is None:
        parser.error("give the folder of the benchmark, or --store FILE")
    others = read_published(asked.published) if asked.published else {}
    with open(asked.folder / "instances.csv", encoding="utf-8") as file:
        instances = [(row[0], row[1]) for row in csv.reader(file)]
    instances = instances[slice(*(int(end) if end else None for end in asked.only.split(":")))]
    report: dict[str, Any] = {
        "run": describe_run(asked.commit),
        "budget": asked.budget,
        "jobs": asked.jobs,
        "answers": [],
    }
    done: dict[int, dict[str, Any]] = {}
    for number, answer in decide_all(asked.folder, instances, asked.budget, asked.jobs):
        answer["published"] = others.get((answer["network"], answer["property"]), {})
        done[number] = answer
        report["answers"] = [done[key] for key in sorted(done)]
        if asked.json:
            asked.json.write_text(json.dumps(report, indent=1), encoding="utf-8")
        times = "".join(f"  {name} {status} {value:.1f}" for name, (status, value) in answer["published"].items())
        print(
            f"{answer['network'][13:16]} {answer['property']:8s} {answer['status']:9s} {answer['seconds']:8.3f}{times}"
            + ("  WRONG" if is_wrong(answer) else ""),
            flush=True,
        )
    print_table(report)


if __name__ == "__main__":
    main()
