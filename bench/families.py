"""Whole families of the competition of network verifiers (VNN-COMP) [1]_, by ``creases verify``'s own door.

    python bench/families.py FOLDER [--family NAME ...] [--limit 120] [--every 1] [--jobs 1] [--published FOLDER]

FOLDER has a folder for each family, with ``instances.csv`` (network, property, seconds) and the files it names. Every
instance runs in a process of its own, and its seconds include the start of Python and reading both files. The time
limit, for reading and the search, is the smaller of the family's own and ``--limit``. Answers are appended to
``--lines`` as they come; what is there already is not run again. ``--published`` has the results of other tools,
``TOOL/2025_FAMILY/results.csv`` as the competition stores them, with which answers are compared.

A violation counts only if its input is in a case of the property by rational arithmetic with the weights of the file,
evaluated here without the search. "wrong" counts the others, and proofs where at least two tools have a counterexample.

References
----------
.. [1] Kaulen et al., "The 6th International Verification of Neural Networks Competition (VNN-COMP 2025)", 2025.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import statistics
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from record import note, note_table

TOOLS = {"alpha_beta_crown": "alpha-beta-CROWN", "nnenum": "nnenum", "pyrat": "PyRAT", "neuralsat": "NeuralSAT"}
Published = dict[str, dict[tuple[str, str], tuple[str, float]]]
VERDICTS = {"unsat": "holds", "sat": "violated"}


def read_instances(folder: Path, family: str, every: int) -> list[tuple[str, str, float]]:
    """The network, the property and the seconds of instances, every so many-th of them."""
    with (folder / family / "instances.csv").open() as file:
        rows = [row for row in csv.reader(file) if row]
    return [(row[0].removeprefix("./"), row[1].removeprefix("./"), float(row[2])) for row in rows][::every]


def answer(folder: Path, family: str, network: str, prop: str, budget: float) -> dict[str, Any]:
    """What a process of its own says of an instance, and its seconds with the start of Python."""
    start = time.monotonic()
    here = folder / family
    command = [sys.executable, __file__, "--one", str(here / network), str(here / prop), str(budget)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=3 * budget + 60, check=False)
        found = json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else {"status": "error"}
        if done.returncode:
            found["detail"] = done.stderr.strip().splitlines()[-1:]
    except subprocess.TimeoutExpired:
        found = {"status": "overrun"}
    return (
        {"family": family, "network": network, "property": prop, "limit": budget}
        | found
        | {"seconds": time.monotonic() - start}
    )


def verify_one(network: str, prop: str, budget: float) -> dict[str, Any]:
    """Decide one instance, and check its counterexample without the search."""
    import creases
    from creases.certify.properties import read_vnnlib, verify

    start = time.monotonic()
    net, question = creases.read(network), read_vnnlib(prop)
    verdict = verify(net, question, budget=max(budget - (time.monotonic() - start), 1.0))
    found: dict[str, Any] = {"status": verdict.status, "search": verdict.seconds}
    if verdict.counterexample is not None:
        found["confirmed"] = is_violation(net, question, verdict.counterexample)
    return found


def is_violation(net: Any, question: Any, x: Any) -> bool:
    """Whether an input is in a case of a property by rational arithmetic; by bounds where the network is too large."""
    import numpy as np
    import torch

    from creases.certify._exact import exact_outputs
    from creases.certify.propagation._linear import linear_value_bounds

    y = exact_outputs(net, x)
    if y is not None:
        return any(case.contains(x.tolist(), y) for case in question.cases)
    ends = linear_value_bounds(net.to(torch.float64), torch.from_numpy(np.stack([x, x], axis=1)))[len(net.steps)]
    low, high = (end.reshape(-1).tolist() for end in ends)
    return any(case.contains(x.tolist(), low, high) for case in question.cases)


def published(folder: Path | None, family: str) -> Published:
    """Verdicts and seconds of other tools, by the names of network and property."""
    found: Published = {}
    for tool in TOOLS if folder is not None else ():
        path = Path(str(folder)) / tool / f"2025_{family}" / "results.csv"
        if path.exists():
            with path.open() as file:
                rows = [row for row in csv.reader(file) if row]
            found[tool] = {_names(row[1], row[2]): (row[4], float(row[5])) for row in rows}
    return found


def _names(network: str, prop: str) -> tuple[str, str]:
    return network.split("onnx/", 1)[-1], prop.split("vnnlib/", 1)[-1]


def summarize(
    lines: list[dict[str, Any]], others: dict[str, dict[tuple[str, str], tuple[str, float]]]
) -> dict[str, Any]:
    """Counts of a family, beside those of other tools on the same instances."""
    wrong = 0
    for line in lines:
        said = Counter(of.get(_names(line["network"], line["property"]), ("", 0.0))[0] for of in others.values())
        wrong += line["status"] == "violated" and not line.get("confirmed")
        wrong += line["status"] == "holds" and said["sat"] >= 2
    solved = [line for line in lines if line["status"] in VERDICTS.values()]
    table: dict[str, Any] = {
        "instances": len(lines),
        "solved": len(solved),
        "holds": sum(line["status"] == "holds" for line in lines),
        "violated": sum(line["status"] == "violated" for line in lines),
        "unknown": sum(line["status"] == "unknown" for line in lines),
        "failed": sum(line["status"] in ("error", "overrun") for line in lines),
        "wrong": wrong,
        "median s": statistics.median(line["seconds"] for line in lines),
        "total s": sum(line["seconds"] for line in lines),
        "most above the limit s": max(line["seconds"] - line["limit"] for line in lines),
    }
    for tool, of in others.items():
        there = [of[key] for line in lines if (key := _names(line["network"], line["property"])) in of]
        decided = [seconds for verdict, seconds in there if verdict in VERDICTS]
        table[TOOLS[tool]] = {"solved": len(decided), "median s": statistics.median(decided) if decided else None}
    return table


def run(folder: Path, families: list[str], limit: float, every: int, jobs: int, path: Path) -> Iterator[dict[str, Any]]:
    """Answers of all instances, those of earlier runs first; new ones are appended to a file."""
    done = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    known = {(line["family"], line["network"], line["property"]) for line in done}
    tasks = [
        (folder, family, network, prop, min(seconds, limit))
        for family in families
        for network, prop, seconds in read_instances(folder, family, every)
        if (family, network, prop) not in known
    ]
    yield from (line for line in done if line["family"] in families)
    with ThreadPoolExecutor(jobs) as pool, path.open("a") as file:
        for future in as_completed([pool.submit(answer, *task) for task in tasks]):
            file.write(json.dumps(future.result()) + "\n")
            file.flush()
            yield future.result()


def main() -> None:
    """Run families, print the table and store it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--family", nargs="+", help="folders of families (all)")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds for an instance, at most (120)")
    parser.add_argument("--every", type=int, default=1, help="take every so many-th instance (1)")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--lines", type=Path, default=Path("families.jsonl"), help="answers so far (families.jsonl)")
    parser.add_argument("--published", type=Path, help="results of other tools")
    parser.add_argument("--machine", default="one machine", help="what the page says of the machine")
    parser.add_argument("--sample", default="all instances", help="what the page says of what was run")
    options = parser.parse_args()
    families = options.family or sorted(part.parent.name for part in options.folder.glob("*/instances.csv"))
    lines = defaultdict(list)
    for line in run(options.folder, families, options.limit, options.every, options.jobs, options.lines):
        lines[line["family"]].append(line)
        if line["status"] not in VERDICTS.values():
            print(
                line["family"], line["network"], line["property"], line["status"], round(line["seconds"], 1), flush=True
            )
    table = {name: summarize(part, published(options.published, name)) for name, part in lines.items()}
    columns, rows = tabulate(table)
    for cells in (columns, *rows):
        print(" | ".join(cells))
    note_table("families", columns, rows)
    note("machine", options.machine)
    note("sample", options.sample)
    note("wrong", str(sum(row["wrong"] for row in table.values())))


def tabulate(table: dict[str, dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """The columns and rows that are shown: creases first, then other tools on the same instances."""
    plain = ("instances", "solved", "unknown", "failed", "wrong")
    tools = [tool for tool in TOOLS.values() if any(tool in row for row in table.values())]
    columns = ["family", *plain, "median s", "total s", *(f"{tool}: solved, median s" for tool in tools)]
    rows = []
    for name, row in table.items():
        others = [row.get(tool, {"solved": 0, "median s": None}) for tool in tools]
        cells = [f"{of['solved']}, {of['median s']:.1f}" if of["median s"] is not None else "-" for of in others]
        rows.append(
            [name, *(str(row[key]) for key in plain), f"{row['median s']:.1f}", f"{row['total s']:.0f}", *cells]
        )
    return columns, rows


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        print(json.dumps(verify_one(sys.argv[2], sys.argv[3], float(sys.argv[4]))))
    else:
        main()
