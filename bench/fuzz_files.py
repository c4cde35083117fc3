"""Damage files of every kind that creases loads, thousands of times, and count what becomes of them.

    python bench/fuzz_files.py [--count 1000] [--kind NAME ...] [--seed 0] [--jobs 1] [--seconds S] [--list]

Each damaged file must be refused with an error of creases, or load as a result that can be used, without gigabytes of
memory. The work is done in processes of its own, so that a crash is seen, told with its seed, and the rest goes on; so
is a file that takes longer than a minute. Prints the counts of each kind and the seeds of all failures; the exit status
is 1 if there was anything else than these two outcomes. `--list` prints the kinds as JSON, for a job of each.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import math
import resource
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

#: Seconds and megabytes of memory that one file may take.
LIMIT, MEMORY = 60, 1024

#: Files that one process tries.
PART = 5000

OUTCOMES = ("refused", "loaded", "failed", "crashed", "hung")


def make_kinds(folder: Path) -> Iterator[tuple[str, Any]]:
    """Write intact files of every kind into a folder, and yield the kinds one after the other."""
    import folder_mutations
    import mutations

    for make in (mutations.make_kinds, *folder_mutations.MAKERS):
        yield from make(folder).items()


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


def work(name: str, first: int, last: int, end: float) -> None:
    """Try the files of some seeds until a time, with a line for each."""
    warnings.simplefilter("ignore")
    faulthandler.enable()
    with tempfile.TemporaryDirectory() as folder:
        kind = next(kind for found, kind in make_kinds(Path(folder)) if found == name)
        kind.use(kind.load(kind.path))  # the intact file
        damaged = Path(folder, f"damaged{kind.path.suffix}")
        before = peak_memory()
        for seed in range(first, last):
            if time.time() > end:
                break
            faulthandler.dump_traceback_later(LIMIT, exit=True)
            outcome = try_file(kind, damaged, seed)
            if peak_memory() > before + MEMORY:
                outcome = f"failed with {peak_memory() - before} MB of memory"
            before = peak_memory()
            print(seed, outcome, flush=True)
        faulthandler.cancel_dump_traceback_later()
    print("peak", peak_memory(), flush=True)


def peak_memory() -> int:
    """Return the most memory that the process has had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


@dataclass
class Found:
    """The outcomes of a kind, the seeds of each failure, and the peak of memory in MB."""

    outcomes: Counter[str] = field(default_factory=Counter)
    failures: dict[str, list[int]] = field(default_factory=dict)
    peak: int = 0

    def fail(self, what: str, seed: int) -> None:
        self.failures.setdefault(what, []).append(seed)

    def add(self, other: Found) -> None:
        self.outcomes += other.outcomes
        self.peak = max(self.peak, other.peak)
        for what, seeds in other.failures.items():
            self.failures.setdefault(what, []).extend(seeds)


def fuzz(name: str, first: int, last: int, end: float) -> Found:
    """Try the files of some seeds in a process of their own; one that crashes or hangs is followed by another."""
    found = Found()
    while first < last and time.time() < end:
        words = ["--work", name, "--seed", first, "--count", last - first, "--end", end]
        done = subprocess.run([sys.executable, __file__, *map(str, words)], capture_output=True, text=True, check=False)
        tried = first
        for line in done.stdout.splitlines():
            word, _, outcome = line.partition(" ")
            if word == "peak":
                found.peak = max(found.peak, int(outcome))
                continue
            tried = int(word) + 1
            found.outcomes[outcome.split()[0]] += 1
            if outcome.startswith("failed"):
                found.fail(outcome, int(word))
        if done.returncode == 0:
            break
        if not done.stdout and "try_file" not in done.stderr:
            found.fail(f"the process does not start: {last_words(done.stderr)}", first)
            break
        outcome = "hung" if "Timeout (" in done.stderr else "crashed"
        found.outcomes[outcome] += 1
        where = last_frame(done.stderr) or f": {last_words(done.stderr)}"
        found.fail(f"{outcome} with status {done.returncode}{where}", tried)
        first = tried + 1
    return found


def last_frame(trace: str) -> str:
    """Return where a process was when it ended, from what faulthandler printed."""
    frames = [line.strip() for line in trace.splitlines() if line.startswith("  File")]
    return f" at {frames[0]}" if frames and "Traceback (" not in trace else ""


def last_words(text: str) -> str:
    """Return the last line of a process that is more than the frame of a box."""
    lines = [line.strip(" │") for line in text.splitlines() if any(map(str.isalnum, line))]
    return lines[-1][:200] if lines else "without a word"


def fuzz_kinds(kinds: list[str], first: int, last: int, jobs: int, end: float) -> dict[str, Found]:
    """Try the files of every kind, in parts so that all kinds come equally far until the end."""
    parts = [(name, seed, min(seed + PART, last)) for seed in range(first, last, PART) for name in kinds]
    found = {name: Found() for name in kinds}
    with ThreadPoolExecutor(jobs) as pool:
        for (name, *_), part in zip(parts, pool.map(lambda part: fuzz(*part, end), parts), strict=True):
            found[name].add(part)
    return found


def main() -> int:
    options = parse_options()
    if options.work:
        work(options.work, options.seed, options.seed + options.count, options.end)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        kinds = options.kind or [name for name, _ in make_kinds(Path(folder))]
    if options.list:
        print(json.dumps(kinds))
        return 0
    end = time.time() + options.seconds
    results = fuzz_kinds(kinds, options.seed, options.seed + options.count, options.jobs, end)
    print(f"{'kind':26}", *(f"{outcome:>8}" for outcome in OUTCOMES), " peak MB")
    for name, found in results.items():
        print(f"{name:26}", *(f"{found.outcomes[outcome]:8}" for outcome in OUTCOMES), f"{found.peak:8}")
        for what, seeds in found.failures.items():
            print(f"    {len(seeds)} x {what} (seeds {', '.join(map(str, seeds[:5]))})")
    total = sum((found.outcomes for found in results.values()), Counter())
    print(f"{'all':26}", *(f"{total[outcome]:8}" for outcome in OUTCOMES))
    return int(any(found.failures for found in results.values()))


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1000, help="files of each kind")
    parser.add_argument("--kind", nargs="*")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument(
        "--seconds", type=float, default=math.inf, help="stop after so long, with what was tried so far"
    )
    parser.add_argument("--list", action="store_true", help="print the kinds as JSON")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    parser.add_argument("--end", type=float, default=math.inf, help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
