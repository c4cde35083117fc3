"""Damage files of every kind that creases loads, thousands of times, and count what becomes of them.

    python bench/fuzz_files.py [--count 1000] [--kind NAME ...] [--seed 0] [--list]

Each damaged file must be refused with an error of creases, or load as a result that can be used, without gigabytes of
memory. The work is done in a process of its own, so that a crash is seen, told with its seed, and the rest goes on; so
is one that takes longer than a minute. Prints the counts of each kind; the exit status is 1 if there was anything else
than these two outcomes. `--list` prints the kinds as JSON, for a job of each.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

#: Seconds and megabytes of memory that one file may take.
LIMIT, MEMORY = 60, 1024

OUTCOMES = ("refused", "loaded", "failed", "crashed", "hung")


def make_every_kind(folder: Path) -> dict:
    """Write an intact file of every kind into a folder."""
    from folder_mutations import make_folder_kinds
    from mutations import make_kinds

    return make_kinds(folder) | make_folder_kinds(folder)


def make_kind(folder: Path, name: str):
    """Write an intact file of one kind into a folder, and those that are made with it."""
    from folder_mutations import make_folder_kinds
    from mutations import make_kinds

    kinds = make_kinds(folder)
    return kinds[name] if name in kinds else make_folder_kinds(folder)[name]


def try_file(kind, path: Path, seed: int) -> str:
    """Damage a file by a seed, load it, use it; return the outcome and, of a failure, where it was."""
    from creases.errors import CreasesError

    path.write_bytes(kind.mutate(kind.path.read_bytes(), np.random.default_rng(seed)))
    try:
        kind.use(kind.load(path))
    except CreasesError:
        return "refused"
    except Exception as problem:
        place = traceback.extract_tb(problem.__traceback__)[-1]
        return f"failed {type(problem).__name__}: {str(problem)[:80]!r} at {Path(place.filename).name}:{place.lineno}"
    return "loaded"


def work(name: str, first: int, last: int) -> None:
    """Try the files of some seeds, with a line for each."""
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        kind = make_kind(Path(folder), name)
        kind.use(kind.load(kind.path))  # the intact file
        damaged = Path(folder, f"damaged{kind.path.suffix}")
        print("ready", flush=True)
        before = peak_memory()
        for seed in range(first, last):
            outcome = try_file(kind, damaged, seed)
            if peak_memory() > before + MEMORY:
                outcome = f"failed with {peak_memory() - before} MB of memory"
            before = peak_memory()
            print(seed, outcome, flush=True)
    print("peak", peak_memory(), flush=True)


def peak_memory() -> int:
    """Return the most memory that the process has had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def fuzz(name: str, first: int, last: int) -> tuple[Counter[str], Counter[str], int]:
    """Return the outcomes of a kind, the places of failures, and the peak of memory in MB."""
    outcomes, places, peak = Counter(), Counter(), 0
    while first < last:
        command = [sys.executable, __file__, "--work", name, "--seed", str(first), "--count", str(last - first)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            start = first
            try:
                out, _ = process.communicate(timeout=LIMIT + (last - first) * 2)
                end = "crashed"
            except subprocess.TimeoutExpired:
                process.kill()
                out, _ = process.communicate()
                end = "hung"
        for line in out.splitlines():
            word, _, outcome = line.partition(" ")
            if word == "ready":
                continue
            if word == "peak":
                peak = max(peak, int(outcome))
                continue
            first = int(word) + 1
            outcomes[outcome.split()[0]] += 1
            if outcome.startswith("failed"):
                places[f"{outcome} (such as seed {word})"] += 1
        if process.returncode == 0:
            break
        if first == start and not out:
            sys.exit(f"{name}: the process does not start")
        outcomes[end] += 1
        places[f"{end} with status {process.returncode} (seed {first})"] += 1
        first += 1
    return outcomes, places, peak


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--kind", nargs="*")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--list", action="store_true", help="print the kinds as JSON")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(options.work, options.seed, options.seed + options.count)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        kinds = options.kind or list(make_every_kind(Path(folder)))
    if options.list:
        print(json.dumps(kinds))
        return 0
    bad = 0
    print(f"{'kind':24}", *(f"{outcome:>8}" for outcome in OUTCOMES), " peak MB")
    for name in kinds:
        outcomes, places, peak = fuzz(name, options.seed, options.seed + options.count)
        print(f"{name:24}", *(f"{outcomes[outcome]:8}" for outcome in OUTCOMES), f"{peak:8}", flush=True)
        for place, times in places.most_common(8):
            print(f"    {times} x {place}")
        bad += sum(outcomes[outcome] for outcome in OUTCOMES[2:])
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
