"""The 186 properties of ACAS Xu, as in the VNN competitions [1]_, beside the published times of other verifiers.

    python bench/acasxu.py BENCHMARK [--results FOLDER] [--budget 116] [--only 0:186:10]

BENCHMARK is the folder ``benchmarks/acasxu`` of github.com/ChristopherBrix/vnncomp2023_benchmarks (networks and
properties as ``.gz`` or unpacked), FOLDER the repository github.com/ChristopherBrix/vnncomp2023_results. Processor
seconds of one thread, in one process, without reading the files and without the first call's compilation; published
times are wall seconds on the competition's machines, with each tool's start.

References
----------
.. [1] Brix, Bak, Liu, Johnson, "The Fourth International Verification of Neural Networks Competition (VNN-COMP 2023):
   Summary and Results", arXiv:2312.16760.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

import creases
from creases.certify.properties import parse_vnnlib, verify

TOOLS = {"nnenum": "nnenum", "alpha-beta-CROWN": "alpha_beta_crown", "Marabou": "marabou"}
WORDS = {"sat": "violated", "unsat": "holds"}
Key = tuple[str, str]


def read_bytes(path: Path) -> bytes:
    """The contents of a file, or of the file with .gz at the end of its name."""
    packed = path.with_name(path.name + ".gz")
    return path.read_bytes() if path.exists() else gzip.decompress(packed.read_bytes())


def published(folder: Path) -> dict[str, dict[Key, tuple[str, float]]]:
    """Verdict and seconds of each tool, by the names of network and property."""
    answers: dict[str, dict[Key, tuple[str, float]]] = {}
    for name, tool in TOOLS.items():
        with open(folder / tool / "2023_acasxu" / "results.csv", encoding="utf-8") as file:
            rows = list(csv.reader(file))
        answers[name] = {(Path(r[1]).name, Path(r[2]).name): (WORDS.get(r[4], "unknown"), float(r[5])) for r in rows}
    return answers


def main() -> None:
    """Decide all properties and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("benchmark", type=Path)
    parser.add_argument("--results", type=Path)
    parser.add_argument("--budget", type=float, default=116.0)
    parser.add_argument("--only", default=":", help="a slice of the instances")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    others = published(asked.results) if asked.results else {}
    with open(asked.benchmark / "instances.csv", encoding="utf-8") as file:
        instances = [tuple(row[:2]) for row in csv.reader(file)]
    part = slice(*(int(end) if end else None for end in asked.only.split(":")))
    spent, wrong, unknown, is_first = [], 0, 0, True
    with tempfile.TemporaryDirectory() as folder:
        for onnx, vnnlib in instances[part]:
            path = Path(folder, Path(onnx).name)
            path.write_bytes(read_bytes(asked.benchmark / onnx))
            net, prop = creases.read(path), parse_vnnlib(read_bytes(asked.benchmark / vnnlib).decode())
            if is_first:
                verify(net, prop, budget=1e-3)  # compiles
                is_first = False
            start = time.process_time()
            verdict = verify(net, prop, budget=asked.budget)
            spent.append(time.process_time() - start)
            key = path.name, Path(vnnlib).name
            known = {name: answers[key] for name, answers in others.items() if key in answers}
            sure = {status for status, _ in known.values()} - {"unknown"}
            unknown += verdict.status == "unknown"
            wrong += verdict.status != "unknown" and bool(sure) and verdict.status not in sure
            times = "".join(f"  {name} {status} {seconds:.1f}" for name, (status, seconds) in known.items())
            print(f"{path.stem[13:16]} {Path(vnnlib).stem:8s} {verdict.status:9s} {spent[-1]:8.3f}{times}", flush=True)
    times = np.array(spent)
    print(
        f"{len(times)} properties, {unknown} undecided, {wrong} against a published verdict; processor seconds: median "
        f"{np.median(times):.3f}, worst {times.max():.2f}, sum {times.sum():.1f}"
    )
    for name, answers in others.items():
        seconds = np.array([value for _, value in answers.values()])
        undecided = sum(status == "unknown" for status, _ in answers.values())
        print(f"{name}: {undecided} undecided, median {np.median(seconds):.2f} s, worst {seconds.max():.1f} s")


if __name__ == "__main__":
    main()
